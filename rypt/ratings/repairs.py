"""What was wrong in a file of ratings and what was done about it: mended, or refused; counted by kind.

Public files are edited by hand: marks that are never closed, texts that differ between the lines of one rating. A
reader mends what it can, and leaves out what it cannot place; every such step is a `Repair`. ``strict`` refuses the
file at the first of them instead.
"""

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TextIO

from rypt.text import InputError, PathLike, plural

KINDS = {  # what is counted, and what is wrong with it
    "mark-not-closed": ("mark", "without an end, closed at the end of the text"),
    "mark-not-opened": ("end mark", "without a beginning, left out"),
    "mark-nested": ("mark", "inside another, joined"),
    "mark-lost": (
        "mark",
        "in words that the commonest text lacks; an error there counts against the whole segment",
    ),
    "target-differs": ("line", "with another target, taken as the commonest one of the output"),
    "source-differs": ("line", "with another source, taken as the commonest one of the segment"),
    "other-text": ("rating", "of quite another text, of which the score alone is taken"),
    "pairing": ("pairing", "named as a system, taken as the system before _with_"),
    "shared-id": ("item", "with the id of another one, told apart by the batch"),
    "span-refused": ("error span", "without a place that can be read, counted against the whole segment"),
    "rating-refused": ("rating", "refused"),
    "line-refused": ("line", "refused"),
}
REFUSED = ("span-refused", "rating-refused", "line-refused")


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that was wrong in a line, and what was done."""

    line: int | None
    kind: str
    problem: str
    done: str


@dataclass(slots=True)
class Repairs:
    """The repairs of a file, in order; ``strict`` raises an `InputError` instead."""

    path: PathLike
    strict: bool = False
    items: list[Repair] = field(default_factory=list)

    def add(self, line: int | None, kind: str, problem: str, done: str = "left out") -> None:
        """Note a repair."""
        if kind not in KINDS:
            raise ValueError(kind)
        if self.strict:
            raise InputError(self.path, line, problem)
        self.items.append(Repair(line, kind, problem, done))

    @property
    def counts(self) -> dict[str, int]:
        """How many repairs there are of each kind, in the order of `KINDS`."""
        counts = Counter(repair.kind for repair in self.items)
        return {kind: counts[kind] for kind in KINDS if counts[kind]}

    def require(self, ratings: int) -> None:
        """Refuse the file where nothing could be read of it, with what was wrong first."""
        refused = next((repair for repair in self.items if repair.kind in REFUSED), None)
        if not ratings and refused is not None:
            raise InputError(self.path, refused.line, refused.problem)

    def summary(self) -> list[str]:
        """A line for each kind; for what was refused, the first reason."""
        lines = []
        for kind, count in self.counts.items():
            what, problem = KINDS[kind]
            text = f"  {plural(count, what)} {problem}"
            if kind in REFUSED:
                first = next(repair for repair in self.items if repair.kind == kind)
                text += (
                    f": {first.problem}" if count == 1 else f", such as line {first.line}: {first.problem}"
                )
            lines.append(text)
        return lines

    def write(self, stream: TextIO) -> int:
        """Write them as JSONL, a line each."""
        for repair in self.items:
            stream.write(json.dumps(asdict(repair), ensure_ascii=False) + "\n")
        return len(self.items)
