"""Comparisons as arrays: what every model of `hits.ranking` is fitted to."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Ids, Ints
from rypt.text import RyptError

Counts = NDArray[np.int64]  # (systems, systems)
Outcomes = NDArray[np.int8]
Record = tuple[str, str, str, int, str]  # segment, system a, system b, outcome, worker

BETTER, EQUAL, WORSE = 1, 0, -1


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """Comparisons of two systems each, all arrays of the same length.

    A ranking of five candidates is ten comparisons with the same ``row``. ``segments`` and ``workers`` hold one empty
    name where the input does not say which they were.
    """

    systems: tuple[str, ...]
    a: Ids  # indices into systems
    b: Ids
    outcome: Outcomes  # 1: a is better, 0: equal, -1: b is better
    row: Ids  # which judgment of two or more systems it comes from
    segment: Ids  # indices into segments
    worker: Ids  # indices into workers
    segments: tuple[str, ...] = ("",)
    workers: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        sizes = {len(array) for array in (self.a, self.b, self.outcome, self.row, self.segment, self.worker)}
        if len(sizes) != 1:
            raise ValueError(f"expected arrays of one length, found {sorted(sizes)}")
        if len(set(self.systems)) != len(self.systems):
            raise ValueError("expected every system once")
        itself = np.flatnonzero(self.a == self.b)
        if len(itself):
            raise RyptError(f"the system {self.systems[self.a[itself[0]]]} is compared with itself")

    def __len__(self) -> int:
        return len(self.a)

    def has_rows(self) -> bool:
        """Whether some comparisons come from one judgment of several systems."""
        return len(np.unique(self.row)) < len(self)

    def counts(self) -> tuple[Counts, Counts]:
        """``wins[i, j]``: how often i was better than j; ``ties[i, j]``: how often they were equal, symmetric."""
        n = len(self.systems)
        cells = (self.a.astype(np.int64) * n + self.b) * 3 + self.outcome + 1
        table = np.bincount(cells, minlength=n * n * 3).reshape(n, n, 3)
        return table[:, :, 2] + table[:, :, 0].T, table[:, :, 1] + table[:, :, 1].T

    def pairs(self, *, ties: bool = True) -> tuple[NDArray[np.intp], NDArray[np.intp], Counts]:
        """The systems i < j of each pair that was compared, and how often i was worse, equal, better, (pairs, 3)."""
        wins, tied = self.counts()
        i, j = np.nonzero(np.triu(wins + wins.T + tied * ties, 1))
        return i, j, np.stack([wins[j, i], tied[i, j] * ties, wins[i, j]], axis=1)

    def records(self) -> Iterator[Record]:
        """The comparisons, one by one."""
        columns = (array.tolist() for array in (self.segment, self.a, self.b, self.outcome, self.worker))
        for segment, a, b, outcome, worker in zip(*columns, strict=True):
            yield self.segments[segment], self.systems[a], self.systems[b], outcome, self.workers[worker]

    def segments_or_rows(self) -> Ints:
        """The number of each comparison's segment; without a name, each row is a separate segment."""
        unnamed = np.array([name == "" for name in self.segments])[self.segment]
        return np.where(unnamed, len(self.segments) + self.row.astype(np.int64), self.segment)

    def take(self, indices: NDArray[np.intp]) -> "Comparisons":
        """These comparisons, in this order, with repeats where an index repeats; all systems stay."""
        return replace(
            self,
            a=self.a[indices],
            b=self.b[indices],
            outcome=self.outcome[indices],
            row=self.row[indices],
            segment=self.segment[indices],
            worker=self.worker[indices],
        )

    def shuffled(self, rng: np.random.Generator) -> "Comparisons":
        """The same comparisons in random order."""
        return self.take(rng.permutation(len(self)))

    def without(self, system: str) -> "Comparisons":
        """No comparison with this system, which is no longer there."""
        if system not in self.systems:
            raise RyptError(f"expected one of the systems {', '.join(self.systems)}, found {system!r}")
        return self.among([i for i, name in enumerate(self.systems) if name != system])

    def among(self, systems: Sequence[int]) -> "Comparisons":
        """Only these systems, numbered anew in the order given, and the comparisons among them."""
        place = np.full(len(self.systems), -1, np.int32)
        place[list(systems)] = np.arange(len(systems), dtype=np.int32)
        kept = self.take(np.flatnonzero((place[self.a] >= 0) & (place[self.b] >= 0)))
        return replace(
            kept, systems=tuple(self.systems[i] for i in systems), a=place[kept.a], b=place[kept.b]
        )

    def components(self) -> list[tuple[int, ...]]:
        """The systems in groups between which there is no comparison, the largest group first.

        >>> pairs = [("s1", "a", "b", 1, ""), ("s1", "c", "d", 0, "")]
        >>> comparisons_of(pairs).components()
        [(0, 1), (2, 3)]
        """
        wins, ties = self.counts()
        reach = (wins + wins.T + ties > 0) | np.eye(len(wins), dtype=np.bool_)
        while (further := reach @ reach).sum() > reach.sum():
            reach = further
        groups = {tuple(np.flatnonzero(row).tolist()) for row in reach}
        return sorted(groups, key=lambda group: (-len(group), group))


def compared_only(comparisons: Comparisons) -> Comparisons:
    """Only the systems that are in a comparison."""
    used = np.unique(np.concatenate([comparisons.a, comparisons.b])).tolist()
    return comparisons if len(used) == len(comparisons.systems) else comparisons.among(used)


class Names:
    """Numbers for names, in the order in which they appear."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def number(self, name: str) -> int:
        """The number of a name, a new one for a new name."""
        return self.index.setdefault(name, len(self.index))

    def names(self) -> tuple[str, ...]:
        """All names, by number; one empty name where there was none."""
        return tuple(self.index) or ("",)


def comparisons_of(
    records: Iterable[Record], systems: Sequence[str] | None = None, *, rows: Iterable[str] | None = None
) -> Comparisons:
    """Comparisons from (segment, system a, system b, outcome, worker); systems are sorted by name unless given.

    ``rows`` has a name for each record: those of the same name come from one judgment of several systems.

    >>> pairs = comparisons_of([("s1", "uedin", "cu", 1, "w1"), ("s2", "cu", "uedin", 0, "w1")])
    >>> pairs.systems, pairs.a.tolist(), pairs.outcome.tolist()
    (('cu', 'uedin'), [1, 0], [1, 0])
    """
    items = list(records)
    for _, _, _, outcome, _ in items:
        if outcome not in (BETTER, EQUAL, WORSE):
            raise RyptError(f"expected an outcome 1, 0 or -1, found {outcome!r}")
    names = tuple(systems) if systems is not None else tuple(sorted({name for r in items for name in r[1:3]}))
    place = {name: i for i, name in enumerate(names)}
    segments, workers, row_names = Names(), Names(), Names()
    try:
        values = [
            (place[a], place[b], outcome, segments.number(segment), workers.number(worker))
            for segment, a, b, outcome, worker in items
        ]
    except KeyError as error:
        raise RyptError(f"expected one of the systems {', '.join(names)}, found {error.args[0]!r}") from None
    columns = np.array(values, dtype=np.int32).reshape(-1, 5).T
    return Comparisons(
        systems=names,
        a=columns[0],
        b=columns[1],
        outcome=columns[2].astype(np.int8),
        row=(
            np.arange(len(items), dtype=np.int32)
            if rows is None
            else np.array([row_names.number(row) for row in rows], np.int32)
        ),
        segment=columns[3],
        worker=columns[4],
        segments=segments.names(),
        workers=workers.names(),
    )


def from_counts(systems: Sequence[str], wins: Counts, ties: Counts) -> Comparisons:
    """One comparison for each counted one, a row each, in no particular segment; the inverse of `Comparisons.counts`.

    ``ties`` is symmetric: ``ties[i, j]`` and ``ties[j, i]`` count the same judgments.
    """
    n = len(systems)
    wins, ties = np.asarray(wins, np.int64), np.asarray(ties, np.int64)
    if wins.shape != (n, n) or ties.shape != (n, n):
        raise ValueError(f"expected counts of shape {(n, n)}, found {wins.shape} and {ties.shape}")
    if (wins < 0).any() or (ties < 0).any() or (ties != ties.T).any():
        raise ValueError("expected counts from 0 up, ties the same both ways")
    if wins.diagonal().any() or ties.diagonal().any():
        raise RyptError("a system is compared with itself")
    first, second = np.divmod(np.arange(n * n, dtype=np.int32), n)
    won, tied = wins.ravel(), np.triu(ties, 1).ravel()
    a = np.concatenate([np.repeat(first, won), np.repeat(first, tied)])
    b = np.concatenate([np.repeat(second, won), np.repeat(second, tied)])
    outcome = np.concatenate([np.full(won.sum(), BETTER, np.int8), np.full(tied.sum(), EQUAL, np.int8)])
    zeros = np.zeros(len(a), np.int32)  # neither segments nor workers have names
    return Comparisons(tuple(systems), a, b, outcome, np.arange(len(a), dtype=np.int32), zeros, zeros)


def merge(parts: Sequence[Comparisons]) -> Comparisons:
    """All comparisons of several sets, one after the other; systems of the same name are one system."""
    if len(parts) == 1:
        return parts[0]
    records = [record for part in parts for record in part.records()]
    rows = [f"{k} {row}" for k, part in enumerate(parts) for row in part.row.tolist()]
    return comparisons_of(records, rows=rows)
