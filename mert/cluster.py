"""Tuning on a Dask cluster: each worker reads, counts and searches its shares of the segments, and climbs.

A worker keeps its shares in files of its own folder. What shares are made of is known to every worker
(`_SharePlugin`, which Dask gives to workers that join later, too), so a share whose worker is lost is made anew by
another when it is asked next.
"""

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

from mert.lists.index import Piece, Range, RangeIndex, index_range
from mert.optimize import TuningProblem
from mert.search.build import NEED, Reading, ShareSummary, build
from mert.search.share import Rate
from mert.search.shares import FarPosition, ShareFolder, Shares, Walker
from rypt.arrays import Floats, Ints
from rypt.text import PathLike, RyptError

try:
    from distributed import Client, WorkerPlugin, get_worker
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker
except ImportError:
    raise RyptError("--dask needs Dask: pip install 'rypt[cluster]'") from None

T = TypeVar("T")
CHECK = 2.0  # seconds after which it is looked whether a worker is still there
WAIT = 60  # seconds for a worker to come, if all are lost
TRIES = 5  # how often a call is sent again when workers are lost
LARGEST_SHARE = 1 << 28  # bytes of a list in a share, at most
FIXED = 240 << 20  # bytes that a worker needs besides its shares


@dataclass(slots=True)
class _Call:
    """A call on the cluster: of a share on its worker, whose address is ``home``, otherwise on any."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    share: int | None = None
    home: str | None = None


@dataclass(frozen=True, slots=True)
class _Failure:
    """What went wrong on a worker, to be raised here."""

    message: str


class ClusterExecutor(Executor):
    """Runs calls on a cluster; a call whose worker is lost is sent again.

    A problem is sent to the cluster once, not with every call. ``homes`` has the worker of each share.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.homes: list[str] = []
        self._sent: tuple[TuningProblem, Any] | None = None
        self._moving = Lock()

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> "Future[Any]":
        """Run one call."""
        future: Future[Any] = self._submit(_Call(partial(function, **named), args))
        return future

    def map(self, fn: Callable[..., T], *iterables: Iterable[Any], **named: Any) -> Iterator[T]:
        """Run many calls side by side; the results come in order."""
        return self.run([_Call(fn, arguments) for arguments in zip(*iterables, strict=False)])

    def run(self, calls: Sequence[_Call]) -> Iterator[Any]:
        """Run many calls side by side, those of shares on the workers that have them; the results come in order."""
        futures = [self._submit(call) for call in calls]
        for call, future in zip(calls, futures, strict=True):
            result = self._result(call, future)
            if isinstance(result, _Failure):
                raise RyptError(result.message)
            yield result

    def assign(self, shares: int) -> None:
        """Give each share a worker."""
        workers = sorted(self._workers())
        self.homes = [workers[i * len(workers) // shares] for i in range(shares)]

    def _submit(self, call: _Call) -> Any:
        arguments = [
            self._share(each) if isinstance(each, TuningProblem) else each for each in call.arguments
        ]
        where: dict[str, Any] = {}
        if call.share is not None:
            call.home = self.homes[call.share]
            where = {"workers": [call.home], "allow_other_workers": False}
        return self.client.submit(_guarded, call.function, *arguments, pure=False, **where)

    def _result(self, call: _Call, future: Any) -> Any:
        """The result of a call, which is sent again if its worker or the data that it needs are lost."""
        tries = 0
        while True:
            try:
                return future.result(timeout=CHECK)
            except TimeoutError:
                if call.home is None or call.home in self._workers():
                    continue
            except (CancelledError, KilledWorker, CommClosedError) as error:
                tries += 1
                if tries > TRIES:
                    raise RyptError(f"the cluster lost its workers again and again: {error}") from None
                self._sent = None
            future.cancel()
            if call.share is not None:
                self._move(call.share)
            future = self._submit(call)

    def _move(self, share: int) -> None:
        """Give a share to the worker that has fewest, if its own is lost."""
        with self._moving:
            workers = self._workers()
            if self.homes[share] not in workers:
                counts = Counter(self.homes)
                self.homes[share] = min(sorted(workers), key=lambda worker: counts[worker])

    def _workers(self) -> dict[str, int]:
        """The addresses of all workers, and how many threads each has; one that is awaited may take a while."""
        workers: dict[str, int] = self.client.nthreads()
        if not workers:
            try:
                self.client.wait_for_workers(1, timeout=WAIT)
            except TimeoutError:
                raise RyptError(
                    f"the cluster lost all its workers, and none came back in {WAIT} seconds"
                ) from None
            workers = self.client.nthreads()
        return workers

    def _share(self, problem: TuningProblem) -> Any:
        sent = self._sent
        if sent is None or sent[0] is not problem:
            sent = problem, _persistent(lambda: self.client.scatter(problem, broadcast=True, hash=False))
            self._sent = sent
        return sent[1]


def _persistent(call: Callable[[], T]) -> T:
    """The result of a call to all workers, which fails when one of them goes away at that moment: it is repeated."""
    for tries in range(1, TRIES + 1):
        try:
            return call()
        except OSError as error:  # what Dask raises where a connection is closed
            failure = error
            time.sleep(tries / 2)
    raise RyptError(f"the cluster lost its workers again and again: {failure}")


def _guarded(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call, or what is wrong in one line: not every exception can be sent."""
    try:
        return function(*arguments)
    except RyptError as error:
        return _Failure(str(error))


class _SharePlugin(WorkerPlugin):
    """What every worker knows of a list: how it is read, and the pieces of each share."""

    def __init__(self, folder: str, name: str, reading: Reading, pieces: Sequence[Sequence[Piece]]) -> None:
        self.folder, self.name, self.reading, self.pieces = folder, name, reading, pieces

    def setup(self, worker: Any) -> None:
        """Remember where the files of this worker are."""
        self.scratch = Path(worker.local_directory) / self.folder

    def teardown(self, worker: Any) -> None:
        """Remove the shares."""
        shutil.rmtree(self.scratch / self.name, ignore_errors=True)

    def share(self, number: int) -> ShareFolder:
        """The folder of a share, on this worker."""
        return ShareFolder(self.scratch / self.name / f"share{number}")


def _plugin(name: str) -> _SharePlugin:
    worker: Any = get_worker()
    plugin: _SharePlugin = worker.plugins[name]
    return plugin


def _scratch(name: str) -> Path:
    """The folder for files of this worker."""
    worker: Any = get_worker()
    return Path(worker.local_directory) / name


def _clean(name: str, dask_worker: Any) -> None:
    """Remove the files of a worker; it is passed by Dask."""
    shutil.rmtree(Path(dask_worker.local_directory) / name, ignore_errors=True)


def _index(name: str, part: Range, head: tuple[PathLike, bytes]) -> RangeIndex:
    return index_range(part, head, _scratch(name))


def _build(name: str, share: int) -> ShareSummary:
    plugin = _plugin(name)
    return build(plugin.reading, plugin.pieces[share], plugin.share(share), plugin.scratch)


def _answer(name: str, share: int, question: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    """What a share answers; a worker that does not have it makes it first."""
    plugin = _plugin(name)
    folder = plugin.share(share)
    if not folder.path.exists():
        _build(name, share)
    return question(folder.open(Rate(plugin.reading.metric)), *arguments)


class SharesOnCluster:
    """Shares on the workers of a cluster."""

    def __init__(self, executor: ClusterExecutor, name: str, sizes: Sequence[Ints]) -> None:
        self.executor, self.name, self.sizes = executor, name, sizes
        self.whole = None

    def ask(self, question: Callable[..., T], *arguments: Any, each: Sequence[Any] | None = None) -> list[T]:
        """The answers of all shares, in order."""
        calls = [
            _Call(
                _answer, (self.name, i, question, (*arguments, *([each[i]] if each is not None else []))), i
            )
            for i in range(len(self.sizes))
        ]
        return list(self.executor.run(calls))

    def position(self, start: Floats) -> Walker:
        """The point from which to go along lines."""
        return FarPosition(self, start)


@dataclass(slots=True)
class ClusterWorkplace:
    """Where shares are made and searched: the workers of a cluster."""

    executor: ClusterExecutor
    scratch: Path
    name: str = field(default_factory=lambda: f"rypt-{uuid4().hex[:12]}")
    made: str | None = None  # the name of the shares that are there

    @property
    def least(self) -> int:
        """One share for each thread of the workers."""
        threads: dict[str, int] = self.executor.client.nthreads()
        return sum(threads.values())

    @property
    def share_bytes(self) -> int:
        """So much of a list that all threads of a worker can work on a share at once."""
        workers = self.executor.client.scheduler_info()["workers"].values()
        rooms = [
            (worker["memory_limit"] - FIXED) // (NEED * worker["nthreads"])
            for worker in workers
            if worker["memory_limit"]
        ]
        return int(max(1 << 20, min([LARGEST_SHARE, *rooms])))

    def index(self, parts: Sequence[Range], head: tuple[PathLike, bytes]) -> Iterator[RangeIndex]:
        """What is in each part of the lists."""
        return self.executor.run([_Call(_index, (self.name, part, head)) for part in parts])

    def make(self, reading: Reading, pieces: Sequence[Sequence[Piece]]) -> Iterator[ShareSummary]:
        """Make shares, one for each of the pieces."""
        self._forget()  # an earlier iteration
        self.made = f"{self.name}-{uuid4().hex[:12]}"
        plugin = _SharePlugin(self.name, self.made, reading, pieces)
        _persistent(lambda: self.executor.client.register_plugin(plugin, name=self.made))
        self.executor.assign(len(pieces))
        return self.executor.run([_Call(_build, (self.made, i), i) for i in range(len(pieces))])

    def shares(self, sizes: Sequence[Ints]) -> Shares:
        """The shares that were made."""
        assert self.made is not None
        return SharesOnCluster(self.executor, self.made, sizes)

    def _forget(self) -> None:
        """Let no worker know of the shares any more, and remove their files."""
        if self.made is not None:
            with suppress(OSError, ValueError):  # a worker that is gone has no files
                self.executor.client.unregister_worker_plugin(self.made)
            self.made = None

    def close(self) -> None:
        """Have the workers remove all files."""
        self._forget()
        with suppress(OSError):
            self.executor.client.run(_clean, self.name, on_error="ignore")


@contextmanager
def cluster_workplace(address: str, timeout: float = 10.0) -> Iterator[ClusterWorkplace]:
    """A workplace on the cluster whose scheduler is at this address (``tcp://…``)."""
    try:
        client: Any = Client(address, timeout=timeout)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise RyptError(f"--dask {address}: no scheduler answers ({error})") from None
    with client, tempfile.TemporaryDirectory(prefix="rypt-") as scratch:
        if not client.nthreads():
            raise RyptError(f"--dask {address}: the cluster has no workers")
        workplace = ClusterWorkplace(ClusterExecutor(client), Path(scratch))
        try:
            yield workplace
        finally:
            workplace.close()
