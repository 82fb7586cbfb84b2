"""All shares of a list, which answer questions together: the arrays of one process, or files that are opened in turn.

A question is a function of a `mert.search.share.Share` and other values. `Shares.ask` puts it to every share; the
answers come in the order of the segments.
"""

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from mert.search.lines import Corners
from mert.search.share import Line, Position, Share, corners_after
from rypt.arrays import Floats, Ints, Score

T = TypeVar("T")
ARRAYS = ("offsets", "features", "base", "stats")


class Shares(Protocol):
    """The shares of a list."""

    @property
    def sizes(self) -> Sequence[Ints]:
        """The number of candidates of each segment, an array for each share."""

    @property
    def whole(self) -> Share | None:
        """The only share, if it is in the memory of this process."""

    def ask(self, question: Callable[..., T], *arguments: Any, each: Sequence[Any] | None = None) -> list[T]:
        """The answers of all shares; with ``each`` a share is given its own value of these as the last argument."""

    def position(self, start: Floats) -> "Walker":
        """The point from which to go along lines."""


class Walker(Protocol):
    """A point on a way along lines, and where winners change around it."""

    def take(self, length: float, direction: Floats) -> None:
        """Make a step."""

    def corners(self, lines: Sequence[Line]) -> Sequence[Sequence[Corners]]:
        """Where winners change along each line, as each share says."""


class WholeList:
    """A list whose only share is in the memory of this process."""

    def __init__(self, share: Share) -> None:
        self.whole = share
        self.sizes = [np.diff(share.offsets)]

    def ask(self, question: Callable[..., T], *arguments: Any, each: Sequence[Any] | None = None) -> list[T]:
        """The answer of the share."""
        return [question(self.whole, *arguments, *(each or ()))]

    def position(self, start: Floats) -> "Walker":
        """The point from which to go along lines."""
        return _WholePosition(self.whole, start)


class _WholePosition(Position):
    """A point whose model scores are at hand."""

    def corners(self, lines: Sequence[Line]) -> list[list[Corners]]:  # type: ignore[override]
        """Where winners change along each line, as the only share says."""
        return [[corners] for corners in super().corners(lines)]


class FarPosition:
    """A point that shares find anew by the steps that led there, so that none has to remember it."""

    def __init__(self, shares: Shares, start: Floats) -> None:
        self.shares, self.start = shares, start
        self.moves: list[tuple[float, Floats]] = []

    def take(self, length: float, direction: Floats) -> None:
        """Make a step."""
        self.moves.append((length, direction))

    def corners(self, lines: Sequence[Line]) -> list[tuple[Corners, ...]]:
        """Where winners change along each line, as each share says."""
        return list(zip(*self.shares.ask(corners_after, self.start, self.moves, list(lines)), strict=True))


class ShareFolder:
    """A folder with the arrays of a share, as files that are mapped into memory while a question is answered."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, share: Share) -> None:
        """Write the arrays; the folder appears whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=self.path.name, dir=self.path.parent))
        for name in ARRAYS:
            array = getattr(share, name)
            if array is not None:
                np.save(scratch / f"{name}.npy", array)
        try:
            scratch.rename(self.path)
        except OSError:  # another process was faster
            shutil.rmtree(scratch)

    def open(self, rate: Score) -> Share:
        """The share, mapped into memory."""
        base = self.path / "base.npy"
        return Share(
            np.array(_mapped(self.path / "offsets.npy")),
            _mapped(self.path / "features.npy"),
            _mapped(base) if base.exists() else None,
            _mapped(self.path / "stats.npy"),
            rate,
            self,
        )

    def keep(self, name: str, make: Callable[[], Floats]) -> Floats:
        """The array of this name, from its file, which is made if it is not there."""
        path = self.path / f"{sha256(name.encode()).hexdigest()[:24]}.npy"
        if not path.exists():
            with tempfile.NamedTemporaryFile(dir=self.path, delete=False) as file:
                np.save(file, make())
            Path(file.name).rename(path)
        array: Floats = _mapped(path)
        return array


_LOADING = threading.Lock()


def _mapped(path: Path) -> Any:
    """The array in a file; it may be written to, as arrays in memory may, but the file is not.

    One thread at a time: numpy parses the head of a file as Python does, which in version 3.11 of it may fail in two.
    """
    with _LOADING:
        return np.asarray(np.load(path, mmap_mode="c"))


class SharesInFiles:
    """Shares in folders of this machine; only those that are being asked are in memory."""

    def __init__(
        self, folders: Sequence[ShareFolder], sizes: Sequence[Ints], rate: Score, pool: Executor
    ) -> None:
        self.folders, self.sizes, self.rate, self.pool = folders, sizes, rate, pool
        self.whole = None

    def ask(self, question: Callable[..., T], *arguments: Any, each: Sequence[Any] | None = None) -> list[T]:
        """The answers of all shares, as many at once as the pool has threads."""

        def answer(folder: ShareFolder, *last: Any) -> T:
            return question(folder.open(self.rate), *arguments, *last)

        return list(self.pool.map(answer, self.folders, *([each] if each is not None else [])))

    def position(self, start: Floats) -> Walker:
        """The point from which to go along lines."""
        return FarPosition(self, start)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for the files of shares, in the system's folder for temporary files; removed in the end."""
    path = Path(tempfile.mkdtemp(prefix="rypt-shares-"))
    try:
        yield path
    finally:
        with suppress(OSError):
            shutil.rmtree(path)
