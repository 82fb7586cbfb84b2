"""Columns of judgments into the compact tables, in the order of their keys, so that pages fill up.

    writer = ColumnWriter(connection)            # inside a transaction, which holds the write lock
    writer.put(columns)                          # all judgments of a key at once: repeats are counted here

The spans and phrases of the segments at hand, and the names, are looked up many at a time. Of equal judgments of one
worker in one place the first by line is the first ``repeat``; a judgment that is there is joined with the new one as
`rypt.database.writing` does.
"""

import json
import sqlite3
from collections.abc import Iterable
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Ints
from rypt.database.columns import NO_TIME, JudgmentColumns, TextColumn
from rypt.database.compact import IMPORT, LABEL_CODES
from rypt.database.writing import KEEP_BOTH, REMEMBERED, insert_many

Bools = NDArray[np.bool_]


class ColumnWriter:
    """Adds columns of judgments whose phrases are keys and whose segments are in the database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._names: dict[str, int] = {}
        self._last_name = int(self._one("SELECT max(id) FROM names") or 0)
        self._last_span = int(self._one("SELECT max(id) FROM spans") or 0)
        self._last_phrase = int(self._one("SELECT value FROM settings WHERE name = 'phrases'"))
        self._knows_names = self._last_name == 0  # all that the database has

    def put(self, columns: JudgmentColumns) -> None:
        """Add judgments; all of one key, of one import, have to come together."""
        if not len(columns):
            return
        columns = columns.with_sorted_texts()
        worker, origin = (
            self._numbers_of(column)[column.codes] for column in (columns.worker, columns.origin)
        )
        span, spans = _spans(columns)
        key = span * np.int64(len(columns.phrase.texts)) + columns.phrase.codes
        who = (worker * np.int64(self._last_name + 1) + origin) * len(LABEL_CODES) + columns.label
        order = np.lexsort((columns.line, who, key))
        key, who = key[order], who[order]
        is_first = np.append(True, key[1:] != key[:-1])
        distinct = np.flatnonzero(is_first)
        phrase = self._phrases(columns, order[distinct], span[order[distinct]], spans)[
            np.cumsum(is_first) - 1
        ]
        again = _repeats(is_first | np.append(True, who[1:] != who[:-1]))
        self._insert(columns, order, phrase, worker[order], origin[order], again)

    def _numbers_of(self, column: TextColumn) -> Ints:
        """The numbers of workers or origins; new ones are added, in the order of their names."""
        names = self._names
        if len(names) > REMEMBERED:
            names.clear()
            self._knows_names = False
        missing = [text for text in column.texts if text not in names]
        if missing and not self._knows_names:
            sql = "SELECT name, id FROM names WHERE name IN (SELECT value FROM json_each(?))"
            names.update(self._db.execute(sql, [json.dumps(missing)]).fetchall())
            missing = [text for text in missing if text not in names]
        new = range(self._last_name + 1, self._last_name + 1 + len(missing))
        insert_many(self._db, "names (id, name)", list(zip(new, missing, strict=True)))
        self._last_name += len(missing)
        names.update(zip(missing, new, strict=True))
        return np.array([names[text] for text in column.texts], np.int64)

    def _phrases(self, columns: JudgmentColumns, places: Ints, span: Ints, spans: Ints) -> Ints:
        """The numbers of distinct phrases, which stand at ``places`` of the columns in the order of their keys."""
        numbers, old = self._span_numbers(columns, spans)
        of_span = numbers[span]
        texts = columns.phrase.texts
        phrases = [texts[code] for code in columns.phrase.codes[places].tolist()]
        keys = list(zip(of_span.tolist(), phrases, strict=True))
        known = self._known_phrases(old)
        result = np.array([known.get(key, 0) for key in keys] if known else np.zeros(len(keys)), np.int64)
        new = np.flatnonzero(result == 0)
        result[new] = np.arange(len(new)) + self._last_phrase + 1
        self._last_phrase += len(new)
        rows = [(*keys[i], number) for i, number in zip(new.tolist(), result[new].tolist(), strict=True)]
        insert_many(self._db, "phrases (span, phrase, id)", rows)
        self._db.execute("UPDATE settings SET value = ? WHERE name = 'phrases'", [self._last_phrase])
        return result

    def _span_numbers(self, columns: JudgmentColumns, spans: Ints) -> tuple[Ints, list[int]]:
        """The numbers of spans (rows of segment code, start, stop), and which of them were in the database."""
        segments = columns.segment.texts
        sql = "SELECT segment, start, stop, id FROM spans WHERE segment IN (SELECT value FROM json_each(?))"
        known = {(name, a, b): number for name, a, b, number in self._db.execute(sql, [json.dumps(segments)])}
        numbers, new, old = [], [], []
        for code, start, stop in spans.tolist():
            number = known.get((segments[code], start, stop))
            if number is None:
                self._last_span = number = self._last_span + 1
                new.append((number, segments[code], start, stop))
            else:
                old.append(number)
            numbers.append(number)
        insert_many(self._db, "spans (id, segment, start, stop)", new)
        return np.array(numbers, np.int64), old

    def _known_phrases(self, spans: list[int]) -> dict[tuple[int, str], int]:
        """The numbers of all phrases of these spans."""
        if not spans:
            return {}
        sql = "SELECT span, phrase, id FROM phrases WHERE span IN (SELECT value FROM json_each(?))"
        return {(span, phrase): number for span, phrase, number in self._db.execute(sql, [json.dumps(spans)])}

    def _insert(
        self, columns: JudgmentColumns, order: Ints, phrase: Ints, worker: Ints, origin: Ints, again: Ints
    ) -> None:
        """Insert rows of numbers; those with the default attributes without them."""
        time, weight, severity = columns.time[order], columns.weight[order], columns.severity[order]
        label, source = columns.label[order], columns.source[order]
        key = (phrase, worker, origin, label)
        plain = (source == IMPORT) & (time == NO_TIME) & (weight == 1) & np.isnan(severity) & (again == 1)
        times, severities = _or_null(time, time == NO_TIME), _or_null(severity, np.isnan(severity))
        for table, taken, rows in (
            ("judgment_rows (phrase, worker, origin, label)", plain, key),
            ("judgment_rows", ~plain, (*key, again, source, times, weight, severities)),
        ):
            if taken.all():
                insert_many(self._db, table, list(zip(*map(_listed, rows), strict=False)), KEEP_BOTH)
            elif taken.any():
                some = (column if isinstance(column, repeat) else column[taken] for column in rows)
                insert_many(self._db, table, list(zip(*map(_listed, some), strict=False)), KEEP_BOTH)

    def _one(self, sql: str) -> Any:
        row = self._db.execute(sql).fetchone()
        return row and row[0]


def _spans(columns: JudgmentColumns) -> tuple[Ints, Ints]:
    """For each judgment the number of its span, and the spans (segment code, start, stop), sorted."""
    start, stop = columns.start, columns.stop
    widths = int(start.max()) + 1, int(stop.max()) + 1
    combined = (columns.segment.codes * np.int64(widths[0]) + start) * np.int64(widths[1]) + stop
    distinct, which = np.unique(combined, return_inverse=True)
    rest, stops = np.divmod(distinct, widths[1])
    segments, starts = np.divmod(rest, widths[0])
    return which.astype(np.int64), np.stack([segments, starts, stops], axis=1)


def _repeats(is_first: Bools) -> Ints:
    """1 for the first of equal judgments, 2 for the next, and so on; equal ones stand together."""
    places = np.arange(len(is_first))
    return places - np.maximum.accumulate(np.where(is_first, places, 0)) + 1


def _or_null(values: NDArray[Any], missing: Bools) -> Any:
    """The values with None where they are missing."""
    if missing.all():
        return repeat(None)
    if not missing.any():
        return values
    objects = values.astype(object)
    objects[missing] = None
    return objects


def _listed(column: Any) -> Iterable[Any]:
    return column if isinstance(column, repeat) else column.tolist()
