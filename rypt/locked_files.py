"""Files that one process at a time may write, and append-only files of JSON lines.

Nothing that was appended is lost, however a process ends: an incomplete last line, left by a crash, is cut off when
the file is next opened for writing.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import IO, Any

import portalocker

from rypt.text import InputError, RyptError


def lock(file: IO[bytes] | IO[str] | int) -> bool:
    """Lock an open file (or its descriptor) for this process; return False if another one holds the lock.

    The lock lasts until the file is closed.
    """
    try:
        portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
    except portalocker.exceptions.LockException:
        return False
    return True


class AppendOnly:
    """An append-only file of JSON lines.

    ``busy`` is the error message for a second process. When `add` returns, a line survives a crash of
    this process; it is forced to disk, and survives a power cut, at most every ``force_seconds`` and at the end.
    """

    def __init__(self, path: Path, *, busy: str, force_seconds: float = 0.0) -> None:
        self.path = path
        self.busy = busy
        self.force_seconds = force_seconds
        self._file = -1
        self._forced = 0.0

    def lines(self) -> list[bytes]:
        """The whole lines; none where there is no file."""
        return _whole(self.path.read_bytes()).splitlines() if self.path.exists() else []

    @contextmanager
    def opened(self) -> Iterator[list[bytes]]:
        """Open for writing, and return the lines written before."""
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise self._error(error) from None
        try:
            if not lock(self._file):
                raise RyptError(f"{self.path}: {self.busy}")
            data = os.pread(self._file, os.fstat(self._file).st_size, 0)
            whole = _whole(data)
            if len(whole) < len(data):
                os.ftruncate(self._file, len(whole))
            yield whole.splitlines()
            if self.force_seconds:
                self._force()
        finally:
            os.close(self._file)
            self._file = -1

    def add(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise self._error(error) from None
        if written != len(line):
            raise InputError(self.path, None, "the disk is full")
        if monotonic() > self._forced + self.force_seconds or not self.force_seconds:
            self._force()

    def _force(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as error:
            raise self._error(error) from None
        self._forced = monotonic()

    def _error(self, error: OSError) -> InputError:
        return InputError(self.path, None, error.strerror or str(error))


def _whole(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]
