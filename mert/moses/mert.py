"""What Moses' ``mert`` does: features, statistics and starting points become weights."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mert.checks import notes_on
from mert.constraints import Constraints
from mert.moses.extract import check_metric
from mert.moses.files import Pairs
from mert.moses.metrics import FileMetric
from mert.moses.weights import Starts
from mert.problem import Candidates, InMemory, problem_of
from mert.search import GOOD_POINTS, Climb, Watcher, optimize
from rypt.arrays import Floats
from rypt.text import RyptError


@dataclass(frozen=True, slots=True)
class MosesTuning:
    """Weights, their score on all segments, and notes on them; the scores at the ends of the starts.

    ``near`` are those of the starts near the best of the ``ends`` of the given and random ones.
    """

    weights: Floats
    score: float
    ends: tuple[float, ...]
    near: tuple[float, ...]
    notes: tuple[str, ...]


def search(
    pairs: Pairs,
    metric: FileMetric,
    starts: Starts,
    *,
    restarts: int = 1,
    only: Sequence[str] | None = None,
    positive: Sequence[str] = (),
    seed: int = 1,
    threads: int = 1,
) -> MosesTuning:
    """Optimise from all starting points and random ones, then from as many near the best end.

    Only the weights in ``only`` move, all if it is None; those in ``positive`` may not go below 0. Weights that do not
    move have the values of the first starting point. The same seed gives the same weights. The box of Moses' start
    files, 0 to 1 for every weight, is a poor place to start from; what it leads to is not.
    """
    check_metric(pairs, metric)
    constraints, points = _constraints(pairs.names, starts, only, positive)
    features = np.asfortranarray(pairs.features)
    candidates = Candidates(pairs.offsets, features, None, pairs.stats, metric)
    problem = problem_of(InMemory(candidates), pairs.names, metric, points[0], constraints)
    ends: list[Climb] = []
    near: list[Climb] = []
    best = optimize(
        problem,
        points[0],
        earlier=points[1:],
        restarts=restarts,
        seed=seed,
        threads=threads,
        watch=_kept_in(ends),
    )
    if restarts:
        good = [tuned.weights for tuned in best[1:GOOD_POINTS]]
        best = optimize(
            replace(problem, ranges=np.full_like(problem.ranges, np.nan)),
            best[0].weights,
            earlier=good,
            restarts=restarts,
            seed=1,
            threads=threads,
            watch=_kept_in(near),
        )
        near = near[1 + len(good) :]
    weights = best[0].weights
    score = problem.score(weights)
    notes = notes_on(problem, weights, points[0])
    if score == 0:
        notes.append("the chosen candidates score 0: look at the references and the lists")
    scores, scores_near = (tuple(tuned.score for tuned in some) for some in (ends, near))
    return MosesTuning(weights, score, scores, scores_near, tuple(notes))


def _constraints(
    names: Sequence[str], starts: Starts, only: Sequence[str] | None, positive: Sequence[str]
) -> tuple[Constraints, list[Floats]]:
    """What the search may do, and starting points within it."""
    for option, listed in (("-o", only or ()), ("-P", positive)):
        unknown = [name for name in listed if name not in names]
        if unknown:
            message = f"{option}: {', '.join(unknown)} is not a feature; expected some of {', '.join(names)}"
            raise RyptError(message)
    if only is not None and not only:
        raise RyptError("-o: expected the names of features, found none")
    free = np.array([only is None or name in only for name in names])
    floor = np.array([0.0 if name in positive else -np.inf for name in names])
    points = [np.maximum(np.where(free, point, starts.points[0]), floor) for point in starts.points]
    box = np.maximum(np.stack([starts.low, starts.high]), floor).T.tolist()
    constraints = Constraints(
        only=tuple(only or ()),
        bounds=dict.fromkeys(positive, (0.0, np.inf)),
        ranges={name: (low, high) for name, (low, high) in zip(names, box, strict=True)},
    )
    return constraints, points


def _kept_in(ends: list[Climb]) -> Watcher:
    def watch(results: Iterable[Climb]) -> Iterable[Climb]:
        for tuned in results:
            ends.append(tuned)
            yield tuned

    return watch
