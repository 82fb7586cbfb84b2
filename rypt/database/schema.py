"""A judgment file is an ordinary sqlite-utils database: its tables, and the views that show them in words.

``segments``          source sentences, with their trees
``phrases``           what was judged: a span of a segment and a phrase
``names``             workers, and the places (``origin``) in which they gave labels
``judgment_rows``     phrase, worker and origin by number, label and source by code: about 20 bytes
``excluded_workers``  workers whose judgments do not count

Views: ``judgments`` has a row of words for each judgment, ``counted`` those that count; ``votes`` and ``labels`` sum them
up by phrase, and ``workers`` by worker. What counts leaves out excluded workers, judgments of weight 0 (rejected work),
and those that the same worker replaced by a later answer to the same question in a hit. Imported judgments replace
nothing, because their origin may be a system whose candidate has the phrase.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from sqlite_utils import Database as Database

from rypt.records import LABELS, SOURCES
from rypt.text import FormatError

SQLITE_HEAD = b"SQLite format 3\0"
APPLICATION_ID = 0x52595054  # "RYPT"
VERSION = 1
BUSY_SECONDS = 120.0
CACHE = 16_000  # KiB of pages in memory

JUDGMENT_ROWS = """
    CREATE TABLE judgment_rows (
        phrase INTEGER NOT NULL REFERENCES phrases (id),
        worker INTEGER NOT NULL REFERENCES names (id),
        origin INTEGER NOT NULL REFERENCES names (id),
        label INTEGER NOT NULL CHECK (label BETWEEN 0 AND 2),
        repeat INTEGER NOT NULL,
        source INTEGER NOT NULL CHECK (source BETWEEN 0 AND 2),
        time INTEGER,
        weight REAL NOT NULL CHECK (weight >= 0),
        severity REAL CHECK (severity IS NULL OR (severity >= 0 AND label = 2)),
        PRIMARY KEY (phrase, worker, origin, label, repeat)
    ) WITHOUT ROWID
"""
COUNTED_ROWS = """
    SELECT * FROM judgment_rows AS this
    WHERE weight > 0
        AND worker NOT IN (SELECT n.id FROM excluded_workers AS e CROSS JOIN names AS n ON n.name = e.worker)
        AND NOT (
            source = 0 AND EXISTS (
                SELECT 1 FROM judgment_rows AS later CROSS JOIN names AS n ON n.id = later.origin
                WHERE later.phrase = this.phrase AND later.worker = this.worker
                    AND later.source = 0 AND later.weight > 0
                    AND (ifnull(later.time, 0), n.name, later.label, later.repeat) > (
                        ifnull(this.time, 0), (SELECT name FROM names WHERE id = this.origin), this.label, this.repeat
                    )
            )
        )
"""
# CROSS JOIN keeps this order, which is that of the index on segments and of the one on phrases: no sorting.
PHRASES_OF_SEGMENTS = "segments AS s CROSS JOIN phrases AS p ON p.segment = s.number"
KEY = "s.id AS segment, p.start, p.stop, p.phrase"


def _words(column: str, words: Sequence[str]) -> str:
    """An SQL expression for the words that a column of codes stands for."""
    cases = "".join(f" WHEN {code} THEN '{word}'" for code, word in enumerate(words))
    return f"CASE {column}{cases} END"


IN_WORDS = f"""
    SELECT {KEY}, w.name AS worker, o.name AS origin,
        {_words("r.label", LABELS)} AS label, r.repeat, {_words("r.source", SOURCES)} AS source,
        r.time, r.weight, r.severity
    FROM {PHRASES_OF_SEGMENTS} CROSS JOIN {{rows}} AS r ON r.phrase = p.id
        CROSS JOIN names AS w ON w.id = r.worker CROSS JOIN names AS o ON o.id = r.origin
"""
VOTES = f"""
    SELECT {KEY},
        round(sum(r.weight * (r.label = 1)), 9) AS yes,
        round(sum(r.weight * (r.label = 2)), 9) AS no,
        round(sum(r.weight * (r.label = 0)), 9) AS not_sure,
        round(total(r.weight * r.severity), 9) AS penalty,
        round(total(r.weight * (r.severity IS NOT NULL)), 9) AS graded,
        count(*) AS judgments
    FROM {PHRASES_OF_SEGMENTS} CROSS JOIN counted_rows AS r ON r.phrase = p.id
    GROUP BY s.id, p.start, p.stop, p.phrase
"""
MAJORITY = """
    SELECT segment, start, stop, phrase, judgments,
        CASE
            WHEN yes > no AND yes > not_sure THEN 'YES'
            WHEN no > yes AND no > not_sure THEN 'NO'
            ELSE 'NOT_SURE'
        END AS label
    FROM votes
"""
WORKERS = """
    SELECT n.name AS worker, count(*) AS judgments, sum(r.label = 1) AS yes, sum(r.label = 2) AS no,
        sum(r.label = 0) AS not_sure, max(r.time) AS last, e.reason AS excluded
    FROM judgment_rows AS r JOIN names AS n ON n.id = r.worker LEFT JOIN excluded_workers AS e ON e.worker = n.name
    GROUP BY r.worker
"""


def refuse_foreign_file(path: Path, *, readonly: bool) -> None:
    """Refuse a file that is not SQLite and, for reading, one that is missing or empty."""
    if str(path) == ":memory:" or not (readonly or path.exists()):
        return
    with open(path, "rb") as file:
        head = file.read(len(SQLITE_HEAD))
    if not head and readonly:
        raise FormatError("expected a judgment database, found an empty file")
    if head and head != SQLITE_HEAD:
        raise FormatError("expected a judgment database, found a file that is not SQLite")


def open_file(path: Path, *, readonly: bool) -> Database:
    """Connect to a file, or to a database in memory; the tables may be missing."""
    if str(path) == ":memory:" or not readonly:
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS)
    else:
        connection = _connect_for_reading(path)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA cache_size = -{CACHE}")
    return Database(connection, recursive_triggers=False, execute_plugins=False)


def _connect_for_reading(path: Path) -> sqlite3.Connection:
    location = f"file:{quote(str(path.absolute()))}"
    try:
        connection = sqlite3.connect(f"{location}?mode=ro", uri=True, timeout=BUSY_SECONDS)
        connection.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.OperationalError:  # a WAL database on a medium where no shared memory can be made
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise FormatError(
                f"{log.name} holds changes that cannot be read here; open it once where it can be written"
            ) from None
        connection = sqlite3.connect(f"{location}?immutable=1", uri=True)
    return connection


def has_tables(db: Database) -> bool:
    """Return True if the tables are there; refuse a file of another program or another version."""
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    # the id is read after the tables, because another process may create both in between
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if tables and application != APPLICATION_ID:
        raise FormatError("expected a judgment database, found an SQLite file of another program")
    if tables and version != VERSION:
        raise FormatError(f"was made by another version of rypt (tables of version {version}, not {VERSION})")
    return bool(tables)


def create_tables(db: Database, case: str) -> None:
    """Inside a transaction: create tables and views."""
    db.table("settings").create({"name": str, "value": str}, pk="name", not_null=["value"])
    db.table("settings").insert({"name": "case", "value": case})
    segments = {"number": int, "id": str, "text": str, "tree": str, "language": str}
    db.table("segments").create(segments, pk="number", not_null=["id", "text"])
    db.table("segments").create_index(["id"], unique=True)
    phrases = {"id": int, "segment": int, "start": int, "stop": int, "phrase": str}
    db.table("phrases").create(
        phrases, pk="id", not_null=list(phrases)[1:], foreign_keys=[("segment", "segments", "number")]
    )
    db.table("phrases").create_index(["segment", "start", "stop", "phrase"], unique=True)
    db.table("names").create({"id": int, "name": str}, pk="id", not_null=["name"])
    db.table("names").create_index(["name"], unique=True)
    excluded = {"worker": str, "reason": str, "time": int}
    db.table("excluded_workers").create(excluded, pk="worker", not_null=["reason"])
    db.execute(JUDGMENT_ROWS)
    views = {
        "counted_rows": COUNTED_ROWS,
        "judgments": IN_WORDS.format(rows="judgment_rows"),
        "counted": IN_WORDS.format(rows="counted_rows"),
        "votes": VOTES,
        "labels": MAJORITY,
        "workers": WORKERS,
    }
    for name, sql in views.items():
        db.create_view(name, sql)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {VERSION}")
