"""Rank the systems in files of comparisons: the function behind ``rypt rank`` and `hits.rank`.

    rank("wmt13.csv.gz", "trueskill")   →   a SystemTable: print it, .systems, .signature, .write("ranks.csv")

`ComparisonFiles` says which files and which of their comparisons; the other studies of `hits.ranking` read them, too.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hits.ranking.confidence import has_posterior
from hits.ranking.data import Comparisons
from hits.ranking.model import RankingModel, read_model
from hits.ranking.readers.files import Filters, read_comparisons
from hits.ranking.result import Confidence, Ranked, RankedGroup, rank_systems
from hits.ranking.table import as_json, as_latex, as_text
from rypt.signature import signature
from rypt.text import InputError, PathLike, open_output

SHOWN = ("cost", "nodes", "optimal_rankings", "message")  # facts of a model that are printed below its table


@dataclass(frozen=True, slots=True)
class ComparisonFiles:
    """Files, campaigns or databases with comparisons, and which of the comparisons to take."""

    paths: tuple[PathLike, ...]
    format: str | None = None
    filters: Filters = field(default_factory=Filters)
    seed: int = 1

    def read(self) -> Comparisons:
        """The comparisons; a sample depends on the random seed."""
        rng = np.random.default_rng([self.seed, 0])
        return read_comparisons(self.paths, format=self.format, filters=self.filters, rng=rng)

    def rng(self) -> np.random.Generator:
        """The random numbers of whatever is done with the comparisons."""
        return np.random.default_rng([self.seed, 1])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SystemTable:
    """Systems with their scores, rank ranges and clusters; one group for all that comparisons connect.

    ``notes`` say what a reader of the table should know of the data.
    """

    groups: tuple[RankedGroup, ...]
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def systems(self) -> tuple[Ranked, ...]:
        """All systems, from best to worst within a group, the largest group first."""
        return tuple(system for group in self.groups for system in group.systems)

    @property
    def clusters(self) -> int:
        """The number of clusters in the first group; 0 where no ranges were asked for."""
        return self.groups[0].clusters

    @property
    def signature(self) -> str:
        """All that the first group depends on besides the data."""
        return signature(self.groups[0].signature, seed=self.seed)

    def as_dict(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return as_json(self.groups) | {"seed": self.seed}

    def as_latex(self) -> str:
        """A tabular for each group."""
        return "\n\n".join(map(as_latex, self.groups))

    def __repr__(self) -> str:
        return "\n\n".join(self._text(group) for group in self.groups)

    def _text(self, group: RankedGroup) -> str:
        lines = [as_text(group)]
        for name, value in group.extra.items():
            if name in SHOWN:
                lines.append(f"{name.replace('_', ' ')}: {'too many to count' if value is None else value}")
        lines += [" > ".join(listed) for listed in group.extra.get("rankings", ())]
        return "\n".join([*lines, signature(group.signature, seed=self.seed)])

    def write(self, path: PathLike) -> None:
        """Write a CSV (.csv), JSON (.json), LaTeX (.tex) or, for .svg, .png and .pdf, a picture of the ranks."""
        ending = Path(str(path).removesuffix(".gz")).suffix
        if ending in (".svg", ".png", ".pdf"):
            from hits.ranking.plot import plot_ranks

            plot_ranks(path, self.groups)
            return
        if ending not in (".csv", ".json", ".tex"):
            raise InputError(path, None, "expected a .csv, .json, .tex, .svg, .png or .pdf file")
        with open_output(path) as stream:
            if ending == ".csv":
                records = self.as_dict()["systems"]
                writer = csv.DictWriter(stream, list(dict.fromkeys(name for r in records for name in r)))
                writer.writeheader()
                writer.writerows(records)
            else:
                stream.write(self.as_latex() if ending == ".tex" else json.dumps(self.as_dict(), ensure_ascii=False))
                stream.write("\n")


def rank(
    paths: PathLike | Sequence[PathLike] | ComparisonFiles,
    model: str = "trueskill",
    *,
    options: Mapping[str, str] | None = None,
    confidence: Confidence | None = None,
    seed: int = 1,
) -> SystemTable:
    """Rank the systems in files of comparisons, in a campaign's folder or in its database.

    ``model`` is a name of `hits.ranking.names` with its ``options``; ``confidence`` says how rank ranges are made
    (bootstrap by default). `ComparisonFiles` instead of paths chooses a format or some of the comparisons, and has a
    random seed of its own.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    ...     _ = file.write("uedin cu 9 1 2\\n")
    ...     file.flush()
    ...     table = rank(file.name, "expected-wins", confidence=Confidence("none"))
    >>> [(system.system, round(system.score, 2), system.rank) for system in table.systems]
    [('uedin', 0.82, 1), ('cu', 0.18, 2)]
    """
    how = confidence or Confidence()
    if isinstance(paths, ComparisonFiles):
        files = paths
    else:
        files = ComparisonFiles((paths,) if isinstance(paths, str | Path) else tuple(paths), seed=seed)
    threads = {"threads": str(how.threads)} if model == "trueskill" else {}
    made = read_model(model, threads | dict(options or {}))
    comparisons = files.read()
    groups = rank_systems(comparisons, made, files.rng(), how)
    return SystemTable(tuple(groups), files.seed, tuple(_notes(comparisons, made, how)))


def _notes(comparisons: Comparisons, model: RankingModel, how: Confidence) -> list[str]:
    """What a reader of the ranking should know of the data."""
    notes = []
    groups = comparisons.components()
    if len(groups) > 1:
        sizes = " + ".join(str(len(group)) for group in groups)
        notes.append(
            f"{sizes} systems without any comparison between the groups: each group is ranked for itself, and "
            "nothing says which group is better"
        )
    if len(comparisons) and not comparisons.outcome.any():
        notes.append(f"all {len(comparisons)} comparisons are ties; nothing tells the systems apart")
    alone = how.method == "bootstrap" and how.unit == "comparison" and not has_posterior(model, how.unit)
    if alone and len(set(comparisons.row.tolist())) < len(comparisons):
        notes.append("ranges take the comparisons of one ranking as independent, as the papers do; --unit row does not")
    return notes
