"""Pictures of an analysis: how much labels are reused, and the paper's Figure 3 with the table beside it."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from rypt.analysis.held_out import CurvePoint
from rypt.analysis.redundancy import Redundancy
from rypt.picture import new_figure, save_picture
from rypt.text import PathLike
from rypt.texts.lists import list_name

LONGEST_NAME = 18
BLUE, PALE, GREY, GREEN = "#1565c0", "#90caf9", "#78909c", "#2e7d32"
LIGHT, RED, ORANGE = "#81c784", "#c62828", "#ef6c00"


def plot_analysis(
    path: PathLike, counted: Redundancy, curve: Sequence[CurvePoint], *, note: str = ""
) -> None:
    """Plot the redundancy of the lists and, if there is a curve, Figure 3 and the table's accuracy."""
    columns = 3 if curve else 1
    figure = new_figure(6.0 * columns, 5.0)
    panels = figure.subplots(1, columns, squeeze=False)[0]
    if note:
        figure.suptitle(note, color=RED, fontsize="medium")
    _draw_redundancy(panels[0], counted)
    if curve:
        _draw_curve(panels[1], curve)
        _draw_models(panels[2], curve)
    save_picture(figure, path)


def _draw_redundancy(panel: Any, counted: Redundancy) -> None:
    """Phrases seen so far and the different ones among them, list after list; bars where there is one list."""
    lines = {
        "phrases of all constituents": ("everywhere", "occurrences", "o--", LIGHT),
        "different ones": ("everywhere", "unique", "o-", GREEN),
        f"phrases on the frontier ({counted.max_len})": ("frontier", "occurrences", "s--", PALE),
        "different ones: labels needed": ("frontier", "unique", "s-", BLUE),
        "labels there": ("frontier", "labelled", "^:", RED),
    }
    in_order = ", list after list" if len(counted.lists) > 1 else ""
    panel.set_title(f"phrases, and labels they need{in_order}", fontsize="medium")
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    panel.grid(alpha=0.3)
    places = list(range(1, len(counted.lists) + 1))
    for number, (label, (where, what, style, colour)) in enumerate(lines.items()):
        values = list(accumulate(getattr(getattr(one, where), what) for one in counted.lists))
        title = f"{label}: {values[-1] if values else 0:,}"
        if len(values) == 1:
            panel.bar(number, values[0], color=colour, label=title)
        else:
            panel.plot(places, values, style, color=colour, label=title, markersize=4)
    if len(counted.lists) == 1:
        panel.set_xticks([])
        panel.set_xlabel(_short(counted.lists[0].name))
    else:
        names = [_short(one.name) for one in counted.lists]
        panel.set_xticks(places, names, rotation=40, ha="right", fontsize=8)
    panel.set_ylim(bottom=0)
    panel.legend(loc="upper right" if len(counted.lists) == 1 else "upper left", fontsize=8)


def _short(name: str) -> str:
    stem = list_name(name)
    return stem if len(stem) <= LONGEST_NAME else stem[: LONGEST_NAME - 1] + "…"


def _draw_curve(panel: Any, curve: Sequence[CurvePoint]) -> None:
    lines = {
        "accuracy of percolated labels": ([p.percolated.percolation for p in curve], "o-", BLUE),
        "always YES on the same constituents": ([p.percolated.always_yes for p in curve], "o:", GREY),
        "coverage after percolation": ([p.after for p in curve], "s-", GREEN),
        "coverage before": ([p.before for p in curve], "s--", LIGHT),
        "added by YES from above": ([p.from_yes for p in curve], "^-", ORANGE),
        "added by NO from below": ([p.from_no for p in curve], "v-", RED),
    }
    _draw_lines(panel, curve, lines)
    panel.set_title("percolation", fontsize="medium")
    panel.set_ylim(0, 100)


def _draw_models(panel: Any, curve: Sequence[CurvePoint]) -> None:
    lines = {}
    for where, title, style in (("percolated", "percolated", "o-"), ("unlabelled", "all unlabelled", "s--")):
        checked = [getattr(point, where) for point in curve]
        for name, colour in (("percolation", PALE), ("table", ORANGE), ("always_yes", GREY)):
            label = f"{name.replace('_yes', ' YES')}, {title}"
            lines[label] = ([getattr(one, name) for one in checked], style, colour)
    _draw_lines(panel, curve, lines)
    panel.set_title("accuracy of labels that nobody gave", fontsize="medium")


def _draw_lines(
    panel: Any, curve: Sequence[CurvePoint], lines: Mapping[str, tuple[list[float], str, str]]
) -> None:
    """Lines over maxLen, in per cent, with the legend below; those of which nothing is known are left out."""
    lengths = [point.max_len for point in curve]
    for label, (values, style, colour) in lines.items():
        if any(value == value for value in values):
            width = 4.0 if colour == PALE else 1.5  # others may lie on it
            shares = [100 * value for value in values]
            panel.plot(lengths, shares, style, color=colour, label=label, markersize=4, linewidth=width)
    panel.set(xlabel="maxLen", ylabel="%", xticks=lengths)
    panel.grid(alpha=0.3)
    if panel.lines:
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, fontsize=8, frameon=False)
