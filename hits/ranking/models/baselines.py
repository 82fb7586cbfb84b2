"""The baselines of Hopkins and May (2013, sections 5 and 6): what a model of comparisons must beat.

    uniform                Q(π) = 1/3
    adjusted-uniform       Q(equal) = share of ties; the rest is halved
    independent-pairs      Q(π | i, j) = (α + count of π between i and j) / (3α + comparisons of i and j)
    students-…             Q(π | i) = (α + count of π of i against anybody) / (3α + comparisons of i), joined as
      asymmetric           Q(π | i, j) = Q(π | i): who stands first counts alone, so it depends on the order
      arithmetic           Q(π | i, j) = (Q(π | i) + Q(π̄ | j)) / 2
      geometric            Q(π | i, j) ∝ √(Q(π | i) Q(π̄ | j))

π̄ is the outcome seen from the other side. The paper prints the geometric mean without a divisor; it sums to less than
1, so it is divided by its sum here. α is 1 in the paper.

They are made to predict outcomes. Their scores are what follows for a ranking: nothing for the first two; the mean over
opponents of P(better) + P(equal)/2 for pairs; P(better) / (P(better) + P(worse)), Bojar's ratio smoothed, for students.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hits.ranking.data import Comparisons
from hits.ranking.model import Fitted, check_fit, sign
from rypt.arrays import Floats
from rypt.options import Options

Predicted = tuple[Floats, Floats]  # scores (systems,) and outcomes (systems, systems, 3)


def uniform(counts: Floats, alpha: float) -> Predicted:
    return np.zeros(len(counts)), np.full(counts.shape, 1 / 3)


def adjusted_uniform(counts: Floats, alpha: float) -> Predicted:
    equal = counts[..., 1].sum() / counts.sum()
    return np.zeros(len(counts)), np.broadcast_to(
        [(1 - equal) / 2, equal, (1 - equal) / 2], counts.shape
    ).copy()


def independent_pairs(counts: Floats, alpha: float) -> Predicted:
    outcomes = (counts + alpha) / (counts + alpha).sum(axis=2, keepdims=True)
    worth = outcomes[:, :, 2] + outcomes[:, :, 1] / 2
    return (worth.sum(axis=1) - worth.diagonal()) / (len(counts) - 1), outcomes


def students(join: Callable[[Floats, Floats], Floats]) -> Callable[[Floats, float], Predicted]:
    """Each system's probabilities against anybody, joined for each two."""

    def predict(counts: Floats, alpha: float) -> Predicted:
        smoothed = counts.sum(axis=1) + alpha
        alone = smoothed / smoothed.sum(axis=1, keepdims=True)
        joined = join(alone[:, None, :], alone[None, :, ::-1])
        return alone[:, 2] / (alone[:, 2] + alone[:, 0]), joined / joined.sum(axis=2, keepdims=True)

    return predict


PREDICTORS = {
    "uniform": uniform,
    "adjusted-uniform": adjusted_uniform,
    "independent-pairs": independent_pairs,
    "students-asymmetric": students(lambda mine, theirs: mine + np.zeros_like(theirs)),
    "students-arithmetic": students(lambda mine, theirs: (mine + theirs) / 2),
    "students-geometric": students(lambda mine, theirs: np.sqrt(mine * theirs)),
}


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline by its name; ``alpha`` is the strength of its prior, None where it has none."""

    name: str
    alpha: float | None = None

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Count outcomes; nothing is random."""
        check_fit(comparisons)
        wins, ties = comparisons.counts()
        counts = np.stack([wins.T, ties, wins], axis=2).astype(np.float64)
        scores, outcomes = PREDICTORS[self.name](counts, self.alpha or 0.0)
        facts = {} if self.alpha is None else {"alpha": self.alpha}
        return Fitted(comparisons.systems, scores, sign(self.name, comparisons, **facts), outcomes)


def make_baseline(options: Options) -> Baseline:
    """From ``alpha``, which the first two do not have."""
    return Baseline(options.name, None if "uniform" in options.name else options.positive("alpha", 1.0))
