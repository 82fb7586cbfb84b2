"""Square tables of systems that fit the terminal."""

import shutil
from collections.abc import Sequence

NAME = 14  # the shortest that names are cut to


def matrix(names: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """A table with a line and a column for each system, no wider than the terminal.

    ``rows`` begin with their own names, which may be more than those of columns. Where names do not fit above the
    columns, columns are numbered as lines are; where the numbers do not fit either, columns come in blocks.

    >>> print(matrix(["uedin", "jhu"], [["uedin", "–", ".40"], ["jhu", ".60", "–"]], width=80))
           uedin    jhu
    -----  -------  -----
    uedin  –        .40
    jhu    .60      –
    >>> print(matrix(["uedin", "jhu"], [["uedin", "–", ".40"], ["jhu", ".60", "–"]], width=18))
             1    2
    -------  ---  ---
    1 uedin  –    .40
    2 jhu    .60  –
    """
    from tabulate import tabulate

    from hits.ranking.table import LONGEST, short_names

    limit = shutil.get_terminal_size().columns if width is None else width
    whole = str(tabulate(rows, ["", *names], disable_numparse=True))
    if _widest(whole) <= limit:
        return whole
    longest = LONGEST if limit >= 80 else max(NAME, limit // 3)
    short = [*short_names(names, longest), *(row[0] for row in rows[len(names) :])]
    lines = [f"{i} {name}" if i <= len(names) else name for i, name in enumerate(short, start=1)]
    first = max(map(len, lines))
    cells = max(len(cell) for row in rows for cell in row[1:])
    each = max(cells, len(str(len(names))), 3) + 2
    count = max(1, (limit - first) // each)
    blocks = [range(start, min(start + count, len(names))) for start in range(0, len(names), count)]
    return "\n\n".join(
        tabulate(
            [[line, *(row[k + 1] for k in block)] for line, row in zip(lines, rows, strict=True)],
            ["", *(str(k + 1) for k in block)],
            disable_numparse=True,
        )
        for block in blocks
    )


def _widest(text: str) -> int:
    return max(map(len, text.splitlines()))
