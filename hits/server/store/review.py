"""What a requester does with submitted work: approve, reject, pay a bonus."""

import sqlite3
from dataclasses import dataclass
from decimal import Decimal

from hits.server.store.base import MarketFile
from hits.server.store.hits import find_hit, token_used, use_token
from hits.server.store.people import leave_message
from hits.server.store.records import (
    AssignmentRecord,
    AssignmentStatus,
    BonusRecord,
    HitStatus,
    RefusedError,
    cents,
    dollars,
)
from hits.server.store.work import FINISHED, find_assignment

SECOND_THOUGHTS = 30 * 86400  # a rejection may be overturned this long after the submission


@dataclass(frozen=True, slots=True)
class ReviewStore:
    """Approving and rejecting work, and paying bonuses."""

    file: MarketFile

    def approve(
        self, assignment: str, feedback: str | None, now: int, *, override: bool = False
    ) -> AssignmentRecord:
        """Approve submitted work; ``override`` approves rejected work too, for 30 days and while the hit is there."""
        with self.file.writing(now) as db:
            record = find_assignment(db, assignment)
            overturned = override and record.status is AssignmentStatus.REJECTED
            if overturned:
                self._check_overturning(db, record, now)
            elif record.status is not AssignmentStatus.SUBMITTED:
                raise wrong_step(record, "Submitted")
            db.execute(
                "UPDATE assignments SET status = 'approved', approved = ?, feedback = coalesce(?, feedback)"
                " WHERE id = ?",
                [now, feedback, assignment],
            )
            return find_assignment(db, assignment)

    @staticmethod
    def _check_overturning(db: sqlite3.Connection, record: AssignmentRecord, now: int) -> None:
        if record.submitted is not None and now - record.submitted > SECOND_THOUGHTS:
            message = f"The assignment {record.id} was submitted more than 30 days ago: its rejection stays."
            raise RefusedError("InvalidAssignmentState", message)
        if find_hit(db, record.hit, now).status is HitStatus.DISPOSED:
            raise RefusedError("InvalidHITState", f"The HIT {record.hit} is deleted: the rejection stays.")

    def reject(self, assignment: str, feedback: str, now: int) -> AssignmentRecord:
        """Reject submitted work; its place on the hit stays taken, as on Mechanical Turk."""
        with self.file.writing(now) as db:
            record = find_assignment(db, assignment)
            if record.status is not AssignmentStatus.SUBMITTED:
                raise wrong_step(record, "Submitted")
            db.execute(
                "UPDATE assignments SET status = 'rejected', rejected = ?, feedback = ? WHERE id = ?",
                [now, feedback, assignment],
            )
            return find_assignment(db, assignment)

    def pay_bonus(
        self,
        worker: str,
        assignment: str,
        amount: Decimal,
        reason: str,
        now: int,
        *,
        token: str | None = None,
        request: str = "",
    ) -> None:
        """Pay for good work; a request token pays once a day. The worker finds the reason among the messages."""
        with self.file.writing(now) as db:
            record = find_assignment(db, assignment)
            if record.worker != worker:
                message = f"The assignment {assignment} is not of the worker {worker}."
                raise RefusedError("AWS.ParameterValidationFailed", message)
            if record.status not in FINISHED:
                raise wrong_step(record, "Submitted, Approved or Rejected")
            if (earlier := use_token(db, "bonus", token, request, now)) is not None:
                raise token_used(earlier)
            db.execute(
                "INSERT INTO bonuses (worker, assignment, amount, reason, created) VALUES (?, ?, ?, ?, ?)",
                [worker, assignment, cents(amount), reason, now],
            )
            leave_message(db, worker, f"A bonus of ${dollars(cents(amount))}", reason, now)

    def bonuses(
        self,
        now: int,
        *,
        hit: str | None = None,
        assignment: str | None = None,
        worker: str | None = None,
        after: int = 0,
        limit: int = -1,
    ) -> list[BonusRecord]:
        """Bonuses of a hit, of an assignment, of a worker or all, in the order in which they were paid."""
        where, values = ["bonuses.number > ?"], [str(after)]
        for column, value in (("a.hit", hit), ("bonuses.assignment", assignment), ("bonuses.worker", worker)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        sql = f"""
            SELECT bonuses.* FROM bonuses JOIN assignments AS a ON a.id = bonuses.assignment
            WHERE {" AND ".join(where)} ORDER BY bonuses.number LIMIT ?
        """
        with self.file.reading(now) as db:
            return [
                BonusRecord(
                    row[0],
                    row["worker"],
                    row["assignment"],
                    dollars(row["amount"]),
                    row["reason"],
                    row["created"],
                )
                for row in db.execute(sql, [*values, limit])
            ]


def wrong_step(record: AssignmentRecord, expected: str) -> RefusedError:
    """The error for a step that an assignment in its state cannot take."""
    message = (
        f"This operation can be called with a status of: {expected}; "
        f"the assignment {record.id} is {record.status.capitalize()}."
    )
    return RefusedError("InvalidAssignmentState", message)
