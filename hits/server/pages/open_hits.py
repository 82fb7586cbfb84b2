"""Which hits are open to a worker, by type: what the list of hits shows and where the next hit comes from."""

import sqlite3
from dataclasses import dataclass
from decimal import Decimal

from hits.server.store.hits import find_hit, read_properties
from hits.server.store.people import find_worker
from hits.server.store.records import Assignment, Hit, RefusedError, dollars
from hits.server.store.requirements import unmet
from hits.server.store.store import Store
from hits.server.store.work import OPEN, TOUCHED, find_assignment

TRIES = 20  # how many hits that others take at the same moment are tried before the worker is asked
COUNTS = f"""
    SELECT types.*, open.count, (SELECT annotation FROM hits WHERE number = open.first) AS annotation
    FROM hit_types AS types
    JOIN (
        SELECT hit_type, count(*) AS count, min(number) AS first FROM hits WHERE {OPEN} GROUP BY hit_type
    ) AS open
    ON open.hit_type = types.id ORDER BY open.first
"""
HELD = "SELECT id FROM assignments WHERE worker = ? AND status = 'accepted' ORDER BY number LIMIT 1"
FRESH = f"AND NOT EXISTS ({TOUCHED})"


@dataclass(frozen=True, slots=True)
class Group:
    """Open hits of one type; ``annotation`` is that of the first."""

    hit_type: str
    annotation: str | None
    title: str
    description: str
    reward: Decimal
    duration: int
    count: int


def open_groups(store: Store, worker: str, now: int) -> list[Group]:
    """The types with hits that the worker may accept now, the oldest first."""
    with store.reading(now) as db:
        return [_group(row) for row in _open_types(db, worker, now)]


def _group(row: sqlite3.Row) -> Group:
    words = (row["annotation"], row["title"], row["description"])
    return Group(row["id"], *words, dollars(row["reward"]), row["duration"], row["count"])


def open_types(db: sqlite3.Connection, worker: str, now: int) -> list[sqlite3.Row]:
    """Types with free hits that the worker has not done, and how many; what they ask of workers is not looked at."""
    if find_worker(db, worker).blocked is not None:
        return []
    return db.execute(COUNTS, {"worker": worker, "now": now}).fetchall()


def _open_types(db: sqlite3.Connection, worker: str, now: int) -> list[sqlite3.Row]:
    """Types with hits that the worker may accept, and how many."""
    person = find_worker(db, worker)
    return [row for row in open_types(db, worker, now) if not unmet(db, person, read_properties(row).requirements)]


def own_work(store: Store, worker: str, assignment: str, now: int) -> tuple[Assignment, Hit]:
    """A worker's own assignment and its hit; somebody else's looks as if it were not there."""
    with store.reading(now) as db:
        found = find_assignment(db, assignment)
        if found.worker != worker:
            raise RefusedError("AssignmentDoesNotExist", "this assignment is another worker's")
        return found, find_hit(db, found.hit, now)


def accept_next(store: Store, worker: str, hit_type: str, now: int) -> str | None:
    """Accept the next hit, of this type if there is one (empty: of any); the assignment, or None when none is left.

    What the worker already holds comes first: nobody loses a hit by going back.
    """
    for _ in range(TRIES):
        with store.reading(now) as db:
            held = db.execute(HELD, [worker]).fetchone()
            if held is not None:
                return str(held["id"])
            hit = _next_hit(db, worker, hit_type, now)
        if hit is None:
            return None
        try:
            return store.accept(worker, hit, now).id
        except RefusedError as error:
            if not error.code.endswith("InvalidHITState"):
                raise
    return None


def _next_hit(db: sqlite3.Connection, worker: str, hit_type: str, now: int) -> str | None:
    """The oldest open hit of the type or else of another; one that the worker gave back comes after all others."""
    person = find_worker(db, worker)
    row = db.execute("SELECT * FROM hit_types WHERE id = ?", [hit_type]).fetchone()
    if row is not None and person.blocked is None and not unmet(db, person, read_properties(row).requirements):
        hit = _oldest(db, worker, hit_type, FRESH, now)
        if hit is not None:
            return hit
    types = [str(row["id"]) for row in _open_types(db, worker, now)]
    found = (_oldest(db, worker, kind, wish, now) for wish in (FRESH, "") for kind in types)
    return next((hit for hit in found if hit is not None), None)


def _oldest(db: sqlite3.Connection, worker: str, hit_type: str, wish: str, now: int) -> str | None:
    sql = f"SELECT hits.id FROM hits WHERE {OPEN} AND hits.hit_type = :type {wish} ORDER BY hits.number LIMIT 1"
    row = db.execute(sql, {"worker": worker, "now": now, "type": hit_type}).fetchone()
    return None if row is None else str(row["id"])
