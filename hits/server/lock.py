"""One server per folder: the lock ends with its process and holds the address of the server."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hits.market.folder import private_folder
from rypt.locked_files import lock
from rypt.text import PathLike, RyptError

LOCK_NAME = "market.lock"


@contextmanager
def only_server(folder: PathLike) -> Iterator[Callable[[str], None]]:
    """Hold a folder's lock, or raise `RyptError` with the URL of the server that does.

    Call what it yields with our own URL, once it is known.
    """
    path = Path(folder) / LOCK_NAME
    try:
        private_folder(path.parent)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise RyptError(f"{path}: {error.strerror or error}") from None
    try:
        if not lock(file):
            raise RyptError(f"{folder}: this market is served already{_where(path)}")
        _write(file, "")
        yield lambda url: _write(file, f"{url}\n")
    finally:
        os.close(file)


def _where(path: Path) -> str:
    """Where the other server is reached; Windows does not let others read a locked file."""
    try:
        url = path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
    return f" at {url}" if url else ", or just starting"


def _write(file: int, text: str) -> None:
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    os.write(file, text.encode())
