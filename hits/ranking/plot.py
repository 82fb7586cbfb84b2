"""Pictures of rankings: ranks with their clusters, who met whom, and learning curves."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from math import isfinite
from typing import TYPE_CHECKING, Any

from hits.ranking.evaluate import ModelEvaluation
from hits.ranking.result import RankedGroup
from hits.ranking.table import system_labels, table_order
from rypt.picture import check_picture, new_figure, save_picture
from rypt.text import PathLike, RyptError

if TYPE_CHECKING:
    from numpy.typing import NDArray

RANKS, SCORES = (
    "#0b5394",
    "#c4500c",
)  # a dark blue and an orange, which differ in shape, too, where all is grey
BAND, INK = "#e9e9e9", "#444444"
SHIFT = 0.17  # ranks stand above the middle of a system's line, scores below
THIN = 0.16  # the least width of a box, in ranks


@contextmanager
def _figure(
    path: PathLike, rows: int, columns: int, width: float, height: float
) -> Iterator[tuple[Any, Any]]:
    """A figure and its panels, saved when the block ends."""
    check_picture(path)
    figure = new_figure(width, height)
    yield figure, figure.subplots(rows, columns, squeeze=False)
    save_picture(figure, path)


def plot_ranks(path: PathLike, rankings: Sequence[RankedGroup]) -> None:
    """Ranks and scores of the systems: the range of ranks is a line, exactly the table's, the middle half a box.

    Systems stand in the order of the table, ranks below, scores above (diamonds). Bands are clusters. Where ranges come
    from tests, not from resamples, there are no boxes. Groups of systems are panels below each other.
    """
    heights = [1.7 + 0.27 * max(4, len(ranking.systems)) for ranking in rankings]
    names = [system_labels([system.system for system in table_order(ranking)]) for ranking in rankings]
    width = 6.0 + 0.085 * max(len(name) for group in names for name in group)
    check_picture(path)
    figure = new_figure(width, sum(heights))
    panels = figure.subplots(len(rankings), 1, squeeze=False, height_ratios=heights)
    for panel, ranking, labels in zip(panels[:, 0], rankings, names, strict=True):
        _draw_ranks(panel, ranking, labels)
    marks = {
        label: mark
        for panel in panels[:, 0]
        for mark, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        marks.values(),
        marks.keys(),
        loc="outside lower center",
        ncols=len(marks),
        fontsize="small",
        frameon=False,
    )  # below the panels, where it hides nothing
    save_picture(figure, path)


def _draw_ranks(panel: Any, ranking: RankedGroup, labels: Sequence[str]) -> None:
    systems, n = table_order(ranking), len(ranking.systems)
    if any(system.low is None for system in systems):
        raise RyptError("a plot of ranks needs rank ranges: choose another confidence than none")
    places = range(1, n + 1)
    for first, last in cluster_bands(ranking)[::2]:
        panel.axhspan(first - 0.5, last + 0.5, color=BAND, linewidth=0, zorder=0)
    for edge, _ in cluster_bands(ranking)[1:]:
        panel.axhline(edge - 0.5, color=INK, linewidth=0.8, zorder=1)
    lows, highs = [s.low for s in systems], [s.high for s in systems]
    above = [place - SHIFT for place in places]
    panel.hlines(above, lows, highs, color=RANKS, linewidth=1.4, zorder=3, label="range of ranks")
    for ends in (lows, highs):
        panel.plot(
            ends,
            above,
            linestyle="none",
            marker="|",
            markersize=7,
            markeredgewidth=1.4,
            color=RANKS,
            zorder=3,
        )
    halves = _middle_halves(ranking)
    if halves is not None:
        start, end = halves
        panel.barh(
            above,
            end - start,
            left=start,
            height=0.36,
            color=RANKS,
            alpha=0.55,
            linewidth=0,
            zorder=4,
            label="middle half",
        )
    panel.set_yticks(list(places), list(labels))
    panel.set_ylim(n + 0.5, 0.5)
    panel.set_xlim(0.5, n + 0.5)
    every = max(1, -(-n // 15))
    panel.set_xticks([1, *range(every, n + 1, every)] if every > 1 else list(places))
    panel.set_xlabel("rank", color=RANKS)
    panel.tick_params(axis="x", colors=RANKS)
    panel.grid(axis="x", alpha=0.3, zorder=0)
    _draw_scores(panel, ranking)
    count = (
        f"{ranking.clusters} clusters of {n} systems"
        if ranking.clusters != 1
        else f"all {n} systems in one cluster"
    )
    panel.set_title(
        ": ".join(filter(None, (ranking.title, ranking.model, count))), fontsize="medium", loc="left"
    )


def _draw_scores(panel: Any, ranking: RankedGroup) -> None:
    """Scores on an axis of their own above the panel, the best on the left as the best rank is."""
    systems = table_order(ranking)
    scores = [system.score for system in systems]
    axis = panel.twiny()
    below = [place + SHIFT for place in range(1, len(systems) + 1)]
    errors = [system.error for system in systems]
    if all(error is not None for error in errors):
        axis.errorbar(scores, below, xerr=errors, fmt="none", ecolor=SCORES, elinewidth=1, zorder=5)
    axis.plot(
        scores,
        below,
        linestyle="none",
        marker="D",
        markersize=3.8,
        markerfacecolor="white",
        markeredgecolor=SCORES,
        zorder=5,
    )
    margin = 0.04 * (max(scores) - min(scores)) or 0.5
    best, worst = max(scores) + margin, min(scores) - margin
    axis.set_xlim((best, worst) if ranking.descending else (worst, best))
    axis.set_xlabel(ranking.score if ranking.score != "score" else f"score ({ranking.model})", color=SCORES)
    axis.tick_params(axis="x", colors=SCORES)
    panel.plot(
        [],
        [],
        linestyle="none",
        marker="D",
        markersize=3.8,
        markerfacecolor="white",
        markeredgecolor=SCORES,
        label="score (upper axis)",
    )


def _middle_halves(ranking: RankedGroup) -> "tuple[NDArray[Any], NDArray[Any]] | None":
    """The quartiles of each system's ranks in the order of the table, never outside its range; None without resamples.

    A box has some width even where both quartiles are one rank, but inside the range.
    """
    import numpy as np

    if ranking.rank_samples is None:
        return None
    place = {system.system: i for i, system in enumerate(ranking.systems)}
    systems = table_order(ranking)
    samples = ranking.rank_samples[:, [place[system.system] for system in systems]]
    low, high = (np.array([getattr(system, end) for system in systems], float) for end in ("low", "high"))
    first, third = np.clip(np.quantile(samples, [0.25, 0.75], axis=0), low, high)
    thin = third - first < THIN
    centre = (first + third) / 2
    edge = np.where(low < high, 0.0, THIN / 2)  # a range of one rank has no length that a box could fill
    start, end = np.where(thin, centre - THIN / 2, first), np.where(thin, centre + THIN / 2, third)
    return np.maximum(start, low - edge), np.minimum(end, high + edge)


def cluster_bands(ranking: RankedGroup) -> list[tuple[int, int]]:
    """The lines of the table that each cluster takes, from and to; none without clusters."""
    bands: list[tuple[int, int]] = []
    for _, members in groupby(enumerate(table_order(ranking), start=1), key=lambda item: item[1].cluster):
        lines = [line for line, system in members if system.cluster is not None]
        if lines:
            bands.append((lines[0], lines[-1]))
    return bands


def plot_curves(
    path: PathLike,
    measures: Sequence[str],
    curves: Sequence[Mapping[str, Sequence[tuple[float, float]]]],
    axis: str,
) -> None:
    """One panel for each measure, with a line of (x, y) for each name; x is logarithmic."""
    with _figure(path, 1, len(measures), 6.2 * len(measures) + 2.2, 5) as (figure, panels):
        for panel, measure, lines in zip(panels[0], measures, curves, strict=True):
            for i, (name, points) in enumerate(lines.items()):
                style = ("-", "--", "-.", ":")[i // 10 % 4]
                panel.plot(
                    [x for x, _ in points], [y for _, y in points], marker=".", linestyle=style, label=name
                )
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
