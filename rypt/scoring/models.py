"""Models turn observations into statistics and scores: percolation as in the paper, a calibrated table, severities.

All models share one interface: integers per candidate that add up over a corpus, and a score of their sums.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes, Floats, Ids, Ints
from rypt.compiled import plain_if_small
from rypt.options import TIES, UNKNOWN_AS, check_option
from rypt.scoring.forest import Forest
from rypt.scoring.observations import JudgedPhrases, Observations
from rypt.scoring.percolation import NO, NO_UP, STATES, UNKNOWN, YES, YES_DOWN
from rypt.scoring.phrase_keys import Keys

Stats = NDArray[np.int64]  # (candidates, columns)
SCALE = 1 << 20  # probabilities and penalties are summed as integers, in units of 1/SCALE


class LabelModel(Protocol):
    """What a scorer needs of a model."""

    @property
    def ties(self) -> str:
        """What a tied vote counts as."""

    @property
    def options(self) -> str:
        """Its part of the signature."""

    def stats(self, observations: Observations) -> Stats:
        """Integers for each candidate, (candidates, columns), that may be added up."""

    def score(self, sums: Stats) -> Floats:
        """The RYPT score of summed statistics, one for each row."""


class Percolation:
    """Hard percolation; a constituent still unknown counts as the option says (the paper's authors: one half).

    ``half`` (yes + unknown / 2) / nodes; ``no`` yes / nodes; ``ignore`` yes / (yes + no).
    """

    def __init__(self, unknown: str = "half", ties: str = "unknown") -> None:
        check_option("unknown", unknown, UNKNOWN_AS)
        check_option("ties", ties, TIES)
        self.unknown = unknown
        self.ties = ties
        self._credit = 0.0 if unknown == "no" else 0.5

    @property
    def options(self) -> str:
        return f"model:percolation|unknown:{self.unknown}|ties:{self.ties}"

    def stats(self, observations: Observations) -> Stats:
        """Columns yes, no, unknown, nodes."""
        states, _ = observations.percolated(self.ties)
        yes = observations.sums((states == YES) | (states == YES_DOWN))
        no = observations.sums((states == NO) | (states == NO_UP))
        nodes = np.diff(observations.offsets)
        return np.stack([yes, no, nodes - yes - no, nodes], axis=1)

    def score(self, sums: Stats) -> Floats:
        """One score a row; a row without constituents, of which nothing is known, scores one half."""
        yes, no, unknown, nodes = np.atleast_2d(sums).T.astype(np.float64)
        if self.unknown == "ignore":
            return _ratio(yes, yes + no)
        return _ratio(yes + unknown * self._credit, nodes)

    def p_yes(self, observations: Observations) -> Floats:
        """1 for YES, 0 for NO, and what an unknown counts as."""
        states, _ = observations.percolated(self.ties)
        return np.array([self._credit, 1, 0, 1, 0])[states]


def _ratio(part: Floats, whole: Floats) -> Floats:
    result: Floats = np.full(len(part), 0.5)
    np.divide(part, whole, out=result, where=whole > 0)
    return result


PATTERNS = (
    "unaligned",
    "silent",  # nobody judged any phrase of the constituent
    "novel",  # other phrases of the constituent were judged
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
UNALIGNED, SILENT, NOVEL, NOT_SURE, TIE, ONE_YES = range(6)
ONE_NO = 9
LENGTHS = (1, 2, 3, 4, 5, 7, 10, 15)  # the shortest constituent, in source tokens, of each length class
ROW_COUNT, CELL_COUNT = 5, 20  # pseudo-counts of a row or a column of the table, and of a cell
STATE_PRIOR = np.array([0.6, 0.9, 0.2, 0.85, 0.4])  # P(YES) of each state before anything is counted
UNALIGNED_PRIOR = 0.5  # of an unknown constituent that nothing is aligned with


def vote_patterns(counts: Floats) -> Codes:
    """The pattern of each row of votes: who is in the majority, and by how much.

    >>> counts = np.array([[1, 0, 0], [3, 1, 0], [3, 2, 0], [1, 1, 0], [0, 1, 1], [0, 2, 0]], np.float64)
    >>> [PATTERNS[i] for i in vote_patterns(counts)]
    ['one YES', 'most YES', 'more YES', 'tie', 'not sure', 'all NO']
    """
    yes, no, not_sure = counts[:, :3].T
    best, total = np.maximum(np.maximum(yes, no), not_sure), yes + no + not_sure
    margin = np.where(best == total, np.where(best > 1.5, 1, 0), np.where(best >= 0.75 * total, 2, 3))
    patterns = np.where(best == yes, ONE_YES, ONE_NO) + margin
    patterns = np.where(best == not_sure, NOT_SURE, patterns)
    patterns = np.where((yes == no) & (yes == best), TIE, patterns)
    return np.where(best == 0, NOVEL, patterns).astype(np.int8)


def observed_patterns(observations: Observations) -> Codes:
    """The pattern of the votes at each place."""
    votes = vote_patterns(observations.counts)
    asked = np.zeros(len(observations.forest.parents), np.bool_)
    nodes = observations.judged.nodes[votes != NOVEL]
    asked[nodes[nodes >= 0]] = True
    patterns = np.where(asked[observations.nodes], NOVEL, SILENT).astype(np.int8)
    patterns[observations.numbers == 0] = UNALIGNED
    judged = np.flatnonzero(observations.rows >= 0)
    given = votes[observations.rows[judged]]
    patterns[judged[given != NOVEL]] = given[given != NOVEL]
    return patterns


def length_class(lengths: Ids) -> Ints:
    """The class of each length.

    >>> length_class(np.array([1, 4, 6, 40], np.int32)).tolist()
    [0, 3, 4, 7]
    """
    return np.searchsorted(LENGTHS, lengths, side="right") - 1


class CalibratedTable:
    """P(YES | pattern of votes, state after percolation, length), from counts.

    So one NO among many votes, a NO from below and a phrase that nobody judged have each a probability of their own.
    Each cell is shrunk to what its row and its length say without regard to each other (their log odds added), and a
    row to ``STATE_PRIOR``, by some pseudo-counts. The score is the mean of P(YES) over constituents.
    """

    def __init__(self, table: Floats, ties: str = "unknown", trained: str = "given") -> None:
        self.table = table  # (patterns of votes by states, length classes)
        self.ties = ties
        self.trained = trained

    @property
    def options(self) -> str:
        return f"model:table|ties:{self.ties}|trained:{self.trained}"

    @classmethod
    def fit(
        cls, examples: Iterable[tuple[Observations, Codes]], ties: str = "unknown", trained: str = "given"
    ) -> "CalibratedTable":
        """Count held-out labels (`UNKNOWN`, `YES` or `NO` at each place) by row and length.

        ``trained`` says in signatures what they are.
        """
        size = len(PATTERNS) * len(STATES)
        cells = np.zeros(size * len(LENGTHS) * 2, np.int64)
        for observations, labels in examples:
            known = np.flatnonzero(labels != UNKNOWN)
            columns = _columns(observations, ties)[known] * 2 + (labels[known] == YES)
            cells += np.bincount(columns, minlength=len(cells))
        counts = cells.reshape(size, len(LENGTHS), 2)
        yes, total = counts[:, :, 1].astype(np.float64), counts.sum(axis=2)
        prior = np.tile(STATE_PRIOR, len(PATTERNS))
        prior[UNALIGNED * len(STATES) + UNKNOWN] = UNALIGNED_PRIOR
        by_row = (yes.sum(axis=1) + ROW_COUNT * prior) / (total.sum(axis=1) + ROW_COUNT)
        overall = (yes.sum() + 1) / (total.sum() + 2)
        by_length = (yes.sum(axis=0) + ROW_COUNT * overall) / (total.sum(axis=0) + ROW_COUNT)
        both = _log_odds(by_row)[:, None] + _log_odds(by_length)[None, :] - _log_odds(overall)
        expected = 1 / (1 + np.exp(-both))
        return cls((yes + CELL_COUNT * expected) / (total + CELL_COUNT), ties, trained)

    def stats(self, observations: Observations) -> Stats:
        """Columns: the sum of P(YES) in units of 1/SCALE, nodes."""
        units = np.rint(self.p_yes(observations) * SCALE).astype(np.int64)
        return np.stack([observations.sums(units), np.diff(observations.offsets)], axis=1)

    def score(self, sums: Stats) -> Floats:
        expected, nodes = np.atleast_2d(sums).T.astype(np.float64)
        return _ratio(expected / SCALE, nodes)

    def p_yes(self, observations: Observations) -> Floats:
        return self.table.ravel()[_columns(observations, self.ties)]


def _columns(observations: Observations, ties: str) -> Ints:
    """The cell of a table that each place belongs to, as an index into its rows one after the other."""
    states, _ = observations.percolated(ties)
    rows = observed_patterns(observations).astype(np.int64) * len(STATES) + states
    return rows * len(LENGTHS) + length_class(observations.lengths)


def _log_odds(p: Floats | float) -> Floats:
    return np.asarray(np.log(p) - np.log1p(-np.asarray(p)), np.float64)


CHILDREN = 1.0  # K: how many judgments the children of a constituent are worth
UNALIGNED_SHARE = 0.5  # of what an unjudged word costs: what a word costs that nothing is aligned with
UNSEEN, UNSEEN_WORDS = 0.1, 20  # the penalty of an unjudged word before counting, and its pseudo-count
FRONTIERS = (1, 2, 4, 8, np.inf)  # the maxLen of the frontiers that are averaged


@dataclass(frozen=True, slots=True)
class SeverityModel:
    """The expected penalty of a candidate, from how bad people found its phrases.

    The penalty of a NO is the square root of its severity: 1 for a minor error, 2.24 for a major one, 5 for what is no
    translation. (What one rater calls major another calls minor, so a metric that takes severities as they are follows
    the raters' taste.) A NO without a severity has the mean penalty of the others, ``no_penalty``; a YES has none. What
    is expected of a constituent whose phrase has n judgments is

        penalty(constituent) = (sum of the judged penalties + K · sum over its children) / (n + K),

    the sum over the children alone where nobody judged the phrase. A single word whose translation nobody judged is
    expected to cost as much as words that were judged once do on average (``unseen``), one that nothing is aligned with
    half of that: some words need no translation, others were left out. So long phrases, which few candidates share, lean
    on the short ones inside them.

    The constituents of at most L source words that have no such parent cover a segment once (the frontier of maxLen L),
    and their penalties add up to one estimate of the candidate's. Short constituents are judged often and out of
    context, long ones rarely and in context; the penalty of the candidate is the mean of the estimates for L = 1, 2, 4,
    8 and the whole segment. The score is 1 - penalty / source words, so one minor error in ten words scores 0.9; it may
    fall below 0.
    """

    unseen: float = UNSEEN
    no_penalty: float = 1.0
    ties: str = "unknown"

    @classmethod
    def fit(cls, judged: JudgedPhrases, counts: Floats, ties: str = "unknown") -> "SeverityModel":
        """Estimate the penalty of a NO without a severity and that of an unjudged word.

        ``counts`` are the votes on the judged phrases.
        """
        counts = np.where(judged.nodes[:, None] >= 0, counts, 0)
        graded = float(counts[:, 4].sum())
        no_penalty = float(np.sqrt(counts[:, 3] * counts[:, 4]).sum()) / graded if graded else 1.0
        model = cls(UNSEEN, no_penalty, ties)
        votes, penalties = model.judged_penalties(counts)
        once = (votes == 1) & (judged.lengths == 1)
        total = float(penalties[once].sum())
        return cls((total + UNSEEN_WORDS * UNSEEN) / (int(once.sum()) + UNSEEN_WORDS), no_penalty, ties)

    @property
    def options(self) -> str:
        return f"model:severity|k:{CHILDREN:g}|unseen:{self.unseen:.3f}|unaligned:{UNALIGNED_SHARE:g}"

    def judged_penalties(self, counts: Floats) -> tuple[Floats, Floats]:
        """How many YES and NO each judged phrase has, and the penalty that its NOs add up to.

        >>> counts = np.array([[1, 0, 0, 0, 0], [0, 2, 0, 18, 2], [0, 1, 0, 0, 0]], np.float64)
        >>> SeverityModel(no_penalty=3.0).judged_penalties(counts)[1].tolist()  # a YES; NOs of severity 9; any NO
        [0.0, 6.0, 3.0]
        """
        yes, no, _, penalty, graded = counts.T
        return yes + no, np.sqrt(penalty * graded) + (no - graded) * self.no_penalty

    def penalties(self, observations: Observations) -> tuple[Floats, Floats, Floats]:
        """The expected penalty at each place; its influence; and the expected penalty of each candidate.

        The influence is what a unit of the place's penalty adds to that of the candidate.
        """
        forest, votes = observations.forest, self.judged_penalties(observations.counts)
        expected, influence = np.zeros(len(observations.rows)), np.empty(len(observations.rows))
        totals = np.zeros(len(observations))
        expect_penalties(
            forest.firsts,
            forest.parents,
            frontier_shares(forest),
            observations.segments,
            observations.offsets,
            observations.numbers,
            observations.rows,
            *votes,
            CHILDREN,
            self.unseen,
            UNALIGNED_SHARE * self.unseen,
            expected,
            influence,
            totals,
        )
        return expected, influence, totals

    def stats(self, observations: Observations) -> Stats:
        """Columns: the expected penalty in units of 1/SCALE, source words (0 where there are no constituents)."""
        totals = np.rint(self.penalties(observations)[2] * SCALE).astype(np.int64)
        return np.stack([totals, observations.forest.sizes[observations.segments]], axis=1)

    def score(self, sums: Stats) -> Floats:
        """1 - penalty / words; one half for a row without words, of which nothing is known."""
        penalty, words = np.atleast_2d(sums).T.astype(np.float64)
        return _ratio(words - penalty / SCALE, words)


def frontier_shares(forest: Forest) -> Floats:
    """The share of the frontiers that each constituent is on: those of L with its length <= L < its parent's."""
    lengths = forest.lengths.astype(np.float64)
    above = np.full(len(lengths), np.inf)
    below = np.flatnonzero(forest.parents >= 0)
    above[below] = lengths[forest.firsts[forest.segments[below]] + forest.parents[below]]
    roots = forest.parents < 0
    on = [(lengths <= limit) & (roots | (above > limit)) for limit in FRONTIERS]
    return np.asarray(np.mean(on, axis=0), np.float64)


@plain_if_small
def expect_penalties(
    firsts: Ints,
    parents: Ids,
    shares: Floats,
    segments: Ids,
    offsets: Ints,
    numbers: Keys,
    rows: Ids,
    votes: Floats,
    penalties: Floats,
    k: float,
    unseen: float,
    unaligned: float,
    expected: Floats,
    influence: Floats,
    totals: Floats,
) -> None:
    """Expected penalties, children before parents; then influences and candidates' totals, parents before children."""
    for candidate in range(len(segments)):
        first, at = firsts[segments[candidate]], offsets[candidate]
        count = offsets[candidate + 1] - at
        for node in range(count - 1, -1, -1):
            place, parent = at + node, parents[first + node]
            if node + 1 == count or parents[first + node + 1] != node:
                expected[place] = unaligned if numbers[place] == 0 else unseen
            row = rows[place]
            if row >= 0 and votes[row] > 0:
                expected[place] = (penalties[row] + k * expected[place]) / (votes[row] + k)
            if parent >= 0:
                expected[at + parent] += expected[place]
        for node in range(count):
            place, parent = at + node, parents[first + node]
            influence[place] = shares[first + node]
            if parent >= 0:
                row = rows[at + parent]
                given = votes[row] if row >= 0 else 0.0
                influence[place] += influence[at + parent] * (k / (given + k))
            totals[candidate] += shares[first + node] * expected[place]
