"""Requests for qualifications: workers ask, take a test, and may try again.

A test with an answer key is scored at once. The hit that requires it decides whether the score is enough (the pass
mark is the requirement's value). A type with a retry delay allows further tries; the local market allows two
tries of a test, so that nobody learns it by heart.
"""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from hits.server.store.answer_key import score_test
from hits.server.store.base import MarketFile
from hits.server.store.hits import FREE, read_properties
from hits.server.store.people import find_worker, leave_message, new_id
from hits.server.store.qualifications import find_qualification_type, give, own_type, read_type
from hits.server.store.records import QualificationRequest, QualificationType, RefusedError, Worker
from hits.server.store.requirements import SYSTEM_TYPES, unmet
from hits.server.store.work import clean_answers

MAX_TRIES = 2
LATE = 60  # seconds of mercy for a test's answers on their way
REQUESTS = "SELECT * FROM qualification_requests WHERE worker = ? AND type = ? ORDER BY number"


def read_request(row: sqlite3.Row) -> QualificationRequest:
    """A row of qualification requests."""
    answers = None if row["answers"] is None else json.loads(row["answers"])
    return QualificationRequest(
        row["number"],
        row["id"],
        row["type"],
        row["worker"],
        row["status"],
        row["started"],
        row["submitted"],
        row["test"],
        answers,
        row["value"],
        row["reason"],
    )


def find_request(db: sqlite3.Connection, request: str) -> QualificationRequest:
    """The qualification request with this id."""
    row = db.execute("SELECT * FROM qualification_requests WHERE id = ?", [request]).fetchone()
    if row is None:
        raise RefusedError(
            "QualificationRequestDoesNotExist", f"QualificationRequest {request} does not exist."
        )
    return read_request(row)


@dataclass(frozen=True, slots=True)
class RequestStore:
    """Requests for qualifications, of workers and for the requester to decide, and tests."""

    file: MarketFile

    def missing(self, worker: str, now: int) -> list[QualificationType]:
        """Types for which the worker can ask and which would open hits that are closed to the worker now."""
        with self.file.reading(now) as db:
            person = find_worker(db, worker)
            rows = db.execute(
                "SELECT * FROM hit_types WHERE EXISTS (SELECT 1 FROM hits WHERE hit_type = hit_types.id"
                f" AND disposed IS NULL AND {FREE} > 0 AND expiration > ?)",
                [now],
            ).fetchall()
            lacking: dict[str, None] = {}
            for row in rows:
                rules = unmet(db, person, read_properties(row).requirements)
                if not any(
                    rule.qualification in SYSTEM_TYPES or rule.comparator == "DoesNotExist" for rule in rules
                ):
                    lacking |= {rule.qualification: None for rule in rules}
            types = db.execute(
                "SELECT * FROM qualification_types WHERE deleted IS NULL AND active"
                " AND id IN (SELECT value FROM json_each(?)) ORDER BY number",
                [json.dumps(list(lacking))],
            )
            return [read_type(row) for row in types]

    def of_worker(self, worker: str, kind: str) -> list[QualificationRequest]:
        """A worker's requests for a type, the oldest first: their tries, and how they ended."""
        with self.file.reading(0) as db:
            return [read_request(row) for row in db.execute(REQUESTS, [worker, kind])]

    def ask(self, worker: str, kind: str, now: int, *, max_tries: int = MAX_TRIES) -> QualificationRequest:
        """Ask for a qualification.

        The request is *granted* at once for a type that says so, *started* for a type with a test (show the test,
        then `submit_test`), *pending* when the requester must decide. An open request is given back as it is.
        """
        with self.file.writing(now) as db:
            person, record = find_worker(db, worker), own_type(db, kind)
            if person.blocked or not record.active:
                raise RefusedError("InvalidQualificationTypeState", f"{record.name} cannot be requested now.")
            if (opened := self._open_request(db, person, record, now)) is not None:
                return opened
            self._check_retry(db, person, record, now, max_tries)
            request = new_id()
            status = "granted" if record.auto_granted else "started" if record.test else "pending"
            value = record.auto_granted_value if record.auto_granted else None
            submitted = None if status == "started" else now
            db.execute(
                "INSERT INTO qualification_requests (id, type, worker, status, started, submitted, test, value)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [request, kind, worker, status, now, submitted, record.test, value],
            )
            if status == "granted":
                give(db, kind, worker, value, now)
            return find_request(db, request)

    @staticmethod
    def _open_request(
        db: sqlite3.Connection, worker: Worker, kind: QualificationType, now: int
    ) -> QualificationRequest | None:
        """The worker's open request; a test whose time is over is closed, and counts as a try."""
        row = db.execute(
            "SELECT * FROM qualification_requests WHERE worker = ? AND type = ? AND status IN ('started', 'pending')",
            [worker.id, kind.id],
        ).fetchone()
        if row is None or not is_over(read_request(row), kind, now):
            return None if row is None else read_request(row)
        close_late(db, row["id"])
        return None

    @staticmethod
    def _check_retry(
        db: sqlite3.Connection, worker: Worker, kind: QualificationType, now: int, max_tries: int
    ) -> None:
        tries = [read_request(row) for row in db.execute(REQUESTS, [worker.id, kind.id])]
        granted = db.execute(
            "SELECT 1 FROM qualifications WHERE type = ? AND worker = ? AND status = 'Granted'",
            [kind.id, worker.id],
        ).fetchone()
        if granted and kind.test is None:
            raise RefusedError("QualificationAlreadyExists", f"You already have {kind.name}.")
        if not tries:
            return
        if kind.retry_delay is None or (kind.test is not None and len(tries) >= max_tries):
            raise RefusedError(
                "QualificationTypeDoesNotAllowRetake", f"{kind.name} cannot be requested again."
            )
        wait = (tries[-1].submitted or tries[-1].started) + kind.retry_delay - now
        if wait > 0:
            raise RefusedError(
                "QualificationTypeRetryDelayNotElapsed", f"Try {kind.name} again in {wait} seconds."
            )

    def submit_test(
        self, request: str, worker: str, answers: Mapping[str, str], now: int
    ) -> QualificationRequest:
        """Take a test's answers (question → selection, several joined with ``|``) and score them if there is a key."""
        fields = clean_answers(answers)
        late = False
        with self.file.writing(now) as db:
            record = find_request(db, request)
            if record.worker != worker:
                raise RefusedError(
                    "QualificationRequestDoesNotExist", f"QualificationRequest {request} does not exist."
                )
            if record.status != "started":
                if record.answers == fields:
                    return record
                raise RefusedError("InvalidQualificationRequestState", "The test was handed in before.")
            kind = find_qualification_type(db, record.type)
            late = is_over(record, kind, now)
            if late:
                close_late(db, request)
            else:
                value = None if kind.answer_key is None else score_test(kind.answer_key, fields)
                status = "pending" if value is None else "granted"
                db.execute(
                    "UPDATE qualification_requests SET status = ?, submitted = ?, answers = ?, value = ? WHERE id = ?",
                    [status, now, json.dumps(fields, ensure_ascii=False), value, request],
                )
                if value is not None:
                    give(db, record.type, worker, value, now)
            result = find_request(db, request)
        if late:
            raise RefusedError("InvalidQualificationRequestState", "The time for the test is over.")
        return result

    def waiting(
        self, kind: str | None = None, *, after: int = 0, limit: int = -1
    ) -> list[QualificationRequest]:
        """Requests that wait for the requester."""
        with self.file.reading(0) as db:
            if kind is not None:
                own_type(db, kind)
            rows = db.execute(
                "SELECT * FROM qualification_requests WHERE status = 'pending' AND type = coalesce(?, type)"
                " AND number > ? ORDER BY number LIMIT ?",
                [kind, after, limit],
            )
            return [read_request(row) for row in rows]

    def decide(
        self, request: str, now: int, *, grant: bool, value: int | None = None, reason: str = ""
    ) -> None:
        """Grant a pending request with a value, or reject it with a reason that the worker reads."""
        with self.file.writing(now) as db:
            record = find_request(db, request)
            if record.status != "pending":
                message = f"The QualificationRequest {request} is {record.status}; expected a pending one."
                raise RefusedError("InvalidQualificationRequestState", message)
            name = own_type(db, record.type).name
            db.execute(
                "UPDATE qualification_requests SET status = ?, value = ?, reason = ? WHERE id = ?",
                ["granted" if grant else "rejected", value, reason or None, request],
            )
            if grant:
                give(db, record.type, record.worker, value, now)
                leave_message(db, record.worker, f"You have a new qualification: {name}", "", now)
            else:
                leave_message(db, record.worker, f"Your request for {name} was rejected", reason, now)


def is_over(request: QualificationRequest, kind: QualificationType, now: int) -> bool:
    """Whether a started test has run out of time."""
    if request.status != "started" or kind.test_duration is None:
        return False
    return now > request.started + kind.test_duration + LATE


def close_late(db: sqlite3.Connection, request: str) -> None:
    """Inside a transaction: end a test that was not handed in."""
    db.execute(
        "UPDATE qualification_requests SET status = 'rejected', reason = 'the time was over' WHERE id = ?",
        [request],
    )
