"""The nouns of the field: segments, spans, candidates, labels, judgments, queries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from rypt.text import FormatError, tokenize

Record = Mapping[str, Any]  # one object of a JSONL file or one row of a CSV file
NO_COLUMNS: Mapping[str, float] = {}  # shared by all candidates without


class Label(StrEnum):
    """A worker's answer about a phrase as a translation of a constituent."""

    YES = "YES"
    NO = "NO"
    NOT_SURE = "NOT_SURE"

    @classmethod
    def parse(cls, text: str) -> "Label":
        """Read a label as people and old files write it; BLANK, an omitted answer, is NOT_SURE, as in the paper.

        >>> Label.parse("not sure"), Label.parse("yes"), Label.parse("n")
        (<Label.NOT_SURE: 'NOT_SURE'>, <Label.YES: 'YES'>, <Label.NO: 'NO'>)
        """
        name = text.strip().upper().replace(" ", "_")
        name = {"NOTSURE": "NOT_SURE", "BLANK": "NOT_SURE", "?": "NOT_SURE", "Y": "YES", "N": "NO"}.get(
            name, name
        )
        try:
            return cls(name)
        except ValueError:
            raise FormatError(f"expected a label YES, NO or NOT_SURE (or y, n, ?), found {text!r}") from None


SEVERITIES = {
    "NO_SLIGHTLY": 1.0,
    "NO_BADLY": 5.0,
}  # penalties of a graded NO: MQM's of a minor and a major error


def parse_label(text: str) -> tuple[Label, float | None]:
    """Read a label that may say how bad a NO is: the label and its severity, None where it says nothing.

    >>> parse_label("no, badly"), parse_label("NO_SLIGHTLY"), parse_label("no")
    ((<Label.NO: 'NO'>, 5.0), (<Label.NO: 'NO'>, 1.0), (<Label.NO: 'NO'>, None))
    """
    severity = SEVERITIES.get("_".join(text.upper().replace(",", " ").split()))
    return (Label.parse(text), None) if severity is None else (Label.NO, severity)


LABELS = (Label.NOT_SURE, Label.YES, Label.NO)  # in the order of their codes in databases and arrays
SOURCES = ("hit", "import", "simulation")  # of judgments, in the order of their codes


class Span(NamedTuple):
    """Source tokens ``start`` up to, not including, ``stop``; positions count from 0.

    >>> len(Span(3, 7)), str(Span(3, 7)), Span.inclusive(3, 6)
    (4, '3-7', Span(start=3, stop=7))
    """

    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def __str__(self) -> str:
        return f"{self.start}-{self.stop}"

    @classmethod
    def inclusive(cls, first: int, last: int) -> "Span":
        """The span whose last token is ``last``, as the authors' own files write it (``j_k``)."""
        return cls(first, last + 1)


@dataclass(frozen=True, slots=True)
class Segment:
    """One source segment; ``tree`` is its parse in Penn brackets, None when the parser failed."""

    id: str
    text: str
    tree: str | None = None
    language: str | None = None

    @property
    def tokens(self) -> list[str]:
        """The source tokens that spans count."""
        return tokenize(self.text)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One translation of a segment.

    ``alignment`` holds Pharaoh links ``source-candidate``; in a list, it may also be of another form, or missing (None).
    ``columns`` are numbers beside the features, which are never tuned, such as scores of other metrics.
    """

    segment: str
    text: str
    alignment: str | None
    features: Mapping[str, float] = field(default_factory=dict)
    score: float | None = None
    columns: Mapping[str, float] = field(default_factory=lambda: NO_COLUMNS)

    @property
    def tokens(self) -> list[str]:
        """The tokens that links count."""
        return tokenize(self.text)


class Judgment(NamedTuple):
    """One label given by one worker to one (segment, span, phrase).

    ``origin`` says where it was given (a hit, a system, a file): the same worker may judge the same phrase in
    two places. ``source`` is ``hit``, ``import`` or ``simulation``; ``time`` counts seconds since 1970. ``severity``
    says how bad a NO is, as a penalty (1 for a minor, 5 for a major error), or is None.
    """

    segment: str
    span: Span
    phrase: str
    label: Label
    worker: str
    origin: str = ""
    source: str = "import"
    time: int | None = None
    weight: float = 1.0
    severity: float | None = None


@dataclass(frozen=True, slots=True)
class Votes:
    """All judgments of one (segment, span, phrase), by label and weight.

    ``graded`` is the part of ``no`` that carries a severity, ``penalty`` the sum of weight times severity over it.
    """

    segment: str
    span: Span
    phrase: str
    yes: float
    no: float
    not_sure: float = 0.0
    penalty: float = 0.0
    graded: float = 0.0


class Query(NamedTuple):
    """A (segment, span, phrase) still without a label, how many candidates it would serve, and where to see it.

    ``value`` is what its answer is worth for picking candidates (`rypt.scoring.value`), where that was asked for.
    """

    segment: str
    span: Span
    phrase: str
    source_text: str
    source_phrase: str
    candidates: int
    example: str
    positions: tuple[int, ...]
    value: float | None = None
