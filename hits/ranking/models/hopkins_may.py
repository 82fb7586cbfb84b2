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
from hits.ranking.model import Fitted, check_fit, settings, sign
from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.options import Options
from rypt.tails import normal_tail

LEAST, MOST = 1e-3, 1e3  # of a standard deviation or radius: squares stay far from the ends of a float


@dataclass(frozen=True, slots=True)
class HopkinsMay:
    """The sampler and its settings; the defaults are those of Sakaguchi et al. (Hopkins and May say d = 0.4)."""

    sigma_a: float = 0.5
    sigma_obs: float = 1.0
    radius: float = 0.5
    iterations: int = 200
    burn_in: int = 50
    name: str = "hopkins-may"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Centred means; ``outcomes`` are those of the generating process, ``variances`` those of Sakaguchi's test."""
        check_fit(comparisons)
        scores = self.samples(comparisons, rng).mean(axis=0)
        scores = scores - scores.mean()
        outcomes = threshold_outcomes(scores, sqrt(2 * (self.sigma_a**2 + self.sigma_obs**2)), self.radius)
        variances = np.full(len(scores), self.sigma_a**2)
        signature = sign(self.name, comparisons, **settings(self))
        return Fitted(comparisons.systems, scores, signature, outcomes, variances)

    def samples(self, comparisons: Comparisons, rng: np.random.Generator) -> Floats:
        """The means of the systems (iterations after the burn-in, systems), by the paper's sampler."""
        i, j, counts = comparisons.pairs()
        means = np.zeros((self.iterations - self.burn_in, len(comparisons.systems)))
        _sample(rng, np.stack([i, j], axis=1), counts, self.sigma_a, self.radius, self.burn_in, means)
        return means


def make_hopkins_may(options: Options) -> HopkinsMay:
    """From the options that `HopkinsMay` lists."""
    iterations, burn_in = read_iterations(options, 200, 50, 4)
    return HopkinsMay(
        sigma_a=options.number("sigma_a", 0.5, least=LEAST, most=MOST),
        sigma_obs=options.number("sigma_obs", 1.0, least=0.0, most=MOST),
        radius=options.number("radius", 0.5, least=0.0, most=MOST),
        iterations=iterations,
        burn_in=burn_in,
    )


def read_iterations(options: Options, default: int, burn_in: int, part: int) -> tuple[int, int]:
    """The iterations of a sampler and its burn-in, which is contained; by default at most 1/``part`` of them."""
    iterations = options.whole("iterations", default, least=1, most=1_000_000)
    return iterations, options.whole(
        "burn_in", min(burn_in, iterations // part), least=0, most=iterations - 1
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


@compiled
def _sample(
    rng: np.random.Generator,
    pairs: Ints,
    counts: Ints,
    deviation: float,
    radius: float,
    burn_in: int,
    samples: Floats,
) -> None:
    """Run the sampler: ``samples`` is filled with the means after the burn-in.

    Moving q₁ and q₂ changes their difference only. Their sum is independent of it, so one draw gives the sum of all
    sums of a pair of systems, and each comparison costs one draw, not two.
    """
    means, totals, sums = np.zeros((3, samples.shape[1]))
    for pair in range(len(pairs)):
        size = counts[pair].sum()
        totals[pairs[pair, 0]] += size
        totals[pairs[pair, 1]] += size
    gap_deviation = np.sqrt(2.0) * deviation
    for iteration in range(burn_in + len(samples)):
        sums[:] = 0.0
        for pair in range(len(pairs)):
            i, j = pairs[pair]
            gap, size, moved = means[i] - means[j], 0, 0.0
            for outcome in (WORSE, 0, BETTER):
                low = radius if outcome == BETTER else -radius if outcome != WORSE else -np.inf
                high = -radius if outcome == WORSE else radius if outcome != BETTER else np.inf
                size += counts[pair, outcome + 1]
                for _ in range(counts[pair, outcome + 1]):
                    moved += min(max(gap + gap_deviation * rng.standard_normal(), low), high)
            both = size * (means[i] + means[j]) + np.sqrt(2.0 * size) * deviation * rng.standard_normal()
            sums[i] += (both + moved) / 2
            sums[j] += (both - moved) / 2
        for i in range(len(means)):
            if totals[i]:
                means[i] = sums[i] / totals[i]
        if iteration >= burn_in:
            samples[iteration - burn_in] = means
