"""Counts of pairs of systems: Lopez' pairwise files and tournaments."""

from collections.abc import Sequence

import numpy as np

from hits.ranking.data import Comparisons, Counts, from_counts
from rypt.text import InputError, PathLike

Lines = Sequence[tuple[int, str]]
Cell = tuple[int, int, int]  # better, equal, worse
MOST = 100_000_000  # comparisons in a file: each becomes an element of arrays


def read_counts(path: PathLike, lines: Lines) -> Comparisons:
    """``sys1 sys2 better equal worse``; a pair that is there both ways must say the same, and counts once."""
    cells: dict[tuple[str, str], Cell] = {}
    for number, line in lines:
        fields = line.split()
        if len(fields) != 5 or not all(field.isdecimal() for field in fields[2:]):
            counted = line.strip()[:60]
            raise InputError(
                path, number, f"expected two systems, better, equal and worse, found {counted!r}"
            )
        a, b = fields[:2]
        cell = (int(fields[2]), int(fields[3]), int(fields[4]))
        _check_pair(path, number, a, b, (a, b) in cells)
        _check_size(path, number, sum(cell))
        if cells.get((b, a), cell[::-1]) != cell[::-1]:
            theirs = " ".join(map(str, cells[b, a]))
            raise InputError(
                path, number, f"expected what {b} {a} says mirrored ({theirs}), found {cell[0]} …"
            )
        cells[a, b] = cell
    return _from_cells(path, cells)


def read_tournament(path: PathLike, lines: Lines) -> Comparisons:
    """``count sys1 sys2 >`` or ``<``: how often sys1 was better or worse; ties are not there."""
    seen: dict[tuple[str, str, str], int] = {}
    for number, line in lines:
        fields = line.split()
        if len(fields) != 4 or not fields[0].isdecimal() or fields[3] not in ("<", ">"):
            raise InputError(
                path, number, f"expected a count, two systems and < or >, found {line.strip()[:60]!r}"
            )
        count, (_, a, b, sign) = int(fields[0]), fields
        _check_pair(path, number, a, b, (a, b, sign) in seen)
        _check_size(path, number, count)
        mirrored = (b, a, "<" if sign == ">" else ">")
        if seen.get(mirrored, count) != count:
            raise InputError(path, number, f"expected {seen[mirrored]} as {b} {a} says, found {count}")
        seen[a, b, sign] = count
    wins: dict[tuple[str, str], int] = {
        (a, b) if sign == ">" else (b, a): count for (a, b, sign), count in seen.items()
    }
    return _from_cells(path, {(a, b): (wins.get((a, b), 0), 0, wins.get((b, a), 0)) for a, b in wins})


def _check_pair(path: PathLike, number: int, a: str, b: str, twice: bool) -> None:
    if a == b:
        raise InputError(path, number, f"the system {a} is compared with itself")
    if twice:
        raise InputError(path, number, f"the pair {a} {b} is there twice")


def _check_size(path: PathLike, number: int | None, comparisons: int) -> None:
    if comparisons > MOST:
        raise InputError(path, number, f"expected at most {MOST:,} comparisons, found {comparisons:,}")


def _from_cells(path: PathLike, cells: dict[tuple[str, str], Cell]) -> Comparisons:
    systems = sorted({name for pair in cells for name in pair})
    place = {name: i for i, name in enumerate(systems)}
    wins: Counts = np.zeros((len(systems), len(systems)), np.int64)
    ties = np.zeros_like(wins)
    for (a, b), (better, equal, worse) in cells.items():
        i, j = place[a], place[b]
        wins[i, j], wins[j, i] = better, worse
        ties[i, j] = ties[j, i] = equal
    _check_size(path, None, int(wins.sum() + ties.sum() // 2))
    return from_counts(systems, wins, ties)
