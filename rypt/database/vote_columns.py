"""The votes on many keys as columns: what a scorer needs of hundreds of thousands of them, without an object each."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

import numpy as np

from rypt.arrays import Floats, Ids, Ints
from rypt.records import Label, Span, Votes

_MIX = np.uint64(0x9E3779B97F4A7C15)
DIGITS = 9  # sums are rounded, so that 0.1 + 0.2 ties with 0.3


@dataclass(frozen=True, slots=True)
class VoteColumns:
    """The votes on keys: ``spans`` with their segments, for each key its span and phrase, and the sums of its votes.

    Iterating gives the same as `Votes`.
    """

    spans: Sequence[tuple[str, Span]]
    span: Ids  # of each key, as an index into spans
    phrases: list[str]
    yes: Floats
    no: Floats
    not_sure: Floats
    penalty: Floats
    graded: Floats

    def __len__(self) -> int:
        return len(self.phrases)

    def __iter__(self) -> Iterator[Votes]:
        spans = self.spans
        sums = (column.tolist() for column in (self.yes, self.no, self.not_sure, self.penalty, self.graded))
        places = (spans[i] for i in self.span.tolist())
        columns = zip(places, self.phrases, *sums, strict=True)
        yield from starmap(lambda place, *rest: Votes(*place, *rest), columns)


class VoteRows:
    """Judgments that count, as numbers: votes of any workers or places can be summed up from them by key."""

    def __init__(
        self,
        spans: Sequence[tuple[int, str, int, int]],
        keys: Sequence[tuple[int, int, str]],
        rows: Floats,
        codes: Mapping[str, int],
        names: Mapping[str, int],
    ) -> None:
        """``spans`` are rows of number, segment, start and stop, in order; ``keys`` rows of span, number and phrase, by
        span and phrase; ``rows`` judgments: the number of a phrase, a label, a weight, a severity (-1 for none), a
        worker, an origin. ``codes`` are the numbers of labels, ``names`` those of workers and origins.
        """
        of_span = _taken(_places([span[0] for span in spans]), [key[0] for key in keys])
        which = _taken(_places([key[1] for key in keys]), rows[:, 0].astype(np.int64))
        counts = np.bincount(which[which >= 0], minlength=len(keys))
        order = np.argsort(of_span, kind="stable")
        order = order[(counts[order] > 0) & (of_span[order] >= 0)]
        self._spans = [(segment, Span(start, stop)) for _, segment, start, stop in spans]
        self._span = of_span[order].astype(np.int32)
        self._phrases = [keys[i][2] for i in order.tolist()]
        place = np.full(len(keys) + 1, -1, np.int64)  # one more, for rows without a key
        place[order] = np.arange(len(order))
        key = place[which]
        self._key, self._rows = key[key >= 0], rows[key >= 0]
        self._codes = codes
        self._names = names

    def counts(self, *, workers: Collection[str] | None = None, origins: Collection[str] | None = None) -> Floats:
        """The votes of these workers, in these places, on each key, (keys, 5): YES, NO, NOT_SURE, penalty, graded."""
        chosen = np.ones(len(self._rows), np.bool_)
        for column, names in ((4, workers), (5, origins)):
            if names is not None:
                chosen &= np.isin(self._rows[:, column], [self._names[name] for name in names if name in self._names])
        key, rows = self._key[chosen], self._rows[chosen]
        label, weight, severity = rows[:, 1], rows[:, 2], rows[:, 3]
        graded = weight * (severity >= 0)
        parts = [weight * (label == self._codes[name]) for name in (Label.YES, Label.NO, Label.NOT_SURE)]
        parts += [graded * severity, graded]
        size = len(self._phrases)
        return np.stack([_rounded(np.bincount(key, part, size).astype(np.float64)) for part in parts], axis=1)

    def columns(self) -> VoteColumns:
        """All votes, by segment, span and phrase."""
        return VoteColumns(self._spans, self._span, self._phrases, *self.counts().T.copy())


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


def _places(numbers: Sequence[int]) -> Ints:
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
