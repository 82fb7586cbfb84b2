"""What Moses' ``mert`` does: files of features and statistics, and starting points, become weights."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from mert.checks import notes_on
from mert.constraints import Constraints
from mert.moses.metrics import FileMetric
from mert.moses.pairs import PairFiles, Pairs
from mert.moses.weights import Starts, read_sparse_weights, read_starts
from mert.problem import Candidates, InMemory, Problem, problem_of
from mert.search import GOOD_POINTS, Climb, Watcher, optimize
from rypt.arrays import Floats
from rypt.metrics.metric import Metric
from rypt.text import PathLike, RyptError

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class MosesSearch:
    """How ``mert`` searches; ``only`` names the weights that move, ``positive`` those that may not go below 0."""

    restarts: int = 1
    only: tuple[str, ...] | None = None
    positive: tuple[str, ...] = ()
    seed: int = 1
    threads: int = 1


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


def check_metric(pairs: Pairs, metric: FileMetric) -> None:
    """Refuse files of another metric."""
    columns = pairs.stats.shape[1]
    if pairs.metric != metric.name:
        raise RyptError(
            f"expected statistics of {metric.name} as --sctype says, found those of {pairs.metric}"
        )
    if columns != metric.columns:
        raise RyptError(f"expected {metric.columns} statistics of {metric.name} a candidate, found {columns}")


def tune_files(
    files: PairFiles,
    metric: FileMetric,
    start_paths: Sequence[PathLike],
    how: MosesSearch,
    *,
    features: int,
    sparse_weights: PathLike | None = None,
    tell: Tell = lambda line: None,
) -> MosesTuning:
    """Read files of features and statistics and files of starting points, and search for weights.

    ``features`` is the number of dense features that the files must have. With a file of ``sparse_weights`` all sparse
    features become one dense feature more: their sum under these weights.
    """
    pairs = files.read()
    if len(pairs.names) != features:
        raise RyptError(f"-d {features}: the files have {len(pairs.names)} features, {' '.join(pairs.names)}")
    if sparse_weights is not None:
        pairs = pairs.with_sparse_weights(read_sparse_weights(sparse_weights))
    starts = read_starts(start_paths, len(pairs.names))
    tell(f"{len(pairs.features)} candidates of {len(pairs.segments)} segments, seed {how.seed}")
    return search(pairs, metric, starts, how)


def search(pairs: Pairs, metric: FileMetric, starts: Starts, how: MosesSearch) -> MosesTuning:
    """Optimise from all starting points and random ones, then from as many near the best end.

    The same seed, the same weights. Weights that do not move have the values of the first starting point. The box of
    Moses' start files, 0 to 1 for every weight, is a poor place to start from; what it leads to is not.
    """
    check_metric(pairs, metric)
    constraints, points = _constraints(pairs.names, starts, how)
    problem = _problem(pairs, metric, points[0], constraints)
    ends: list[Climb] = []
    best = optimize(
        problem,
        points[0],
        earlier=points[1:],
        restarts=how.restarts,
        seed=how.seed,
        threads=how.threads,
        watch=_seen(ends),
    )
    near: list[Climb] = []
    if how.restarts:
        good = [tuned.weights for tuned in best[1:GOOD_POINTS]]
        best = optimize(
            replace(problem, ranges=np.full_like(problem.ranges, np.nan)),
            best[0].weights,
            earlier=good,
            restarts=how.restarts,
            seed=1,
            threads=how.threads,
            watch=_seen(near),
        )
        near = near[1 + len(good) :]
    weights = best[0].weights
    score = problem.score(weights)
    notes = notes_on(problem, weights, points[0])
    if score == 0:
        notes.append("the chosen candidates score 0: look at the references and the lists")
    ended, ended_near = (tuple(tuned.score for tuned in some) for some in (ends, near))
    return MosesTuning(weights, score, ended, ended_near, tuple(notes))


def _constraints(names: Sequence[str], starts: Starts, how: MosesSearch) -> tuple[Constraints, list[Floats]]:
    """What the search may do, and starting points within it."""
    for option, listed in (("-o", how.only or ()), ("-P", how.positive)):
        unknown = [name for name in listed if name not in names]
        if unknown:
            raise RyptError(
                f"{option}: {', '.join(unknown)} is not a feature; expected some of {', '.join(names)}"
            )
    if how.only is not None and not how.only:
        raise RyptError("-o: expected the names of features, found none")
    free = np.array([how.only is None or name in how.only for name in names])
    floor = np.array([0.0 if name in how.positive else -np.inf for name in names])
    points = [np.maximum(np.where(free, point, starts.points[0]), floor) for point in starts.points]
    low, high = np.maximum(starts.low, floor), np.maximum(starts.high, floor)
    return (
        Constraints(
            only=None if how.only is None else frozenset(how.only),
            bounds=dict.fromkeys(how.positive, (0.0, np.inf)),
            ranges={name: (a, b) for name, a, b in zip(names, low.tolist(), high.tolist(), strict=True)},
        ),
        points,
    )


def _problem(pairs: Pairs, metric: FileMetric, start: Floats, constraints: Constraints) -> Problem:
    features = np.asfortranarray(pairs.features)
    scorer = cast(Metric, metric)  # its statistics have been read, so they are not counted
    candidates = Candidates(pairs.offsets, features, None, pairs.stats, scorer)
    return problem_of(InMemory(candidates), pairs.names, scorer, start, constraints)


def _seen(ends: list[Climb]) -> Watcher:
    """Keeps the results that pass."""

    def watch(results: Iterable[Climb]) -> Iterable[Climb]:
        for tuned in results:
            ends.append(tuned)
            yield tuned

    return watch
