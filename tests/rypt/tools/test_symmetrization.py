"""grow-diag-final-and against a second implementation that scans the whole grid, and by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.text import RyptError
from rypt.tools.symmetrization import HEURISTICS, symmetrize

SIZE = 6
LINKS = st.sets(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=14)


def by_matrix(forward: set[tuple[int, int]], backward: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The same heuristic on three matrices of booleans, as its authors describe it: rows, then columns."""
    f, b = ([[(i, j) in links for j in range(SIZE)] for i in range(SIZE)] for links in (forward, backward))
    a = [[f[i][j] and b[i][j] for j in range(SIZE)] for i in range(SIZE)]

    def row(i: int) -> bool:
        return any(a[i])

    def column(j: int) -> bool:
        return any(a[i][j] for i in range(SIZE))

    added = True
    while added:
        added = False
        for i in range(SIZE):
            for j in range(SIZE):
                if not a[i][j]:
                    continue
                for x, y in (
                    (i - 1, j),
                    (i, j - 1),
                    (i + 1, j),
                    (i, j + 1),
                    (i - 1, j - 1),
                    (i - 1, j + 1),
                    (i + 1, j - 1),
                    (i + 1, j + 1),
                ):
                    inside = 0 <= x < SIZE and 0 <= y < SIZE
                    if inside and (f[x][y] or b[x][y]) and not a[x][y] and (not row(x) or not column(y)):
                        a[x][y] = added = True
    for matrix in (f, b):
        for i in range(SIZE):
            for j in range(SIZE):
                if matrix[i][j] and not row(i) and not column(j):
                    a[i][j] = True
    return {(i, j) for i in range(SIZE) for j in range(SIZE) if a[i][j]}


@given(LINKS, LINKS)
def test_like_a_second_implementation(forward: set[tuple[int, int]], backward: set[tuple[int, int]]) -> None:
    found = symmetrize(forward, backward, "grow-diag-final-and")
    assert list(found) == sorted(by_matrix(forward, backward))
    assert set(symmetrize(forward, backward, "intersection")) == forward & backward
    assert set(symmetrize(forward, backward, "union")) == forward | backward
    assert forward & backward <= set(found) <= forward | backward


def test_by_hand() -> None:
    """1-2 grows from 1-1, for column 2 is new; 3-0 does not, for it is no neighbour and 0 is taken; 4-4 is final."""
    forward = [(0, 0), (1, 1), (3, 0), (4, 4)]
    backward = [(0, 0), (1, 1), (1, 2)]
    assert symmetrize(forward, backward, "grow-diag-final-and") == ((0, 0), (1, 1), (1, 2), (4, 4))
    assert symmetrize([], [], "grow-diag-final-and") == ()


def test_unknown_heuristic() -> None:
    assert HEURISTICS[0] == "grow-diag-final-and"
    with pytest.raises(RyptError, match="expected heuristic as one of"):
        symmetrize([], [], "grow")
