"""Hit types and hits: making them, finding them, and the steps of a hit's life that a requester takes.

A hit's status is not stored but follows from its counts, its expiration and the time:

- Assignable: it has not expired and has a free place;
- Unassignable: all places are taken or it expired, and somebody still works on it;
- Reviewable: nobody works on it and nobody will; Reviewing: the requester has marked it so;
- Disposed: deleted. Unlike Mechanical Turk, which deletes after 120 days, the local market keeps hits until told.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from hits.server.store.base import MarketFile
from hits.server.store.people import new_id
from hits.server.store.policies import Policy, keep_policies
from hits.server.store.records import (
    Hit,
    HitProperties,
    HitStatus,
    HitType,
    RefusedError,
    Requirement,
    cents,
    dollars,
)

TOKEN_LIFE = 86400
FEE_STEP = 10  # from this many assignments on a hit costs more, so a smaller hit cannot grow to it
FREE = "hits.max_assignments - hits.pending - hits.submitted - hits.completed"  # as the index of open hits has it
STATUS = f"""
    CASE
        WHEN hits.disposed IS NOT NULL THEN 'Disposed'
        WHEN hits.expiration > :now AND {FREE} > 0 THEN 'Assignable'
        WHEN hits.pending > 0 THEN 'Unassignable'
        WHEN hits.reviewing THEN 'Reviewing'
        ELSE 'Reviewable'
    END
"""
HIT_ROWS = f"""
    SELECT hits.*, {STATUS} AS status, types.number AS type_number, types.title, types.description, types.keywords,
        types.reward, types.duration, types.auto_approval, types.requirements, types.created AS type_created
    FROM hits JOIN hit_types AS types ON types.id = hits.hit_type
"""


@dataclass(frozen=True, slots=True)
class NewHit:
    """What a requester says of one hit, beside its type."""

    question: str
    lifetime: int
    max_assignments: int = 1
    annotation: str | None = None
    token: str | None = None
    policies: Mapping[str, Policy] = field(default_factory=dict)


def read_properties(row: sqlite3.Row) -> HitProperties:
    """The properties in a row of hit types or of `HIT_ROWS`."""
    rules = tuple(Requirement.from_json(rule) for rule in json.loads(row["requirements"]))
    return HitProperties(
        row["title"],
        row["description"],
        dollars(row["reward"]),
        row["duration"],
        row["keywords"],
        row["auto_approval"],
        rules,
    )


def read_hit(row: sqlite3.Row) -> Hit:
    """A row of `HIT_ROWS`."""
    kind = HitType(row["hit_type"], read_properties(row), row["type_created"])
    return Hit(
        row["number"],
        row["id"],
        kind,
        row["question"],
        row["annotation"],
        row["max_assignments"],
        row["created"],
        row["expiration"],
        HitStatus(row["status"]),
        row["pending"],
        row["submitted"],
        row["completed"],
    )


def find_hit(db: sqlite3.Connection, hit: str, now: int) -> Hit:
    """The hit with this id, deleted or not."""
    row = db.execute(f"{HIT_ROWS} WHERE hits.id = :hit", {"hit": hit, "now": now}).fetchone()
    if row is None:
        raise RefusedError("HITDoesNotExist", f"Hit {hit} does not exist.")
    return read_hit(row)


def find_type(db: sqlite3.Connection, hit_type: str) -> HitType:
    """The living hit type with this id."""
    row = db.execute("SELECT * FROM hit_types WHERE id = ? AND deleted IS NULL", [hit_type]).fetchone()
    if row is None:
        raise RefusedError("HITTypeDoesNotExist", f"HITType {hit_type} does not exist.")
    return HitType(row["id"], read_properties(row), row["created"])


def use_token(db: sqlite3.Connection, operation: str, token: str | None, made: str, now: int) -> str | None:
    """Inside a transaction: note a request token; what it made before, when it was used in the last 24 hours."""
    if token is None:
        return None
    row = db.execute(
        "SELECT made FROM request_tokens WHERE operation = ? AND token = ? AND created > ?",
        [operation, token, now - TOKEN_LIFE],
    ).fetchone()
    if row is not None:
        return str(row[0])
    db.execute("INSERT OR REPLACE INTO request_tokens VALUES (?, ?, ?, ?)", [operation, token, now, made])
    return None


def token_used(request: str) -> RefusedError:
    """The error for a token of an earlier request that changed a hit or paid a bonus."""
    return RefusedError("DuplicateRequest", f"This UniqueRequestToken was used in request {request}.")


@dataclass(frozen=True, slots=True)
class HitStore:
    """Hit types and hits, as a requester makes and changes them."""

    file: MarketFile

    def find_type(self, hit_type: str, now: int) -> HitType:
        """The living hit type with this id."""
        with self.file.reading(now) as db:
            return find_type(db, hit_type)

    def create_type(self, properties: HitProperties, now: int) -> HitType:
        """A type with these properties: the one that is there, or a new one."""
        with self.file.writing(now) as db:
            return self._type_of(db, properties, now)

    @staticmethod
    def _type_of(db: sqlite3.Connection, properties: HitProperties, now: int) -> HitType:
        key, p = properties.key(), properties
        row = db.execute("SELECT id FROM hit_types WHERE key = ? AND deleted IS NULL", [key]).fetchone()
        if row is not None:
            return find_type(db, row[0])
        kind = HitType(new_id(), properties, now)
        rules, terms = json.dumps([rule.as_json() for rule in p.requirements]), (p.duration, p.auto_approval)
        db.execute(
            "INSERT INTO hit_types (id, key, title, description, keywords, reward, duration, auto_approval,"
            " requirements, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [kind.id, key, p.title, p.description, p.keywords, cents(p.reward), *terms, rules, now],
        )
        return kind

    def create(self, kind: HitProperties | str, new: NewHit, now: int) -> Hit:
        """A new hit of a type given by its id or by its properties; a request token makes one hit a day."""
        hit = new_id()
        with self.file.writing(now) as db:
            made = use_token(db, "hit", new.token, hit, now)
            if made is not None:
                raise RefusedError(
                    "HitAlreadyExists", f"The HIT {made} was already made with this UniqueRequestToken."
                )
            hit_type = find_type(db, kind) if isinstance(kind, str) else self._type_of(db, kind, now)
            db.execute(
                "INSERT INTO hits (id, hit_type, annotation, max_assignments, created, expiration, question)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    hit,
                    hit_type.id,
                    new.annotation,
                    new.max_assignments,
                    now,
                    now + new.lifetime,
                    new.question,
                ],
            )
            keep_policies(db, hit, new.policies)
            return find_hit(db, hit, now)

    def find(self, hit: str, now: int) -> Hit:
        """The hit with this id, deleted or not."""
        with self.file.reading(now) as db:
            return find_hit(db, hit, now)

    def all(
        self,
        now: int,
        *,
        status: HitStatus | None = None,
        hit_type: str | None = None,
        qualification: str | None = None,
        after: int = 0,
        limit: int = -1,
    ) -> list[Hit]:
        """Hits that are not deleted, in the order in which they were created, from number ``after`` on."""
        where = ["hits.disposed IS NULL", "hits.number > :after"]
        values: dict[str, str | int] = {"now": now, "after": after, "limit": limit}
        if status is not None:
            where.append(f"({STATUS}) = :status")
            values["status"] = status
        if hit_type is not None:
            where.append("hits.hit_type = :type")
            values["type"] = hit_type
        if qualification is not None:  # the first place of a requirement is its qualification
            rule = "SELECT json_extract(rule.value, '$[0]') FROM json_each(types.requirements) AS rule"
            where.append(f":qualification IN ({rule})")
            values["qualification"] = qualification
        with self.file.reading(now) as db:
            sql = f"{HIT_ROWS} WHERE {' AND '.join(where)} ORDER BY hits.number LIMIT :limit"
            return [read_hit(row) for row in db.execute(sql, values)]

    def count_items(self) -> dict[str, int]:
        """How many hits of each batch of ours were made, deleted ones too, by the batch's id."""
        with self.file.reading(0) as db:
            rows = db.execute(
                "SELECT DISTINCT annotation FROM hits WHERE annotation LIKE 'rypt:%'"
            ).fetchall()
        return dict(Counter(batch for (annotation,) in rows for _, batch, _ in [annotation.split(":", 2)]))

    def add_assignments(
        self, hit: str, more: int, now: int, *, token: str | None = None, request: str = ""
    ) -> None:
        """Let more workers do a hit; from fewer than ten it never grows to ten, which would cost more."""
        with self.file.writing(now) as db:
            record = self._kept(db, hit, now)
            total = record.max_assignments + more
            if record.max_assignments < FEE_STEP <= total:
                message = (
                    f"a hit created with fewer than {FEE_STEP} assignments cannot be extended to {total}"
                )
                raise RefusedError("InvalidMaximumAssignmentsIncrease", message)
            if (earlier := use_token(db, "extend", token, request, now)) is not None:
                raise token_used(earlier)
            db.execute("UPDATE hits SET max_assignments = ?, reviewing = 0 WHERE id = ?", [total, hit])

    def set_expiration(self, hit: str, expiration: int, now: int) -> None:
        """Move the end of a hit's life; a time in the past ends it at once. Accepted assignments keep their time."""
        with self.file.writing(now) as db:
            self._kept(db, hit, now)
            db.execute(
                "UPDATE hits SET expiration = :at, paused = NULL, reviewing = reviewing AND :at <= :now"
                " WHERE id = :hit",
                {"at": expiration, "now": now, "hit": hit},
            )

    def pause(self, batch: str, now: int) -> int:
        """Let nobody begin hits of a batch until it goes on; the number of hits. What is under way keeps its time."""
        with self.file.writing(now) as db:
            return db.execute(
                "UPDATE hits SET paused = expiration - :now, expiration = :now WHERE disposed IS NULL"
                " AND paused IS NULL AND expiration > :now AND annotation GLOB :ours",
                {"now": now, "ours": f"rypt:{batch}:*"},
            ).rowcount

    def go_on(self, batch: str, now: int) -> int:
        """Open the hits of a paused batch for as long as they were open when it was paused; the number of hits."""
        with self.file.writing(now) as db:
            return db.execute(
                "UPDATE hits SET expiration = :now + paused, paused = NULL WHERE disposed IS NULL"
                " AND paused IS NOT NULL AND annotation GLOB :ours",
                {"now": now, "ours": f"rypt:{batch}:*"},
            ).rowcount

    def set_type(self, hit: str, hit_type: str, now: int) -> None:
        """Give a hit the properties of another type; assignments under way keep the deadline they were given."""
        with self.file.writing(now) as db:
            self._kept(db, hit, now)
            db.execute("UPDATE hits SET hit_type = ? WHERE id = ?", [find_type(db, hit_type).id, hit])

    def set_reviewing(self, hit: str, reviewing: bool, now: int) -> None:
        """Reviewable → Reviewing, or back."""
        expected = HitStatus.REVIEWABLE if reviewing else HitStatus.REVIEWING
        with self.file.writing(now) as db:
            record = find_hit(db, hit, now)
            if record.status is not expected:
                raise wrong_state(record, expected)
            db.execute("UPDATE hits SET reviewing = ? WHERE id = ?", [reviewing, hit])

    def delete(self, hit: str, now: int) -> None:
        """Dispose of a reviewable hit all of whose submitted assignments were approved or rejected."""
        with self.file.writing(now) as db:
            record = find_hit(db, hit, now)
            if record.status is not HitStatus.REVIEWABLE:
                raise wrong_state(record, HitStatus.REVIEWABLE)
            if record.submitted:
                message = (
                    f"This HIT {hit} has {record.submitted} submitted assignments to approve or reject first."
                )
                raise RefusedError("InvalidHITState", message)
            db.execute("UPDATE hits SET disposed = ? WHERE id = ?", [now, hit])

    @staticmethod
    def _kept(db: sqlite3.Connection, hit: str, now: int) -> Hit:
        record = find_hit(db, hit, now)
        if record.status is HitStatus.DISPOSED:
            raise RefusedError("InvalidHITState", f"This HIT {hit} is deleted (Disposed).")
        return record


def wrong_state(hit: Hit, expected: HitStatus) -> RefusedError:
    """The error for a step that a hit in its state cannot take."""
    message = (
        f"This HIT {hit.id} is currently in the state '{hit.status}'; this operation needs '{expected}'."
    )
    return RefusedError("InvalidHITState", message)
