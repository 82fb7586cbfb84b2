"""The baselines of Hopkins and May (2013, sections 5 and 6): what a model of comparisons must beat.

    uniform                Q(π) = 1/3
    adjusted-uniform       Q(equal) = share of ties; the rest is halved
    independent-pairs      Q(π | i, j) = (α + count of π between i and j) / (3α + comparisons of i and j)
    students-…             Q(π | i) = (α + count of π of i against anybody) / (3α + comparisons of i), joined as
      asymmetric           Q(π | i, j) = Q(π | i): only the first system counts, so it depends on the order
      arithmetic           Q(π | i, j) = (Q(π | i) + Q(π̄ | j)) / 2
      geometric            Q(π | i, j) ∝ √(Q(π | i) Q(π̄ | j))

π̄ is the outcome seen from the other side. The paper prints the geometric mean without a divisor; it sums to less than
1, so it is divided by its sum here. α is 1 in the paper.

They are made to predict outcomes. Their scores are what follows for a ranking: nothing for the first two; the mean over
opponents of P(better) + P(equal)/2 for pairs; P(better) / (P(better) + P(worse)), Bojar's ratio smoothed, for students.
"""

from dataclasses import dataclass

import numpy as np

from hits.ranking.data import Comparisons
from hits.ranking.model import Fitted, check_fit, sign
from rypt.arrays import Floats
from rypt.options import Options

STUDENTS = {
    "students-asymmetric": lambda mine, theirs: mine + np.zeros_like(theirs),
    "students-arithmetic": lambda mine, theirs: (mine + theirs) / 2,
    "students-geometric": lambda mine, theirs: np.sqrt(mine * theirs),
}


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline by its name; ``alpha`` is the strength of its prior, None where it has none."""

    name: str
    alpha: float | None = None

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        check_fit(comparisons)
        wins, ties = comparisons.counts()
        counts = np.stack([wins.T, ties, wins], axis=2).astype(np.float64)
        scores, outcomes = self._predict(counts)
        options = {} if self.alpha is None else {"alpha": self.alpha}
        return Fitted(comparisons.systems, scores, sign(self.name, comparisons, **options), outcomes)

    def _predict(self, counts: Floats) -> tuple[Floats, Floats]:
        """Scores (systems,) and outcomes (systems, systems, 3) from counts of outcomes."""
        if self.alpha is None:
            equal = 1 / 3 if self.name == "uniform" else counts[..., 1].sum() / counts.sum()
            outcome = [(1 - equal) / 2, equal, (1 - equal) / 2]
            return np.zeros(len(counts)), np.broadcast_to(outcome, counts.shape).copy()
        if self.name == "independent-pairs":
            outcomes = (counts + self.alpha) / (counts + self.alpha).sum(axis=2, keepdims=True)
            worth = outcomes[:, :, 2] + outcomes[:, :, 1] / 2
            return (worth.sum(axis=1) - worth.diagonal()) / (len(counts) - 1), outcomes
        smoothed = counts.sum(axis=1) + self.alpha
        alone = smoothed / smoothed.sum(axis=1, keepdims=True)
        joined = STUDENTS[self.name](alone[:, None, :], alone[None, :, ::-1])
        return alone[:, 2] / (alone[:, 2] + alone[:, 0]), joined / joined.sum(axis=2, keepdims=True)


def make_baseline(options: Options) -> Baseline:
    """From ``alpha``, which the first two do not have."""
    return Baseline(options.name, None if "uniform" in options.name else options.positive("alpha", 1.0))
