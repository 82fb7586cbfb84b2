"""The tables of a judgment database, by `rypt.migrations`: one migration a change, applied when a file is opened.

``segments``         source sentences, with their trees
``judgments``        one label given by one worker to one (segment, span, phrase): a view of the tables of
                     `rypt.database.compact`; the view ``counted`` has what counts
``excluded_workers`` workers whose answers do not count
``hits``             one published item: its columns and what the market says of it (title, reward, …)
``assignments``      one hit done by one worker, as it came; never changed but for its status
``label_answers``    one alternative of an assignment: its key and the label given, controls included
``comparisons``      two systems compared; ``implied`` where one was not shown, its text being another's
``controls``         the outcome of every control
``bonuses``          what was paid for an assignment besides the reward
``identical``        two systems with the same text for a segment, which nobody was asked about

The view ``counted_comparisons`` has the comparisons that count.
"""

import sqlite3

from rypt.database import compact
from rypt.migrations import Schema, SchemaError

APPLICATION_ID = 0x52595054  # "RYPT", so that other SQLite files are told apart

VOTE_SUMS = ", ".join(  # rounded, so that 0.1 + 0.2 ties with 0.3
    f"round(sum(weight * (label = '{name.upper()}')), 9) AS {name}" for name in ("yes", "no", "not_sure")
)

SEVERITY_SUMS = (  # of the NO judgments that carry a severity: weight times severity, and weight
    "round(total(weight * severity), 9) AS penalty, round(total(weight * (severity IS NOT NULL)), 9) AS graded"
)

VOTES_VIEW = """
    CREATE VIEW votes AS
    SELECT segment, start, stop, phrase, {sums}, count(*) AS judgments
    FROM {table} GROUP BY segment, start, stop, phrase
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

# Judgments stand in one b-tree ordered by their key: a segment's look-up is one range, without an index.
SEGMENTS_AND_JUDGMENTS = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE segments (id TEXT PRIMARY KEY, text TEXT NOT NULL, tree TEXT, language TEXT)",
    """
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
    """,
    VOTES_VIEW.format(sums=VOTE_SUMS, table="judgments"),
    LABELS_VIEW,
)

# Judgments stay for ever; the view ``counted`` holds those that count. Left out are judgments of excluded workers,
# those of weight 0 (rejected work), and those that the same worker replaced by a later answer to the same question in
# a hit.
# Imported judgments replace nothing: their origin may be a system whose candidate held the phrase.
JUDGMENTS_THAT_COUNT = (
    """
    CREATE TABLE excluded_workers (worker TEXT PRIMARY KEY, reason TEXT NOT NULL, time INTEGER) WITHOUT ROWID
    """,
    """
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
    """,
    "DROP VIEW labels",
    "DROP VIEW votes",
    VOTES_VIEW.format(sums=VOTE_SUMS, table="counted"),
    LABELS_VIEW,
)

HITS = (
    """
    CREATE TABLE hits (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        batch TEXT NOT NULL,
        item TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('label', 'comparison', 'ranking')),
        size INTEGER NOT NULL CHECK (size >= 1),
        columns TEXT NOT NULL,
        facts TEXT NOT NULL
    )
    """,
    "CREATE INDEX hits_of_batch ON hits (batch, item)",
    """
    CREATE TABLE assignments (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        hit TEXT NOT NULL REFERENCES hits (id),
        worker TEXT NOT NULL CHECK (worker <> ''),
        status TEXT NOT NULL CHECK (status IN ('Submitted', 'Approved', 'Rejected')),
        accepted INTEGER,
        submitted INTEGER,
        seconds INTEGER,
        fields TEXT NOT NULL,
        facts TEXT NOT NULL,
        UNIQUE (hit, worker)
    )
    """,
    """
    CREATE TABLE label_answers (
        assignment TEXT NOT NULL REFERENCES assignments (id),
        slot INTEGER NOT NULL,
        segment TEXT NOT NULL,
        start INTEGER NOT NULL,
        stop INTEGER NOT NULL,
        phrase TEXT NOT NULL,
        label TEXT CHECK (label IN ('YES', 'NO', 'NOT_SURE')),
        control INTEGER NOT NULL,
        PRIMARY KEY (assignment, slot)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE comparisons (
        assignment TEXT NOT NULL REFERENCES assignments (id),
        number INTEGER NOT NULL,
        segment TEXT NOT NULL,
        system_a TEXT NOT NULL,
        system_b TEXT NOT NULL,
        choice TEXT NOT NULL CHECK (choice IN ('A', 'B', 'EQUAL')),
        PRIMARY KEY (assignment, number)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX comparisons_of_segment ON comparisons (segment)",
    """
    CREATE TABLE controls (
        assignment TEXT NOT NULL REFERENCES assignments (id),
        slot INTEGER NOT NULL,
        kind TEXT NOT NULL,
        expected TEXT NOT NULL,
        answer TEXT NOT NULL,
        passed INTEGER NOT NULL CHECK (passed IN (0, 1)),
        PRIMARY KEY (assignment, slot)
    ) WITHOUT ROWID
    """,
    """
    CREATE VIEW counted_comparisons AS
    WITH given AS (
        SELECT c.*, a.hit, a.worker, a.submitted, a.number AS arrival,
            row_number() OVER (
                PARTITION BY a.worker, c.segment, min(c.system_a, c.system_b), max(c.system_a, c.system_b)
                ORDER BY ifnull(a.submitted, 0) DESC, a.hit DESC, a.id DESC, c.number DESC
            ) AS age
        FROM comparisons AS c JOIN assignments AS a ON a.id = c.assignment
        WHERE a.status <> 'Rejected' AND a.worker NOT IN (SELECT worker FROM excluded_workers)
    )
    SELECT segment, system_a, system_b, choice, worker, submitted AS time, hit, assignment, arrival, number
    FROM given WHERE age = 1
    """,
)

MARKETS_BONUSES_TIES = (
    "ALTER TABLE hits ADD COLUMN market TEXT NOT NULL DEFAULT ''",
    "UPDATE hits SET market = CASE WHEN batch <> '' THEN 'local' ELSE 'mturk' END",
    "ALTER TABLE comparisons ADD COLUMN implied INTEGER NOT NULL DEFAULT 0",
    """
    CREATE TABLE bonuses (
        assignment TEXT NOT NULL REFERENCES assignments (id),
        number INTEGER NOT NULL,
        amount TEXT NOT NULL,
        reason TEXT NOT NULL,
        time INTEGER,
        PRIMARY KEY (assignment, number)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE identical (
        batch TEXT NOT NULL,
        segment TEXT NOT NULL,
        system_a TEXT NOT NULL,
        system_b TEXT NOT NULL,
        count INTEGER NOT NULL CHECK (count >= 1),
        PRIMARY KEY (batch, segment, system_a, system_b)
    ) WITHOUT ROWID
    """,
    "DROP VIEW counted_comparisons",
    """
    CREATE VIEW counted_comparisons AS
    WITH RECURSIVE given AS (
        SELECT c.*, a.hit, a.worker, a.submitted, a.number AS arrival,
            row_number() OVER (
                PARTITION BY a.worker, c.segment, min(c.system_a, c.system_b), max(c.system_a, c.system_b)
                ORDER BY ifnull(a.submitted, 0) DESC, a.hit DESC, a.id DESC, c.number DESC
            ) AS age
        FROM comparisons AS c JOIN assignments AS a ON a.id = c.assignment
        WHERE a.status <> 'Rejected' AND a.worker NOT IN (SELECT worker FROM excluded_workers)
    ),
    copies (n) AS (
        SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < (SELECT max(count) FROM identical)
    )
    SELECT segment, system_a, system_b, choice, worker, submitted AS time, hit, assignment, arrival, number
    FROM given WHERE age = 1
    UNION ALL
    SELECT DISTINCT segment, system_a, system_b, 'EQUAL', 'identical-' || n, NULL, '', '', 0, n
    FROM identical JOIN copies ON n <= count
    """,
)

# How bad a NO is, as a penalty: 1 for a minor error, 5 for a major one; NULL where nobody said it.
SEVERITY = (
    "ALTER TABLE judgments ADD COLUMN severity REAL CHECK (severity IS NULL OR (severity >= 0 AND label = 'NO'))",
    "ALTER TABLE label_answers ADD COLUMN severity REAL CHECK (severity IS NULL OR (severity >= 0 AND label = 'NO'))",
    "DROP VIEW labels",
    "DROP VIEW votes",
    VOTES_VIEW.format(sums=f"{VOTE_SUMS}, {SEVERITY_SUMS}", table="counted"),
    LABELS_VIEW,
)

COMPACT_JUDGMENTS = (
    *("DROP VIEW labels", "DROP VIEW votes", "DROP VIEW counted"),
    *compact.TABLES,
    *compact.COPY_JUDGMENTS,
    "DROP TABLE judgments",
    compact.COUNTED_ROWS,
    compact.IN_WORDS.format(view="judgments", rows="judgment_rows"),
    compact.IN_WORDS.format(view="counted", rows="counted_rows"),
    compact.VOTES_VIEW,
    LABELS_VIEW,
    *compact.WRITING,
)

LEFT_OUT = (
    """
    CREATE TABLE left_out (
        assignment TEXT PRIMARY KEY,
        hit TEXT NOT NULL,
        batch TEXT NOT NULL,
        worker TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('Submitted', 'Approved', 'Rejected')),
        reason TEXT NOT NULL
    ) WITHOUT ROWID
    """,
)

# Two candidates with the same text are no comparison that people made: they are counted, and left out of what counts.
SAME_TEXTS = (
    "DROP VIEW counted_comparisons",
    """
    CREATE VIEW counted_comparisons AS
    WITH given AS (
        SELECT c.*, a.hit, a.worker, a.submitted, a.number AS arrival,
            row_number() OVER (
                PARTITION BY a.worker, c.segment, min(c.system_a, c.system_b), max(c.system_a, c.system_b)
                ORDER BY ifnull(a.submitted, 0) DESC, a.hit DESC, a.id DESC, c.number DESC
            ) AS age
        FROM comparisons AS c JOIN assignments AS a ON a.id = c.assignment
        WHERE a.status <> 'Rejected' AND a.worker NOT IN (SELECT worker FROM excluded_workers)
    )
    SELECT segment, system_a, system_b, choice, worker, submitted AS time, hit, assignment, arrival, number
    FROM given WHERE age = 1
    """,
    """
    CREATE TABLE identical_pairs (
        batch TEXT NOT NULL,
        segment TEXT NOT NULL,
        system_a TEXT NOT NULL,
        system_b TEXT NOT NULL,
        PRIMARY KEY (batch, segment, system_a, system_b)
    ) WITHOUT ROWID
    """,
    "INSERT INTO identical_pairs SELECT batch, segment, system_a, system_b FROM identical",
    "DROP TABLE identical",
    "ALTER TABLE identical_pairs RENAME TO identical",
)

# Which kinds of hits there are is known to `hits.batches.kinds` alone. SQLite cannot drop a CHECK, so the table is made
# anew; answers refer to its rows, which are back before the transaction ends.
HITS_OF_ANY_KIND = (
    "PRAGMA defer_foreign_keys = ON",
    "CREATE TABLE hits_before AS SELECT number, id, batch, item, kind, size, columns, facts, market FROM hits",
    "DROP TABLE hits",
    """
    CREATE TABLE hits (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        batch TEXT NOT NULL,
        item TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind <> ''),
        size INTEGER NOT NULL CHECK (size >= 1),
        columns TEXT NOT NULL,
        facts TEXT NOT NULL,
        market TEXT NOT NULL DEFAULT ''
    )
    """,
    "INSERT INTO hits SELECT number, id, batch, item, kind, size, columns, facts, market FROM hits_before",
    "DROP TABLE hits_before",
    "CREATE INDEX hits_of_batch ON hits (batch, item)",
)

ANSWER_TABLES = ("hits", "assignments", "label_answers", "comparisons", "controls", "bonuses", "identical")
OF_0_1_0 = ("m001_segments_and_judgments", "m002_judgments_that_count")


def recorded_by_0_1_0(connection: sqlite3.Connection) -> int:
    """How many migrations a file of version 0.1.0 has seen: two by name, those of the hits as a number."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'").fetchone():
        return 0
    rows = connection.execute("SELECT name FROM _sqlite_migrations WHERE migration_set = 'rypt'").fetchall()
    if newer := [name for (name,) in rows if name not in OF_0_1_0]:
        raise SchemaError(f"was made by a newer rypt ({newer[0]}); update rypt to open it")
    setting = connection.execute("SELECT value FROM settings WHERE name = 'hits'").fetchone()
    return len(rows) + (int(setting[0]) if setting else 0)


SCHEMA = Schema(
    "judgment database",
    APPLICATION_ID,
    (
        SEGMENTS_AND_JUDGMENTS,
        JUDGMENTS_THAT_COUNT,
        HITS,
        MARKETS_BONUSES_TIES,
        SEVERITY,
        COMPACT_JUDGMENTS,
        LEFT_OUT,
        SAME_TEXTS,
        HITS_OF_ANY_KIND,
    ),
    recorded_by_0_1_0,
)
