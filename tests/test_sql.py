"""All SQL of judgments is in `rypt.database`, of answers in `hits.results`, of the market in `hits.server.store`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_files import ROOT, files, imported_modules, nodes

STORES = ("rypt/database/", "hits/results/answers.py", "hits/results/tables.py", "hits/server/store/")
SQL = re.compile(
    r"\b(SELECT\b.+\bFROM|INSERT( OR \w+)? INTO|DELETE FROM|CREATE (TEMP )?(TABLE|VIEW|INDEX)|DROP (TABLE|VIEW))\b"
    r"|\bUPDATE \w+ SET\b|\bPRAGMA \w+",
    re.DOTALL,
)


def statements(path: Path) -> Iterator[str]:
    """The texts in a file that look like SQL, docstrings included, and what it calls or imports to run it."""
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.search(node.value):
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {' '.join(node.value.split())[:60]}"
        if isinstance(node, ast.Attribute) and node.attr in ("execute", "executemany", "executescript"):
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
    for name in imported_modules(path):
        if name.partition(".")[0] in ("sqlite3", "sqlite_utils"):
            yield f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.slow
def test_no_sql_outside_the_stores() -> None:
    elsewhere = [path for path in files() if not path.relative_to(ROOT).as_posix().startswith(STORES)]
    assert len(elsewhere) > 200
    assert [statement for path in elsewhere for statement in statements(path)] == []


def test_sql_is_seen_where_it_is() -> None:
    stores = [path for path in files() if path.relative_to(ROOT).as_posix().startswith(STORES)]
    assert sum(bool(list(statements(path))) for path in stores) > 12
