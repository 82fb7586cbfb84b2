"""What a loop has done: one line of JSON for each finished step, on the disk before the next one begins."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rypt.locks import lock
from rypt.text import InputError, RyptError

FIELDS = {"iteration": int, "step": str, "time": int, "result": dict}


@dataclass(frozen=True, slots=True)
class Entry:
    """A finished step of an iteration, when it ended (seconds since 1970), and what came of it."""

    iteration: int
    step: str
    time: int
    result: Mapping[str, Any]


class Journal:
    """A file of entries. A line is whole or it is not there: what a crash left of a last line is cut off.

    While it is open no other process can open it, so two loops never run on one campaign.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Entry] = []
        self._file = -1
        if path.exists():
            self._parse(path.read_bytes())

    @contextmanager
    def opened(self) -> Iterator["Journal"]:
        """Open for writing; a second process is refused."""
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise InputError(self.path, None, error.strerror or str(error)) from None
        try:
            if not lock(self._file):
                raise RyptError(f"{self.path}: another loop is at work on this campaign")
            data = os.pread(self._file, os.fstat(self._file).st_size, 0)
            whole = self._parse(data)
            if whole < len(data):
                os.ftruncate(self._file, whole)
            yield self
        finally:
            os.close(self._file)
            self._file = -1

    def add(self, entry: Entry) -> None:
        """Remember a step; it is on the disk when this returns."""
        line = json.dumps(asdict(entry), ensure_ascii=False).encode() + b"\n"
        try:
            written = os.write(self._file, line)
            os.fsync(self._file)
        except OSError as error:
            raise InputError(self.path, None, error.strerror or str(error)) from None
        if written != len(line):
            raise InputError(self.path, None, "the disk is full")
        self.entries.append(entry)

    def result(self, iteration: int, step: str) -> Mapping[str, Any] | None:
        """What came of a step, None while it is not done."""
        found = [entry.result for entry in self.entries if (entry.iteration, entry.step) == (iteration, step)]
        return found[-1] if found else None

    def results(self, step: str) -> dict[int, Mapping[str, Any]]:
        """What came of a step in each iteration that has done it."""
        return {entry.iteration: entry.result for entry in self.entries if entry.step == step}

    def _parse(self, data: bytes) -> int:
        """Read the whole lines; returns how many bytes they are."""
        whole = data.rfind(b"\n") + 1
        self.entries = []
        for number, line in enumerate(data[:whole].splitlines(), start=1):
            try:
                record = json.loads(line)
                if not all(isinstance(record[name], kind) for name, kind in FIELDS.items()):
                    raise TypeError
                self.entries.append(Entry(*(record[name] for name in FIELDS)))
            except (ValueError, KeyError, TypeError):
                raise InputError(self.path, number, f"expected a step with {', '.join(FIELDS)}") from None
        return whole
