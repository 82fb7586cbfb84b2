"""All SQL of judgments is in `rypt.database`, all SQL of the market in `hits.server.store`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STORES = ("rypt/database/", "hits/server/store/", "rypt/migrations.py")
TO_BE_MOVED = ("hits/server/pages/figures.py", "hits/server/pages/needs.py", "hits/server/pages/open_hits.py")
SQL = re.compile(
    r"\b(SELECT\b.+\bFROM|INSERT( OR \w+)? INTO|DELETE FROM|CREATE (TEMP )?(TABLE|VIEW|INDEX)|DROP (TABLE|VIEW))\b"
    r"|\bUPDATE \w+ SET\b|\bPRAGMA \w+",
    re.DOTALL,
)


def statements(path: Path) -> Iterator[str]:
    """The texts in a file that look like SQL; docstrings are texts, too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.search(node.value):
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {' '.join(node.value.split())[:60]}"


def files(*rooms: str) -> list[Path]:
    return sorted(path for room in rooms for path in (ROOT / room).rglob("*.py"))


def test_no_sql_outside_the_stores() -> None:
    elsewhere = [p for p in files("rypt", "mert", "hits") if not p.relative_to(ROOT).as_posix().startswith(STORES)]
    assert len(elsewhere) > 200
    assert [s for p in elsewhere if p.relative_to(ROOT).as_posix() not in TO_BE_MOVED for s in statements(p)] == []


def test_sql_is_seen_where_it_is() -> None:
    for name in ("rypt/database/judgments.py", "rypt/database/answers.py", "hits/server/store/base.py"):
        assert list(statements(ROOT / name)), name
