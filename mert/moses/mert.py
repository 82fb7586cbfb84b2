"""What Moses' ``mert`` does: files of features and statistics, and starting points, become weights."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mert.constraints import Constraints
from mert.health import examine
from mert.lists.arrays import Candidates, NBest
from mert.moses.metrics import FileMetric
from mert.moses.pairs import PairFiles, Pairs
from mert.moses.weights import Starts, read_sparse_weights, read_starts
from mert.optimize import GOOD_POINTS, Tuned, TuningProblem, Watcher, make_problem, optimize, random_start
from mert.search.lines import Window
from mert.unseen import mean_weights
from rypt.arrays import Floats, Ints
from rypt.records import Candidate
from rypt.text import PathLike, RyptError

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class MosesSearch:
    """How ``mert`` searches.

    ``kind`` is ``powell`` (the axes and ``directions`` random ones), ``random-direction`` (these only) or ``random``
    (no search: the best of the starting points). ``only`` names the weights that move, ``positive`` those that may not
    go below 0. With ``shards`` parts are optimised by themselves and their weights averaged: contiguous parts, or
    samples of ``share`` of the segments.
    """

    restarts: int = 1
    directions: int = 0
    kind: str = "powell"
    only: tuple[str, ...] | None = None
    positive: tuple[str, ...] = ()
    seed: int = 1
    threads: int = 1
    shards: int = 0
    share: float | None = None
    window: Window | None = None


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


class StoredMetric:
    """A metric whose statistics were read from files."""

    maximize = True

    def __init__(self, metric: FileMetric, rows: Ints) -> None:
        self.metric, self.rows = metric, rows
        self.scale, self.signature = metric.scale, metric.signature

    def stats(self, candidates: Sequence[Candidate]) -> Ints:
        """What the files say of all candidates."""
        return self.rows

    def score(self, sums: Ints) -> Floats:
        """The score of each row."""
        return self.metric.score(sums)


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
    return search(pairs, metric, starts, how, tell)


def search(
    pairs: Pairs, metric: FileMetric, starts: Starts, how: MosesSearch, tell: Tell = lambda line: None
) -> MosesTuning:
    """Optimise from all starting points and random ones, on everything or on shards; the same seed, the same weights.

    Weights that do not move have the values of the first starting point.
    """
    check_metric(pairs, metric)
    constraints, points = _constraints(pairs.names, starts, how)
    whole = _problem(pairs, metric, points[0], constraints, how)
    parts = [_problem(part, metric, points[0], constraints, how) for part in _shards(pairs, how)] or [whole]
    climbed = []
    for number, part in enumerate(parts):
        climbed.append(_climb(part, points, how, number))
        if how.shards:
            tell(f"shard {number}: {len(part.sizes)} segments, score {climbed[-1].best.score:.6f}")
    winners = [climb.best.weights for climb in climbed]
    weights = mean_weights(whole, winners) if len(winners) > 1 else winners[0]
    notes = examine(whole, weights, points[0])
    score = whole.score(weights)
    if score == 0:
        notes.append("the chosen candidates score 0: look at the references and the lists")
    ends = [tuned.score for climb in climbed for tuned in climb.ends]
    near = [tuned.score for climb in climbed for tuned in climb.near]
    return MosesTuning(weights, score, tuple(ends), tuple(near), tuple(notes))


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


def _problem(
    pairs: Pairs, metric: FileMetric, start: Floats, constraints: Constraints, how: MosesSearch
) -> TuningProblem:
    size = len(pairs.features)
    segment_of = np.repeat(np.arange(len(pairs.segments), dtype=np.int32), np.diff(pairs.offsets))
    texts = Candidates(
        np.empty(0, np.uint8), np.zeros((size, 2), np.int64), np.arange(size), segment_of, _no_text
    )
    lists = NBest(
        pairs.segments, pairs.offsets, texts, pairs.names, pairs.features, None, lambda i: ("features", i)
    )
    problem = make_problem(lists, StoredMetric(metric, pairs.stats), start, constraints, window=how.window)
    axes = problem.axes
    wanted = how.directions or (len(axes) if how.kind == "random-direction" else 0)
    if not len(axes) or not wanted:
        return problem
    lengths = np.abs(axes * problem.spread).sum(axis=1)
    random = np.random.default_rng([how.seed, 1]).normal(size=(wanted, len(axes))) / lengths @ axes
    return replace(problem, axes=random if how.kind == "random-direction" else np.concatenate([axes, random]))


def _no_text(index: int) -> Candidate:
    raise RyptError("files of features hold no texts")


@dataclass(frozen=True, slots=True)
class _Climbed:
    """The ends of all starts, those of the starts near the best of them, and the best of all."""

    ends: list[Tuned]
    near: list[Tuned]
    best: Tuned


def _climb(problem: TuningProblem, points: Sequence[Floats], how: MosesSearch, shard: int) -> _Climbed:
    """Climb from the given points and as many random ones as asked for, then from as many near the best end.

    The box of Moses' start files, 0 to 1 for every weight, is a poor place to start from; what it leads to is not.
    """
    seed, later = (
        np.random.SeedSequence([how.seed, shard]).generate_state(2).tolist() if how.shards else (how.seed, 0)
    )
    if how.kind == "random":
        rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(how.restarts)]
        tried = [*points, *(random_start(problem, points[0], rng) for rng in rngs)]
        results = [Tuned(point, problem.score(point), 0) for point in map(problem.scaled, tried)]
        return _Climbed(results, [], max(results, key=lambda tuned: tuned.score))
    ends: list[Tuned] = []
    near: list[Tuned] = []
    first = optimize(
        problem,
        points[0],
        earlier=points[1:],
        restarts=how.restarts,
        seed=seed,
        threads=how.threads,
        watch=_seen(ends),
    )
    if not how.restarts:
        return _Climbed(ends, near, first[0])
    anywhere = replace(problem, ranges=np.full_like(problem.ranges, np.nan))
    good = [tuned.weights for tuned in first[1:GOOD_POINTS]]
    second = optimize(
        anywhere,
        first[0].weights,
        earlier=good,
        restarts=how.restarts,
        seed=later + 1,
        threads=how.threads,
        watch=_seen(near),
    )
    return _Climbed(ends, near[1 + len(good) :], second[0])


def _seen(ends: list[Tuned]) -> Watcher:
    """Keeps the results that pass."""

    def watch(results: Iterable[Tuned]) -> Iterable[Tuned]:
        for tuned in results:
            ends.append(tuned)
            yield tuned

    return watch


def _shards(pairs: Pairs, how: MosesSearch) -> list[Pairs]:
    """The parts to be optimised by themselves; none where everything is optimised at once."""
    size = len(pairs.segments)
    if not how.shards:
        return []
    if how.share is None:
        if how.shards > size:
            raise RyptError(f"--shard-count {how.shards}: there are {size} segments only")
        return [part_of(pairs, chosen) for chosen in np.array_split(np.arange(size), how.shards)]
    rng = np.random.default_rng([how.seed, 2])
    count = max(1, round(how.share * size))
    return [part_of(pairs, np.sort(rng.integers(size, size=count))) for _ in range(how.shards)]


def part_of(pairs: Pairs, chosen: Ints) -> Pairs:
    """Some segments, each as often as it is named."""
    spans = [(int(pairs.offsets[i]), int(pairs.offsets[i + 1])) for i in chosen]
    rows = np.concatenate([np.arange(a, b) for a, b in spans])
    offsets = np.concatenate([[0], np.cumsum([b - a for a, b in spans])]).astype(np.int64)
    return replace(
        pairs,
        segments=[pairs.segments[i] for i in chosen],
        offsets=offsets,
        features=pairs.features[rows],
        stats=pairs.stats[rows],
        sparse=[pairs.sparse[i] for i in rows] if pairs.sparse is not None else None,
    )
