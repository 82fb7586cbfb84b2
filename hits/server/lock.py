"""One server a folder: the lock vanishes with its process, however that ends, and says where the server is reached."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rypt.text import PathLike, RyptError

LOCK_NAME = "market.lock"
BEHIND = 1 << 30  # where Windows locks a byte, far behind the text: what is locked there cannot be read


@contextmanager
def only_server(folder: PathLike) -> Iterator[Callable[[str], None]]:
    """Hold a folder's lock, or raise `RyptError` with the URL of the server that does; call what it gives with ours."""
    path = Path(folder) / LOCK_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise RyptError(f"{path}: {error.strerror or error}") from None
    try:
        if not _lock(file):
            url = path.read_text(encoding="utf-8").strip()
            where = f" at {url}" if url else ", or just starting"
            raise RyptError(f"{folder}: this market is served already{where}")
        _write(file, "")
        yield lambda url: _write(file, f"{url}\n")
    finally:
        os.close(file)


def _write(file: int, text: str) -> None:
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    os.write(file, text.encode())


def _lock(file: int) -> bool:
    """Whether we hold the lock now; the system gives it back when the file is closed or its process is gone."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        os.lseek(file, BEHIND, os.SEEK_SET)
        lock = getattr(msvcrt, "locking")  # noqa: B009  (not there where types are checked)
        try:
            lock(file, getattr(msvcrt, "LK_NBLCK"), 1)  # noqa: B009
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
