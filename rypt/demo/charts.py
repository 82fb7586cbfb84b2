"""Small SVG charts for an HTML page: they use the page's colours and are readable on a phone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rypt.scoring.drawing import escape

WIDTH = 360
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 14, 30
ROW = 34  # height of a horizontal bar with its name above


@dataclass(frozen=True, slots=True)
class Line:
    """A named row of values, None where there is none; ``kind`` says how it looks."""

    name: str
    kind: str
    values: Sequence[float | None]


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>\n{body}\n</svg>"
    )


def _text(x: float, y: float, text: str, where: str = "middle", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{where}"{more}>{escape(text)}</text>'


def line_chart(title: str, names: Sequence[str], lines: Sequence[Line]) -> str:
    """Lines from 0 to 100 % over named points, each with its markers and its last value."""
    height = 210
    inner, wide = height - TOP - BOTTOM, WIDTH - LEFT - RIGHT - 36

    def x(i: int) -> float:
        return LEFT + wide * (i + 0.5) / max(1, len(names))

    def y(value: float) -> float:
        return TOP + inner * (1 - value)

    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<path class="grid" d="M{LEFT} {y(share):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(_text(LEFT - 6, y(share) + 4, f"{share:.0%}", "end"))
    parts += [_text(x(i), height - 10, name) for i, name in enumerate(names)]
    for line in lines:
        points = [(x(i), y(value)) for i, value in enumerate(line.values) if value is not None]
        if not points:
            continue
        path = "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
        parts.append(f'<path class="line {line.kind}" d="M{path}"/>')
        parts += [f'<circle class="{line.kind}" cx="{px:.1f}" cy="{py:.1f}" r="3.5"/>' for px, py in points]
    parts += _last_values(lines, x, y)
    return _svg(height, title, parts)


def _last_values(lines: Sequence[Line], x: Callable[[int], float], y: Callable[[float], float]) -> list[str]:
    """The last value of each line, to the right of all lines, moved apart so that they do not overlap."""
    known = [[value for value in line.values if value is not None] for line in lines]
    ends = sorted([y(values[-1]) + 4, values[-1]] for values in known if values)
    for above, below in pairwise(ends):
        below[0] = max(below[0], above[0] + 13)
    right = x(max((len(line.values) for line in lines), default=1) - 1) + 8
    return [_text(right, height, f"{value:.0%}", "start") for height, value in ends]


def bar_chart(title: str, names: Sequence[str], bars: Sequence[Line], notes: Sequence[str]) -> str:
    """Groups of bars with their numbers on top, and a note below each group."""
    height = 220
    inner, wide = height - TOP - BOTTOM - 18, WIDTH - 2 * RIGHT
    most = max((value or 0 for bar in bars for value in bar.values), default=0) or 1
    group = wide / max(1, len(names))
    width = min(46.0, 0.8 * group / max(1, len(bars)))
    parts = [f'<path class="axis" d="M{RIGHT} {TOP + inner}H{WIDTH - RIGHT}"/>']
    for i, (name, note) in enumerate(zip(names, notes, strict=True)):
        middle = RIGHT + group * (i + 0.5)
        parts += [
            _text(middle, TOP + inner + 18, name),
            _text(middle, TOP + inner + 35, note, more=' class="quiet"'),
        ]
        for k, bar in enumerate(bars):
            value = bar.values[i] or 0
            tall = (inner - 16) * value / most
            left = middle + (k - len(bars) / 2) * width
            parts.append(
                f'<rect class="{bar.kind}" x="{left + 1:.1f}" y="{TOP + inner - tall:.1f}" width="{width - 2:.1f}" '
                f'height="{tall:.1f}"/>'
            )
            parts.append(_text(left + width / 2, TOP + inner - tall - 4, f"{value:g}"))
    return _svg(height, title, parts)


def share_bars(title: str, shares: Mapping[str, float], kinds: Mapping[str, str]) -> str:
    """A horizontal bar for each share, with its name and its number."""
    parts = []
    for i, (name, share) in enumerate(shares.items()):
        top = 4 + i * ROW
        parts.append(_text(0, top + 11, name, "start"))
        parts.append(_text(WIDTH, top + 11, f"{share:.1%}", "end", ' class="strong"'))
        for kind, wide in (("track", 1.0), (kinds[name], share)):
            size = f'width="{WIDTH * wide:.1f}" height="10" rx="5"'
            parts.append(f'<rect class="{kind}" x="0" y="{top + 16}" {size}/>')
    return _svg(4 + ROW * len(shares), title, parts)


def stacked_bar(title: str, counts: Mapping[str, int], kinds: Mapping[str, str]) -> str:
    """One bar of counts side by side, with names below it."""
    total = sum(counts.values()) or 1
    parts, at = [], 0.0
    for name, count in counts.items():
        wide = WIDTH * count / total
        parts.append(
            f'<rect class="{kinds[name]}" x="{at:.1f}" y="4" width="{max(0.0, wide - 1):.1f}" height="26"/>'
        )
        at += wide
    for i, (name, count) in enumerate(counts.items()):
        y = 52 + 20 * i
        parts.append(f'<rect class="{kinds[name]}" x="0" y="{y - 11}" width="12" height="12" rx="2"/>')
        parts.append(_text(20, y, name, "start"))
        parts.append(_text(WIDTH, y, f"{count} ({count / total:.1%})", "end", ' class="strong"'))
    return _svg(46 + 20 * len(counts), title, parts)


def vote_chart(title: str, votes: Mapping[str, int], kinds: Sequence[str]) -> str:
    """Segments by the difference of their votes, from all for the first to all for the second."""
    most = max(votes.values(), default=1)
    width, inner = WIDTH / max(1, len(votes)), 110
    parts = [f'<path class="axis" d="M0 {inner + 18}H{WIDTH}"/>']
    for i, (name, value, kind) in enumerate(zip(votes, votes.values(), kinds, strict=True)):
        tall = inner * value / most
        middle = width * (i + 0.5)
        parts.append(
            f'<rect class="{kind}" x="{middle - 0.36 * width:.1f}" y="{inner + 18 - tall:.1f}" '
            f'width="{0.72 * width:.1f}" height="{tall:.1f}"/>'
        )
        parts += [_text(middle, inner + 13 - tall, f"{value}"), _text(middle, inner + 35, name)]
    return _svg(inner + 46, title, parts)


def rank_chart(
    title: str, systems: Sequence[Mapping[str, float | int | str]], kinds: Mapping[str, str]
) -> str:
    """A dot for each system's score from 0 to 1, with its range of ranks in words."""
    parts = []
    for i, system in enumerate(systems):
        name, score = str(system["system"]), float(system["score"])
        top = 6 + i * (ROW + 6)
        ranks = f"{system['low']}" if system["low"] == system["high"] else f"{system['low']}–{system['high']}"
        parts.append(_text(0, top + 11, f"{i + 1}. {name}", "start", ' class="strong"'))
        parts.append(_text(WIDTH, top + 11, f"{score:.3f}, rank {ranks}", "end"))
        parts.append(f'<path class="axis" d="M0 {top + 24}H{WIDTH}"/>')
        parts.append(f'<circle class="{kinds[name]}" cx="{WIDTH * score:.1f}" cy="{top + 24}" r="6"/>')
    parts.append(f'<path class="grid" d="M{WIDTH / 2} 22V{6 + len(systems) * (ROW + 6) - 6}"/>')
    parts.append(_text(WIDTH / 2, 12 + len(systems) * (ROW + 6), "better than the others half of the time"))
    return _svg(20 + len(systems) * (ROW + 6), title, parts)
