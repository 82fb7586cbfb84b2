"""Draw which room of the code imports which, to docs/rooms.svg; every arrow points down.

    python docs/draw_rooms.py

A room is a folder of modules; the modules that lie directly in ``rypt/``, ``mert/`` and ``hits/`` are a room each.
Imports inside functions count like all others.
"""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("rypt", "mert", "hits")
COLOURS = {"rypt": "#1b6ca8", "mert": "#b5541c", "hits": "#3a7d34"}
TOP_FLOOR = ("rypt.loop", "rypt.demo", "rypt.cli")  # may import everything; nothing below imports it
ONE_ROOM = (
    "hits.cli",
    "hits.ranking",
    "hits.server",
    "rypt.texts",
    "rypt.demo",
    "rypt.cli",
)  # folders in them are no rooms of their own


def modules(root: Path = ROOT) -> dict[str, Path]:
    """All modules of the three packages, by name."""
    names: dict[str, Path] = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imported(path: Path, names: Iterable[str]) -> set[str]:
    """The modules among ``names`` that a file imports, anywhere in it."""
    known = set(names)
    seen: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            seen |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            seen |= {
                inner if (inner := f"{node.module}.{alias.name}") in known else node.module
                for alias in node.names
            }
    return seen & known


def room_of(module: str, path: Path) -> str:
    """The room of a module: the folder it lies in."""
    room = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return next((one for one in ONE_ROOM if room.startswith(one + ".")), room)


@cache
def arrows(root: Path = ROOT) -> dict[str, set[str]]:
    """For each room the other rooms that it imports."""
    names = modules(root)
    rooms: dict[str, set[str]] = {room_of(name, path): set() for name, path in names.items()}
    for name, path in names.items():
        if name in PACKAGES:
            continue  # a package's public names live in the rooms above it and are imported when they are used
        room = room_of(name, path)
        rooms[room] |= {room_of(other, names[other]) for other in imported(path, names)} - {room}
    return rooms


def floors(rooms: dict[str, set[str]]) -> dict[str, int]:
    """How high a room lies: above all that it imports. Rooms that import each other in a circle are an error."""
    height: dict[str, int] = {}

    def visit(room: str, above: tuple[str, ...]) -> int:
        if room in above:
            raise ValueError("rooms import each other: " + " → ".join([*above[above.index(room) :], room]))
        if room not in height:
            height[room] = 1 + max(
                (visit(other, (*above, room)) for other in sorted(rooms[room])), default=-1
            )
        return height[room]

    for room in sorted(rooms):
        visit(room, ())
    return height


def essential(rooms: dict[str, set[str]]) -> dict[str, set[str]]:
    """The arrows that do not follow from others, so that a picture of them can be read."""
    reach: dict[str, set[str]] = {}
    for room in sorted(rooms, key=floors(rooms).__getitem__):
        reach[room] = rooms[room].union(*(reach[other] for other in rooms[room]))
    return {
        room: {o for o in others if not any(o in reach[x] for x in others)} for room, others in rooms.items()
    }


def draw(rooms: dict[str, set[str]]) -> str:
    """The picture as SVG: a row for each floor."""
    height = floors(rooms)
    width, row = 1180, 88
    places: dict[str, tuple[float, float]] = {}
    top = max(height.values())
    for floor in range(top + 1):
        here = sorted(
            (room for room in rooms if height[room] == floor), key=lambda r: (PACKAGES.index(r[:4]), r)
        )
        for i, room in enumerate(here):
            places[room] = (width * (i + 1) / (len(here) + 1), 40 + (top - floor) * row)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {40 + (top + 1) * row}" '
        'font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#888"/></marker></defs>',
    ]
    for room, others in sorted(essential(rooms).items()):
        for other in sorted(others):
            (x1, y1), (x2, y2) = places[room], places[other]
            lines.append(
                f'<path d="M{x1:.0f} {y1 + 16} C{x1:.0f} {y1 + 50} {x2:.0f} {y2 - 52} {x2:.0f} {y2 - 18}" '
                'fill="none" stroke="#aaa" marker-end="url(#tip)"/>'
            )
    for room, (x, y) in sorted(places.items()):
        wide = 9.0 * len(room) + 16
        lines.append(
            f'<rect x="{x - wide / 2:.0f}" y="{y - 16}" width="{wide:.0f}" height="32" rx="6" '
            f'fill="{COLOURS[room[:4]]}"/><text x="{x:.0f}" y="{y + 5}" fill="#fff" font-size="15" '
            f'text-anchor="middle">{room}</text>'
        )
    return "\n".join([*lines, "</svg>\n"])


if __name__ == "__main__":
    (ROOT / "docs" / "rooms.svg").write_text(draw(arrows()), encoding="utf-8")
