"""Models turn observations into statistics and scores; the paper's percolation is the default one.

All models share one interface: integers per candidate that add up over a corpus, and a score of their sums.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes, Floats, Ints
from rypt.options import TIES, UNKNOWN_AS, check_option
from rypt.scoring.observations import CODES, LabelledPlaces, Observations, label_states
from rypt.scoring.percolation import NO, NO_UP, STATES, UNKNOWN, YES, YES_DOWN, percolate_states
from rypt.text import RyptError

Stats = NDArray[np.int64]  # (candidates, columns)

LENGTHS = (1, 2, 3, 4, 5, 7, 10, 15)  # the shortest constituent, in source tokens, of each length class
CREDIT = {"half": 0.5, "no": 0.0, "yes": 1.0, "ignore": 0.5}  # of an unknown, where it is one number
PSEUDO_NODES = 5
PSEUDO_COUNT = 20
TABLE_PRIOR = np.array([0.6, 0.9, 0.2, 0.85, 0.4])  # P(YES) of each state before anything is counted
UNALIGNED_PRIOR = 0.5  # of an unknown constituent that nothing is aligned with
_STATES = len(STATES)
SCALE = 1 << 20  # probabilities are summed as integers, in units of 1/SCALE


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

    def p_yes(self, observations: Observations) -> Floats:
        """The probability that each constituent is acceptably translated."""


def length_class(lengths: NDArray[np.int32]) -> NDArray[np.int64]:
    """The class of each length.

    >>> length_class(np.array([1, 4, 6, 40], dtype=np.int32)).tolist()
    [0, 3, 4, 7]
    """
    return np.searchsorted(LENGTHS, lengths, side="right") - 1


def percolated(observations: Observations, ties: str = "unknown") -> tuple[Codes, NDArray[np.int64]]:
    """The state of each constituent after percolation, and each candidate's number of NOs below a YES."""
    states = label_states(ties)[observations.codes]
    conflicts = np.zeros(len(observations), np.int64)
    forest = observations.forest
    percolate_states(
        forest.firsts, forest.parents, observations.segments, observations.offsets, states, conflicts
    )
    return states, conflicts


def count_per_candidate(observations: Observations, marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many constituents of each candidate are marked."""
    return _sums_per_candidate(observations, marked.astype(np.int64))


def _sums_per_candidate(observations: Observations, values: NDArray[np.int64]) -> NDArray[np.int64]:
    sums: NDArray[np.int64] = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums[observations.offsets[1:]] - sums[observations.offsets[:-1]]


class Percolation:
    """Hard percolation; a constituent still unknown counts as the option says (the paper's authors: one half).

    ``half`` (yes + unknown / 2) / nodes; ``no`` yes / nodes; ``yes`` (yes + unknown) / nodes; ``ignore``
    yes / (yes + no); ``prior`` each unknown counts as the share of YES at its length; ``smoothed``
    (yes + 5 p) / (yes + no + 5) for each segment, with p the share of YES.
    """

    def __init__(self, unknown: str = "half", ties: str = "unknown", prior: Floats | None = None) -> None:
        check_option("unknown", unknown, UNKNOWN_AS)
        check_option("ties", ties, TIES)
        if unknown in ("prior", "smoothed") and prior is None:
            raise RyptError(f"unknown:{unknown} needs the share of YES at each length")
        self.unknown = unknown
        self.ties = ties
        self.prior = np.full(len(LENGTHS) + 1, 0.5) if prior is None else prior

    @property
    def options(self) -> str:
        """Its part of the signature."""
        return f"model:percolation|unknown:{self.unknown}|ties:{self.ties}"

    def stats(self, observations: Observations) -> Stats:
        """Columns yes, no, unknown, nodes; then unknowns by length (``prior``) or the segment count (``smoothed``)."""
        states, _ = percolated(observations, self.ties)
        yes = count_per_candidate(observations, (states == YES) | (states == YES_DOWN))
        no = count_per_candidate(observations, (states == NO) | (states == NO_UP))
        nodes = np.diff(observations.offsets)
        columns = [yes, no, nodes - yes - no, nodes]
        if self.unknown == "prior":
            classes = length_class(observations.lengths)
            columns += [
                count_per_candidate(observations, (states == UNKNOWN) & (classes == i))
                for i in range(len(LENGTHS))
            ]
        elif self.unknown == "smoothed":
            columns.append((nodes > 0).astype(np.int64))
        return np.stack(columns, axis=1)

    def score(self, sums: Stats) -> Floats:
        """One score a row; a row without constituents, of which nothing is known, scores one half."""
        yes, no, unknown, nodes = np.atleast_2d(sums)[:, :4].T.astype(np.float64)
        if self.unknown == "ignore":
            return _ratio(yes, yes + no)
        if self.unknown == "smoothed":
            pseudo = PSEUDO_NODES * np.atleast_2d(sums)[:, 4]
            return _ratio(yes + pseudo * self.prior[-1], yes + no + pseudo)
        if self.unknown == "prior":
            credit = np.atleast_2d(sums)[:, 4:] @ self.prior[:-1]
        else:
            credit = unknown * CREDIT[self.unknown]
        return _ratio(yes + credit, nodes)

    def p_yes(self, observations: Observations) -> Floats:
        """1 for YES, 0 for NO, and what an unknown counts as."""
        states, _ = percolated(observations, self.ties)
        if self.unknown == "prior":
            unknown = self.prior[length_class(observations.lengths)]
        else:
            unknown = np.full(
                len(states), self.prior[-1] if self.unknown == "smoothed" else CREDIT[self.unknown]
            )
        known = (states != UNKNOWN).astype(bool)
        return np.where(known, (states == YES) | (states == YES_DOWN), unknown).astype(np.float64)


def _ratio(part: Floats, whole: Floats) -> Floats:
    result: Floats = np.full(len(part), 0.5)
    np.divide(part, whole, out=result, where=whole > 0)
    return result


class Expected:
    """The part that probabilistic models share: the score is the mean of P(YES) over constituents."""

    def p_yes(self, observations: Observations) -> Floats:
        """The probability of YES for each constituent; each model has its own."""
        raise TypeError("a probabilistic model defines p_yes")

    def stats(self, observations: Observations) -> Stats:
        """Columns: the sum of P(YES) in units of 1/SCALE, nodes."""
        units = np.rint(self.p_yes(observations) * SCALE).astype(np.int64)
        return np.stack([_sums_per_candidate(observations, units), np.diff(observations.offsets)], axis=1)

    def score(self, sums: Stats) -> Floats:
        """One score a row."""
        expected, nodes = np.atleast_2d(sums).T.astype(np.float64)
        return _ratio(expected / SCALE, nodes)


def yes_share_by_length(observations: Observations, labels: Codes) -> Floats:
    """The share of YES among labels (1 YES, 0 NO, -1 none) in each length class, shrunk to the share overall (last)."""
    known = labels >= 0
    overall = (labels[known].sum() + 1) / (known.sum() + 2)
    classes = length_class(observations.lengths)[known]
    yes = np.bincount(classes, labels[known], minlength=len(LENGTHS))
    total = np.bincount(classes, minlength=len(LENGTHS))
    shares: Floats = np.append((yes + PSEUDO_NODES * overall) / (total + PSEUDO_NODES), overall)
    return shares


def direct_labels(observations: Observations, ties: str = "unknown") -> Codes:
    """The labels of constituents before percolation: 1 YES, 0 NO, -1 none."""
    states = label_states(ties)[observations.codes]
    return np.where(states == YES, 1, np.where(states == NO, 0, -1)).astype(np.int8)


def table_rows(observations: Observations, ties: str) -> NDArray[np.int64]:
    """The row of each constituent in a calibrated table: the pattern of its votes and its state after percolation."""
    states, _ = percolated(observations, ties)
    return observations.codes.astype(np.int64) * len(STATES) + states


def count_cells(observations: Observations, classes: Ints, states: Codes, truth: Codes) -> Ints:
    """Count labels (1 YES, 0 NO, -1 none) by row of a calibrated table, length class and label."""
    known = LabelledPlaces.of(observations, truth)
    rows = observations.codes[known.places].astype(np.int64) * _STATES + states[known.places]
    cells = (rows * len(LENGTHS) + classes[known.nodes]) * 2 + truth[known.places]
    size = len(CODES) * _STATES
    return np.bincount(cells, minlength=2 * size * len(LENGTHS)).reshape(size, len(LENGTHS), 2)


class CalibratedTable(Expected):
    """P(YES | pattern of votes, state after percolation, length), from counts.

    So one NO among many votes, a NO from below and a phrase that nobody judged have each a probability of their own.
    Each cell is shrunk to what its row and its length say without regard to each other (their log odds added), and a
    row to ``TABLE_PRIOR``, by some pseudo-counts.
    """

    def __init__(self, table: Floats, ties: str = "unknown", trained: str = "given") -> None:
        self.table = table  # (patterns of votes by states, length classes)
        self.ties = ties
        self.trained = trained

    @property
    def options(self) -> str:
        """Its part of the signature."""
        return f"model:table|ties:{self.ties}|trained:{self.trained}"

    @classmethod
    def fit(
        cls, observations: Observations, truth: Codes, ties: str = "unknown", trained: str = "given"
    ) -> "CalibratedTable":
        """Count held-out labels (1 YES, 0 NO, -1 none) by row and length; ``trained`` says in signatures on what."""
        states, _ = percolated(observations, ties)
        forest = observations.forest
        classes = length_class(forest.stops - forest.starts)
        counts = count_cells(observations, classes, states, truth)
        yes, total = counts[:, :, 1].astype(np.float64), counts.sum(axis=2)
        prior = np.tile(TABLE_PRIOR, len(CODES))
        prior[: len(STATES)] = np.where(np.arange(len(STATES)) == UNKNOWN, UNALIGNED_PRIOR, TABLE_PRIOR)
        by_row = (yes.sum(axis=1) + PSEUDO_NODES * prior) / (total.sum(axis=1) + PSEUDO_NODES)
        overall = (yes.sum() + 1) / (total.sum() + 2)
        by_length = (yes.sum(axis=0) + PSEUDO_NODES * overall) / (total.sum(axis=0) + PSEUDO_NODES)
        both = _log_odds(by_row)[:, None] + _log_odds(by_length)[None, :] - _log_odds(overall)
        expected = 1 / (1 + np.exp(-both))
        return cls((yes + PSEUDO_COUNT * expected) / (total + PSEUDO_COUNT), ties, trained)

    def p_yes(self, observations: Observations) -> Floats:
        """The cell of each constituent."""
        return self.table[table_rows(observations, self.ties), length_class(observations.lengths)]


def _log_odds(p: Floats | float) -> Floats:
    return np.asarray(np.log(p) - np.log1p(-np.asarray(p)), np.float64)
