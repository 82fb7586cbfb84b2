"""Judgments as columns: what an import holds of them between reading and writing.

    columns = JudgmentColumns.from_rows([(line, *db.row(judgment)), …])
    columns.split(64)            # by segment, in parts that can be written one after the other
    JudgmentColumns.join(parts)

Texts stand once in a column, with a number for each judgment; everything else is an array of numbers.
"""

import marshal
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes, Floats, Ids, Ints
from rypt.database.compact import LABEL_CODES, SOURCE_CODES
from rypt.text import FormatError

NO_TIME = -1  # of a judgment whose time is not known
TEXTS = ("segment", "phrase", "worker", "origin")
NUMBERS: dict[str, Any] = {
    "line": np.int64,
    "start": np.int64,
    "stop": np.int64,
    "label": np.int8,
    "source": np.int8,
    "time": np.int64,
    "weight": np.float64,
    "severity": np.float64,
}


class TextColumn(NamedTuple):
    """Distinct texts, and for each judgment which of them it has; -1 where it has none."""

    texts: list[str]
    codes: Ids

    @classmethod
    def read(cls, values: Sequence[Hashable], read: Callable[[Any], str]) -> "TextColumn":
        """Distinct values read once each; one that cannot be read has the code -1.

        >>> TextColumn.read(["A", "b", "B", "A"], str.lower)
        TextColumn(texts=['a', 'b'], codes=array([0, 1, 1, 0], dtype=int32))
        """
        numbers: dict[str, int] = {}
        codes: dict[Hashable, int] = {}
        for value in dict.fromkeys(values):
            try:
                codes[value] = numbers.setdefault(read(value), len(numbers))
            except FormatError:
                codes[value] = -1
        return cls(list(numbers), np.fromiter(map(codes.__getitem__, values), np.int32, len(values)))

    def take(self, places: Ints) -> "TextColumn":
        """The texts of some judgments."""
        used, codes = np.unique(self.codes[places], return_inverse=True)
        return TextColumn([self.texts[i] for i in used.tolist()], codes.astype(np.int32))

    def in_order(self) -> "TextColumn":
        """The same column with its texts sorted, so that codes sort as texts do."""
        order = sorted(range(len(self.texts)), key=self.texts.__getitem__)
        ranks = np.empty(len(order), np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        return TextColumn([self.texts[i] for i in order], ranks[self.codes])

    @classmethod
    def join(cls, columns: Iterable["TextColumn"]) -> "TextColumn":
        """Columns one after the other; a text of several stands once."""
        numbers: dict[str, int] = {}
        codes = []
        for column in columns:
            renumbered = np.array([numbers.setdefault(text, len(numbers)) for text in column.texts], np.int32)
            codes.append(renumbered[column.codes])
        return cls(list(numbers), np.concatenate(codes))


@dataclass(frozen=True, slots=True)
class JudgmentColumns:
    """Judgments with the lines they stand on; labels and sources as codes of `rypt.database.compact`.

    A severity that nobody said is nan, a time that is not known `NO_TIME`.
    """

    line: Ints
    segment: TextColumn
    start: Ints
    stop: Ints
    phrase: TextColumn
    worker: TextColumn
    origin: TextColumn
    label: Codes
    source: Codes
    time: Ints
    weight: Floats
    severity: Floats

    def __len__(self) -> int:
        return len(self.line)

    @classmethod
    def from_rows(cls, rows: Sequence[tuple[Any, ...]]) -> "JudgmentColumns":
        """Columns of rows: a line, then what `JudgmentDatabase.row` returns."""
        line, segment, start, stop, phrase, worker, origin, label, _, source, time, weight, severity = zip(
            *rows, strict=True
        )
        return cls(
            np.array(line, np.int64),
            TextColumn.read(segment, str),
            np.array(start, np.int64),
            np.array(stop, np.int64),
            TextColumn.read(phrase, str),
            TextColumn.read(worker, str),
            TextColumn.read(origin, str),
            np.array([LABEL_CODES[each] for each in label], np.int8),
            np.array([SOURCE_CODES[each] for each in source], np.int8),
            np.array([NO_TIME if each is None else each for each in time], np.int64),
            np.array(weight, np.float64),
            np.array(severity, np.float64),
        )

    def take(self, places: Ints) -> "JudgmentColumns":
        """Some of the judgments."""
        columns: dict[str, Any] = {name: getattr(self, name).take(places) for name in TEXTS}
        return JudgmentColumns(**columns, **{name: getattr(self, name)[places] for name in NUMBERS})

    @classmethod
    def join(cls, parts: Sequence["JudgmentColumns"]) -> "JudgmentColumns":
        """Judgments one after the other."""
        if len(parts) == 1:
            return parts[0]
        columns: dict[str, Any] = {
            name: TextColumn.join(getattr(part, name) for part in parts) for name in TEXTS
        }
        numbers: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in NUMBERS
        }
        return cls(**columns, **numbers)

    def split(self, parts: int, *, by_key: bool = False) -> dict[int, "JudgmentColumns"]:
        """The judgments in numbered parts, those of a segment in one; or, ``by_key``, those of a key in one."""
        where = _hashes(self.segment)
        if by_key:
            where = where * 31 + _hashes(self.phrase) + (self.start * 131 + self.stop) * 65_599
            where ^= where >> 17
        where %= parts
        order = np.argsort(where, kind="stable")
        bounds = np.searchsorted(where[order], np.arange(parts + 1)).tolist()
        return {
            part: self.take(order[bounds[part] : bounds[part + 1]])
            for part in range(parts)
            if bounds[part] < bounds[part + 1]
        }

    def with_sorted_texts(self) -> "JudgmentColumns":
        """The same judgments; the codes of their texts sort as the texts do."""
        return replace(self, **{name: getattr(self, name).in_order() for name in TEXTS})

    def pack(self) -> bytes:
        """The columns as bytes, for this process to read back with `unpack`."""
        texts = [(column.texts, column.codes.tobytes()) for column in (getattr(self, name) for name in TEXTS)]
        return marshal.dumps((texts, [getattr(self, name).tobytes() for name in NUMBERS]))

    @classmethod
    def unpack(cls, data: bytes) -> "JudgmentColumns":
        """The columns that `pack` made into bytes."""
        texts, numbers = marshal.loads(data)
        columns: dict[str, Any] = {
            name: TextColumn(words, np.frombuffer(codes, np.int32))
            for name, (words, codes) in zip(TEXTS, texts, strict=True)
        }
        for (name, kind), part in zip(NUMBERS.items(), numbers, strict=True):
            columns[name] = np.frombuffer(part, kind)
        return cls(**columns)


def _hashes(column: TextColumn) -> NDArray[np.int64]:
    """For each judgment a number that is the same for equal texts of one process."""
    return np.array([hash(text) >> 4 for text in column.texts], np.int64)[column.codes]
