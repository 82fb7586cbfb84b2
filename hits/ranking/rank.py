"""Rank the systems in files of comparisons: the function behind ``rypt rank`` and `hits.rank`.

    rank("wmt13.csv.gz", "trueskill")   →   a SystemTable: print it, .systems, .signature, .write("ranks.csv")

`ComparisonFiles` says which files and which of their comparisons; the other studies of `hits.ranking` read them, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hits.ranking.confidence import Confidence, choose_ranges, has_posterior
from hits.ranking.data import Comparisons
from hits.ranking.model import RankingModel, model_options, read_model
from hits.ranking.models.trueskill import TrueSkill
from hits.ranking.names import MEAN
from hits.ranking.output import write_output
from hits.ranking.readers.files import ComparisonFiles, DataPart
from hits.ranking.result import Ranked, RankedGroup, rank_systems
from hits.ranking.scores.data import SegmentScores
from hits.ranking.scores.mean import rank_by_mean, read_average
from hits.ranking.table import as_json, as_table
from rypt.signature import signature
from rypt.text import PathLike, RyptError, plural

DEFAULT = "expected-wins"  # of comparisons; segment scores have their mean
SHOWN = ("cost", "nodes", "optimal_rankings", "message")  # facts of a model that are printed below its table


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
        return "\n\n".join(
            as_table(
                replace(group, signature=signature(group.signature, seed=self.seed)), style, _facts(group)
            )
            for group in self.groups
        )

    def __repr__(self) -> str:
        return self.as_table()

    def records(self) -> list[dict[str, Any]]:
        """The lines of a CSV."""
        return list(self.as_dict()["systems"])

    def write(self, path: PathLike) -> None:
        """Write a table or, for .svg, .png and .pdf, a picture of the ranks; the ending of the name says what.

        Tables are CSV (.csv), JSON (.json), LaTeX (.tex), Markdown (.md), HTML (.html) or text (.txt).
        """
        write_output(path, self)


def _facts(group: RankedGroup) -> list[str]:
    """What a model says besides scores, in lines."""
    facts = [(name.replace("_", " "), value) for name, value in group.extra.items() if name in SHOWN]
    lines = [f"{name}: {'too many to count' if value is None else value}" for name, value in facts]
    return lines + [" > ".join(listed) for listed in group.extra.get("rankings", ())]


def rank(
    paths: PathLike | Sequence[PathLike] | ComparisonFiles,
    model: str | None = None,
    *,
    options: Mapping[str, str] | None = None,
    confidence: Confidence | None = None,
    seed: int = 1,
) -> SystemTable:
    """Rank the systems in files of comparisons or segment scores, in a campaign's folder or in its database.

    ``model`` is a name of `hits.ranking.names` with its ``options``, or ``NAME:OPTION=VALUE,…``; by default comparisons
    are ranked by ``expected-wins`` and scores by their ``mean``. Other models rank the comparisons that scores make.
    ``confidence`` says how rank ranges are computed. Language pairs are ranked separately. `ComparisonFiles` instead
    of paths chooses a part of the data, and has a random seed of its own.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    ...     _ = file.write("uedin cu 9 1 2\\n")
    ...     file.flush()
    ...     table = rank(file.name, confidence=Confidence("none"))
    >>> [(system.system, round(system.score, 2), system.rank) for system in table.systems]
    [('uedin', 0.82, 1), ('cu', 0.18, 2)]
    """
    if isinstance(paths, ComparisonFiles):
        files = paths
    else:
        files = ComparisonFiles((paths,) if isinstance(paths, str | Path) else tuple(paths), seed=seed)
    if model is not None:
        check_model(model, options)
    return rank_parts(files, files.parts(), model, options=options, confidence=confidence)


def check_model(text: str, options: Mapping[str, str] | None = None) -> None:
    """Refuse a wrong name or option, before anything is read."""
    choices = model_options(text, options)
    if choices.name != MEAN:
        read_model(text, options)
        return
    read_average(choices)
    choices.done()


def rank_parts(
    files: ComparisonFiles,
    parts: Sequence[DataPart],
    model: str | None = None,
    *,
    options: Mapping[str, str] | None = None,
    confidence: Confidence | None = None,
) -> SystemTable:
    """Rank what was read from files, each language pair separately."""
    confidence = confidence or Confidence()
    groups: list[RankedGroup] = []
    notes = _notes_of_parts(parts)
    for part in parts:
        title = part.languages if len(parts) > 1 else ""
        text = model or (MEAN if isinstance(part.data, SegmentScores) else DEFAULT)
        choices = model_options(text, options)
        if choices.name == MEAN:
            average = read_average(choices)
            choices.done()
            if isinstance(part.data, Comparisons):
                raise RyptError(
                    f"{', '.join(part.paths)}: the model mean ranks segment scores, found comparisons"
                )
            groups.append(rank_by_mean(part.data, confidence, files.rng(), title, average))
            notes += _notes_of_scores(part.data)
            continue
        made = read_model(text, options)
        if isinstance(made, TrueSkill):
            made = replace(made, threads=confidence.threads)
        comparisons = files.comparisons(part)
        chosen = choose_ranges(confidence, comparisons, made)
        groups += [
            replace(group, title=title) for group in rank_systems(comparisons, made, files.rng(), chosen)
        ]
        notes += _notes(comparisons, made, chosen)
    return SystemTable(tuple(groups), files.seed, tuple(dict.fromkeys(notes)))


def _notes_of_parts(parts: Sequence[DataPart]) -> list[str]:
    if len(parts) < 2:
        return []
    pairs = ", ".join(part.languages or "unknown languages" for part in parts)
    return [
        f"{len(parts)} language pairs ({pairs}) are ranked separately; --languages chooses one, --languages all joins them"
    ]


def _notes_of_scores(scores: SegmentScores) -> list[str]:
    """What paired tests lack."""
    items = scores.items()
    rated = np.zeros((len(scores.systems), int(items.max()) + 1), np.int64)
    rated[scores.system, items[scores.segment]] = 1
    shared = rated @ rated.T
    notes = []
    if unpaired := int((shared[np.triu_indices(len(shared), 1)] == 0).sum()):
        notes.append(
            f"{plural(unpaired, 'pair')} of systems without a common segment: paired tests cannot compare them"
        )
    if repeated := int((np.bincount(items) > 1).sum()):
        notes.append(
            f"{plural(repeated, 'segment')} rated in several waves, which count once for each; tests pair every score "
            "of a segment with every one of the other system, as in WMT's findings"
        )
    return notes


def _notes(comparisons: Comparisons, model: RankingModel, chosen: Confidence) -> list[str]:
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
        notes.append(f"all {len(comparisons)} comparisons are ties, so no system is better than another")
    single = chosen.method == "bootstrap" and chosen.unit == "comparison"
    if not single or has_posterior(model, chosen):
        return notes
    if comparisons.has_rows():
        notes.append(
            "ranges take the comparisons of one ranking as independent, as the papers do; --unit row does not"
        )
    elif comparisons.segments == ("",):
        notes.append(
            "the files do not say which comparisons are of one ranking or of one segment (as counts do not): they are "
            "resampled one by one, as if they were independent, so ranges may be too narrow"
        )
    return notes
