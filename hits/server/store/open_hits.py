"""Which hits are open to a worker, by type: what the list of hits shows and where the next hit comes from."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from hits.server.store.base import MarketFile
from hits.server.store.hits import FREE, read_properties
from hits.server.store.people import find_worker
from hits.server.store.records import RefusedError, Requirement, dollars
from hits.server.store.requirements import SYSTEM_TYPES, unmet
from hits.server.store.work import WorkStore
from hits.simulated import SIMULATED_ID

TRIES = 20  # how many hits that others take at the same moment are tried before the worker is asked
MINE = """
    SELECT 1 FROM assignments AS a
    WHERE a.worker = :worker AND a.hit = hits.id AND a.status NOT IN ('returned', 'abandoned')
"""
OPEN = f"hits.disposed IS NULL AND {FREE} > 0 AND hits.expiration > :now AND NOT EXISTS ({MINE})"
UNTOUCHED = "AND NOT EXISTS (SELECT 1 FROM assignments AS a WHERE a.worker = :worker AND a.hit = hits.id)"
BATCH = """
    CASE WHEN hits.annotation LIKE 'rypt:%:%'
    THEN substr(hits.annotation, 6, instr(substr(hits.annotation, 6), ':') - 1) ELSE '' END
"""
COUNTS = f"""
    SELECT types.*, open.count, open.batch, (SELECT annotation FROM hits WHERE number = open.first) AS annotation
    FROM hit_types AS types
    JOIN (
        SELECT hit_type, {BATCH} AS batch, count(*) AS count, min(number) AS first FROM hits WHERE {OPEN} GROUP BY 1, 2
    ) AS open
    ON open.hit_type = types.id ORDER BY open.first
"""
TIMES = f"""
    SELECT {BATCH} AS batch, avg(a.submitted - a.accepted) FROM assignments AS a JOIN hits ON hits.id = a.hit
    WHERE a.submitted IS NOT NULL AND a.worker NOT LIKE '{SIMULATED_ID}%' GROUP BY 1
"""
HELD = "SELECT id FROM assignments WHERE worker = ? AND status = 'accepted' ORDER BY number LIMIT 1"


@dataclass(frozen=True, slots=True)
class NamedRequirement:
    """A requirement and the name of its qualification."""

    rule: Requirement
    name: str


@dataclass(frozen=True, slots=True)
class OpenGroup:
    """Hits of one type and batch with free places; ``batch`` is empty for hits of other programs.

    ``annotation`` is that of the first, ``needs`` what they ask of workers.
    """

    hit_type: str
    batch: str
    annotation: str | None
    title: str
    description: str
    reward: Decimal
    duration: int
    count: int
    needs: tuple[NamedRequirement, ...]


@dataclass(frozen=True, slots=True)
class OpenHitStore:
    """Hits with free places, as one worker sees them."""

    file: MarketFile

    def groups(self, worker: str, now: int) -> list[OpenGroup]:
        """The types with hits that the worker may accept now, the oldest first."""
        with self.file.reading(now) as db:
            return [read_group(db, row, rules_of(row)) for row in acceptable_types(db, worker, now)]

    def closed(self, worker: str, now: int) -> list[OpenGroup]:
        """Types with free hits that the worker lacks something for that no test gives: a country, an approval rate.

        ``needs`` is only what is lacking.
        """
        with self.file.reading(now) as db:
            person = find_worker(db, worker)
            groups = []
            for row in open_types(db, worker, now):
                rules = tuple(
                    rule for rule in unmet(db, person, rules_of(row)) if rule.qualification in SYSTEM_TYPES
                )
                if rules:
                    groups.append(read_group(db, row, rules))
            return groups

    def mean_seconds(self, now: int) -> dict[str, float]:
        """How long people took for a hit of each batch, on average; only of batches of which some were sent."""
        with self.file.reading(now) as db:
            return {str(batch): float(seconds) for batch, seconds in db.execute(TIMES) if batch}

    def accept_next(self, worker: str, hit_type: str, now: int, batch: str = "") -> str | None:
        """Accept the next hit; the assignment, or None if none is left.

        One of this type and batch comes before others of the batch, and these before all others; both may be empty.

        What the worker already holds comes first: nobody loses a hit by going back.
        """
        for _ in range(TRIES):
            with self.file.reading(now) as db:
                held = db.execute(HELD, [worker]).fetchone()
                if held is not None:
                    return str(held["id"])
                hit = _next_hit(db, worker, hit_type, batch, now)
            if hit is None:
                return None
            try:
                return WorkStore(self.file).accept(worker, hit, now).id
            except RefusedError as error:
                if not error.code.endswith("InvalidHITState"):
                    raise
        return None


def rules_of(row: sqlite3.Row) -> tuple[Requirement, ...]:
    """What a row of hit types asks of workers."""
    return read_properties(row).requirements


def read_group(db: sqlite3.Connection, row: sqlite3.Row, rules: tuple[Requirement, ...]) -> OpenGroup:
    """A row of `COUNTS`."""
    needs = tuple(NamedRequirement(rule, _qualification_name(db, rule.qualification)) for rule in rules)
    words = (row["annotation"], row["title"], row["description"])
    return OpenGroup(
        row["id"], row["batch"], *words, dollars(row["reward"]), row["duration"], row["count"], needs
    )


def _qualification_name(db: sqlite3.Connection, qualification: str) -> str:
    """The name of a qualification type, deleted or not; its id if there is none."""
    if qualification in SYSTEM_TYPES:
        return SYSTEM_TYPES[qualification].name
    row = db.execute("SELECT name FROM qualification_types WHERE id = ?", [qualification]).fetchone()
    return str(row["name"]) if row else qualification


def open_types(db: sqlite3.Connection, worker: str, now: int) -> list[sqlite3.Row]:
    """Types with free hits that the worker has not done, and how many; what they ask of workers is not looked at."""
    if find_worker(db, worker).blocked is not None:
        return []
    return db.execute(COUNTS, {"worker": worker, "now": now}).fetchall()


def acceptable_types(db: sqlite3.Connection, worker: str, now: int) -> list[sqlite3.Row]:
    """Types with hits that the worker may accept, and how many."""
    person = find_worker(db, worker)
    return [row for row in open_types(db, worker, now) if not unmet(db, person, rules_of(row))]


def _next_hit(db: sqlite3.Connection, worker: str, hit_type: str, batch: str, now: int) -> str | None:
    """The oldest open hit of the batch, of the type or of another; one that the worker gave back comes last."""
    if batch:
        mine = [str(row["id"]) for row in acceptable_types(db, worker, now) if row["batch"] == batch]
        same = [kind for kind in mine if kind == hit_type]
        for types, wish in ((same, UNTOUCHED), (mine, UNTOUCHED), (mine, "")):
            if (hit := _oldest_of_batch(db, worker, types, batch, wish, now)) is not None:
                return hit
    person = find_worker(db, worker)
    row = db.execute("SELECT * FROM hit_types WHERE id = ?", [hit_type]).fetchone()
    if row is not None and person.blocked is None and not unmet(db, person, rules_of(row)):
        hit = _oldest(db, worker, hit_type, UNTOUCHED, now)
        if hit is not None:
            return hit
    types = list(dict.fromkeys(str(row["id"]) for row in acceptable_types(db, worker, now)))
    hits = (_oldest(db, worker, kind, wish, now) for wish in (UNTOUCHED, "") for kind in types)
    return next((hit for hit in hits if hit is not None), None)


def _oldest_of_batch(
    db: sqlite3.Connection, worker: str, types: Sequence[str], batch: str, wish: str, now: int
) -> str | None:
    sql = f"""
        SELECT hits.id FROM hits WHERE {OPEN} AND hits.hit_type IN (SELECT value FROM json_each(:types))
            AND {BATCH} = :batch {wish} ORDER BY hits.number LIMIT 1
    """
    values = {"worker": worker, "now": now, "types": json.dumps(types), "batch": batch}
    row = db.execute(sql, values).fetchone()
    return None if row is None else str(row["id"])


def _oldest(db: sqlite3.Connection, worker: str, hit_type: str, wish: str, now: int) -> str | None:
    sql = (
        f"SELECT hits.id FROM hits WHERE {OPEN} AND hits.hit_type = :type {wish} ORDER BY hits.number LIMIT 1"
    )
    row = db.execute(sql, {"worker": worker, "now": now, "type": hit_type}).fetchone()
    return None if row is None else str(row["id"])
