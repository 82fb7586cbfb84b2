"""Rows of CSV files, with cells of any length.

The standard library's reader refuses cells of more than 131,072 characters unless a limit is raised that belongs to
the whole interpreter, and so to every other user of ``csv`` in the process. Workers' answers can be of any length, and
a library must not change global state; so rows are split here.

Cells are the text of strangers and of decoders, and spreadsheets take a cell that begins with ``= + - @`` or a tab or a
line break for a formula. Such a cell, in whatever column, is written with an apostrophe before it, and so is one that
begins with apostrophes and then such a character; reading removes one apostrophe from both. So nothing is lost, and no
formula is run.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from rypt.text import InputError, NumberedLines, PathLike

QUOTE = '"'
FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
QUOTED_FORMULA = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")


def csv_rows(
    path: PathLike, lines: NumberedLines, *, delimiter: str = ",", strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Rows of cells, each with the number of the line on which it begins; a blank line is a row without cells.

    ``lines`` come with their line ends, which stay as they are within quotation marks; ``path`` is for messages.
    ``strict`` refuses text behind a closing quotation mark and a last cell that is never closed.

    >>> list(csv_rows("a.csv", [(1, 'a,"b, ""c"" d"\\n'), (2, '"e\\n'), (3, 'f",g\\n')]))
    [(1, ['a', 'b, "c" d']), (2, ['e\\nf', 'g'])]
    """
    pending = iter(lines)
    for number, line in pending:
        if QUOTE in line:
            yield number, _quoted_row(path, number, line, pending, delimiter, strict)
        else:
            text = _plain(path, number, _without_end(line))
            yield number, text.split(delimiter) if text else []


def _quoted_row(
    path: PathLike, first: int, line: str, pending: Iterator[tuple[int, str]], delimiter: str, strict: bool
) -> list[str]:
    """The cells of a row that has a quotation mark somewhere; it takes more lines where a cell goes on."""
    cells: list[str] = []
    at, number = 0, first
    while True:
        quoted: list[str] = []
        if closing := line.startswith(QUOTE, at):
            at += 1
        while closing:
            end = line.find(QUOTE, at)
            if end < 0:
                quoted.append(line[at:])
                number, line, at = *next(pending, (0, "")), 0
                if not number:
                    if strict:
                        raise InputError(path, first, "expected CSV: a quotation mark is never closed")
                    return [*cells, "".join(quoted)]
            else:
                doubled = line.startswith(QUOTE, end + 1)
                quoted.append(line[at : end + doubled])
                at, closing = end + 1 + doubled, doubled
        stop = line.find(delimiter, at)
        plain = _plain(path, number, line[at:stop] if stop >= 0 else _without_end(line[at:]))
        if quoted and plain and strict:
            raise InputError(path, number, f"expected CSV: a {delimiter!r} after a closing quotation mark")
        cells.append("".join(quoted) + plain)
        if stop < 0:
            return cells
        at = stop + len(delimiter)


def _without_end(line: str) -> str:
    return line.removesuffix("\n").rstrip("\r")


def _plain(path: PathLike, number: int, text: str) -> str:
    """Text outside of quotation marks, checked."""
    if "\r" in text:
        raise InputError(path, number, "expected CSV: a line break outside of quotation marks")
    return text


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
