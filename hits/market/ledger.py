"""What has been published: one line for each hit, appended at once, so that a killed process forgets none.

The lines are forced to disk a few times a second: forcing each would take as long as publishing it. What a power cut
takes with it is found again on the market, where each hit carries its item's name (`hits.market.publish`).
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from rypt.locks import lock
from rypt.text import InputError, RyptError

FORCE_SECONDS = 0.25
EXPIRED = "expired"  # a file of the batch folder: since when nobody may begin its hits any more


class Ledger:
    """The hits of one batch on one market: item → hit, in a file of the batch folder.

    A line is whole or it is not there: what a crash left of a last line is cut off when the file is next opened. While
    it is open no other process can publish the same batch.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hits: dict[str, str] = {}
        self.digests: dict[str, str] = {}
        self._file = -1
        self._forced = 0.0

    @contextmanager
    def opened(self) -> Iterator["Ledger"]:
        """Open for publishing; a second process is refused."""
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            if not lock(self._file):
                raise RyptError(f"{self.path}: another process is publishing this batch")
            self._read()
            yield self
            self._force()
        finally:
            os.close(self._file)
            self._file = -1

    def read(self) -> dict[str, str]:
        """The hits known so far, without opening for publishing."""
        if self.path.exists():
            self._parse(self.path.read_bytes())
        return self.hits

    def add(self, item: str, hit: str, digest: str = "") -> None:
        """Remember a hit and what was shown in it; it outlives this process when this returns."""
        line = json.dumps({"item": item, "hit": hit, "digest": digest}).encode() + b"\n"
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise InputError(self.path, None, error.strerror or str(error)) from None
        if written != len(line):
            raise InputError(self.path, None, "the disk is full")
        if monotonic() > self._forced + FORCE_SECONDS:
            self._force()
        self.hits[item], self.digests[item] = hit, digest

    def _force(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as error:
            raise InputError(self.path, None, error.strerror or str(error)) from None
        self._forced = monotonic()

    def check(self, item: str, digest: str) -> None:
        """Refuse an item that is another than the one published: answers to one would go to the other."""
        if self.digests.get(item) not in (None, "", digest):
            raise InputError(self.path, None, f"item {item} of the batch was changed after it was published")

    def _read(self) -> None:
        data = os.pread(self._file, os.fstat(self._file).st_size, 0)
        whole = self._parse(data)
        if whole < len(data):
            os.ftruncate(self._file, whole)

    def _parse(self, data: bytes) -> int:
        """Read the whole lines; returns how many bytes they are."""
        whole = data.rfind(b"\n") + 1
        for number, line in enumerate(data[:whole].splitlines(), start=1):
            try:
                record = json.loads(line)
                self.hits[record["item"]] = record["hit"]
                self.digests[record["item"]] = record.get("digest", "")
            except (ValueError, KeyError, TypeError):
                raise InputError(self.path, number, 'expected {"item": …, "hit": …}') from None
        return whole
