"""Weights for given lists: one set of settings for MERT, PRO and MIRA, repeated where a single run says too little."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np

from mert.bootstrap import Gain, bootstrap_gain
from mert.health import examine, flatness
from mert.learned import learned
from mert.optimize import Tuned, TuningProblem, Watcher, optimize, unwatched
from mert.search.lines import Window
from mert.unseen import mean_weights, unseen_weights
from rypt.arrays import Floats
from rypt.metrics.metric import Metric
from rypt.text import RyptError

ALGORITHMS = ("mert", "pro", "mira")
AIMS = {"unseen": 20, "list": 80}  # what weights are to be good for → random restarts by default
PER_WEIGHT = 5  # random restarts for each weight, for the optimum of a list, where that is more
HOLD = "none"  # the start as it is


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How weights are searched for.

    ``algorithm`` is ``mert`` (line searches from the given weights and ``restarts`` random ones), ``pro`` or ``mira``.
    ``aim`` says what weights ``mert`` is to find: those that should do best on ``unseen`` segments, a mean of several
    estimates, or the optimum of the ``list`` itself. ``restarts`` None is 20 or, for a list, 80; 5 for each weight that
    may move where there are more than 16. ``replicates`` repeats the search with the random seeds ``seed``,
    ``seed + 1``, …; the best weights are returned, or with ``average`` their mean. ``window`` smooths the scores of a
    line search. The number of threads changes nothing but the time.

    >>> str(SearchSettings(restarts=3, replicates=2))
    'mert|aim:unseen|restarts:3|seed:1|replicates:2'
    """

    algorithm: str = "mert"
    restarts: int | None = None
    seed: int = 1
    threads: int = 1
    replicates: int = 1
    average: bool = False
    window: Window | None = None
    aim: str = "unseen"

    def __post_init__(self) -> None:
        if self.algorithm not in (*ALGORITHMS, HOLD):
            raise RyptError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {self.algorithm!r}")
        if self.aim not in AIMS:
            raise RyptError(f"aim must be one of {', '.join(AIMS)}, got {self.aim!r}")
        for name, least in (("climbs", 0), ("seed", 0), ("threads", 1), ("replicates", 1)):
            if getattr(self, name) < least:
                label = "restarts" if name == "climbs" else name
                raise RyptError(f"{label} must be at least {least}, got {getattr(self, name)}")

    @property
    def climbs(self) -> int:
        """The number of random restarts, or where it depends on the number of weights the least."""
        return AIMS[self.aim] if self.restarts is None else self.restarts

    def settled(self, weights: int) -> "SearchSettings":
        """The same with the number of random restarts for so many weights that may move.

        >>> str(SearchSettings(aim="list").settled(40))
        'mert|aim:list|restarts:200|seed:1'
        """
        more = PER_WEIGHT * weights if self.restarts is None and self.aim == "list" else 0
        return replace(self, restarts=max(self.climbs, more))

    def __str__(self) -> str:
        method = self.algorithm
        if method == "mert":
            method += f"|aim:{self.aim}|restarts:{self.climbs}"
        more = (
            f"|replicates:{self.replicates}{'|averaged' if self.average else ''}"
            if self.replicates > 1
            else ""
        )
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
    """Whether no score is below 0: true of metrics to maximise, but for sums from which something is subtracted.

    Scores of other programs (`rypt.metrics.candidate_scores`) may be below 0, too.
    """
    signed = any(getattr(each, "signed", False) for each in (metric, *getattr(metric, "parts", ())))
    return metric.maximize and not signed and all(weight > 0 for weight in getattr(metric, "weights", ()))


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
    search = search.settled(len(problem.axes))
    sign = 1.0 if problem.metric.maximize else -1.0
    runs = [
        _run(problem, start, search, search.seed + k, earlier, executor, watch)
        for k in range(search.replicates)
    ]
    tops = [results[0] for results in runs]
    best = max(tops, key=lambda tuned: (not problem.all_tied(tuned.weights), tuned.score))
    weights = best.weights
    if search.average and len(tops) > 1:
        weights = mean_weights(problem, [tuned.weights for tuned in tops])
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
        (*flatness(problem, start), *examine(problem, weights, start)),
    )


def _run(
    problem: TuningProblem,
    start: Floats,
    search: SearchSettings,
    seed: int,
    earlier: Sequence[Floats],
    executor: Executor | None,
    watch: Watcher,
) -> list[Tuned]:
    """The weights of one search, then the ends of its climbs."""
    if search.algorithm == HOLD:
        return [Tuned(problem.scaled(start), problem.score(start), 0)]
    if search.algorithm == "mert":
        ends = optimize(
            problem,
            start,
            earlier=earlier,
            restarts=search.climbs,
            seed=seed,
            threads=search.threads,
            scattered=search.aim == "unseen",
            executor=executor,
            watch=watch,
        )
        if search.aim == "list":
            return ends
        weights = unseen_weights(problem, start, ends, np.random.default_rng([seed, 1]))
        return [Tuned(weights, problem.score(weights), 0), *ends]
    weights = problem.scaled(learned(problem, start, search.algorithm, np.random.default_rng(seed)))
    return [Tuned(weights, problem.score(weights), 0)]
