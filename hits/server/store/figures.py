"""The market at one moment, for the dashboard: places of hits, submitted answers, workers, and the money so far."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from hits.server.store.base import MarketFile
from hits.server.store.hits import STATUS
from hits.server.store.people import WORKER_ROWS, read_worker
from hits.server.store.records import AssignmentStatus, Worker, dollars

PLACES = """
    SELECT hits.annotation, types.title, hits.max_assignments AS places, hits.pending, hits.submitted, hits.completed,
        hits.expiration, hits.paused IS NOT NULL AS paused
    FROM hits JOIN hit_types AS types ON types.id = hits.hit_type WHERE hits.disposed IS NULL ORDER BY hits.number
"""
ANSWERS = """
    SELECT assignments.id, assignments.hit, hits.annotation, assignments.worker, assignments.status,
        assignments.accepted, assignments.submitted, answers.fields
    FROM assignments JOIN answers ON answers.assignment = assignments.id JOIN hits ON hits.id = assignments.hit
    ORDER BY assignments.submitted, assignments.number
"""
STATES = """
    SELECT assignments.id, assignments.status, hits.annotation
    FROM assignments JOIN hits ON hits.id = assignments.hit
    WHERE assignments.status IN ('submitted', 'approved', 'rejected')
"""
EARNED = """
    SELECT worker, sum(money) FROM (
        SELECT worker, reward AS money FROM assignments WHERE status IN ('submitted', 'approved')
        UNION ALL SELECT worker, amount FROM bonuses
    ) GROUP BY worker
"""
WAITING_REQUESTS = "SELECT count(*) FROM qualification_requests WHERE status = 'pending'"


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts of hits by status (kept ones and deleted ones) and of assignments by status, and the money so far."""

    hits: dict[str, int]
    assignments: dict[str, int]
    workers: int
    rewards_approved: Decimal
    rewards_waiting: Decimal
    bonuses: Decimal


@dataclass(frozen=True, slots=True)
class HitPlaces:
    """A hit's places, and which of them are being worked on, submitted and reviewed."""

    annotation: str
    title: str
    places: int
    pending: int
    submitted: int
    completed: int
    expiration: int
    paused: int = 0


@dataclass(frozen=True, slots=True)
class SubmittedAnswers:
    """The answers (form field → value) of one submitted assignment."""

    assignment: str
    hit: str
    annotation: str
    worker: str
    status: AssignmentStatus
    accepted: int
    submitted: int
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The market at one moment; ``earned`` is what each worker got or may get."""

    overview: Overview
    hits: list[HitPlaces]
    answers: list[SubmittedAnswers]
    workers: list[Worker]
    earned: dict[str, Decimal]
    waiting_requests: int


@dataclass(frozen=True, slots=True)
class FigureStore:
    """Reads all that the dashboard's first page shows."""

    file: MarketFile

    def snapshot(self, now: int) -> Snapshot:
        """All of one moment, in one transaction."""
        with self.file.reading(now) as db:
            return Snapshot(
                read_overview(db, now),
                [HitPlaces(row["annotation"] or "", *tuple(row)[1:]) for row in db.execute(PLACES)],
                [read_answers(row) for row in db.execute(ANSWERS)],
                [read_worker(row) for row in db.execute(f"{WORKER_ROWS} ORDER BY workers.number")],
                {worker: dollars(money) for worker, money in db.execute(EARNED)},
                db.execute(WAITING_REQUESTS).fetchone()[0],
            )

    def overview(self, now: int) -> Overview:
        """The counts and the money alone."""
        with self.file.reading(now) as db:
            return read_overview(db, now)

    def states(self, now: int) -> list[tuple[str, AssignmentStatus, str]]:
        """All submitted assignments: their id, their status, and the annotation of their hit."""
        with self.file.reading(now) as db:
            return [(row[0], AssignmentStatus(row[1]), row[2] or "") for row in db.execute(STATES)]


def read_answers(row: sqlite3.Row) -> SubmittedAnswers:
    """A row of `ANSWERS`."""
    return SubmittedAnswers(
        row["id"],
        row["hit"],
        row["annotation"] or "",
        row["worker"],
        AssignmentStatus(row["status"]),
        row["accepted"],
        row["submitted"],
        json.loads(row["fields"]),
    )


def read_overview(db: sqlite3.Connection, now: int) -> Overview:
    """Counts and money of the whole market."""
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
