"""The severity model: the expected penalty of a candidate, from how bad people found its phrases.

A judged phrase has a penalty (`rypt.scoring.observations.Grades`), 0 for a YES. What is expected of a constituent whose
phrase has n judgments is

    penalty(constituent) = (sum of the judged penalties + K · sum over its children) / (n + K),

the sum over the children alone where nobody judged the phrase. A single word whose translation nobody judged is
expected to cost as much as words that were judged once do on average (``unseen``), one that nothing is aligned with
half of that: some words need no translation, others were left out. So long phrases, which few candidates share, lean on
the short ones inside them.

The constituents of at most L source words that stand highest cover a segment once (the frontier of maxLen L), and their
penalties add up to one estimate of the candidate's. Short constituents are judged often and out of context, long ones
rarely and in context; the penalty of the candidate is the mean of the estimates for L = 1, 2, 4, 8 and the whole
segment. The score is 1 - penalty / source words, so one minor error in ten words scores 0.9; it may fall below 0.
"""

from dataclasses import dataclass

import numpy as np

from rypt.arrays import Floats, Ids, Ints
from rypt.compiled import compiled_if_large
from rypt.scoring.kernel import UNALIGNED
from rypt.scoring.model import SCALE, Stats
from rypt.scoring.observations import Forest, Grades, Observations

K = 1.0  # how many judgments the children of a constituent are worth
UNALIGNED_SHARE = 0.5  # of what an unjudged word costs: what a word costs that nothing is aligned with
UNSEEN = 0.1  # the penalty of an unjudged word before anything is counted
PSEUDO_WORDS = 20  # how many words that is worth
LENGTHS = (1, 2, 4, 8, np.inf)  # whose frontiers are averaged
_UNALIGNED_ROW = -1 - UNALIGNED


@compiled_if_large
def expected_penalties(
    firsts: Ints,
    parents: Ids,
    segments: Ids,
    offsets: Ints,
    rows: Ids,
    votes: Floats,
    penalties: Floats,
    k: float,
    unseen: float,
    unaligned: float,
    out: Floats,
) -> None:
    """The expected penalty of every constituent of every candidate, children before parents."""
    for candidate in range(len(segments)):
        first = firsts[segments[candidate]]
        count, at = firsts[segments[candidate] + 1] - first, offsets[candidate]
        for node in range(count):
            out[at + node] = 0.0
        for node in range(count - 1, -1, -1):
            expected = out[at + node]
            row = rows[at + node]
            if node + 1 == count or parents[first + node + 1] != node:
                expected = unaligned if row == _UNALIGNED_ROW else unseen
            if row >= 0 and votes[row] > 0:
                expected = (penalties[row] + k * expected) / (votes[row] + k)
            out[at + node] = expected
            if parents[first + node] >= 0:
                out[at + parents[first + node]] += expected


@compiled_if_large
def weighted_sums(
    firsts: Ints, segments: Ids, offsets: Ints, weights: Floats, values: Floats, scale: float, out: Ints
) -> None:
    """For each candidate the sum of weight times value over its constituents, in units of 1/scale."""
    for candidate in range(len(segments)):
        first, at = firsts[segments[candidate]], offsets[candidate]
        total = 0.0
        for node in range(offsets[candidate + 1] - at):
            total += weights[first + node] * values[at + node]
        out[candidate] = np.int64(np.rint(total * scale))


def frontier_weights(forest: Forest) -> Floats:
    """In which share of the frontiers a constituent stands: those of L with its length <= L < its parent's."""
    lengths = (forest.stops - forest.starts).astype(np.float64)
    starts = np.repeat(forest.firsts[:-1], forest.counts)
    above = np.where(
        forest.parents >= 0, lengths[np.minimum(starts + forest.parents, len(lengths) - 1)], np.inf
    )
    roots = forest.parents < 0
    on = [(lengths <= limit) & (roots | (above > limit)) for limit in LENGTHS]
    return np.asarray(np.mean(on, axis=0), np.float64)


def unseen_penalty(grades: Grades, lengths: Ids) -> float:
    """The mean penalty of words that were judged once; ``lengths`` are those of the keys' constituents."""
    once = (grades.votes[:-2] == 1) & (lengths == 1)
    total = float(grades.penalties[:-2][once].sum())
    return (total + PSEUDO_WORDS * UNSEEN) / (int(once.sum()) + PSEUDO_WORDS)


@dataclass(frozen=True, slots=True)
class SeverityModel:
    """The expected penalty of candidates; ``unseen`` is that of a word whose translation nobody judged.

    A word that nothing is aligned with costs the share ``unaligned`` of it.
    """

    unseen: float = UNSEEN
    unaligned: float = UNALIGNED_SHARE
    k: float = K
    ties: str = "unknown"

    @property
    def options(self) -> str:
        """Its part of the signature."""
        return f"model:severity|k:{self.k:g}|unseen:{self.unseen:.3f}|unaligned:{self.unaligned:g}"

    def penalties(self, observations: Observations) -> Floats:
        """The expected penalty of each constituent."""
        out = np.empty(len(observations.codes))
        forest, grades = observations.forest, observations.grades
        expected_penalties(
            forest.firsts,
            forest.parents,
            observations.segments,
            observations.offsets,
            observations.rows,
            grades.votes,
            grades.penalties,
            self.k,
            self.unseen,
            self.unaligned * self.unseen,
            out,
        )
        return out

    def stats(self, observations: Observations) -> Stats:
        """Columns: the expected penalty in units of 1/SCALE, source words (0 where there are no constituents)."""
        forest = observations.forest
        sums = np.zeros(len(observations), np.int64)
        weighted_sums(
            forest.firsts,
            observations.segments,
            observations.offsets,
            frontier_weights(forest),
            self.penalties(observations),
            float(SCALE),
            sums,
        )
        return np.stack([sums, forest.sizes[observations.segments].astype(np.int64)], axis=1)

    def score(self, sums: Stats) -> Floats:
        """1 - penalty / words; one half for a row without words, of which nothing is known."""
        penalty, words = np.atleast_2d(sums).T.astype(np.float64)
        scores: Floats = np.full(len(penalty), 0.5)
        np.divide(words - penalty / SCALE, words, out=scores, where=words > 0)
        return scores

    def p_yes(self, observations: Observations) -> Floats:
        """The probability under which a NO of mean severity gives the expected penalty."""
        return np.asarray(
            np.clip(1 - self.penalties(observations) / observations.grades.no_penalty, 0, 1), np.float64
        )
