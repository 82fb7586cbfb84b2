"""Word alignment: IBM model 1 in both directions, then one alignment from the two.

    align([(("das", "Haus"), ("the", "house"))])                                  # links of pairs of tokens
    align_lists({"0": segment}, ["run7.nbest"], ["run7.links"])                   # of the candidates of lists

Model 1 (Brown et al. 1993) is a product of word translation probabilities t(f | e). Like Dyer, Chahuneau and Smith
(2013) we let a word prefer partners at its relative position, which settles the ties of model 1 when a word occurs
twice. Nothing is random: the same pairs give the same links. Links of any other aligner are read from files.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from rypt.arrays import Floats, Ints
from rypt.records import Segment
from rypt.text import FormatError, InputError, PathLike, Watch, open_output, tokenize, unwatched
from rypt.texts.alignment import Links, format_links, parse_text
from rypt.texts.nbest import read_list_of

Pair = tuple[tuple[str, ...], tuple[str, ...]]

ROUNDS = 6
DIAGONAL = 1.5  # how much a word prefers its relative position
NOWHERE = 0.02  # the probability that a word has no partner
UNSEEN = 1e-12  # the translation probability of two words that never stood in one pair
MOST_CELLS = (
    5_000_000  # pairs of words that are learned from; of more, every so many-th pair of sentences is taken
)
BLOCK = 1000  # pairs of sentences whose words are looked up together
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def align_lists(
    segments: Mapping[str, Segment],
    lists: Sequence[PathLike],
    outputs: Sequence[PathLike],
    watch: Watch = unwatched,
) -> int:
    """Write a line of links for each candidate of each list; returns the number of candidates.

    All lists are aligned together, because the aligner learns from all of them.
    """
    tokens = {name: tuple(segment.tokens) for name, segment in segments.items()}
    pairs = [list(_pairs(path, tokens, watch)) for path in lists]
    links = iter(align(list(chain.from_iterable(pairs)), watch=watch))
    for output, pairs_of_list in zip(outputs, pairs, strict=True):
        with open_output(output) as stream:
            stream.writelines(f"{format_links(next(links))}\n" for _ in pairs_of_list)
    return sum(map(len, pairs))


def _pairs(path: PathLike, sources: Mapping[str, tuple[str, ...]], watch: Watch) -> Iterator[Pair]:
    """Source and candidate tokens of each candidate of a list."""
    for number, candidate in read_list_of(path, list(sources), watch):
        try:
            text, _ = parse_text(candidate.text)
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
        yield sources[candidate.segment], tuple(tokenize(text))


def align(pairs: Sequence[Pair], *, training: Iterable[Pair] = (), watch: Watch = unwatched) -> list[Links]:
    """Links of each pair of source and candidate tokens; no word of a candidate is left without a link.

    ``training`` are further pairs to learn from. A pair with an empty side has no links.
    """
    links = word_links(pairs, training=training, watch=watch)
    return [attach_unaligned(of_pair, len(pair[1])) for of_pair, pair in zip(links, pairs, strict=True)]


def word_links(
    pairs: Sequence[Pair], *, training: Iterable[Pair] = (), rounds: int = ROUNDS, watch: Watch = unwatched
) -> list[Links]:
    """Links of each pair by model 1 and grow-diag-final-and. Equal pairs, in lower case, are aligned once."""
    lowered = list(map(_lowered, pairs))
    distinct = [pair for pair in dict.fromkeys(lowered) if all(pair)]
    further = [pair for pair in dict.fromkeys(map(_lowered, training)) if all(pair)]
    learned = _sample([*distinct, *further])
    forward = _Translations.learn(learned, rounds).partners(distinct)
    backward = _Translations.learn(list(map(_turned, learned)), rounds).partners(map(_turned, distinct))
    linked: dict[Pair, Links] = {}
    directions = zip(distinct, forward, backward, strict=True)
    for pair, ahead, back in watch(directions, "align", len(distinct)):
        linked[pair] = symmetrize(
            ((i, j) for j, i in enumerate(ahead) if i >= 0), ((i, j) for i, j in enumerate(back) if j >= 0)
        )
    return [linked.get(pair, ()) for pair in lowered]


def _lowered(pair: Pair) -> Pair:
    return tuple(map(str.lower, pair[0])), tuple(map(str.lower, pair[1]))


def _turned(pair: Pair) -> Pair:
    return pair[1], pair[0]


def _sample(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """Pairs to learn from, evenly spread."""
    cells = sum(len(source) * len(target) for source, target in pairs)
    return pairs[:: -(-cells // MOST_CELLS)] if cells else pairs


@dataclass(frozen=True)
class _Translations:
    """The probability of each target word given each source word that it stood with; source word 0 is no word.

    ``keys`` are ``source number * (number of target words + 1) + target number``, sorted; numbers of words that were
    not learned come after all others.
    """

    sources: Mapping[str, int]
    targets: Mapping[str, int]
    keys: Ints
    probabilities: Floats

    @classmethod
    def learn(cls, pairs: Sequence[Pair], rounds: int) -> "_Translations":
        """Expectation maximisation over all cells: a target word with a source word, or no word, of its sentence."""
        sources, targets = {"": 0}, dict[str, int]()
        numbered = [
            (
                np.array([0, *(sources.setdefault(word, len(sources)) for word in source)]),
                np.array([targets.setdefault(word, len(targets)) for word in target]),
            )
            for source, target in pairs
        ]
        if not numbered:
            return cls(sources, targets, np.zeros(0, np.int64), np.zeros(0))
        size = len(targets) + 1
        cells = np.concatenate([(f[None, :] * size + e[:, None]).ravel() for f, e in numbered])
        weights = np.concatenate([_prior(len(f) - 1, len(e)).ravel() for f, e in numbered])
        widths = np.concatenate([np.full(len(e), len(f)) for f, e in numbered])
        firsts = np.cumsum(widths) - widths
        keys, cells = np.unique(cells, return_inverse=True)
        conditions = keys // size
        probabilities = np.ones(len(keys))
        for _ in range(rounds):
            posterior = probabilities[cells] * weights
            posterior /= np.repeat(np.add.reduceat(posterior, firsts), widths)
            counts = np.bincount(cells, posterior)
            probabilities = counts / np.bincount(conditions, counts)[conditions]
        return cls(sources, targets, keys, probabilities)

    def partners(self, pairs: Iterable[Pair]) -> Iterator[list[int]]:
        """For each target word the position of the source word that explains it best, -1 where none does."""
        waiting = list(pairs)
        for start in range(0, len(waiting), BLOCK):
            block = waiting[start : start + BLOCK]
            cells = [self._cells(source, target) for source, target in block]
            asked, places = np.unique(np.concatenate(cells), return_inverse=True)
            nearest = np.searchsorted(self.keys, asked).clip(max=len(self.keys) - 1)
            shares = np.where(self.keys[nearest] == asked, self.probabilities[nearest], UNSEEN)
            of_cells, begin = shares[places], 0
            for source, target in block:
                prior = _prior(len(source), len(target))
                of_pair = of_cells[begin : begin + prior.size].reshape(prior.shape)
                begin += prior.size
                yield ((of_pair * prior).argmax(axis=1) - 1).tolist()

    def _cells(self, source: Sequence[str], target: Sequence[str]) -> Ints:
        """The keys of each target word with no word and each source word, one target word after the other."""
        f = np.array([0, *(self.sources.get(word, len(self.sources)) for word in source)])
        e = np.array([self.targets.get(word, len(self.targets)) for word in target])
        cells: Ints = f[None, :] * (len(self.targets) + 1) + e[:, None]
        return cells.ravel()


@lru_cache(4096)
def _prior(source_size: int, target_size: int) -> Floats:
    """How likely each target position comes from no word and from each source position; each row sums to one."""
    i = (np.arange(target_size)[:, None] + 0.5) / target_size
    j = (np.arange(source_size)[None, :] + 0.5) / source_size
    near = np.exp(-DIAGONAL * np.abs(i - j))
    near *= (1 - NOWHERE) / near.sum(axis=1, keepdims=True)
    return np.concatenate([np.full((target_size, 1), NOWHERE), near], axis=1)


def symmetrize(forward: Iterable[tuple[int, int]], backward: Iterable[tuple[int, int]]) -> Links:
    """One alignment from two, both as (source, candidate) links: grow-diag-final-and (Koehn, Och and Marcu 2003).

    It begins with the links that both have, adds neighbouring links that one of them has while they align a word not
    aligned before, and then those between two words that are both unaligned.

    >>> symmetrize([(0, 0), (1, 1), (2, 1)], [(0, 0), (1, 1), (1, 2)])
    ((0, 0), (1, 1), (1, 2), (2, 1))
    """
    one, other = set(forward), set(backward)
    links, union = one & other, one | other
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    added = True
    while added:
        added = False
        for i, j in sorted(union):  # links added on the way may grow at once, if they come later
            if (i, j) not in links:
                continue
            for down, right in _NEIGHBOURS:
                near = i + down, j + right
                if near in union and near not in links and not (near[0] in sources and near[1] in targets):
                    links.add(near)
                    sources.add(near[0])
                    targets.add(near[1])
                    added = True
    for i, j in chain(sorted(one), sorted(other)):
        if i not in sources and j not in targets:
            links.add((i, j))
            sources.add(i)
            targets.add(j)
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
    following = next((linked for linked in reversed(sources) if linked), [])
    attached = list[tuple[int, int]]()
    for target in reversed(range(candidate_size)):
        following = sources[target] or following
        attached += ((source, target) for source in following)
    return tuple(sorted(attached))
