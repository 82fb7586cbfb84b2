"""Files of weights around Moses' ``mert``: ``init.opt``, ``weights.txt``, ``run*.dense``, sparse weights, its log line.

Weights are printed in the fewest digits that read back as the same float64, and never with a ``+``: the expression
with which ``mert-moses.pl`` looks for the best point in the log knows digits, points, minus signs and e only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rypt.arrays import Floats
from rypt.text import FormatError, InputError, PathLike, RyptError, read_lines
from rypt.texts.formats import finite

UNTUNABLE = {"UNTUNEABLE", "UNTUNEABLECOMPONENT"}  # Moses' words for what has no weight


@dataclass(frozen=True, slots=True)
class Starts:
    """Where a search starts, and between which weights its random starts lie (no bounds on the result)."""

    points: Floats  # (starts, features)
    low: Floats
    high: Floats


def read_starts(paths: Sequence[PathLike], size: int | None = None) -> Starts:
    """Starting points, one per file: its first line; the second and third line of the first file say low and high.

    ``mert --ifile a,b`` gets the starting points of earlier iterations so ("historic bests"). Other files may have the
    lines of low and high too, which count nothing. ``size`` is the number of features, as of ``mert -d``.
    """
    if not paths:
        raise RyptError("expected a file with a starting point, found none")
    files = [(path, read_rows(path, size)) for path in paths]
    size = len(files[0][1][0])
    for path, rows in files:
        first = path == paths[0]
        if len(rows) not in ((3,) if first else (1, 3)):
            expected = "three lines" if first else "one line or three"
            raise InputError(path, None, f"expected {expected} (start, low, high), found {len(rows)}")
        if len(rows[0]) != size:
            raise InputError(path, 1, f"expected {size} weights, found {len(rows[0])}")
    box = np.sort(files[0][1][1:], axis=0)
    return Starts(np.array([rows[0] for _, rows in files]), box[0], box[1])


def read_rows(path: PathLike, size: int | None = None) -> list[Floats]:
    """The lines of ``weights.txt`` or ``init.opt``, with the same count of weights in each."""
    rows: list[Floats] = []
    for number, line in read_lines(path):
        if line.strip():
            rows.append(np.array(_numbers(path, number, line.split())))
            size = len(rows[0]) if size is None else size
            if len(rows[-1]) != size:
                raise InputError(path, number, f"expected {size} weights, found {len(rows[-1])}")
    if not rows:
        raise InputError(path, None, "expected a line of weights, found none")
    return rows


def _numbers(path: PathLike, number: int, words: Sequence[str]) -> list[float]:
    try:
        if any("_" in word for word in words):  # Python would read 1_0 as 10
            raise FormatError(f"expected finite numbers, found {' '.join(words)[:40]!r}")
        return [finite(word) for word in words]
    except FormatError as error:
        raise InputError(path, number, str(error)) from None


def format_weights(weights: Floats) -> str:
    """Weights in one line.

    >>> format_weights(np.array([0.25, -1e-7, 3.0, 2e22]))
    '0.25 -1e-07 3 2e22'
    """
    if not np.isfinite(weights).all():
        raise RyptError(f"expected finite weights, found {' '.join(map(str, weights.tolist()))}")
    return " ".join(repr(weight).removesuffix(".0").replace("e+", "e") for weight in (weights + 0.0).tolist())


def format_best_point(weights: Floats, score: float) -> str:
    """The line of ``mert``'s log from which ``mert-moses.pl`` takes weights and score.

    >>> format_best_point(np.array([0.75, -0.25]), 0.2735)
    'Best point: 0.75 -0.25  => 0.273500'
    """
    return f"Best point: {format_weights(weights)}  => {score:.6f}"


def read_dense(path: PathLike) -> dict[str, float]:
    """Weights out of ``run*.dense`` or the decoder's ``-show-weights``, under the names of the files of features.

    There the weights of ``TM0= 0.2 0.1``, or of two lines ``TM0= 0.2`` and ``TM0= 0.1``, are called TM0_0 and TM0_1,
    and a single weight of LM0 is called LM0_0. Untunable features and parts of features have no weight.
    """
    counts: dict[str, int] = {}
    weights: dict[str, float] = {}
    for number, line in read_lines(path):
        words = line.split()
        if not words or words[-1] == "UNTUNEABLE":
            continue
        name = words[0].removesuffix("=")
        if len(words) < 2 or not name or name == words[0]:
            raise InputError(path, number, f"expected Name= weight …, found {line[:40]!r}")
        for value in _numbers(path, number, [word for word in words[1:] if word not in UNTUNABLE]):
            weights[f"{name}_{counts.get(name, 0)}"] = value
            counts[name] = counts.get(name, 0) + 1
    return weights


def read_dense_start(path: PathLike, names: Sequence[str]) -> Floats:
    """Dense weights in the order of the features: lines ``Name= value``, or the numbers of the first line."""
    first = next((line for _, line in read_lines(path) if line.strip()), "")
    if "=" not in first:
        return read_rows(path, len(names))[0]
    weights = read_dense(path)
    if list(weights) != list(names):
        raise InputError(path, None, f"expected weights of {' '.join(names)}, found {' '.join(weights)}")
    return np.array(list(weights.values()))


def read_sparse_weights(path: PathLike) -> dict[str, float]:
    """Lines of ``name value``; a line that begins with # is a comment."""
    weights: dict[str, float] = {}
    for number, line in read_lines(path):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if len(words) != 2:
            raise InputError(path, number, f"expected name and weight, found {line[:40]!r}")
        if words[0] in weights:
            raise InputError(path, number, f"the weight of {words[0]} is given twice")
        weights[words[0]] = _numbers(path, number, words[1:])[0]
    return weights
