"""Qualification types, and workers' values of them."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from hits.server.store.base import MarketFile
from hits.server.store.people import find_worker, leave_message, new_id
from hits.server.store.records import Locale, Qualification, QualificationType, RefusedError
from hits.server.store.requirements import SYSTEM_TYPES, worker_value

TYPE_COLUMNS = (
    "name",
    "description",
    "keywords",
    "active",
    "retry_delay",
    "test",
    "answer_key",
    "test_duration",
    "auto_granted",
    "auto_granted_value",
)


@dataclass(frozen=True, slots=True)
class NewQualificationType:
    """What a requester says of a qualification type."""

    name: str
    description: str
    keywords: str = ""
    active: bool = True
    retry_delay: int | None = None
    test: str | None = None
    answer_key: str | None = None
    test_duration: int | None = None
    auto_granted: bool = False
    auto_granted_value: int = 1


def read_type(row: sqlite3.Row) -> QualificationType:
    """A row of qualification types."""
    return QualificationType(
        row["number"],
        row["id"],
        row["name"],
        row["description"],
        row["keywords"],
        bool(row["active"]),
        row["created"],
        row["retry_delay"],
        row["test"],
        row["answer_key"],
        row["test_duration"],
        bool(row["auto_granted"]),
        row["auto_granted_value"],
    )


def find_qualification_type(db: sqlite3.Connection, kind: str) -> QualificationType:
    """The system's or the requester's qualification type with this id."""
    if kind in SYSTEM_TYPES:
        return SYSTEM_TYPES[kind]
    row = db.execute("SELECT * FROM qualification_types WHERE id = ? AND deleted IS NULL", [kind]).fetchone()
    if row is None:
        raise RefusedError("QualificationTypeDoesNotExist", f"QualificationType {kind} does not exist.")
    return read_type(row)


def own_type(db: sqlite3.Connection, kind: str) -> QualificationType:
    """A qualification type that the requester made, not one of the system."""
    record = find_qualification_type(db, kind)
    if record.system:
        raise RefusedError(
            "PermissionDeniedException", f"{record.name} is kept by the market and cannot be changed."
        )
    return record


def give(db: sqlite3.Connection, kind: str, worker: str, value: int | None, now: int) -> None:
    """Inside a transaction: the worker has this value from now on."""
    db.execute(
        "INSERT INTO qualifications (type, worker, value, granted) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (type, worker) DO UPDATE SET"
        " value = excluded.value, granted = excluded.granted, status = 'Granted'",
        [kind, worker, value, now],
    )


@dataclass(frozen=True, slots=True)
class QualificationStore:
    """Qualification types, and workers' values of them."""

    file: MarketFile

    def create_type(self, new: NewQualificationType, now: int) -> QualificationType:
        """A new type; its name is unique among those that are not deleted."""
        kind = new_id()
        with self.file.writing(now) as db:
            row = db.execute(
                "SELECT id FROM qualification_types WHERE name = ? AND deleted IS NULL", [new.name]
            ).fetchone()
            if row is not None:
                message = f"You have already created a QualificationType with this name: {row[0]}."
                raise RefusedError("QualificationTypeAlreadyExists", message)
            db.execute(
                f"INSERT INTO qualification_types (id, created, {', '.join(TYPE_COLUMNS)})"
                f" VALUES (?, ?, {', '.join('?' * len(TYPE_COLUMNS))})",
                [kind, now, *(getattr(new, column) for column in TYPE_COLUMNS)],
            )
            return find_qualification_type(db, kind)

    def update_type(
        self, kind: str, changes: Mapping[str, str | int | bool | None], now: int
    ) -> QualificationType:
        """Change columns of a type; a type with a test never becomes one that is granted without it."""
        with self.file.writing(now) as db:
            old = own_type(db, kind)
            if changes.get("auto_granted") and (old.test or changes.get("test")):
                message = "a QualificationType with a Test cannot be AutoGranted"
                raise RefusedError("AWS.ParameterValidationFailed", message)
            if unknown := set(changes) - set(TYPE_COLUMNS):
                raise ValueError(f"no columns {unknown}")
            sets = ", ".join(f"{column} = ?" for column in changes)
            if sets:
                db.execute(f"UPDATE qualification_types SET {sets} WHERE id = ?", [*changes.values(), kind])
            return find_qualification_type(db, kind)

    def delete_type(self, kind: str, now: int) -> None:
        """Delete a type and the hit types that need it; values given before stay, hits under way go on."""
        with self.file.writing(now) as db:
            own_type(db, kind)
            db.execute("UPDATE qualification_types SET deleted = ? WHERE id = ?", [now, kind])
            db.execute(
                "UPDATE qualification_requests SET status = 'rejected', reason = 'the qualification was deleted'"
                " WHERE type = ? AND status IN ('started', 'pending')",
                [kind],
            )
            db.execute(
                "UPDATE hit_types SET deleted = ? WHERE deleted IS NULL"
                " AND ? IN (SELECT json_extract(rule.value, '$[0]') FROM json_each(requirements) AS rule)",
                [now, kind],
            )

    def find_type(self, kind: str) -> QualificationType:
        """The type with this id."""
        with self.file.reading(0) as db:
            return find_qualification_type(db, kind)

    def types(self, query: str = "", *, after: int = 0, limit: int = -1) -> list[QualificationType]:
        """The requester's own types whose name, description or keywords contain the query."""
        with self.file.reading(0) as db:
            rows = db.execute(
                "SELECT * FROM qualification_types WHERE deleted IS NULL AND number > ?"
                " AND instr(lower(name || char(10) || description || char(10) || keywords), lower(?))"
                " ORDER BY number LIMIT ?",
                [after, query, limit],
            )
            return [read_type(row) for row in rows]

    def grant(self, kind: str, worker: str, value: int | None, now: int, *, notify: bool = False) -> None:
        """Give a worker a qualification, with a message if wanted."""
        with self.file.writing(now) as db:
            record = own_type(db, kind)
            find_worker(db, worker)
            give(db, kind, worker, value, now)
            if notify:
                leave_message(
                    db, worker, f"You have a new qualification: {record.name}", record.description, now
                )

    def revoke(self, kind: str, worker: str, reason: str | None, now: int) -> None:
        """Take a qualification back; the worker finds the reason among the messages."""
        with self.file.writing(now) as db:
            record = own_type(db, kind)
            find_worker(db, worker)
            changed = db.execute(
                "UPDATE qualifications SET status = 'Revoked' WHERE type = ? AND worker = ? AND status = 'Granted'",
                [kind, worker],
            )
            if not changed.rowcount:
                message = f"The worker {worker} does not have the qualification {kind}."
                raise RefusedError("QualificationDoesNotExist", message)
            if reason:
                leave_message(db, worker, f"Your qualification {record.name} was revoked", reason, now)

    def find(self, kind: str, worker: str, now: int) -> Qualification:
        """A worker's value, of the system's types too."""
        with self.file.reading(now) as db:
            record, person = find_qualification_type(db, kind), find_worker(db, worker)
            if record.system:
                value = worker_value(db, person, kind)
                if value is not None:
                    place = value if isinstance(value, Locale) else None
                    number = None if isinstance(value, Locale) else value
                    return Qualification(0, kind, worker, number, person.created, "Granted", place)
            else:
                row = db.execute(
                    "SELECT * FROM qualifications WHERE type = ? AND worker = ?", [kind, worker]
                ).fetchone()
                if row is not None:
                    return Qualification(*row)
        raise RefusedError(
            "QualificationDoesNotExist", f"The worker {worker} does not have the qualification {kind}."
        )

    def all(
        self, kind: str, *, status: str = "Granted", after: int = 0, limit: int = -1
    ) -> list[Qualification]:
        """All workers' values of a type, granted or revoked."""
        with self.file.reading(0) as db:
            own_type(db, kind)
            rows = db.execute(
                "SELECT * FROM qualifications WHERE type = ? AND status = ? AND number > ? ORDER BY number LIMIT ?",
                [kind, status, after, limit],
            )
            return [Qualification(*row) for row in rows]
