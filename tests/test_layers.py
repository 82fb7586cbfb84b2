"""mert → rypt ← hits, and nothing heavy is imported before it is needed."""

import ast
import importlib.util
import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from local_market import work
from loop_world import served
from source_files import ROOT, files, nodes

from hits.server.store import Store

HEAVY = {
    "boto3",
    "botocore",
    "distributed",
    "flask",
    "jinja2",
    "matplotlib",
    "nltk",
    "numba",
    "numpy",
    "sacrebleu",
    "sqlite3",
    "sqlite_utils",
    "tabulate",
    "tqdm",
}


@cache
def rooms() -> ModuleType:
    """The script that draws the rooms."""
    spec = importlib.util.spec_from_file_location("draw_rooms", ROOT / "docs" / "draw_rooms.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def below(room: str, top_floor: tuple[str, ...]) -> str:
    """The package of a room; the top floor is above all three."""
    return "top" if room.startswith(top_floor) else room.split(".")[0]


ALLOWED = {
    "rypt": {"rypt"},
    "mert": {"rypt", "mert"},
    "hits": {"rypt", "hits"},
    "top": {"rypt", "mert", "hits", "top"},
}


def test_arrows() -> None:
    """mert and hits know rypt and not each other; the top floor knows everything and nothing knows it."""
    drawn = rooms()
    for room, others in drawn.arrows().items():
        for other in others:
            assert below(other, drawn.TOP_FLOOR) in ALLOWED[below(room, drawn.TOP_FLOOR)], f"{room} → {other}"


def test_no_room_is_in_a_circle() -> None:
    drawn = rooms()
    assert drawn.floors(drawn.arrows())


def test_the_picture_of_the_rooms_is_current() -> None:
    drawn = rooms()
    picture = (ROOT / "docs" / "rooms.svg").read_text(encoding="utf-8")
    assert picture == drawn.draw(drawn.arrows()), "run python docs/draw_rooms.py"


def run_client(*arguments: object) -> dict[str, Any]:
    """Run a command in a process of its own: what it prints, and which modules of a server it has loaded."""
    code = (
        "import sys\nfrom rypt.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print(sorted(name for name in sys.modules if name.startswith(('hits.server', 'flask', 'waitress', 'nh3'))))"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    out = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    assert out.returncode == 0, out.stderr
    printed, loaded = out.stdout.splitlines()
    return {**json.loads(printed), "loaded": loaded}


def test_the_client_of_a_market_does_not_know_the_server(tmp_path: Path, demo_campaign: Path) -> None:
    """A real batch is published on a real market and collected from it."""
    assert "hits.server" not in rooms().arrows()["hits.market"]
    campaign, batch, at = tmp_path / "campaign", tmp_path / "batch", tmp_path / "market"
    shutil.copytree(demo_campaign, campaign)
    size = run_client("hits", "make", campaign, "-o", batch, "--limit", 2, "--json", "-q")["hits"]
    with served(at):
        published = run_client("hits", "publish", batch, "--market", at, "--yes", "--json", "-q")
        with Store(at / "market.db") as store:
            work(store, "Ada", lambda hit: {"label_1": "NO"})
        collected = run_client("hits", "collect", batch, "-C", campaign, "--market", at, "--json", "-q")
    assert (published["published"], published["loaded"]) == (size, "[]")
    assert (collected["assignments"], collected["loaded"]) == (size, "[]")


def test_the_command_line_loads_nothing_heavy() -> None:
    code = (
        "import sys, rypt, mert, hits\n"
        "from importlib.metadata import entry_points\n"
        "commands = [entry.load() for entry in entry_points(group='rypt.commands')]\n"
        "assert len(commands) > 5\n"
        f"print(sorted(set(sys.modules) & {HEAVY!r}))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=180
    )
    assert out.stdout.strip() == "[]"


def test_only_the_command_line_prints_and_exits() -> None:
    for path in files():
        if "cli" in path.parts or "decoder" in path.parts or path.name == "console.py":  # programs
            continue
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"print", "input"}, f"{path}:{node.lineno}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) != ("sys", "exit"), f"{path}:{node.lineno}"
                assert (node.value.id, node.attr) != ("os", "environ"), f"{path}:{node.lineno}"
