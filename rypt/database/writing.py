"""Judgments into the compact tables: texts become numbers on the way, many rows at a time.

    writer = JudgmentWriter(connection, "lower")     # inside a transaction, which holds the write lock
    writer.put(judgments)

The numbers of phrases and names are looked up once and remembered, as far as memory is meant to go; rows are inserted
in the order of their phrases, so that pages fill up. A judgment that is there keeps the earliest time, the smallest
weight and the largest severity.
"""

import math
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import itemgetter
from typing import Any

from rypt.database.compact import LABEL_CODES, SOURCE_CODES
from rypt.records import Judgment, Label
from rypt.text import FormatError, one_line
from rypt.texts.phrases import phrase_key

ROWS = 50_000  # inserted at a time
REMEMBERED = 200_000  # texts whose numbers are kept in memory
INSERT_ROW = """
    INSERT INTO judgment_rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (phrase, worker, origin, label, repeat) DO UPDATE SET
        time = coalesce(min(time, excluded.time), time, excluded.time),
        weight = min(weight, excluded.weight),
        severity = coalesce(max(severity, excluded.severity), severity, excluded.severity),
        source = min(source, excluded.source)
"""

Row = tuple[Any, ...]  # segment, start, stop, phrase, worker, origin, label, repeat, source, time, weight, severity
Key = tuple[str, tuple[int, int], str]  # segment, span, phrase


class JudgmentWriter:
    """Adds judgments inside one transaction; phrases become keys of a database with this ``case``."""

    def __init__(self, connection: sqlite3.Connection, case: str) -> None:
        self._db = connection
        self._case = case
        self._last = int(self._one("SELECT value FROM settings WHERE name = 'phrases'"))
        self._forget()

    def _forget(self) -> None:
        self._workers: dict[str, int] = {}
        self._origins: dict[str, int] = {}
        self._phrases: dict[Key, int] = {}  # as they are written, and in their normal form
        self._spans: dict[tuple[str, tuple[int, int]], int] = {}
        self._new_spans: set[int] = set()  # all phrases of which are remembered
        self._new_phrases: list[tuple[int, str, int]] = []

    def put(self, judgments: Iterable[Judgment]) -> None:
        """Add judgments."""
        remaining = iter(judgments)
        while self._insert(list(islice(self._numbered(remaining), ROWS))):
            pass

    def put_rows(self, rows: Iterable[Row]) -> None:
        """Add judgments given as rows of the view ``judgments``, whose texts are in their normal form."""
        remaining = iter(rows)
        while self._insert(list(islice(self._numbered_rows(remaining), ROWS))):
            pass

    def _insert(self, batch: list[Row]) -> bool:
        """Insert rows of numbers and the phrases that are new with them; False where there were none."""
        self._db.executemany("INSERT INTO phrases (span, phrase, id) VALUES (?, ?, ?)", self._new_phrases)
        self._db.execute("UPDATE settings SET value = ? WHERE name = 'phrases'", [self._last])
        self._new_phrases.clear()
        batch.sort(key=itemgetter(0))
        self._db.executemany(INSERT_ROW, batch)
        if len(self._phrases) + len(self._origins) > REMEMBERED:
            self._forget()
        return bool(batch)

    def _numbered(self, judgments: Iterator[Judgment]) -> Iterator[Row]:
        phrases, workers, origins = self._phrases, self._workers, self._origins
        for j in judgments:
            key = (j.segment, j.span, j.phrase)
            if j.severity is not None:
                check_severity(j)
            yield (
                phrases.get(key) or self._phrase(key),
                workers.get(j.worker) or self._worker(j.worker),
                origins.get(j.origin) or self._origin(j.origin),
                LABEL_CODES[j.label._value_],
                1,
                SOURCE_CODES.get(j.source, j.source),
                j.time,
                j.weight,
                j.severity,
            )

    def _numbered_rows(self, rows: Iterator[Row]) -> Iterator[Row]:
        phrases, workers, origins = self._phrases, self._workers, self._origins
        for segment, start, stop, phrase, worker, origin, label, repeat, source, *more in rows:
            key = (segment, (start, stop), phrase)
            yield (
                phrases.get(key) or self._normal_phrase(key),
                workers.get(worker) or self._worker(worker),
                origins.get(origin) or self._origin(origin),
                LABEL_CODES.get(label, label),
                repeat,
                SOURCE_CODES.get(source, source),
                *more,
            )

    def _phrase(self, key: Key) -> int:
        """The number of a phrase as it is written."""
        segment, span, phrase = key
        normal = (segment, span, phrase_key(phrase, self._case))
        self._phrases[key] = self._phrases.get(normal) or self._normal_phrase(normal)
        return self._phrases[key]

    def _normal_phrase(self, key: Key) -> int:
        """The number of a phrase in its normal form, which is not remembered."""
        segment, span, phrase = key
        of_span = self._spans.get((segment, span)) or self._span(segment, span)
        number = None
        if of_span not in self._new_spans:
            number = self._one("SELECT id FROM phrases WHERE span = ? AND phrase = ?", of_span, phrase)
        if number is None:
            self._last = number = self._last + 1
            self._new_phrases.append((of_span, phrase, number))
        self._phrases[key] = int(number)
        return self._phrases[key]

    def _span(self, segment: str, span: tuple[int, int]) -> int:
        number = self._one("SELECT id FROM spans WHERE segment = ? AND start = ? AND stop = ?", segment, *span)
        if number is None:
            number = self._add("INSERT INTO spans (segment, start, stop) VALUES (?, ?, ?)", segment, *span)
            self._new_spans.add(number)
        self._spans[segment, span] = int(number)
        return self._spans[segment, span]

    def _worker(self, worker: str) -> int:
        if not one_line(worker).strip():
            raise FormatError("expected a worker, found nothing")
        self._workers[worker] = self._name(one_line(worker))
        return self._workers[worker]

    def _origin(self, origin: str) -> int:
        self._origins[origin] = self._name(one_line(origin))
        return self._origins[origin]

    def _name(self, name: str) -> int:
        number = self._one("SELECT id FROM names WHERE name = ?", name)
        return self._add("INSERT INTO names (name) VALUES (?)", name) if number is None else int(number)

    def _one(self, sql: str, *values: str | int) -> Any:
        row = self._db.execute(sql, values).fetchone()
        return row and row[0]

    def _add(self, sql: str, *values: str | int) -> int:
        return int(self._db.execute(sql, values).lastrowid or 0)


def check_severity(judgment: Judgment) -> None:
    """Refuse a severity that is not of a NO, or that is no penalty."""
    severity, label = judgment.severity, judgment.label
    if severity is not None and label != Label.NO:
        raise FormatError(f"expected a severity with the label NO only, found {severity} with {label}")
    if severity is not None and not 0 <= severity < math.inf:
        raise FormatError(f"expected a severity of at least 0, found {severity}")
