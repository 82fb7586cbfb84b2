"""Rows of CSV files, and cells that no spreadsheet takes for a formula.

Cells are written by strangers and by decoders, and spreadsheets take a cell that begins with ``= + - @``, a tab or a
line break for a formula. Such a cell is written with an apostrophe before it, and so is one that begins with
apostrophes and then such a character; reading removes one apostrophe from both. So nothing is lost, and no
formula is run.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from rypt.text import InputError, NumberedLines, PathLike

LONGEST_CELL = 1 << 30  # characters; Python's default of 131,072 is less than some answers have
FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
QUOTED_FORMULA = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")


def csv_rows(
    path: PathLike, lines: NumberedLines, *, delimiter: str = ",", strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Rows of cells, each with the number of the line on which it begins; a blank line is a row without cells.

    ``lines`` come with their line ends; ``path`` is for messages. ``strict`` refuses text behind a closing quotation
    mark and a last cell that is never closed.

    >>> list(csv_rows("a.csv", [(1, 'a,"b, ""c"" d"\\n'), (2, '"e\\n'), (3, 'f",g\\n')]))
    [(1, ['a', 'b, "c" d']), (2, ['e\\nf', 'g'])]
    """
    csv.field_size_limit(LONGEST_CELL)
    number = read = 0

    def texts() -> Iterator[str]:
        nonlocal number
        for number, line in lines:  # noqa: B007  (read below)
            yield line

    reader = csv.reader(texts(), delimiter=delimiter, strict=strict)
    try:
        for row in reader:
            yield number - (reader.line_num - read - 1), row
            read = reader.line_num
    except csv.Error as error:
        raise InputError(path, number, f"expected CSV: {error}") from None


def neutralize(text: str) -> str:
    """Text that no spreadsheet takes for a formula.

    >>> neutralize("=1+1"), neutralize("'=1+1"), neutralize("'tis fine")
    ("'=1+1", "''=1+1", "'tis fine")
    """
    return f"'{text}" if FORMULA.match(text) else text


def restore(text: str) -> str:
    """The inverse of `neutralize`.

    >>> restore("'=1+1"), restore("''=1+1"), restore("'tis fine")
    ('=1+1', "'=1+1", "'tis fine")
    """
    return text[1:] if QUOTED_FORMULA.match(text) else text


def write_records(stream: TextIO, names: Sequence[str], records: Iterable[Mapping[str, object]]) -> int:
    """Write records as CSV under a header, other fields left out; the number of records."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    count = 0
    for record in records:
        cells = (record.get(name) for name in names)
        writer.writerow(neutralize(cell) if isinstance(cell, str) else cell for cell in cells)
        count += 1
    return count
