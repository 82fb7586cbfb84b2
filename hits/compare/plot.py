"""Pictures of comparisons: net wins with their intervals, or people's preferences."""

from collections.abc import Sequence
from typing import Any

from hits.compare.preferences import Preferences
from rypt.picks.outcome import PickComparison
from rypt.picture import new_figure, save_picture
from rypt.text import PathLike

BLUE, GREY, RED, SLATE = "#1565c0", "#90a4ae", "#c62828", "#607d8b"
SMALL = 4  # per cent: too narrow for a name


def plot_outcomes(path: PathLike, comparison: PickComparison, *, note: str = "") -> None:
    """A row for each pair: the share of segments won less those lost, with its interval; a note is above."""
    rows = comparison.outcomes[::-1]
    names = [f"{o.metric} against {o.baseline}" for o in rows]
    figure = new_figure(max(7.5, 4 + 0.075 * max(map(len, names))), 0.8 + 0.42 * len(rows))
    axes = figure.subplots()
    for y, o in enumerate(rows):
        colour = BLUE if o.low > 0 else RED if o.high < 0 else SLATE
        axes.plot([100 * o.low, 100 * o.high], [y, y], color=colour, linewidth=2)
        axes.plot([100 * o.net], [y], "o", color=colour)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), names)
    axes.set(ylim=(-0.6, len(rows) - 0.4))
    figure.supxlabel("better - worse, % of segments (95 % interval)", fontsize="medium")
    axes.grid(axis="x", alpha=0.3)
    if note:
        axes.set_title(note, color=RED, fontsize="medium")
    save_picture(figure, path)


def plot_preferences(path: PathLike, preferences: Sequence[Preferences]) -> None:
    """For each pair and condition its judgments as one bar of three parts, and segments by difference of votes."""
    figure = new_figure(7.5, 4.2 * len(preferences))
    panels = figure.subplots(2 * len(preferences), 1, height_ratios=[1, 2.4] * len(preferences))
    for number, drawn in enumerate(preferences):
        _draw_judgments(panels[2 * number], drawn)
        _draw_aggregates(panels[2 * number + 1], drawn)
    save_picture(figure, path)


def _draw_judgments(panel: Any, p: Preferences) -> None:
    first, second, neither = p.judgments
    total = first + second + neither
    left = 0.0
    for name, count, colour in ((p.first, first, BLUE), ("neither", neither, GREY), (p.second, second, RED)):
        share = 100 * count / max(1, total)
        panel.barh([0], [share], left=left, color=colour)
        if share > SMALL:
            text = f"{name}\n{share:.1f} %"
            panel.text(left + share / 2, 0, text, ha="center", va="center", color="white", fontsize=9)
        left += share
    title = f"{p.title}: {total} judgments" + (f"\n{p.simulated_note}" if p.simulated else "")
    panel.set(xlim=(0, 100), yticks=[], xlabel="%")
    panel.set_title(title, color=RED if p.simulated else "black", fontsize="medium")


def _draw_aggregates(panel: Any, p: Preferences) -> None:
    counts = p.aggregates
    widest = max([1, *map(abs, p.all_aggregates)])
    ticks = list(range(widest, -widest - 1, -1))
    colours = [BLUE if at > 0 else RED if at < 0 else GREY for at in ticks]
    panel.bar(range(len(ticks)), [counts.get(at, 0) for at in ticks], color=colours)
    panel.set_xticks(range(len(ticks)), [f"+{abs(at)}" if at else "±0" for at in ticks])
    panel.set(xlabel=f"judgments more for {p.first} (blue) or for {p.second} (red)", ylabel="segments")
    panel.yaxis.get_major_locator().set_params(integer=True)
    panel.grid(axis="y", alpha=0.3)
