"""What Moses' ``evaluator`` does: the score of translations, or of the first candidates of lists, and its spread."""

from collections.abc import Iterator, Sequence

import numpy as np

from mert.lists import read_lists
from mert.moses.extract import check_references
from mert.moses.metrics import FileMetric
from rypt.arrays import Ints
from rypt.records import Candidate
from rypt.text import InputError, PathLike, RyptError, read_lines
from rypt.texts.lists import References, read_references

INTERVAL = [0.025, 0.975]


def evaluate(
    translations: Sequence[PathLike],
    lists: Sequence[PathLike],
    reference_paths: Sequence[PathLike],
    metrics: Sequence[FileMetric],
    *,
    samples: int = 0,
    seed: int = 1,
) -> Iterator[tuple[PathLike, str, str]]:
    """File, metric and score of translations, then of the first candidates of n-best lists, by each metric.

    With ``samples`` a score is the mean of that many resampled ones, and has the interval of 95 % of them.
    """
    references = read_references(reference_paths) if reference_paths else None
    files = [(path, _read_plain) for path in translations] + [(path, _read_first) for path in lists]
    if not files:
        raise RyptError("expected translations (--candidate) or lists (--nbest)")
    for path, read in files:
        candidates = read(path, references)
        for metric in metrics:
            stats = metric.measure(references, candidates)
            yield path, metric.name, _scored(metric, stats, np.random.default_rng(seed), samples)


def _read_plain(path: PathLike, references: References | None) -> list[Candidate]:
    """Translations, one per line; as many as there are references."""
    lines = [line.strip() for _, line in read_lines(path)]
    _check_count(path, len(lines), references, "lines")
    return [Candidate(str(i), line, None, {}, None) for i, line in enumerate(lines)]


def _read_first(path: PathLike, references: References | None) -> list[Candidate]:
    """The first candidate of each segment of a list; all segments of the references must have one."""
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


def _scored(metric: FileMetric, stats: Ints, rng: np.random.Generator, samples: int) -> str:
    if not samples:
        return f"{float(metric.score(stats.sum(axis=0, keepdims=True))[0]):.6f}"
    sums = np.array([stats[rng.integers(len(stats), size=len(stats))].sum(axis=0) for _ in range(samples)])
    scores = metric.score(sums)
    low, high = np.quantile(scores, INTERVAL)
    return f"{float(scores.mean()):.6f}\t[{low:.6f},{high:.6f}]"
