"""Assignments: accept, submit, give back; then approve, reject, pay a bonus.

Every step is one durable transaction. A worker has at most one assignment of a hit that was not returned or abandoned;
sending the same answers again gets the same acknowledgement and stores nothing.
"""

import json
import re
import sqlite3
from collections.abc import Collection, Mapping
from decimal import Decimal

from hits.server.store.base import Part
from hits.server.store.hits import find_hit, use_token
from hits.server.store.people import find_worker, leave_message
from hits.server.store.qualifications import unmet
from hits.server.store.records import (
    DAY,
    Earnings,
    Record,
    RefusedError,
    Request,
    cents,
    dollars,
    insert,
    invalid,
    new_id,
)

ASSIGNMENT_ROWS = """
    SELECT assignments.*, answers.fields, hits.batch, hits.RequesterAnnotation FROM assignments
    JOIN hits ON hits.HITId = assignments.HITId
    LEFT JOIN answers ON answers.AssignmentId = assignments.AssignmentId
"""
MONEY = """
    SELECT WorkerId, AssignmentStatus, sum(reward) FROM assignments
    WHERE AssignmentStatus IN ('Submitted', 'Approved') GROUP BY 1, 2
    UNION ALL SELECT WorkerId, 'bonus', sum(amount) FROM bonuses GROUP BY 1
"""
FINISHED = ("Submitted", "Approved", "Rejected")
OVERTURN_SECONDS = 30 * DAY  # how long after the submission a rejection may be overturned
MAX_FIELDS = 1000
MAX_ANSWER_CHARACTERS = 1_000_000
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_assignment(row: sqlite3.Row | Record) -> Record:
    return dict(row) | {"fields": json.loads(row["fields"]) if row["fields"] else {}}


def find_assignment(db: sqlite3.Connection, assignment: str, worker: str | None = None) -> Record:
    """The assignment with this id; one that is not the ``worker``'s looks as if it did not exist."""
    row = db.execute(f"{ASSIGNMENT_ROWS} WHERE assignments.AssignmentId = ?", [assignment]).fetchone()
    if row is None or worker not in (None, row["WorkerId"]):
        raise RefusedError("AssignmentDoesNotExist", f"Assignment {assignment} does not exist.")
    return read_assignment(row)


class WorkStore(Part):
    def accept(self, worker: str, hit: str, now: int) -> Record:
        """Give a hit to a worker; accepting again what one holds gives the same assignment."""
        with self.file.writing(now) as db:
            person, record = find_worker(db, worker), find_hit(db, hit, now)
            held = db.execute(
                f"{ASSIGNMENT_ROWS} WHERE assignments.HITId = ? AND WorkerId = ?"
                " AND AssignmentStatus NOT IN ('Returned', 'Abandoned')",
                [hit, worker],
            ).fetchone()
            if held is not None:
                if held["AssignmentStatus"] == "Accepted":
                    return read_assignment(held)
                raise RefusedError("AssignmentAlreadyExists", f"The worker has already done the HIT {hit}.")
            if person.blocked is not None:
                raise RefusedError("PermissionDeniedException", "The worker is blocked.")
            if record["HITStatus"] != "Assignable":
                message = f"This HIT {hit} has no free place (it is {record['HITStatus']})."
                raise RefusedError("InvalidHITState", message)
            if missing := unmet(db, person, record["QualificationRequirements"]):
                names = ", ".join(rule["QualificationTypeId"] for rule in missing)
                message = f"The worker lacks qualifications for the HIT: {names}."
                raise RefusedError("DoesNotMeetRequirements", message)
            assignment, deadline = new_id(), now + record["AssignmentDurationInSeconds"]
            values = {"AssignmentId": assignment, "HITId": hit, "WorkerId": worker, "AcceptTime": now}
            reward = cents(Decimal(record["Reward"]))
            insert(db, "assignments", values | {"reward": reward, "Deadline": deadline})
            return find_assignment(db, assignment)

    def submit(self, assignment: str, worker: str, answers: Mapping[str, str], now: int) -> Record:
        """Store a worker's answers (form field → value) once; when this returns they are on the disk."""
        fields = clean_answers(answers)
        with self.file.writing(now) as db:
            record = find_assignment(db, assignment, worker)
            if record["AssignmentStatus"] in FINISHED:
                if record["fields"] == fields:
                    return record
                message = "The assignment was submitted before with other answers; these were not stored."
                raise RefusedError("InvalidAssignmentState", message)
            if record["AssignmentStatus"] != "Accepted":
                message = f"The assignment is {record['AssignmentStatus']}: its time is over."
                raise RefusedError("InvalidAssignmentState", message)
            delay = find_hit(db, record["HITId"], now)["AutoApprovalDelayInSeconds"]
            db.execute(
                "INSERT INTO answers VALUES (?, ?)", [assignment, json.dumps(fields, ensure_ascii=False)]
            )
            db.execute(
                "UPDATE assignments SET AssignmentStatus = 'Submitted', SubmitTime = ?, AutoApprovalTime = ?"
                " WHERE AssignmentId = ?",
                [now, now + delay, assignment],
            )
            return find_assignment(db, assignment)

    def give_back(self, assignment: str, worker: str, now: int) -> None:
        """Give a hit back undone: another worker may have its place. Returning twice is returning once."""
        with self.file.writing(now) as db:
            status = find_assignment(db, assignment, worker)["AssignmentStatus"]
            if status in FINISHED:
                message = "The assignment was submitted and cannot be returned."
                raise RefusedError("InvalidAssignmentState", message)
            if status == "Accepted":
                sql = "UPDATE assignments SET AssignmentStatus = 'Returned' WHERE AssignmentId = ?"
                db.execute(sql, [assignment])

    def find(self, assignment: str, now: int, *, worker: str | None = None) -> tuple[Record, Record]:
        with self.file.reading(now) as db:
            record = find_assignment(db, assignment, worker)
            return record, find_hit(db, record["HITId"], now)

    def all(
        self,
        now: int,
        *,
        hit: str | None = None,
        worker: str | None = None,
        batch: str | None = None,
        statuses: Collection[str] = FINISHED,
        after: int = 0,
        limit: int = -1,
    ) -> list[Record]:
        """Assignments of a hit, of a worker, of a batch or all, in the order in which they were accepted."""
        where, values = _filter(after, {"assignments.HITId": hit, "WorkerId": worker, "batch": batch})
        sql = f"""
            {ASSIGNMENT_ROWS} WHERE {where} AND AssignmentStatus IN (SELECT value FROM json_each(?))
            ORDER BY assignments.number LIMIT ?
        """
        rows = self.file.rows(sql, [*values, json.dumps(list(statuses)), limit], now)
        return [read_assignment(row) for row in rows]

    def statuses(self, now: int) -> list[tuple[str, str, str]]:
        """The id, the status and the batch of all submitted assignments."""
        sql = """
            SELECT AssignmentId, AssignmentStatus, batch FROM assignments JOIN hits USING (HITId)
            WHERE AssignmentStatus IN ('Submitted', 'Approved', 'Rejected')
        """
        return [tuple(row.values()) for row in self.file.rows(sql, now=now)]

    def money(self, now: int) -> dict[tuple[str, str], Decimal]:
        """What each worker has Approved, Submitted (waiting), or as bonus."""
        rows = (row.values() for row in self.file.rows(MONEY, now=now))
        return {(worker, kind): dollars(money) for worker, kind, money in rows}

    def held(self, worker: str, now: int) -> list[Record]:
        return self.all(now, worker=worker, statuses=["Accepted"])

    def earnings(self, worker: str, now: int) -> Earnings:
        sql = """
            SELECT coalesce(sum(reward) FILTER (WHERE AssignmentStatus = 'Approved'), 0) AS approved,
                coalesce(sum(reward) FILTER (WHERE AssignmentStatus = 'Submitted'), 0) AS waiting,
                (SELECT coalesce(sum(amount), 0) FROM bonuses WHERE WorkerId = :worker) AS bonuses,
                count(*) AS done
            FROM assignments
            WHERE WorkerId = :worker AND AssignmentStatus IN ('Submitted', 'Approved', 'Rejected')
        """
        [row] = self.file.rows(sql, {"worker": worker}, now)
        approved, waiting, bonuses, done = row.values()
        return Earnings(dollars(approved), dollars(waiting), dollars(bonuses), done)

    def approve(self, assignment: str, feedback: str | None, now: int, *, override: bool = False) -> None:
        """Approve submitted work; ``override`` approves rejected work too, for 30 days and while the hit exists."""
        with self.file.writing(now) as db:
            record = find_assignment(db, assignment)
            if override and record["AssignmentStatus"] == "Rejected":
                if now - record["SubmitTime"] > OVERTURN_SECONDS:
                    message = f"The assignment {assignment} was submitted more than 30 days ago."
                    raise RefusedError("InvalidAssignmentState", f"{message} Its rejection stays.")
                if find_hit(db, record["HITId"], now)["HITStatus"] == "Disposed":
                    message = f"The HIT {record['HITId']} is deleted: the rejection stays."
                    raise RefusedError("InvalidHITState", message)
            else:
                _check_status(record, "Submitted")
            self._review(db, record, "Approved", "ApprovalTime", now, feedback)

    def reject(self, assignment: str, feedback: str, now: int) -> None:
        with self.file.writing(now) as db:
            record = find_assignment(db, assignment)
            _check_status(record, "Submitted")
            self._review(db, record, "Rejected", "RejectionTime", now, feedback)

    @staticmethod
    def _review(
        db: sqlite3.Connection, record: Record, status: str, time: str, now: int, feedback: str | None
    ) -> None:
        sql = f"UPDATE assignments SET AssignmentStatus = ?, {time} = ?, RequesterFeedback = ? WHERE AssignmentId = ?"
        words = feedback or record["RequesterFeedback"]
        db.execute(sql, [status, now, words, record["AssignmentId"]])

    def pay_bonus(self, request: Request, now: int) -> None:
        """Pay for good work; a request token pays once a day. The worker finds the reason among the messages."""
        worker, assignment, reason = request["WorkerId"], request["AssignmentId"], request["Reason"]
        amount = cents(Decimal(request["BonusAmount"]))
        with self.file.writing(now) as db:
            record = find_assignment(db, assignment)
            if record["WorkerId"] != worker:
                raise invalid("WorkerId", f"the assignment {assignment} is not of the worker {worker}")
            _check_status(record, *FINISHED)
            if use_token(db, "bonus", request.get("UniqueRequestToken"), assignment, now) is not None:
                message = f"This UniqueRequestToken has paid a bonus for {assignment} before."
                raise RefusedError("DuplicateRequest", message)
            values = {"WorkerId": worker, "AssignmentId": assignment, "amount": amount}
            insert(db, "bonuses", values | {"Reason": reason, "GrantTime": now})
            leave_message(db, worker, f"A bonus of ${dollars(amount)}", reason, now)

    def bonuses(
        self,
        now: int,
        *,
        hit: str | None = None,
        assignment: str | None = None,
        after: int = 0,
        limit: int = -1,
    ) -> list[Record]:
        """Bonuses of a hit, of an assignment or all, in the order in which they were paid."""
        where, values = _filter(after, {"HITId": hit, "AssignmentId": assignment}, "bonuses.number")
        sql = f"""
            SELECT bonuses.*, HITId FROM bonuses JOIN assignments USING (AssignmentId)
            WHERE {where} ORDER BY bonuses.number LIMIT ?
        """
        rows = self.file.rows(sql, [*values, limit], now)
        return [row | {"BonusAmount": str(dollars(row["amount"]))} for row in rows]


def _filter(
    after: int, wanted: Mapping[str, str | None], number: str = "assignments.number"
) -> tuple[str, list[int | str]]:
    """The condition for rows beyond a number with these values, where they are not None."""
    values = {name: value for name, value in wanted.items() if value is not None}
    return " AND ".join([f"{number} > ?", *(f"{name} = ?" for name in values)]), [after, *values.values()]


def _check_status(record: Record, *expected: str) -> None:
    status = record["AssignmentStatus"]
    if status not in expected:
        message = f"The assignment {record['AssignmentId']} is {status}; expected {' or '.join(expected)}."
        raise RefusedError("InvalidAssignmentState", message)


def clean_answers(answers: Mapping[str, str]) -> dict[str, str]:
    """Answers that can be stored and sent as XML: what XML cannot hold becomes U+FFFD.

    >>> clean_answers({"comment": "a\\x00b"})
    {'comment': 'a\ufffdb'}
    """
    if not 0 < len(answers) <= MAX_FIELDS:
        raise invalid("answers", f"expected 1 to {MAX_FIELDS}, got {len(answers)}")
    if sum(len(name) + len(value) for name, value in answers.items()) > MAX_ANSWER_CHARACTERS:
        raise invalid("answers", f"expected at most {MAX_ANSWER_CHARACTERS:,} characters")
    cleaned = {NOT_XML.sub("\ufffd", name): NOT_XML.sub("\ufffd", value) for name, value in answers.items()}
    if len(cleaned) < len(answers) or "" in cleaned:
        raise invalid("answers", "expected names that differ")
    return cleaned
