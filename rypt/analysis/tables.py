"""An analysis as tables of text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rypt.analysis.agreement import Agreement
from rypt.analysis.curve import CurvePoint
from rypt.analysis.redundancy import ListCounts, PhraseReuse, Redundancy

if TYPE_CHECKING:
    from rypt.analysis.campaign import Analysis


def analysis_text(analysis: "Analysis") -> str:
    """The whole analysis as text."""
    parts = [redundancy_table(analysis.redundancy), reuse_text(analysis.redundancy)]
    if analysis.held_out:
        held = analysis.held_out
        parts.append(
            f"percolation: judgments of {held.judging} of {len(held.groups)} {held.way}s on the frontier of each "
            f"maxLen, checked by those of the others, {held.splits} random splits"
        )
        parts += [curve_table(analysis.curve), models_table(analysis.curve)]
    parts.append(agreement_text(analysis.agreement))
    return "\n\n".join([*parts, "\n".join([*analysis.notes, analysis.signature])])


def redundancy_table(counted: Redundancy) -> str:
    """A row for each list: candidates, and phrases of all constituents and of the frontier's."""
    from tabulate import tabulate

    names = (
        "list",
        "candidates",
        "new",
        "phrases",
        "new",
        f"frontier({counted.max_len})",
        "new",
        "of these labelled",
    )
    rows = [_row(one) for one in (*counted.lists, *([counted.total] if len(counted.lists) != 1 else []))]
    return str(tabulate(rows, names, disable_numparse=True, colalign=("left", *["right"] * (len(names) - 1))))


def _row(counts: ListCounts) -> tuple[str, ...]:
    numbers = (
        counts.candidates,
        counts.new,
        counts.everywhere.occurrences,
        counts.everywhere.unique,
        counts.frontier.occurrences,
        counts.frontier.unique,
        counts.frontier.labelled,
    )
    return counts.name, *(f"{number:,}" for number in numbers)


def reuse_text(counted: Redundancy) -> str:
    """How much one label is reused."""
    total = counted.total
    lines = [
        f"{total.new:,} of {total.candidates:,} candidates are different",
        f"all constituents: {_reuse(total.everywhere)}",
        f"frontier of {counted.max_len}: {_reuse(total.frontier)}",
    ]
    return "\n".join(lines)


def _reuse(reuse: PhraseReuse) -> str:
    if not reuse.unique:
        return "no phrases"
    return (
        f"{reuse.occurrences:,} phrases, {reuse.unique:,} different ({reuse.unique / reuse.occurrences:.1%}), "
        f"{reuse.phrases_each:.2f} a constituent; one label serves {reuse.served:.1f} places; "
        f"{reuse.labelled:,} have a label"
    )


def curve_table(curve: Sequence[CurvePoint]) -> str:
    """Coverage and the accuracy of percolated labels for each maxLen, in per cent (Figure 3)."""
    names = ["maxLen", "before", "after", "from YES", "from NO", "accuracy", "of YES", "of NO", "always YES"]
    rows = [
        (
            p.before,
            p.after,
            p.from_yes,
            p.from_no,
            p.percolated.percolation,
            p.yes_right,
            p.no_right,
            p.percolated.always_yes,
        )
        for p in curve
    ]
    return _per_cent(names, curve, rows)


def models_table(curve: Sequence[CurvePoint]) -> str:
    """Accuracies of percolation and of the models, on percolated labels and on all constituents without a judgment."""
    names = [
        "maxLen",
        "percolated:",
        "always YES",
        "percolation",
        "table",
        "unlabelled:",
        "always YES",
        "percolation",
        "table",
    ]
    rows = [
        tuple(
            value
            for checked in (point.percolated, point.unlabelled)
            for value in (checked.checked, checked.always_yes, checked.percolation, checked.table)
        )
        for point in curve
    ]
    return _per_cent(names, curve, rows)


def _per_cent(names: Sequence[str], curve: Sequence[CurvePoint], rows: Sequence[tuple[float, ...]]) -> str:
    """A row for each maxLen: shares in per cent, counts as they are, a dash for what is not known."""
    from tabulate import tabulate

    cells = [[str(point.max_len), *map(_cell, row)] for point, row in zip(curve, rows, strict=True)]
    return str(tabulate(cells, names, disable_numparse=True, stralign="right"))


def _cell(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value != value else f"{100 * value:.1f}"


def agreement_text(agreed: Agreement) -> str:
    """How far workers agree."""
    if not agreed.answers:
        return "agreement: no judgments"
    shown = {"alpha": agreed.alpha, "mean pairwise kappa": agreed.kappa}
    measures = ", ".join(
        f"{name} {'-' if value != value else f'{value:.3f}'}" for name, value in shown.items()
    )
    same = (
        ""
        if agreed.same != agreed.same
        else f", at least {agreed.at_least} of {agreed.of} agree on {agreed.same:.1%}"
    )
    return (
        f"agreement: {agreed.answers:,} answers of workers about {agreed.questions:,} keys; {measures}{same}"
    )
