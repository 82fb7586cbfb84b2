"""The model of Hopkins and May (2013) as Sakaguchi, Post and Van Durme (2014, section 2.2) describe and sample it.

A system's candidates have qualities q ~ N(μ, σ_a²). A worker sees them with noise of variance σ_obs² and prefers one
where they differ by more than the decision radius d. The sampler of the paper, in each iteration: draw q₁ and q₂ of
every comparison from N(μ, σ_a²) of their systems; where q₁ − q₂ contradicts the outcome, move both by half the way to
the edge ±d of what the outcome allows; then every μ is the mean of its system's q. The estimate is the mean of μ after
the burn-in.

It is a stochastic fixed-point iteration, not a Gibbs sampler: it has no prior, σ_obs has no part in it, and its spread
is no posterior. The models of Hopkins and May themselves, with posteriors, are in `hits.ranking.models.irt`.

The paper and its program (keisks/wmt-trueskill, ``infer_HM.py``) differ; ``variant`` chooses:

| | paper | program |
|---|---|---|
| q drawn from | N(μ, σ_a²) | N(μ, σ_a² + σ_obs²) |
| comparisons in an iteration | all | one random ranking of each segment |
| μ is the mean over | comparisons | segments, of the means of its last ranking there |
| start | 0 | N(0, 1) |
| estimate | mean after the burn-in | the last iteration |
| variance of a system when outcomes are predicted | σ_a² | σ_a |

Both add the same noise to all systems' means, which therefore drift together: scores are centred.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import BETTER, WORSE, Comparisons
from hits.ranking.model import Fitted, check_fit, sign
from hits.ranking.models.bradley_terry import pair_counts
from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.options import Options
from rypt.tails import normal_tail

VARIANTS = ("paper", "program")
LEAST, MOST = (
    1e-3,
    1e3,
)  # of a standard deviation or radius: squares and ratios stay far from the ends of a float
MOST_ITERATIONS = 1_000_000
START_DEVIATION = 1.0  # of the program's random start


@dataclass(frozen=True, slots=True)
class HopkinsMay:
    """The sampler and its settings; the defaults are those of Sakaguchi et al. (Hopkins and May say d = 0.4)."""

    ability_deviation: float = 0.5
    noise_deviation: float = 1.0
    radius: float = 0.5
    iterations: int = 200
    burn_in: int = 50
    variant: str = "paper"
    name: str = "hopkins-may"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Centred means; ``outcomes`` are those of the generating process, ``variances`` those of Sakaguchi's test."""
        check_fit(comparisons)
        if self.variant == "paper":
            scores = self.samples(comparisons, rng).mean(axis=0)
            variance = self.ability_deviation**2
        else:
            scores = self._last_of_program(comparisons, rng)
            variance = self.ability_deviation
        scores = scores - scores.mean()
        deviation = sqrt(2 * (self.ability_deviation**2 + self.noise_deviation**2))
        outcomes = threshold_outcomes(scores, deviation, self.radius)
        signature = sign(
            self.name,
            comparisons,
            variant=self.variant,
            sigma_a=self.ability_deviation,
            sigma_obs=self.noise_deviation,
            radius=self.radius,
            iterations=self.iterations,
            burn_in=self.burn_in,
        )
        return Fitted(comparisons.systems, scores, signature, outcomes, np.full(len(scores), variance))

    def samples(self, comparisons: Comparisons, rng: np.random.Generator) -> Floats:
        """The means of the systems (iterations after the burn-in, systems), by the paper's sampler."""
        pairs, counts = pair_counts(comparisons)
        means = np.zeros(len(comparisons.systems))
        kept = np.zeros((self.iterations - self.burn_in, len(means)))
        _sample_paper(rng, pairs, counts, self.ability_deviation, self.radius, self.burn_in, means, kept)
        return kept

    def _last_of_program(self, comparisons: Comparisons, rng: np.random.Generator) -> Floats:
        order, rows, segments = _rankings(comparisons)
        start = rng.standard_normal(len(comparisons.systems)) * START_DEVIATION
        means = np.asarray(start - start.mean())
        deviation = sqrt(self.ability_deviation**2 + self.noise_deviation**2)
        a, b, outcome = comparisons.a[order], comparisons.b[order], comparisons.outcome[order]
        _sample_program(rng, a, b, outcome, rows, segments, deviation, self.radius, self.iterations, means)
        return means


def make_hopkins_may(options: Options) -> HopkinsMay:
    """From ``sigma_a``, ``sigma_obs``, ``radius``, ``iterations``, ``burn_in`` and ``variant``."""
    iterations = options.whole("iterations", 200, least=1, most=MOST_ITERATIONS)
    return HopkinsMay(
        ability_deviation=options.number("sigma_a", 0.5, least=LEAST, most=MOST),
        noise_deviation=options.number("sigma_obs", 1.0, least=0.0, most=MOST),
        radius=options.number("radius", 0.5, least=0.0, most=MOST),
        iterations=iterations,
        burn_in=options.whole("burn_in", min(50, iterations // 4), least=0, most=iterations - 1),
        variant=options.choice("variant", "paper", VARIANTS),
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


def _rankings(comparisons: Comparisons) -> tuple[NDArray[np.intp], Ints, Ints]:
    """An order in which comparisons of one row, and rows of one segment, stand together.

    Returns the order, where each row begins, and in which of these the rows of each segment begin, and one more each.
    """
    place = segments_or_rows(comparisons)
    order = np.lexsort((comparisons.row, place))
    place, row = place[order], comparisons.row[order]
    new_place = np.r_[True, place[1:] != place[:-1]]
    new_row = new_place | np.r_[True, row[1:] != row[:-1]]
    rows = np.r_[np.flatnonzero(new_row), len(row)].astype(np.int64)
    segments = np.r_[np.flatnonzero(new_place[rows[:-1]]), len(rows) - 1].astype(np.int64)
    return order, rows, segments


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
def _sample_paper(
    rng: np.random.Generator,
    pairs: Ints,
    counts: Ints,
    deviation: float,
    radius: float,
    burn_in: int,
    means: Floats,
    kept: Floats,
) -> None:
    """Run the sampler: ``means`` is its state, ``kept`` is filled with those after the burn-in.

    Moving q₁ and q₂ changes their difference only. Their sum is independent of it, so one draw gives the sum of all
    sums of a pair of systems, and each comparison costs one draw, not two.
    """
    totals, sums = np.zeros(len(means)), np.zeros(len(means))
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


@compiled
def _sample_program(
    rng: np.random.Generator,
    a: NDArray[np.int32],
    b: NDArray[np.int32],
    outcome: NDArray[np.int8],
    rows: Ints,
    segments: Ints,
    deviation: float,
    radius: float,
    iterations: int,
    means: Floats,
) -> None:
    """The program's iterations: ``means`` is the start and becomes the estimate."""
    n = len(means)
    quality = np.full((len(segments) - 1, n), np.nan)
    sums, sizes = np.zeros(n), np.zeros(n)
    for _ in range(iterations):
        for segment in range(len(segments) - 1):
            row = rng.integers(segments[segment], segments[segment + 1])
            sums[:] = 0.0
            sizes[:] = 0.0
            for c in range(rows[row], rows[row + 1]):
                first = means[a[c]] + deviation * rng.standard_normal()
                second = means[b[c]] + deviation * rng.standard_normal()
                move = (_moved(first - second, outcome[c], radius) - (first - second)) / 2
                sums[a[c]] += first + move
                sums[b[c]] += second - move
                sizes[a[c]] += 1
                sizes[b[c]] += 1
            for i in range(n):
                if sizes[i]:
                    quality[segment, i] = sums[i] / sizes[i]
        for i in range(n):
            total, size = 0.0, 0
            for segment in range(len(segments) - 1):
                if not np.isnan(quality[segment, i]):
                    total += quality[segment, i]
                    size += 1
            if size:
                means[i] = total / size
