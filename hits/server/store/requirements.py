"""Whether a worker meets what a hit asks: the ten comparators, and the qualifications the market itself keeps."""

import sqlite3
from collections.abc import Iterable

from hits.qualifications import LOCALE, PERCENT_APPROVED
from hits.server.store.records import Locale, QualificationType, Requirement, Worker

NUMBER_APPROVED = "00000000000000000040"
ADULT = "00000000000000000060"
MASTERS = (
    "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH",
    "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6",
)  # in production, in the sandbox

SYSTEM_TYPES = {
    kind.id: kind
    for kind in (
        QualificationType(
            0, LOCALE, "Worker_Locale", "Where the worker lives", "", True, 0, requestable=False, system=True
        ),
        QualificationType(
            0,
            PERCENT_APPROVED,
            "Worker_PercentAssignmentsApproved",
            "The share of the worker's reviewed assignments that were approved, in percent, rounded down",
            "",
            True,
            0,
            requestable=False,
            system=True,
        ),
        QualificationType(
            0,
            NUMBER_APPROVED,
            "Worker_NumberHITsApproved",
            "How many of the worker's assignments were approved",
            "",
            True,
            0,
            requestable=False,
            system=True,
        ),
        QualificationType(
            0,
            ADULT,
            "Worker_Adult",
            "1 for workers who agreed to see adult content",
            "",
            True,
            0,
            requestable=False,
            system=True,
        ),
        *(
            QualificationType(
                0,
                masters,
                "Masters",
                "Mechanical Turk gave it to some workers; here nobody has it",
                "",
                True,
                0,
                requestable=False,
                system=True,
            )
            for masters in MASTERS
        ),
    )
}

Value = int | Locale | None


def meets(requirement: Requirement, value: Value) -> bool:
    """Whether a value passes; without a value only DoesNotExist passes.

    >>> rule = Requirement(LOCALE, "In", locales=(Locale("US", "NY"), Locale("DE")))
    >>> meets(rule, Locale("DE", "BE")), meets(rule, Locale("US", "CA")), meets(rule, None)
    (True, False, False)
    >>> meets(Requirement("3ABC", "GreaterThanOrEqualTo", (80,)), 80)
    True
    """
    comparator = requirement.comparator
    if comparator in ("Exists", "DoesNotExist"):
        return (value is None) == (comparator == "DoesNotExist")
    if value is None:
        return False
    if isinstance(value, Locale):
        contained = any(place.admits(value) for place in requirement.locales)
    elif comparator in ORDERS:
        return all(ORDERS[comparator](value, bound) for bound in requirement.integers)
    else:
        contained = value in requirement.integers
    return contained == (comparator in ("EqualTo", "In"))


ORDERS = {
    "LessThan": int.__lt__,
    "LessThanOrEqualTo": int.__le__,
    "GreaterThan": int.__gt__,
    "GreaterThanOrEqualTo": int.__ge__,
}


def worker_value(db: sqlite3.Connection, worker: Worker, qualification: str) -> Value:
    """A worker's value of a qualification, None when they have none; a qualification without a value counts as 1.

    The approval rate of a worker without reviewed work is 100, as Mechanical Turk has it for beginners.
    """
    if qualification == LOCALE:
        return worker.locale
    if qualification == ADULT:
        return int(worker.adult)
    if qualification in (PERCENT_APPROVED, NUMBER_APPROVED):
        approved, rejected = reviewed(db, worker)
        if qualification == NUMBER_APPROVED:
            return approved
        return 100 * approved // (approved + rejected) if approved + rejected else 100
    row = db.execute(
        "SELECT value FROM qualifications WHERE type = ? AND worker = ? AND status = 'Granted'",
        [qualification, worker.id],
    ).fetchone()
    if row is None:
        return None
    return 1 if row["value"] is None else int(row["value"])


def reviewed(db: sqlite3.Connection, worker: Worker) -> tuple[int, int]:
    """How many of a worker's assignments were approved and rejected, here and before."""
    rows = db.execute(
        "SELECT status, count(*) FROM assignments WHERE worker = ? AND status IN ('approved', 'rejected')"
        " GROUP BY status",
        [worker.id],
    )
    counts = dict(tuple(row) for row in rows)
    return (
        worker.approved_before + int(counts.get("approved", 0)),
        worker.rejected_before + int(counts.get("rejected", 0)),
    )


def unmet(db: sqlite3.Connection, worker: Worker, requirements: Iterable[Requirement]) -> list[Requirement]:
    """The requirements that keep a worker from accepting a hit: all guard that, whatever else they guard."""
    return [rule for rule in requirements if not meets(rule, worker_value(db, worker, rule.qualification))]
