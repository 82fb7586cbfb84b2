"""The market at one moment, for the dashboard: places of hits, submitted answers, workers, and the money so far."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from hits.server.store.base import MarketFile
from hits.server.store.hits import STATUS
from hits.server.store.people import WORKER_ROWS
from hits.server.store.records import Record, Worker, dollars

HITS = f"""
    SELECT hits.batch, types.Title, hits.MaxAssignments, hits.NumberOfAssignmentsPending, hits.submitted,
        hits.NumberOfAssignmentsCompleted, hits.NumberOfAssignmentsAvailable, hits.Expiration, hits.paused,
        {STATUS} AS HITStatus
    FROM hits JOIN hit_types AS types USING (HITTypeId) WHERE hits.disposed IS NULL ORDER BY hits.number
"""
ANSWERS = """
    SELECT a.AssignmentId, a.HITId, hits.RequesterAnnotation, a.WorkerId, a.AssignmentStatus, a.AcceptTime,
        a.SubmitTime, answers.fields
    FROM assignments AS a JOIN answers USING (AssignmentId) JOIN hits USING (HITId)
    WHERE :batch IS NULL OR hits.batch = :batch
    ORDER BY a.SubmitTime, a.number
"""
STATES = """
    SELECT a.AssignmentId, a.AssignmentStatus, hits.batch FROM assignments AS a JOIN hits USING (HITId)
    WHERE a.AssignmentStatus IN ('Submitted', 'Approved', 'Rejected')
"""
MONEY = """
    SELECT WorkerId, AssignmentStatus, sum(reward) FROM assignments
    WHERE AssignmentStatus IN ('Submitted', 'Approved') GROUP BY 1, 2
    UNION ALL SELECT WorkerId, 'bonus', sum(amount) FROM bonuses GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The market at one moment; ``money`` is what each worker has Approved, Submitted (waiting), or as bonus."""

    hits: list[Record]
    answers: list[Record]
    workers: list[Worker]
    money: Mapping[tuple[str, str], Decimal]

    def total(self, of: str) -> Decimal:
        return sum((amount for (_, kind), amount in self.money.items() if kind == of), Decimal("0.00"))

    def earned(self, worker: str) -> Decimal:
        """What a worker got or may get."""
        return sum((amount for (who, _), amount in self.money.items() if who == worker), Decimal("0.00"))


@dataclass(frozen=True, slots=True)
class FigureStore:
    """Reads across the whole market."""

    file: MarketFile

    def snapshot(self, now: int) -> Snapshot:
        """All of one moment, in one transaction."""
        with self.file.reading(now) as db:
            return Snapshot(
                [dict(row) for row in db.execute(HITS, {"now": now})],
                _answers(db, None),
                [Worker(*row) for row in db.execute(f"{WORKER_ROWS} ORDER BY number")],
                {(worker, kind): dollars(money) for worker, kind, money in db.execute(MONEY)},
            )

    def answers(self, now: int, batch: str) -> list[Record]:
        """The submitted assignments of a batch, in the order in which they were submitted."""
        with self.file.reading(now) as db:
            return _answers(db, batch)

    def count_open(self, now: int) -> int:
        """How many hits can be taken now."""
        with self.file.reading(now) as db:
            sql = f"SELECT count(*) FROM hits WHERE {STATUS} = 'Assignable'"
            return int(db.execute(sql, {"now": now}).fetchone()[0])

    def states(self, now: int) -> list[tuple[str, str, str]]:
        """All submitted assignments: their id, their status, and the batch of their hit."""
        with self.file.reading(now) as db:
            return [tuple(row) for row in db.execute(STATES)]


def _answers(db: sqlite3.Connection, batch: str | None) -> list[Record]:
    rows = db.execute(ANSWERS, {"batch": batch})
    return [dict(row) | {"fields": json.loads(row["fields"])} for row in rows]
