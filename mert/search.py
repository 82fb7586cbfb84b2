"""From starting points to weights: climbs along the best of many directions, in rounds that begin near the best so far.

    solution = solve(problem, start, SearchSettings(aim="list"))

A climb searches all axes and takes only the best step, because small gains taken at once spoil the way to large ones.
The first climbs begin at the given weights and at random ones, the later ones near the best three points so far. Most
candidates never win near any of these points: climbs see only those that have won somewhere, and what they reach is
scored on all candidates, whose winners join in.

Each climb has a random generator of its own, rounds have a fixed size, and model scores are summed in one fixed order,
so the answer is the same for any number of threads.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mert.checks import Gain, bootstrap_gain, flatness, notes_on
from mert.learners import learn
from mert.linesearch import Step, line_search
from mert.problem import Line, Problem, changes_on
from mert.unseen import unseen_weights
from rypt.arrays import Floats
from rypt.metrics.metric import Metric
from rypt.text import RyptError

ALGORITHMS = ("mert", "pro", "mira")
AIMS = {"unseen": 20, "list": 80}  # what weights are to be good for → random restarts by default
RESTARTS_PER_WEIGHT = 5  # for the optimum of a list, where that is more

# Distances, in mean lengths of a weight.
START_SPREAD = 0.5  # of random starts around the given weights
JUMP_SPREAD = 0.15  # of later starts around good points
NEAR_REACH = 1.5  # the longest step of climbs that begin near a good point
WINNER_REACH = 1.5  # how far along a line candidates that win are looked for
LONGEST_STEP = 100.0  # in lengths of all weights together: no weight can dwarf the others

# Gains, the best score being 1.
LEAST_GAIN = 1e-9  # in the metric's own scores: a smaller one is rounding
ENOUGH_GAIN = 1e-4  # a climb ends where no step gains more; the best climbs go on to the end
ENOUGH_SCATTERED = 3e-4  # the same for scattered climbs, whose ends are averaged

MAX_STEPS = 1000  # of a climb
RANDOM_DIRECTIONS = 4  # searched where no axis gains
AXES_AT_ONCE = 3  # searched before it is asked whether the others can gain more
ROUND = 8  # climbs that do not know of one another
GOOD_POINTS = 3  # the number of points that later starts are near
FINISHERS = 6  # the best points that climb on to the end, on all candidates
FINISHERS_SCATTERED = 2
SMALL_LIST = 2000  # candidates: fewer are searched as a whole


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How weights are searched for.

    ``algorithm`` is ``mert`` (line searches from the given weights and ``restarts`` random ones), ``pro`` or ``mira``.
    ``aim`` says which weights ``mert`` looks for: weights for ``unseen`` segments, a mean of several estimates, or
    the optimum of the ``list`` itself. ``restarts`` None is 20 or, for a list, 80; 5 for each weight that may move
    where there are more than 16. ``replicates`` repeats the search with the random seeds ``seed``, ``seed + 1``, …,
    and returns the best weights. The number of threads affects only the time.

    >>> str(SearchSettings(restarts=3, replicates=2))
    'mert|aim:unseen|restarts:3|seed:1|replicates:2'
    """

    algorithm: str = "mert"
    restarts: int | None = None
    seed: int = 1
    threads: int = 1
    replicates: int = 1
    aim: str = "unseen"

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise RyptError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {self.algorithm!r}")
        if self.aim not in AIMS:
            raise RyptError(f"aim must be one of {', '.join(AIMS)}, got {self.aim!r}")
        for name, least in (("restarts", 0), ("seed", 0), ("threads", 1), ("replicates", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise RyptError(f"{name} must be at least {least}, got {value}")

    @property
    def climbs(self) -> int:
        """The number of random restarts, or its minimum if it depends on the number of weights."""
        return AIMS[self.aim] if self.restarts is None else self.restarts

    def settled(self, weights: int) -> "SearchSettings":
        """The same with the number of random restarts for this number of weights that may move.

        >>> str(SearchSettings(aim="list").settled(40))
        'mert|aim:list|restarts:200|seed:1'
        """
        more = RESTARTS_PER_WEIGHT * weights if self.restarts is None and self.aim == "list" else 0
        return replace(self, restarts=max(self.climbs, more))

    def __str__(self) -> str:
        method = f"mert|aim:{self.aim}|restarts:{self.climbs}" if self.algorithm == "mert" else self.algorithm
        more = f"|replicates:{self.replicates}" if self.replicates > 1 else ""
        return f"{method}|seed:{self.seed}{more}"


@dataclass(frozen=True, slots=True)
class Climb:
    """The weights at the end of a climb, their score on the lists (higher is better), and how many lines were searched.

    ``tied`` says that all candidates of each segment have the same model score, so that the order of the lists decides.
    """

    weights: Floats
    score: float
    searches: int
    tied: bool = False


Watcher = Callable[[Iterable[Climb]], Iterable[Climb]]  # passes climbs on while they come


def unwatched(climbs: Iterable[Climb]) -> Iterable[Climb]:
    """Pass climbs on and show nothing."""
    return climbs


class Pool(Protocol):
    """Where climbs run side by side: threads, or the workers of a cluster."""

    def map(self, function: Callable[..., Any], /, *columns: Iterable[Any]) -> Iterator[Any]:
        """The results of calls, in order."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Tuned weights, with scores as the metric gives them, and what is worth knowing about them.

    ``scores`` are those of the replicates, ``ends`` those of all climbs, the best first.
    """

    weights: Floats
    score: float
    start_score: float
    scores: tuple[float, ...]
    ends: tuple[float, ...]
    searches: int
    gain: Gain
    notes: tuple[str, ...]


def solve(
    problem: Problem,
    start: Floats,
    search: SearchSettings | None,
    *,
    earlier: Sequence[Floats] = (),
    pool: Pool | None = None,
    watch: Watcher = unwatched,
) -> Solution:
    """Tune from these weights, once for each replicate; without settings the weights stay, and are scored.

    ``earlier`` are weights that climbs begin at, too.
    """
    sign = 1.0 if problem.metric.maximize else -1.0
    if search is None:
        runs = [(problem.scaled(start), list[Climb]())]
    else:
        search = search.settled(len(problem.axes))
        seeds = range(search.seed, search.seed + search.replicates)
        runs = [_run(problem, start, replace(search, seed=seed), earlier, pool, watch) for seed in seeds]
    scores = [problem.score(weights) for weights, _ in runs]
    tied = [problem.all_tied(weights) for weights, _ in runs]
    best = max(range(len(runs)), key=lambda i: (not tied[i], scores[i]))
    if scores[best] == 0.0 and _has_zero_as_worst(problem.metric):
        raise RyptError("the best score found is 0: no candidate is worth anything to this metric")
    weights = runs[best][0]
    climbs = [climb for _, ends in runs for climb in ends]
    return Solution(
        weights,
        sign * scores[best],
        sign * problem.score(start),
        tuple(sign * score for score in scores),
        tuple(sign * climb.score for climb in sorted(climbs, key=_order)),
        sum(climb.searches for climb in climbs),
        bootstrap_gain(problem, start, weights, np.random.default_rng(search.seed if search else 1)),
        (*flatness(problem, start), *notes_on(problem, weights, start)),
    )


def _has_zero_as_worst(metric: Metric) -> bool:
    """Whether no score is below 0: true of metrics to maximise, but for sums from which something is subtracted.

    Scores of other programs (`rypt.metrics.candidate_scores`) may be below 0, too.
    """
    signed = any(getattr(each, "signed", False) for each in (metric, *getattr(metric, "parts", ())))
    return metric.maximize and not signed and all(weight > 0 for weight in getattr(metric, "weights", ()))


def _run(
    problem: Problem,
    start: Floats,
    search: SearchSettings,
    earlier: Sequence[Floats],
    pool: Pool | None,
    watch: Watcher,
) -> tuple[Floats, list[Climb]]:
    """The weights of one search, and its climbs, the best first."""
    if search.algorithm != "mert":
        weights = learn(problem, start, search.algorithm, np.random.default_rng(search.seed))
        return problem.scaled(weights), []
    ends = optimize(
        problem,
        start,
        earlier=earlier,
        restarts=search.climbs,
        seed=search.seed,
        threads=search.threads,
        scattered=search.aim == "unseen",
        pool=pool,
        watch=watch,
    )
    if search.aim == "list":
        return ends[0].weights, ends
    rng = np.random.default_rng([search.seed, 1])
    return unseen_weights(problem, start, [end.weights for end in ends], rng), ends


def optimize(
    problem: Problem,
    start: Floats,
    *,
    earlier: Sequence[Floats] = (),
    restarts: int,
    seed: int = 1,
    threads: int = 1,
    scattered: bool = False,
    pool: Pool | None = None,
    watch: Watcher = unwatched,
) -> list[Climb]:
    """Climb from the given weights, ``earlier`` ones, random ones and ones near the best so far; the best first.

    With ``scattered`` no start is near the best so far: what is reached then differs more. Of equal results the
    earliest start comes first. Weights under which all candidates tie, such as 0, come last, whatever the first
    candidates of the lists score.
    """
    given = [start, *earlier]
    sequences = np.random.SeedSequence(seed).spawn(len(given) + restarts + 1)
    generators = [np.random.default_rng(sequence) for sequence in sequences]
    with ThreadPoolExecutor(max_workers=threads) as local:
        climbs = _rounds(problem, given, generators, pool or local, scattered)
        results = sorted(watch(climbs), key=_order)
        best = results[: FINISHERS_SCATTERED if scattered else FINISHERS]
        rngs = generators[-1].spawn(len(best))
        # climbs on all candidates ask the parts of the problem, so they run here
        ends = list(local.map(lambda each, rng: climb(problem, each.weights, rng, enough=0.0), best, rngs))
    ends = [replace(end, tied=problem.all_tied(end.weights)) for end in ends]
    return [_scaled(problem, end) for end in sorted([*ends, *results[len(ends) :]], key=_order)]


def _order(end: Climb) -> tuple[bool, float]:
    return end.tied, -end.score


def _scaled(problem: Problem, end: Climb) -> Climb:
    """The same with its weights normalized, and scored as they are then."""
    weights = problem.scaled(end.weights)
    return replace(end, weights=weights, score=problem.score(weights))


def _rounds(
    problem: Problem,
    given: Sequence[Floats],
    generators: Sequence[np.random.Generator],
    pool: Pool,
    scattered: bool,
) -> Iterator[Climb]:
    """All climbs, round by round."""
    winners, results = Winners(problem), list[Climb]()
    enough = ENOUGH_SCATTERED if scattered else ENOUGH_GAIN
    rng = generators[-1]
    for point in given[:ROUND]:
        winners.look(point, [*problem.axes, *_random_directions(problem, rng, len(problem.axes))])
    while len(results) < len(generators) - 1:
        begun = len(results)
        size = ROUND if begun else max(ROUND, len(given))  # all of the given starts are in the first round
        rngs = generators[begun : min(begun + size, len(generators) - 1)]
        if begun:
            good = sorted(results, key=_order)[:GOOD_POINTS]
            winners.look(good[0].weights, problem.axes)
        if begun and not scattered:
            starts = [near(problem, good[rng.integers(len(good))].weights, rng) for rng in rngs]
            reach = NEAR_REACH / max(1, len(problem.axes))
        else:
            drawn = rngs[len(given[begun:]) :]
            starts = [*given[begun:], *(random_start(problem, given[0], rng) for rng in drawn)]
            reach = LONGEST_STEP
        seen, count = winners.seen(), len(starts)
        for end in pool.map(climb, [seen] * count, starts, rngs, [reach] * count, [enough] * count):
            results.append(winners.score(end))
            yield results[-1]


class Winners:
    """The candidates that won somewhere near points that were looked at."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.marks = np.full(problem.candidates, problem.candidates < SMALL_LIST)

    def look(self, point: Floats, directions: Iterable[Floats]) -> None:
        """Mark the winners along lines through a point."""
        p = self.problem
        if not self.marks.all():
            reach = WINNER_REACH * p.mean_length(point)
            lines = [(each, -reach / p.length(each), reach / p.length(each)) for each in directions]
            self.marks[p.winners_on(point, lines)] = True

    def score(self, end: Climb) -> Climb:
        """A climb scored on all candidates, whose winners are marked."""
        choice = self.problem.choose(end.weights)
        self.marks[choice.rows] = True
        return replace(end, score=float(self.problem.rate(choice.sums[np.newaxis])[0]), tied=choice.tied)

    def seen(self) -> Problem:
        """The problem with the marked candidates only, in memory."""
        return self.problem if self.marks.all() and self.problem.in_memory else self.problem.only(self.marks)


def climb(
    problem: Problem,
    start: Floats,
    rng: np.random.Generator,
    reach: float = LONGEST_STEP,
    enough: float = ENOUGH_GAIN,
) -> Climb:
    """Take the best step along any axis, or where no axis gains along a few random directions, until none gains.

    Steps are at most ``reach`` lengths of the weights long. A gain of ``enough``, the best score being 1, is none.
    """
    walk = _Walk(problem, start, reach)
    least = max(LEAST_GAIN, enough * problem.metric.scale)
    gains = np.full(len(problem.axes), np.inf)
    for _ in range(MAX_STEPS):
        move = walk.best_of_axes(gains)
        if move is None or not move.gain > least:
            moves = walk.search(list(_random_directions(problem, rng, RANDOM_DIRECTIONS)))
            move = max(moves, key=lambda move: move.gain, default=None)
            if move is None or not move.gain > least:
                break
            gains[:] = np.inf
        walk.take(move)
    return Climb(walk.weights, problem.score(walk.weights), walk.searches)


@dataclass(frozen=True, slots=True)
class _Move:
    """A step along a direction that was searched, and what it gains."""

    direction: Floats
    step: Step
    gain: float


class _Walk:
    """Where a climb is, and the score there."""

    def __init__(self, problem: Problem, start: Floats, reach: float) -> None:
        self.problem, self.weights, self.reach = problem, start.copy(), reach
        # a score that only the order of the lists gives is none to beat
        self.score = -np.inf if problem.all_tied(start) else problem.score(start)
        self.bounded = bool(np.isfinite(problem.low).any() or np.isfinite(problem.high).any())
        self.longest = problem.length(start) or 1.0
        self.searches = 0

    def search(self, directions: Sequence[Floats]) -> list[_Move]:
        """The best step along each direction."""
        p = self.problem
        reach = self.reach * min(p.length(self.weights) or 1.0, LONGEST_STEP * self.longest)
        lines: list[Line] = []
        for direction in directions:
            most = reach / p.length(direction)
            low, high = p.limits(self.weights, direction) if self.bounded else (-np.inf, np.inf)
            lines.append((direction, max(low, -most), min(high, most)))
        self.searches += len(lines)
        moves = []
        answers = p.parts.ask(changes_on, self.weights, lines)
        for (direction, low, high), *changes in zip(lines, *answers, strict=True):
            step = line_search(changes, p.rate, low, high)
            moves.append(_Move(direction, step, step.score - self.score if step.length else 0.0))
        return moves

    def take(self, move: _Move) -> None:
        """Make a step."""
        moved = self.weights + move.step.length * move.direction
        self.weights, self.score = np.clip(moved, self.problem.low, self.problem.high), move.step.score

    def best_of_axes(self, gains: Floats) -> _Move | None:
        """The best step along an axis; ``gains`` are what the axes gave when they were last searched, and are updated.

        Axes that promise more come first, and none that promised less than what is already had is searched again.
        """
        best: _Move | None = None
        order = np.argsort(-gains, kind="stable")
        while len(order) and (best is None or best.gain < gains[order[0]]):
            chosen = order[: max(AXES_AT_ONCE, int(np.isinf(gains[order]).sum()))]
            moves = self.search([self.problem.axes[i] for i in chosen])
            gains[chosen] = [move.gain for move in moves]
            best = max([best, *moves] if best else moves, key=lambda move: move.gain)
            order = order[len(chosen) :]
        return best


def _random_directions(problem: Problem, rng: np.random.Generator, count: int) -> Floats:
    """Gaussian directions, (directions, features); none where there is but one axis."""
    count = count if len(problem.axes) > 1 else 0
    return np.asarray(rng.normal(size=(count, len(problem.axes))) / problem.axis_lengths @ problem.axes)


def random_start(problem: Problem, start: Floats, rng: np.random.Generator) -> Floats:
    """A point near the start, or within the ranges where there are any; inside the bounds.

    Tied weights go together, as far as the first of them with a range says.
    """
    lengths = np.abs(start * problem.spread)
    scale = float(lengths[lengths > 0].mean()) if lengths.any() else 1.0
    shift = rng.normal(size=len(problem.axes)) * START_SPREAD * scale / problem.axis_lengths
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


def near(problem: Problem, point: Floats, rng: np.random.Generator) -> Floats:
    """A point a short way from a good one, inside the bounds."""
    spread = JUMP_SPREAD * problem.mean_length(point)
    return problem.moved(point, rng.normal(size=len(problem.axes)) * spread / problem.axis_lengths)
