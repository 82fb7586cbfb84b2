"""What a dialect of lists is: how to know its lines, and how to read them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rypt.records import Candidate
from rypt.text import NumberedLines, PathLike, RyptError


@dataclass(frozen=True, slots=True)
class Dialect:
    """One form of lists of candidates.

    ``is_line`` tells whether a line is of this dialect. ``parse_line`` reads a candidate from one line, and raises
    `rypt.text.FormatError` for what it cannot read. Where a candidate may take several lines, or a line may hold
    several, the dialect has ``read``, which reads files whose first line is of this dialect: from the path, for
    messages, the numbered lines of the whole file, and the names of the segments in their order, where they are known,
    to candidates, each with the number of its line. ``log_before``: other lines, such as a log, may stand before the
    first line of the dialect.
    """

    name: str
    is_line: Callable[[str], bool]
    parse_line: Callable[[str], Candidate] | None = None
    read: (
        Callable[[PathLike, NumberedLines, Sequence[str] | None], Iterator[tuple[int, Candidate]]] | None
    ) = None
    log_before: bool = False

    def __post_init__(self) -> None:
        if self.parse_line is None and self.read is None:
            raise RyptError(f"the dialect {self.name}: expected parse_line or read")
