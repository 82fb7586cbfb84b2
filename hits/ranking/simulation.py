"""Simulated judgments, where the true ranking is known: how good are rankings, ranges and clusters?

`simulate` is Koehn's Monte Carlo; `ranking_errors` compares models on such judgments; `significance_curve` is his curve of
significant pairs for real judgments; `success` is Cumings' resampling of data like a data set. `hits.ranking.plan` asks
how many judgments are needed, and what they cost.

Koehn (2012) draws the quality of each system from the uniform distribution on [0, 10]. A judgment ranks 5 systems
drawn at random by the quality of one translation of each, normally distributed around the system's; it gives 10
comparisons, none of them ties, and the slides count comparisons. Four things are not as the slides say; his program
(``REPORT_CLUSTERS`` in it prints the tables) has them so, and the numbers of the slides come out only so:

- **noise**: the slides write N(μ, σ²) with σ² = 10; the program has a *standard deviation* of 10. So the number they
  call σ² is the standard deviation here (``noise="table"``); ``noise="text"`` takes the slides at their word, and far
  more pairs differ significantly: 78 instead of 49 % with 10,000 comparisons of 15 systems.
- **sides**: the sign test at 0.05 is one-sided; with ``sides=2``, the usual test, fewer pairs differ.
- **unit**: the slides resample "pairwise rankings", the program whole judgments (``unit="row"``). Single comparisons
  (``unit="comparison"``) give ranges that are too narrow and wrong twice as often, because the ten comparisons of a
  judgment depend on one another.
- **shape**: the slides drop 25 of 1,000 ranks at either end (``shape="ends"``); the program grows a range from the most
  frequent rank outwards until it holds 95 % (``shape="densest"``).

The program prints the last rank of a range minus the first; the slides, and this, count the ranks: one more.

Every experiment has its own generator, made from the seed and its number, so results do not depend on threads.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np

from hits.ranking.confidence import Confidence, bootstrap, ranges_by_sign_tests, rank_bounds, sign_tests
from hits.ranking.data import Comparisons, Counts, from_counts
from hits.ranking.model import RankingModel, check_fit
from hits.ranking.models.wins import WinRatio
from hits.ranking.names import SHAPES, UNITS
from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.options import check_option
from rypt.text import RyptError

METHODS = ("pairwise", "bootstrap")  # where ranges come from
RANGE = 10.0
STEPS = 8  # sizes of the curve by default, each twice the one before


@dataclass(frozen=True, slots=True)
class SimulatedWorld:
    """What is simulated: systems, noise (Koehn's σ²), how many systems a judgment ranks, and the sign test."""

    systems: int = 15
    variance: float = 10.0
    ways: int = 5
    noise: str = "table"
    level: float = 0.05
    sides: int = 1

    def __post_init__(self) -> None:
        check_option("noise", self.noise, ("table", "text"))
        for right, expected, value in (
            (self.systems >= 2, "2 systems or more", self.systems),
            (0 < self.variance < inf, "a variance above 0", self.variance),
            (2 <= self.ways <= self.systems, f"judgments of 2 to {self.systems} systems", self.ways),
            (0 < self.level < 1, "a level between 0 and 1", self.level),
            (self.sides in (1, 2), "1 or 2 sides", self.sides),
        ):
            if not right:
                raise RyptError(f"expected {expected}, found {value:g}")

    @property
    def pairs(self) -> int:
        """Comparisons that one judgment of several systems gives."""
        return self.ways * (self.ways - 1) // 2

    def quality(self, rng: np.random.Generator) -> Floats:
        """The true quality of each system."""
        return RANGE * rng.random(self.systems)

    @property
    def deviation(self) -> float:
        """The standard deviation of a translation's quality."""
        return self.variance if self.noise == "table" else sqrt(self.variance)

    def judge(self, quality: Floats, judgments: int, rng: np.random.Generator) -> Comparisons:
        """This number of comparisons or, as judgments are whole, a few more; a row for each judgment."""
        rankings = np.zeros((-(-judgments // self.pairs), self.ways), np.int64)
        judge(quality, self.deviation, rng, rankings, np.zeros((self.systems, self.systems), np.int64))
        first, second = np.triu_indices(self.ways, 1)
        a, b = rankings[:, first].astype(np.int32).ravel(), rankings[:, second].astype(np.int32).ravel()
        rows, nothing = np.repeat(np.arange(len(rankings), dtype=np.int32), self.pairs), np.zeros_like(a)
        names = tuple(f"{i:03}" for i in range(self.systems))
        return Comparisons(names, a, b, np.ones(len(a), np.int8), rows, nothing, nothing)


@compiled
def judge(quality: Floats, deviation: float, rng: Any, rankings: Ints, wins: Counts) -> None:
    """Fill the rankings (judgments, systems), the best system first, and add their comparisons to the counts."""
    n, ways = len(quality), rankings.shape[1]
    systems, seen = np.arange(n), np.zeros(ways)
    for ranking in rankings:
        for k in range(ways):
            other = k + int(rng.random() * (n - k))
            systems[k], systems[other] = systems[other], systems[k]
            value, place = quality[systems[k]] + deviation * rng.standard_normal(), k
            while place > 0 and seen[place - 1] < value:
                seen[place], ranking[place] = seen[place - 1], ranking[place - 1]
                place -= 1
            seen[place], ranking[place] = value, systems[k]
        for i in range(ways):
            for j in range(i + 1, ways):
                wins[ranking[i], ranking[j]] += 1


@dataclass(frozen=True, slots=True)
class Simulated:
    """Means over experiments, and the standard error of each in ``errors``; shares are between 0 and 1."""

    world: SimulatedWorld
    judgments: int
    experiments: int
    method: str
    significant: float  # pairs of systems that differ by the sign test
    error: float  # pairs that Expected Wins ranks wrongly
    range_size: float  # ranks in a system's range
    range_violations: float  # systems whose true rank lies outside their range
    clusters: float
    cluster_violations: float  # systems whose true rank lies outside the ranks of their cluster
    errors: Mapping[str, float]


def simulate(
    world: SimulatedWorld,
    judgments: int,
    *,
    experiments: int = 200,
    method: str = "bootstrap",
    resamples: int = 1000,
    unit: str = "row",
    shape: str = "densest",
    seed: int = 0,
    threads: int = 1,
) -> Simulated:
    """Koehn's Monte Carlo with this number of comparisons (10 from each judgment of five systems) in each experiment.

    Judgments are whole, so there may be a few comparisons more. ``method`` says where ranges come from: ``pairwise``
    sign tests, or ``bootstrap`` of judgments or of single comparisons, as `hits.ranking.confidence` has them.
    """
    check_option("unit", unit, UNITS)
    check_option("range", shape, SHAPES)
    check_option("method", method, METHODS)
    if judgments < 1 or experiments < 1:
        raise RyptError(f"expected 1 or more judgments and experiments, found {judgments} and {experiments}")
    confidence = Confidence(samples=resamples, unit=unit, shape=shape)
    upper = np.triu_indices(world.systems, 1)

    def one(experiment: int) -> dict[str, Any]:
        rng = np.random.default_rng((seed, experiment))
        quality = world.quality(rng)
        comparisons = world.judge(quality, judgments, rng)
        wins, ties = comparisons.counts()
        level = 2 * world.level / world.sides
        if method == "pairwise":
            ranges = ranges_by_sign_tests(wins, level)
        else:
            ranges = bootstrap(WinRatio(), comparisons, rng, confidence)
        truth, clusters = rank_bounds(quality)[0], ranges.clusters()
        first = 1 + (clusters[None, :] < clusters[:, None]).sum(axis=1)
        last = (clusters[None, :] <= clusters[:, None]).sum(axis=1)
        return {
            "significant": (sign_tests(wins)[upper] <= level).mean(),
            "error": order_error(WinRatio().scores(wins, ties), quality),
            "range_size": (ranges.high - ranges.low + 1).mean(),
            "range_violations": ((truth < ranges.low) | (truth > ranges.high)).mean(),
            "clusters": clusters.max(),
            "cluster_violations": ((truth < first) | (truth > last)).mean(),
        }

    runs = run_experiments(one, experiments, threads)
    values = {name: np.array([run[name] for run in runs], np.float64) for name in runs[0]}
    means = {name: float(each.mean()) for name, each in values.items()}
    errors = {
        name: float(each.std(ddof=1)) / sqrt(experiments) if experiments > 1 else inf
        for name, each in values.items()
    }
    whole = -(-judgments // world.pairs) * world.pairs
    return Simulated(world, whole, experiments, method, **means, errors=errors)


def ranking_errors(
    world: SimulatedWorld,
    models: Sequence[RankingModel],
    judgments: int,
    *,
    experiments: int = 200,
    seed: int = 0,
    threads: int = 1,
) -> Floats:
    """The share of pairs of systems that each model ranks wrongly, (experiments, models); Koehn's ranking error.

    All models rank the same simulated judgments.
    """

    def one(experiment: int) -> list[float]:
        rng = np.random.default_rng((seed, experiment))
        quality = world.quality(rng)
        data = world.judge(quality, judgments, rng)
        return [order_error(model.fit(data, rng).scores, quality) for model in models]

    return np.array(run_experiments(one, experiments, threads))


def order_error(scores: Floats, quality: Floats) -> float:
    """The share of pairs of systems whose scores are in the wrong order; a pair with equal scores counts half.

    >>> order_error(np.array([0.7, 0.5, 0.5]), np.array([3.0, 9.0, 1.0]))
    0.5
    """
    i, j = np.triu_indices(len(scores), 1)
    right = np.sign(np.round(scores[i] - scores[j], 12)) * np.sign(quality[i] - quality[j])
    return float((1 - right).mean() / 2)


def run_experiments(one: Callable[[int], Any], count: int, threads: int) -> list[Any]:
    """The results of a function for 0, 1, … in this order, computed on several threads."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(count)))


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The share of pairs that differ significantly with this number of comparisons, its spread over draws, and the share
    in a simulation.
    """

    comparisons: int
    share: float
    spread: float
    simulated: float | None = None


def significance_curve(
    comparisons: Comparisons,
    rng: np.random.Generator,
    sizes: Sequence[int] = (),
    *,
    trials: int = 20,
    level: float = 0.05,
    sides: int = 1,
    variance: float | None = None,
    experiments: int = 100,
) -> list[CurvePoint]:
    """The share of pairs that the sign test finds different, on some of the comparisons, drawn without replacement.

    ``sizes`` are numbers of comparisons; by default all, half of them, a quarter …. Whole rows are drawn, as many as
    have that many comparisons or a few more. With ``variance``, Koehn's σ², the same is simulated for as many systems;
    his test is one-sided.
    """
    check_fit(comparisons)
    total, systems = len(comparisons), len(comparisons.systems)
    for size in sizes:
        if not 1 <= size <= total:
            raise RyptError(f"expected sizes from 1 to {total}, the comparisons in the files, found {size}")
    _, row, lengths = np.unique(comparisons.row, return_inverse=True, return_counts=True)
    upper = np.triu_indices(systems, 1)

    def share(size: int) -> float:
        order = rng.permutation(len(lengths))
        drawn = order[: int(np.searchsorted(np.cumsum(lengths[order]), size)) + 1]
        wins, _ = comparisons.take(np.flatnonzero(np.isin(row, drawn))).counts()
        return float((sign_tests(wins)[upper] <= 2 * level / sides).mean())

    points = []
    for size in sizes or sorted({total >> k for k in range(STEPS)} - {0}):
        shares = [share(size) for _ in range(trials)]
        simulated = None
        if variance is not None:
            world = SimulatedWorld(systems, variance, min(5, systems), level=level, sides=sides)
            simulated = simulate(world, size, experiments=experiments, method="pairwise", seed=1).significant
        points.append(CurvePoint(size, float(np.mean(shares)), float(np.std(shares)), simulated))
    return points


@dataclass(frozen=True, slots=True)
class Likeness:
    """What Cumings keeps of a data set: systems, comparisons of a pair, the mean share of wins of the better one."""

    systems: int
    comparisons: float
    deviation: float
    share: float

    def draw(self, rng: np.random.Generator) -> Counts:
        """Counts of a data set like it in which system 0 is truly the best, 1 the second, and so on."""
        wins = np.zeros((self.systems, self.systems), np.int64)
        upper = np.triu_indices(self.systems, 1)
        decided = np.maximum(0, rng.normal(self.comparisons, self.deviation, len(upper[0])).astype(np.int64))
        won = rng.binomial(decided, self.share)
        wins[upper], wins.T[upper] = won, decided - won
        return wins


def likeness(wins: Counts) -> Likeness:
    """What Cumings keeps of a data set, from its counts; ties do not count, nor do pairs nobody compared."""
    decided = wins + wins.T
    pairs = decided[np.triu_indices(len(wins), 1)]
    pairs = pairs[pairs > 0]
    better = wins > wins.T
    if not better.any():
        raise RyptError("expected comparisons that one system won more often than the other, found none")
    share = float((wins[better] / decided[better]).mean())
    return Likeness(len(wins), float(pairs.mean()), float(pairs.std()), share)


def success(
    models: Sequence[RankingModel], like: Likeness, *, iterations: int = 1000, seed: int = 0, threads: int = 1
) -> list[float]:
    """How often each model returns exactly the true ranking of data like a data set (Cumings, section 3.1).

    Cumings makes as many systems, as many comparisons of a pair (normal, with the mean and the deviation of the data),
    and a fixed probability that the better system wins. All models see the same data. Where a model gives two systems
    the same score it has not found their order, and one of the two orders is right by chance.
    """
    names = tuple(f"{i:03}" for i in range(like.systems))

    def one(iteration: int) -> list[bool]:
        rng = np.random.default_rng((seed, iteration))
        shuffled = rng.permutation(like.systems)  # so that no rule for ties, such as by name, knows the truth
        wins = like.draw(rng)[np.ix_(shuffled, shuffled)]
        data = from_counts(names, wins, np.zeros_like(wins))
        return [shuffled[model.fit(data, rng).order()].tolist() == sorted(shuffled) for model in models]

    return [float(rate) for rate in np.mean(run_experiments(one, iterations, threads), axis=0)]
