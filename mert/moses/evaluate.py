"""What Moses' ``evaluator`` does: the score of translations, or of the first candidates of lists, and its spread."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mert.lists.arrays import read_lists
from mert.moses.extract import check_references
from mert.moses.metrics import FileMetric
from rypt.arrays import Floats, Ints
from rypt.metrics.references import References
from rypt.records import RawCandidate
from rypt.text import InputError, PathLike, read_lines

ALPHA = 0.05  # what the interval leaves out
BLOCK = 100  # samples drawn at once


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A score; with resampled ones their mean and the ends of the interval that holds 95 % of them."""

    score: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        return f"{self.score:.6f}" + (f"\t[{self.low:.6f},{self.high:.6f}]" if self.low is not None else "")


def read_plain(path: PathLike, references: References | None) -> list[RawCandidate]:
    """Translations, one a line; as many as there are references."""
    found = [RawCandidate(str(i), line.strip(), None, {}, None) for i, (_, line) in enumerate(read_lines(path))]
    _check_count(path, len(found), references, "lines")
    return found


def read_first(path: PathLike, references: References | None) -> list[RawCandidate]:
    """The first candidate of each segment of a list; all segments of the references must be there."""
    lists = read_lists([path])
    check_references(lists, references)
    _check_count(path, len(lists.segments), references, "segments")
    return [lists.candidates[int(first)] for first in lists.offsets[:-1]]


def _check_count(path: PathLike, found: int, references: References | None, what: str) -> None:
    if references is not None and found != len(references):
        files = ", ".join(map(str, references.paths))
        raise InputError(path, None, f"expected {len(references)} {what} like {files}, found {found}")
    if not found:
        raise InputError(path, None, f"expected {what}, found none")


def evaluate(
    candidates: Sequence[RawCandidate],
    references: References | None,
    metric: FileMetric,
    rng: np.random.Generator,
    samples: int = 0,
) -> Evaluation:
    """The score of one candidate a segment; with ``samples`` the mean and interval of that many resampled scores."""
    stats = metric.measure(references, candidates)
    if not samples:
        return Evaluation(float(metric.score(stats.sum(axis=0, keepdims=True))[0]))
    scores = np.sort(np.concatenate(list(_resampled(stats, metric, rng, samples))))
    low, high = np.quantile(scores, [ALPHA / 2, 1 - ALPHA / 2])
    return Evaluation(float(scores.mean()), float(low), float(high))


def _resampled(stats: Ints, metric: FileMetric, rng: np.random.Generator, samples: int) -> Iterator[Floats]:
    size = len(stats)
    for start in range(0, samples, BLOCK):
        drawn = rng.integers(size, size=(min(BLOCK, samples - start), size))
        yield metric.score(np.stack([stats[row].sum(axis=0) for row in drawn]))
