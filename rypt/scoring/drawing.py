"""The picture of the paper's Figure 2 as SVG: the source tree with its labels, the alignment, the candidate."""

import html
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from rypt.scoring.explain import ExplainedNode, Explanation
from rypt.scoring.percolation import NO, NO_UP, UNKNOWN, YES, YES_DOWN

COLOURS = {
    YES: ("#2e7d32", "#a5d6a7"),
    YES_DOWN: ("#2e7d32", "#e8f5e9"),
    NO: ("#b71c1c", "#ef9a9a"),
    NO_UP: ("#b71c1c", "#ffebee"),
    UNKNOWN: ("#757575", "#ffffff"),
}
LEGEND = {YES: "YES", YES_DOWN: "YES from above", NO: "NO", NO_UP: "NO from below", UNKNOWN: "unknown"}
FRONTIER = "thick border: asked about (frontier)"
MARGIN, TOP, ROW, BOX, GAP = 20, 70, 48, 24, 14
WORD, NAME, SMALL = 14, 13, 12  # sizes of letters: of words, in boxes, of the heading and the legend
NARROW = frozenset("fijlrt.,:;'’‘!|()[]/\\Iíìîïіїј·-")
WIDE = frozenset("mwMWжмшщыюфњљџЖМШЩЫЮФЊЉЏДQOœæŒÆ%@&—…№„“”™")
STYLE = (
    "text{font:13px system-ui,sans-serif;text-anchor:middle;fill:#212121}.word{font-size:14px}"
    ".small{font-size:12px;text-anchor:start}.edge{stroke:#9e9e9e;fill:none}.link{stroke:#90a4ae;stroke-dasharray:2 3}"
)
Point = tuple[float, float]


def as_svg(explanation: Explanation) -> str:
    """A self-contained SVG; a thick border marks the frontier, a dashed one a percolated label."""
    nodes, candidate = explanation.nodes, explanation.candidate.tokens
    source, source_width = _middles(_source_widths(explanation))
    target, target_width = _middles([text_width(word) + GAP for word in candidate])
    legend, legend_width = _legend()
    heading = text_width(explanation.headline, SMALL)
    width = max(source_width, target_width, heading, legend_width) + 2 * MARGIN
    depths = _depths(nodes)
    places = [_place(node, source, depth) for node, depth in zip(nodes, depths, strict=True)]
    source_y = TOP + (max(depths, default=0) + 1) * ROW + 10
    target_y = source_y + 90
    size = f'width="{width:.0f}" height="{target_y + 30:.0f}"'
    links = [
        f'<path class="link" d="M{source[i]:.1f} {source_y + 6:.1f}L{target[j]:.1f} {target_y - 16:.1f}"/>'
        for i, linked in enumerate(explanation.links)
        for j in sorted(set(linked))
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {target_y + 30:.0f}" {size} role="img">'
        f"<title>{_escape(explanation.headline)}</title><style>{STYLE}</style>",
        f'<rect {size} fill="#fff"/>',
        f'<text class="small" x="{MARGIN}" y="22" style="font-weight:600">{_escape(explanation.headline)}</text>',
        *legend,
        *_edges(nodes, places, source_y),
        *links,
        *(_box(explanation, node, place) for node, place in zip(nodes, places, strict=True)),
        *_words(explanation.tree.tokens, source, source_y),
        *_words(candidate, target, target_y),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _escape(text: str) -> str:
    """Text for XML, without the control characters that XML does not allow."""
    return html.escape(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text))


def text_width(text: str, size: float = WORD) -> float:
    """The width of a text in pixels, as wide as the widest of the usual fonts without serifs has it.

    >>> [round(text_width(text)) for text in ("ill", "mmm", "Щщ", "house", "家", "e\u0301")]
    [18, 41, 29, 46, 15, 9]
    """
    return sum(map(_letter_width, text)) * size


@lru_cache(1 << 12)
def _letter_width(letter: str) -> float:
    """In units of the letters' size."""
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.08
    if letter in NARROW:
        return 0.42
    if letter in WIDE:
        return 1.1 if letter.isupper() or not letter.isalpha() else 0.97
    return 0.8 if letter.isupper() else 0.66


def _box_width(label: str) -> float:
    return max(30.0, text_width(label, NAME) + 12)


def _source_widths(explanation: Explanation) -> list[float]:
    """A column holds its token; the columns of a constituent together hold its box, so that no two boxes overlap."""
    widths = [text_width(token) + GAP for token in explanation.tree.tokens]
    for node in explanation.nodes:
        start, stop = node.constituent.span
        around_middle = sum(widths[start:stop]) - abs(widths[start] - widths[stop - 1]) / 2
        lacking = _box_width(node.constituent.label) + 8 - around_middle
        if lacking > 0:
            widths[start:stop] = [width + lacking / (stop - start) for width in widths[start:stop]]
    return widths


def _middles(widths: list[float]) -> tuple[list[float], float]:
    """The middle of each column, and the width of them all."""
    middles, at = [], float(MARGIN)
    for width in widths:
        middles.append(at + width / 2)
        at += width
    return middles, at - MARGIN


def _depths(nodes: Sequence[ExplainedNode]) -> list[int]:
    """The row of each constituent, counted from the root; all words are in the lowest."""
    depths: list[int] = []
    for node in nodes:
        parent = node.constituent.parent
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    lowest = max(depths, default=0)
    return [
        lowest if len(node.constituent.span) == 1 else depth
        for node, depth in zip(nodes, depths, strict=True)
    ]


def _place(node: ExplainedNode, columns: list[float], depth: int) -> Point:
    """The middle of a constituent's box."""
    span = node.constituent.span
    return (columns[span.start] + columns[span.stop - 1]) / 2, TOP + depth * ROW + BOX / 2


def _edges(nodes: Sequence[ExplainedNode], places: list[Point], source_y: float) -> list[str]:
    paths = []
    for node, (x, y) in zip(nodes, places, strict=True):
        if node.constituent.parent >= 0:
            above_x, above_y = places[node.constituent.parent]
            paths.append(f"M{above_x:.1f} {above_y:.1f}V{above_y + BOX / 2 + 9:.1f}H{x:.1f}V{y:.1f}")
        if len(node.constituent.span) == 1:
            paths.append(f"M{x:.1f} {y:.1f}L{x:.1f} {source_y - 16:.1f}")
    return [f'<path class="edge" d="{path}"/>' for path in paths]


def _dash(state: int) -> str:
    return ' stroke-dasharray="4 2"' if state in (YES_DOWN, NO_UP) else ""


def _box(explanation: Explanation, node: ExplainedNode, place: Point) -> str:
    x, y = place
    stroke, fill = COLOURS[node.state]
    width = _box_width(node.constituent.label)
    border = 3.5 if node.on_frontier else 1.2
    source = " ".join(explanation.tree.tokens[slice(*node.constituent.span)])
    phrase = node.phrase.text if node.phrase else "nothing"
    tooltip = f"{source} → {phrase}: {node.mark} {node.tally}".rstrip()
    tooltip += f", penalty×share {node.cost}" if node.cost else ""
    return (
        f'<g><title>{_escape(tooltip)}</title><rect x="{x - width / 2:.1f}" y="{y - BOX / 2:.1f}" width="{width:.1f}" '
        f'height="{BOX}" rx="5" fill="{fill}" stroke="{stroke}" stroke-width="{border}"{_dash(node.state)}/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}">{_escape(node.constituent.label)}</text></g>'
    )


def _words(tokens: Sequence[str], columns: list[float], y: float) -> list[str]:
    return [
        f'<text class="word" x="{x:.1f}" y="{y:.1f}">{_escape(token)}</text>'
        for token, x in zip(tokens, columns, strict=True)
    ]


def _legend() -> tuple[list[str], float]:
    """What the colours mean, and the width of that."""
    parts, x = [], float(MARGIN)
    for state, name in LEGEND.items():
        stroke, fill = COLOURS[state]
        colours = f'fill="{fill}" stroke="{stroke}"{_dash(state)}'
        parts.append(f'<rect x="{x:.0f}" y="34" width="16" height="12" rx="3" {colours}/>')
        parts.append(f'<text class="small" x="{x + 21:.0f}" y="44">{name}</text>')
        x += 21 + text_width(name, SMALL) + 14
    parts.append(f'<text class="small" x="{x:.0f}" y="44">{FRONTIER}</text>')
    return parts, x - MARGIN + text_width(FRONTIER, SMALL)
