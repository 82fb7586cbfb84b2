"""CSV rows against the standard library's reader, and what that one refuses."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.csv_rows import csv_rows
from rypt.text import InputError

TEXTS = st.text(st.sampled_from('ab,;" \n\r\té'), max_size=8)


def split(text: str, **options) -> list[tuple[int, list[str]]]:
    return list(csv_rows("a.csv", enumerate(io.StringIO(text, newline="\n"), start=1), **options))


@given(st.lists(st.lists(TEXTS, min_size=1, max_size=4), max_size=4), st.sampled_from([",", ";"]))
def test_what_is_written_comes_back(rows: list[list[str]], delimiter: str) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)
    assert [cells for _, cells in split(stream.getvalue(), delimiter=delimiter)] == rows


@given(st.text(st.sampled_from('a,"\n\r'), max_size=14), st.booleans())
def test_any_text_is_read_as_by_the_standard_library(text: str, strict: bool) -> None:
    """The same cells, or an error of both; each row begins where that reader had ended the one before it."""
    reader = csv.reader(io.StringIO(text, newline="\n"), strict=strict)
    expected, begins = [], 1
    try:
        for cells in reader:
            expected.append((begins, cells))
            begins = reader.line_num + 1
    except csv.Error:
        with pytest.raises(InputError, match=r"^a\.csv:\d+: expected CSV: "):
            split(text, strict=strict)
    else:
        assert split(text, strict=strict) == expected


def test_a_cell_of_any_length_is_read() -> None:
    csv.field_size_limit(1000)
    assert split(f'{"x" * 3000},"{"y" * 3000}"\n') == [(1, ["x" * 3000, "y" * 3000])]


@pytest.mark.parametrize(
    ("text", "line"),
    [('a,b\n"c"d,e\n', 2), ('a,b\nc,"d\ne\n', 3), ("a,b\rc,d\r", 1)],
    ids=["text behind a cell", "never closed", "a line break outside of quotation marks"],
)
def test_errors_name_the_line(text: str, line: int) -> None:
    with pytest.raises(InputError, match=rf"^a\.csv:{line}: expected CSV: "):
        split(text, strict=True)
