"""The picture of the paper's Figure 2 as SVG: the source tree with its labels, the alignment, the candidate."""

import html
import re
import unicodedata
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
LEGEND = (
    (YES, "YES"),
    (YES_DOWN, "YES from above"),
    (NO, "NO"),
    (NO_UP, "NO from below"),
    (UNKNOWN, "unknown"),
)
FRONTIER = "thick border: asked about (frontier)"
MARGIN, ROW, BOX, GAP = 20, 48, 24, 14
WORD, NAME, SMALL = 14, 13, 12  # sizes of letters: of words, in boxes, of the heading and the legend
NARROW = frozenset("fijlrt.,:;'’‘!|()[]/\\Iíìîïіїј·-")
WIDE = frozenset("mwMWжмшщыюфњљџЖМШЩЫЮФЊЉЏДQOœæŒÆ%@&—…№„“”™")
STYLE = (
    "text{font:13px system-ui,sans-serif;text-anchor:middle;fill:#212121}.word{font-size:14px}"
    ".small{font-size:12px;text-anchor:start}.edge{stroke:#9e9e9e;fill:none}.link{stroke:#90a4ae;stroke-dasharray:2 3}"
)


def escape(text: str) -> str:
    """Text for XML, without the control characters that XML does not know."""
    return html.escape(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text))


def as_svg(explanation: Explanation) -> str:
    """A self-contained SVG; a thick border marks the frontier, a dashed one a percolated label."""
    columns, words, width = layout_of(explanation)
    depths = row_numbers(explanation)
    top = 70
    source_y = top + (max(depths, default=0) + 1) * ROW + 10
    candidate_y = source_y + 90
    height = candidate_y + 30
    places = [
        place_of(node, columns, depth, top) for node, depth in zip(explanation.nodes, depths, strict=True)
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img"><title>{escape(explanation.headline)}</title><style>{STYLE}</style>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
        f'<text class="small" x="{MARGIN}" y="22" style="font-weight:600">{escape(explanation.headline)}</text>',
        *_legend(),
        *_edges(explanation, places, source_y),
        *_links(explanation, columns, words, source_y, candidate_y),
        *(_box(explanation, node, place) for node, place in zip(explanation.nodes, places, strict=True)),
        *_words(list(explanation.tree.tokens), columns, source_y),
        *_words(explanation.candidate.tokens, words, candidate_y),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


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


def box_width(label: str) -> float:
    """The width of the box of a constituent."""
    return max(30.0, text_width(label, NAME) + 12)


def layout_of(explanation: Explanation) -> tuple[list[float], list[float], float]:
    """The middles of the source words and of the candidate's words, and the width of the picture."""
    words = explanation.candidate.tokens
    columns, source_width = columns_of(column_widths(explanation))
    places, candidate_width = columns_of([text_width(word) + GAP for word in words])
    heading = text_width(explanation.headline, SMALL)
    frontier = legend_places()[-1] - MARGIN + text_width(FRONTIER, SMALL)
    return columns, places, max(source_width, candidate_width, heading, frontier) + 2 * MARGIN


def column_widths(explanation: Explanation) -> list[float]:
    """A column holds its token; the columns of a constituent together hold its box, so that no two boxes overlap."""
    widths = [text_width(token) + GAP for token in explanation.tree.tokens]
    for node in explanation.nodes:
        start, stop = node.constituent.span
        room = (
            sum(widths[start:stop]) - abs(widths[start] - widths[stop - 1]) / 2
        )  # around the middle of the box
        lacking = box_width(node.constituent.label) + 8 - room
        if lacking > 0:
            widths[start:stop] = [width + lacking / (stop - start) for width in widths[start:stop]]
    return widths


def columns_of(widths: list[float]) -> tuple[list[float], float]:
    """The middle of each column, and the width of them all."""
    middles, at = [], float(MARGIN)
    for width in widths:
        middles.append(at + width / 2)
        at += width
    return middles, at - MARGIN


def legend_places() -> list[float]:
    """Where each entry of the legend begins, and at last the words about the frontier."""
    places = [float(MARGIN)]
    for _, name in LEGEND:
        places.append(places[-1] + 21 + text_width(name, SMALL) + 14)
    return places


def row_numbers(explanation: Explanation) -> list[int]:
    """How far each constituent stands below the root; preterminals all stand in the lowest row."""
    depths: list[int] = []
    for node in explanation.nodes:
        parent = node.constituent.parent
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    lowest = max(depths, default=0)
    return [
        lowest if len(node.constituent.span) == 1 else depth
        for node, depth in zip(explanation.nodes, depths, strict=True)
    ]


def place_of(node: ExplainedNode, columns: list[float], depth: int, top: int) -> tuple[float, float]:
    """The middle of a constituent's box."""
    span = node.constituent.span
    return (columns[span.start] + columns[span.stop - 1]) / 2, top + depth * ROW + BOX / 2


def _edges(explanation: Explanation, places: list[tuple[float, float]], source_y: float) -> list[str]:
    lines = []
    for node, (x, y) in zip(explanation.nodes, places, strict=True):
        if node.constituent.parent >= 0:
            above = places[node.constituent.parent]
            bend = above[1] + BOX / 2 + 9
            lines.append(
                f'<path class="edge" d="M{above[0]:.1f} {above[1]:.1f}V{bend:.1f}H{x:.1f}V{y:.1f}"/>'
            )
        if len(node.constituent.span) == 1:
            lines.append(f'<path class="edge" d="M{x:.1f} {y:.1f}L{x:.1f} {source_y - 16:.1f}"/>')
    return lines


def _box(explanation: Explanation, node: ExplainedNode, place: tuple[float, float]) -> str:
    x, y = place
    stroke, fill = COLOURS[node.state]
    width = box_width(node.constituent.label)
    dash = ' stroke-dasharray="4 2"' if node.state in (YES_DOWN, NO_UP) else ""
    border = 3.5 if node.on_frontier else 1.2
    source = " ".join(explanation.tree.tokens[slice(*node.constituent.span)])
    tooltip = (
        f"{source} → {node.phrase.text if node.phrase else 'nothing'}: {node.mark} {node.tally}".rstrip()
    )
    tooltip += f", penalty×share {node.cost}" if node.cost else ""
    return (
        f'<g><title>{escape(tooltip)}</title><rect x="{x - width / 2:.1f}" y="{y - BOX / 2:.1f}" width="{width:.1f}" '
        f'height="{BOX}" rx="5" fill="{fill}" stroke="{stroke}" stroke-width="{border}"{dash}/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}">{escape(node.constituent.label)}</text></g>'
    )


def _links(
    explanation: Explanation, columns: list[float], words: list[float], source_y: float, candidate_y: float
) -> list[str]:
    return [
        f'<path class="link" d="M{columns[source]:.1f} {source_y + 6:.1f}L{words[target]:.1f} {candidate_y - 16:.1f}"/>'
        for source, targets in enumerate(explanation.links)
        for target in sorted(set(targets))
    ]


def _words(tokens: list[str], columns: list[float], y: float) -> list[str]:
    return [
        f'<text class="word" x="{x:.1f}" y="{y:.1f}">{escape(token)}</text>'
        for token, x in zip(tokens, columns, strict=True)
    ]


def _legend() -> list[str]:
    parts = []
    *places, last = legend_places()
    for x, (state, name) in zip(places, LEGEND, strict=True):
        stroke, fill = COLOURS[state]
        dash = ' stroke-dasharray="4 2"' if state in (YES_DOWN, NO_UP) else ""
        parts.append(
            f'<rect x="{x:.0f}" y="34" width="16" height="12" rx="3" fill="{fill}" stroke="{stroke}"{dash}/>'
        )
        parts.append(f'<text class="small" x="{x + 21:.0f}" y="44">{name}</text>')
    parts.append(f'<text class="small" x="{last:.0f}" y="44">{FRONTIER}</text>')
    return parts
