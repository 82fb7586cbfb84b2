"""Columns and single judgments are written alike."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.database import column_writing
from rypt.database.column_writing import ColumnWriter
from rypt.database.columns import JudgmentColumns
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Segment

Row = tuple[Any, ...]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["s", "t"]),
        st.integers(0, 1),
        st.integers(2, 3),
        st.sampled_from(["a", "b", "ü"]),
        st.sampled_from(["v", "w"]),
        st.sampled_from(["", "v", "h"]),
        st.sampled_from(["YES", "NO"]),
        st.just(1),
        st.sampled_from(["hit", "import"]),
        st.sampled_from([None, 4, 7]),
        st.sampled_from([1.0, 0.5, 0.0]),
        st.none(),
    ),
    max_size=25,
)


def contents(db: JudgmentDatabase) -> list[Row]:
    return db.db.execute(
        "SELECT * FROM judgments ORDER BY segment, start, stop, phrase, worker, origin, label, repeat"
    ).fetchall()


def with_repeats(rows: list[Row]) -> list[Row]:
    """Rows whose ``repeat`` counts equal ones in the order of the file."""
    seen: dict[Row, int] = {}
    numbered = []
    for row in rows:
        seen[row[:7]] = seen.get(row[:7], 0) + 1
        numbered.append((*row[:7], seen[row[:7]], *row[8:]))
    return numbered


@given(st.lists(ROWS, max_size=3))
def test_the_database_is_that_of_rows_written_one_by_one(imports: list[list[Row]]) -> None:
    with JudgmentDatabase(":memory:") as columns, JudgmentDatabase(":memory:") as single:
        for db in (columns, single):
            db.add_segments([Segment("s", "a b c"), Segment("t", "d e f")])
        for rows in imports:
            with columns.writing():
                if rows:
                    staged = JudgmentColumns.from_rows([(i, *row) for i, row in enumerate(rows, start=1)])
                    writer = ColumnWriter(columns.db)
                    for part in staged.split(3, by_key=True).values():
                        writer.put(part)
            with single.writing():
                single.put_rows(with_repeats(rows))
        assert contents(columns) == contents(single)
        assert columns.votes() == single.votes()
        assert columns.db.execute("PRAGMA foreign_key_check").fetchall() == []


def test_names_that_were_forgotten_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_writing, "REMEMBERED", 1)
    with JudgmentDatabase(":memory:") as db:
        db.add_segments([Segment("s", "a b c")])
        with db.writing():
            writer = ColumnWriter(db.db)
            for worker in ("u", "v", "w", "u", "x"):
                writer.put(
                    JudgmentColumns.from_rows(
                        [(1, "s", 0, 1, worker, worker, "o", "YES", 1, "hit", 1, 1.0, None)]
                    )
                )
        assert [j.worker for j in db.judgments()] == ["u", "v", "w", "x"]
