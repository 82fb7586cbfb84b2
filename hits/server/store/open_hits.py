"""Which hits are open to a worker: what the list of hits shows, and where the next hit comes from."""

import json
import sqlite3
from collections.abc import Sequence

from hits.server.store.base import Part
from hits.server.store.people import find_worker
from hits.server.store.qualifications import SYSTEM_TYPES, read_type, unmet
from hits.server.store.records import Record, RefusedError
from hits.server.store.work import WorkStore
from hits.simulated import SIMULATED_ID

TRIES = 20  # how many hits that others take at the same moment are tried before the worker is asked
OPEN = """
    hits.disposed IS NULL AND hits.NumberOfAssignmentsAvailable > 0 AND hits.Expiration > :now AND NOT EXISTS (
        SELECT 1 FROM assignments AS a WHERE a.WorkerId = :worker AND a.HITId = hits.HITId
            AND a.AssignmentStatus NOT IN ('Returned', 'Abandoned')
    )
"""
UNTOUCHED = """
    NOT EXISTS (SELECT 1 FROM assignments AS a WHERE a.WorkerId = :worker AND a.HITId = hits.HITId)
"""
GROUPS = f"""
    SELECT types.*, open.batch, open.count FROM hit_types AS types
    JOIN (
        SELECT HITTypeId, batch, count(*) AS count, min(number) AS first FROM hits WHERE {OPEN} GROUP BY 1, 2
    ) AS open USING (HITTypeId)
    ORDER BY open.first
"""
TIMES = f"""
    SELECT hits.batch, avg(a.SubmitTime - a.AcceptTime) AS seconds FROM assignments AS a JOIN hits USING (HITId)
    WHERE a.SubmitTime IS NOT NULL AND a.WorkerId NOT LIKE '{SIMULATED_ID}%' AND hits.batch <> '' GROUP BY 1
"""


class OpenHitStore(Part):
    def groups(self, worker: str, now: int) -> list[Record]:
        """Types of hits with places for a worker, the oldest first: the members of the type, the batch, the count.

        ``unmet`` are the requirements that the worker does not meet; requirements have the Name of their type.
        """
        with self.file.reading(now) as db:
            return _groups(db, worker, now)

    def askable(self, groups: Sequence[Record]) -> list[Record]:
        """Types for which the worker can ask and which would open some of these groups."""
        kinds = {
            rule["QualificationTypeId"]
            for group in groups
            if not any(_is_final(rule) for rule in group["unmet"])
            for rule in group["unmet"]
        }
        sql = """
            SELECT * FROM qualification_types WHERE QualificationTypeStatus = 'Active'
                AND QualificationTypeId IN (SELECT value FROM json_each(?)) ORDER BY number
        """
        with self.file.reading(0) as db:
            types = [read_type(row) for row in db.execute(sql, [json.dumps(list(kinds))])]
        return [kind for kind in types if kind["IsRequestable"]]

    def mean_seconds(self, now: int) -> dict[str, float]:
        """How long people took for a hit of each batch, on average; only of batches with submitted hits."""
        return {row["batch"]: float(row["seconds"]) for row in self.file.rows(TIMES, now=now)}

    def accept_next(self, worker: str, hit_type: str, now: int, batch: str = "") -> str | None:
        """Accept the next hit; the assignment, or None if none is left.

        One of this type and batch comes before others of the batch, and these before all others; both may be empty.
        What the worker already holds comes first: nobody loses a hit by going back.
        """
        work = WorkStore(self.file)
        for _ in range(TRIES):
            if held := work.held(worker, now):
                return str(held[0]["AssignmentId"])
            with self.file.reading(now) as db:
                hit = _next_hit(db, worker, hit_type, batch, now)
            if hit is None:
                return None
            try:
                return str(work.accept(worker, hit, now)["AssignmentId"])
            except RefusedError as error:
                if not error.code.endswith("InvalidHITState"):
                    raise
        return None


def _is_final(rule: Record) -> bool:
    """Whether asking and tests cannot help a worker who does not meet a requirement."""
    return rule["QualificationTypeId"] in SYSTEM_TYPES or rule["Comparator"] == "DoesNotExist"


def is_closed(group: Record) -> bool:
    """Whether a worker lacks something for a group of hits that no test gives: a country, an approval rate."""
    return any(rule["QualificationTypeId"] in SYSTEM_TYPES for rule in group["unmet"])


def _groups(db: sqlite3.Connection, worker: str, now: int) -> list[Record]:
    person = find_worker(db, worker)
    if person.blocked is not None:
        return []
    groups = []
    for row in db.execute(GROUPS, {"worker": worker, "now": now}).fetchall():
        rules = _named(db, json.loads(row["QualificationRequirements"]))
        groups.append(dict(row) | {"QualificationRequirements": rules, "unmet": unmet(db, person, rules)})
    return groups


def _named(db: sqlite3.Connection, rules: Sequence[Record]) -> list[Record]:
    sql = "SELECT Name FROM qualification_types WHERE QualificationTypeId = ?"
    named = []
    for rule in rules:
        kind = rule["QualificationTypeId"]
        name = SYSTEM_TYPES[kind]["Name"] if kind in SYSTEM_TYPES else db.execute(sql, [kind]).fetchone()[0]
        named.append(rule | {"Name": name})
    return named


def _next_hit(db: sqlite3.Connection, worker: str, hit_type: str, batch: str, now: int) -> str | None:
    """The oldest open hit of type and batch, of the batch, or of any; one that the worker gave back comes last."""
    person = find_worker(db, worker)
    if person.blocked is not None:
        return None
    sql = "SELECT QualificationRequirements FROM hit_types WHERE HITTypeId = ?"
    row = db.execute(sql, [hit_type]).fetchone()
    if row is not None and not unmet(db, person, json.loads(row[0])):
        same_batch = "hits.batch = :batch AND" if batch else ""
        hit = _oldest(db, worker, [hit_type], f"{same_batch} {UNTOUCHED}", batch, now)
        if hit is not None:
            return hit
    types = [group["HITTypeId"] for group in _groups(db, worker, now) if not group["unmet"]]
    wishes = [UNTOUCHED, "TRUE"]
    if batch:
        wishes = [f"hits.batch = :batch AND {UNTOUCHED}", "hits.batch = :batch", *wishes]
    hits = (_oldest(db, worker, types, wish, batch, now) for wish in wishes)
    return next((hit for hit in hits if hit is not None), None)


def _oldest(
    db: sqlite3.Connection, worker: str, types: Sequence[str], wish: str, batch: str, now: int
) -> str | None:
    sql = f"""
        SELECT hits.HITId FROM hits
        WHERE {OPEN} AND hits.HITTypeId IN (SELECT value FROM json_each(:types)) AND {wish}
        ORDER BY hits.number LIMIT 1
    """
    values = {"worker": worker, "now": now, "types": json.dumps(types), "batch": batch}
    row = db.execute(sql, values).fetchone()
    return None if row is None else str(row[0])
