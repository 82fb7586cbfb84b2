"""Head to head: how often each system was better than each other, with stars where the sign test says so.

As in Koehn's table and WMT's: the cell of row r and column c is the share of all comparisons of r and c, ties among
them, in which the column's system was better. The last line says how often a system was better than the others:
Expected Wins.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hits.ranking.confidence import sign_tests
from hits.ranking.data import Comparisons, Counts
from hits.ranking.model import check_fit
from hits.ranking.models.wins import expected_wins
from hits.ranking.table import system_labels
from rypt.arrays import Floats


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


def as_rows(table: HeadToHead, level: float = 0.05) -> list[list[str]]:
    """The lines of the table: a system, its cells with a star where the difference is significant, and ``> others``."""

    def cell(i: int, j: int) -> str:
        if i == j or np.isnan(table.shares[i, j]):
            return "–" if i == j else ""
        star = "★" if table.tests[i, j] <= level else ""
        return f"{table.shares[i, j]:.2f}".removeprefix("0") + star

    places = range(len(table.systems))
    rows = [[name, *(cell(i, j) for j in places)] for i, name in enumerate(system_labels(table.systems))]
    return [*rows, ["> others", *(f"{score:.2f}" for score in table.expected)]]


def as_record(table: HeadToHead, level: float = 0.05) -> dict[str, Any]:
    """For JSON: the pairs one by one, never met ones left out."""
    return {
        "systems": [
            {"system": system, "expected_wins": float(score)}
            for system, score in zip(table.systems, table.expected, strict=True)
        ],
        "pairs": [
            {
                "system": better,
                "other": other,
                "better": float(table.shares[i, j]),
                "comparisons": int(table.comparisons[i, j]),
                "p": float(table.tests[i, j]),
            }
            for i, other in enumerate(table.systems)
            for j, better in enumerate(table.systems)
            if i != j and table.comparisons[i, j]
        ],
        "significant": table.significant(level),
    }
