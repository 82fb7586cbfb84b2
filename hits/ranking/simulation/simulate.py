"""Simulated judgments, where the true ranking is known: how good are rankings, ranges and clusters?

Koehn (2012) draws the quality of each system from the uniform distribution on [0, 10]. A judgment ranks 5 systems
drawn at random by the quality of one translation of each, normally distributed around the system's; it gives 10
comparisons, none of them ties, and the slides count comparisons. Four things are not as the slides say; his program
(``REPORT_CLUSTERS`` in it prints the tables) has them so, and the numbers of the slides come out only so:

- **noise**: the slides write N(μ, σ²) with σ² = 10; the program has a *standard deviation* of 10. So the number they
  call σ² is the standard deviation here (``noise="table"``); ``noise="text"`` takes the slides at their word and tells
  far more pairs apart: 78 instead of 49 % with 10,000 comparisons of 15 systems.
- **sides**: the sign test at 0.05 is one-sided; ``sides=2`` gives the usual test, which tells fewer pairs apart.
- **unit**: the slides resample "pairwise rankings", the program whole judgments (``unit="row"``). Single comparisons
  (``unit="comparison"``) give ranges that are too narrow and wrong twice as often, because the ten comparisons of a
  judgment depend on one another.
- **shape**: the slides drop 25 of 1,000 ranks at either end (``shape="ends"``); the program grows a range from the most
  frequent rank outwards until it holds 95 % (``shape="densest"``, `hits.ranking.confidence.densest`).

The program prints the last rank of a range minus the first; the slides, and this, count the ranks: one more.

Every experiment has its own generator, made from the seed and its number, so results do not depend on threads.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hits.ranking.confidence import HELD, densest
from hits.ranking.data import Counts, from_counts
from hits.ranking.model import RankingModel
from hits.ranking.models.trueskill import uniform
from hits.ranking.names import SHAPES, UNITS
from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.options import check_option
from rypt.tails import binomial_tail
from rypt.text import RyptError

RANGE = 10.0
NOISES = ("table", "text")
METHODS = ("pairwise", "bootstrap")
MEASURES = ("significant", "error", "range_size", "range_violations", "clusters", "cluster_violations")


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
        wrong = (
            f"2 systems or more, found {self.systems}"
            if self.systems < 2
            else f"a variance above 0, found {self.variance:g}"
            if not 0 < self.variance < float("inf")
            else f"judgments of 2 to {self.systems} systems, found {self.ways}"
            if not 2 <= self.ways <= self.systems
            else f"noise as one of {', '.join(NOISES)}, found {self.noise!r}"
            if self.noise not in NOISES
            else f"a level between 0 and 1, found {self.level:g}"
            if not 0 < self.level < 1
            else f"1 or 2 sides, found {self.sides}"
            if self.sides not in (1, 2)
            else ""
        )
        if wrong:
            raise RyptError(f"expected {wrong}")

    @property
    def deviation(self) -> float:
        """The standard deviation of a translation's quality."""
        return self.variance if self.noise == "table" else sqrt(self.variance)

    @property
    def pairs(self) -> int:
        """Comparisons that one judgment of several systems gives."""
        return self.ways * (self.ways - 1) // 2


@dataclass(frozen=True, slots=True)
class Simulated:
    """Means over experiments, each with its standard error in ``errors``; shares are between 0 and 1.

    ``significant``: pairs of systems told apart by the sign test. ``error``: pairs that Expected Wins ranks wrongly.
    ``range_size``: ranks in a system's range. ``range_violations``: systems whose true rank lies outside their range.
    ``cluster_violations``: systems whose true rank lies outside the ranks of their cluster.
    """

    world: SimulatedWorld
    judgments: int
    experiments: int
    method: str
    significant: float
    error: float
    range_size: float
    range_violations: float
    clusters: float
    cluster_violations: float
    errors: tuple[float, ...]


class Resampling(NamedTuple):
    """How ranges are bootstrapped, for the compiled functions."""

    resamples: int  # 0: ranges come from sign tests
    by_row: bool
    drop: int  # ranks at either end, or -1 for the densest range


def simulate(
    world: SimulatedWorld,
    judgments: int,
    *,
    experiments: int = 1000,
    method: str = "bootstrap",
    resamples: int = 1000,
    unit: str = "row",
    shape: str = "densest",
    drop: int = 25,
    seed: int = 0,
    threads: int = 1,
) -> Simulated:
    """Koehn's Monte Carlo: so many comparisons (10 from each judgment of five systems) in each experiment.

    Judgments are whole, so there may be a few comparisons more. ``method`` says where ranges come from: ``pairwise``
    sign tests, or ``bootstrap``: so many ``resamples`` of judgments or of single comparisons, and the densest range or
    all ranks but the ``drop`` highest and lowest.
    """
    check_option("unit", unit, UNITS)
    check_option("range", shape, SHAPES)
    if method not in METHODS:
        raise RyptError(f"expected a method {' or '.join(METHODS)}, found {method!r}")
    if judgments < 1 or experiments < 1:
        raise RyptError(f"expected 1 or more judgments and experiments, found {judgments} and {experiments}")
    if method == "bootstrap" and shape == "ends" and not 0 <= 2 * drop < resamples:
        raise RyptError(f"expected to drop fewer than half of {resamples} resamples, found {drop}")
    rows = -(-judgments // world.pairs)
    limits = sign_limits(rows, world.level / world.sides)  # a judgment compares a pair at most once

    def one(experiment: int) -> Floats:
        rng = np.random.default_rng((seed, experiment))
        measures = np.zeros(len(MEASURES))
        resampling = Resampling(
            resamples if method == "bootstrap" else 0, unit == "row", -1 if shape == "densest" else drop
        )
        _experiment(world.systems, world.deviation, world.ways, rows, limits, resampling, rng, measures)
        return measures

    table = np.array(list(mapped(one, experiments, threads)))
    errors = (
        table.std(axis=0, ddof=1) / sqrt(experiments) if experiments > 1 else np.full(len(MEASURES), np.nan)
    )
    means = dict(zip(MEASURES, table.mean(axis=0).tolist(), strict=True))
    counted = rows * world.pairs
    return Simulated(world, counted, experiments, method, errors=tuple(errors.tolist()), **means)


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

    All models rank the same simulated judgments. A pair with equal scores counts half.
    """
    rows = -(-judgments // world.pairs)
    names = [str(i) for i in range(world.systems)]
    upper = np.triu_indices(world.systems, 1)

    def one(experiment: int) -> list[float]:
        rng = np.random.default_rng((seed, experiment))
        quality = RANGE * rng.random(world.systems)
        wins = np.zeros((world.systems, world.systems), np.int64)
        judge(quality, world.deviation, world.ways, rows * world.pairs, rng, wins)
        data = from_counts(names, wins, np.zeros_like(wins))
        truth = np.sign(quality[upper[0]] - quality[upper[1]])
        errors = []
        for model in models:
            scores = model.fit(data, rng).scores
            errors.append(
                float((1 - truth * np.sign(np.round(scores[upper[0]] - scores[upper[1]], 12))).mean() / 2)
            )
        return errors

    return np.array(list(mapped(one, experiments, threads)))


def sign_limits(most: int, tail: float) -> Ints:
    """For each number of comparisons the most losses that are still significant, -1 where none are.

    A pair is different when P(X ≤ losses) ≤ ``tail`` for X ~ Binomial(n, 1/2).

    >>> sign_limits(8, 0.05).tolist()
    [-1, -1, -1, -1, -1, 0, 0, 0, 1]
    """
    limits: Ints = _sign_limits(most, tail)
    return limits


def mapped(one: Callable[[int], Any], count: int, threads: int) -> Sequence[Any]:
    """The results of a function for 0, 1, … in this order, computed on several threads."""
    if threads == 1:
        return [one(i) for i in range(count)]
    with ThreadPoolExecutor(max_workers=threads) as pool:
        return list(pool.map(one, range(count)))


_binomial_tail = compiled(binomial_tail)


@compiled
def _sign_limits(most: int, tail: float) -> Any:
    limits = np.full(most + 1, -1, np.int64)
    limit = -1
    for n in range(1, most + 1):
        # P(X ≤ k) falls with n and the limit rises by at most 1, so two sums tell the next one
        if _binomial_tail(limit + 1, n, 0.5) <= tail:
            limit += 1
        limits[n] = limit
    return limits


@compiled
def judge(quality: Floats, deviation: float, ways: int, comparisons: int, rng: Any, wins: Counts) -> None:
    """Add the comparisons of simulated judgments to the counts; the last judgment may be cut short."""
    n = len(quality)
    systems, seen = np.arange(n), np.zeros(ways)
    left = comparisons
    while left > 0:
        for k in range(ways):
            other = k + int(rng.random() * (n - k))
            systems[k], systems[other] = systems[other], systems[k]
            seen[k] = quality[systems[k]] + deviation * rng.standard_normal()
        for i in range(ways):
            for j in range(i + 1, ways):
                if left > 0:
                    left -= 1
                    if seen[i] > seen[j]:
                        wins[systems[i], systems[j]] += 1
                    else:
                        wins[systems[j], systems[i]] += 1


@compiled
def rank_drawn(quality: Floats, deviation: float, rng: Any, rankings: Ints) -> None:
    """Fill the rankings (judgments, systems) with simulated ones, the best system first."""
    n, ways = len(quality), rankings.shape[1]
    systems, seen = np.arange(n), np.zeros(ways)
    for row in range(len(rankings)):
        for k in range(ways):
            other = k + int(rng.random() * (n - k))
            systems[k], systems[other] = systems[other], systems[k]
            seen[k] = quality[systems[k]] + deviation * rng.standard_normal()
        for place, k in enumerate(np.argsort(-seen)):
            rankings[row, place] = systems[k]


@compiled
def count_ranking(ranking: Ints, wins: Counts) -> None:
    """Add the comparisons of one ranking to the counts."""
    for i in range(len(ranking)):
        for j in range(i + 1, len(ranking)):
            wins[ranking[i], ranking[j]] += 1


@compiled
def told_apart(wins: Counts, limits: Ints, better: Ints, worse: Ints) -> int:
    """The pairs that the sign test tells apart; for each system how many it is better and worse than."""
    better[:] = 0
    worse[:] = 0
    pairs = 0
    for i in range(len(wins)):
        for j in range(i):
            winner, loser = (i, j) if wins[i, j] > wins[j, i] else (j, i)
            if wins[loser, winner] <= limits[wins[i, j] + wins[j, i]]:
                better[winner] += 1
                worse[loser] += 1
                pairs += 1
    return pairs


@compiled
def _scores(wins: Any) -> Floats:
    """Expected Wins; a pair that was never compared counts as even."""
    n = len(wins)
    scores = np.zeros(n)
    for i in range(n):
        for j in range(i):
            decided = wins[i, j] + wins[j, i]
            share = wins[i, j] / decided if decided else 0.5
            scores[i] += share
            scores[j] += 1.0 - share
    return scores


@compiled
def _ranks(scores: Floats, ranks: Ints) -> None:
    order = np.argsort(-scores, kind="mergesort")
    for place in range(len(order)):
        ranks[order[place]] = place + 1


@compiled
def _draw_comparisons(wins: Counts, rng: Any, drawn: Counts) -> None:
    """As many comparisons drawn with replacement: the counts of a multinomial."""
    n = len(wins)
    left, rest = wins.sum(), wins.sum()
    for i in range(n):
        for j in range(n):
            count = wins[i, j]
            drawn[i, j] = left if count == rest else rng.binomial(left, count / rest) if count and left else 0
            left -= drawn[i, j]
            rest -= count


@compiled
def _cells(rankings: Ints, n: int) -> NDArray[np.int32]:
    """Where in a table of counts, read line by line, the comparisons of each ranking are."""
    rows, ways = rankings.shape
    cells = np.zeros((rows, ways * (ways - 1) // 2), np.int32)
    for row in range(rows):
        place = 0
        for i in range(ways):
            for j in range(i + 1, ways):
                cells[row, place] = rankings[row, i] * n + rankings[row, j]
                place += 1
    return cells


@compiled
def _draw_rows(cells: NDArray[np.int32], state: NDArray[np.uint64], counts: Ints) -> None:
    """Add the comparisons of as many rankings as there are, drawn with replacement."""
    rows, size = cells.shape
    for _ in range(rows):
        row = int(uniform(state) * rows)
        for k in range(size):
            counts[cells[row, k]] += 1


@compiled
def _bootstrap(wins: Counts, rankings: Ints, resampling: Resampling, rng: Any, low: Ints, high: Ints) -> None:
    """Ranges of ranks over resamples, with replacement, of the comparisons or of the rankings they come from."""
    n = len(wins)
    tally, ranks = np.zeros((n, n)), np.zeros(n, np.int64)
    drawn = np.zeros((n, n), np.int64)
    cells, state = _cells(rankings, n), np.empty(1, np.uint64)
    state[0] = np.uint64(rng.integers(0, 1 << 62))
    for _ in range(resampling.resamples):
        if resampling.by_row:
            drawn[:] = 0
            _draw_rows(cells, state, drawn.reshape(-1))
        else:
            _draw_comparisons(wins, rng, drawn)
        _ranks(_scores(drawn), ranks)
        for i in range(n):
            tally[i, ranks[i] - 1] += 1
    for i in range(n):
        if resampling.drop < 0:
            low[i], high[i] = densest(tally[i], HELD * resampling.resamples)
        else:
            reached = np.cumsum(tally[i])
            low[i] = 1 + np.sum(reached <= resampling.drop)
            high[i] = 1 + np.sum(reached < resampling.resamples - resampling.drop)


@compiled
def _clusters(low: Ints, high: Ints, first: Ints, last: Ints) -> int:
    """How many clusters of overlapping ranges there are; the first and last rank of each system's cluster."""
    order = np.argsort(low, kind="mergesort")
    count, start, reach = 0, 0, 0
    for place in range(len(order) + 1):
        if place == len(order) or (place and low[order[place]] > reach):
            for member in order[start:place]:
                first[member], last[member] = start + 1, place
            count, start = count + 1, place
        if place < len(order):
            reach = max(reach, high[order[place]])
    return count


@compiled
def _experiment(
    n: int,
    deviation: float,
    ways: int,
    rows: int,
    limits: Ints,
    resampling: Resampling,
    rng: Any,
    measures: Floats,
) -> None:
    """One experiment: fills ``found`` with the six measures; ranges from sign tests where there are no resamples."""
    quality = np.zeros(n)
    for i in range(n):
        quality[i] = RANGE * rng.random()
    wins, rankings = np.zeros((n, n), np.int64), np.zeros((rows, ways), np.int64)
    rank_drawn(quality, deviation, rng, rankings)
    for row in range(rows):
        count_ranking(rankings[row], wins)
    truth, ranks, better, worse = np.zeros((4, n), np.int64)
    low, high, first, last = np.zeros((4, n), np.int64)
    pairs = n * (n - 1) / 2
    measures[0] = told_apart(wins, limits, better, worse) / pairs
    _ranks(quality, truth)
    _ranks(_scores(wins), ranks)
    for i in range(n):
        low[i], high[i] = worse[i] + 1, n - better[i]
        for j in range(n):
            measures[1] += (truth[i] < truth[j] and ranks[i] > ranks[j]) / pairs
    if resampling.resamples:
        _bootstrap(wins, rankings, resampling, rng, low, high)
    measures[4] = _clusters(low, high, first, last)
    for i in range(n):
        measures[2] += (high[i] - low[i] + 1) / n
        measures[3] += (truth[i] < low[i] or truth[i] > high[i]) / n
        measures[5] += (truth[i] < first[i] or truth[i] > last[i]) / n
