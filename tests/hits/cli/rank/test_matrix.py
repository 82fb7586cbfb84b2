"""Square tables: as wide as the terminal at most, and nothing is lost."""

import pytest

from hits.cli.rank.matrix import matrix

NAMES = [f"a-system-with-a-long-name-{i}" for i in range(20)]
ROWS = [[name, *(f".{i:02d}{j:02d}★" for j in range(20))] for i, name in enumerate(NAMES)] + [
    ["> others", *["0.50"] * 20]
]


@pytest.mark.parametrize("width", [40, 80, 100, 200])
def test_it_fits_and_has_all_cells(width: int) -> None:
    text = matrix(NAMES, ROWS, width)
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    assert all(cell in words for row in ROWS for cell in row[1:])
    assert "> others" in text


def test_names_stay_where_they_fit() -> None:
    assert "uedin" in matrix(["uedin", "jhu"], [["uedin", "–", ".4"], ["jhu", ".6", "–"]], 80).splitlines()[0]
