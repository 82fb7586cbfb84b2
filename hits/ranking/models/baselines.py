"""The baselines of Hopkins and May (2013, sections 5 and 6): what a model of comparisons must beat.

    Uniform                Q(π) = 1/3
    Adjusted Uniform       Q(equal) = share of ties; the rest is halved
    Independent Pairs      Q(π | i, j) = (α + count of π between i and j) / (3α + comparisons of i and j)
    Independent Students   Q(π | i) = (α + count of π of i against anybody) / (3α + comparisons of i), joined as
      asymmetric           Q(π | i, j) = Q(π | i): who stands first counts alone, so it depends on the order
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


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every outcome has a third."""

    name: str = "uniform"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Nothing is learned, nothing is random."""
        check_fit(comparisons)
        n = len(comparisons.systems)
        return Fitted(
            comparisons.systems, np.zeros(n), sign(self.name, comparisons), np.full((n, n, 3), 1 / 3)
        )


@dataclass(frozen=True, slots=True)
class AdjustedUniform:
    """Ties are as frequent as in the data, and either system is as likely to be better."""

    name: str = "adjusted-uniform"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Only the share of ties is learned."""
        check_fit(comparisons)
        n = len(comparisons.systems)
        equal = float((comparisons.outcome == 0).mean())
        outcomes = np.broadcast_to([(1 - equal) / 2, equal, (1 - equal) / 2], (n, n, 3)).copy()
        return Fitted(comparisons.systems, np.zeros(n), sign(self.name, comparisons), outcomes)


@dataclass(frozen=True, slots=True)
class IndependentPairs:
    """Every pair of systems has its own probabilities, with a Dirichlet prior."""

    strength: float = 1.0
    name: str = "independent-pairs"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Posterior means of each pair's probabilities."""
        check_fit(comparisons)
        n = len(comparisons.systems)
        counts = _counts(comparisons) + self.strength
        outcomes = counts / counts.sum(axis=2, keepdims=True)
        worth = outcomes[:, :, 2] + outcomes[:, :, 1] / 2
        scores = (worth.sum(axis=1) - worth.diagonal()) / (n - 1)
        return Fitted(
            comparisons.systems, scores, sign(self.name, comparisons, alpha=self.strength), outcomes
        )


@dataclass(frozen=True, slots=True)
class IndependentStudents:
    """Every system has its own probabilities against anybody; ``name`` ends with how two systems' are joined."""

    strength: float = 1.0
    name: str = "students-geometric"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Posterior means of each system's probabilities, joined for each pair."""
        check_fit(comparisons)
        counts = _counts(comparisons).sum(axis=1) + self.strength
        alone = counts / counts.sum(axis=1, keepdims=True)
        scores = alone[:, 2] / (alone[:, 2] + alone[:, 0])
        signature = sign(self.name, comparisons, alpha=self.strength)
        return Fitted(comparisons.systems, scores, signature, _join(self.name, alone))


def make_uniform(options: Options) -> Uniform:
    """It has no options."""
    return Uniform()


def make_adjusted_uniform(options: Options) -> AdjustedUniform:
    """It has no options."""
    return AdjustedUniform()


def make_independent_pairs(options: Options) -> IndependentPairs:
    """From ``alpha``, the strength of the prior."""
    return IndependentPairs(options.positive("alpha", 1.0))


def make_students_asymmetric(options: Options) -> IndependentStudents:
    """From ``alpha``, the strength of the prior."""
    return IndependentStudents(options.positive("alpha", 1.0), "students-asymmetric")


def make_students_arithmetic(options: Options) -> IndependentStudents:
    """From ``alpha``, the strength of the prior."""
    return IndependentStudents(options.positive("alpha", 1.0), "students-arithmetic")


def make_students_geometric(options: Options) -> IndependentStudents:
    """From ``alpha``, the strength of the prior."""
    return IndependentStudents(options.positive("alpha", 1.0), "students-geometric")


def _counts(comparisons: Comparisons) -> Floats:
    """How often the first system was worse, equal, better: (systems, systems, 3)."""
    wins, ties = comparisons.counts()
    return np.stack([wins.T, ties, wins], axis=2).astype(np.float64)


def _join(name: str, alone: Floats) -> Floats:
    """A table of outcomes for all pairs from each system's own (systems, 3)."""
    first, second = alone[:, None, :], alone[None, :, ::-1]
    if name == "students-asymmetric":
        return first + np.zeros_like(second)
    if name == "students-arithmetic":
        return np.asarray((first + second) / 2)
    joined = np.sqrt(first * second)
    return np.asarray(joined / joined.sum(axis=2, keepdims=True))
