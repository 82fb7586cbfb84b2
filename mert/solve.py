"""Weights for given lists: one set of settings for MERT, PRO and MIRA, repeated where a single run says too little."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from mert.bootstrap import Gain, bootstrap_gain
from mert.health import examine
from mert.learners.mira import mira
from mert.learners.pro import pro
from mert.optimize import Tuned, TuningProblem, Watcher, optimize, unwatched
from mert.search import Window
from rypt.arrays import Floats
from rypt.metrics.metric import Metric
from rypt.text import RyptError

ALGORITHMS = ("mert", "pro", "mira")
HOLD = "none"  # the start as it is


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How weights are searched for.

    ``algorithm`` is ``mert`` (line searches from the given weights and ``restarts`` random ones), ``pro`` or ``mira``.
    ``replicates`` repeats the search with the random seeds ``seed``, ``seed + 1``, …; the best weights are returned, or
    with ``average`` their mean. ``window`` smooths the scores of a line search. The number of threads changes nothing
    but the time.

    >>> str(SearchSettings(restarts=3, replicates=2))
    'mert|restarts:3|seed:1|replicates:2'
    """

    algorithm: str = "mert"
    restarts: int = 20
    seed: int = 1
    threads: int = 1
    replicates: int = 1
    average: bool = False
    window: Window | None = None

    def __post_init__(self) -> None:
        if self.algorithm not in (*ALGORITHMS, HOLD):
            raise RyptError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {self.algorithm!r}")
        for name, least in (("restarts", 0), ("seed", 0), ("threads", 1), ("replicates", 1)):
            if getattr(self, name) < least:
                raise RyptError(f"{name} must be at least {least}, got {getattr(self, name)}")

    def __str__(self) -> str:
        method = f"{self.algorithm}|restarts:{self.restarts}" if self.algorithm == "mert" else self.algorithm
        more = f"|replicates:{self.replicates}{'|averaged' if self.average else ''}" if self.replicates > 1 else ""
        return f"{method}|seed:{self.seed}{more}"


@dataclass(frozen=True, slots=True)
class Solution:
    """Tuned weights, with scores as the metric gives them, and what is worth knowing about them."""

    weights: Floats
    score: float
    start_score: float
    scores: tuple[float, ...]  # of the replicates
    ends: tuple[float, ...]  # of the climbs, the best first
    searches: int
    gain: Gain
    notes: tuple[str, ...]

    @property
    def mean(self) -> float:
        """The mean score of the replicates."""
        return float(np.mean(self.scores))

    @property
    def deviation(self) -> float:
        """The standard deviation of the replicates' scores."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else 0.0


def _has_zero_as_worst(metric: Metric) -> bool:
    """Whether no score is below 0: true of metrics to maximise, but for sums from which something is subtracted."""
    return metric.maximize and all(part.weight > 0 for part in getattr(metric, "parts", ()))


def solve(
    problem: TuningProblem,
    start: Floats,
    search: SearchSettings,
    *,
    earlier: Sequence[Floats] = (),
    executor: Executor | None = None,
    watch: Watcher = unwatched,
) -> Solution:
    """Tune from these weights, once for each replicate, with seeds that follow one another."""
    sign = 1.0 if problem.metric.maximize else -1.0
    runs = [_run(problem, start, search, search.seed + k, earlier, executor, watch) for k in range(search.replicates)]
    tops = [results[0] for results in runs]
    best = max(tops, key=lambda tuned: (not problem.all_tied(tuned.weights), tuned.score))
    weights = best.weights
    if search.average and len(tops) > 1:
        weights = average_weights(problem, [tuned.weights for tuned in tops])
    if best.score == 0.0 and _has_zero_as_worst(problem.metric):
        raise RyptError("the best score found is 0: no candidate is worth anything to this metric")
    gain = bootstrap_gain(problem, start, weights, np.random.default_rng(search.seed))
    return Solution(
        weights,
        sign * problem.score(weights),
        sign * problem.score(start),
        tuple(sign * tuned.score for tuned in tops),
        tuple(sign * tuned.score for results in runs for tuned in results),
        sum(tuned.searches for results in runs for tuned in results),
        gain,
        tuple(examine(problem, weights, start)),
    )


def average_weights(problem: TuningProblem, weights: Sequence[Floats]) -> Floats:
    """The mean of several weights, each first scaled to the same length, for only their proportions matter."""
    if problem.normalization.kind == "none":
        return np.asarray(np.mean(weights, axis=0))
    return problem.scaled(np.mean([w / (problem.length(w) or 1.0) for w in weights], axis=0))


def _run(
    problem: TuningProblem, start: Floats, search: SearchSettings, seed: int, earlier: Sequence[Floats],
    executor: Executor | None, watch: Watcher,
) -> list[Tuned]:  # fmt: skip
    if search.algorithm == HOLD:
        return [Tuned(start, problem.score(start), 0)]
    if search.algorithm == "mert":
        return optimize(
            problem, start, earlier=earlier, restarts=search.restarts, seed=seed, threads=search.threads,
            executor=executor, watch=watch,
        )  # fmt: skip
    weights = problem.scaled(_learned(problem, start, search.algorithm, np.random.default_rng(seed)))
    return [Tuned(weights, problem.score(weights), 0)]


def _learned(problem: TuningProblem, start: Floats, algorithm: str, rng: np.random.Generator) -> Floats:
    """The weights of PRO or MIRA, which see one feature for each axis, tied weights being one, and what is held."""
    free = problem.free
    held = problem.values(np.where(free, 0.0, start))
    places = [int(np.flatnonzero(axis)[0]) for axis in problem.axes]
    lengths = np.array([start[i] / axis[i] for i, axis in zip(places, problem.axes, strict=True)])
    features = np.column_stack([problem.features @ problem.axes.T, held])
    learn = pro if algorithm == "pro" else mira
    learned = learn(
        problem.offsets, features, problem.stats, problem.rate, np.append(lengths, 1.0),
        np.append(np.ones(len(places), np.bool_), False), rng, scale=problem.metric.scale,
    )[:-1]  # fmt: skip
    weights = np.where(free, 0.0, start)
    for length, axis in zip(learned.tolist(), problem.axes, strict=True):
        low, high = problem.limits(np.zeros(len(start)), axis)
        weights += min(max(length, low), high) * axis
    return np.clip(weights, problem.low, problem.high)
