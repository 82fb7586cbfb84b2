"""What the local market keeps: hit types, hits, workers, assignments, qualifications, bonuses and messages.

Times are whole seconds since 1970, money is `Decimal` dollars. Ids look as Mechanical Turk's do.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from rypt.text import RyptError

CENT = Decimal("0.01")


class RefusedError(RyptError):
    """A request that the market refuses; ``code`` is Mechanical Turk's name for the reason.

    >>> RefusedError("HITDoesNotExist", "no hit 3ABC").code
    'AWS.MechanicalTurk.HITDoesNotExist'
    >>> RefusedError("AWS.ParameterValidationFailed", "expected a title").code
    'AWS.ParameterValidationFailed'
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code if code.startswith("AWS.") else f"AWS.MechanicalTurk.{code}"
        self.message = message


def invalid(what: str, message: str) -> RefusedError:
    """The error for a part of a request that breaks a documented rule."""
    return RefusedError("AWS.ParameterValidationFailed", f"{what or 'the request'}: {message}")


class HitStatus(StrEnum):
    """Where a hit is in its life; derived from its counts, its expiration and the time."""

    ASSIGNABLE = "Assignable"
    UNASSIGNABLE = "Unassignable"
    REVIEWABLE = "Reviewable"
    REVIEWING = "Reviewing"
    DISPOSED = "Disposed"


class AssignmentStatus(StrEnum):
    """Where an assignment is; a requester sees the last three only, and never a returned or abandoned one."""

    ACCEPTED = "accepted"
    RETURNED = "returned"
    ABANDONED = "abandoned"
    SUBMITTED = "submitted"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Locale:
    """A country (ISO 3166) and, for some, a part of it; a requirement without a part admits all parts."""

    country: str
    subdivision: str | None = None

    def admits(self, other: "Locale") -> bool:
        """Whether a worker from ``other`` meets a requirement of this locale."""
        return self.country == other.country and self.subdivision in (None, other.subdivision)


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a hit type asks of a worker's qualification; ``guarded`` names what is refused to others."""

    qualification: str
    comparator: str
    integers: tuple[int, ...] = ()
    locales: tuple[Locale, ...] = ()
    guarded: str = "Accept"

    def as_json(self) -> list[Any]:
        """A list that `from_json` reads."""
        places = [[place.country, place.subdivision] for place in self.locales]
        return [self.qualification, self.comparator, list(self.integers), places, self.guarded]

    @classmethod
    def from_json(cls, value: list[Any]) -> "Requirement":
        """Read what `as_json` wrote."""
        qualification, comparator, integers, places, guarded = value
        return cls(
            qualification, comparator, tuple(integers), tuple(Locale(*place) for place in places), guarded
        )


@dataclass(frozen=True, slots=True)
class HitProperties:
    """All that makes two hits hits of one type."""

    title: str
    description: str
    reward: Decimal
    duration: int
    keywords: str = ""
    auto_approval: int = 30 * 86400
    requirements: tuple[Requirement, ...] = ()

    def key(self) -> str:
        """Equal for equal properties, so that they share one hit type."""
        rules = sorted((rule.as_json() for rule in self.requirements), key=json.dumps)
        values = [
            self.title,
            self.description,
            cents(self.reward),
            self.duration,
            self.keywords,
            self.auto_approval,
        ]
        return json.dumps([*values, rules])


@dataclass(frozen=True, slots=True)
class HitType:
    """Properties under an id."""

    id: str
    properties: HitProperties
    created: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One page of work; ``number`` counts hits in the order in which they were created."""

    number: int
    id: str
    type: HitType
    question: str
    annotation: str | None
    max_assignments: int
    created: int
    expiration: int
    status: HitStatus
    pending: int
    submitted: int
    completed: int

    @property
    def available(self) -> int:
        """How many more workers may accept it, if it has not expired."""
        return self.max_assignments - self.pending - self.submitted - self.completed


@dataclass(frozen=True, slots=True)
class AssignmentRecord:
    """One hit done by one worker for the reward promised then; ``answers`` (field → value) is None until submitted."""

    number: int
    id: str
    hit: str
    worker: str
    status: AssignmentStatus
    reward: Decimal
    accepted: int
    deadline: int
    submitted: int | None
    auto_approval: int | None
    approved: int | None
    rejected: int | None
    feedback: str | None
    answers: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Worker:
    """A person who judges. ``source`` and ``external_id`` say how they came: ``invitation`` and the name, or a link."""

    number: int
    id: str
    name: str
    source: str
    external_id: str
    created: int
    consented: int | None = None
    locale: Locale | None = None
    adult: bool = False
    approved_before: int = 0
    rejected_before: int = 0
    blocked: str | None = None


@dataclass(frozen=True, slots=True)
class Invitation:
    """A worker and the secret of their link; the market keeps only its hash, so it is shown once."""

    worker: Worker
    token: str


@dataclass(frozen=True, slots=True)
class Earnings:
    """A worker's money and counts: approved, waiting for review, rejected, and bonuses."""

    approved: Decimal
    waiting: Decimal
    bonuses: Decimal
    assignments_approved: int
    assignments_waiting: int
    assignments_rejected: int

    @property
    def total(self) -> Decimal:
        """What the worker has earned for sure."""
        return self.approved + self.bonuses


@dataclass(frozen=True, slots=True)
class BonusRecord:
    """Money beside the reward, for one assignment."""

    number: int
    worker: str
    assignment: str
    amount: Decimal
    reason: str
    created: int


@dataclass(frozen=True, slots=True)
class Message:
    """What the requester wrote to a worker, shown on the worker's page."""

    number: int
    worker: str
    subject: str
    text: str
    created: int
    seen: int | None


@dataclass(frozen=True, slots=True)
class QualificationType:
    """A property of workers that a requester gives, or that a test measures."""

    number: int
    id: str
    name: str
    description: str
    keywords: str
    active: bool
    created: int
    retry_delay: int | None = None
    test: str | None = None
    answer_key: str | None = None
    test_duration: int | None = None
    auto_granted: bool = False
    auto_granted_value: int = 1
    requestable: bool = True
    system: bool = False


@dataclass(frozen=True, slots=True)
class Qualification:
    """A worker's value of a qualification type; a revoked one counts as none."""

    number: int
    type: str
    worker: str
    value: int | None
    granted: int
    status: str
    locale: Locale | None = None


@dataclass(frozen=True, slots=True)
class QualificationRequest:
    """A worker asks for a qualification; ``status`` is started, pending, granted or rejected."""

    number: int
    id: str
    type: str
    worker: str
    status: str
    started: int
    submitted: int | None
    test: str | None
    answers: Mapping[str, str] | None
    value: int | None
    reason: str | None


def cents(amount: Decimal) -> int:
    """Dollars as whole cents.

    >>> cents(Decimal("0.05"))
    5
    """
    return int(amount.quantize(CENT) * 100)


def dollars(amount: int) -> Decimal:
    """Whole cents as dollars with two places.

    >>> dollars(5), dollars(0)
    (Decimal('0.05'), Decimal('0.00'))
    """
    return Decimal(amount).scaleb(-2).quantize(CENT)
