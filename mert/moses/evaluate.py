"""What Moses' ``evaluator`` does: the score of translations, or of the first candidates of lists, and its spread."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mert.lists import read_lists
from mert.moses.extract import check_references
from mert.moses.metrics import FileMetric
from rypt.arrays import Floats, Ints
from rypt.records import Candidate
from rypt.text import InputError, PathLike, RyptError, read_lines
from rypt.texts.references import References, read_references

ALPHA = 0.05  # what the interval leaves out
BLOCK = 100  # samples drawn at once


@dataclass(frozen=True, slots=True)
class FileEvaluation:
    """The score of a file; with resampled ones their mean and the ends of the interval that holds 95 % of them."""

    path: PathLike
    metric: str
    score: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        return f"{self.score:.6f}" + (f"\t[{self.low:.6f},{self.high:.6f}]" if self.low is not None else "")


def read_plain(path: PathLike, references: References | None) -> list[Candidate]:
    """Translations, one per line; as many as there are references."""
    candidates = [
        Candidate(str(i), line.strip(), None, {}, None) for i, (_, line) in enumerate(read_lines(path))
    ]
    _check_count(path, len(candidates), references, "lines")
    return candidates


def read_first(path: PathLike, references: References | None) -> list[Candidate]:
    """The first candidate of each segment of a list; all segments of the references must be there."""
    lists = read_lists([path])
    check_references(lists, references)
    _check_count(path, len(lists.segments), references, "segments")
    return [lists.candidates[int(first)] for first in lists.offsets[:-1]]


def _check_count(path: PathLike, count: int, references: References | None, what: str) -> None:
    if references is not None and count != len(references):
        files = ", ".join(map(str, references.paths))
        raise InputError(path, None, f"expected {len(references)} {what} like {files}, found {count}")
    if not count:
        raise InputError(path, None, f"expected {what}, found none")


def evaluate_files(
    translations: Sequence[PathLike],
    lists: Sequence[PathLike],
    reference_paths: Sequence[PathLike],
    metrics: Sequence[FileMetric],
    *,
    samples: int = 0,
    seed: int = 1,
) -> Iterator[FileEvaluation]:
    """The scores of files of translations, then of the first candidates of n-best lists, by each metric in turn.

    With ``samples`` a score is the mean of that many resampled ones, and has an interval.
    """
    references = read_references(reference_paths) if reference_paths else None
    files = [(path, read_plain) for path in translations] + [(path, read_first) for path in lists]
    if not files:
        raise RyptError("expected translations (--candidate) or lists (--nbest)")
    for path, read in files:
        candidates = read(path, references)
        for metric in metrics:
            stats = metric.measure(references, candidates)
            yield _evaluated(path, metric, stats, np.random.default_rng(seed), samples)


def _evaluated(
    path: PathLike, metric: FileMetric, stats: Ints, rng: np.random.Generator, samples: int
) -> FileEvaluation:
    if not samples:
        return FileEvaluation(path, metric.name, float(metric.score(stats.sum(axis=0, keepdims=True))[0]))
    scores = np.sort(np.concatenate(list(_resampled(stats, metric, rng, samples))))
    low, high = np.quantile(scores, [ALPHA / 2, 1 - ALPHA / 2])
    return FileEvaluation(path, metric.name, float(scores.mean()), float(low), float(high))


def _resampled(stats: Ints, metric: FileMetric, rng: np.random.Generator, samples: int) -> Iterator[Floats]:
    size = len(stats)
    for start in range(0, samples, BLOCK):
        drawn = rng.integers(size, size=(min(BLOCK, samples - start), size))
        yield metric.score(np.stack([stats[row].sum(axis=0) for row in drawn]))
