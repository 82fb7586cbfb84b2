"""The votes on many keys as columns: what a scorer needs of hundreds of thousands of them, without an object each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap

from rypt.arrays import Floats, Ids
from rypt.records import Span, Votes


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
