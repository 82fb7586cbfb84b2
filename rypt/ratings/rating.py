"""Ratings of evaluation campaigns: who marked which errors in which candidate, and what was wrong in their file."""

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import NamedTuple, TextIO

from rypt.options import check_option
from rypt.text import InputError, PathLike, plural

RANKS = {"no-error": 0, "neutral": 0, "minor": 1, "major": 2, "critical": 3}
LEVELS = ("minor", "major", "critical")
_HUMAN = re.compile(
    r"(?:.*[._-])?(?:ref|reference|human)(?:[._-]?[a-z0-9]|[._-][a-z0-9]{2})?(?:\.\d+)?", re.IGNORECASE
)


@cache
def weight(severity: str, category: str) -> float:
    """The penalty of an error, as MQM has it (Freitag et al. 2021, "Experts, Errors, and Context"); 0 is none.

    >>> [weight("Minor", ""), weight("Minor", "Fluency/Punctuation"), weight("Major", "Non-translation!")]
    [1.0, 0.1, 25.0]
    """
    if is_no_error(severity, category):
        return 0.0
    kind, plain = letters(severity), letters(category)
    if plain.startswith("nontranslation"):
        return 25.0
    if kind == "minor" and plain.startswith("fluency/punctuation"):
        return 0.1
    return {"minor": 1.0, "major": 5.0, "critical": 10.0}.get(kind, 0.0)


@cache
def is_no_error(severity: str, category: str) -> bool:
    """Whether a mark says nothing against the translation: an error of the source, or a creative reinterpretation.

    >>> [is_no_error("Minor", kind) for kind in ("Source issue", "Accuracy/Creative Reinterpretation", "Other")]
    [True, True, False]
    """
    plain = letters(category)
    parts = plain.split("/")
    no_fault = parts[0] in ("source", "sourceerror", "sourceissue") or parts[-1] == "creativereinterpretation"
    return no_fault or "noerror" in (letters(severity), plain)


@cache
def letters(text: str) -> str:
    """A category or a severity in the form that is compared: small letters and slashes."""
    return re.sub(r"[^a-z/]", "", text.lower())


@cache
def is_human(system: str) -> bool:
    """Whether a name is one that campaigns give to a human translation.

    >>> [name for name in ("ref", "ref.A", "refB", "Human-P.0", "wmt23.refA", "Refine", "Greedy") if is_human(name)]
    ['ref', 'ref.A', 'refB', 'Human-P.0', 'wmt23.refA']
    """
    return _HUMAN.fullmatch(system) is not None


class ErrorSpan(NamedTuple):
    """Characters ``start`` up to ``stop`` of the target or the source, or an error without a place (nowhere).

    The spans of one error that was marked in several places share a number ``error`` above 0.
    """

    side: str
    start: int
    stop: int
    severity: str
    category: str = ""
    error: int = 0

    @property
    def rank(self) -> int | None:
        """How severe it is; None for an unknown word."""
        return RANKS.get(self.severity.strip().lower().replace(" ", "-").replace("_", "-"))

    @property
    def weight(self) -> float:
        return weight(self.severity, self.category)


@dataclass(frozen=True, slots=True)
class Rating:
    """One rater's annotation of one candidate; ``segment`` is the id in the file, ``line`` the line of the file.

    ``languages`` is the language pair, in files of several pairs. With ``other_text`` the rater saw another text than
    ``target``: the score counts, but nothing is known of the parts.
    """

    segment: str
    source: str
    target: str
    system: str
    rater: str
    errors: tuple[ErrorSpan, ...]
    score: float | None
    time: int | None = None
    line: int = 0
    languages: str = ""
    document: str = ""
    other_text: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """Which errors count: those of a severity of at least ``severity``; without ``omissions`` only marked targets."""

    severity: str = "minor"
    omissions: bool = True

    def __post_init__(self) -> None:
        check_option("severity", self.severity, LEVELS)

    def counts(self, error: ErrorSpan) -> bool:
        return (error.side == "target" or self.omissions) and (error.rank or 0) >= RANKS[self.severity]


KINDS = {  # of repairs: what is counted, what is wrong with it, and what is done
    "mark-not-closed": ("mark", "without an end, closed at the end of the text"),
    "mark-not-opened": ("end mark", "without a beginning, left out"),
    "mark-nested": ("mark", "inside another, joined"),
    "mark-lost": (
        "mark",
        "in words that the commonest text lacks; an error there counts against the whole segment",
    ),
    "target-differs": ("line", "with another target, taken as the commonest one of the output"),
    "source-differs": ("line", "with another source, taken as the commonest one of the segment"),
    "other-text": ("rating", "of a different text, of which the score alone is taken"),
    "pairing": ("pairing", "named as a system, taken as the system before _with_"),
    "shared-id": ("item", "with the id of another one, identified by the batch"),
    "span-refused": ("error span", "without a place that can be read, counted against the whole segment"),
    "rating-refused": ("rating", "refused"),
    "line-refused": ("line", "refused"),
}
REFUSED = ("span-refused", "rating-refused", "line-refused")


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that was wrong in a line; ``kind`` is one of `KINDS`."""

    line: int
    kind: str
    problem: str


@dataclass(slots=True)
class Repairs:
    """What was mended or refused in a file, in order; ``strict`` raises an `InputError` instead.

    Public files are edited by hand: marks are never closed, texts differ between the lines of one rating. A reader
    mends what it can, leaves out what it cannot place, and lists both here.
    """

    path: PathLike
    strict: bool = False
    items: list[Repair] = field(default_factory=list)

    def add(self, line: int, kind: str, problem: str) -> None:
        if self.strict:
            raise InputError(self.path, line, problem)
        self.items.append(Repair(line, kind, problem))

    @property
    def counts(self) -> dict[str, int]:
        """The number of repairs of each kind, in the order of `KINDS`."""
        counts = Counter(repair.kind for repair in self.items)
        return {kind: counts[kind] for kind in KINDS if counts[kind]}

    def require(self, ratings: int) -> None:
        """Refuse a file of which nothing could be read, with the first reason."""
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
                text += f"{'' if count == 1 else f', such as line {first.line}'}: {first.problem}"
            lines.append(text)
        return lines

    def write(self, stream: TextIO) -> None:
        stream.writelines(json.dumps(asdict(repair), ensure_ascii=False) + "\n" for repair in self.items)
