"""Judgments on the way into a database: in parts on the disk, so that memory stays bounded whatever a file holds.

    with StagedJudgments() as staged:
        staged.add(columns)                      # as they are read, while other processes may write
        for columns in staged.parts(): …         # all judgments of a key in one part

A part has the judgments of some segments. One that is still large is divided again, by keys; only the judgments of a
single key stay together in any case.
"""

import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Self

from rypt.database.columns import JudgmentColumns

PARTS = 32
LARGEST = 200_000  # judgments of a part
IN_MEMORY = 1 << 24  # bytes until a file is made


class StagedJudgments:
    """Judgments in a temporary file, in parts by segment."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        self._places: dict[int, list[tuple[int, int]]] = {}
        self._counts: dict[int, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()

    def __len__(self) -> int:
        return sum(self._counts.values())

    def add(self, columns: JudgmentColumns, *, by_key: bool = False) -> None:
        """Add judgments."""
        for part, some in columns.split(PARTS, by_key=by_key).items():
            data = some.pack()
            self._places.setdefault(part, []).append((self._file.seek(0, 2), len(data)))
            self._counts[part] = self._counts.get(part, 0) + len(some)
            self._file.write(data)

    def parts(self) -> Iterator[JudgmentColumns]:
        """The judgments, part by part; those of one part stand in the order in which they were added."""
        for part in sorted(self._places):
            if self._counts[part] <= LARGEST:
                yield JudgmentColumns.join(list(self._read(part)))
                continue
            with StagedJudgments() as smaller:
                for some in self._read(part):
                    smaller.add(some, by_key=True)
                for part_of_part in sorted(smaller._places):
                    yield JudgmentColumns.join(list(smaller._read(part_of_part)))

    def _read(self, part: int) -> Iterator[JudgmentColumns]:
        for place, size in self._places[part]:
            self._file.seek(place)
            yield JudgmentColumns.unpack(self._file.read(size))
