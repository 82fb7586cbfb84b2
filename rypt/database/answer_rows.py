"""What hits bring back, as rows: a hit, an assignment, its labels, comparisons, controls and payments.

`rypt.database.answers` keeps them, `hits.results` reads them from the fields of forms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Ints
from rypt.records import Judgment

SUBMITTED, APPROVED, REJECTED = STATUSES = ("Submitted", "Approved", "Rejected")
HIT_FACTS = (
    "HITTypeId",
    "Title",
    "Description",
    "Keywords",
    "Reward",
    "CreationTime",
    "MaxAssignments",
    "RequesterAnnotation",
    "AssignmentDurationInSeconds",
    "AutoApprovalDelayInSeconds",
    "Expiration",
    "NumberOfSimilarHITs",
    "LifetimeInSeconds",
)


@dataclass(frozen=True, slots=True)
class HitRow:
    """One published item: its columns, what the market says of it, and how many answers it asks for."""

    id: str
    batch: str
    item: str
    kind: str
    size: int
    columns: Mapping[str, str]
    facts: Mapping[str, str]
    market: str


@dataclass(frozen=True, slots=True)
class AssignmentRow:
    """One hit done by one worker: the form's fields as they came, and what the market says of it."""

    id: str
    hit: str
    worker: str
    status: str
    accepted: int | None
    submitted: int | None
    seconds: int | None
    fields: Mapping[str, str]
    facts: Mapping[str, str]


class LeftOutRow(NamedTuple):
    """An assignment that was submitted and cannot be read, with the reason: work that waits for a review."""

    assignment: str
    hit: str
    batch: str
    worker: str
    status: str
    reason: str


class LabelRow(NamedTuple):
    """The label given to one alternative, None for none; ``control`` where the answer was known.

    ``severity`` says how bad a NO is, None where that was not asked or not said.
    """

    slot: int
    segment: str
    start: int
    stop: int
    phrase: str
    label: str | None
    control: bool
    severity: float | None = None


class ComparisonRow(NamedTuple):
    """Two systems compared; ``implied`` where a text was not shown because it was another's."""

    segment: str
    system_a: str
    system_b: str
    choice: str
    implied: bool


class ControlRow(NamedTuple):
    """The outcome of a control."""

    slot: int
    kind: str
    expected: str
    answer: str
    passed: bool


class BonusRow(NamedTuple):
    """One payment besides the reward of an assignment."""

    amount: Decimal
    reason: str
    time: int | None


@dataclass(frozen=True, slots=True)
class AnswerRows:
    """What an assignment says, as rows; ``judgments`` are the labels that are no controls."""

    labels: Sequence[LabelRow] = ()
    comparisons: Sequence[ComparisonRow] = ()
    controls: Sequence[ControlRow] = ()
    judgments: Sequence[Judgment] = ()


@dataclass(frozen=True, slots=True)
class IdenticalRow:
    """Two systems with the same text for a segment, which nobody is asked about."""

    batch: str
    segment: str
    system_a: str
    system_b: str


class WorkRow(NamedTuple):
    """One assignment in numbers: ``given`` labels, ``counts`` where its worker is not excluded."""

    worker: str
    hit: str
    kind: str
    size: int
    seconds: int | None
    given: int
    reward: str | None
    places: str | None
    market: str
    bonuses: str | None
    counts: int
    status: str

    @property
    def answers(self) -> int:
        """Labels given, candidates ranked, or one comparison."""
        return self.given if self.kind == "label" else self.size


class CountedComparison(NamedTuple):
    """A comparison that counts, and which assignment it was made in."""

    segment: str
    system_a: str
    system_b: str
    choice: str
    worker: str
    time: int | None
    hit: str
    assignment: str


class GivenLabel(NamedTuple):
    """A label as a worker gave it, in a hit or from a file."""

    worker: str
    segment: str
    start: int
    stop: int
    phrase: str
    label: str
    control: int = 0


class LabelColumns(NamedTuple):
    """Labels as workers gave them, in the order in which they came: codes of workers, questions and labels."""

    workers: list[str]
    worker: Ints
    question: Ints
    labels: list[str]
    label: Ints
    control: NDArray[np.bool_]


class GivenComparison(NamedTuple):
    """A comparison as a worker made it."""

    worker: str
    segment: str
    system_a: str
    system_b: str
    choice: str


def split_facts(facts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What a market says of a hit, and what it says of the assignment; empty texts left out."""
    texts = filled(facts)
    return (
        {name: texts[name] for name in HIT_FACTS if name in texts},
        {name: text for name, text in texts.items() if name not in HIT_FACTS},
    )


def filled(texts: Mapping[str, str]) -> dict[str, str]:
    """Without empty ones: a CSV has a cell for every column, a form sends only what was filled in."""
    return {name: text for name, text in texts.items() if text}
