"""Pictures of rankings: scores with their intervals and clusters, and learning curves."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isfinite
from typing import Any

from hits.ranking.evaluate import ModelEvaluation
from hits.ranking.result import RankedGroup
from hits.ranking.table import score_intervals, system_labels, table_order
from rypt.picture import new_figure, save_picture
from rypt.text import PathLike

BAND, RULE, POINT = "#eeeeee", "#444444", "#0b5394"


def plot_ranking(path: PathLike, rankings: Sequence[RankedGroup]) -> None:
    """Each system's score with its 95 % interval, best first; bands are clusters, groups of systems panels."""
    labels = [system_labels([system.system for system in table_order(ranking)]) for ranking in rankings]
    heights = [1.3 + 0.27 * max(3, len(ranking.systems)) for ranking in rankings]
    width = 5.5 + 0.085 * max(len(name) for names in labels for name in names)
    figure = new_figure(width, sum(heights))
    panels = figure.subplots(len(rankings), 1, squeeze=False, height_ratios=heights)
    for panel, ranking, names in zip(panels[:, 0], rankings, labels, strict=True):
        _draw(panel, ranking, names)
    save_picture(figure, path)


def _draw(panel: Any, ranking: RankedGroup, names: Sequence[str]) -> None:
    systems, intervals = table_order(ranking), score_intervals(ranking)
    n = len(systems)
    places = list(range(1, n + 1))
    bands = cluster_bands(ranking)
    for k, (first, last) in enumerate(bands):
        if k % 2 == 0:
            panel.axhspan(first - 0.5, last + 0.5, color=BAND, linewidth=0, zorder=0)
        if k:
            panel.axhline(first - 0.5, color=RULE, linewidth=0.8, zorder=1)
    if intervals:
        lows, highs = zip(*(intervals[system.system] for system in systems), strict=True)
        panel.hlines(places, lows, highs, color=POINT, linewidth=1.6, zorder=3)
    panel.plot([s.score for s in systems], places, linestyle="none", marker="o", color=POINT, zorder=4)
    panel.set_yticks(places, list(names))
    panel.set_ylim(n + 0.5, 0.5)
    if not ranking.descending:
        panel.invert_xaxis()  # the best is on the right
    panel.grid(axis="x", alpha=0.3, zorder=0)
    what = ranking.model.replace("-", " ") if ranking.score == "score" else f"mean {ranking.score}"
    panel.set_xlabel(f"{what}, with 95 % intervals" if intervals else what)
    clusters = f", {len(bands)} cluster{'s' * (len(bands) > 1)}" if bands else ""
    title = f"{n} systems{clusters}"
    panel.set_title(f"{ranking.title}: {title}" if ranking.title else title, fontsize="medium", loc="left")


def cluster_bands(ranking: RankedGroup) -> list[tuple[int, int]]:
    """The lines of the table that each cluster takes, from and to; none without clusters."""
    bands: list[tuple[int, int]] = []
    for cluster, members in groupby(
        enumerate(table_order(ranking), start=1), key=lambda item: item[1].cluster
    ):
        lines = [line for line, _ in members]
        if cluster is not None:
            bands.append((lines[0], lines[-1]))
    return bands


def plot_curves(
    path: PathLike,
    measures: Sequence[str],
    curves: Sequence[Mapping[str, Sequence[tuple[float, float]]]],
    axis: str,
) -> None:
    """One panel for each measure, with a line of (x, y) for each name; x is logarithmic."""
    figure = new_figure(6.2 * len(measures) + 2.2, 5)
    panels = figure.subplots(1, len(measures), squeeze=False)[0]
    for panel, measure, lines in zip(panels, measures, curves, strict=True):
        for i, (name, points) in enumerate(lines.items()):
            style = ("-", "--", "-.", ":")[i // 10 % 4]
            xs, ys = zip(*points, strict=True) if points else ((), ())
            panel.plot(xs, ys, marker=".", linestyle=style, label=name)
        panel.set_xscale("log", base=2)
        ticks = sorted({x for points in lines.values() for x, _ in points})
        panel.set_xticks(ticks, [f"{x:g}" for x in ticks])
        panel.set_xlabel(axis)
        panel.set_ylabel(measure)
        panel.grid(alpha=0.3)
    figure.legend(
        *panels[0].get_legend_handles_labels(), fontsize="small", loc="outside right upper", frameon=False
    )
    save_picture(figure, path)


def plot_evaluation(path: PathLike, evaluation: ModelEvaluation) -> None:
    """Perplexity and accuracy of each model by the number of comparisons to learn from, and the oracle's."""
    accuracy: dict[str, list[tuple[float, float]]] = {}
    perplexity: dict[str, list[tuple[float, float]]] = {}
    for row in evaluation.rows:
        accuracy.setdefault(row.model, []).append((row.size, row.accuracy))
        points = perplexity.setdefault(row.model, [])
        if row.perplexity is not None and isfinite(row.perplexity):
            points.append((row.size, row.perplexity))
    sizes = sorted({row.size for row in evaluation.rows})
    perplexity["oracle"] = [(size, evaluation.oracle_perplexity) for size in sizes]
    accuracy["oracle"] = [(size, evaluation.oracle_accuracy) for size in sizes]
    plot_curves(path, ("perplexity", "accuracy"), (perplexity, accuracy), "comparisons to learn from")
