"""What Moses' ``pro`` and ``kbmira`` do, and the classifier ``megam`` that ``mert-moses.pl`` runs on pro's output."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mert.learners.mira import mira
from mert.learners.pro import fit_logistic, sample_pairs
from mert.moses.mert import check_metric
from mert.moses.metrics import FileMetric
from mert.moses.pairs import PairFiles, Pairs
from mert.moses.weights import format_weights, read_dense, read_sparse_weights, read_starts, read_weights_line
from rypt.arrays import Floats
from rypt.text import FormatError, InputError, PathLike, RyptError, open_output, read_lines
from rypt.texts.features import finite

SAMPLES, KEPT, THRESHOLD = 5000, 50, 0.05  # of Hopkins & May 2011
MAX_NUMBERS = 1 << 27  # sparse features are held as a full table of at most 1 GB
MAX_FITTED = 3000  # features that Newton's method fits
NOTHING = 1e-8  # a smaller weight of a sparse feature is not written
MetricReader = Callable[[str], FileMetric]  # from the name that the files have


@dataclass(frozen=True, slots=True)
class Examples:
    """How many examples were written, of how many segments, for which metric."""

    count: int
    segments: int
    metric: str


def write_examples(
    files: PairFiles, output: PathLike, read_metric: MetricReader, seed: int, *, smooth_brevity: bool = False
) -> Examples:
    """Write the examples that ``pro`` samples; ``read_metric`` makes the metric whose name the files have."""
    pairs = files.read()
    metric = read_metric(pairs.metric)
    lines = classifier_lines(pairs, metric, np.random.default_rng(seed), smooth_brevity=smooth_brevity)
    return Examples(write_lines(output, lines), len(pairs.segments), metric.name)


def write_lines(path: PathLike, lines: Iterable[str]) -> int:
    """Write lines and return their number."""
    count = 0
    with open_output(path) as stream:
        for line in lines:
            stream.write(f"{line}\n")
            count += 1
    return count


def classifier_lines(
    pairs: Pairs, metric: FileMetric, rng: np.random.Generator, *, smooth_brevity: bool = False
) -> Iterator[str]:
    """Sampled pairs of candidates as megam reads them: 1 and the differences of features, 0 and the opposite ones.

    Dense features are called F0, F1 …, as ``mert-moses.pl`` expects.
    """
    check_metric(pairs, metric)
    quality = metric.sentence_score(pairs.stats, smooth_brevity=smooth_brevity)
    better, worse = sample_pairs(pairs.offsets, quality, rng, SAMPLES, KEPT, THRESHOLD)
    if not len(better):
        raise RyptError(
            f"no pair of candidates to learn from: no sampled scores differ by {THRESHOLD:g} or more"
        )
    unseen = {
        f"F{i}": 0.0 for i in range(len(pairs.names))
    }  # a feature that never differs has a weight of 0 then
    for first, second in zip(better.tolist(), worse.tolist(), strict=True):
        apart = unseen | _difference(pairs, first, second)
        unseen = {}
        yield _line(1, apart.items())
        yield _line(0, ((name, -value) for name, value in apart.items()))


def _difference(pairs: Pairs, first: int, second: int) -> dict[str, float]:
    """The features in which two candidates differ, and by how much."""
    dense = (pairs.features[first] - pairs.features[second]).tolist()
    apart = {f"F{i}": value for i, value in enumerate(dense)}
    if pairs.sparse is not None:
        ours, theirs = pairs.sparse[first], pairs.sparse[second]
        apart |= {name: ours.get(name, 0.0) - theirs.get(name, 0.0) for name in (ours | theirs)}
    return {name: value for name, value in apart.items() if value}


def _line(label: int, apart: Iterable[tuple[str, float]]) -> str:
    return " ".join([str(label), *(f"{name} {value:.8g}" for name, value in apart)])


def read_examples(path: PathLike) -> tuple[list[str], Floats, Floats]:
    """Names of features, (examples, features), and labels 1 and 0, out of a file of `classifier_lines`."""
    columns: dict[str, int] = {}
    labels: list[float] = []
    entries: list[tuple[int, int, float]] = []
    for number, line in read_lines(path):
        words = line.split()
        if len(words) % 2 != 1 or words[0] not in ("0", "1"):
            raise InputError(path, number, f"expected 0 or 1, then names and values, found {line[:40]!r}")
        try:
            entries += [
                (len(labels), columns.setdefault(name, len(columns)), finite(value))
                for name, value in zip(words[1::2], words[2::2], strict=True)
            ]
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
        labels.append(float(words[0]))
    if not entries:
        raise InputError(path, None, "expected examples with features, found none")
    if len(columns) > MAX_FITTED or len(columns) * len(labels) > MAX_NUMBERS:
        raise InputError(
            path, None, f"{len(columns)} features are too many to be fitted here: use --batch-mira instead"
        )
    table = np.zeros((len(labels), len(columns)))
    rows, places, values = zip(*entries, strict=True)
    table[list(rows), list(places)] = values
    return list(columns), table, np.array(labels)


def fit_examples(path: PathLike, precision: float = 1.0) -> dict[str, float]:
    """The weights of a logistic regression without bias, with a Gaussian prior of this precision."""
    names, table, labels = read_examples(path)
    signed = np.where(labels > 0, 1.0, -1.0)[:, np.newaxis] * table
    return dict(zip(names, fit_logistic(signed, np.zeros(len(signed)), precision).tolist(), strict=True))


def weight_lines(weights: Mapping[str, float]) -> Iterator[str]:
    """Lines ``name value``, without a ``+``."""
    for name, value in weights.items():
        yield f"{name} {format_weights(np.array([value]))}"


@dataclass(frozen=True, slots=True)
class Learned:
    """Weights by the names of the output of ``kbmira``, the metric's name, and scores before and after."""

    weights: dict[str, float]
    metric: str
    before: float
    after: float

    def write(self, path: PathLike) -> None:
        """Write lines ``name value``."""
        write_lines(path, weight_lines(self.weights))


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
