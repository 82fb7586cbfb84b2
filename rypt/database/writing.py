"""Judgments into the compact tables: texts become numbers on the way, many rows at a time.

    writer = JudgmentWriter(connection, "lower")     # inside a transaction, which holds the write lock
    writer.put(judgments)

The numbers of phrases and names are looked up once and remembered, as far as memory is meant to go; rows are inserted
in the order of their phrases, so that pages fill up. A judgment that is there keeps the earliest time, the smallest
weight and the largest severity.
"""

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Any

from rypt.database.compact import LABEL_CODES, SOURCE_CODES
from rypt.records import CandidateJudgments, CandidatePhrases, Judgment, Label
from rypt.text import FormatError, one_line
from rypt.texts.phrases import phrase_key

ROWS = 50_000  # turned into numbers and sorted at a time
TOGETHER = 100  # rows of one statement: less than half the time of a statement each
REMEMBERED = 200_000  # texts whose numbers are kept in memory
KEEP_BOTH = """
    ON CONFLICT (phrase, worker, origin, label, repeat) DO UPDATE SET
        time = coalesce(min(time, excluded.time), time, excluded.time),
        weight = min(weight, excluded.weight),
        severity = coalesce(max(severity, excluded.severity), severity, excluded.severity),
        source = min(source, excluded.source)
"""

Row = tuple[
    Any, ...
]  # segment, start, stop, phrase, worker, origin, label, repeat, source, time, weight, severity
Key = tuple[str, tuple[int, int], str]  # segment, span, phrase


class JudgmentWriter:
    """Adds judgments inside one transaction; phrases become keys of a database with this ``case``."""

    def __init__(self, connection: sqlite3.Connection, case: str) -> None:
        self._db = connection
        self._case = case
        self._last_phrase = int(self._one("SELECT value FROM settings WHERE name = 'phrases'"))
        self._last_span = int(self._one("SELECT max(id) FROM spans") or 0)
        self._forget()

    def _forget(self) -> None:
        self._workers: dict[str, int] = {}
        self._origins: dict[str, int] = {}
        self._phrases: dict[Key, int] = {}  # as they are written, and in their normal form
        self._spans: dict[str, dict[tuple[int, int], int]] = {}  # all that a segment has
        self._whole_spans: set[int] = set()  # all phrases of which are remembered
        self._new_spans: list[tuple[int, str, int, int]] = []
        self._new_phrases: list[tuple[int, str, int]] = []

    def put(self, judgments: Iterable[Judgment]) -> None:
        """Add judgments."""
        remaining = iter(judgments)
        while batch := list(islice(remaining, ROWS)):
            self._insert(*self._numbered(batch))

    def put_candidates(self, judged: Iterable[CandidateJudgments]) -> None:
        """Add the judgments of whole candidates; the phrases of one are looked up once for all its workers."""
        plain: list[Row] = []
        others: list[Row] = []
        numbers: dict[int, tuple[CandidatePhrases, list[int]]] = {}
        for group in judged:
            if id(group.keys) not in numbers:
                numbers[id(group.keys)] = group.keys, self._numbers_of(group)
            self._number_candidate(group, numbers[id(group.keys)][1], plain, others)
            if len(plain) + len(others) >= ROWS:
                self._insert(plain, others)
                plain, others, numbers = [], [], {}
        self._insert(plain, others)

    def _numbers_of(self, group: CandidateJudgments) -> list[int]:
        segment, phrases = group.segment, self._phrases
        keys = [(segment, span, phrase) for span, phrase in zip(*group.keys, strict=True)]
        return [phrases.get(key) or self._phrase(key) for key in keys]

    def _number_candidate(
        self, group: CandidateJudgments, phrases: list[int], plain: list[Row], others: list[Row]
    ) -> None:
        worker = self._workers.get(group.worker) or self._worker(group.worker)
        origin = self._origins.get(group.origin) or self._origin(group.origin)
        source, time = SOURCE_CODES.get(group.source, group.source), group.time
        is_plain = time is None and group.source == "import"
        if is_plain and all(severity is None for severity in group.severities):
            codes = [LABEL_CODES[label._value_] for label in group.labels]
            plain.extend(zip(phrases, repeat(worker), repeat(origin), codes))
            return
        for phrase, label, severity in zip(phrases, group.labels, group.severities, strict=True):
            code = LABEL_CODES[label._value_]
            if severity is None and is_plain:
                plain.append((phrase, worker, origin, code))
            else:
                check_severity(label, severity)
                others.append((phrase, worker, origin, code, 1, source, time, 1.0, severity))

    def put_rows(self, rows: Iterable[Row]) -> None:
        """Add judgments given as rows of the view ``judgments``, whose texts are in their normal form."""
        remaining = iter(rows)
        while batch := list(islice(self._numbered_rows(remaining), ROWS)):
            self._insert([], batch)

    def _insert(self, plain: list[Row], others: list[Row]) -> None:
        """Insert the phrases that are new, and rows of numbers; ``plain`` ones have the default attributes."""
        insert_many(self._db, "spans (id, segment, start, stop)", self._new_spans)
        insert_many(self._db, "phrases (span, phrase, id)", self._new_phrases)
        self._db.execute("UPDATE settings SET value = ? WHERE name = 'phrases'", [self._last_phrase])
        self._new_spans.clear()
        self._new_phrases.clear()
        for rows, table in (
            (plain, "judgment_rows (phrase, worker, origin, label)"),
            (others, "judgment_rows"),
        ):
            rows.sort(key=itemgetter(0))
            insert_many(self._db, table, rows, KEEP_BOTH)
        if len(self._phrases) + len(self._origins) > REMEMBERED:
            self._forget()

    def _numbered(self, judgments: Sequence[Judgment]) -> tuple[list[Row], list[Row]]:
        """Judgments as rows of numbers: those with the default attributes, without them, and the others."""
        phrases, workers, origins, codes = self._phrases, self._workers, self._origins, LABEL_CODES
        plain: list[Row] = []
        others: list[Row] = []
        for j in judgments:
            key = (j.segment, j.span, j.phrase)
            phrase = phrases.get(key) or self._phrase(key)
            worker = workers.get(j.worker) or self._worker(j.worker)
            origin = origins.get(j.origin) or self._origin(j.origin)
            label = codes[j.label._value_]
            if j.severity is None and j.time is None and j.weight == 1 and j.source == "import":
                plain.append((phrase, worker, origin, label))
            else:
                check_severity(j.label, j.severity)
                source = SOURCE_CODES.get(j.source, j.source)
                others.append((phrase, worker, origin, label, 1, source, j.time, j.weight, j.severity))
        return plain, others

    def _numbered_rows(self, rows: Iterator[Row]) -> Iterator[Row]:
        phrases, workers, origins = self._phrases, self._workers, self._origins
        for segment, start, stop, phrase, worker, origin, label, number, source, *more in rows:
            key = (segment, (start, stop), phrase)
            yield (
                phrases.get(key) or self._normal_phrase(key),
                workers.get(worker) or self._worker(worker),
                origins.get(origin) or self._origin(origin),
                LABEL_CODES.get(label, label),
                number,
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
        of_span = self._span(segment, span)
        number = None
        if of_span not in self._whole_spans:
            number = self._one("SELECT id FROM phrases WHERE span = ? AND phrase = ?", of_span, phrase)
        if number is None:
            self._last_phrase = number = self._last_phrase + 1
            self._new_phrases.append((of_span, phrase, number))
        self._phrases[key] = int(number)
        return self._phrases[key]

    def _span(self, segment: str, span: tuple[int, int]) -> int:
        spans = self._spans.get(segment)
        if spans is None:
            rows = self._db.execute("SELECT start, stop, id FROM spans WHERE segment = ?", [segment])
            spans = self._spans[segment] = {(start, stop): number for start, stop, number in rows}
        if span not in spans:
            self._last_span = spans[span] = self._last_span + 1
            self._new_spans.append((spans[span], segment, *span))
            self._whole_spans.add(spans[span])
        return spans[span]

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
        if number is None:
            number = self._db.execute("INSERT INTO names (name) VALUES (?)", [name]).lastrowid
        return int(number or 0)

    def _one(self, sql: str, *values: str | int) -> Any:
        row = self._db.execute(sql, values).fetchone()
        return row and row[0]


def insert_many(connection: sqlite3.Connection, table: str, rows: Sequence[Row], conflict: str = "") -> None:
    """Insert rows of one width; ``table`` may name columns, ``conflict`` says what becomes of what is there."""
    if rows:
        row = f"({', '.join('?' * len(rows[0]))})"
        whole = len(rows) - len(rows) % TOGETHER
        groups = (tuple(chain.from_iterable(rows[i : i + TOGETHER])) for i in range(0, whole, TOGETHER))
        connection.executemany(f"INSERT INTO {table} VALUES {', '.join([row] * TOGETHER)} {conflict}", groups)
        connection.executemany(f"INSERT INTO {table} VALUES {row} {conflict}", rows[whole:])


def check_severity(label: Label, severity: float | None) -> None:
    """Refuse a severity that is not of a NO, or that is no penalty."""
    if severity is not None and label != Label.NO:
        raise FormatError(f"expected a severity with the label NO only, found {severity} with {label}")
    if severity is not None and not 0 <= severity < math.inf:
        raise FormatError(f"expected a severity of at least 0, found {severity}")
