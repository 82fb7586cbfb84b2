"""What Moses' ``kbmira`` does: batch MIRA on features and statistics, sparse features included."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from mert.learners import mira
from mert.moses.extract import check_metric
from mert.moses.files import Pairs
from mert.moses.metrics import FileMetric
from rypt.arrays import Floats
from rypt.text import RyptError

MAX_NUMBERS = 1 << 27  # sparse features are held as a full table of at most 1 GB
NOTHING = 1e-8  # a smaller weight of a sparse feature is not written


def learn(
    pairs: Pairs,
    metric: FileMetric,
    dense: Floats,
    sparse: Mapping[str, float],
    *,
    c: float = 0.01,
    decay: float = 0.999,
    passes: int = 60,
    seed: int = 1,
) -> tuple[dict[str, float], float, float]:
    """Weights by the names of ``kbmira``'s output, and scores before and after.

    ``dense`` and ``sparse`` are the weights to start from; a sparse feature without one starts at 0. ``c`` is the
    largest step, ``decay`` how much of the background is left after one more segment.
    """
    check_metric(pairs, metric)
    if len(dense) != len(pairs.names):
        expected = f"expected {len(pairs.names)} dense weights to start with, as many as features"
        raise RyptError(f"{expected}, found {len(dense)}")
    names = list(dict.fromkeys([*sparse, *(name for row in pairs.sparse or () for name in row)]))
    table = _table(pairs, names)
    start = np.concatenate([dense, [sparse.get(name, 0.0) for name in names]])
    sizes = metric.sizes(pairs.stats)
    weights = mira(
        pairs.offsets,
        table,
        pairs.stats,
        metric.score,
        start,
        np.ones(len(start), np.bool_),
        np.random.default_rng(seed),
        scale=metric.scale,
        sizes=None if sizes is None else np.add.reduceat(sizes, pairs.offsets[:-1]) / np.diff(pairs.offsets),
        c=c,
        decay=decay,
        passes=passes,
    )
    learned = {f"F{i}": float(weight) for i, weight in enumerate(weights[: len(dense)])}
    named = zip(names, weights[len(dense) :].tolist(), strict=True)
    learned |= {name: weight for name, weight in named if abs(weight) > NOTHING}
    return learned, _score(pairs, metric, table @ start), _score(pairs, metric, table @ weights)


def _table(pairs: Pairs, names: Sequence[str]) -> Floats:
    """Dense and sparse features side by side, (candidates, features)."""
    size, dense = pairs.features.shape
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
    chosen = [a + int(np.argmax(model[a:b])) for a, b in pairwise(pairs.offsets.tolist())]
    return float(metric.score(pairs.stats[chosen].sum(axis=0, keepdims=True))[0])
