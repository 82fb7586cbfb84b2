"""Assignments: accept, submit, give back; and workers' earnings.

Every step is one durable transaction. A worker has at most one assignment of a hit that was not returned or abandoned;
sending the same answers again gets the same acknowledgement and stores nothing.
"""

import json
import re
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hits.server.store.base import MarketFile
from hits.server.store.hits import find_hit
from hits.server.store.people import find_worker, new_id
from hits.server.store.policies import run_policies
from hits.server.store.records import (
    AssignmentRecord,
    AssignmentStatus,
    Earnings,
    Hit,
    HitStatus,
    RefusedError,
    cents,
    dollars,
)
from hits.server.store.requirements import unmet

ASSIGNMENT_ROWS = """
    SELECT assignments.*, answers.fields FROM assignments LEFT JOIN answers ON answers.assignment = assignments.id
"""
FINISHED = (AssignmentStatus.SUBMITTED, AssignmentStatus.APPROVED, AssignmentStatus.REJECTED)
MAX_FIELDS = 1000
CHANGE_SECONDS = 120  # how long a page that was sent may be changed
MAX_ANSWER_CHARACTERS = 1_000_000
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_assignment(row: sqlite3.Row) -> AssignmentRecord:
    """A row of `ASSIGNMENT_ROWS`."""
    answers = None if row["fields"] is None else json.loads(row["fields"])
    return AssignmentRecord(
        row["number"],
        row["id"],
        row["hit"],
        row["worker"],
        AssignmentStatus(row["status"]),
        dollars(row["reward"]),
        row["accepted"],
        row["deadline"],
        row["submitted"],
        row["auto_approval"],
        row["approved"],
        row["rejected"],
        row["feedback"],
        answers,
    )


def find_assignment(db: sqlite3.Connection, assignment: str) -> AssignmentRecord:
    """The assignment with this id."""
    row = db.execute(f"{ASSIGNMENT_ROWS} WHERE assignments.id = ?", [assignment]).fetchone()
    if row is None:
        raise RefusedError("AssignmentDoesNotExist", f"Assignment {assignment} does not exist.")
    return read_assignment(row)


def own_assignment(db: sqlite3.Connection, assignment: str, worker: str) -> AssignmentRecord:
    """The worker's own assignment; somebody else's looks as if it did not exist."""
    record = find_assignment(db, assignment)
    if record.worker != worker:
        raise RefusedError("AssignmentDoesNotExist", f"Assignment {assignment} does not exist.")
    return record


@dataclass(frozen=True, slots=True)
class WorkStore:
    """Assignments, as workers take, submit and give them back."""

    file: MarketFile

    def accept(self, worker: str, hit: str, now: int) -> AssignmentRecord:
        """Give a hit to a worker; accepting again what one holds gives the same assignment."""
        with self.file.writing(now) as db:
            person, record = find_worker(db, worker), find_hit(db, hit, now)
            mine = db.execute(
                f"{ASSIGNMENT_ROWS} WHERE hit = ? AND worker = ? AND status NOT IN ('returned', 'abandoned')",
                [hit, worker],
            ).fetchone()
            if mine is not None:
                if mine["status"] == AssignmentStatus.ACCEPTED:
                    return read_assignment(mine)
                raise RefusedError("AssignmentAlreadyExists", f"The worker has already done the HIT {hit}.")
            if person.blocked:
                raise RefusedError("PermissionDeniedException", "The worker is blocked.")
            if record.status is not HitStatus.ASSIGNABLE:
                raise RefusedError(
                    "InvalidHITState", f"This HIT {hit} has no free place (it is {record.status})."
                )
            if missing := unmet(db, person, record.type.properties.requirements):
                names = ", ".join(rule.qualification for rule in missing)
                raise RefusedError(
                    "DoesNotMeetRequirements", f"The worker lacks qualifications for the HIT: {names}."
                )
            assignment, terms = new_id(), record.type.properties
            db.execute(
                "INSERT INTO assignments (id, hit, worker, reward, accepted, deadline) VALUES (?, ?, ?, ?, ?, ?)",
                [assignment, hit, worker, cents(terms.reward), now, now + terms.duration],
            )
            return find_assignment(db, assignment)

    def submit(self, assignment: str, worker: str, answers: Mapping[str, str], now: int) -> AssignmentRecord:
        """Store a worker's answers (form field → value) once; when this returns they are on the disk."""
        fields = clean_answers(answers)
        with self.file.writing(now) as db:
            record = own_assignment(db, assignment, worker)
            if record.status in FINISHED:
                if record.answers == fields:
                    return record
                message = "The assignment was submitted before with other answers; these were not stored."
                raise RefusedError("InvalidAssignmentState", message)
            if record.status is not AssignmentStatus.ACCEPTED:
                raise RefusedError(
                    "InvalidAssignmentState", f"The assignment was {record.status}: its time is over."
                )
            delay = find_hit(db, record.hit, now).type.properties.auto_approval
            db.execute(
                "INSERT INTO answers VALUES (?, ?)", [assignment, json.dumps(fields, ensure_ascii=False)]
            )
            db.execute(
                "UPDATE assignments SET status = 'submitted', submitted = ?, auto_approval = ? WHERE id = ?",
                [now, now + delay, assignment],
            )
            run_policies(db, record.hit, assignment, now)
            return find_assignment(db, assignment)

    def change(self, assignment: str, worker: str, answers: Mapping[str, str], now: int) -> AssignmentRecord:
        """Replace the answers of a page that was just sent; what was sent before is kept.

        That is possible for `CHANGE_SECONDS`, and until a requester has fetched the answers.
        """
        fields = clean_answers(answers)
        with self.file.writing(now) as db:
            record = own_assignment(db, assignment, worker)
            if not is_changeable(db, record, now):
                message = "The page was sent too long ago, or it was read: these answers were not stored."
                raise RefusedError("InvalidAssignmentState", message)
            if record.answers != fields:
                (before,) = db.execute(
                    "SELECT fields FROM answers WHERE assignment = ?", [assignment]
                ).fetchone()
                db.execute(
                    "INSERT INTO earlier_answers (assignment, fields, replaced) VALUES (?, ?, ?)",
                    [assignment, before, now],
                )
                text = json.dumps(fields, ensure_ascii=False)
                db.execute("UPDATE answers SET fields = ? WHERE assignment = ?", [text, assignment])
            return find_assignment(db, assignment)

    def changeable(self, worker: str, now: int) -> AssignmentRecord | None:
        """The page that a worker sent last, if it can still be changed."""
        with self.file.reading(now) as db:
            row = db.execute(
                f"{ASSIGNMENT_ROWS} WHERE worker = ? AND assignments.submitted IS NOT NULL"
                " ORDER BY assignments.submitted DESC, assignments.number DESC LIMIT 1",
                [worker],
            ).fetchone()
            record = None if row is None else read_assignment(row)
            return record if record is not None and is_changeable(db, record, now) else None

    def mark_seen(self, assignments: Collection[str], now: int) -> None:
        """Note that a requester was given the answers of assignments: they stay as they are from now on."""
        with self.file.reading(now) as db:
            names = json.dumps(list(assignments))
            sql = "SELECT count(*) FROM assignments WHERE seen IS NULL AND id IN (SELECT value FROM json_each(?))"
            fresh = db.execute(sql, [names]).fetchone()[0]
        if fresh:
            with self.file.writing(now) as db:
                db.execute(
                    "UPDATE assignments SET seen = ? WHERE seen IS NULL AND id IN (SELECT value FROM json_each(?))",
                    [now, names],
                )

    def give_back(self, assignment: str, worker: str, now: int) -> None:
        """Give a hit back undone: another worker may have its place. Returning twice is returning once."""
        with self.file.writing(now) as db:
            record = own_assignment(db, assignment, worker)
            if record.status in (AssignmentStatus.RETURNED, AssignmentStatus.ABANDONED):
                return
            if record.status is not AssignmentStatus.ACCEPTED:
                raise RefusedError(
                    "InvalidAssignmentState", "The assignment was submitted and cannot be returned."
                )
            db.execute(
                "UPDATE assignments SET status = 'returned', ended = ? WHERE id = ?", [now, assignment]
            )

    def own(self, assignment: str, worker: str, now: int) -> tuple[AssignmentRecord, Hit]:
        """A worker's own assignment and its hit; somebody else's looks as if it did not exist."""
        with self.file.reading(now) as db:
            record = own_assignment(db, assignment, worker)
            return record, find_hit(db, record.hit, now)

    def find(self, assignment: str, now: int) -> AssignmentRecord:
        """The assignment with this id."""
        with self.file.reading(now) as db:
            return find_assignment(db, assignment)

    def all(
        self,
        now: int,
        *,
        hit: str | None = None,
        worker: str | None = None,
        statuses: Collection[AssignmentStatus] = FINISHED,
        after: int = 0,
        limit: int = -1,
    ) -> list[AssignmentRecord]:
        """Assignments of a hit, of a worker or all, in the order in which they were accepted."""
        where, values = ["assignments.number > ?", "status IN (SELECT value FROM json_each(?))"], [after, ""]
        values[1] = json.dumps(list(statuses))
        for column, value in (("hit", hit), ("worker", worker)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        with self.file.reading(now) as db:
            sql = f"{ASSIGNMENT_ROWS} WHERE {' AND '.join(where)} ORDER BY assignments.number LIMIT ?"
            return [read_assignment(row) for row in db.execute(sql, [*values, limit])]

    def held(self, worker: str, now: int) -> list[AssignmentRecord]:
        """What the worker has accepted and not yet submitted."""
        return self.all(now, worker=worker, statuses=[AssignmentStatus.ACCEPTED])

    def earnings(self, worker: str, now: int) -> Earnings:
        """What a worker has earned and what waits for review."""
        with self.file.reading(now) as db:
            find_worker(db, worker)
            rows = db.execute(
                "SELECT status, count(*), sum(reward) FROM assignments"
                " WHERE worker = ? AND status IN ('submitted', 'approved', 'rejected') GROUP BY status",
                [worker],
            )
            sums = {status: (count, money) for status, count, money in rows}
            bonus = db.execute(
                "SELECT coalesce(sum(amount), 0) FROM bonuses WHERE worker = ?", [worker]
            ).fetchone()[0]
        approved, waiting, rejected = (
            sums.get(status, (0, 0)) for status in ("approved", "submitted", "rejected")
        )
        return Earnings(
            dollars(approved[1]), dollars(waiting[1]), dollars(bonus), approved[0], waiting[0], rejected[0]
        )


def is_changeable(db: sqlite3.Connection, record: AssignmentRecord, now: int) -> bool:
    """Whether the worker may still change a page that was sent."""
    if record.status is not AssignmentStatus.SUBMITTED or record.submitted is None:
        return False
    (seen,) = db.execute("SELECT seen FROM assignments WHERE id = ?", [record.id]).fetchone()
    if db.execute("SELECT 1 FROM policies WHERE hit = ?", [record.hit]).fetchone():
        return False  # it was scored
    return seen is None and now - record.submitted <= CHANGE_SECONDS


def clean_answers(answers: Mapping[str, str]) -> dict[str, str]:
    """Answers that can be stored and sent as XML: what XML cannot hold becomes U+FFFD.

    >>> clean_answers({"comment": "a\\x00b"})
    {'comment': 'a\ufffdb'}
    """
    if not 0 < len(answers) <= MAX_FIELDS:
        raise RefusedError(
            "AWS.ParameterValidationFailed", f"expected 1 to {MAX_FIELDS} answers, found {len(answers)}"
        )
    if sum(len(name) + len(value) for name, value in answers.items()) > MAX_ANSWER_CHARACTERS:
        message = f"expected answers of at most {MAX_ANSWER_CHARACTERS:,} characters"
        raise RefusedError("AWS.ParameterValidationFailed", message)
    cleaned = {NOT_XML.sub("\ufffd", name): NOT_XML.sub("\ufffd", value) for name, value in answers.items()}
    if len(cleaned) < len(answers) or "" in cleaned:
        raise RefusedError("AWS.ParameterValidationFailed", "expected answers with names that differ")
    return cleaned
