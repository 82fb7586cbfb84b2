"""Lists to tune on: in the memory of this process, or divided into shares where they are too large for it."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

import numpy as np

from mert.constraints import Constraints
from mert.lists.arrays import NBest, check_segments, has_bars, read_lists
from mert.lists.index import ListIndex, first_line, merge, ranges_of
from mert.optimize import TuningProblem, check_features, make_problem, problem_of_shares
from mert.search.build import BESIDES, NEED, Reading, ThisMachine, Workplace, advice_on
from mert.search.lines import Window
from mert.search.shares import scratch_folder
from rypt.arrays import Floats, Ints
from rypt.metrics.metric import Metric, references_of
from rypt.text import PathLike, RyptError, Watch, open_binary_input, unwatched

RANGE = 1 << 28  # bytes of a list that are indexed at once
SMALLEST = 1 << 23  # bytes of a list for which a thread of its own is worth it


class TuningLists(Protocol):
    """Lists whose features are known, of which a problem can be made."""

    names: tuple[str, ...]
    sparse_names: tuple[str, ...]
    open_ended: bool
    segments: list[str]
    advice: list[str]

    def check_segments(self, size: int, where: str) -> list[str]:
        """Refuse a segment that is none of ``size`` segments from 0; a note where some have no candidates."""

    def without(self, columns: Sequence[str]) -> None:
        """Leave out features."""

    def problem(
        self,
        metric: Metric,
        start: Floats,
        constraints: Constraints,
        sparse_weights: Floats | None,
        window: Window | None = None,
    ) -> TuningProblem:
        """Count statistics, and put together what is tuned."""


class ListsInMemory:
    """Lists that were read whole."""

    def __init__(self, lists: NBest) -> None:
        self.lists = lists
        self.names = lists.names
        self.sparse_names = lists.sparse.names if lists.sparse else ()
        self.open_ended, self.segments = lists.open_ended, lists.segments
        self.advice: list[str] = []

    def check_segments(self, size: int, where: str) -> list[str]:
        """Refuse a segment that is none of ``size`` segments from 0; a note where some have no candidates."""
        return self.lists.check_segments(size, where)

    def without(self, columns: Sequence[str]) -> None:
        """Leave out features."""
        kept = [i for i, name in enumerate(self.names) if name not in columns]
        self.names = tuple(self.names[i] for i in kept)
        features = np.ascontiguousarray(self.lists.features.T[kept]).T
        self.lists = replace(self.lists, names=self.names, features=features)

    def problem(
        self,
        metric: Metric,
        start: Floats,
        constraints: Constraints,
        sparse_weights: Floats | None,
        window: Window | None = None,
        stats: Ints | None = None,
    ) -> TuningProblem:
        """Count statistics, and put together what is tuned."""
        made = make_problem(
            replace(self.lists, names=self.names),
            metric,
            start,
            constraints,
            sparse_weights=sparse_weights if self.sparse_names else None,
            window=window,
            stats=stats,
        )
        self.advice = advice_on(metric, self.lists)
        return made


class DividedLists:
    """Lists of which it is known where each segment stands, and which are read in shares."""

    def __init__(self, index: ListIndex, workplace: Workplace, watch: Watch = unwatched) -> None:
        self.index, self.workplace, self.watch = index, workplace, watch
        self.names, self.sparse_names = index.plan.names, index.plan.sparse_names
        self.open_ended, self.segments = index.plan.open_ended, index.segments
        self.kept: tuple[int, ...] | None = None
        self.advice: list[str] = []

    def check_segments(self, size: int, where: str) -> list[str]:
        """Refuse a segment that is none of ``size`` segments from 0; a note where some have no candidates."""
        return check_segments(self.segments, self.index.place, size, where)

    def without(self, columns: Sequence[str]) -> None:
        """Leave out features."""
        self.kept = tuple(i for i, name in enumerate(self.names) if name not in columns)
        self.names = tuple(self.names[i] for i in self.kept)

    def problem(
        self,
        metric: Metric,
        start: Floats,
        constraints: Constraints,
        sparse_weights: Floats | None,
        window: Window | None = None,
    ) -> TuningProblem:
        """Have shares read and counted, and put together what is tuned."""
        check_features(self.names, start, constraints)
        reading = Reading(self.index.plan, self.kept, sparse_weights if self.sparse_names else None, metric)
        slices = self.index.divide(self.workplace.share_bytes, self.workplace.least)
        made = self.workplace.make(reading, [self.index.pieces_of(each) for each in slices])
        summaries = list(self.watch(made, "shares", len(slices)))
        self.advice = list(dict.fromkeys(advice for summary in summaries for advice in summary.advice))
        return problem_of_shares(
            self.names,
            self.workplace.shares([summary.sizes for summary in summaries]),
            [summary.facts for summary in summaries],
            metric,
            start,
            constraints,
            window=window,
            anything_held=any(summary.held for summary in summaries),
        )


def open_lists(
    paths: Sequence[PathLike], watch: Watch, tune: Sequence[str] | None, workplace: Workplace | None
) -> TuningLists:
    """Read lists, or find out what is in them where there is a workplace to read them in shares.

    Lists of other dialects than that with ``|||`` cannot be divided; those of a cluster are read here.
    """
    if workplace is None:
        return ListsInMemory(read_lists(paths, watch, tune=tune))
    lines = [first_line(path, workplace.scratch) for path in paths]
    whole = [path for path, line in zip(paths, lines, strict=True) if not has_bars(line)]
    if whole and workplace.executor is None:
        raise RyptError(f"{whole[0]}: expected a list with |||, the only ones that --memory divides")
    if whole:  # read here, and only the restarts are shared
        return ListsInMemory(read_lists(paths, watch, tune=tune))
    parts = [part for path in paths for part in ranges_of(path, RANGE)]
    indexed = watch(workplace.index(parts, (paths[0], lines[0])), "index", len(parts))
    return DividedLists(merge(zip(parts, indexed, strict=True), tune), workplace, watch)


def in_shares(paths: Sequence[PathLike]) -> bool:
    """Whether lists can be divided into shares, as those with ``|||`` can."""
    return all(has_bars(_first(path)) for path in paths)


def _first(path: PathLike) -> bytes:
    with open_binary_input(path) as stream:
        line: bytes = stream.readline()
    return line


def check_against_references(lists: NBest | TuningLists, metric: Metric) -> list[str]:
    """Refuse segments without a reference, with file and line; return notes on references without candidates."""
    references = references_of(metric)
    if references is None:
        return []
    return lists.check_segments(len(references), ", ".join(map(str, references.paths)) or "the references")


@contextmanager
def this_machine(memory: int, threads: int) -> Iterator[ThisMachine]:
    """A place for shares in temporary files, removed in the end; fewer threads where there is little memory."""
    threads = max(1, min(threads, (memory - BESIDES) // (NEED * SMALLEST)))
    with scratch_folder() as scratch, ThreadPoolExecutor(max_workers=threads) as pool:
        yield ThisMachine(scratch, pool, threads, memory)
