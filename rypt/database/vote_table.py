"""All judgments that count as columns of numbers: what evaluations sum up again and again in other ways.

    table = read_vote_table(db)   →   rypt.picks.grouped.GroupedVotes(trees, table, candidates, group="worker")

Few different votes are given very often (a worker, an origin, a label …), so SQLite writes those of a key in one text,
and each of them is read once. Millions of judgments take seconds; one object each would take minutes.
"""

import json
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rypt.arrays import Codes, Floats, Ids
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Label, Votes

Key = tuple[str, int, int, str]  # segment, start, stop, phrase
LABELS = {str(label): i for i, label in enumerate((Label.YES, Label.NO, Label.NOT_SURE))}
VOTES_OF_KEYS = """
    SELECT segment, start, stop, phrase, group_concat(json_array(worker, origin, label, weight, severity), char(10))
    FROM counted GROUP BY segment, start, stop, phrase
"""


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
        by_key: dict[Key, list[str]] = {}
        for group, vote in votes:
            severity = vote.penalty / vote.graded if vote.graded else None
            parts = (
                ("YES", vote.yes, None),
                ("NO", vote.graded, severity),
                ("NO", vote.no - vote.graded, None),
                ("NOT_SURE", vote.not_sure, None),
            )
            answers = by_key.setdefault((vote.segment, *vote.span, vote.phrase), [])
            answers += [
                json.dumps((group, group, label, weight, grade)) for label, weight, grade in parts if weight
            ]
        return _table(by_key.items())


class _Numbers(dict[Any, int]):
    """Numbers things in the order in which they come."""

    def __missing__(self, thing: object) -> int:
        self[thing] = number = len(self)
        return number


def _table(votes_of_keys: Iterable[tuple[Key, list[str]]]) -> VoteTable:
    """The table of keys with their votes, each a JSON array of worker, origin, label, weight and severity."""
    keys: list[Key] = []
    sizes, given = array("i"), array("i")
    kinds = _Numbers()  # of votes as they are written
    for key, votes in votes_of_keys:
        keys.append(key)
        sizes.append(len(votes))
        given.extend(map(kinds.__getitem__, votes))
    workers, origins = _Numbers(), _Numbers()
    columns = [
        (workers[w], origins[o], LABELS[label], *numbers) for w, o, label, *numbers in map(json.loads, kinds)
    ]
    worker, origin, label, weight, severity = (
        np.array(columns, np.float64).reshape(-1, 5).T
    )  # null becomes nan
    kind = np.frombuffer(given, np.int32) if given else np.zeros(0, np.int32)
    return VoteTable(
        keys,
        list(workers),
        list(origins),
        np.repeat(np.arange(len(keys), dtype=np.int32), sizes),
        worker.astype(np.int32)[kind],
        origin.astype(np.int32)[kind],
        label.astype(np.int8)[kind],
        weight[kind],
        severity[kind],
    )


def read_vote_table(db: JudgmentDatabase) -> VoteTable:
    """All judgments that count, in the order of their keys."""
    with db.errors():
        rows = db.db.execute(VOTES_OF_KEYS)
        return _table(
            ((segment, start, stop, phrase), votes.split("\n"))
            for segment, start, stop, phrase, votes in rows
        )
