"""One SQLite file for many threads: opening it, and transactions that hold what they promise.

The file is in WAL mode with ``synchronous = FULL``: what a commit has acknowledged survives a killed process and a
power cut. Writers of one process wait for each other at a lock, those of other processes at SQLite's.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hits.server.store.schema import APPLICATION_ID, STATEMENTS, VERSION
from rypt.text import PathLike, RyptError

BUSY_SECONDS = 60.0
Values = Sequence[Any] | Mapping[str, Any]
OVERDUE = """
    SELECT EXISTS (SELECT 1 FROM assignments WHERE AssignmentStatus = 'Accepted' AND Deadline < :now)
        OR EXISTS (SELECT 1 FROM assignments WHERE AssignmentStatus = 'Submitted' AND AutoApprovalTime <= :now)
"""
ABANDON = """
    UPDATE assignments SET AssignmentStatus = 'Abandoned'
    WHERE AssignmentStatus = 'Accepted' AND Deadline < :now
"""
APPROVE = """
    UPDATE assignments SET AssignmentStatus = 'Approved', ApprovalTime = AutoApprovalTime
    WHERE AssignmentStatus = 'Submitted' AND AutoApprovalTime <= :now
"""


class MarketFileError(RyptError):
    def __init__(self, path: PathLike, message: str) -> None:
        super().__init__(f"{path}: {message}")


class MarketFile:
    """A pool of connections to one file; each is used by one thread at a time."""

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        self._idle: list[sqlite3.Connection] = []
        self._pool_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._closed = False
        try:
            # Readable by its owner only; SQLite gives its log the same mode. A file that exists is left to SQLite:
            # to open and close it here would end the locks that another connection of this process holds on it.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            pass
        except OSError as error:
            raise MarketFileError(self.path, error.strerror or str(error)) from None
        with self._connection() as db:
            self._prepare(db)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Create the tables where there are none; refuse files of other programs, before they are changed."""
        self._has_tables(db)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        if not self._has_tables(db):
            for statement in STATEMENTS:
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")

    def _has_tables(self, db: sqlite3.Connection) -> bool:
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        # the id is read after the tables, because another process may create both in between
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if tables and application != APPLICATION_ID:
            raise MarketFileError(
                self.path, "expected a market file, found an SQLite file of another program"
            )
        if tables and version != VERSION:
            raise MarketFileError(self.path, "was made by another version of rypt")
        return bool(tables)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection for one thread; SQLite's errors about the file (full, damaged) become one line that names it."""
        with self._pool_lock:
            if self._closed:
                raise MarketFileError(self.path, "is closed")
            connection = self._idle.pop() if self._idle else None
        try:
            connection = connection or self._connect()
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                with self._pool_lock:
                    if self._closed:
                        connection.close()
                    else:
                        self._idle.append(connection)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
                message = "expected a market file, found a file that is not SQLite"
                raise MarketFileError(self.path, message) from None
            raise MarketFileError(self.path, str(error)) from error

    @contextmanager
    def reading(self, now: int) -> Iterator[sqlite3.Connection]:
        """The state of one moment, with all that is overdue at ``now`` settled."""
        with self._connection() as db:
            if db.execute(OVERDUE, {"now": now}).fetchone()[0]:
                with self._transaction(db, now):
                    pass
            db.execute("BEGIN")
            yield db

    @contextmanager
    def writing(self, now: int) -> Iterator[sqlite3.Connection]:
        """One durable transaction that leaves no trace when it fails; what is overdue is settled first."""
        with self._connection() as db, self._transaction(db, now):
            yield db

    @contextmanager
    def _transaction(self, db: sqlite3.Connection, now: int) -> Iterator[None]:
        with self._write_lock:
            db.execute("BEGIN IMMEDIATE")
            try:
                db.execute(ABANDON, {"now": now})
                db.execute(APPROVE, {"now": now})
                yield
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def rows(self, sql: str, values: Values = (), now: int = 0) -> list[dict[str, Any]]:
        """The rows of one question, as the file is at this moment."""
        with self.reading(now) as db:
            return [dict(row) for row in db.execute(sql, values)]

    def change(self, sql: str, values: Values, now: int) -> int:
        """One statement in a transaction of its own; the number of rows that it changed."""
        with self.writing(now) as db:
            return db.execute(sql, values).rowcount

    def check(self) -> None:
        """Refuse a damaged file; SQLite alone would find a damaged page only when it is read."""
        with self._connection() as db:
            (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise MarketFileError(self.path, f"is damaged: {found}")

    def close(self) -> None:
        """Close the file; its write-ahead log is folded into it when the last user is gone."""
        with self._pool_lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


class Part:
    """One family of questions and steps on a market file."""

    def __init__(self, file: MarketFile) -> None:
        self.file = file
