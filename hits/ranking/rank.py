"""Rank the systems in files of comparisons: the function behind ``rypt rank`` and `hits.rank`.

    rank("wmt13.csv.gz", "trueskill")   →   a SystemTable: print it, .systems, .signature, .write("ranks.csv")

`ComparisonFiles` says which files and which of their comparisons; the other studies of `hits.ranking` read them, too.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hits.ranking.confidence import has_posterior
from hits.ranking.data import Comparisons
from hits.ranking.model import RankingModel, read_model
from hits.ranking.names import TABLES
from hits.ranking.readers.files import Filters, read_comparisons
from hits.ranking.result import Confidence, Ranked, RankedGroup, rank_systems
from hits.ranking.table import as_html, as_json, as_latex, as_markdown, as_text, html_page
from rypt.options import check_option
from rypt.picture import FORMATS as PICTURES
from rypt.picture import check_picture
from rypt.signature import signature
from rypt.text import InputError, PathLike, open_output

ENDINGS = {".txt": "text", ".md": "markdown", ".tex": "latex", ".html": "html"}  # of files of tables
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

    def as_table(self, style: str = "text") -> str:
        """A table for each group: ``text``, as it is printed, ``markdown``, ``latex`` or ``html``."""
        check_option("table", style, TABLES)
        if style == "text":
            return repr(self)
        make = {"markdown": as_markdown, "latex": as_latex, "html": as_html}[style]
        return "\n\n".join(make(replace(group, signature=self._sign(group))) for group in self.groups)

    def _sign(self, group: RankedGroup) -> str:
        return signature(group.signature, seed=self.seed)

    def __repr__(self) -> str:
        return "\n\n".join(self._text(group) for group in self.groups)

    def _text(self, group: RankedGroup) -> str:
        lines = [as_text(group)]
        for name, value in group.extra.items():
            if name in SHOWN:
                lines.append(f"{name.replace('_', ' ')}: {'too many to count' if value is None else value}")
        lines += [" > ".join(listed) for listed in group.extra.get("rankings", ())]
        return "\n".join([*lines, self._sign(group)])

    def write(self, path: PathLike) -> None:
        """Write a table or, for .svg, .png and .pdf, a picture of the ranks; the ending of the name says what.

        Tables are CSV (.csv), JSON (.json), LaTeX (.tex), Markdown (.md), HTML (.html) or text (.txt).
        """
        check_output(path)
        ending = Path(str(path).removesuffix(".gz")).suffix
        if ending in PICTURES:
            from hits.ranking.plot import plot_ranks

            plot_ranks(path, self.groups)
            return
        with open_output(path) as stream:
            if ending == ".csv":
                records = self.as_dict()["systems"]
                writer = csv.DictWriter(stream, list(dict.fromkeys(name for r in records for name in r)))
                writer.writeheader()
                writer.writerows(records)
            elif ending == ".json":
                stream.write(json.dumps(self.as_dict(), ensure_ascii=False) + "\n")
            else:
                text = self.as_table(ENDINGS[ending])
                stream.write((html_page([text]) if ending == ".html" else text) + "\n")


def check_output(path: PathLike) -> None:
    """Refuse a file that `SystemTable.write` cannot write, before anything is computed."""
    ending = Path(str(path).removesuffix(".gz")).suffix
    if ending not in (".csv", ".json", *ENDINGS, *PICTURES):
        raise InputError(path, None, f"expected a {', '.join(('.csv', '.json', *ENDINGS, *PICTURES))} file")
    if ending in PICTURES:
        check_picture(path)


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
