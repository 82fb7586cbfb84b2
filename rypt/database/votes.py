"""The judgments that count, as arrays: votes of workers on keys, to be summed over any of them."""

from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes, Floats, Ids, Ints
from rypt.database.judgments import JudgmentDatabase

NOT_SURE, YES, NO = range(3)  # the codes of labels
DIGITS = 9  # sums are rounded, so that 0.1 + 0.2 ties with 0.3

Key = tuple[str, int, int, str]  # segment, start, stop, phrase


@dataclass(frozen=True, slots=True, eq=False)
class VoteArrays:
    """Votes: for each the index of its key, worker and origin, its label, weight and severity.

    ``label`` is 0 for NOT_SURE, 1 for YES, 2 for NO; ``severity`` is nan where nobody said it. Keys are sorted.

    >>> from rypt.records import Judgment, Label, Segment, Span
    >>> db = JudgmentDatabase(":memory:")
    >>> db.add_segments([Segment("12", "das alte Haus")])
    >>> db.add([Judgment("12", Span(0, 3), "the house", Label.YES, worker) for worker in ("Ada", "Bob")])
    2
    >>> votes = read_votes(db)
    >>> votes.keys, votes.workers, votes.counts().tolist()
    ([('12', 0, 3, 'the house')], ['Ada', 'Bob'], [[2.0, 0.0, 0.0, 0.0, 0.0]])
    >>> votes.counts(votes.worker == votes.workers.index("Ada")).tolist()
    [[1.0, 0.0, 0.0, 0.0, 0.0]]
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

    def take(self, mask: NDArray[np.bool_]) -> "VoteArrays":
        return replace(
            self,
            key=self.key[mask],
            worker=self.worker[mask],
            origin=self.origin[mask],
            label=self.label[mask],
            weight=self.weight[mask],
            severity=self.severity[mask],
        )

    def counts(self, mask: NDArray[np.bool_] | None = None) -> Floats:
        """Sums of the votes on each key, (keys, 5): YES, NO, NOT_SURE, penalty, graded.

        The penalty is weight times severity of the NOs with a severity, ``graded`` their weight. ``mask`` chooses
        votes.
        """
        columns = self.key, self.label, self.weight, self.severity
        key, label, weight, severity = columns if mask is None else (column[mask] for column in columns)
        graded = np.where(np.isnan(severity), 0.0, weight)
        parts = [weight * (label == code) for code in (YES, NO, NOT_SURE)]
        parts += [graded * np.nan_to_num(severity), graded]
        sums = np.zeros((len(self.keys), len(parts)))
        for i, part in enumerate(parts):
            sums[:, i] = np.bincount(key, part, minlength=len(self.keys))
        return sums.round(DIGITS)


def read_votes(db: JudgmentDatabase) -> VoteArrays:
    """All judgments that count, by key."""
    with db.errors():
        keys = db.db.execute("""
            SELECT s.id, p.start, p.stop, p.phrase, p.id
            FROM segments AS s CROSS JOIN phrases AS p ON p.segment = s.number
            ORDER BY s.id, p.start, p.stop, p.phrase
        """).fetchall()
        rows = db.db.execute("""
            SELECT phrase, worker, origin, label, weight, ifnull(severity, -1) FROM counted_rows
        """)
        columns = np.fromiter(chain.from_iterable(rows), np.float64).reshape(-1, 6).T
        names = dict(db.db.execute("SELECT id, name FROM names").fetchall())
    key_ids = np.array([key[4] for key in keys], np.int64)
    place = np.zeros(key_ids.max(initial=0) + 1, np.int64)
    place[key_ids] = np.arange(len(keys))
    order = np.argsort(place[columns[0].astype(np.int64)], kind="stable")
    phrase, worker, origin, label, weight, severity = columns[:, order]
    judged, key = np.unique(place[phrase.astype(np.int64)], return_inverse=True)
    workers, worker = _named(worker, names)
    origins, origin = _named(origin, names)
    return VoteArrays(
        [keys[i][:4] for i in judged.tolist()],
        workers,
        origins,
        key.astype(np.int32),
        worker.astype(np.int32),
        origin.astype(np.int32),
        label.astype(np.int8),
        weight,
        np.where(severity < 0, np.nan, severity),
    )


def _named(numbers: Floats, names: dict[int, str]) -> tuple[list[str], Ints]:
    """The names that numbers stand for, sorted, and the index of each number's name."""
    used, inverse = np.unique(numbers, return_inverse=True)
    texts = [names[int(number)] for number in used]
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(texts), np.int64)
    rank[order] = np.arange(len(texts))
    return [texts[i] for i in order], rank[inverse]
