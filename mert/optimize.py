"""From starting points to weights: climbs along the best of many directions, in rounds that begin near the best so far.

A climb searches all axes and takes only the best step, because small gains taken at once spoil the way to large ones.
The first climbs begin at the given weights and at random ones, the later ones near the best three points so far. Most
candidates never win near any of these points: climbs see only those that have won somewhere, and what they reach is
scored on all candidates, whose winners join in.

Each climb has a random generator of its own, rounds have a fixed size, and products are summed in one fixed order, so
the answer is the same for any number of threads. Lengths in weight space are measured in units of what they do: a
weight counts times the spread of its feature inside segments, so rescaling a feature changes nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mert.constraints import Constraints, Normalization
from mert.lists.arrays import NBest
from mert.search.lines import Step, Window, best_steps
from mert.search.share import (
    Choice,
    ColumnFacts,
    Line,
    Rate,
    Share,
    choice,
    column_facts,
    joined,
    seen_from,
    spreads,
)
from mert.search.shares import Shares, WholeList
from rypt.arrays import Floats, Ints
from rypt.metrics.metric import Metric, counted
from rypt.text import RyptError

RESTARTS = 80  # random starts by default
RANDOM_DIRECTIONS = 4  # tried where no axis gains
GAIN = 1e-9  # a smaller one is no gain
ENOUGH = 1e-4  # a climb ends where no step gains more, the best score being 1; the best goes on to the end
ROUGHLY = 3e-4  # the same for scattered climbs, whose ends are averaged
MAX_MOVES = 1000
TOGETHER = 3  # axes that are searched at once
REACH = 100.0  # the longest step, in lengths of the weights: no weight can dwarf the others
NEARBY = 1.5  # the longest step of climbs that begin near a good point, the mean length of a weight being 1
NEARNESS = 0.5  # random starts stray from the given weights by this, the mean length of a weight being 1
JUMP = 0.15  # later ones from good points by this
GOOD_POINTS = 3  # how many good points later starts are near
ROUND = 8  # climbs that do not know of one another
FINISHERS = 6  # the best points that climb on to the end, on all candidates
FINISHERS_SCATTERED = 2  # the same of scattered climbs
SMALL = 2000  # lists of fewer candidates are searched as a whole
SIGHT = 1.5  # how far from a point candidates that win are looked for, the mean length of a weight being 1
LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class Tuned:
    """The weights of one start, their score on the lists (higher is better), and how many lines were searched.

    ``tied`` says that all candidates of each segment have the same model score, so that the order of the lists decides.
    """

    weights: Floats
    score: float
    searches: int
    tied: bool = False


Watcher = Callable[[Iterable[Tuned]], Iterable[Tuned]]  # passes results on while they come


def unwatched(results: Iterable[Tuned]) -> Iterable[Tuned]:
    """Pass results on and show nothing."""
    return results


@dataclass(frozen=True, slots=True)
class TuningProblem:
    """What is tuned: features and statistics of candidates, and the directions in which weights may move.

    Candidates are in ``shares``, which may be in memory, in files or on the workers of a cluster. ``score`` of sums is
    the metric's, turned over where lower is better.
    """

    names: tuple[str, ...]
    shares: Shares
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
        return Rate(self.metric)(sums)

    @property
    def whole(self) -> Share:
        """All candidates, where they are in memory."""
        share = self.shares.whole
        if share is None:
            raise ValueError("the candidates are divided into shares")
        return share

    @property
    def sizes(self) -> Ints:
        """The number of candidates of each segment."""
        return np.concatenate(self.shares.sizes)

    def choice(self, weights: Floats) -> Choice:
        """What weights choose; the candidates are numbered from the first of all segments."""
        answers = self.shares.ask(choice, weights)
        begins = np.cumsum([0, *(int(sizes.sum()) for sizes in self.shares.sizes)])
        chosen = [answer.chosen + begin for answer, begin in zip(answers, begins, strict=False)]
        sums = np.sum([answer.sums for answer in answers], axis=0)
        return Choice(sums, np.concatenate(chosen), all(answer.tied for answer in answers))

    def total(self, sums: Ints) -> float:
        """The score of summed statistics, higher is better."""
        return float(self.rate(sums[None])[0])

    def score(self, weights: Floats) -> float:
        """The score of the candidates these weights choose, higher is better."""
        return self.total(self.choice(weights).sums)

    def moved(self, point: Floats, lengths: Floats) -> Floats:
        """The point after steps along all axes, each as far as the bounds allow."""
        for length, axis in zip(lengths.tolist(), self.axes, strict=True):
            low, high = self.limits(point, axis)
            point = point + min(max(length, low), high) * axis
        return np.clip(point, self.low, self.high)

    def part(self, kept: NDArray[np.bool_]) -> "TuningProblem":
        """The same with some of the candidates, at least one of each segment, in memory; lengths stay as they are."""
        ends = np.cumsum([int(sizes.sum()) for sizes in self.shares.sizes])
        each = [np.flatnonzero(part) for part in np.split(kept, ends[:-1])]
        parts = self.shares.ask(Share.part, each=each)
        return replace(self, shares=WholeList(parts[0] if len(parts) == 1 else joined(parts)))

    def all_tied(self, weights: Floats) -> bool:
        """Whether all candidates of each segment have the same model score, so that the order of the lists decides."""
        return self.choice(weights).tied

    @property
    def bounded(self) -> bool:
        """Whether any weight has bounds."""
        return bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())

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


def make_problem(
    lists: NBest,
    metric: Metric,
    start: Floats,
    constraints: Constraints | None = None,
    *,
    sparse_weights: Floats | None = None,
    window: Window | None = None,
    stats: Ints | None = None,
) -> TuningProblem:
    """Put together what is tuned, from the statistics of all candidates, which are counted if they are not given."""
    check_features(lists.names, start, constraints)
    base = None if sparse_weights is None else lists.sparse_dot(sparse_weights)
    share = Share(
        lists.offsets,
        np.asfortranarray(lists.features),
        base,
        counted(metric, lists.candidates) if stats is None else stats,
        Rate(metric),
    )
    facts = column_facts(share.features, share.offsets)
    return problem_of_shares(
        lists.names,
        WholeList(share),
        [facts],
        metric,
        start,
        constraints,
        window=window,
        anything_held=base is not None and bool(base.any()),
    )


def check_features(names: Sequence[str], start: Floats, constraints: Constraints | None) -> None:
    """Refuse lists without features, and constraints that do not fit them."""
    if not names:
        raise RyptError(
            "the lists have no features to tune; `rypt score CAMPAIGN --pick best` chooses candidates without weights"
        )
    (constraints or Constraints()).check(names, start)


def problem_of_shares(
    names: tuple[str, ...],
    shares: Shares,
    facts: Sequence[ColumnFacts],
    metric: Metric,
    start: Floats,
    constraints: Constraints | None = None,
    *,
    window: Window | None = None,
    anything_held: bool = False,
) -> TuningProblem:
    """Put together what is tuned, from shares and what is known of their features."""
    constraints = (constraints or Constraints()).settled(names, anything_held=anything_held)
    _check_sizes(names, np.max([each.largest for each in facts], axis=0), start)
    spread = spreads(facts)
    low, high = constraints.low_high(names)
    none = (np.nan, np.nan)
    return TuningProblem(
        names,
        shares,
        metric,
        constraints.axes(names, start, spread > 0),
        spread > 0,
        spread,
        low,
        high,
        np.array([constraints.ranges.get(name, none) for name in names], np.float64).reshape(-1, 2),
        constraints.normalization or Normalization(),
        window,
    )


def _check_sizes(names: Sequence[str], sizes: Floats, start: Floats) -> None:
    """Refuse features and weights so large that sums of them are not numbers any more."""
    for name, largest, weight in zip(names, sizes.tolist(), start, strict=True):
        if max(largest, abs(weight), largest * abs(weight)) > LARGEST:
            raise RyptError(
                f"feature {name} has values up to {largest:g} and the weight {weight:g}: too large to add up"
            )


class _Climb:
    """A walk from a start: where it is, the model scores there, and the metric's score."""

    def __init__(self, problem: TuningProblem, start: Floats, reach: float) -> None:
        self.problem = problem
        self.weights = start.copy()
        self.position = problem.shares.position(start)
        # before a step nothing is smoothed, and a score that only the order of the lists gives is none to beat
        here = problem.choice(start)
        self.score = -np.inf if problem.window or here.tied else problem.total(here.sums)
        self.reach, self.bounded = reach, problem.bounded
        self.longest = problem.length(start) or 1.0
        self.searches = 0

    def search(self, directions: Sequence[Floats]) -> "list[_Move]":
        """The best step along each direction."""
        p = self.problem
        reach = self.reach * min(p.length(self.weights) or 1.0, REACH * self.longest)
        lines: list[Line] = []
        for direction in directions:
            most = reach / p.length(direction)
            low, high = p.limits(self.weights, direction) if self.bounded else (-np.inf, np.inf)
            lines.append((direction, max(low, -most), min(high, most)))
        self.searches += len(lines)
        if not lines:
            return []
        moves = []
        limits = [(low, high) for _, low, high in lines]
        steps = best_steps(self.position.corners(lines), limits, p.rate, p.window)
        for direction, step in zip(directions, steps, strict=True):
            # smoothed scores of one point differ from line to line: a gain over the last one, too, prevents circles
            here = self.score if p.window is None else max(self.score, step.here)
            moves.append(_Move(direction, step, step.score - here if step.length else 0.0))
        return moves

    def take(self, move: "_Move") -> None:
        """Make a step."""
        p, length = self.problem, move.step.length
        self.weights = np.clip(self.weights + length * move.direction, p.low, p.high)
        self.position.take(length, move.direction)
        self.score = move.step.score

    def best_of_axes(self, gains: Floats) -> "_Move | None":
        """The best step along an axis; ``gains`` are what the axes gave when they were last searched, and are updated.

        Axes that promise more come first, and none that promised less than what is already had is searched again.
        """
        best: _Move | None = None
        order = np.argsort(-gains, kind="stable")
        while len(order) and (best is None or best.gain < gains[order[0]]):
            chosen = order[: max(TOGETHER, int(np.isinf(gains[order]).sum()))]
            moves = self.search([self.problem.axes[i] for i in chosen])
            gains[chosen] = [move.gain for move in moves]
            best = max([best, *moves] if best else moves, key=lambda move: move.gain)
            order = order[len(chosen) :]
        return best

    def tuned(self) -> Tuned:
        """The result, scored afresh."""
        return Tuned(self.weights, self.problem.score(self.weights), self.searches)


@dataclass(frozen=True, slots=True)
class _Move:
    """A step along a direction that was searched, and what it gains."""

    direction: Floats
    step: Step
    gain: float


def climb(
    problem: TuningProblem,
    start: Floats,
    rng: np.random.Generator,
    reach: float = REACH,
    enough: float = ENOUGH,
) -> Tuned:
    """Take the best step along any axis, or where no axis gains along a few random directions, until none gains.

    Steps are at most ``reach`` lengths of the weights long. A gain of ``enough``, the best score being 1, is none.
    """
    walk = _Climb(problem, start, reach)
    least = max(GAIN, enough * problem.metric.scale)
    gains = np.full(len(problem.axes), np.inf)
    for _ in range(MAX_MOVES):
        move = walk.best_of_axes(gains)
        if move is None or not move.gain > least:
            moves = walk.search(list(_random_directions(problem, rng, RANDOM_DIRECTIONS)))
            move = max(moves, key=lambda move: move.gain, default=None)
            if move is None or not move.gain > least:
                break
            gains[:] = np.inf
        walk.take(move)
    return walk.tuned()


def _random_directions(problem: TuningProblem, rng: np.random.Generator, count: int) -> Floats:
    """Gaussian directions, (directions, features); none where there is but one axis."""
    count = count if len(problem.axes) > 1 else 0
    return np.asarray(rng.normal(size=(count, len(problem.axes))) / _axis_lengths(problem) @ problem.axes)


def _axis_lengths(problem: TuningProblem) -> Floats:
    return np.asarray(np.abs(problem.axes * problem.spread).sum(axis=1))


def random_start(problem: TuningProblem, start: Floats, rng: np.random.Generator) -> Floats:
    """A point near the start, or within the ranges where there are any; inside the bounds.

    Tied weights go together, as far as the first of them with a range says.
    """
    lengths = np.abs(start * problem.spread)
    scale = float(lengths[lengths > 0].mean()) if lengths.any() else 1.0
    shift = rng.normal(size=len(problem.axes)) * NEARNESS * scale / _axis_lengths(problem)
    drawn = problem.ranges[:, 0] + rng.uniform(size=len(start)) * (
        problem.ranges[:, 1] - problem.ranges[:, 0]
    )
    axes_of = (problem.axes != 0).sum(axis=0)  # how many axes move each weight
    point = start.copy()
    for length, axis in zip(shift.tolist(), problem.axes, strict=True):
        ranged = np.flatnonzero((axis != 0) & np.isfinite(drawn))
        if len(ranged) and (axes_of[axis != 0] == 1).all():
            length = (drawn[ranged[0]] - start[ranged[0]]) / axis[ranged[0]]
        low, high = problem.limits(point, axis)
        point += min(max(length, low), high) * axis
    return np.clip(np.where((axes_of > 1) & np.isfinite(drawn), drawn, point), problem.low, problem.high)


def near(problem: TuningProblem, point: Floats, rng: np.random.Generator) -> Floats:
    """A point a short way from a good one, inside the bounds."""
    scale = problem.length(point) / max(1, len(problem.axes)) or 1.0
    jumps = rng.normal(size=len(problem.axes)) * JUMP * scale / _axis_lengths(problem)
    return problem.moved(point, jumps)


class _Sight:
    """The candidates that won somewhere near points that were looked at."""

    def __init__(self, problem: TuningProblem) -> None:
        self.problem = problem
        self.size = int(problem.sizes.sum())
        self.marks = np.zeros(self.size, np.bool_)
        self.whole = self.size < SMALL

    def look(self, point: Floats, directions: Iterable[Floats]) -> None:
        """Mark the winners along lines through a point, as far as one can see."""
        p = self.problem
        if self.whole:
            return
        far = SIGHT * (p.length(point) / max(1, len(p.axes)) or 1.0)
        lines = [
            (direction, -far / p.length(direction), far / p.length(direction)) for direction in directions
        ]
        begin = 0
        for seen, sizes in zip(p.shares.ask(seen_from, point, lines), p.shares.sizes, strict=True):
            self.marks[begin + seen] = True
            begin += int(sizes.sum())

    def score(self, tuned: Tuned) -> Tuned:
        """A result scored on all candidates, whose winners are marked."""
        here = self.problem.choice(tuned.weights)
        self.marks[here.chosen] = True
        return replace(tuned, score=self.problem.total(here.sums), tied=here.tied)

    def seen(self) -> TuningProblem:
        """The problem with the marked candidates only, in memory."""
        if self.whole and self.problem.shares.whole is not None:
            return self.problem
        return self.problem.part(np.ones(self.size, np.bool_) if self.whole else self.marks)


def optimize(
    problem: TuningProblem,
    start: Floats,
    *,
    earlier: Sequence[Floats] = (),
    restarts: int = RESTARTS,
    seed: int = 1,
    threads: int = 1,
    scattered: bool = False,
    executor: Executor | None = None,
    watch: Watcher = unwatched,
) -> list[Tuned]:
    """Climb from the given weights, ``earlier`` ones, random ones and ones near the best so far; the best first.

    With ``scattered`` no start is near the best so far: what is reached then differs more. Of equal results the
    earliest start comes first. Weights under which all candidates tie, such as 0, come last, whatever the first
    candidates of the lists score.
    """
    given = [start, *earlier]
    generators = [
        np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(len(given) + restarts + 1)
    ]
    pool = executor or ThreadPoolExecutor(max_workers=threads)
    # climbs on all candidates wait for the shares: they run here, side by side
    finish = pool if problem.shares.whole is not None else ThreadPoolExecutor(max_workers=FINISHERS)

    try:
        results = sorted(watch(_rounds(problem, given, generators, pool, scattered)), key=_order)
        finishers = results[: FINISHERS_SCATTERED if scattered else FINISHERS]
        points = [tuned.weights for tuned in finishers]
        rngs = generators[-1].spawn(len(points))
        ends = list(finish.map(partial(climb, enough=0.0), [problem] * len(points), points, rngs))
    finally:
        for each in {pool, finish} - {executor}:
            each.shutdown()
    ends = [replace(tuned, tied=problem.all_tied(tuned.weights)) for tuned in ends]
    return [_scaled(problem, tuned) for tuned in sorted([*ends, *results[len(ends) :]], key=_order)]


def _order(tuned: Tuned) -> tuple[bool, float]:
    return tuned.tied, -tuned.score


def _rounds(
    problem: TuningProblem,
    given: Sequence[Floats],
    generators: Sequence[np.random.Generator],
    pool: Executor,
    scattered: bool,
) -> Iterator[Tuned]:
    """The results of all climbs, round by round."""
    sight, results = _Sight(problem), list[Tuned]()
    enough = ROUGHLY if scattered else ENOUGH
    rng = generators[-1]
    for point in given[:ROUND]:
        sight.look(point, [*problem.axes, *_random_directions(problem, rng, len(problem.axes))])
    while len(results) < len(generators) - 1:
        begun = len(results)
        size = ROUND if begun else max(ROUND, len(given))  # all of the given starts are in the first round
        rngs = generators[begun : min(begun + size, len(generators) - 1)]
        if begun:
            good = sorted(results, key=_order)[:GOOD_POINTS]
            sight.look(good[0].weights, problem.axes)
        if begun and not scattered:
            starts = [near(problem, good[rng.integers(len(good))].weights, rng) for rng in rngs]
            reach = NEARBY / max(1, len(problem.axes))
        else:
            starts = [
                *given[begun:],
                *(random_start(problem, given[0], rng) for rng in rngs[len(given[begun:]) :]),
            ]
            reach = REACH
        seen = sight.seen()
        for tuned in pool.map(partial(climb, reach=reach, enough=enough), [seen] * len(starts), starts, rngs):
            results.append(sight.score(tuned))
            yield results[-1]


def _scaled(problem: TuningProblem, tuned: Tuned) -> Tuned:
    """The same with its weights normalized, and scored as they are then."""
    weights = problem.scaled(tuned.weights)
    return replace(tuned, weights=weights, score=problem.score(weights))
