"""Several models on the same data: their tables one after the other, and how far their orders agree.

print(rank_side_by_side(files, ["expected-wins", "trueskill"]))
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations
from typing import Any

import numpy as np

from hits.ranking.confidence import Confidence
from hits.ranking.output import write_output
from hits.ranking.rank import SystemTable, check_model, rank_parts
from hits.ranking.readers.files import ComparisonFiles
from hits.ranking.result import RankedGroup
from hits.ranking.scores.agree import Agreement, OrderEvidence, agreement
from rypt.text import PathLike, RyptError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SideBySide:
    """The rankings of several models; ``labels`` are the models as they were asked for."""

    labels: tuple[str, ...]
    tables: tuple[SystemTable, ...]

    @property
    def groups(self) -> tuple[RankedGroup, ...]:
        """What each model says of each group of systems."""
        return tuple(
            replace(group, title=" ".join(filter(None, (group.title, label))))
            for groups in zip(*(table.groups for table in self.tables), strict=True)
            for label, group in zip(self.labels, groups, strict=True)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of the data."""
        return tuple(dict.fromkeys(note for table in self.tables for note in table.notes))

    def agreements(self) -> list[Agreement]:
        """How the orders of each two models agree: pairwise accuracy and Kendall's tau."""
        return [
            agreement(_order(first), _order(second), f"{one} and {two}", first.title)
            for groups in zip(*(table.groups for table in self.tables), strict=True)
            for (one, first), (two, second) in combinations(zip(self.labels, groups, strict=True), 2)
        ]

    def as_table(self, style: str = "text") -> str:
        """The table of each model, and a line for each two that says how far they agree."""
        tables = SystemTable(self.groups, self.tables[0].seed).as_table(style)
        lines = [
            f"{made.languages}{': ' if made.languages else ''}{made.name} order {made.accuracy:.1%} of {made.pairs} pairs "
            f"of systems alike, Kendall's tau {made.tau:.3f}"
            for made in self.agreements()
        ]
        if style in ("latex", "html"):
            lines = [f"% {line}" if style == "latex" else f"<p>{escape(line)}</p>" for line in lines]
        return f"{tables}\n\n" + "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """What ``--json`` prints: each model's ranking, and the agreement of each two."""
        return {
            "models": [
                {"label": label} | table.as_dict()
                for label, table in zip(self.labels, self.tables, strict=True)
            ],
            "agreements": [
                {"models": made.name, "pairs": made.pairs, "accuracy": made.accuracy, "tau": made.tau}
                | ({"languages": made.languages} if made.languages else {})
                for made in self.agreements()
            ],
        }

    def records(self) -> list[dict[str, Any]]:
        """A line for each model and system."""
        return [
            {"label": label} | record
            for label, table in zip(self.labels, self.tables, strict=True)
            for record in table.records()
        ]

    def __repr__(self) -> str:
        return self.as_table()

    def write(self, path: PathLike) -> None:
        """Write a table or a picture, by the ending of the name, as `SystemTable.write` does."""
        write_output(path, self)


def _order(group: RankedGroup) -> OrderEvidence:
    """The order alone: how sure it is does not enter accuracy and tau."""
    ranks = np.array([-system.rank for system in group.systems], np.float64)
    names = tuple(system.system for system in group.systems)
    return OrderEvidence(names, ranks, np.full((len(ranks), len(ranks)), 0.5))


def rank_side_by_side(
    files: ComparisonFiles, models: Sequence[str], *, confidence: Confidence | None = None
) -> SideBySide:
    """Rank the same data by each model, ``NAME`` or ``NAME:OPTION=VALUE,…``."""
    if len(set(models)) != len(models):
        raise RyptError("expected every model once")
    for model in models:
        check_model(model)
    parts = files.parts()
    tables = tuple(rank_parts(files, parts, model, confidence=confidence) for model in models)
    systems = [[{system.system for system in group.systems} for group in table.groups] for table in tables]
    if any(groups != systems[0] for groups in systems):
        raise RyptError("the models do not rank the same groups of systems: rank them one by one")
    return SideBySide(tuple(models), tables)
