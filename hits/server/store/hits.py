"""Hit types and hits: making them, finding them, and the steps of a hit's life that a requester takes.

A hit's status is not stored but follows from its counts, its expiration and the time:

- Assignable: it has not expired and has a free place;
- Unassignable: all places are taken or it expired, and somebody still works on it;
- Reviewable: nobody works on it and nobody will;
- Disposed: deleted, by the requester alone.
"""

import json
import sqlite3
from decimal import Decimal

from hits.records import parse_annotation
from hits.server.store.base import Part
from hits.server.store.records import DAY, Record, RefusedError, Request, insert, new_id

TYPE_COLUMNS = {  # and what a request that leaves one out means
    "Title": None,
    "Description": None,
    "Keywords": "",
    "Reward": None,
    "AssignmentDurationInSeconds": None,
    "AutoApprovalDelayInSeconds": 30 * DAY,
    "QualificationRequirements": (),
}
STATUS = """
    CASE
        WHEN hits.disposed IS NOT NULL THEN 'Disposed'
        WHEN hits.Expiration > :now AND hits.NumberOfAssignmentsAvailable > 0 THEN 'Assignable'
        WHEN hits.NumberOfAssignmentsPending > 0 THEN 'Unassignable'
        ELSE 'Reviewable'
    END
"""
HIT_ROWS = f"""
    SELECT hits.*, {STATUS} AS HITStatus, {", ".join(f"types.{name}" for name in TYPE_COLUMNS)},
        hits.HITTypeId AS HITGroupId, 'NotReviewed' AS HITReviewStatus
    FROM hits JOIN hit_types AS types ON types.HITTypeId = hits.HITTypeId
"""


def read_hit(row: sqlite3.Row) -> Record:
    return dict(row) | {"QualificationRequirements": json.loads(row["QualificationRequirements"])}


def find_hit(db: sqlite3.Connection, hit: str, now: int) -> Record:
    row = db.execute(f"{HIT_ROWS} WHERE hits.HITId = :hit", {"hit": hit, "now": now}).fetchone()
    if row is None:
        raise RefusedError("HITDoesNotExist", f"Hit {hit} does not exist.")
    return read_hit(row)


def use_token(db: sqlite3.Connection, operation: str, token: str | None, made: str, now: int) -> str | None:
    """Record a UniqueRequestToken; returns what it made before if it was used in the last 24 hours."""
    if token is None:
        return None
    sql = "SELECT made FROM request_tokens WHERE operation = ? AND token = ? AND created > ?"
    row = db.execute(sql, [operation, token, now - DAY]).fetchone()
    if row is not None:
        return str(row[0])
    db.execute("INSERT OR REPLACE INTO request_tokens VALUES (?, ?, ?, ?)", [operation, token, now, made])
    return None


class HitStore(Part):
    def create_type(self, request: Request, now: int) -> str:
        """The id of the type with the properties in a request: an equal one, or a new one."""
        with self.file.writing(now) as db:
            return self._type(db, request)

    @staticmethod
    def _type(db: sqlite3.Connection, request: Request) -> str:
        values = {name: request.get(name, default) for name, default in TYPE_COLUMNS.items()}
        values["Reward"] = f"{Decimal(values['Reward']):.2f}"
        rules = sorted(json.dumps(rule, sort_keys=True) for rule in values["QualificationRequirements"])
        values["QualificationRequirements"] = f"[{', '.join(rules)}]"
        same = " AND ".join(f"{name} = :{name}" for name in TYPE_COLUMNS)
        row = db.execute(f"SELECT HITTypeId FROM hit_types WHERE {same}", values).fetchone()
        if row is not None:
            return str(row[0])
        hit_type = new_id()
        insert(db, "hit_types", {"HITTypeId": hit_type, **values})
        return hit_type

    def create(self, request: Request, now: int) -> Record:
        """A new hit, of an existing type or with the properties of one; a request token makes one hit a day."""
        hit, annotation = new_id(), request.get("RequesterAnnotation")
        with self.file.writing(now) as db:
            existing = use_token(db, "hit", request.get("UniqueRequestToken"), hit, now)
            if existing is not None:
                message = f"The HIT {existing} was already made with this UniqueRequestToken."
                raise RefusedError("HitAlreadyExists", message)
            hit_type = request.get("HITTypeId") or self._type(db, request)
            if not db.execute("SELECT 1 FROM hit_types WHERE HITTypeId = ?", [hit_type]).fetchone():
                raise RefusedError("HITTypeDoesNotExist", f"HITType {hit_type} does not exist.")
            values = {
                "HITId": hit,
                "HITTypeId": hit_type,
                "RequesterAnnotation": annotation,
                "batch": (parse_annotation(annotation or "") or ("",))[0],
                "MaxAssignments": request.get("MaxAssignments", 1),
                "CreationTime": now,
                "Expiration": now + request["LifetimeInSeconds"],
                "Question": request["Question"],
            }
            insert(db, "hits", values)
            return find_hit(db, hit, now)

    def find(self, hit: str, now: int) -> Record:
        with self.file.reading(now) as db:
            return find_hit(db, hit, now)

    def all(
        self,
        now: int,
        *,
        status: str | None = None,
        hit_type: str | None = None,
        after: int = 0,
        limit: int = -1,
    ) -> list[Record]:
        """Hits that are not deleted, in the order in which they were created, from number ``after`` on."""
        sql = f"""
            {HIT_ROWS} WHERE hits.disposed IS NULL AND hits.number > :after
                AND (:status IS NULL OR {STATUS} = :status) AND (:type IS NULL OR hits.HITTypeId = :type)
            ORDER BY hits.number LIMIT :limit
        """
        values = {"now": now, "status": status, "type": hit_type, "after": after, "limit": limit}
        with self.file.reading(now) as db:
            return [read_hit(row) for row in db.execute(sql, values)]

    def progress(self, now: int) -> list[Record]:
        """The batch, title and counts of all hits that are not deleted."""
        columns = "batch, Title, MaxAssignments, NumberOfAssignmentsPending, NumberOfAssignmentsCompleted"
        sql = f"""
            SELECT {columns}, NumberOfAssignmentsAvailable, Expiration, paused, {STATUS} AS HITStatus
            FROM hits JOIN hit_types USING (HITTypeId) WHERE hits.disposed IS NULL ORDER BY hits.number
        """
        return self.file.rows(sql, {"now": now}, now)

    def count_open(self, now: int) -> int:
        sql = f"SELECT count(*) AS count FROM hits WHERE {STATUS} = 'Assignable'"
        return int(self.file.rows(sql, {"now": now}, now)[0]["count"])

    def count_items(self) -> dict[str, int]:
        """How many items of each batch were published, deleted hits too, by the batch's id."""
        sql = """
            SELECT batch, count(DISTINCT RequesterAnnotation) AS count FROM hits WHERE batch <> '' GROUP BY batch
        """
        return {row["batch"]: row["count"] for row in self.file.rows(sql)}

    def add_assignments(self, request: Request, now: int) -> None:
        hit = request["HITId"]
        with self.file.writing(now) as db:
            self._living(db, hit, now)
            if use_token(db, "extend", request.get("UniqueRequestToken"), hit, now) is not None:
                raise RefusedError("DuplicateRequest", f"This UniqueRequestToken has extended {hit} before.")
            sql = "UPDATE hits SET MaxAssignments = MaxAssignments + ? WHERE HITId = ?"
            db.execute(sql, [request["NumberOfAdditionalAssignments"], hit])

    def set_expiration(self, hit: str, expiration: int, now: int) -> None:
        """Move the end of a hit's life; a time in the past ends it at once. Accepted assignments keep their time."""
        with self.file.writing(now) as db:
            self._living(db, hit, now)
            db.execute("UPDATE hits SET Expiration = ?, paused = NULL WHERE HITId = ?", [expiration, hit])

    def pause(self, batch: str, now: int) -> int:
        """Let nobody begin hits of a batch until it is resumed; the number of hits. Accepted ones keep their time."""
        sql = """
            UPDATE hits SET paused = Expiration - :now, Expiration = :now
            WHERE disposed IS NULL AND paused IS NULL AND Expiration > :now AND batch = :batch AND batch <> ''
        """
        return self.file.change(sql, {"now": now, "batch": batch}, now)

    def resume(self, batch: str, now: int) -> int:
        """Open the hits of a paused batch for as long as they were open when it was paused; the number of hits."""
        sql = """
            UPDATE hits SET Expiration = :now + paused, paused = NULL
            WHERE disposed IS NULL AND paused IS NOT NULL AND batch = :batch
        """
        return self.file.change(sql, {"now": now, "batch": batch}, now)

    def delete(self, hit: str, now: int) -> None:
        """Dispose of a reviewable hit all of whose submitted assignments were approved or rejected."""
        with self.file.writing(now) as db:
            record = find_hit(db, hit, now)
            if record["HITStatus"] != "Reviewable":
                state = f"currently in the state '{record['HITStatus']}'; this operation needs 'Reviewable'"
                raise RefusedError("InvalidHITState", f"This HIT {hit} is {state}.")
            if record["submitted"]:
                message = f"This HIT {hit} has {record['submitted']} submitted assignments to review first."
                raise RefusedError("InvalidHITState", message)
            db.execute("UPDATE hits SET disposed = ? WHERE HITId = ?", [now, hit])

    @staticmethod
    def _living(db: sqlite3.Connection, hit: str, now: int) -> None:
        if find_hit(db, hit, now)["HITStatus"] == "Disposed":
            raise RefusedError("InvalidHITState", f"This HIT {hit} is deleted (Disposed).")
