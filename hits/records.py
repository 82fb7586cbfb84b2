"""The nouns of collecting judgments: batches of items, the answers they get, comparisons and rankings.

An *item* is one row of ``batch.csv`` and becomes one hit. Its columns are of two sorts. What the template shows is
HTML, escaped already (``source``, ``reference``, ``text_1``, …). What only programs read is plain text, and no
template names it, so no worker sees it:

=========== =========================================================================================================
label       ``item, segment, start, stop, size, phrase_1 … phrase_10, control_1 … control_10, control_kind_1 …``
comparison  ``item, segment, system_a, system_b, candidate_a, candidate_b, control, control_kind``
ranking     ``item, segment, size, system_1 … system_5, candidate_1 … candidate_5, same_1 … same_5, control, …``
=========== =========================================================================================================

A control column is empty, or it holds what a careful worker answers: a label; ``A``, ``B`` or ``EQUAL``; for a ranking
JSON, ``{"better": [1, 4]}`` (slot 1 ranks before slot 4) or ``{"equal": [2, 5]}``. A side or slot whose system is
empty was made for a control: it belongs to no system and never counts in a comparison. ``same_1`` … is empty, or a
JSON list of other systems whose text for the segment is that of the slot: they get its rank.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from decimal import ROUND_UP, Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any

from hits.qualifications import Qualifications
from hits.simulated import is_simulated
from rypt.text import FormatError, RyptError

MAX_ALTERNATIVES = 10
MAX_RANKED = 5
CENT = Decimal("0.01")
DAY = 24 * 3600
ANNOTATION = "rypt"  # how a hit of ours begins its RequesterAnnotation
SUBMITTED, APPROVED, REJECTED = STATUSES = ("Submitted", "Approved", "Rejected")


class Kind(StrEnum):
    """The kind of a batch."""

    LABEL = "label"
    COMPARISON = "comparison"
    RANKING = "ranking"


class Choice(StrEnum):
    """A worker's choice between two candidates."""

    A = "A"
    B = "B"
    EQUAL = "EQUAL"


class ControlKind(StrEnum):
    """How the answer to a control is known."""

    REPEAT = "repeat"  # workers agreed on it before
    IDENTICAL = "identical"  # the same text twice, or a phrase that is the reference's
    DAMAGED = "damaged"  # words of another segment were put in


@dataclass(frozen=True, slots=True)
class Item:
    """One row of a batch, which becomes one hit."""

    id: str
    columns: Mapping[str, str]

    @property
    def size(self) -> int:
        """How many answers it asks for: alternatives of a label item, candidates of a ranking, else one."""
        return int(self.columns.get("size") or 1)

    @property
    def control_slots(self) -> int:
        """How many of the alternatives of a label item are controls; other items are controls as a whole."""
        return sum(bool(self.columns.get(f"control_{n}")) for n in range(1, self.size + 1))


@dataclass(frozen=True, slots=True)
class RewardRule:
    """What a worker gets for an item: ``base`` and ``each`` for every answer it asks for, in dollars.

    The sum is rounded up to whole cents, the smallest amount a market pays.

    >>> RewardRule(each=Decimal("0.028")).reward(3)
    Decimal('0.09')
    """

    base: Decimal = Decimal(0)
    each: Decimal = CENT

    def __post_init__(self) -> None:
        for amount in (self.base, self.each):
            if not amount.is_finite() or not 0 <= amount <= 1000:
                raise RyptError(f"expected a reward between 0 and 1000 dollars, found {amount}")

    def reward(self, size: int) -> Decimal:
        """The reward of an item of this size."""
        return (self.base + self.each * size).quantize(CENT, ROUND_UP)


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """``batch.toml``: what is the same for all items of a batch. Times are in seconds.

    ``made`` records the options of ``rypt hits make``, for information only.
    """

    id: str
    kind: Kind
    title: str
    description: str
    keywords: str
    reward: RewardRule
    assignments: int = 1
    duration: int = 30 * 60
    lifetime: int = 14 * DAY
    auto_approval: int = 7 * DAY
    frame_height: int = 0
    seed: int = 0
    source_language: str = ""
    target_language: str = ""
    interface: str = "en"
    created: str = ""
    made: Mapping[str, Any] = field(default_factory=dict)
    qualifications: Qualifications = field(default_factory=Qualifications)

    def __post_init__(self) -> None:
        for name, text, most in (
            ("id", self.id, 64),
            ("title", self.title, 128),
            ("description", self.description, 2000),
            ("keywords", self.keywords, 1000),
        ):
            if len(text) > most or (not text.strip() and name != "keywords"):
                raise RyptError(f"expected a {name} of 1 to {most} characters, found {len(text)}")
        if not (self.id.isascii() and self.id.isalnum()):
            raise RyptError(f"expected a batch id of letters and digits, found {self.id!r}")
        for name, number, least, most in (
            ("assignments", self.assignments, 1, 10**6),
            ("duration", self.duration, 30, 365 * DAY),
            ("lifetime", self.lifetime, 30, 365 * DAY),
            ("auto_approval", self.auto_approval, 0, 30 * DAY),
            ("frame_height", self.frame_height, 0, 10**4),
            ("seed", self.seed, 0, 2**63 - 1),
        ):
            if not least <= number <= most:
                raise RyptError(f"expected {name} between {least} and {most}, found {number}")


@dataclass(frozen=True, slots=True)
class Batch:
    """Items published together; ``notes`` says what happened while it was made and is not kept.

    ``folder`` is where it was read from or written to; what is published of it is remembered there. ``training`` are
    controls that a local market shows, with their answers, before the first hit; they are not published.
    """

    settings: BatchSettings
    items: tuple[Item, ...]
    template: str
    notes: tuple[str, ...] = field(default=(), compare=False)
    folder: Path | None = field(default=None, compare=False)
    training: tuple[Item, ...] = ()

    def annotation(self, item: Item) -> str:
        """The RequesterAnnotation by which a published item is found again."""
        return f"{ANNOTATION}:{self.settings.id}:{item.id}"

    def reward(self, item: Item) -> Decimal:
        """What a worker gets for an item."""
        return self.settings.reward.reward(item.size)


def parse_annotation(annotation: str) -> tuple[str, str] | None:
    """Batch and item of a hit of ours, None for other people's hits.

    >>> parse_annotation("rypt:9f3a:7-3-5-1"), parse_annotation("my survey")
    (('9f3a', '7-3-5-1'), None)
    """
    ours, _, rest = annotation.partition(":")
    batch, colon, item = rest.partition(":")
    return (batch, item) if ours == ANNOTATION and batch and colon and item else None


@dataclass(frozen=True, slots=True)
class Assignment:
    """One hit done by one worker: from the market's client to the judgment file; times count seconds since 1970.

    ``fields`` are the form's: ``label_1`` … (YES, NO, NOT_SURE; NO_SLIGHTLY and NO_BADLY where severity is asked), or
    ``choice`` (A, B, EQUAL), or ``rank_1`` … (1 to 5), and ``comment``. ``columns`` are the item's, ``facts`` other
    columns of a results CSV. Where ``market`` is not known, hits of a batch of ours are taken for ``local`` and others
    for ``mturk``. ``problem`` says why an assignment cannot be read.
    """

    id: str
    hit: str
    worker: str
    fields: Mapping[str, str]
    accepted: int | None = None
    submitted: int | None = None
    status: str = SUBMITTED
    batch: str = ""
    item: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    market: str = ""
    problem: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise FormatError(f"expected a status {', '.join(STATUSES)}, found {self.status!r}")

    @property
    def seconds(self) -> int | None:
        """How long it took: from accepting to submitting, or as the market says; not known of simulated workers."""
        if is_simulated(self.worker):
            return None
        if self.accepted is not None and self.submitted is not None and self.submitted >= self.accepted:
            return self.submitted - self.accepted
        seconds = self.facts.get("WorkTimeInSeconds", "")
        return int(seconds) if re.fullmatch(r"[0-9]{1,9}", seconds) else None


@dataclass(frozen=True, slots=True)
class Bonus:
    """A payment to a worker besides the reward of an assignment, made or to be made."""

    assignment: str
    worker: str
    amount: Decimal
    reason: str = ""
    time: int | None = None


@dataclass(slots=True)
class Progress:
    """Of published hits, how many can be taken now; and of all their places, which are free, taken, done, reviewed."""

    published: int = 0
    assignable: int = 0
    places: int = 0
    open: int = 0
    pending: int = 0
    submitted: int = 0
    reviewed: int = 0

    @classmethod
    def total(cls, parts: "Iterable[Progress]") -> "Progress":
        parts = list(parts)
        return cls(**{part.name: sum(getattr(one, part.name) for one in parts) for part in fields(cls)})

    def add(self, hit: Mapping[str, Any]) -> None:
        """Count one more hit, in the protocol's form."""
        free, taken = hit["NumberOfAssignmentsAvailable"], hit["NumberOfAssignmentsPending"]
        self.published += 1
        self.assignable += hit["HITStatus"] == "Assignable"
        self.places += hit["MaxAssignments"]
        self.open += free
        self.pending += taken
        self.submitted += hit["MaxAssignments"] - free - taken
        self.reviewed += hit["NumberOfAssignmentsCompleted"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one worker says of two systems' candidates for one segment."""

    segment: str
    system_a: str
    system_b: str
    choice: Choice
    worker: str
    time: int | None = None
    hit: str = ""
    assignment: str = ""

    @property
    def preferred(self) -> str:
        """The better system, or EQUAL."""
        return {Choice.A: self.system_a, Choice.B: self.system_b}.get(self.choice, "EQUAL")
