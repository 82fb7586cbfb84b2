"""Workers and how they come in: invitations, shared links, blocks, messages."""

import hashlib
import hmac
import re
import secrets
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass

from hits.server.store.base import MarketFile
from hits.server.store.records import Invitation, Locale, Message, RefusedError, Worker
from hits.simulated import SIMULATED_ID, SIMULATED_NAME

UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
ID_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
WORKER_ROWS = (
    "SELECT workers.*, blocks.reason AS blocked FROM workers LEFT JOIN blocks ON blocks.worker = workers.id"
)


def new_id(first: str = "3", size: int = 30) -> str:
    """An id as Mechanical Turk writes them: capitals and digits, not to be guessed."""
    return first + "".join(secrets.choice(ID_LETTERS) for _ in range(size - len(first)))


def token_hash(token: str) -> str:
    """What is kept of a token: nobody who reads the file can come in with it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def read_worker(row: sqlite3.Row) -> Worker:
    """A row of `WORKER_ROWS`."""
    locale = Locale(row["country"], row["subdivision"]) if row["country"] else None
    return Worker(
        row["number"],
        row["id"],
        row["name"],
        row["source"],
        row["external_id"],
        row["created"],
        row["consented"],
        locale,
        bool(row["adult"]),
        row["approved_before"],
        row["rejected_before"],
        row["blocked"],
    )


def find_worker(db: sqlite3.Connection, worker: str) -> Worker:
    """The worker with this id."""
    row = db.execute(f"{WORKER_ROWS} WHERE workers.id = ?", [worker]).fetchone()
    if row is None:
        raise RefusedError("WorkerDoesNotExist", f"WorkerId is invalid: there is no worker {worker}")
    return read_worker(row)


@dataclass(frozen=True, slots=True)
class PeopleStore:
    """Workers, their invitations, blocks and messages."""

    file: MarketFile

    def invite(
        self,
        name: str,
        now: int,
        *,
        locale: Locale | None = None,
        adult: bool = False,
        approved_before: int = 0,
        rejected_before: int = 0,
    ) -> Invitation:
        """A link's token for a person; the same name is the same worker, who then has one more valid token.

        The counts are work done elsewhere: they start the worker's approval rate and number of approved assignments.
        What is given when a worker is invited again replaces what was said before.
        """
        token = secrets.token_urlsafe(24)
        with self.file.writing(now) as db:
            worker = self._worker_of(db, "invitation", name, name, now)
            if locale or adult or approved_before or rejected_before:
                place = (locale.country, locale.subdivision) if locale else (None, None)
                db.execute(
                    "UPDATE workers SET country = ?, subdivision = ?, adult = ?, approved_before = ?,"
                    " rejected_before = ? WHERE id = ?",
                    [*place, adult, approved_before, rejected_before, worker],
                )
            db.execute("INSERT INTO invitations VALUES (?, ?, ?, NULL)", [token_hash(token), worker, now])
            return Invitation(find_worker(db, worker), token)

    def enrol(self, source: str, external_id: str, now: int) -> Worker:
        """The worker whom a recruiting service sent under its own id; the same id is the same worker."""
        with self.file.writing(now) as db:
            return find_worker(db, self._worker_of(db, source, external_id, external_id, now))

    @staticmethod
    def _worker_of(db: sqlite3.Connection, source: str, external_id: str, name: str, now: int) -> str:
        if not external_id.strip() or len(external_id) > 200:
            raise RefusedError("AWS.ParameterValidationFailed", "expected a name of 1 to 200 characters")
        if UNPRINTABLE.search(external_id):
            message = f"expected a name without control characters, found {external_id!r}"
            raise RefusedError("AWS.ParameterValidationFailed", message)
        made = new_id(SIMULATED_ID, 18) if name.startswith(SIMULATED_NAME) else new_id("A", 14)
        db.execute(
            "INSERT OR IGNORE INTO workers (id, name, source, external_id, created) VALUES (?, ?, ?, ?, ?)",
            [made, name, source, external_id, now],
        )
        row = db.execute("SELECT id FROM workers WHERE source = ? AND external_id = ?", [source, external_id])
        return str(row.fetchone()[0])

    def named(self, person: str) -> Worker:
        """The one worker with this id or name."""
        with self.file.reading(0) as db:
            rows = db.execute(
                f"{WORKER_ROWS} WHERE workers.id = ?1 OR workers.name = ?1", [person]
            ).fetchall()
        if len(rows) != 1:
            reason = (
                f"{len(rows)} workers have the name {person!r}; say the id"
                if rows
                else f"no worker {person!r}"
            )
            raise RefusedError(
                "WorkerDoesNotExist", f"expected the name or the id of a worker: {reason[:300]}"
            )
        return read_worker(rows[0])

    def revoke(self, worker: str, now: int) -> int:
        """Take back all invitations of a worker, so that links and cookies are void; the number that were valid."""
        with self.file.writing(now) as db:
            sql = "UPDATE invitations SET revoked = ? WHERE worker = ? AND revoked IS NULL"
            return db.execute(sql, [now, worker]).rowcount

    def by_token(self, token: str) -> Worker | None:
        """Whose invitation this is; None for a token that was never given or was revoked."""
        digest = token_hash(token)
        with self.file.reading(0) as db:
            row = db.execute("SELECT * FROM invitations WHERE token_hash = ?", [digest]).fetchone()
            if (
                row is None
                or row["revoked"] is not None
                or not hmac.compare_digest(row["token_hash"], digest)
            ):
                return None
            return find_worker(db, row["worker"])

    def find(self, worker: str) -> Worker:
        """The worker with this id."""
        with self.file.reading(0) as db:
            return find_worker(db, worker)

    def all(self, *, after: int = 0, limit: int = -1) -> list[Worker]:
        """All workers in the order in which they came."""
        with self.file.reading(0) as db:
            rows = db.execute(
                f"{WORKER_ROWS} WHERE workers.number > ? ORDER BY workers.number LIMIT ?", [after, limit]
            )
            return [read_worker(row) for row in rows]

    def consent(self, worker: str, now: int) -> None:
        """Note that a worker agreed to take part; the first time stays."""
        with self.file.writing(now) as db:
            find_worker(db, worker)
            db.execute("UPDATE workers SET consented = coalesce(consented, ?) WHERE id = ?", [now, worker])

    def is_trained(self, worker: str, batch: str) -> bool:
        """Whether a worker has practised for a batch."""
        with self.file.reading(0) as db:
            sql = "SELECT 1 FROM trained WHERE worker = ? AND batch = ?"
            return db.execute(sql, [worker, batch]).fetchone() is not None

    def set_trained(self, worker: str, batch: str, now: int) -> None:
        """Note that a worker has practised for a batch; the first time stays."""
        with self.file.writing(now) as db:
            db.execute("INSERT OR IGNORE INTO trained VALUES (?, ?, ?)", [worker, batch, now])

    def block(self, worker: str, reason: str, now: int) -> None:
        """Give a worker no more hits; a second block only changes the reason."""
        with self.file.writing(now) as db:
            find_worker(db, worker)
            db.execute(
                "INSERT INTO blocks (worker, reason, created) VALUES (?, ?, ?)"
                " ON CONFLICT (worker) DO UPDATE SET reason = excluded.reason",
                [worker, reason, now],
            )

    def unblock(self, worker: str, now: int) -> None:
        """Take a block back; nothing happens when there is none."""
        with self.file.writing(now) as db:
            find_worker(db, worker)
            db.execute("DELETE FROM blocks WHERE worker = ?", [worker])

    def blocks(self, *, after: int = 0, limit: int = -1) -> list[tuple[int, str, str]]:
        """Number, worker and reason of each block."""
        with self.file.reading(0) as db:
            rows = db.execute("SELECT * FROM blocks WHERE number > ? ORDER BY number LIMIT ?", [after, limit])
            return [(row["number"], row["worker"], row["reason"]) for row in rows]

    def notify(self, workers: Collection[str], subject: str, text: str, now: int) -> list[tuple[str, str]]:
        """Leave a message for each worker; returns those who got none, with the reason.

        As on Mechanical Turk, a requester writes only to workers whose work was reviewed.
        """
        failed = []
        with self.file.writing(now) as db:
            for worker in dict.fromkeys(workers):
                known = db.execute("SELECT 1 FROM workers WHERE id = ?", [worker]).fetchone()
                reviewed = db.execute(
                    "SELECT 1 FROM assignments WHERE worker = ? AND status IN ('approved', 'rejected')",
                    [worker],
                ).fetchone()
                if not known or not reviewed:
                    failed.append(
                        (worker, "no work of this worker was reviewed" if known else "WorkerId is invalid")
                    )
                else:
                    leave_message(db, worker, subject, text, now)
        return failed

    def messages(self, worker: str, *, unseen: bool = False) -> list[Message]:
        """The worker's messages, the newest first."""
        only = "AND seen IS NULL" if unseen else ""
        with self.file.reading(0) as db:
            rows = db.execute(
                f"SELECT * FROM messages WHERE worker = ? {only} ORDER BY number DESC", [worker]
            )
            return [Message(*row) for row in rows]

    def mark_seen(self, worker: str, now: int) -> None:
        """Note that the worker's page has shown all messages."""
        with self.file.writing(now) as db:
            db.execute("UPDATE messages SET seen = ? WHERE worker = ? AND seen IS NULL", [now, worker])


def leave_message(db: sqlite3.Connection, worker: str, subject: str, text: str, now: int) -> None:
    """Inside a transaction: one message for one worker."""
    db.execute(
        "INSERT INTO messages (worker, subject, text, created) VALUES (?, ?, ?, ?)",
        [worker, subject, text, now],
    )
