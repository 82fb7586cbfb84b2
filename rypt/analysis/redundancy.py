"""How much one label is reused: candidates repeat each other, and so do the phrases of their constituents.

The paper's argument for the metric (sections 4 and 8): a label belongs to (segment, span, phrase), and lists of
candidates are redundant, so few labels serve many candidates, and later iterations of MERT need few new ones.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rypt.records import Candidate, Span
from rypt.scoring.frontier import frontier
from rypt.scoring.phrase_keys import candidate_links
from rypt.scoring.queries import Key
from rypt.text import FormatError, tokenize
from rypt.texts.phrases import normalize, phrase_of
from rypt.texts.trees import SourceTree

SegmentWatch = Callable[[Iterable[str]], Iterable[str]]


@dataclass(slots=True)
class PhraseReuse:
    """Phrases of constituents: how many there are, how many different ones, how many of these have a label.

    ``constituents`` are those with at least one phrase.
    """

    occurrences: int = 0
    unique: int = 0
    labelled: int = 0
    constituents: int = 0

    @property
    def served(self) -> float:
        """How many constituents of candidates one label serves on average."""
        return self.occurrences / self.unique if self.unique else float("nan")

    @property
    def phrases_each(self) -> float:
        """How many different phrases a constituent has."""
        return self.unique / self.constituents if self.constituents else float("nan")

    def add(self, other: "PhraseReuse") -> None:
        """Add what was counted elsewhere."""
        self.occurrences += other.occurrences
        self.unique += other.unique
        self.labelled += other.labelled
        self.constituents += other.constituents


@dataclass(slots=True)
class ListCounts:
    """What one list holds, and what in it no list before held.

    In ``everywhere`` and ``frontier``, ``unique`` counts phrases (and ``constituents`` those constituents) that are new
    with this list, so that they add up to those of all lists.
    """

    name: str
    candidates: int = 0
    new: int = 0
    everywhere: PhraseReuse = field(default_factory=PhraseReuse)
    frontier: PhraseReuse = field(default_factory=PhraseReuse)


@dataclass(frozen=True, slots=True)
class Redundancy:
    """All lists in order, and their sum."""

    max_len: int
    lists: list[ListCounts]
    total: ListCounts


def redundancy(
    trees: Mapping[str, SourceTree | None],
    lists: Sequence[tuple[str, Sequence[Candidate]]],
    *,
    max_len: int = 4,
    judged: Collection[Key] = (),
    case: str = "lower",
    watch: SegmentWatch = lambda segments: segments,
) -> Redundancy:
    """Count candidates and phrases of lists in their order, such as the iterations of a MERT run.

    A candidate is new when no candidate before has its text and its alignment. Segments without a parse count only as
    candidates. ``judged`` are keys with a label.
    """
    counts = [ListCounts(name) for name, _ in lists]
    by_segment: dict[str, list[tuple[int, Candidate]]] = defaultdict(list)
    for number, (_, candidates) in enumerate(lists):
        for candidate in candidates:
            by_segment[candidate.segment].append((number, candidate))
    for segment in watch(by_segment):
        if segment not in trees:
            raise FormatError(f"segment {segment!r} of a candidate is not known")
        _count_segment(trees[segment], by_segment[segment], counts, max_len, judged, case)
    total = ListCounts("all")
    for one in counts:
        total.candidates += one.candidates
        total.new += one.new
        total.everywhere.add(one.everywhere)
        total.frontier.add(one.frontier)
    return Redundancy(max_len, counts, total)


def _count_segment(
    tree: SourceTree | None,
    candidates: Sequence[tuple[int, Candidate]],
    counts: Sequence[ListCounts],
    max_len: int,
    judged: Collection[Key],
    case: str,
) -> None:
    on_frontier = {tree.constituents[i].span for i in frontier(tree, max_len)} if tree else set()
    known: dict[tuple[str, str | None], tuple[int, int]] = {}
    phrases: dict[Span, set[str]] = defaultdict(set)
    for number, candidate in candidates:
        mine = counts[number]
        mine.candidates += 1
        identity = (candidate.text, candidate.alignment)
        if identity not in known:
            mine.new += 1
            places = [mine.everywhere.occurrences, mine.frontier.occurrences]
            for span, phrase in _phrases(tree, candidate, case):
                reuses = (mine.everywhere, mine.frontier) if span in on_frontier else (mine.everywhere,)
                seen = phrases[span]
                for reuse in reuses:
                    reuse.occurrences += 1
                    if phrase not in seen:
                        reuse.unique += 1
                        reuse.constituents += not seen
                        reuse.labelled += (candidate.segment, span, phrase) in judged
                seen.add(phrase)
            known[identity] = mine.everywhere.occurrences - places[0], mine.frontier.occurrences - places[1]
        else:
            mine.everywhere.occurrences += known[identity][0]
            mine.frontier.occurrences += known[identity][1]


def _phrases(tree: SourceTree | None, candidate: Candidate, case: str) -> Iterator[tuple[Span, str]]:
    """The phrase of each constituent with which something is aligned."""
    if tree is None:
        return
    tokens, linked = tokenize(normalize(candidate.text, case)), candidate_links(candidate, tree)
    for constituent in tree.constituents:
        phrase = phrase_of(constituent.span, linked, tokens)
        if phrase is not None:
            yield constituent.span, phrase.text
