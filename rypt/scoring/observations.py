"""The votes on each constituent of each candidate, before percolation: the input of every model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes, Floats, Ids, Ints
from rypt.compiled import compiled_if_large
from rypt.database.vote_columns import KeyColumns, VoteColumns
from rypt.records import Candidate, Span, Votes
from rypt.scoring import kernel
from rypt.scoring.buffers import candidate_lines, line_buffer, link_message
from rypt.scoring.kernel import NOVEL, SILENT, UNALIGNED
from rypt.scoring.percolation import NO, UNKNOWN, YES
from rypt.text import FormatError
from rypt.texts.phrases import GAP, joined_keys
from rypt.texts.trees import SourceTree

CODES = (
    "unaligned",
    "silent",
    "novel",
    "not sure",
    "tie",
    "one YES",
    "all YES",
    "most YES",
    "more YES",
    "one NO",
    "all NO",
    "most NO",
    "more NO",
)
NOT_SURE, TIE, YES_ONE, NO_ONE = 3, 4, 5, 9
TIE_STATES = {"unknown": UNKNOWN, "no": NO, "yes": YES}
_MISSING = np.array([NOVEL, SILENT, UNALIGNED], np.int8)  # what the rows -3, -2 and -1 stand for


def vote_code(yes: float, no: float, not_sure: float) -> int:
    """The pattern of the votes on one key: who is in the majority, and by how much.

    >>> [CODES[vote_code(*votes)] for votes in [(1, 0, 0), (3, 1, 0), (3, 2, 0), (1, 1, 0), (0, 1, 1), (0, 2, 0)]]
    ['one YES', 'most YES', 'more YES', 'tie', 'not sure', 'all NO']
    """
    best, total = max(yes, no, not_sure), yes + no + not_sure
    if best == 0:
        return NOVEL
    if yes == no == best:
        return TIE
    if best == not_sure:
        return NOT_SURE
    one, unanimous, most, more = range(YES_ONE, NO_ONE) if best == yes else range(NO_ONE, len(CODES))
    if best == total:
        return unanimous if best > 1.5 else one
    return most if best >= 0.75 * total else more


def vote_codes(yes: Floats, no: Floats, not_sure: Floats) -> Codes:
    """`vote_code` of many keys at once."""
    best, total = np.maximum(np.maximum(yes, no), not_sure), yes + no + not_sure
    margin = np.where(best == total, np.where(best > 1.5, 1, 0), np.where(best >= 0.75 * total, 2, 3))
    codes = np.where(best == yes, YES_ONE, NO_ONE) + margin
    codes = np.where((best == not_sure), NOT_SURE, codes)
    codes = np.where((yes == no) & (yes == best), TIE, codes)
    return np.where(best == 0, NOVEL, codes).astype(np.int8)


def label_states(ties: str = "unknown") -> Codes:
    """The state (unknown, YES, NO) that each code stands for."""
    states = np.zeros(len(CODES), np.int8)
    states[YES_ONE:NO_ONE] = YES
    states[NO_ONE:] = NO
    states[TIE] = TIE_STATES[ties]
    return states


@dataclass(frozen=True, slots=True)
class Grades:
    """How many YES and NO each judged key has, and the penalty that its NOs add up to.

    The penalty of a NO is the square root of its severity: 1 for a minor error, 2.24 for a major one, 5 for what is no
    translation. What one rater calls major another calls minor, so a metric that takes severities as they are follows
    the raters' taste. A NO without a severity counts ``no_penalty``. The last two rows are supposed: a key that one
    worker says YES to, and one that gets a NO (`rypt.scoring.value`).
    """

    votes: Floats
    penalties: Floats
    no_penalty: float

    @classmethod
    def from_counts(
        cls, yes: Floats, no: Floats, penalty: Floats, graded: Floats, no_penalty: float | None = None
    ) -> "Grades":
        """The grades of keys; the mean penalty of NOs that have a severity stands for the others, 1 where none has.

        ``no_penalty`` is that mean, where these are not all keys.

        >>> counts = ([1, 0, 0], [0, 2, 1], [0, 18, 0], [0, 2, 0])  # YES; two NOs, 9 on average; a NO without severity
        >>> Grades.from_counts(*np.array(counts, np.float64)).penalties.tolist()
        [0.0, 6.0, 3.0, 0.0, 3.0]
        """
        rooted = np.sqrt(penalty * graded)  # graded NOs, each of the square root of their mean severity
        known = float(graded.sum())
        if no_penalty is None:
            no_penalty = float(rooted.sum()) / known if known else 1.0
        penalties = np.append(rooted + (no - graded) * no_penalty, [0.0, no_penalty])
        return cls(np.append(yes + no, [1.0, 1.0]), penalties, no_penalty)


YES_ROW, NO_ROW = -2, -1  # where the supposed keys stand in grades, from the end


class Forest:
    """The trees of all segments as arrays; a segment without a parse has no constituents."""

    def __init__(self, trees: Mapping[str, SourceTree | None]) -> None:
        self.index = {segment: i for i, segment in enumerate(trees)}
        self.trees = list(trees.values())
        counts = [len(tree.constituents) if tree else 0 for tree in self.trees]
        self.firsts: Ints = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
        nodes = [c for tree in self.trees if tree for c in tree.constituents]
        self.starts: Ids = np.array([c.span.start for c in nodes], dtype=np.int32)
        self.stops: Ids = np.array([c.span.stop for c in nodes], dtype=np.int32)
        self.parents: Ids = np.array([c.parent for c in nodes], dtype=np.int32)
        self.sizes: Ids = np.array(
            [len(tree.tokens) if tree else 0 for tree in self.trees] or [0], dtype=np.int32
        )

    @property
    def counts(self) -> Ints:
        """How many constituents each segment has."""
        return np.diff(self.firsts)

    def position(self, segment: str) -> int:
        """Where a segment stands among the trees; one that is not among them is an error."""
        if segment not in self.index:
            raise FormatError(f"segment {segment!r} of a candidate is not known")
        return self.index[segment]

    def positions(self, candidates: Sequence[Candidate]) -> Ids:
        """Where the segment of each candidate stands among the trees."""
        try:
            return np.array([self.index[c.segment] for c in candidates], np.int32)
        except KeyError as error:
            raise FormatError(f"segment {error.args[0]!r} of a candidate is not known") from None

    def arrays(self) -> kernel.Trees:
        """What the kernel needs."""
        return kernel.Trees(self.firsts, self.starts, self.parents, self.sizes)


@dataclass(frozen=True)
class Observations:
    """The code of each constituent of each candidate; those of candidate c stand at ``offsets[c]:offsets[c + 1]``.

    ``rows`` says where each phrase stands in ``grades``, below 0 where nobody judged it.
    """

    forest: Forest
    segments: Ids
    offsets: Ints
    codes: Codes
    rows: Ids
    grades: Grades

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def nodes(self) -> Ints:
        """For each code the constituent it belongs to, as an index into the forest's arrays."""
        counts = np.diff(self.offsets)
        firsts = np.repeat(self.forest.firsts[self.segments], counts)
        return firsts + np.arange(self.offsets[-1]) - np.repeat(self.offsets[:-1], counts)

    @cached_property
    def lengths(self) -> Ids:
        """For each code the length of its constituent in source tokens."""
        nodes = self.nodes
        return self.forest.stops[nodes] - self.forest.starts[nodes]

    def take(self, candidates: NDArray[np.int64]) -> "Observations":
        """The observations of some of the candidates."""
        counts = np.diff(self.offsets)[candidates]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        places = np.repeat(self.offsets[candidates] - offsets[:-1], counts) + np.arange(offsets[-1])
        codes, rows = self.codes[places], self.rows[places]
        return Observations(self.forest, self.segments[candidates], offsets, codes, rows, self.grades)


@dataclass(frozen=True, slots=True)
class Places:
    """For each constituent of each candidate the row of its phrase; ``-1 - code`` where there is no row.

    The code is then ``UNALIGNED``, ``SILENT`` or ``NOVEL``.
    """

    forest: Forest
    segments: Ids
    offsets: Ints
    rows: Ids


class JudgedPhrases:
    """The judged phrases of all segments, interned, in one hash table with a region for each segment."""

    def __init__(
        self, forest: Forest, votes: Iterable[Votes] | KeyColumns, no_penalty: float | None = None
    ) -> None:
        """Keys alone can be looked up (`rows`); they say nothing about labels. ``no_penalty`` is as in `Grades`."""
        self.forest = forest
        self.unused = 0
        self.used: NDArray[np.bool_] | None = None  # of votes as columns: which are on constituents
        if isinstance(votes, KeyColumns):
            self._take_columns(votes)
        else:
            self._take_each(votes, no_penalty)

    def _take_columns(self, votes: KeyColumns) -> None:
        places = np.array([self._place(*span) for span in votes.spans], np.int32).reshape(-1, 2)[votes.span]
        self.used = used = places[:, 1] >= 0
        self.unused = int(len(used) - used.sum())
        phrases = (
            votes.phrases if not self.unused else [votes.phrases[i] for i in np.flatnonzero(used).tolist()]
        )
        if isinstance(votes, VoteColumns):
            self.codes = vote_codes(votes.yes[used], votes.no[used], votes.not_sure[used])
            self.grades = Grades.from_counts(
                votes.yes[used], votes.no[used], votes.penalty[used], votes.graded[used]
            )
        self._build(places[used, 0], places[used, 1], [GAP, *phrases])

    def _take_each(self, votes: Iterable[Votes], no_penalty: float | None) -> None:
        segments, nodes, phrases, counts = [], [], [], []
        for vote in votes:
            segment, node = self._place(vote.segment, vote.span)
            if node < 0:
                self.unused += 1
                continue
            segments.append(segment)
            nodes.append(node)
            phrases.append(vote.phrase)
            counts.append((vote.yes, vote.no, vote.not_sure, vote.penalty, vote.graded))
        yes, no, not_sure, penalty, graded = np.array(counts, np.float64).reshape(-1, 5).T
        self.codes = vote_codes(yes, no, not_sure)
        self.grades = Grades.from_counts(yes, no, penalty, graded, no_penalty)
        self._build(np.array(segments, np.int32), np.array(nodes, np.int32), [GAP, *phrases])

    def _place(self, name: str, span: Span) -> tuple[int, int]:
        """The segment and the constituent of a span, -1 where there is none."""
        segment = self.forest.index.get(name, -1)
        tree = self.forest.trees[segment] if segment >= 0 else None
        return segment, tree.index.get(span, -1) if tree else -1

    def _build(self, segment: Ids, node: Ids, phrases: list[str]) -> None:
        buffer, lines = line_buffer(joined_keys(phrases, "keep"), len(phrases))
        room = np.full(_power_of_two(2 * (len(buffer) // 2 + len(phrases))), -1, np.int32)
        starts, stops, ids, offsets = kernel.intern_phrases(buffer, lines, room)
        slots = np.full(_power_of_two(4 * len(starts)), -1, np.int32)
        words, starts, stops = kernel.compact_tokens(buffer, starts, stops, slots)
        per_segment = np.bincount(segment, minlength=len(self.forest.trees))
        sizes = [_power_of_two(2 * int(count)) if count else 0 for count in per_segment]
        regions = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
        table = np.full(int(regions[-1]), -1, np.int32)
        kernel.fill_table(ids, offsets[1:].copy(), segment, node, regions, table)
        asked = np.zeros(len(self.forest.parents), np.bool_)
        self.nodes: Ints = (
            self.forest.firsts[segment] + node
        )  # of each key, as an index into the forest's arrays
        asked[self.nodes] = True
        self.arrays = kernel.Judged(
            words,
            starts,
            stops,
            slots,
            ids,
            offsets[1:].copy(),
            node,
            regions,
            table,
            asked,
            gap=0,  # the gap mark was interned first
        )

    @property
    def lengths(self) -> Ids:
        """The length of each key's constituent, in source tokens."""
        return np.asarray(self.forest.stops[self.nodes] - self.forest.starts[self.nodes], np.int32)

    def observe(self, candidates: Sequence[Candidate], case: str) -> Observations:
        """Find the phrase of every constituent of every candidate, and the votes on it."""
        return self.observe_places(self.rows(candidates, case))

    def observe_places(self, places: "Places") -> Observations:
        """The votes on phrases that were looked up."""
        codes = np.append(self.codes, _MISSING)[places.rows]  # a row below 0 counts from the end
        return Observations(self.forest, places.segments, places.offsets, codes, places.rows, self.grades)

    def rows(self, candidates: Sequence[Candidate], case: str) -> "Places":
        """Find for every constituent of every candidate which of the judged phrases it has, whatever the votes say.

        Votes can then be counted again and again without looking at the texts.
        """
        segments = self.forest.positions(candidates)
        lines = candidate_lines(candidates, case)
        offsets = np.concatenate([[0], np.cumsum(self.forest.counts[segments])]).astype(np.int64)
        rows = np.full(int(offsets[-1]), -1 - UNALIGNED, np.int32)
        texts = kernel.Texts(segments, *lines)
        bad, wrong = kernel.find_rows(self.forest.arrays(), self.arrays, texts, offsets, rows)
        if bad >= 0:
            raise FormatError(link_message(candidates[bad], wrong, int(self.forest.sizes[segments[bad]])))
        return Places(self.forest, segments, offsets, rows)


@dataclass(frozen=True, slots=True)
class LabelledPlaces:
    """Where labels are known: the places in the arrays of observations, the constituents, where candidates begin."""

    places: Ints
    nodes: Ints
    starts: Ints

    @classmethod
    def of(cls, observations: Observations, truth: Codes) -> "LabelledPlaces":
        """The places whose label is 1 or 0."""
        places = np.flatnonzero(truth >= 0)
        candidates = np.searchsorted(observations.offsets, places, side="right") - 1
        starts = observations.offsets[candidates]
        nodes = observations.forest.firsts[observations.segments[candidates]] + places - starts
        return cls(places, nodes, starts)


def observe_counts(
    forest: Forest,
    places: Places,
    key_nodes: Ints,
    counts: Floats,
    candidates: NDArray[np.int64] | None = None,
) -> Observations:
    """What votes say of each constituent of candidates that were looked up before.

    ``counts`` has a row for each key (YES, NO, NOT_SURE, penalty, graded), ``key_nodes`` the constituent of each as an
    index into the forest's arrays; a key without votes counts as not judged.
    """
    if candidates is None:
        candidates = np.arange(len(places.segments))
    offsets = np.concatenate([[0], np.cumsum(np.diff(places.offsets)[candidates])]).astype(np.int64)
    codes, rows = np.empty(int(offsets[-1]), np.int8), np.empty(int(offsets[-1]), np.int32)
    of_keys, asked = key_codes(forest, key_nodes, counts)
    fill_codes(
        forest.firsts, places.segments, places.offsets, places.rows, candidates, of_keys, asked, codes, rows
    )
    grades = Grades.from_counts(*counts[:, [0, 1, 3, 4]].T)
    return Observations(forest, places.segments[candidates], offsets, codes, rows, grades)


def key_codes(forest: Forest, key_nodes: Ints, counts: Floats) -> tuple[Codes, NDArray[np.bool_]]:
    """The code of each key, and which constituents have a key with votes."""
    judged = counts[:, :3].sum(axis=1) > 0
    asked = np.zeros(len(forest.parents), np.bool_)
    asked[key_nodes[judged]] = True
    without = np.where(asked[key_nodes], NOVEL, SILENT)
    return np.where(judged, vote_codes(*counts[:, :3].T), without).astype(np.int8), asked


@compiled_if_large
def fill_codes(
    firsts: Ints,
    segments: Ids,
    offsets: Ints,
    rows: Ids,
    candidates: Ints,
    of_keys: Codes,
    asked: NDArray[np.bool_],
    codes: Codes,
    taken: Ids,
) -> None:
    """Write the code of each constituent of some candidates one after the other, and its row where there is room."""
    at = 0
    for candidate in candidates:
        first = firsts[segments[candidate]]
        start = offsets[candidate]
        for node in range(offsets[candidate + 1] - start):
            row = rows[start + node]
            if row >= 0:
                codes[at] = of_keys[row]
            elif row == -1 - NOVEL:
                codes[at] = NOVEL if asked[first + node] else SILENT
            else:
                codes[at] = -1 - row
            if len(taken):
                taken[at] = row
            at += 1


def _power_of_two(least: int) -> int:
    return 1 << max(1, (least - 1).bit_length())
