"""What Moses' ``kbmira`` does: batch MIRA on files of features and statistics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mert.learners import mira
from mert.moses.mert import check_metric
from mert.moses.metrics import FileMetric
from mert.moses.pairs import PairFiles, Pairs
from mert.moses.weights import format_weights, read_dense, read_sparse_weights, read_starts, read_weights_line
from rypt.arrays import Floats
from rypt.text import InputError, PathLike, RyptError, open_output, read_lines

MAX_NUMBERS = 1 << 27  # sparse features are held as a full table of at most 1 GB
NOTHING = 1e-8  # a smaller weight of a sparse feature is not written
MetricReader = Callable[[str], FileMetric]  # from the name that the files have


@dataclass(frozen=True, slots=True)
class Learned:
    """Weights by the names of the output of ``kbmira``, the metric's name, and scores before and after."""

    weights: dict[str, float]
    metric: str
    before: float
    after: float

    def write(self, path: PathLike) -> None:
        """Write lines ``name value``, without a ``+``."""
        with open_output(path) as stream:
            for name, value in self.weights.items():
                stream.write(f"{name} {format_weights(np.array([value]))}\n")


@dataclass(frozen=True, slots=True)
class MiraSettings:
    """The largest step, how much of the background is left after one more segment, passes, and the random seed."""

    c: float = 0.01
    decay: float = 0.999
    passes: int = 60
    seed: int = 1


def learn_files(
    files: PairFiles,
    read_metric: MetricReader,
    settings: MiraSettings,
    *,
    dense_start: PathLike | None = None,
    sparse_start: PathLike | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Learned:
    """Batch MIRA on files of features and statistics, from the weights in files, or from 0."""
    pairs = files.read()
    metric = read_metric(pairs.metric)
    tell(f"{len(pairs.features)} candidates of {len(pairs.segments)} segments, seed {settings.seed}")
    dense = np.zeros(len(pairs.names)) if dense_start is None else read_dense_start(dense_start, pairs.names)
    sparse = {} if sparse_start is None else read_sparse_weights(sparse_start)
    return learn(pairs, metric, dense, sparse, settings)


def learn(
    pairs: Pairs, metric: FileMetric, dense: Floats, sparse: Mapping[str, float], settings: MiraSettings
) -> Learned:
    """Batch MIRA from these weights; a sparse feature without one starts at 0."""
    check_metric(pairs, metric)
    if len(dense) != len(pairs.names):
        raise RyptError(
            f"expected {len(pairs.names)} dense weights to start with, as many as features, {len(dense)} given"
        )
    names = _sparse_names(pairs, sparse)
    table = _table(pairs, names)
    start = np.concatenate([dense, [sparse.get(name, 0.0) for name in names]])
    sizes = metric.sizes(pairs.stats)
    lengths = None if sizes is None else np.add.reduceat(sizes, pairs.offsets[:-1]) / np.diff(pairs.offsets)
    weights = mira(
        pairs.offsets,
        table,
        pairs.stats,
        metric.score,
        start,
        np.ones(len(start), np.bool_),
        np.random.default_rng(settings.seed),
        scale=metric.scale,
        sizes=lengths,
        c=settings.c,
        decay=settings.decay,
        passes=settings.passes,
    )
    named = {f"F{i}": float(weight) for i, weight in enumerate(weights[: len(dense)])}
    learned = zip(names, weights[len(dense) :].tolist(), strict=True)
    named |= {name: weight for name, weight in learned if abs(weight) > NOTHING}
    return Learned(
        named, metric.name, _score(pairs, metric, table @ start), _score(pairs, metric, table @ weights)
    )


def _sparse_names(pairs: Pairs, sparse: Mapping[str, float]) -> list[str]:
    names = dict.fromkeys(sparse)
    for row in pairs.sparse or ():
        names.update(dict.fromkeys(row))
    return list(names)


def _table(pairs: Pairs, names: Sequence[str]) -> Floats:
    """Dense and sparse features side by side, (candidates, features)."""
    size, dense = pairs.features.shape
    if not names:
        return pairs.features
    if size * (dense + len(names)) > MAX_NUMBERS:
        raise RyptError(f"{len(names)} sparse features of {size} candidates are too many to be learned here")
    table = np.zeros((size, dense + len(names)))
    table[:, :dense] = pairs.features
    column = {name: dense + i for i, name in enumerate(names)}
    for i, row in enumerate(pairs.sparse or ()):
        for name, value in row.items():
            table[i, column[name]] = value
    return table


def _score(pairs: Pairs, metric: FileMetric, model: Floats) -> float:
    """The score of the candidates with the highest model scores; the first of equals."""
    bounds = zip(pairs.offsets[:-1].tolist(), pairs.offsets[1:].tolist(), strict=True)
    chosen = [a + int(np.argmax(model[a:b])) for a, b in bounds]
    return float(metric.score(pairs.stats[chosen].sum(axis=0, keepdims=True))[0])


def read_dense_start(path: PathLike, names: Sequence[str]) -> Floats:
    """Dense weights in the order of the features: lines ``Name= value``, or the numbers of the first line."""
    first = next((line for _, line in read_lines(path) if line.strip()), "")
    if "=" not in first:
        return read_first_line(path, len(names))
    weights = read_dense(path)
    if list(weights) != list(names):
        raise InputError(path, None, f"expected weights of {' '.join(names)}, found {' '.join(weights)}")
    return np.array(list(weights.values()))


def read_first_line(path: PathLike, size: int) -> Floats:
    """The numbers of the first line of ``weights.txt`` or ``init.opt``."""
    count = sum(1 for _, line in read_lines(path) if line.strip())
    return read_weights_line(path, size) if count == 1 else read_starts([path], size).points[0]
