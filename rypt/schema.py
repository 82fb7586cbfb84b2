"""The tables of a judgment database and how they came about: one migration a change, applied when it is opened."""

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

APPLICATION_ID = 0x52595054  # "RYPT", so that other SQLite files are told apart

VOTE_SUMS = ", ".join(  # rounded, so that 0.1 + 0.2 ties with 0.3
    f"round(sum(weight * (label = '{name.upper()}')), 9) AS {name}" for name in ("yes", "no", "not_sure")
)

migrations = Migrations("rypt")


@migrations()
def m001_segments_and_judgments(db: Database) -> None:
    """Judgments stand in one b-tree ordered by their key: a segment's look-up is one range, without an index."""
    db.execute("CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    db.execute("CREATE TABLE segments (id TEXT PRIMARY KEY, text TEXT NOT NULL, tree TEXT, language TEXT)")
    db.execute("""
        CREATE TABLE judgments (
            segment TEXT NOT NULL REFERENCES segments (id),
            start INTEGER NOT NULL CHECK (start >= 0),
            stop INTEGER NOT NULL CHECK (stop > start),
            phrase TEXT NOT NULL CHECK (phrase <> ''),
            worker TEXT NOT NULL CHECK (worker <> ''),
            origin TEXT NOT NULL DEFAULT '',
            label TEXT NOT NULL CHECK (label IN ('YES', 'NO', 'NOT_SURE')),
            repeat INTEGER NOT NULL DEFAULT 1,
            source TEXT NOT NULL CHECK (source IN ('hit', 'import', 'simulation')),
            time INTEGER,
            weight REAL NOT NULL DEFAULT 1 CHECK (weight >= 0),
            PRIMARY KEY (segment, start, stop, phrase, worker, origin, label, repeat)
        ) WITHOUT ROWID
    """)
    db.execute(f"""
        CREATE VIEW votes AS
        SELECT segment, start, stop, phrase, {VOTE_SUMS}, count(*) AS judgments
        FROM judgments GROUP BY segment, start, stop, phrase
    """)
    db.execute("""
        CREATE VIEW labels AS
        SELECT segment, start, stop, phrase, judgments,
            CASE
                WHEN yes > no AND yes > not_sure THEN 'YES'
                WHEN no > yes AND no > not_sure THEN 'NO'
                ELSE 'NOT_SURE'
            END AS label
        FROM votes
    """)
