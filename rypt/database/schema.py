"""The tables of a judgment database and how they came about: one migration a change, applied when it is opened."""

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

APPLICATION_ID = 0x52595054  # "RYPT", so that other SQLite files are told apart

VOTE_SUMS = ", ".join(  # rounded, so that 0.1 + 0.2 ties with 0.3
    f"round(sum(weight * (label = '{name.upper()}')), 9) AS {name}" for name in ("yes", "no", "not_sure")
)

VOTES_VIEW = f"""
    CREATE VIEW votes AS
    SELECT segment, start, stop, phrase, {VOTE_SUMS}, count(*) AS judgments
    FROM {{table}} GROUP BY segment, start, stop, phrase
"""
LABELS_VIEW = """
    CREATE VIEW labels AS
    SELECT segment, start, stop, phrase, judgments,
        CASE
            WHEN yes > no AND yes > not_sure THEN 'YES'
            WHEN no > yes AND no > not_sure THEN 'NO'
            ELSE 'NOT_SURE'
        END AS label
    FROM votes
"""

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
    db.execute(VOTES_VIEW.format(table="judgments"))
    db.execute(LABELS_VIEW)


@migrations()
def m002_judgments_that_count(db: Database) -> None:
    """Judgments stay for ever; the view ``counted`` holds those that count.

    Left out are judgments of excluded workers, those of weight 0 (rejected work), and those that the same worker
    replaced by a later answer to the same question in a hit. Imported judgments replace nothing: their origin may be
    a system whose candidate held the phrase.
    """
    db.execute("""
        CREATE TABLE excluded_workers (worker TEXT PRIMARY KEY, reason TEXT NOT NULL, time INTEGER) WITHOUT ROWID
    """)
    db.execute("""
        CREATE VIEW counted AS
        SELECT * FROM judgments AS this
        WHERE weight > 0 AND worker NOT IN (SELECT worker FROM excluded_workers) AND NOT (
            source = 'hit' AND EXISTS (
                SELECT 1 FROM judgments AS later
                WHERE later.segment = this.segment AND later.start = this.start AND later.stop = this.stop
                    AND later.phrase = this.phrase AND later.worker = this.worker
                    AND later.source = 'hit' AND later.weight > 0
                    AND (ifnull(later.time, 0), later.origin, later.label, later.repeat)
                        > (ifnull(this.time, 0), this.origin, this.label, this.repeat)
            )
        )
    """)
    db.execute("DROP VIEW labels")
    db.execute("DROP VIEW votes")
    db.execute(VOTES_VIEW.format(table="counted"))
    db.execute(LABELS_VIEW)
