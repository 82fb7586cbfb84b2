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
_NO_KEYS = np.empty((0, 2), np.int64)
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

    def counts(
        self, *, workers: Collection[str] | None = None, origins: Collection[str] | None = None
    ) -> Floats:
        """The votes of these workers, in these places, on each key, (keys, 5): YES, NO, NOT_SURE, penalty, graded."""
        chosen = np.ones(len(self._rows), np.bool_)
        for column, names in ((2, workers), (3, origins)):
            if names is not None:
                chosen &= np.isin(
                    self._rows[:, column], [self._names[name] for name in names if name in self._names]
                )
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
    numbers, phrases = [_NO_KEYS], list[str]()
    for start, texts in _ranges(
        db, ("span", "id"), "phrases", "span", SPANS, "group_concat(phrase, char(10))"
    ):
        numbers.append(_columns(texts[:-1]))
        words = texts[-1].split("\n")
        if len(words) != len(numbers[-1]):  # a phrase with a line break, which this program does not write
            sql = "SELECT span, id, phrase FROM phrases WHERE span >= ? AND span < ?"
            rows = db.execute(sql, (start, start + SPANS)).fetchall()
            numbers[-1] = np.array([row[:2] for row in rows], np.int64)
            words = [row[2] for row in rows]
        phrases += words
    span, number = np.concatenate(numbers).T
    return KeyRows(span, number, phrases)


def read_key_numbers(db: sqlite3.Connection) -> Ints:
    """The number of the span and that of the phrase of all keys, (keys, 2), by span and phrase."""
    parts = [_columns(texts) for _, texts in _ranges(db, ("span", "id"), "phrases", "span", SPANS)]
    return np.concatenate([_NO_KEYS, *parts])


def read_integers(db: sqlite3.Connection, columns: Sequence[str], table: str, where: str = "1") -> Ints:
    """Columns of whole numbers of judgments, (judgments, columns), by phrase."""
    parts = [_columns(texts) for _, texts in _ranges(db, columns, table, "phrase", PHRASES, where=where)]
    return np.concatenate([np.empty((0, len(columns)), np.int64), *parts])


def read_counted(db: sqlite3.Connection) -> Floats:
    """The judgments that count, (judgments, 6): phrase, label, worker, origin, weight, severity (-1 for none).

    Most have the weight 1 and no severity, and are whole numbers.
    """
    names = ("phrase", "label", "worker", "origin")
    whole = read_integers(db, names, "counted_rows", "weight = 1 AND severity IS NULL")
    usual = np.broadcast_to(np.array([1.0, -1.0]), (len(whole), 2))
    columns = f"{', '.join(names)}, weight, ifnull(severity, -1)"
    rest = db.execute(f"SELECT {columns} FROM counted_rows WHERE weight <> 1 OR severity IS NOT NULL")
    rows = np.fromiter(chain.from_iterable(rest), np.float64).reshape(-1, len(names) + 2)
    return np.concatenate([np.concatenate([whole, usual], axis=1), rows])


def _ranges(
    db: sqlite3.Connection,
    columns: Sequence[str],
    table: str,
    by: str,
    step: int,
    more: str = "1",
    where: str = "1",
) -> Iterator[tuple[int, list[str]]]:
    """Columns of whole numbers, each as one text, for ranges of the column ``by``, as a text has a largest size.

    Each comes with the beginning of its range and with what the aggregate ``more`` is; empty ones are left out.
    """
    last = (
        db.execute(f"SELECT max({by}) FROM {'phrases' if by == 'span' else 'judgment_rows'}").fetchone()[0]
        or 0
    )
    texts = ", ".join(f"group_concat({column}, ' ')" for column in columns)
    sql = f"SELECT {texts}, {more} FROM {table} WHERE ({where}) AND {by} >= ? AND {by} < ?"
    for start in range(0, last + 1, step):
        row = db.execute(sql, (start, start + step)).fetchone()
        if row[0] is not None:
            yield start, list(row) if more != "1" else list(row[:-1])


def _columns(texts: Sequence[str]) -> Ints:
    return np.stack([np.fromstring(text, np.int64, sep=" ") for text in texts], axis=1)


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
