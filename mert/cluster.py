"""Tuning on a Dask cluster: shares of the segments are tasks, and so is every question about them.

    with open_cluster("tcp://scheduler:8786") as cluster:
        mert.tune(["run7.nbest"], metric="bleu", references=["dev.en"], cluster=cluster)

This process goes through the lists once and notes where the lines of each segment are. The workers read, count and
search shares that fit into their memory; Dask moves what does not fit to disk, and makes a share anew whose worker is
lost. The workers read the lists themselves, so all must find them under the same names.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from mert.lists import (
    Kind,
    Line,
    Place,
    check_numbers,
    check_segments,
    dense_names,
    in_order,
    read_values,
    with_columns,
)
from mert.problem import Candidates, Parts
from rypt.arrays import Floats
from rypt.metrics.metric import Metric
from rypt.text import (
    InputError,
    NumberedLines,
    PathLike,
    RyptError,
    Watch,
    one_line,
    open_binary_input,
    unwatched,
)
from rypt.texts.formats import read_bars, reader_of
from rypt.texts.nbest import read_list
from rypt.texts.tokenizer import is_raw

NEED = 12  # bytes of memory that a byte of a list takes while it is read, at most
FIXED = 240 << 20  # bytes that a worker needs besides
LARGEST_SHARE = 1 << 26  # bytes of a list
SMALLEST_SHARE = 1 << 20
WAIT = 60  # seconds for a worker to come back if all are lost


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive lines of one segment: from byte ``start`` of a file to ``stop``; ``line`` is the first's number."""

    path: PathLike
    start: int
    stop: int
    line: int


class Cluster:
    """The workers of a Dask cluster, on which lists are read, and climbs run."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def read_lists(
        self, paths: Sequence[PathLike], watch: Watch = unwatched, *, tune: Collection[str] | None = None
    ) -> "SharedLists | None":
        """Divide lists into shares and look at their features; None for lists without ``|||``, which cannot be divided."""
        pieces = _pieces_of(paths, watch)
        if pieces is None:
            return None
        segments = in_order(pieces)
        shares = [
            [piece for name in names for piece in pieces[name]] for names in self._divided(segments, pieces)
        ]
        places = [(pieces[name][0].path, pieces[name][0].line) for name in segments]
        check_numbers(segments, places)
        order = {path: number for number, path in enumerate(paths)}
        shares = [sorted(share, key=lambda piece: (order[piece.path], piece.start)) for share in shares]
        surveys = self.gather([self.client.submit(_survey, share, pure=False) for share in shares])
        kinds = _merged(surveys, order)
        names = tuple(dense_names(kinds, tune))
        return SharedLists(self, segments, places, kinds, names, shares, surveys[0].raw)

    def _divided(self, segments: Sequence[str], pieces: dict[str, list[Piece]]) -> list[Sequence[str]]:
        """The segments in consecutive shares that the workers have room for, at least one for each thread."""
        workers = self.client.scheduler_info()["workers"].values()
        rooms = [
            (worker["memory_limit"] - FIXED) // (NEED * worker["nthreads"])
            for worker in workers
            if worker["memory_limit"]
        ]
        size = max(SMALLEST_SHARE, min([LARGEST_SHARE, *rooms]))
        weights = np.array([sum(piece.stop - piece.start for piece in pieces[name]) for name in segments])
        count = max(sum(worker["nthreads"] for worker in workers), -(-int(weights.sum()) // size))
        share_of = (np.cumsum(weights) - weights / 2) * min(count, len(segments)) // weights.sum()
        bounds = [0, *(np.flatnonzero(np.diff(share_of)) + 1).tolist(), len(segments)]
        return [segments[start:stop] for start, stop in pairwise(bounds)]

    def map(self, function: Callable[..., Any], /, *columns: Iterable[Any]) -> Iterator[Any]:
        """The results of calls, in order; an argument that calls share is sent once."""
        sent: dict[int, Any] = {}
        futures = []
        for arguments in zip(*columns, strict=True):
            first, *rest = arguments
            if id(first) not in sent:
                sent[id(first)] = self.client.submit(_same, first, pure=False)
            futures.append(self.client.submit(function, sent[id(first)], *rest, pure=False))
        return iter(self.gather(futures))

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """The results; an error of a worker is one line here.

        Dask gives up on a task after several of its workers were lost. That is not the task's fault, so it is tried once
        more.
        """
        from distributed.scheduler import KilledWorker

        try:
            try:
                return self._results(futures)
            except KilledWorker:
                self.client.retry(futures)
                return self._results(futures)
        except RyptError:
            raise
        except Exception as error:
            raise RyptError(f"the cluster failed: {type(error).__name__}: {one_line(str(error))}") from error

    def _results(self, futures: Sequence[Any]) -> list[Any]:
        from distributed import wait

        while True:
            try:
                wait(futures, timeout=WAIT)  # type: ignore[no-untyped-call]
                break
            except TimeoutError:
                if not self.client.nthreads():
                    raise RyptError(
                        f"the cluster lost all its workers, and none came back in {WAIT} s"
                    ) from None
        results: list[Any] = self.client.gather(futures)
        return results


@dataclass(frozen=True, slots=True)
class Shares:
    """Parts of the data that are results of tasks."""

    cluster: Cluster
    futures: Sequence[Any]

    def ask(
        self, question: Callable[..., Any], *arguments: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """The answers of all shares."""
        lasts = [()] * len(self.futures) if each is None else [(value,) for value in each]
        submit = self.cluster.client.submit
        futures = [
            submit(question, future, *arguments, *last, pure=False)
            for future, last in zip(self.futures, lasts, strict=True)
        ]
        return self.cluster.gather(futures)

    def derive(self, function: Callable[..., Any], *arguments: Any) -> "Shares":
        """What a function makes of each share; the result stays on the worker."""
        submit = self.cluster.client.submit
        return Shares(
            self.cluster, [submit(function, future, *arguments, pure=False) for future in self.futures]
        )


@dataclass(frozen=True, slots=True)
class SharedLists:
    """Lists of which it is known where each segment is and which features there are."""

    cluster: Cluster
    segments: list[str]
    places: list[Place]  # of the first candidate of each segment
    kinds: dict[str, Kind]
    names: tuple[str, ...]
    shares: list[list[Piece]]
    raw: bool
    left_out: tuple[str, ...] = ()

    @property
    def sparse_names(self) -> tuple[str, ...]:
        """The names of the features without columns."""
        return tuple(name for name in self.kinds if name not in {*self.names, *self.left_out})

    @property
    def open_ended(self) -> bool:
        """Whether lines may leave out features that are 0."""
        return Kind.GLUED in self.kinds.values()

    def check_segments(self, size: int, where: str) -> list[str]:
        """Refuse a segment that is none of ``size`` segments from 0; a note where some have no candidates."""
        return check_segments(self.segments, self.places, size, where)

    def without(self, columns: Collection[str]) -> "SharedLists":
        """The same without some features."""
        names = tuple(name for name in self.names if name not in columns)
        return replace(self, names=names, left_out=(*self.left_out, *columns))

    def parts(self, metric: Metric, sparse_weights: Floats | None = None) -> Parts:
        """The `Candidates` of each share."""
        dense = [name for name in self.kinds if name in {*self.names, *self.left_out}]
        asked = (list(self.kinds), dense, self.left_out, metric, sparse_weights)
        submit = self.cluster.client.submit
        return Shares(self.cluster, [submit(_candidates, share, *asked, pure=False) for share in self.shares])


def _same(value: Any) -> Any:
    return value


def _pieces_of(paths: Sequence[PathLike], watch: Watch) -> dict[str, list[Piece]] | None:
    """Where the lines of each segment are; None where a list is not in the format with ``|||``."""
    pieces: dict[str, list[Piece]] = {}
    for path in paths:
        with open_binary_input(path) as stream:
            place = 0
            for number, line in watch(enumerate(stream, start=1), f"read {path}"):
                if (
                    number == 1
                    and reader_of(line.decode("utf-8-sig", "replace").rstrip("\r\n")) is not read_bars
                ):
                    return None
                name = line.partition(b"|||")[0].decode("utf-8-sig", "replace").strip(" \t\r")
                stop = place + len(line)
                latest = pieces.setdefault(name, [])
                if latest and (latest[-1].path, latest[-1].stop) == (path, place):
                    latest[-1] = Piece(path, latest[-1].start, stop, latest[-1].line)
                else:
                    latest.append(Piece(path, place, stop, number))
                place = stop
        if not place:
            raise InputError(path, None, "expected candidates, found an empty list")
    return pieces


def _read(pieces: Sequence[Piece]) -> list[Line]:
    """The candidates in some pieces of the lists."""
    lines: list[Line] = []
    for path in dict.fromkeys(piece.path for piece in pieces):
        numbered = _lines_of(path, [piece for piece in pieces if piece.path == path])
        lines += [((path, number), candidate) for number, candidate in read_list(path, lines=numbered)]
    return lines


def _lines_of(path: PathLike, pieces: Sequence[Piece]) -> NumberedLines:
    with open_binary_input(path) as stream:
        for piece in pieces:
            stream.seek(piece.start)
            data = stream.read(piece.stop - piece.start).removesuffix(b"\n").split(b"\n")
            for number, line in enumerate(data, start=piece.line):
                try:
                    yield number, line.rstrip(b"\r").decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    found = f"0x{line[error.start]:02x}"
                    raise InputError(path, number, f"expected UTF-8, found byte {found}") from None


@dataclass(frozen=True, slots=True)
class Survey:
    """The features of a share and where each is met first; ``first`` is the first line; whether the texts are raw."""

    kinds: dict[str, Kind]
    places: list[Place]
    first: Place
    raw: bool


def _survey(pieces: Sequence[Piece]) -> Survey:
    lines = _read(pieces)
    values = read_values(lines)
    return Survey(values.kinds, values.firsts, lines[0][0], is_raw(line.text for _, line in lines))


def _merged(surveys: Sequence[Survey], order: dict[PathLike, int]) -> dict[str, Kind]:
    """The features of all shares in the order in which the lists have them; all shares must have the required ones."""

    def rank(place: Place) -> tuple[int, int]:
        return order[place[0]], place[1]

    surveys = sorted(surveys, key=lambda survey: rank(survey.first))
    required = [{name for name, kind in each.kinds.items() if kind is Kind.REQUIRED} for each in surveys]
    for survey, names in zip(surveys, required, strict=True):
        if names != required[0]:
            path, line = surveys[0].first
            found = ", ".join(sorted(names ^ required[0]))
            raise InputError(
                *survey.first, f"expected the features of line {line} of {path}, which differ in {found}"
            )
    met = [
        (rank(place), number, name, kind)
        for survey in surveys
        for number, ((name, kind), place) in enumerate(zip(survey.kinds.items(), survey.places, strict=True))
    ]
    kinds: dict[str, Kind] = {}
    for _, _, name, kind in sorted(met, key=lambda each: each[:2]):
        kinds.setdefault(name, kind)
    return kinds


def _candidates(
    pieces: Sequence[Piece],
    names: Sequence[str],
    dense: Sequence[str],
    left_out: Sequence[str],
    metric: Metric,
    sparse_weights: Floats | None,
) -> Candidates:
    """The candidates of a share, counted; ``names`` are the features of all shares."""
    lines = _read(pieces)
    values = read_values(lines)
    column = {name: number for number, name in enumerate(names)}
    if not values.kinds.keys() <= column.keys():
        raise InputError(pieces[0].path, None, "the list was changed while it was read")
    lists = with_columns(lines, values.renumbered(names), dense).without(left_out)
    return lists.parts(metric, sparse_weights).value


@contextmanager
def open_cluster(address: str, timeout: float = 10.0) -> Iterator[Cluster]:
    """The cluster whose scheduler is at this address (``tcp://…``)."""
    try:
        from distributed import Client
    except ImportError:
        raise RyptError("--dask needs Dask: pip install 'rypt[cluster]'") from None
    try:
        client: Any = Client(address, timeout=timeout)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise RyptError(f"--dask {address}: no scheduler answers ({error})") from None
    with client:
        if not client.nthreads():
            raise RyptError(f"--dask {address}: the cluster has no workers")
        yield Cluster(client)
