"""Workers and how they come in: invitations, shared links, blocks, messages, training."""

import re
import secrets
import sqlite3
from collections.abc import Collection

from hits.server.store.base import Part
from hits.server.store.records import Invitation, Record, RefusedError, Worker, invalid, new_id, token_hash
from hits.simulated import SIMULATED_ID, SIMULATED_NAME

UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
WORKER_ROWS = "SELECT number, WorkerId, name, source, consented, country, blocked FROM workers"
INVITED, JOINED = "invitation", "link"


def find_worker(db: sqlite3.Connection, worker: str) -> Worker:
    row = db.execute(f"{WORKER_ROWS} WHERE WorkerId = ?", [worker]).fetchone()
    if row is None:
        raise RefusedError("WorkerDoesNotExist", f"WorkerId is invalid: there is no worker {worker}")
    return Worker(*row)


def leave_message(db: sqlite3.Connection, worker: str, subject: str, text: str, now: int) -> None:
    db.execute(
        "INSERT INTO messages (WorkerId, Subject, MessageText, created) VALUES (?, ?, ?, ?)",
        [worker, subject, text, now],
    )


class PeopleStore(Part):
    def invite(self, name: str, now: int, *, country: str | None = None) -> Invitation:
        """A link's token for a person; the same name is the same worker, who then has one more valid token."""
        token = secrets.token_urlsafe(24)
        with self.file.writing(now) as db:
            worker = self._add(db, INVITED, name, now)
            db.execute(
                "UPDATE workers SET country = coalesce(?, country) WHERE WorkerId = ?", [country, worker]
            )
            db.execute("INSERT INTO invitations VALUES (?, ?, ?, NULL)", [token_hash(token), worker, now])
            return Invitation(find_worker(db, worker), token)

    def enrol(self, external_id: str, now: int) -> Worker:
        """The worker whom a recruiting service sent under its own id; the same id is the same worker."""
        with self.file.writing(now) as db:
            return find_worker(db, self._add(db, JOINED, external_id, now))

    @staticmethod
    def _add(db: sqlite3.Connection, source: str, name: str, now: int) -> str:
        if not name.strip() or len(name) > 200 or UNPRINTABLE.search(name):
            raise invalid(
                "name", f"expected 1 to 200 characters and no control characters, got {name!r:.200}"
            )
        worker = new_id(SIMULATED_ID, 18) if name.startswith(SIMULATED_NAME) else new_id("A", 14)
        db.execute(
            "INSERT OR IGNORE INTO workers (WorkerId, name, source, external_id, created) VALUES (?, ?, ?, ?, ?)",
            [worker, name, source, name, now],
        )
        sql = "SELECT WorkerId FROM workers WHERE source = ? AND external_id = ?"
        return str(db.execute(sql, [source, name]).fetchone()[0])

    def named(self, person: str) -> Worker:
        """The one worker with this id or name."""
        rows = self.file.rows(f"{WORKER_ROWS} WHERE WorkerId = ?1 OR name = ?1", [person])
        if len(rows) == 1:
            return Worker(*rows[0].values())
        reason = (
            f"{len(rows)} workers have the name {person!r}; use the id" if rows else f"no worker {person!r}"
        )
        message = f"expected the name or the id of a worker: {reason[:300]}"
        raise RefusedError("WorkerDoesNotExist", message)

    def revoke(self, worker: str, now: int) -> int:
        """Take back all invitations of a worker, so that links and cookies are void; the number that were valid."""
        sql = "UPDATE invitations SET revoked = ? WHERE WorkerId = ? AND revoked IS NULL"
        return self.file.change(sql, [now, worker], now)

    def by_token(self, token: str) -> Worker | None:
        """The worker of an invitation; None for a token that was never issued or was revoked."""
        with self.file.reading(0) as db:
            sql = "SELECT WorkerId FROM invitations WHERE token_hash = ? AND revoked IS NULL"
            row = db.execute(sql, [token_hash(token)]).fetchone()
            return None if row is None else find_worker(db, row[0])

    def find(self, worker: str) -> Worker:
        with self.file.reading(0) as db:
            return find_worker(db, worker)

    def all(self) -> list[Worker]:
        return [Worker(*row.values()) for row in self.file.rows(f"{WORKER_ROWS} ORDER BY number")]

    def consent(self, worker: str, now: int) -> None:
        """Record that a worker agreed to take part; the first time stays."""
        with self.file.writing(now) as db:
            sql = "UPDATE workers SET consented = coalesce(consented, ?) WHERE WorkerId = ?"
            db.execute(sql, [now, find_worker(db, worker).id])

    def is_trained(self, worker: str, batch: str) -> bool:
        return bool(self.file.rows("SELECT 1 FROM trained WHERE WorkerId = ? AND batch = ?", [worker, batch]))

    def set_trained(self, worker: str, batch: str, now: int) -> None:
        self.file.change("INSERT OR IGNORE INTO trained VALUES (?, ?, ?)", [worker, batch, now], now)

    def block(self, worker: str, reason: str, now: int) -> None:
        """Give a worker no more hits; a second block only changes the reason."""
        with self.file.writing(now) as db:
            sql = "UPDATE workers SET blocked = ? WHERE WorkerId = ?"
            db.execute(sql, [reason, find_worker(db, worker).id])

    def unblock(self, worker: str, now: int) -> None:
        with self.file.writing(now) as db:
            sql = "UPDATE workers SET blocked = NULL WHERE WorkerId = ?"
            db.execute(sql, [find_worker(db, worker).id])

    def blocks(self, *, after: int = 0, limit: int = -1) -> list[Record]:
        sql = """
            SELECT number, WorkerId, blocked AS Reason FROM workers
            WHERE blocked IS NOT NULL AND number > ? ORDER BY number LIMIT ?
        """
        return self.file.rows(sql, [after, limit])

    def notify(self, workers: Collection[str], subject: str, text: str, now: int) -> list[Record]:
        """Leave a message for each worker; returns a failure for each who is not known."""
        failures = []
        with self.file.writing(now) as db:
            for worker in dict.fromkeys(workers):
                try:
                    leave_message(db, find_worker(db, worker).id, subject, text, now)
                except RefusedError as error:
                    failures.append(
                        {
                            "NotifyWorkersFailureCode": "HardFailure",
                            "NotifyWorkersFailureMessage": error.message,
                            "WorkerId": worker,
                        }
                    )
        return failures

    def messages(self, worker: str, limit: int = 20) -> list[Record]:
        """The worker's messages, the newest first."""
        sql = "SELECT * FROM messages WHERE WorkerId = ? ORDER BY number DESC LIMIT ?"
        return self.file.rows(sql, [worker, limit])

    def mark_seen(self, worker: str, now: int) -> None:
        sql = "UPDATE messages SET seen = ? WHERE WorkerId = ? AND seen IS NULL"
        self.file.change(sql, [now, worker], now)
