"""Migrations of SQLite files: a list of changes, of which each file records how many were applied.

    schema = Schema("judgment database", APPLICATION_ID, ((FIRST_TABLE, FIRST_VIEW), (LATER_TABLE,)))
    schema.check(connection)            # refuse a file of another program, or of a newer rypt
    schema.apply(connection)            # inside a transaction: whatever is missing

A migration is a tuple of statements and is never changed after a release; a change of the tables is one more at the
end. The number of migrations applied is SQLite's ``user_version``, the kind of file its ``application_id``.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from rypt.text import RyptError

Migration = tuple[str, ...]


class SchemaError(RyptError):
    """A file whose tables are of another program or of a newer rypt; the message does not name the file."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of one kind of SQLite file.

    ``recorded`` reads how many migrations a file has seen that has no ``user_version``, for files of releases that
    recorded it in another way.

    >>> notes = Schema("notebook", 7, (("CREATE TABLE notes (text TEXT)",), ("CREATE INDEX by_text ON notes (text)",)))
    >>> file = sqlite3.connect(":memory:")
    >>> notes.check(file); notes.version(file); notes.apply(file); notes.version(file)
    0
    2
    """

    kind: str
    application_id: int
    migrations: tuple[Migration, ...]
    recorded: Callable[[sqlite3.Connection], int] = lambda connection: 0

    def version(self, connection: sqlite3.Connection) -> int:
        """The number of migrations that a file has seen."""
        return int(connection.execute("PRAGMA user_version").fetchone()[0]) or self.recorded(connection)

    def is_current(self, connection: sqlite3.Connection) -> bool:
        """Whether a file has seen all migrations."""
        return self.version(connection) == len(self.migrations)

    def check(self, connection: sqlite3.Connection, *, may_be_empty: bool = True) -> None:
        """Refuse a file of another program, one made by a newer rypt and, if asked, one without any table."""
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        # the id is read after the tables, because another process may create both in between
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        if (tables or not may_be_empty) and application != self.application_id:
            raise SchemaError(f"expected a {self.kind}, found an SQLite file of another program")
        self._refuse_newer(self.version(connection))

    def apply(self, connection: sqlite3.Connection) -> None:
        """Apply the missing migrations. The caller holds the write lock, for another process may be doing the same."""
        version = self.version(connection)
        self._refuse_newer(version)
        for statements in self.migrations[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(self.migrations)}")
        connection.execute(f"PRAGMA application_id = {self.application_id}")

    def _refuse_newer(self, version: int) -> None:
        if version > len(self.migrations):
            raise SchemaError(f"was made by a newer rypt (version {version}); update rypt to open it")
