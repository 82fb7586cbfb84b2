"""How many changes a market file has seen, kept beside it: by this a file that lost some is recognised.

``market.db`` counts its durable changes in a table, and ``market.db.mark`` holds the number after the last one. A file
that was emptied or replaced, or whose write-ahead log is gone, holds fewer changes than the mark knows of. The mark is
written after the change is on the disk, so it never knows of more than was acknowledged.
"""

import os
from pathlib import Path

DIGITS = 20


class Mark:
    """The file beside a market file that holds the number of its changes."""

    def __init__(self, market_file: Path) -> None:
        self.path = market_file.with_name(f"{market_file.name}.mark")
        self._file = -1

    def read(self) -> int:
        """The number of changes that were noted; 0 where there is no mark, or one that says nothing."""
        try:
            text = self.path.read_bytes()[: DIGITS + 1]
        except OSError:
            return 0
        return int(text) if text.strip().isdigit() else 0

    def write(self, number: int) -> None:
        """Note a number of changes; one line, in place."""
        if self._file < 0:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, f"{number:0{DIGITS}}\n".encode())

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
