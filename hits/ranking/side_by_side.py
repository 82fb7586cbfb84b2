"""Several models on the same data: one table of their ranks and clusters, and where they disagree.

    print(rank_side_by_side(files, ["expected-wins", "trueskill"]))

Two models disagree on two systems if each puts another one first. How much that means is said in standard errors: the
difference of the two scores by the spread of that difference over resamples (or by the standard errors that a model
has itself, or that of paired segments for means).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import chain, combinations
from math import sqrt
from typing import Any

import numpy as np

from hits.ranking.evaluate import model_and_options
from hits.ranking.model import read_model
from hits.ranking.names import CONFIDENCES, MEAN, SCORE_CONFIDENCES, SCORE_UNITS, TABLES, UNITS
from hits.ranking.output import write_output
from hits.ranking.rank import SystemTable, rank_parts
from hits.ranking.readers.files import ComparisonFiles
from hits.ranking.result import Confidence, Ranked, RankedGroup
from hits.ranking.scores.agree import Agreement, OrderEvidence, agreement
from hits.ranking.table import escape_latex, span, system_labels, table_order, verdict
from rypt.arrays import Floats
from rypt.options import check_option
from rypt.signature import signature
from rypt.text import PathLike, RyptError

SHOWN = 10  # disagreements that are printed; JSON has all
FORMATS = {"text": "simple", "markdown": "github", "latex": "latex", "html": "html"}  # tabulate's names


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two models, and two systems of which the first model puts ``better`` first, the second model the other.

    ``errors`` say by how many standard errors each model tells the two apart; None where a model has none.
    """

    models: tuple[str, str]
    better: str
    worse: str
    errors: tuple[float | None, float | None]
    languages: str = ""  # where several language pairs are ranked

    @property
    def strength(self) -> float:
        """The smaller of the two: how sure both models are of opposite things."""
        return min(0.0 if error is None else error for error in self.errors)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SideBySide:
    """The rankings of several models; ``labels`` are the models as they were asked for."""

    labels: tuple[str, ...]
    tables: tuple[SystemTable, ...]

    @property
    def groups(self) -> tuple[RankedGroup, ...]:
        """What each model says of each group of systems."""
        return tuple(
            replace(
                group,
                title=" ".join(filter(None, (group.title, label))) if label != group.model else group.title,
            )
            for table_groups in zip(*(table.groups for table in self.tables), strict=True)
            for label, group in zip(self.labels, table_groups, strict=True)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of the data."""
        return tuple(dict.fromkeys(note for table in self.tables for note in table.notes))

    def disagreements(self) -> list[Disagreement]:
        """All of them, those that models are surest of first."""
        items = [
            item
            for groups in zip(*(table.groups for table in self.tables), strict=True)
            for (one, first), (two, second) in combinations(zip(self.labels, groups, strict=True), 2)
            for item in _disagreements((one, two), first, second)
        ]
        return sorted(items, key=lambda item: (-item.strength, item.models, item.better, item.worse))

    def agreements(self) -> list[Agreement]:
        """How the orders of each two models agree: pairwise accuracy and Kendall's tau."""
        return [
            agreement(_order(first), _order(second), f"{one} and {two}", first.title)
            for groups in zip(*(table.groups for table in self.tables), strict=True)
            for (one, first), (two, second) in combinations(zip(self.labels, groups, strict=True), 2)
        ]

    def as_table(self, style: str = "text") -> str:
        """A table for each group of systems, with three columns for each model, and what they disagree on."""
        check_option("table", style, TABLES)
        parts = [
            self._group(groups, style)
            for groups in zip(*(table.groups for table in self.tables), strict=True)
        ]
        parts.append("\n".join(_prose(self._agreement_line(made), style) for made in self.agreements()))
        parts.append(self._disagreement_table(style))
        signed = [signature(table.groups[0].signature, seed=table.seed) for table in self.tables]
        mark = {"markdown": "{}  ", "latex": "% {}"}.get(style)
        lines = [mark.format(line) if mark else _prose(line, style) for line in signed]
        return "\n\n".join([*filter(None, parts), "\n".join(lines)])

    def _group(self, groups: Sequence[RankedGroup], style: str) -> str:
        from tabulate import tabulate

        systems = [system.system for system in table_order(groups[0])]
        by_model = [{system.system: system for system in group.systems} for group in groups]
        rows = [
            [short, *chain.from_iterable(_cells(ranked[name]) for ranked in by_model)]
            for name, short in zip(systems, system_labels(systems), strict=True)
        ]
        labels = [_broken(label) if style == "text" else label for label in self.labels]
        head = ["system", *chain.from_iterable((label, "range", "cluster") for label in labels)]
        sides = ["left", *["right", "left", "right"] * len(self.labels)]
        kept = [
            k for k in range(len(head)) if k % 3 == 1 or any(row[k] for row in rows)
        ]  # no ranges, no column
        table = tabulate(
            [[row[k] for k in kept] for row in rows],
            [head[k] for k in kept],
            tablefmt=FORMATS[style],
            disable_numparse=True,
            colalign=[sides[k] for k in kept],
        )
        title = ": ".join(filter(None, (groups[0].title, "rank by each model, range of ranks, cluster")))
        verdicts = [
            f"{label}: {line}"
            for label, group in zip(self.labels, groups, strict=True)
            for line in verdict(group)
        ]
        below = "\n".join(_prose(line, style) for line in verdicts)
        return "\n\n".join(filter(None, [_prose(title, style), table, below]))

    def _agreement_line(self, made: Agreement) -> str:
        where = f"{made.languages}: " if made.languages else ""
        return (
            f"{where}{made.name} order {made.accuracy:.1%} of {made.pairs} pairs of systems alike, Kendall's tau "
            f"{made.tau:.3f}"
        )

    def _disagreement_table(self, style: str) -> str:
        from tabulate import tabulate

        items = self.disagreements()
        pairs = sum(len(group.systems) * (len(group.systems) - 1) // 2 for group in self.tables[0].groups)
        times = len(self.labels) * (len(self.labels) - 1) // 2
        if not items:
            return ""
        some = f", of which the surest {SHOWN}" if len(items) > SHOWN else ""
        line = f"{len(items)} disagreements on {pairs * times} pairs of systems{some}, and by how many standard errors:"
        short: dict[tuple[str, str], str] = {}  # as in the table above, by language pair
        for group in self.tables[0].groups:
            names = [system.system for system in group.systems]
            short |= zip(((group.title, name) for name in names), system_labels(names), strict=True)
        several, label = any(item.languages for item in items), self._short_labels()
        rows = [
            [
                *([item.languages] if several else []),
                *(short[item.languages, name] for name in (item.better, item.worse)),
                *(_by(label[model], error) for model, error in zip(item.models, item.errors, strict=True)),
            ]
            for item in items[:SHOWN]
        ]
        head = [*(["languages"] if several else []), "one", "other", "one is better by", "other is better by"]
        return (
            f"{_prose(line, style)}\n\n{tabulate(rows, head, tablefmt=FORMATS[style], disable_numparse=True)}"
        )

    def _short_labels(self) -> dict[str, str]:
        """Models without their options, where that is enough to tell them apart."""
        plain = [label.partition(":")[0] for label in self.labels]
        return {
            label: name if plain.count(name) == 1 else label
            for label, name in zip(self.labels, plain, strict=True)
        }

    def as_dict(self) -> dict[str, Any]:
        """What ``--json`` prints: each model's ranking, and all disagreements."""
        models = [
            {"label": label} | table.as_dict() for label, table in zip(self.labels, self.tables, strict=True)
        ]
        return {
            "models": models,
            "agreements": [
                {"models": made.name, "pairs": made.pairs, "accuracy": made.accuracy, "tau": made.tau}
                | ({"languages": made.languages} if made.languages else {})
                for made in self.agreements()
            ],
            "disagreements": [
                {
                    "models": list(item.models),
                    "better": item.better,
                    "worse": item.worse,
                    "errors": list(item.errors),
                }
                | ({"languages": item.languages} if item.languages else {})
                for item in self.disagreements()
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


def _prose(text: str, style: str) -> str:
    """A line between tables."""
    if style == "html":
        return f"<p>{escape(text)}</p>"
    return f"{escape_latex(text)}\n" if style == "latex" else text


def _order(group: RankedGroup) -> OrderEvidence:
    """The order alone: how sure it is does not enter accuracy and tau."""
    ranks = np.array([-system.rank for system in group.systems], np.float64)
    return OrderEvidence(
        tuple(system.system for system in group.systems), ranks, np.full((len(ranks), len(ranks)), 0.5)
    )


def _cells(system: Ranked) -> tuple[str, str, str]:
    """Rank, range and cluster."""
    return str(system.rank), span(system), "" if system.cluster is None else str(system.cluster)


def _broken(label: str) -> str:
    """A model above its column: its options stand below each other."""
    return label.replace(":", ":\n", 1).replace(",", ",\n")


def _by(model: str, error: float | None) -> str:
    return model if error is None else f"{model}, {error:.1f}"


def rank_side_by_side(
    files: ComparisonFiles, models: Sequence[str], *, confidence: Confidence | None = None
) -> SideBySide:
    """Rank the same data by each model, ``NAME`` or ``NAME:OPTION=VALUE,…``."""
    named = [model_and_options(model) for model in models]
    if len(set(models)) != len(models):
        raise RyptError("expected every model once")
    for name, options in named:
        if name != MEAN:
            read_model(name, options)  # a wrong name or option is said before anything is read
    parts = files.parts()
    how = confidence or Confidence()
    tables = [
        rank_parts(files, parts, name, options=options, confidence=_suited(how, name))
        for name, options in named
    ]
    systems = [[{s.system for s in group.systems} for group in table.groups] for table in tables]
    if any(groups != systems[0] for groups in systems):
        raise RyptError("the models do not rank the same groups of systems: rank them one by one")
    return SideBySide(tuple(models), tuple(tables))


def _suited(confidence: Confidence, model: str) -> Confidence:
    """What a model can do of it: a method or unit that is for scores, or for comparisons, is left to its default."""
    methods, units = (SCORE_CONFIDENCES, SCORE_UNITS) if model == MEAN else (CONFIDENCES, UNITS)
    method = confidence.method if confidence.method in methods else None
    fits = confidence.unit in units and (model != MEAN or method == "bootstrap")
    return replace(confidence, method=method, unit=confidence.unit if fits else None)


def gap_errors(group: RankedGroup) -> Floats | None:
    """The standard error of the difference of each two scores, (systems, systems); None where nothing says it."""
    if group.gap_errors is not None:
        return group.gap_errors
    if group.score_samples is not None and len(group.score_samples) > 1:
        gaps = group.score_samples[:, :, None] - group.score_samples[:, None, :]
        return np.asarray(gaps.std(axis=0, ddof=1), np.float64)
    errors = [system.error for system in group.systems]
    if any(error is None for error in errors):
        return None
    return np.array([[sqrt((a or 0) ** 2 + (b or 0) ** 2) for b in errors] for a in errors])


def _disagreements(models: tuple[str, str], first: RankedGroup, second: RankedGroup) -> list[Disagreement]:
    places = [{system.system: i for i, system in enumerate(group.systems)} for group in (first, second)]
    items = []
    for better, worse in combinations([system.system for system in first.systems], 2):
        one, two = (
            group.systems[place[better]].rank - group.systems[place[worse]].rank
            for group, place in zip((first, second), places, strict=True)
        )
        if one * two < 0:
            errors = (_gap(first, places[0], better, worse), _gap(second, places[1], better, worse))
            items.append(Disagreement(models, better, worse, errors, first.title))
    return items


def _gap(group: RankedGroup, place: dict[str, int], a: str, b: str) -> float | None:
    """By how many standard errors two systems' scores differ."""
    errors = gap_errors(group)
    if errors is None:
        return None
    i, j = place[a], place[b]
    gap = abs(group.systems[i].score - group.systems[j].score)
    return gap / float(errors[i, j]) if errors[i, j] > 0 else None
