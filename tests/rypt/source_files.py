"""The product's source files as tests look at them: each is parsed once."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("rypt", "mert", "hits")


@cache
def files() -> tuple[Path, ...]:
    """All modules of the three packages."""
    return tuple(path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file's syntax tree."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imported_modules(path: Path) -> frozenset[str]:
    """The full names of all modules that a file imports anywhere."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


@cache
def calls(path: Path) -> frozenset[str]:
    """What a file calls, as it is written there."""
    return frozenset(ast.unparse(node.func) for node in nodes(path) if isinstance(node, ast.Call))
