"""The model of Hopkins and May (2013) as Sakaguchi, Post and Van Durme (2014, section 2.2) describe and sample it.

A system's candidates have qualities q ~ N(μ, σ_a²). A worker sees them with noise of variance σ_obs² and prefers one
where they differ by more than the decision radius d. The sampler of the paper, in each iteration: draw q₁ and q₂ of
every comparison from N(μ, σ_a²) of their systems; where q₁ − q₂ contradicts the outcome, move both by half the way to
the edge ±d of what the outcome allows; then every μ is the mean of its system's q. The estimate is the mean of μ after
the burn-in.

It is a stochastic fixed-point iteration, not a Gibbs sampler: it has no prior, σ_obs has no part in it, and its spread
is no posterior. The models of Hopkins and May themselves, with posteriors, are in `hits.ranking.models.irt`.

All systems' means share the noise and drift together: scores are centred. The program of the paper (keisks/wmt-trueskill,
``infer_HM.py``) differs in five points.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from hits.ranking.data import BETTER, WORSE, Comparisons
from hits.ranking.model import Fitted, check_fit, sign
from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.options import Options
from rypt.tails import normal_tail

LEAST, MOST = 1e-3, 1e3  # of a standard deviation or radius: squares stay far from the ends of a float
MOST_ITERATIONS = 1_000_000


@dataclass(frozen=True, slots=True)
class HopkinsMay:
    """The sampler and its settings; the defaults are those of Sakaguchi et al. (Hopkins and May say d = 0.4)."""

    ability_deviation: float = 0.5
    noise_deviation: float = 1.0
    radius: float = 0.5
    iterations: int = 200
    burn_in: int = 50
    name: str = "hopkins-may"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Centred means; ``outcomes`` are those of the generating process, ``variances`` those of Sakaguchi's test."""
        check_fit(comparisons)
        scores = self.samples(comparisons, rng).mean(axis=0)
        scores = scores - scores.mean()
        deviation = sqrt(2 * (self.ability_deviation**2 + self.noise_deviation**2))
        outcomes = threshold_outcomes(scores, deviation, self.radius)
        signature = sign(
            self.name,
            comparisons,
            sigma_a=self.ability_deviation,
            sigma_obs=self.noise_deviation,
            radius=self.radius,
            iterations=self.iterations,
            burn_in=self.burn_in,
        )
        return Fitted(
            comparisons.systems, scores, signature, outcomes, np.full(len(scores), self.ability_deviation**2)
        )

    def samples(self, comparisons: Comparisons, rng: np.random.Generator) -> Floats:
        """The means of the systems (iterations after the burn-in, systems), by the paper's sampler."""
        i, j, counts = comparisons.pairs()
        kept = np.zeros((self.iterations - self.burn_in, len(comparisons.systems)))
        _sample(
            rng, np.stack([i, j], axis=1), counts, self.ability_deviation, self.radius, self.burn_in, kept
        )
        return kept


def make_hopkins_may(options: Options) -> HopkinsMay:
    """From ``sigma_a``, ``sigma_obs``, ``radius``, ``iterations`` and ``burn_in``."""
    iterations = options.whole("iterations", 200, least=1, most=MOST_ITERATIONS)
    return HopkinsMay(
        ability_deviation=options.number("sigma_a", 0.5, least=LEAST, most=MOST),
        noise_deviation=options.number("sigma_obs", 1.0, least=0.0, most=MOST),
        radius=options.number("radius", 0.5, least=0.0, most=MOST),
        iterations=iterations,
        burn_in=options.whole("burn_in", min(50, iterations // 4), least=0, most=iterations - 1),
    )


def threshold_outcomes(scores: Floats, deviation: float, radius: float) -> Floats:
    """P(worse), P(equal), P(better) for all pairs, where a difference N(sᵢ − sⱼ, deviation²) within ±radius is equal.

    >>> threshold_outcomes(np.array([0.4, -0.1]), 1.5, 0.4)[0, 1].round(4).tolist()
    [0.2743, 0.1992, 0.5266]
    """
    gap = scores[:, None] - scores[None, :]
    tail = np.vectorize(normal_tail, otypes=[np.float64])
    better, worse = tail((radius - gap) / deviation), tail((radius + gap) / deviation)
    within = tail((np.abs(gap) - radius) / deviation) - tail((np.abs(gap) + radius) / deviation)
    return np.stack([worse, within, better], axis=2)


def segments_or_rows(comparisons: Comparisons) -> Ints:
    """A number for the segment of each comparison; where the segment has no name, every row is a segment of its own."""
    unnamed = np.array([name == "" for name in comparisons.segments])[comparisons.segment]
    known = len(comparisons.segments) + comparisons.row.astype(np.int64)
    return np.where(unnamed, known, comparisons.segment)


@compiled
def _moved(gap: float, outcome: int, radius: float) -> float:
    """A difference of two qualities, moved to the nearest one that the outcome allows."""
    if outcome == BETTER:
        return max(gap, radius)
    if outcome == WORSE:
        return min(gap, -radius)
    return min(max(gap, -radius), radius)


@compiled
def _sample(
    rng: np.random.Generator,
    pairs: Ints,
    counts: Ints,
    deviation: float,
    radius: float,
    burn_in: int,
    kept: Floats,
) -> None:
    """Run the sampler: ``kept`` is filled with the means after the burn-in.

    Moving q₁ and q₂ changes their difference only. Their sum is independent of it, so one draw gives the sum of all
    sums of a pair of systems, and each comparison costs one draw, not two.
    """
    means, totals, sums = np.zeros((3, kept.shape[1]))
    for pair in range(len(pairs)):
        size = counts[pair].sum()
        totals[pairs[pair, 0]] += size
        totals[pairs[pair, 1]] += size
    gap_deviation = np.sqrt(2.0) * deviation
    for iteration in range(burn_in + len(kept)):
        sums[:] = 0.0
        for pair in range(len(pairs)):
            i, j = pairs[pair]
            gap, size, moved = means[i] - means[j], 0, 0.0
            for k in range(3):
                size += counts[pair, k]
                for _ in range(counts[pair, k]):
                    moved += _moved(gap + gap_deviation * rng.standard_normal(), k - 1, radius)
            both = size * (means[i] + means[j]) + np.sqrt(2.0 * size) * deviation * rng.standard_normal()
            sums[i] += (both + moved) / 2
            sums[j] += (both - moved) / 2
        for i in range(len(means)):
            if totals[i]:
                means[i] = sums[i] / totals[i]
        if iteration >= burn_in:
            kept[iteration - burn_in] = means
