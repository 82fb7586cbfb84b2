"""From starting points to weights: line searches along many directions until nothing helps.

Each start has a random generator of its own, and products are summed in one fixed order, so the answer is the same for
any number of threads. Lengths in weight space are measured in units of what they do: a weight counts times the spread
of its feature inside segments, so rescaling a feature changes nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mert.constraints import Constraints, Normalization
from mert.lists.arrays import NBest, winners
from mert.search import Window, best_step
from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.metrics.metric import Metric, counted, rated
from rypt.text import RyptError

RANDOM_DIRECTIONS = 4  # tried in each pass besides the axes and the last pass's move
GAIN = 1e-9  # a smaller one is no gain
ENOUGH = 1e-4  # a pass from a start that gains less, the best score being 1, is the last; the best goes on to the end
MAX_PASSES = 100
REACH = 100.0  # the longest step, in lengths of the weights: no weight can dwarf the others
NEARNESS = 0.5  # random starts stray from the given weights by this, the mean length of a weight being 1
LARGEST = 1e300
BLOCK = 1024  # rows of features combined at once
GOOD_POINTS = 8  # how many good points, the best included, are joined by lines


@dataclass(frozen=True, slots=True)
class Tuned:
    """The weights of one start, their score on the lists (higher is better), and how many lines were searched."""

    weights: Floats
    score: float
    searches: int


Watcher = Callable[[Iterable[Tuned]], Iterable[Tuned]]  # passes results on while they come


def unwatched(results: Iterable[Tuned]) -> Iterable[Tuned]:
    """Pass results on and show nothing."""
    return results


@dataclass(frozen=True, slots=True)
class TuningProblem:
    """What is tuned: features and statistics of candidates, and the directions in which weights may move.

    ``score`` of sums is the metric's, turned over where lower is better. ``base`` is what held sparse features add.
    """

    names: tuple[str, ...]
    offsets: Ints
    features: Floats  # (candidates, features), columns contiguous
    base: Floats | None  # (candidates,)
    stats: Ints  # (candidates, columns)
    metric: Metric
    axes: Floats  # (axes, features)
    deciding: NDArray[np.bool_]  # (features,): whether a feature ever differs inside a segment
    spread: Floats  # (features,): the standard deviation of each inside segments
    low: Floats
    high: Floats
    ranges: Floats  # (features, 2), NaN where there is none
    normalization: Normalization
    window: Window | None

    def rate(self, sums: Ints) -> Floats:
        """Scores of sums, higher is better."""
        scores = rated(self.metric, sums)
        return scores if self.metric.maximize else -scores

    def values(self, weights: Floats) -> Floats:
        """The model score of each candidate."""
        total = combine(self.features, weights)
        return total if self.base is None else total + self.base

    def chosen(self, weights: Floats) -> Ints:
        """The candidates these weights choose, one per segment."""
        best = np.empty(len(self.offsets) - 1, np.int64)
        winners(self.offsets, self.values(weights), best)
        return best

    def score(self, weights: Floats) -> float:
        """The score of the candidates these weights choose, higher is better."""
        return float(self.rate(self.stats[self.chosen(weights)].sum(axis=0, keepdims=True))[0])

    def all_tied(self, weights: Floats) -> bool:
        """Whether all candidates of each segment have the same model score, so that the order of the lists decides."""
        values = self.values(weights)
        starts = self.offsets[:-1]
        return bool((np.maximum.reduceat(values, starts) == np.minimum.reduceat(values, starts)).all())

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which weights may move, (features,)."""
        return np.asarray(self.axes.any(axis=0))

    def length(self, weights: Floats) -> float:
        """How long a move is."""
        return float(np.abs(weights * self.spread).sum())

    def limits(self, weights: Floats, direction: Floats) -> tuple[float, float]:
        """How far one may go each way before a weight leaves its bounds."""
        moving = direction != 0
        to_low = (self.low - weights)[moving] / direction[moving]
        to_high = (self.high - weights)[moving] / direction[moving]
        return float(np.minimum(to_low, to_high).max()), float(np.maximum(to_low, to_high).min())

    def scaled(self, weights: Floats) -> Floats:
        """The weights, normalized."""
        return self.normalization.apply(weights, self.names)


@compiled
def combine(features: Floats, weights: Floats) -> Floats:
    """The sum of the columns times their weights, in the order of the columns; blocks of rows stay in the cache."""
    size = features.shape[0]
    total = np.zeros(size)
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        block = total[start:stop]
        for column in range(features.shape[1]):
            weight = weights[column]
            if weight != 0.0:
                values = features[start:stop, column]
                for row in range(stop - start):
                    block[row] += values[row] * weight
    return total


def make_problem(
    lists: NBest,
    metric: Metric,
    start: Floats,
    constraints: Constraints | None = None,
    *,
    sparse_weights: Floats | None = None,
    window: Window | None = None,
) -> TuningProblem:
    """Put together what is tuned, from the statistics of all candidates."""
    if not lists.names:
        raise RyptError("the lists have no features to tune")
    constraints = constraints or Constraints()
    constraints.check(lists.names, start)
    base = None if sparse_weights is None else lists.sparse_dot(sparse_weights)
    constraints = constraints.settled(lists.names, anything_held=base is not None and bool(base.any()))
    _check_sizes(lists, start)
    spread = _spread(lists.features, lists.offsets)
    low, high = constraints.low_high(lists.names)
    none = (np.nan, np.nan)
    return TuningProblem(
        lists.names,
        lists.offsets,
        np.asfortranarray(lists.features),
        base,
        counted(metric, lists.candidates),
        metric,
        constraints.axes(lists.names, start, spread > 0),
        spread > 0,
        spread,
        low,
        high,
        np.array([constraints.ranges.get(name, none) for name in lists.names], np.float64).reshape(-1, 2),
        constraints.normalization or Normalization(),
        window,
    )


def _check_sizes(lists: NBest, start: Floats) -> None:
    """Refuse features and weights so large that sums of them are not numbers any more."""
    for name, column, weight in zip(lists.names, lists.features.T, start, strict=True):
        largest = float(np.abs(column).max(initial=0.0))
        if max(largest, abs(weight), largest * abs(weight)) > LARGEST:
            raise RyptError(
                f"feature {name} has values up to {largest:g} and the weight {weight:g}: too large to add up"
            )


def _spread(features: Floats, offsets: Ints) -> Floats:
    """The standard deviation of each feature around the means of the segments; 0 for one that never differs."""
    spread = np.zeros(features.shape[1])
    sizes = np.diff(offsets)
    for i, column in enumerate(features.T):
        if (np.maximum.reduceat(column, offsets[:-1]) > np.minimum.reduceat(column, offsets[:-1])).any():
            means = np.add.reduceat(column / np.repeat(sizes, sizes), offsets[:-1])
            away = np.abs(column - np.repeat(means, sizes))
            spread[i] = away.max() * np.sqrt(np.mean((away / away.max()) ** 2))  # no square over- or underflows
    return spread


class _Climb:
    """A walk from a start: where it is, the model scores there, and the metric's score."""

    def __init__(self, problem: TuningProblem, start: Floats) -> None:
        self.problem = problem
        self.weights = start.copy()
        self.values = problem.values(start)
        # before a step nothing is smoothed, and a score that only the order of the lists gives is none to beat
        self.score = -np.inf if problem.window or problem.all_tied(start) else problem.score(start)
        self.longest = REACH * (problem.length(start) or 1.0)
        self.searches = 0

    def along(self, direction: Floats) -> bool:
        """Take the best step along a direction, if it gains."""
        p = self.problem
        moving = np.flatnonzero(direction)
        if not p.length(direction) > 0:
            return False
        alone = len(moving) == 1 and direction[moving[0]] == 1.0
        slopes = p.features[:, moving[0]] if alone else combine(p.features, direction)
        reach = REACH * min(p.length(self.weights) or 1.0, self.longest) / p.length(direction)
        low, high = p.limits(self.weights, direction)
        low, high = max(low, -reach), min(high, reach)
        step = best_step(p.offsets, slopes, self.values, p.stats, p.rate, low, high, p.window)
        self.searches += 1
        here = self.score if p.window is None else step.here
        if step.length == 0.0 or not step.score > here + GAIN:
            return False
        self.weights = np.clip(self.weights + step.length * direction, p.low, p.high)
        self.values = self.values + step.length * slopes
        self.score = step.score
        return True

    def tuned(self) -> Tuned:
        """The result, scored afresh."""
        return Tuned(self.weights, self.problem.score(self.weights), self.searches)


def climb(problem: TuningProblem, start: Floats, rng: np.random.Generator, enough: float = ENOUGH) -> Tuned:
    """Go along each direction to its best step, until a pass over all of them gains no more than is worth it.

    A pass tries, in random order, the axes, a few Gaussian directions, and the sum of the moves of the pass before
    (Powell's replaced direction).
    """
    walk = _Climb(problem, start)
    moved = np.zeros(len(start))
    exhausted: set[int] = set()  # the axes searched since the last step, which have nothing more to give
    for _ in range(MAX_PASSES):
        before, score = walk.weights, walk.score
        directions = _directions(problem, moved, rng)
        for i in rng.permutation(len(directions)):
            if i in exhausted:
                continue
            if walk.along(directions[i]):
                exhausted.clear()
            if i < len(problem.axes):
                exhausted.add(i)
        if walk.score <= score + enough * problem.metric.scale:
            break
        moved = walk.weights - before
    return walk.tuned()


def _directions(problem: TuningProblem, moved: Floats, rng: np.random.Generator) -> list[Floats]:
    """The axes, random directions, and the move of the last pass."""
    count = RANDOM_DIRECTIONS if len(problem.axes) > 1 else 0
    random = rng.normal(size=(count, len(problem.axes))) / _axis_lengths(problem) @ problem.axes
    return [*problem.axes, *random, moved]


def _axis_lengths(problem: TuningProblem) -> Floats:
    return np.asarray(np.abs(problem.axes * problem.spread).sum(axis=1))


def join(problem: TuningProblem, results: Sequence[Tuned], rng: np.random.Generator) -> Tuned:
    """Go from the best point along the lines to other good points, and climb on from where that leads, to the end."""
    best = results[0]
    while True:
        walk = _Climb(problem, best.weights)
        length = problem.length(best.weights)
        for other in results[1:GOOD_POINTS]:
            other_length = problem.length(other.weights)
            scale = length / other_length if problem.normalization.kind != "none" and other_length else 1.0
            walk.along(other.weights * scale - walk.weights)
        reached = climb(problem, walk.weights, rng, enough=0.0)
        searches = best.searches + walk.searches + reached.searches
        if reached.score <= best.score + GAIN:
            return Tuned(best.weights, best.score, searches)
        best = Tuned(reached.weights, reached.score, searches)


def random_start(problem: TuningProblem, start: Floats, rng: np.random.Generator) -> Floats:
    """A point near the start, or within the ranges where there are any; inside the bounds.

    Tied weights go together, as far as the first of them with a range says.
    """
    lengths = np.abs(start * problem.spread)
    scale = float(lengths[lengths > 0].mean()) if lengths.any() else 1.0
    shift = rng.normal(size=len(problem.axes)) * NEARNESS * scale / _axis_lengths(problem)
    drawn = problem.ranges[:, 0] + rng.uniform(size=len(start)) * (problem.ranges[:, 1] - problem.ranges[:, 0])
    axes_of = (problem.axes != 0).sum(axis=0)  # how many axes move each weight
    point = start.copy()
    for length, axis in zip(shift.tolist(), problem.axes, strict=True):
        ranged = np.flatnonzero((axis != 0) & np.isfinite(drawn))
        if len(ranged) and (axes_of[axis != 0] == 1).all():
            length = (drawn[ranged[0]] - start[ranged[0]]) / axis[ranged[0]]
        low, high = problem.limits(point, axis)
        point += min(max(length, low), high) * axis
    return np.clip(np.where((axes_of > 1) & np.isfinite(drawn), drawn, point), problem.low, problem.high)


def optimize(
    problem: TuningProblem,
    start: Floats,
    *,
    earlier: Sequence[Floats] = (),
    restarts: int = 20,
    seed: int = 1,
    threads: int = 1,
    executor: Executor | None = None,
    watch: Watcher = unwatched,
) -> list[Tuned]:
    """Climb from the given weights, ``earlier`` ones and random ones; all results, the best first.

    The best is then joined with the others that are good. Of equal results the earliest start comes first. Weights
    under which all candidates tie, such as 0, come last, whatever the first candidates of the lists score.
    """
    given = [start, *earlier]
    generators = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(len(given) + restarts + 1)]
    starts = given + [random_start(problem, start, rng) for rng in generators[len(given) : -1]]
    pool = executor or ThreadPoolExecutor(max_workers=threads)
    try:
        results = list(watch(pool.map(climb, [problem] * len(starts), starts, generators[:-1])))
    finally:
        if executor is None:
            pool.shutdown()
    results.sort(key=lambda tuned: (problem.all_tied(tuned.weights), -tuned.score))
    if len(results) > 1 and len(problem.axes) > 1:
        results[0] = join(problem, results, generators[-1])
    return [_scaled(problem, tuned) for tuned in results]


def _scaled(problem: TuningProblem, tuned: Tuned) -> Tuned:
    """The same with its weights normalized, and scored as they are then."""
    weights = problem.scaled(tuned.weights)
    return Tuned(weights, problem.score(weights), tuned.searches)
