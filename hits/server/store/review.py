"""What a requester says to submitted work: approve, reject, pay a bonus; and how far everything is."""

import sqlite3
from dataclasses import dataclass
from decimal import Decimal

from hits.server.store.base import MarketFile
from hits.server.store.hits import STATUS, find_hit, token_used, use_token
from hits.server.store.people import leave_message
from hits.server.store.records import (
    Assignment,
    AssignmentStatus,
    Bonus,
    HitStatus,
    RefusedError,
    cents,
    dollars,
)
from hits.server.store.work import FINISHED, find_assignment

SECOND_THOUGHTS = 30 * 86400  # a rejection may be overturned this long after the submission


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts of hits by status (kept ones and deleted ones) and of assignments by status, and the money so far."""

    hits: dict[str, int]
    assignments: dict[str, int]
    workers: int
    rewards_approved: Decimal
    rewards_waiting: Decimal
    bonuses: Decimal


class Review(MarketFile):
    """The part of the store that reviews work and pays."""

    def approve(self, assignment: str, feedback: str | None, now: int, *, override: bool = False) -> Assignment:
        """Approve submitted work; ``override`` approves rejected work too, for 30 days and while the hit is there."""
        with self.writing(now) as db:
            found = find_assignment(db, assignment)
            overturned = override and found.status is AssignmentStatus.REJECTED
            if overturned:
                self._check_overturning(db, found, now)
            elif found.status is not AssignmentStatus.SUBMITTED:
                raise wrong_step(found, "Submitted")
            db.execute(
                "UPDATE assignments SET status = 'approved', approved = ?, feedback = coalesce(?, feedback)"
                " WHERE id = ?",
                [now, feedback, assignment],
            )
            return find_assignment(db, assignment)

    @staticmethod
    def _check_overturning(db: sqlite3.Connection, found: Assignment, now: int) -> None:
        if found.submitted is not None and now - found.submitted > SECOND_THOUGHTS:
            message = f"The assignment {found.id} was submitted more than 30 days ago: its rejection stays."
            raise RefusedError("InvalidAssignmentState", message)
        if find_hit(db, found.hit, now).status is HitStatus.DISPOSED:
            raise RefusedError("InvalidHITState", f"The HIT {found.hit} is deleted: the rejection stays.")

    def reject(self, assignment: str, feedback: str, now: int) -> Assignment:
        """Reject submitted work; its place on the hit stays taken, as on Mechanical Turk."""
        with self.writing(now) as db:
            found = find_assignment(db, assignment)
            if found.status is not AssignmentStatus.SUBMITTED:
                raise wrong_step(found, "Submitted")
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
        with self.writing(now) as db:
            found = find_assignment(db, assignment)
            if found.worker != worker:
                message = f"The assignment {assignment} is not of the worker {worker}."
                raise RefusedError("AWS.ParameterValidationFailed", message)
            if found.status not in FINISHED:
                raise wrong_step(found, "Submitted, Approved or Rejected")
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
    ) -> list[Bonus]:
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
        with self.reading(now) as db:
            return [
                Bonus(row[0], row["worker"], row["assignment"], dollars(row["amount"]), row["reason"], row["created"])
                for row in db.execute(sql, [*values, limit])
            ]

    def overview(self, now: int) -> Overview:
        """How far the market is."""
        with self.reading(now) as db:
            hits = dict(
                tuple(row) for row in db.execute(f"SELECT {STATUS}, count(*) FROM hits GROUP BY 1", {"now": now})
            )
            rows = db.execute("SELECT status, count(*), sum(reward) FROM assignments GROUP BY status").fetchall()
            bonuses = db.execute("SELECT coalesce(sum(amount), 0) FROM bonuses").fetchone()[0]
            workers = db.execute("SELECT count(*) FROM workers").fetchone()[0]
        money = {status: amount for status, _, amount in rows}
        return Overview(
            hits,
            {status: count for status, count, _ in rows},
            workers,
            dollars(money.get("approved", 0)),
            dollars(money.get("submitted", 0)),
            dollars(bonuses),
        )


def wrong_step(found: Assignment, expected: str) -> RefusedError:
    """The error for a step that an assignment in its state cannot take."""
    message = (
        f"This operation can be called with a status of: {expected}; "
        f"the assignment {found.id} is {found.status.capitalize()}."
    )
    return RefusedError("InvalidAssignmentState", message)
