"""WMT's rankings of several systems at once, and counts of wins.

A ranking of five candidates is ten comparisons. Counts are ``sys1 sys2 better equal worse``, each pair once or both ways.
"""

import re
from itertools import combinations

import numpy as np

from hits.ranking.data import Comparisons, Record, comparisons_of, from_counts
from hits.ranking.readers.text_file import Part, TextFile
from rypt.text import InputError

RANKS = {"-1": -1} | {str(rank): rank for rank in range(1, 6)}
MOST = 100_000_000  # comparisons in a file of counts: each becomes an element of arrays
Cell = tuple[int, int, int]  # better, equal, worse


def is_wmt_rankings(file: TextFile) -> bool:
    return "system1id" in map(str.lower, file.header)


def read_wmt_rankings(file: TextFile) -> list[Part]:
    """WMT's ranking CSV, for each language pair; the header's case does not matter, nor does the order of columns.

    A rank of -1 means that the candidate was not judged. ``rankingID``, where it is there, says which rows were one
    ranking.
    """
    names = [name.lower() for name in file.header]
    size = sum(bool(re.fullmatch(r"system\d+id", name)) for name in names)
    line = file.lines[0][0]
    for name in (*(f"system{k}{what}" for what in ("id", "rank") for k in range(1, size + 1)), "judgeid"):
        if name not in names:
            raise file.error(f"expected a column {name} in the header", line)
    segment = next((name for name in ("segmentid", "srcindex") if name in names), None)
    if size < 2 or segment is None:
        missing = "system2Id" if size < 2 else "segmentId or srcIndex"
        raise file.error(f"expected a column {missing} in the header", line)
    records: dict[str, list[Record]] = {}
    rows: dict[str, list[str]] = {}
    for number, row in file.rows():
        values = {name.lower(): text for name, text in row.items()}
        judged = _judged(
            file, number, [(values[f"system{k}id"], values[f"system{k}rank"]) for k in range(1, size + 1)]
        )
        pair = "-".join(filter(None, (values.get("srclang"), values.get("trglang"))))
        for (a, first), (b, second) in combinations(judged, 2):
            outcome = int(first < second) - int(first > second)
            records.setdefault(pair, []).append((values[segment], a, b, outcome, values["judgeid"]))
            rows.setdefault(pair, []).append(values.get("rankingid", str(number)))
    if not records:
        what = "only a header" if len(file.lines) == 1 else "none: nothing is judged"
        raise file.error(f"expected rankings, found {what}")
    return [(pair, comparisons_of(some, rows=rows[pair])) for pair, some in records.items()]


def _judged(file: TextFile, number: int, ranking: list[tuple[str, str]]) -> list[tuple[str, int]]:
    """The systems of a row that were judged, with their ranks; a slot left empty may have any name."""
    for _, text in ranking:
        if text not in RANKS:
            raise file.error(f"expected a rank 1 to 5, or -1 for not judged, found {text!r}", number)
    judged = [(system, RANKS[text]) for system, text in ranking if RANKS[text] > 0]
    systems = [system for system, _ in judged]
    if "" in systems:
        raise file.error("expected the name of a system, found nothing", number)
    if len(set(systems)) < len(systems):
        twice = next(system for system in systems if systems.count(system) > 1)
        raise file.error(f"the system {twice} is compared with itself", number)
    return judged


def is_counts(file: TextFile) -> bool:
    fields = file.first.split()
    return len(fields) == 5 and all(field.isdecimal() for field in fields[2:])


def read_counts(file: TextFile) -> list[Part]:
    """``sys1 sys2 better equal worse``; a pair that is there both ways must say the same, and counts once."""
    cells: dict[tuple[str, str], Cell] = {}
    for number, line in file.lines:
        fields = line.split()
        if len(fields) != 5 or not all(field.isdecimal() for field in fields[2:]):
            problem = f"expected two systems, better, equal and worse, found {line.strip()[:60]!r}"
            raise file.error(problem, number)
        a, b = fields[:2]
        cell = (int(fields[2]), int(fields[3]), int(fields[4]))
        if a == b:
            raise file.error(f"the system {a} is compared with itself", number)
        if (a, b) in cells:
            raise file.error(f"expected the pair {a} {b} once, found it twice", number)
        if cells.get((b, a), cell[::-1]) != cell[::-1]:
            theirs = " ".join(map(str, cells[b, a]))
            raise file.error(f"expected what {b} {a} says mirrored ({theirs}), found {cell[0]} …", number)
        cells[a, b] = cell
        _check_size(file, number, sum(cell))
    return [("", _from_cells(file, cells))]


def _check_size(file: TextFile, number: int | None, comparisons: int) -> None:
    if comparisons > MOST:
        raise InputError(file.path, number, f"expected at most {MOST:,} comparisons, found {comparisons:,}")


def _from_cells(file: TextFile, cells: dict[tuple[str, str], Cell]) -> Comparisons:
    systems = sorted({name for pair in cells for name in pair})
    place = {name: i for i, name in enumerate(systems)}
    wins, ties = np.zeros((2, len(systems), len(systems)), np.int64)
    for (a, b), (better, equal, worse) in cells.items():
        i, j = place[a], place[b]
        wins[i, j], wins[j, i] = better, worse
        ties[i, j] = ties[j, i] = equal
    _check_size(file, None, int(wins.sum() + ties.sum() // 2))
    return from_counts(systems, wins, ties)
