"""Migrations of SQLite files: each applied once, in order, and files of others and of the future refused."""

import sqlite3

import pytest

from rypt.migrations import Schema, SchemaError

FIRST = ("CREATE TABLE notes (text TEXT)", "INSERT INTO notes VALUES ('made by the first migration')")
SECOND = ("ALTER TABLE notes ADD COLUMN time INTEGER",)


@pytest.fixture
def connection() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def test_what_is_missing_is_applied_once(connection: sqlite3.Connection) -> None:
    Schema("notebook", 7, (FIRST,)).apply(connection)
    grown = Schema("notebook", 7, (FIRST, SECOND))
    grown.check(connection)
    assert (grown.version(connection), grown.is_current(connection)) == (1, False)
    for _ in range(2):
        grown.apply(connection)
    assert (grown.version(connection), grown.is_current(connection)) == (2, True)
    assert connection.execute("SELECT * FROM notes").fetchall() == [("made by the first migration", None)]
    assert connection.execute("PRAGMA application_id").fetchone() == (7,)


def test_a_file_of_another_program_is_refused(connection: sqlite3.Connection) -> None:
    schema = Schema("notebook", 7, (FIRST,))
    schema.check(connection)  # an empty file is a new one
    with pytest.raises(SchemaError, match="expected a notebook, found an SQLite file of another program"):
        schema.check(connection, may_be_empty=False)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    with pytest.raises(SchemaError, match="expected a notebook, found an SQLite file of another program"):
        schema.check(connection)


def test_a_file_of_a_newer_rypt_is_refused_and_not_changed(connection: sqlite3.Connection) -> None:
    Schema("notebook", 7, (FIRST, SECOND)).apply(connection)
    older = Schema("notebook", 7, (FIRST,))
    for refused in (older.check, older.apply):
        with pytest.raises(SchemaError, match=r"made by a newer rypt \(version 2\); update rypt"):
            refused(connection)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_file_that_recorded_it_in_another_way(connection: sqlite3.Connection) -> None:
    for statement in FIRST:
        connection.execute(statement)
    connection.execute("PRAGMA application_id = 7")
    schema = Schema(
        "notebook", 7, (FIRST, SECOND), lambda file: file.execute("SELECT count(*) FROM notes").fetchone()[0]
    )
    schema.check(connection)
    schema.apply(connection)
    connection.execute("INSERT INTO notes VALUES ('another', 1), ('and another', 2)")
    assert schema.version(connection) == 2  # asked only once: the file says it itself from now on
