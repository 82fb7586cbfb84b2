"""The picture of `rypt.scoring.drawing` by matplotlib, for files that a paper or a slide takes: PNG and PDF."""

from typing import Any

from rypt.picture import new_figure, save_picture
from rypt.scoring.drawing import (
    BOX,
    COLOURS,
    FRONTIER,
    LEGEND,
    MARGIN,
    NAME,
    ROW,
    SMALL,
    WORD,
    box_width,
    layout_of,
    legend_places,
    place_of,
    row_numbers,
)
from rypt.scoring.explain import ExplainedNode, Explanation
from rypt.scoring.percolation import NO_UP, YES_DOWN
from rypt.text import PathLike

PIXELS = 96  # per inch
TOP = 70


def write_figure(path: PathLike, explanation: Explanation) -> None:
    """Draw the tree, the alignment and the candidate, in the places that the SVG has them."""
    tokens, words = list(explanation.tree.tokens), explanation.candidate.tokens
    columns, places, width = layout_of(explanation)
    rows = row_numbers(explanation)
    source_y = TOP + (max(rows, default=0) + 1) * ROW + 10
    height = source_y + 120
    figure = new_figure(width / PIXELS, height / PIXELS, fitted=False)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    axes.text(MARGIN, 22, explanation.headline, fontsize=_points(SMALL), fontweight="bold", parse_math=False)
    _draw_legend(axes)
    boxes = [place_of(node, columns, row, TOP) for node, row in zip(explanation.nodes, rows, strict=True)]
    for node, (x, y) in zip(explanation.nodes, boxes, strict=True):
        if node.constituent.parent >= 0:
            above = boxes[node.constituent.parent]
            bend = above[1] + BOX / 2 + 9
            axes.plot(
                [above[0], above[0], x, x],
                [above[1], bend, bend, y],
                color="#9e9e9e",
                linewidth=0.8,
                zorder=1,
            )
        if len(node.constituent.span) == 1:
            axes.plot([x, x], [y, source_y - 16], color="#9e9e9e", linewidth=0.8, zorder=1)
    for source, targets in enumerate(explanation.links):
        for target in sorted(set(targets)):
            ends = [columns[source], places[target]], [source_y + 6, source_y + 74]
            axes.plot(*ends, color="#90a4ae", linewidth=0.8, linestyle=":", zorder=1)
    for node, box in zip(explanation.nodes, boxes, strict=True):
        _draw_box(axes, node, *box)
    for texts, middles, y in ((tokens, columns, source_y), (words, places, source_y + 90)):
        for text, x in zip(texts, middles, strict=True):
            axes.text(x, y, text, fontsize=_points(WORD), ha="center", va="baseline", parse_math=False)
    save_picture(figure, path)


def _points(pixels: float) -> float:
    return pixels * 72 / PIXELS


def _draw_box(axes: Any, node: ExplainedNode, x: float, y: float) -> None:
    width = box_width(node.constituent.label)
    border = 2.6 if node.on_frontier else 0.9
    _draw_rectangle(axes, x - width / 2, y - BOX / 2, width, BOX, node.state, border)
    label = node.constituent.label
    axes.text(x, y, label, fontsize=_points(NAME), ha="center", va="center", zorder=3, parse_math=False)


def _draw_rectangle(
    axes: Any, x: float, y: float, width: float, height: float, state: int, border: float
) -> None:
    from matplotlib.patches import FancyBboxPatch

    stroke, fill = COLOURS[state]
    line = "--" if state in (YES_DOWN, NO_UP) else "-"
    axes.add_patch(
        FancyBboxPatch(
            (x, y),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=4",
            facecolor=fill,
            edgecolor=stroke,
            linewidth=border,
            linestyle=line,
            zorder=2,
        )
    )


def _draw_legend(axes: Any) -> None:
    *places, last = legend_places()
    for x, (state, name) in zip(places, LEGEND, strict=True):
        _draw_rectangle(axes, x, 34, 16, 12, state, 0.9)
        axes.text(x + 21, 44, name, fontsize=_points(SMALL))
    axes.text(last, 44, FRONTIER, fontsize=_points(SMALL))
