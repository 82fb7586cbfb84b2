"""All judgments that count as columns of numbers: what evaluations sum up again and again in other ways.

    table = read_vote_table(db)   →   rypt.picks.grouped.GroupedVotes(trees, table, candidates, group="worker")

Millions of judgments are read in seconds; one object each would take minutes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from rypt.arrays import Codes, Floats, Ids
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Label, Votes

T = TypeVar("T")
Key = tuple[str, int, int, str]  # segment, start, stop, phrase
LABELS = {str(label): i for i, label in enumerate((Label.YES, Label.NO, Label.NOT_SURE))}
BLOCK = 50_000


@dataclass(frozen=True, slots=True)
class VoteTable:
    """Votes: for each the numbers of its key, worker, origin and label (YES, NO, NOT_SURE), its weight and severity.

    The severity is nan where nobody said it.
    """

    keys: list[Key]
    workers: list[str]
    origins: list[str]
    key: Ids
    worker: Ids
    origin: Ids
    label: Codes
    weight: Floats
    severity: Floats

    def __len__(self) -> int:
        return len(self.key)

    @classmethod
    def from_votes(cls, votes: Iterable[tuple[str, Votes]]) -> "VoteTable":
        """The votes of named groups, each of which is both a worker and an origin here.

        >>> from rypt.records import Span
        >>> table = VoteTable.from_votes([("JHU", Votes("12", Span(0, 2), "the house", 2.0, 1.0))])
        >>> table.keys, table.origins, table.label.tolist(), table.weight.tolist()
        ([('12', 0, 2, 'the house')], ['JHU'], [0, 1], [2.0, 1.0])
        """
        columns = _Columns()
        for group, vote in votes:
            severity = vote.penalty / vote.graded if vote.graded else None
            parts = (
                ("YES", vote.yes, None), ("NO", vote.graded, severity), ("NO", vote.no - vote.graded, None),
                ("NOT_SURE", vote.not_sure, None),
            )  # fmt: skip
            for label, weight, grade in parts:
                if weight:
                    columns.add([(vote.segment, *vote.span, vote.phrase, group, group, label, weight, grade)])
        return columns.table()


@dataclass(slots=True)
class _Columns:
    """Blocks of rows on their way into columns; names are numbered in the order in which they come."""

    keys: dict[Key, int] = field(default_factory=dict)
    workers: dict[str, int] = field(default_factory=dict)
    origins: dict[str, int] = field(default_factory=dict)
    blocks: list[tuple[Ids, Ids, Ids, Codes, Floats, Floats]] = field(default_factory=list)

    def add(self, rows: list[tuple[str, int, int, str, str, str, str, float, float | None]]) -> None:
        segments, starts, stops, phrases, workers, origins, labels, weights, severities = zip(*rows, strict=True)
        self.blocks.append((
            _numbered(self.keys, zip(segments, starts, stops, phrases, strict=True)),
            _numbered(self.workers, workers),
            _numbered(self.origins, origins),
            np.array([LABELS[label] for label in labels], np.int8),
            np.array(weights, np.float64),
            np.array(severities, np.float64),  # None becomes nan
        ))  # fmt: skip

    def table(self) -> VoteTable:
        kinds = (np.int32, np.int32, np.int32, np.int8, np.float64, np.float64)
        columns = [
            np.concatenate([np.empty(0, kind), *(block[i] for block in self.blocks)]) for i, kind in enumerate(kinds)
        ]
        return VoteTable(list(self.keys), list(self.workers), list(self.origins), *columns)


def _numbered(numbers: dict[T, int], values: Iterable[T]) -> Ids:
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int32)


def read_vote_table(db: JudgmentDatabase) -> VoteTable:
    """All judgments that count, in the order of their keys."""
    columns = _Columns()
    with db.errors():
        rows = db.db.execute("""
            SELECT segment, start, stop, phrase, worker, origin, label, weight, severity FROM counted
            ORDER BY segment, start, stop, phrase, worker, origin
        """)
        while block := rows.fetchmany(BLOCK):
            columns.add(block)
    return columns.table()
