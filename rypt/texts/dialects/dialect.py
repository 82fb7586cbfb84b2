"""What a dialect of lists is: how to know its lines, and how to read them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rypt.records import RawCandidate
from rypt.text import NumberedLines, PathLike, RyptError


@dataclass(frozen=True, slots=True)
class Dialect:
    """One form of lists of candidates.

    ``is_line`` tells whether a line is of this dialect. ``parse_line`` reads a candidate from one line, and raises
    `rypt.text.FormatError` for what it cannot read. Where a candidate takes several lines, the dialect has ``read``
    instead: from the path, for messages, and the numbered lines of the whole file to candidates, each with the number
    of its line.
    """

    name: str
    is_line: Callable[[str], bool]
    parse_line: Callable[[str], RawCandidate] | None = None
    read: Callable[[PathLike, NumberedLines], Iterator[tuple[int, RawCandidate]]] | None = None

    def __post_init__(self) -> None:
        if (self.parse_line is None) == (self.read is None):
            raise RyptError(f"the dialect {self.name}: expected either parse_line or read")
