"""The votes on many keys as columns: what a scorer needs of hundreds of thousands of them, without an object each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

import numpy as np

from rypt.arrays import Floats, Ids, Ints
from rypt.records import Label, Span, Votes

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


def sum_votes(
    spans: Sequence[tuple[int, str, int, int]],
    keys: Sequence[tuple[int, int, str]],
    rows: Floats,
    codes: Mapping[str, int],
) -> VoteColumns:
    """The votes on each key that has some, by segment, span and phrase.

    ``spans`` are rows of number, segment, start and stop, in order; ``keys`` rows of span, number and phrase, by span
    and phrase; ``rows`` judgments that count: the number of a phrase, a label, a weight, a severity (-1 for none).
    ``codes`` are the numbers of labels.
    """
    rank = _places([span[0] for span in spans])
    of_span = _taken(rank, [key[0] for key in keys])
    place = _places([key[1] for key in keys])
    which = _taken(place, rows[:, 0].astype(np.int64))
    rows, which = rows[which >= 0], which[which >= 0]
    counts = np.bincount(which, minlength=len(keys))
    label, weight, severity = rows[:, 1], rows[:, 2], rows[:, 3]
    graded = weight * (severity >= 0)
    parts: list[Floats] = [weight * (label == codes[name]) for name in (Label.YES, Label.NO, Label.NOT_SURE)]
    parts += [graded * severity, graded]
    sums = [_rounded(np.bincount(which, part, len(keys)).astype(np.float64)) for part in parts]
    order = np.argsort(of_span, kind="stable")
    order = order[(counts[order] > 0) & (of_span[order] >= 0)]
    return VoteColumns(
        [(segment, Span(start, stop)) for _, segment, start, stop in spans],
        of_span[order].astype(np.int32),
        [keys[i][2] for i in order.tolist()],
        *(column[order] for column in sums),
    )


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
