"""The Gibbs samplers against posteriors computed by brute force, and against known abilities."""

from itertools import product
from math import lgamma

import numpy as np
import pytest
from scipy.stats import kstest, norm, truncnorm

from hits.ranking.confidence import Confidence, bootstrap
from hits.ranking.data import Comparisons, comparisons_of
from hits.ranking.model import read_model
from hits.ranking.models.irt import IRTCategorical, IRTGaussian, outcome_table, truncated_normal
from rypt.text import RyptError

TINY_SET = [
    ("s1", "a", "b", 1, "w"),
    ("s1", "b", "c", 1, "w"),
    ("s1", "a", "c", 0, "w"),
    ("s2", "b", "a", 1, "w"),
    ("s2", "a", "b", 1, "v"),
    ("s1", "a", "b", 1, "v"),
]


def wide(
    records: list[tuple[str, str, str, int, str]], systems: list[str]
) -> tuple[list[tuple[str, str]], np.ndarray]:
    """The items as (system, segment), and for each record the places of its two items."""
    items = sorted({(name, r[0]) for r in records for name in r[1:3]})
    return items, np.array([[items.index((r[1], r[0])), items.index((r[2], r[0]))] for r in records])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("low", "high"),
    [(-np.inf, -0.2), (5.0, np.inf), (-np.inf, -9.0), (-4.0, 1.0), (2.0, 2.4), (-3.0, -2.9), (0.1, 3.0)],
)
def test_truncated_normals(low: float, high: float) -> None:
    rng = np.random.default_rng(8)
    drawn = np.array([truncated_normal(rng, low, high) for _ in range(4000)])
    assert drawn.min() >= low
    assert drawn.max() <= high
    assert kstest(drawn, truncnorm(low, high).cdf).pvalue > 1e-3


def gaussian_posterior(
    records: list[tuple[str, str, str, int, str]], systems: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of μ by weighting draws of all items from the prior: no Markov chain, no augmentation."""
    rng = np.random.default_rng(1)
    items, places = wide(records, systems)
    size = 800_000
    means = rng.standard_normal((size, len(systems)))
    owner = [systems.index(name) for name, _ in items]
    quality = means[:, owner] + 0.5 * rng.standard_normal((size, len(items)))
    weights = np.ones(size)
    for (first, second), record in zip(places, records, strict=True):
        gap = (quality[:, first] - quality[:, second]) / np.sqrt(2)
        edge = 0.4 / np.sqrt(2)
        weights *= {
            1: norm.cdf(gap - edge),
            -1: norm.cdf(-gap - edge),
            0: norm.cdf(edge - gap) - norm.cdf(-edge - gap),
        }[record[3]]
    weights /= weights.sum()
    mean = weights @ means
    return mean, weights @ means**2 - mean**2


@pytest.mark.slow
def test_the_gaussian_posterior_is_that_of_brute_force() -> None:
    expected, variance = gaussian_posterior(TINY_SET, ["a", "b", "c"])
    comparisons = comparisons_of(TINY_SET)
    found = IRTGaussian(iterations=120_000, burn_in=1000).fit(comparisons, np.random.default_rng(2))
    assert found.scores == pytest.approx(expected, abs=0.015)
    assert found.variances == pytest.approx(variance, abs=0.02)


def categorical_posterior(
    records: list[tuple[str, str, str, int, str]], systems: list[str], levels: int, strength: float
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of θ, and the variance of the score, by summing over all qualities of all items.

    A score is the mean quality less that of all systems; θ of different systems are independent given the qualities.
    """
    items, places = wide(records, systems)
    table = outcome_table(levels, 1.0, 0)
    owner = np.array([systems.index(name) for name, _ in items])
    total, theta = 0.0, np.zeros((len(systems), levels))
    first, second = np.zeros(len(systems)), np.zeros(len(systems))
    quality = np.arange(1, levels + 1)
    for assigned in product(range(levels), repeat=len(items)):
        counts = np.zeros((len(systems), levels))
        np.add.at(counts, (owner, list(assigned)), 1)
        weight = np.exp(sum(lgamma(c + strength) - lgamma(strength) for c in counts.ravel()))
        for (a, b), record in zip(places, records, strict=True):
            weight *= table[assigned[a], assigned[b], record[3] + 1]
        size = counts.sum(axis=1, keepdims=True) + levels * strength
        mean = (counts + strength) / size
        expected = mean @ quality
        within = np.diag((mean @ quality**2 - expected**2) / (size[:, 0] + 1))
        score = expected - expected.mean()
        centred = np.eye(len(systems)) - 1 / len(systems)
        theta += weight * mean
        first += weight * score
        second += weight * (score**2 + np.diag(centred @ within @ centred))
        total += weight
    return theta / total, second / total - (first / total) ** 2


def test_the_categorical_posterior_is_that_of_brute_force() -> None:
    theta, variance = categorical_posterior(TINY_SET, ["a", "b", "c"], 3, 0.5)
    model = IRTCategorical(levels=3, iterations=120_000, burn_in=1000, chains=1)
    found = model.fit(comparisons_of(TINY_SET), np.random.default_rng(3))
    assert np.array(found.extra["abilities"]) == pytest.approx(theta, abs=0.006)
    quality = theta @ np.arange(1, 4)
    assert found.scores == pytest.approx(quality - quality.mean(), abs=0.015)
    assert found.variances == pytest.approx(variance, abs=0.015)
    table = outcome_table(3, 1.0, 0)
    expected = sum(theta[0, x] * theta[1, y] * table[x, y] for x in range(3) for y in range(3))
    assert found.outcomes[0, 1] == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(("levels", "deviation", "radius"), [(8, 1.0, 0), (5, 2.5, 1), (3, 0.05, 0)])
def test_outcomes_of_qualities(levels: int, deviation: float, radius: int) -> None:
    table = outcome_table(levels, deviation, radius)
    for first, second in ((0, 0), (0, levels - 1), (2, 1)):
        sums = [0.0, 0.0, 0.0]
        for x, y in product(range(levels), repeat=2):
            chance = np.exp(-((x - first) ** 2 + (y - second) ** 2) / (2 * deviation**2))
            sums[1 if abs(x - y) <= radius else 2 if x > y else 0] += chance
        assert table[first, second] == pytest.approx(np.array(sums) / sum(sums), abs=1e-12)


def gaussian_data(truth: np.ndarray, segments: int, rng: np.random.Generator) -> Comparisons:
    records = []
    for segment in range(segments):
        quality = truth + 0.5 * rng.standard_normal(len(truth))
        for _ in range(3):
            a, b = rng.choice(len(truth), 2, replace=False)
            gap = quality[a] - quality[b] + np.sqrt(2) * rng.standard_normal()
            records.append((f"{segment}", f"s{a}", f"s{b}", int(gap > 0.4) - int(gap < -0.4), "w"))
    return comparisons_of(records, [f"s{i}" for i in range(len(truth))])


@pytest.mark.parametrize(
    "model", [IRTGaussian(iterations=40, burn_in=10), IRTCategorical(iterations=40, burn_in=10)]
)
def test_the_generator_decides(model: IRTGaussian | IRTCategorical) -> None:
    data = gaussian_data(np.array([0.5, 0.0, -0.5]), 40, np.random.default_rng(1))
    one, two, other = (model.fit(data, np.random.default_rng(k)).scores.tolist() for k in (1, 1, 2))
    assert one == two != other


@pytest.mark.parametrize(
    "extreme",
    [
        "irt-gaussian:sigma_obs=0.001,sigma_a=1000",
        "irt-gaussian:sigma_obs=1000,sigma_a=0.001",
        "irt-gaussian:sigma_0=1000,radius=0.001",
        "irt-gaussian:sigma_0=0.001,radius=1000",
        "irt-categorical:sigma_obs=0.001",
    ],
)
def test_the_ends_of_the_settings(extreme: str) -> None:
    contradiction = comparisons_of([*TINY_SET, ("s1", "b", "a", 1, "w"), ("s2", "a", "b", 0, "w")])
    fitted = read_model(extreme).fit(contradiction, np.random.default_rng(0))
    assert np.isfinite(fitted.scores).all()
    assert fitted.outcomes.sum(axis=2) == pytest.approx(np.ones((3, 3)))


@pytest.mark.parametrize(
    "wrong",
    [
        "irt-gaussian:radius=0",
        "irt-gaussian:sigma_obs=1e-200",
        "irt-categorical:radius=7",
        "irt-categorical:levels=1",
        "irt-categorical:burn_in=800",
    ],
)
def test_bad_options(wrong: str) -> None:
    with pytest.raises(RyptError, match=wrong.partition(":")[2].partition("=")[0]):
        read_model(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["irt-gaussian", "irt-categorical"])
def test_draws_of_scores_are_those_of_the_posterior(name: str) -> None:
    """Their means and variances are what a long fit says."""
    data = comparisons_of(TINY_SET)
    length = {"iterations": "40000", "burn_in": "100"}
    chains = {"chains": "1"} if name == "irt-categorical" else {}
    long = read_model(name, length | chains).fit(data, np.random.default_rng(1))
    drawn = read_model(name).posterior_scores(data, np.random.default_rng(2), 20_000)
    assert drawn.shape == (20_000, 3)
    assert drawn.mean(axis=0) == pytest.approx(long.scores, abs=0.06)
    assert drawn.var(axis=0) == pytest.approx(long.variances, rel=0.06)


def test_ranges_come_from_the_posterior_unless_rows_are_drawn() -> None:
    data, model = comparisons_of(TINY_SET), IRTGaussian()
    ranges = bootstrap(model, data, np.random.default_rng(1), Confidence(samples=80))
    assert (ranges.source, ranges.samples.shape) == ("posterior", (80, 3))
    assert (ranges.scores == model.posterior_scores(data, np.random.default_rng(1), 80)).all()
    rows = bootstrap(model, data, np.random.default_rng(1), Confidence(samples=4, unit="row"))
    assert rows.source == "samples"


@pytest.mark.slow
@pytest.mark.parametrize("model", [IRTGaussian(), IRTCategorical()])
def test_seeds_differ_by_a_tenth_of_the_posterior_at_most(model: IRTGaussian | IRTCategorical) -> None:
    """By default the samplers run so long, and in so many chains, that their own chance hardly matters."""
    data = gaussian_data(np.linspace(-0.6, 0.6, 5), 130, np.random.default_rng(1))
    fits = [model.fit(data, np.random.default_rng(seed)) for seed in range(6)]
    spread = np.std([fit.scores for fit in fits], axis=0, ddof=1)
    assert (spread / np.sqrt(np.mean([fit.variances for fit in fits], axis=0))).mean() < 0.1
