"""The votes on many keys as columns: what a scorer needs of hundreds of thousands of them, without an object each."""

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, starmap
from typing import Any, NamedTuple

import numpy as np

from rypt.arrays import Floats, Ids, Ints
from rypt.records import Label, Span, Votes

_MIX = np.uint64(0x9E3779B97F4A7C15)
_NO_INTS = np.empty(0, np.int64)
SPANS, PHRASES = 20_000, 500_000  # read at once
DIGITS = 9  # sums are rounded, so that 0.1 + 0.2 ties with 0.3


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """Judged keys: ``spans`` with their segments, for each key its span and phrase."""

    spans: Sequence[tuple[str, Span]]
    span: Ids  # of each key, as an index into spans
    phrases: list[str]

    def __len__(self) -> int:
        return len(self.phrases)


@dataclass(frozen=True, slots=True)
class VoteColumns(KeyColumns):
    """The votes on keys, and the sums of their votes.

    Iterating gives the same as `Votes`.
    """

    yes: Floats
    no: Floats
    not_sure: Floats
    penalty: Floats
    graded: Floats

    def __iter__(self) -> Iterator[Votes]:
        spans = self.spans
        sums = (column.tolist() for column in (self.yes, self.no, self.not_sure, self.penalty, self.graded))
        places = (spans[i] for i in self.span.tolist())
        columns = zip(places, self.phrases, *sums, strict=True)
        yield from starmap(lambda place, *rest: Votes(*place, *rest), columns)


class Keys:
    """Keys in the order of their segments, spans and phrases, of those that have judgments."""

    def __init__(self, spans: Sequence[tuple[int, str, int, int]], keys: "KeyRows", judged: Ints) -> None:
        """``spans`` are rows of number, segment, start and stop, in order; ``judged`` the phrases of judgments."""
        of_span = _taken(_places([span[0] for span in spans]), keys.span)
        which = _taken(_places(keys.number), judged)
        counts = np.bincount(which[which >= 0], minlength=len(keys.phrase))
        order = np.argsort(of_span, kind="stable")
        order = order[(counts[order] > 0) & (of_span[order] >= 0)]
        self.spans = [(segment, Span(start, stop)) for _, segment, start, stop in spans]
        self.span = of_span[order].astype(np.int32)
        self.phrases = [keys.phrase[i] for i in order.tolist()]
        place = np.full(len(keys.phrase) + 1, -1, np.int64)  # one more, for judgments without a key
        place[order] = np.arange(len(order))
        self.of_judgments = place[which]  # the key of each judgment, -1 where it has none

    def columns(self) -> KeyColumns:
        """The keys alone."""
        return KeyColumns(self.spans, self.span, self.phrases)


class VoteRows:
    """Judgments that count, as numbers: votes of any workers or places can be summed up from them by key."""

    def __init__(
        self,
        spans: Sequence[tuple[int, str, int, int]],
        keys: "KeyRows",
        rows: Floats,
        codes: Mapping[str, int],
        names: Mapping[str, int],
    ) -> None:
        """``spans`` are rows of number, segment, start and stop, in order; ``rows`` judgments: the number of a phrase,
        a label, a worker, an origin, a weight, a severity (-1 for none). ``codes`` are the numbers of labels, ``names``
        those of workers and origins.
        """
        sorted_keys = Keys(spans, keys, rows[:, 0].astype(np.int64))
        self._keys = sorted_keys.columns()
        key = sorted_keys.of_judgments
        self._key, self._rows = key[key >= 0], rows[key >= 0]
        self._codes = codes
        self._names = names

    def counts(self, *, workers: Collection[str] | None = None, origins: Collection[str] | None = None) -> Floats:
        """The votes of these workers, in these places, on each key, (keys, 5): YES, NO, NOT_SURE, penalty, graded."""
        chosen = np.ones(len(self._rows), np.bool_)
        for column, names in ((2, workers), (3, origins)):
            if names is not None:
                chosen &= np.isin(self._rows[:, column], [self._names[name] for name in names if name in self._names])
        key, rows = self._key[chosen], self._rows[chosen]
        label, weight, severity = rows[:, 1], rows[:, 4], rows[:, 5]
        graded = weight * (severity >= 0)
        parts = [weight * (label == self._codes[name]) for name in (Label.YES, Label.NO, Label.NOT_SURE)]
        parts += [graded * severity, graded]
        size = len(self._keys)
        return np.stack([_rounded(np.bincount(key, part, size).astype(np.float64)) for part in parts], axis=1)

    def columns(self) -> VoteColumns:
        """All votes, by segment, span and phrase."""
        return VoteColumns(self._keys.spans, self._keys.span, self._keys.phrases, *self.counts().T.copy())


class KeyRows(NamedTuple):
    """Rows of the table of keys: the number of the span, the number of the phrase, and the phrase."""

    span: Ints
    number: Ints
    phrase: list[str]


def read_keys(db: sqlite3.Connection) -> KeyRows:
    """All keys, by span and phrase.

    SQLite puts the values of many rows into one text, which is read at once: a third of the time of a row each.
    """
    last = db.execute("SELECT max(span) FROM phrases").fetchone()[0] or 0
    spans, numbers, phrases = [_NO_INTS], [_NO_INTS], list[str]()
    for start in range(0, last + 1, SPANS):
        part = "FROM phrases WHERE span >= ? AND span < ?"
        some = (start, start + SPANS)
        columns = f"group_concat(span, ' '), group_concat(id, ' '), group_concat(phrase, char(10)) {part}"
        span, number, text = db.execute(f"SELECT {columns}", some).fetchone()
        if span is None:
            continue
        words = text.split("\n")
        spans.append(_integers(span))
        numbers.append(_integers(number))
        if len(words) != len(numbers[-1]):  # a phrase with a line break, which this program does not write
            rows = db.execute(f"SELECT span, id, phrase {part}", some).fetchall()
            spans[-1], numbers[-1] = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
            words = [row[2] for row in rows]
        phrases += words
    return KeyRows(np.concatenate(spans), np.concatenate(numbers), phrases)


def read_judged(db: sqlite3.Connection) -> Ints:
    """The number of the phrase of each judgment that counts."""
    parts = [_integers(*row) for row in _phrase_ranges(db, "group_concat(phrase, ' ')", "counted_rows")]
    return np.concatenate([_NO_INTS, *parts])


def read_counted(db: sqlite3.Connection) -> Floats:
    """The judgments that count, (judgments, 6): phrase, label, worker, origin, weight, severity (-1 for none).

    Most have the weight 1 and no severity; their numbers are read as `read_keys` does.
    """
    names = ("phrase", "label", "worker", "origin")
    columns = ", ".join(f"group_concat({name}, ' ')" for name in names)
    plain = "counted_rows WHERE weight = 1 AND severity IS NULL"
    parts = [np.stack([_integers(text) for text in row], axis=1) for row in _phrase_ranges(db, columns, plain)]
    whole = np.concatenate([np.zeros((0, len(names)), np.int64), *parts])
    usual = np.broadcast_to(np.array([1.0, -1.0]), (len(whole), 2))
    others = f"SELECT {', '.join(names)}, weight, ifnull(severity, -1) FROM counted_rows"
    rest = db.execute(f"{others} WHERE weight <> 1 OR severity IS NOT NULL")
    rows = np.fromiter(chain.from_iterable(rest), np.float64).reshape(-1, 6)
    return np.concatenate([np.concatenate([whole, usual], axis=1), rows])


def _phrase_ranges(db: sqlite3.Connection, columns: str, table: str) -> Iterator[tuple[str, ...]]:
    """Columns of aggregates over ranges of phrases, as a text has a largest size; ranges without rows are left out."""
    last = db.execute("SELECT max(phrase) FROM judgment_rows").fetchone()[0] or 0
    where = "AND" if " WHERE " in table else "WHERE"
    for start in range(0, last + 1, PHRASES):
        sql = f"SELECT {columns} FROM {table} {where} phrase >= ? AND phrase < ?"
        row = db.execute(sql, (start, start + PHRASES)).fetchone()
        if row[0] is not None:
            yield row


def _integers(text: str) -> Ints:
    return np.fromstring(text, np.int64, sep=" ")


def segment_marks(spans: Sequence[tuple[int, str]], phrases: Ints, rows: Floats) -> dict[str, int]:
    """For each segment a number that its votes determine, whatever their order: a sum of hashes of 64 bits.

    ``spans`` are rows of number and segment, ``phrases`` of span and number, ``rows`` of phrase, label, weight and
    severity.
    """
    names = list(dict.fromkeys(segment for _, segment in spans))
    number = {segment: i for i, segment in enumerate(names)}
    of_span = np.full(max([0, *(span for span, _ in spans)]) + 1, -1, np.int64)
    of_span[[span for span, _ in spans]] = [number[segment] for _, segment in spans]
    of_phrase = np.full(int(max(phrases[:, 1].max(initial=0), rows[:, 0].max(initial=0))) + 1, -1, np.int64)
    of_phrase[phrases[:, 1]] = _taken(of_span, phrases[:, 0])
    hashes = np.zeros(len(rows), np.uint64)
    for column in np.ascontiguousarray(rows.T).view(np.uint64):
        hashes = (hashes ^ column) * _MIX
        hashes ^= hashes >> np.uint64(29)
    segment = of_phrase[rows[:, 0].astype(np.int64)]
    sums = np.zeros(len(names) + 1, np.uint64)  # the last for rows without a segment
    np.add.at(sums, segment, hashes)
    return dict(zip(names, sums.tolist(), strict=False))


def _places(numbers: Sequence[int] | Ints) -> Ints:
    """Where each number stands, -1 where it does not."""
    array = np.array(numbers, np.int64)
    places = np.full(int(array.max(initial=0)) + 1, -1, np.int64)
    places[array] = np.arange(len(array))
    return places


def _taken(places: Ints, numbers: Any) -> Ints:
    """The places of numbers, -1 for one that has none."""
    array = np.asarray(numbers, np.int64)
    inside = (array >= 0) & (array < len(places))
    return np.where(inside, places[np.where(inside, array, 0)], -1)


def _rounded(sums: Floats) -> Floats:
    whole = np.rint(sums)
    return sums if (whole == sums).all() else np.round(sums, DIGITS)
