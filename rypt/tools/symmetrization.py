"""One alignment from two: the links from source to candidate, and those from candidate to source.

``grow-diag-final-and`` begins with the links both directions have, adds neighbouring links that one of them has while
they align a word not aligned before (Koehn, Och & Marcu 2003, section 2.2), and then those between two words that are
both unaligned (Koehn et al. 2005). `attach_unaligned` leaves no word of the candidate without a link.
"""

from collections.abc import Iterable
from itertools import chain

from rypt.options import HEURISTICS, check_option
from rypt.texts.alignment import Links

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(
    forward: Iterable[tuple[int, int]], backward: Iterable[tuple[int, int]], heuristic: str
) -> Links:
    """Combine two directions, both as (source, candidate) links.

    >>> symmetrize([(0, 0), (1, 1), (2, 1)], [(0, 0), (1, 1), (1, 2)], "grow-diag-final-and")
    ((0, 0), (1, 1), (1, 2), (2, 1))
    >>> symmetrize([(0, 0), (1, 1), (2, 1)], [(0, 0), (1, 1), (1, 2)], "intersection")
    ((0, 0), (1, 1))
    """
    check_option("heuristic", heuristic, HEURISTICS)
    one, other = set(forward), set(backward)
    if heuristic == "intersection":
        return tuple(sorted(one & other))
    if heuristic == "union":
        return tuple(sorted(one | other))
    links = _grown(one & other, one | other)
    sources, targets = {s for s, _ in links}, {t for _, t in links}
    for source, target in chain(sorted(one), sorted(other)):
        if source not in sources and target not in targets:
            links.add((source, target))
            sources.add(source)
            targets.add(target)
    return tuple(sorted(links))


def attach_unaligned(links: Links, candidate_size: int) -> Links:
    """Link every candidate word that has no link with the source words of the next one that has, else of the last.

    Articles, particles and auxiliaries of the candidate often have no counterpart. Left alone they belong to no phrase:
    nobody is asked about them, and errors in them count nowhere. Most of them stand before the word they belong to.

    >>> attach_unaligned(((0, 1), (1, 2)), 4)
    ((0, 0), (0, 1), (1, 2), (1, 3))
    """
    sources: list[list[int]] = [[] for _ in range(candidate_size)]
    for source, target in links:
        sources[target].append(source)
    aligned = [target for target in range(candidate_size) if sources[target]]
    if not aligned:
        return links
    attached = set(links)
    for target in range(candidate_size):
        if not sources[target]:
            following = next((other for other in aligned if other > target), aligned[-1])
            attached.update((source, target) for source in sources[following])
    return tuple(sorted(attached))


def _grown(links: set[tuple[int, int]], union: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Add neighbours that align a new word, going through the links in order, again and again until none is left."""
    links = set(links)
    sources, targets = {s for s, _ in links}, {t for _, t in links}
    grows = True
    while grows:
        grows = False
        for source, target in sorted(union):  # links added on the way may grow at once, if they come later
            if (source, target) not in links:
                continue
            for down, right in _NEIGHBOURS:
                s, t = source + down, target + right
                if (s, t) in union and (s, t) not in links and not (s in sources and t in targets):
                    links.add((s, t))
                    sources.add(s)
                    targets.add(t)
                    grows = True
    return links
