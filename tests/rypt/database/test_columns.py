"""Columns of judgments: packing, splitting and joining lose and change nothing."""

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rypt.database.columns import NO_TIME, NUMBERS, TEXTS, JudgmentColumns, TextColumn
from rypt.text import FormatError

Row = tuple[Any, ...]
ROWS = st.lists(
    st.tuples(
        st.integers(1, 99),
        st.sampled_from(["s", "t", "ü"]),
        st.integers(0, 3),
        st.integers(4, 6),
        st.sampled_from(["a", "b c", "ß"]),
        st.sampled_from(["v", "w"]),
        st.sampled_from(["", "h"]),
        st.sampled_from(["YES", "NO", "NOT_SURE"]),
        st.just(1),
        st.sampled_from(["hit", "import", "simulation"]),
        st.sampled_from([None, 0, 7]),
        st.sampled_from([1.0, 0.5]),
        st.sampled_from([None, 0.0, 5.0]),
    ),
    min_size=1,
    max_size=30,
)


def rows(columns: JudgmentColumns) -> list[Row]:
    texts = [
        [column.texts[code] for code in column.codes] for column in (getattr(columns, name) for name in TEXTS)
    ]
    numbers = [getattr(columns, name).tolist() for name in NUMBERS if name != "severity"]
    severity = [None if np.isnan(each) else each for each in columns.severity]
    return list(zip(*texts, *numbers, severity, strict=True))


@given(ROWS)
def test_what_is_packed_split_and_joined_is_the_same(made: list[Row]) -> None:
    columns = JudgmentColumns.from_rows(made)
    assert rows(JudgmentColumns.unpack(columns.pack())) == rows(columns)
    assert rows(columns.with_sorted_texts()) == rows(columns)
    assert rows(JudgmentColumns.join([columns, columns])) == rows(columns) * 2
    for by_key in (False, True):
        parts = list(columns.split(4, by_key=by_key).values())
        assert Counter(row for part in parts for row in rows(part)) == Counter(rows(columns))
        places = [
            {(row[0], *((row[1], row[5], row[6]) if by_key else ())) for row in rows(part)} for part in parts
        ]
        assert sum(map(len, places)) == len(
            set().union(*places)
        )  # of a segment, or a key, all are in one part


def test_a_row_is_coded() -> None:
    row = (3, "s", 0, 2, "a", "w", "", "NO", 1, "hit", None, 1.0, 5.0)
    columns = JudgmentColumns.from_rows([row])
    assert (columns.label.tolist(), columns.source.tolist(), columns.time.tolist()) == ([0], [0], [NO_TIME])


def test_a_value_that_cannot_be_read_has_no_text() -> None:
    def read(value: int) -> str:
        if value < 0:
            raise FormatError("negative")
        return str(value % 2)

    column = TextColumn.read([3, -1, 4, 5], read)
    assert (column.texts, column.codes.tolist()) == (["1", "0"], [0, -1, 1, 0])


def test_codes_sort_as_texts_do() -> None:
    column = TextColumn.read(["ß", "a", "Z", "a"], str).in_order()
    assert (column.texts, column.codes.tolist()) == (["Z", "a", "ß"], [2, 1, 0, 1])
