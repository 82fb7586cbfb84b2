"""The two item-response models of Hopkins and May (2013, section 7), by Gibbs sampling.

A system has an ability. A candidate of a system for a segment is an item: its quality is drawn from the ability, once,
for all workers and comparisons. A worker observes the two qualities of a comparison with noise, and states no preference
where the observations differ by no more than the decision radius.

| | Gaussian | categorical |
|---|---|---|
| ability | mean μ ~ N(0, σ₀²) | θ ~ Dirichlet(α, …, α) over 1 … Λ |
| quality of an item | N(μ, σ_a²) | drawn from θ |
| noise | N(0, σ_obs²) | whole numbers that stay within 1 … Λ, weighted as N(0, σ_obs²) |
| in the paper | σ₀ = 1, σ_a = 0.5, σ_obs = 1, radius 0.4 | Λ = 8, α = 0.5, σ_obs = 1, radius 0 |

The paper says "lower than" the radius; with whole numbers and radius 0 that would leave no ties, so it is "no more
than". Where comparisons name no segment, a row has its own items. Outcomes of new items follow from the estimates, the
posterior means of μ or θ, as in the paper.

The paper has 200 iterations, of which 50 are burn-in. The defaults are such that the scores of two seeds differ by less
than a tenth of the posterior's standard deviation (measured for 300, 3,000 and 20,000 of WMT13's French–English
comparisons). For the Gaussian model 500 iterations do. A chain of the categorical model stays long near one of several
nearly equal modes, so 16 chains of 300 iterations, of which 100 are burn-in, are pooled. They find differences between
systems; the level of all systems together, which comparisons hardly see, is not found even so, and scores are taken
relative to the mean of all systems.

The samplers integrate out what they can: the two observations of a comparison (only their difference matters, or only
the outcome), μ while the items of its system are drawn, and θ altogether. A shift of all qualities, which comparisons
cannot see, is drawn from its own conditional. All this changes how fast the samplers mix, not what they converge to.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons
from hits.ranking.model import Fitted, check_fit, settings, sign
from hits.ranking.models.hopkins_may import LEAST, MOST, read_iterations, threshold_outcomes
from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.options import Options

TINY = 1e-100  # an outcome's least probability while sampling: nothing is impossible
SMALL = 1e-150  # the largest of an item's chances below which all are scaled up
THIN = 2  # iterations for a draw of the posterior: on WMT's data every second correlates by 0.07, neighbours by 0.2
THIN_CHAINS = 10  # the same for the categorical model, whose chains move slowly


class Items(NamedTuple):
    """Who compares with whom: items sorted by system, and the comparisons of each item."""

    firsts: Ints  # where each system's items begin, and one more
    starts: Ints  # where each item's comparisons begin in the next two, and one more
    others: Ints  # the other item of the comparison
    places: Ints  # the comparison: its number, from 0, where the item is a; -1 - number where it is b
    a: Ints  # the items of each comparison
    b: Ints
    outcome: NDArray[np.int8]


def items_of(comparisons: Comparisons) -> Items:
    """The items, one for each system and segment that occur together."""
    n, size = len(comparisons.systems), len(comparisons)
    place = comparisons.segments_or_rows()
    span = int(place.max()) + 1
    system = np.concatenate([comparisons.a, comparisons.b]).astype(np.int64)
    keys, item = np.unique(system * span + np.concatenate([place, place]), return_inverse=True)
    item = item.astype(np.int64)
    a, b = item[:size], item[size:]
    order = np.argsort(item, kind="stable")
    numbers = np.arange(size)
    return Items(
        firsts=np.searchsorted(keys // span, np.arange(n + 1)).astype(np.int64),
        starts=np.searchsorted(item[order], np.arange(len(keys) + 1)).astype(np.int64),
        others=np.concatenate([b, a])[order],
        places=np.concatenate([numbers, -1 - numbers])[order],
        a=a,
        b=b,
        outcome=comparisons.outcome,
    )


@dataclass(frozen=True, slots=True)
class IRTGaussian:
    """Gaussian abilities and qualities; the defaults are the paper's but for the length of the sampling."""

    sigma_0: float = 1.0
    sigma_a: float = 0.5
    sigma_obs: float = 1.0
    radius: float = 0.4
    iterations: int = 500
    burn_in: int = 50
    name: str = "irt-gaussian"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Posterior means of μ, their posterior variances, and the outcomes for new items of systems with these μ."""
        samples = self.samples(comparisons, rng)
        scores = samples.mean(axis=0)
        outcomes = threshold_outcomes(scores, sqrt(2 * (self.sigma_a**2 + self.sigma_obs**2)), self.radius)
        signature = sign(self.name, comparisons, **settings(self))
        return Fitted(comparisons.systems, scores, signature, outcomes, samples.var(axis=0))

    def samples(self, comparisons: Comparisons, rng: np.random.Generator) -> Floats:
        """Draws of μ from the posterior (iterations after the burn-in, systems)."""
        check_fit(comparisons)
        samples = np.zeros((self.iterations - self.burn_in, len(comparisons.systems)))
        variances = (self.sigma_0**2, self.sigma_a**2, 2 * self.sigma_obs**2)
        _sample_gaussian(rng, items_of(comparisons), variances, self.radius, self.burn_in, samples)
        return samples

    def posterior_scores(self, comparisons: Comparisons, rng: np.random.Generator, samples: int) -> Floats:
        """Draws of μ, (samples, systems), for rank ranges."""
        longer = replace(self, iterations=self.burn_in + THIN * samples)
        return longer.samples(comparisons, rng)[THIN - 1 :: THIN]


@dataclass(frozen=True, slots=True)
class IRTCategorical:
    """Qualities 1 … Λ; the defaults are the paper's but for the length of the sampling.

    A system's score is the mean of its quality, less that of all systems.
    """

    levels: int = 8
    alpha: float = 0.5
    sigma_obs: float = 1.0
    radius: int = 0
    chains: int = 16
    iterations: int = 300
    burn_in: int = 100
    name: str = "irt-categorical"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Posterior mean quality, its posterior variance, and the outcomes for new items; θ itself is in ``extra``."""
        table = outcome_table(self.levels, self.sigma_obs, self.radius)
        samples = self.samples(comparisons, rng)
        sizes = samples.sum(axis=2, keepdims=True) + self.alpha * self.levels
        abilities = (samples + self.alpha) / sizes
        ability = abilities.mean(axis=0)
        quality = np.arange(1, self.levels + 1)
        means = abilities @ quality
        within = (abilities @ quality**2 - means**2) / (sizes[0, :, 0] + 1)  # variance, θ being unknown
        n = len(comparisons.systems)
        means -= means.mean(axis=1, keepdims=True)
        within = within * (1 - 2 / n) + within.sum(axis=1, keepdims=True) / n**2
        return Fitted(
            comparisons.systems,
            means.mean(axis=0),
            sign(self.name, comparisons, **settings(self)),
            np.einsum("il,jm,lmk->ijk", ability, ability, table),
            means.var(axis=0) + within.mean(axis=0),
            {"abilities": ability.tolist()},
        )

    def samples(self, comparisons: Comparisons, rng: np.random.Generator) -> Ints:
        """Draws of how many items of each system have each quality: (draws, systems, levels).

        The draws are those of one chain after the other, without their burn-in.
        """
        check_fit(comparisons)
        n, length = len(comparisons.systems), self.iterations - self.burn_in
        samples = np.zeros((self.chains, length, n, self.levels), np.int64)
        table = np.maximum(outcome_table(self.levels, self.sigma_obs, self.radius), TINY)
        by_side = np.ascontiguousarray(table.transpose(2, 1, 0))  # (outcome, quality of the other, quality)
        items = items_of(comparisons)
        for chain in samples:
            _sample_categorical(rng, items, by_side, self.alpha, self.burn_in, chain)
        return samples.reshape(self.chains * length, n, self.levels)

    def posterior_scores(self, comparisons: Comparisons, rng: np.random.Generator, samples: int) -> Floats:
        """Draws of the score, (samples, systems), as many of each chain: θ is drawn, conditional on the qualities."""
        per_chain = -(-samples // self.chains)
        longer = replace(self, iterations=self.burn_in + THIN_CHAINS * per_chain)
        drawn = longer.samples(comparisons, rng)[THIN_CHAINS - 1 :: THIN_CHAINS]
        counts = drawn[
            np.arange(1, samples + 1) * len(drawn) // samples - 1
        ]  # a few too many, left out evenly
        weights = rng.standard_gamma(counts + self.alpha)
        means = (weights @ np.arange(1, self.levels + 1)) / weights.sum(axis=2)
        return np.asarray(means - means.mean(axis=1, keepdims=True))


def make_irt_gaussian(options: Options) -> IRTGaussian:
    """From the options that `IRTGaussian` lists."""
    iterations, burn_in = read_iterations(options, 500, 50, 4)
    return IRTGaussian(
        sigma_0=options.number("sigma_0", 1.0, least=LEAST, most=MOST),
        sigma_a=options.number("sigma_a", 0.5, least=LEAST, most=MOST),
        sigma_obs=options.number("sigma_obs", 1.0, least=LEAST, most=MOST),
        radius=options.number("radius", 0.4, least=LEAST, most=MOST),
        iterations=iterations,
        burn_in=burn_in,
    )


def make_irt_categorical(options: Options) -> IRTCategorical:
    """From the options that `IRTCategorical` lists."""
    iterations, burn_in = read_iterations(options, 300, 100, 3)
    levels = options.whole("levels", 8, least=2, most=100)
    return IRTCategorical(
        levels=levels,
        alpha=options.number("alpha", 0.5, least=LEAST, most=MOST),
        sigma_obs=options.number("sigma_obs", 1.0, least=LEAST, most=MOST),
        radius=options.whole("radius", 0, least=0, most=levels - 2),
        chains=options.whole("chains", 16, least=1, most=1000),
        iterations=iterations,
        burn_in=burn_in,
    )


def outcome_table(levels: int, deviation: float, radius: int) -> Floats:
    """P(worse), P(equal), P(better) of an item of one quality against one of another: (levels, levels, 3).

    >>> outcome_table(8, 1.0, 0)[4, 3].round(3).tolist()
    [0.139, 0.22, 0.641]
    """
    quality = np.arange(levels)
    gap = quality[:, None] - quality[None, :]
    observed = np.exp(-((gap / deviation) ** 2) / 2)  # (quality, observation)
    observed /= observed.sum(axis=1, keepdims=True)
    regions = np.stack([gap < -radius, np.abs(gap) <= radius, gap > radius], axis=2).astype(np.float64)
    return np.asarray(np.einsum("ax,by,xyk->abk", observed, observed, regions))


@compiled
def truncated_normal(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw from N(0, 1) between two bounds, exactly, by rejection (Robert 1995); a bound may be infinite."""
    if high <= 0.0:
        return -_positive_side(rng, -high, -low)
    if low >= 0.0:
        return _positive_side(rng, low, high)
    if high - low > 2.5:
        while True:
            x = rng.standard_normal()
            if low < x < high:
                return x
    while True:
        x = low + (high - low) * rng.random()
        if rng.random() < np.exp(-x * x / 2):
            return x


@compiled
def _positive_side(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw from N(0, 1) between bounds from 0 up: from a uniform, normal or exponential, whichever wastes least."""
    rate = (low + np.sqrt(low * low + 4.0)) / 2
    if (high - low) * rate < 1.5:
        while True:
            x = low + (high - low) * rng.random()
            if rng.random() < np.exp((low * low - x * x) / 2):
                return x
    while True:
        if low < 0.25:
            x = abs(rng.standard_normal())
            accepted = x > low
        else:
            x = low + rng.standard_exponential() / rate
            accepted = rng.random() < np.exp(-((x - rate) ** 2) / 2)
        if accepted and x < high:
            return x


@compiled
def _sample_gaussian(
    rng: np.random.Generator,
    items: Items,
    variances: tuple[float, float, float],
    radius: float,
    burn_in: int,
    samples: Floats,
) -> None:
    """Fill ``samples`` with draws of μ; ``variances`` of μ, of an item, and of the noise in a difference."""
    firsts, starts, others, places, a, b, outcome = items
    prior, spread, noise = variances
    systems, size = len(firsts) - 1, len(starts) - 1
    means, quality, averages, gaps = np.zeros(systems), np.zeros(size), np.zeros(size), np.zeros(len(a))
    deviation = np.sqrt(noise)
    for iteration in range(burn_in + len(samples)):
        for c in range(len(a)):
            gap = quality[a[c]] - quality[b[c]]
            low = radius if outcome[c] > 0 else (-radius if outcome[c] == 0 else -np.inf)
            high = -radius if outcome[c] < 0 else (radius if outcome[c] == 0 else np.inf)
            noisy = truncated_normal(rng, (low - gap) / deviation, (high - gap) / deviation)
            gaps[c] = gap + deviation * noisy
        for s in range(systems):
            precision, weighted = 1.0 / prior, 0.0
            for i in range(firsts[s], firsts[s + 1]):
                total, degree = 0.0, starts[i + 1] - starts[i]
                for k in range(starts[i], starts[i + 1]):
                    place = places[k]
                    total += quality[others[k]] + (gaps[place] if place >= 0 else -gaps[-1 - place])
                averages[i] = total / degree
                weight = 1.0 / (spread + noise / degree)
                precision += weight
                weighted += weight * averages[i]
            means[s] = weighted / precision + rng.standard_normal() / np.sqrt(precision)
            for i in range(firsts[s], firsts[s + 1]):
                degree = starts[i + 1] - starts[i]
                sharp = 1.0 / spread + degree / noise
                centre = (means[s] / spread + degree * averages[i] / noise) / sharp
                quality[i] = centre + rng.standard_normal() / np.sqrt(sharp)
        shift = np.sqrt(prior / systems) * rng.standard_normal() - means.mean()
        means += shift
        quality += shift
        if iteration >= burn_in:
            samples[iteration - burn_in] = means


@compiled
def _sample_categorical(
    rng: np.random.Generator, items: Items, table: Floats, alpha: float, burn_in: int, samples: Ints
) -> None:
    """Fill ``samples`` with how many items of each system have each quality; ``table`` has outcomes' probabilities.

    The chances of an item's qualities are products, kept within the range of floating numbers: no logarithm is needed.
    """
    firsts, starts, others, places, _, _, outcome = items
    systems, levels = len(firsts) - 1, table.shape[1]
    counts, weights = np.zeros((systems, levels), np.int64), np.zeros(levels)
    quality = np.zeros(len(starts) - 1, np.int64)
    for s in range(systems):
        for i in range(firsts[s], firsts[s + 1]):
            quality[i] = rng.integers(0, levels)
            counts[s, quality[i]] += 1
    for iteration in range(burn_in + len(samples)):
        for s in range(systems):
            for i in range(firsts[s], firsts[s + 1]):
                counts[s, quality[i]] -= 1
                for level in range(levels):
                    weights[level] = alpha + counts[s, level]
                for k in range(starts[i], starts[i + 1]):
                    side = outcome[places[k]] if places[k] >= 0 else -outcome[-1 - places[k]]
                    chances = table[side + 1, quality[others[k]]]
                    most = 0.0
                    for level in range(levels):
                        weights[level] *= chances[level]
                        most = max(most, weights[level])
                    if most < SMALL:
                        for level in range(levels):
                            weights[level] /= most
                total = 0.0
                for level in range(levels):
                    total += weights[level]
                    weights[level] = total
                threshold, level = rng.random() * total, 0
                while weights[level] <= threshold and level < levels - 1:
                    level += 1
                quality[i] = level
                counts[s, level] += 1
        if iteration >= burn_in:
            samples[iteration - burn_in] = counts
