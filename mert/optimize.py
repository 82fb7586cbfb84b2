"""From starting points to weights: line searches along coordinates and random directions until nothing helps.

Each start has a random generator of its own, so the answer is the same for any number of threads.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mert.lists import NBest
from mert.metric import Metric
from mert.search import Floats, Ints, best_step

RANDOM_DIRECTIONS = 8  # tried in each pass besides the coordinates
GAIN = 1e-9  # a smaller one is no gain
MAX_PASSES = 100


@dataclass(frozen=True, slots=True)
class Tuned:
    """The weights of one start, their score on the lists, and how much work it was."""

    weights: Floats
    score: float
    searches: int


@dataclass(frozen=True, slots=True)
class Problem:
    """What is tuned: features and statistics of candidates, which weights may move, and how far."""

    offsets: Ints
    features: Floats  # (candidates, features), columns contiguous
    stats: Ints
    metric: Metric
    free: NDArray[np.bool_]
    low: Floats
    high: Floats

    def score(self, weights: Floats) -> float:
        """The score of the candidates these weights choose."""
        scores = self.features @ weights
        return best_step(self.offsets, np.zeros(len(scores)), scores, self.stats, self.metric.score).score


def make_problem(
    lists: NBest, metric: Metric, *, fixed: Sequence[str] = (), low: float = -np.inf, high: float = np.inf
) -> Problem:
    """Put together what is tuned; features that never differ inside a segment are held, for they decide nothing."""
    free = np.array([name not in fixed for name in lists.names])
    starts = lists.offsets[:-1]
    spread = np.maximum.reduceat(lists.features, starts) > np.minimum.reduceat(lists.features, starts)
    size = len(lists.names)
    return Problem(
        lists.offsets,
        np.asfortranarray(lists.features),
        metric.stats(lists),
        metric,
        free & spread.any(axis=0),
        np.full(size, low),
        np.full(size, high),
    )


def climb(problem: Problem, start: Floats, rng: np.random.Generator) -> Tuned:
    """Go along each direction, in random order, to its best step, until a pass over all of them gains nothing."""
    weights = start.copy()
    score = problem.score(weights)
    searches = 0
    for _ in range(MAX_PASSES):
        before = score
        intercepts = problem.features @ weights
        for direction in _directions(problem, rng):
            moving = np.flatnonzero(direction)
            alone = len(moving) == 1 and direction[moving[0]] == 1
            slopes = problem.features[:, moving[0]] if alone else problem.features @ direction
            low, high = _limits(problem, weights, direction)
            step = best_step(problem.offsets, slopes, intercepts, problem.stats, problem.metric.score, low, high)
            searches += 1
            if step.score > score + GAIN:
                weights = weights + step.length * direction
                intercepts = intercepts + step.length * slopes
                score = step.score
        if score <= before + GAIN:
            break
    return Tuned(normalize(weights, problem), score, searches)


def _directions(problem: Problem, rng: np.random.Generator) -> Iterator[Floats]:
    """The coordinates and a few Gaussian directions, in random order."""
    free = np.flatnonzero(problem.free)
    directions = [np.eye(len(problem.free))[i] for i in free]
    for _ in range(RANDOM_DIRECTIONS if len(free) > 1 else 0):
        direction = np.zeros(len(problem.free))
        direction[free] = rng.normal(size=len(free))
        directions.append(direction)
    for i in rng.permutation(len(directions)):
        yield directions[i]


def _limits(problem: Problem, weights: Floats, direction: Floats) -> tuple[float, float]:
    """How far one may go each way before a weight leaves its bounds."""
    moving = direction != 0
    to_low = (problem.low - weights)[moving] / direction[moving]
    to_high = (problem.high - weights)[moving] / direction[moving]
    return float(np.minimum(to_low, to_high).max()), float(np.maximum(to_low, to_high).min())


def normalize(weights: Floats, problem: Problem) -> Floats:
    """Scale to a sum of absolute values of 1, which changes no winner; with fixed weights or bounds, leave as is."""
    bounded = np.isfinite(problem.low).any() or np.isfinite(problem.high).any()
    total = np.abs(weights).sum()
    return weights if bounded or not problem.free.all() or total == 0 else weights / total


def optimize(
    problem: Problem,
    start: Floats,
    *,
    restarts: int = 20,
    seed: int = 1,
    threads: int = 1,
    executor: Executor | None = None,
    watch: Callable[[Iterable[Tuned]], Iterable[Tuned]] = lambda found: found,
) -> list[Tuned]:
    """Climb from the given weights and from random ones; all results, the best first (of equals the earliest)."""
    generators = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(restarts + 1)]
    scale = max(float(np.abs(start).max()), 1e-3)
    starts = [start]
    for rng in generators[1:]:
        point = np.clip(rng.uniform(-scale, scale, len(start)), problem.low, problem.high)
        starts.append(np.where(problem.free, point, start))
    pool = executor or ThreadPoolExecutor(max_workers=threads)
    try:
        results = list(watch(pool.map(climb, [problem] * len(starts), starts, generators)))
    finally:
        if executor is None:
            pool.shutdown()
    return sorted(results, key=lambda tuned: -tuned.score)
