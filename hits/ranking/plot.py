"""Pictures of rankings: ranks with their clusters, who met whom, and learning curves."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from math import isfinite
from typing import Any

from hits.ranking.evaluate import ModelEvaluation
from hits.ranking.heatmap import Heatmap
from hits.ranking.result import RankedGroup
from hits.ranking.table import short_names
from rypt.picture import check_picture, new_figure, save_picture
from rypt.text import PathLike, RyptError


@contextmanager
def _figure(path: PathLike, rows: int, columns: int, width: float, height: float) -> Iterator[tuple[Any, Any]]:
    """A figure and its panels, saved when the block ends."""
    check_picture(path)
    figure = new_figure(width, height)
    yield figure, figure.subplots(rows, columns, squeeze=False)
    save_picture(figure, path)


def plot_ranks(path: PathLike, rankings: Sequence[RankedGroup]) -> None:
    """The ranks of each system on the resamples, as in Figures 9 and 10 of Sakaguchi et al. (2014).

    A box reaches from the lower to the upper quartile, its line is the mean, whiskers reach over all resamples. Dashed
    lines part clusters. Without resamples (sign tests) a bar shows the range.
    """
    widths = [max(4.0, 1.5 + 0.55 * len(ranking.systems)) for ranking in rankings]
    with _figure(path, 1, len(rankings), sum(widths), 6.5) as (_, panels):
        for panel, ranking in zip(panels[0], rankings, strict=True):
            _draw_ranks(panel, ranking)


def _draw_ranks(panel: Any, ranking: RankedGroup) -> None:
    n = len(ranking.systems)
    places = list(range(1, n + 1))
    if ranking.rank_samples is not None:
        panel.bxp(_boxes(ranking), positions=places, showfliers=False, showmeans=True, meanline=True, medianprops={
            "linewidth": 0}, meanprops={"color": "tab:red", "linestyle": "-"})  # fmt: skip
    elif ranking.systems[0].low is not None:
        for place, system in zip(places, ranking.systems, strict=True):
            assert system.low is not None
            assert system.high is not None
            panel.bar(place, system.high - system.low + 0.5, bottom=system.low - 0.25, width=0.5, color="lightgrey",
                      edgecolor="black")  # fmt: skip
    else:
        raise RyptError("a plot of ranks needs rank ranges: choose another confidence than none")
    for edge in cluster_edges(ranking):
        panel.plot([0.4, n + 0.6], [edge, edge], color="tab:red", linestyle="--", linewidth=1)
    panel.set_xticks(places, short_names([system.system for system in ranking.systems]), rotation=40, ha="right")
    panel.set_xlim(0.4, n + 0.6)
    panel.set_ylim(n + 0.5, 0.5)
    every = max(1, n // 15)
    panel.set_yticks(range(every, n + 1, every))
    panel.set_ylabel("rank")
    panel.set_title(f"{ranking.model}: {ranking.clusters} clusters of {n} systems", fontsize="medium")
    panel.grid(alpha=0.3)


def _boxes(ranking: RankedGroup) -> list[dict[str, Any]]:
    import numpy as np

    assert ranking.rank_samples is not None
    samples = ranking.rank_samples
    low, first, third, high = np.quantile(samples, [0, 0.25, 0.75, 1], axis=0)
    return [
        {"whislo": low[i], "q1": first[i], "med": samples[:, i].mean(), "mean": samples[:, i].mean(), "q3": third[i],
         "whishi": high[i]}
        for i in range(len(ranking.systems))
    ]  # fmt: skip


def cluster_edges(ranking: RankedGroup) -> list[float]:
    """Between which ranks clusters end: half-way between the ranges on either side."""
    by_cluster: dict[int, list[tuple[int, int]]] = {}
    for system in ranking.systems:
        if system.cluster is not None and system.low is not None and system.high is not None:
            by_cluster.setdefault(system.cluster, []).append((system.low, system.high))
    spans = [(min(low for low, _ in spans), max(high for _, high in spans)) for _, spans in sorted(by_cluster.items())]
    return [(above[1] + below[0]) / 2 for above, below in pairwise(spans)]


def plot_heatmap(path: PathLike, table: Heatmap) -> None:
    """All comparisons, the first fifth and the last fifth of what TrueSkill selects (Figures 5 to 7)."""
    n = len(table.systems)
    side = max(3.6, 1.2 + 0.28 * n)
    titles = ("all comparisons", "first selected matches", "last selected matches")
    shares, names = (table.everything, table.first, table.last), short_names(table.systems)
    top = max(float(part.max()) for part in shares)
    with _figure(path, 1, 3, 3 * side + 2.2, side + 1.6) as (figure, panels):
        for panel, title, part in zip(panels[0], titles, shares, strict=True):
            image = panel.imshow(100 * part, cmap="YlOrRd", vmin=0, vmax=100 * top)
            panel.set_title(title, fontsize="medium")
            panel.set_xticks(range(n), names, rotation=60, ha="right", fontsize=7)
            panel.set_yticks(range(n), names if panel is panels[0][0] else [""] * n, fontsize=7)
        figure.colorbar(image, ax=list(panels[0]), label="% of comparisons", shrink=0.8)


def plot_curves(
    path: PathLike, measures: Sequence[str], curves: Sequence[Mapping[str, Sequence[tuple[float, float]]]], axis: str
) -> None:
    """One panel for each measure, with a line of (x, y) for each name; x is logarithmic."""
    with _figure(path, 1, len(measures), 6.2 * len(measures) + 2.2, 5) as (figure, panels):
        for panel, measure, lines in zip(panels[0], measures, curves, strict=True):
            for i, (name, points) in enumerate(lines.items()):
                style = ("-", "--", "-.", ":")[i // 10 % 4]
                panel.plot([x for x, _ in points], [y for _, y in points], marker=".", linestyle=style, label=name)
            panel.set_xscale("log", base=2)
            xs = sorted({x for points in lines.values() for x, _ in points})
            panel.set_xticks(xs, [f"{x:g}" for x in xs])
            panel.set_xlabel(axis)
            panel.set_ylabel(measure)
            panel.grid(alpha=0.3)
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, fontsize="small", loc="outside right upper", frameon=False)


def plot_evaluation(path: PathLike, evaluation: ModelEvaluation) -> None:
    """Perplexity and accuracy of each model by the number of comparisons to learn from, and the oracle's."""
    accuracy: dict[str, list[tuple[float, float]]] = {}
    perplexity: dict[str, list[tuple[float, float]]] = {}
    for row in evaluation.rows:
        accuracy.setdefault(row.model, []).append((row.size, row.accuracy))
        perplexity.setdefault(row.model, [])
        if row.perplexity is not None and isfinite(row.perplexity):
            perplexity[row.model].append((row.size, row.perplexity))
    sizes = sorted({row.size for row in evaluation.rows})
    perplexity["oracle"] = [(size, evaluation.oracle_perplexity) for size in sizes]
    accuracy["oracle"] = [(size, evaluation.oracle_accuracy) for size in sizes]
    plot_curves(path, ("perplexity", "accuracy"), (perplexity, accuracy), "comparisons to learn from")
