"""mert → rypt ← hits; only the command line talks; nothing heavy is loaded before it is needed."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOP = ("rypt.loop", "rypt.demo", "rypt.cli")  # may import everything; nothing imports it
ALLOWED = {
    "rypt": {"rypt"},
    "mert": {"rypt", "mert"},
    "hits": {"rypt", "hits"},
    "top": {"rypt", "mert", "hits", "top"},
}
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
def sources() -> dict[str, ast.Module]:
    """The syntax tree of each module of the three packages, by name."""
    trees = {}
    for package in ("rypt", "mert", "hits"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            trees[name] = ast.parse(path.read_text(encoding="utf-8"))
    return trees


def imports(tree: ast.Module) -> set[str]:
    """The names that a module imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def floor(name: str) -> str:
    """The package of a module; the top floor lies above all three."""
    return "top" if name.startswith(TOP) else name.split(".")[0]


@pytest.mark.slow
def test_arrows() -> None:
    """A package's own ``__init__`` may name what lies above it: its public names are loaded when they are used."""
    for name, tree in sources().items():
        if name not in ALLOWED:
            wrong = [x for x in imports(tree) if floor(x) in ALLOWED and floor(x) not in ALLOWED[floor(name)]]
            assert wrong == [], name


def test_the_client_of_a_market_does_not_know_the_server() -> None:
    for name, tree in sources().items():
        if name.startswith("hits.market."):
            assert [x for x in imports(tree) if x.startswith("hits.server")] == [], name


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
    for name, tree in sources().items():
        if ".cli" in name or "decoder" in name or name == "rypt.console":  # programs
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"print", "input"}, f"{name}:{node.lineno}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) != ("sys", "exit"), f"{name}:{node.lineno}"
                assert (node.value.id, node.attr) != ("os", "environ"), f"{name}:{node.lineno}"
