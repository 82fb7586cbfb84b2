"""Head to head: how often each system was better than each other, with stars where the sign test says so.

As in Koehn's table and WMT's: the cell of row r and column c is the share of all comparisons of r and c, ties among
them, in which the column's system was better. The last line says how often a system was better than the others:
Expected Wins.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hits.ranking.confidence import sign_tests
from hits.ranking.data import Comparisons, Counts
from hits.ranking.model import check_fit
from hits.ranking.models.heuristics import expected_wins
from hits.ranking.table import system_labels
from rypt.arrays import Floats

LEVELS = ((0.01, "‡"), (0.05, "†"), (0.10, "⋆"))  # WMT's marks; Koehn's table has one star, at 0.05


@dataclass(frozen=True, slots=True, eq=False)
class HeadToHead:
    """Shares of wins of all pairs, with the sign tests; systems by name."""

    systems: tuple[str, ...]
    shares: Floats  # (row, column): how often the column was better than the row; NaN where they never met
    tests: Floats  # (systems, systems): p of the sign test
    comparisons: Counts  # (systems, systems): how often they met
    expected: Floats  # (systems,)

    def significant(self, level: float = 0.05) -> float:
        """The share of pairs whose difference is significant."""
        upper = np.triu_indices(len(self.systems), 1)
        return float((self.tests[upper] <= level).mean())


def head_to_head(comparisons: Comparisons) -> HeadToHead:
    """Count who was better than whom."""
    check_fit(comparisons)
    wins, ties = comparisons.counts()
    met = wins + wins.T + ties
    shares = np.divide(wins.T, met, out=np.full(wins.shape, np.nan), where=met > 0)
    return HeadToHead(comparisons.systems, shares, sign_tests(wins), met, expected_wins(wins))


def as_rows(table: HeadToHead, *, marks: bool = False, level: float = 0.05) -> list[list[str]]:
    """The lines of the table: a system, its cells, and at last ``> others``; WMT's three marks if wanted."""

    def star(p: float) -> str:
        if marks:
            return next((mark for bound, mark in LEVELS if p <= bound), "")
        return "★" if p <= level else ""

    rows = []
    for i, system in enumerate(system_labels(table.systems)):
        cells = [
            "–"
            if i == j
            else ""
            if np.isnan(share)
            else f"{share:.2f}".removeprefix("0") + star(table.tests[i, j])
            for j, share in enumerate(table.shares[i])
        ]
        rows.append([system, *cells])
    return [*rows, ["> others", *(f"{score:.2f}" for score in table.expected)]]


def as_record(table: HeadToHead, level: float = 0.05) -> dict[str, Any]:
    """For JSON: the pairs one by one, never met ones left out."""
    pairs: Sequence[tuple[int, int]] = [
        (i, j)
        for i in range(len(table.systems))
        for j in range(len(table.systems))
        if i != j and table.comparisons[i, j]
    ]
    return {
        "systems": [
            {"system": system, "expected_wins": float(score)}
            for system, score in zip(table.systems, table.expected, strict=True)
        ],
        "pairs": [
            {
                "system": table.systems[j],
                "other": table.systems[i],
                "better": float(table.shares[i, j]),
                "comparisons": int(table.comparisons[i, j]),
                "p": float(table.tests[i, j]),
            }
            for i, j in pairs
        ],
        "significant": table.significant(level),
    }
