"""The tables that hits need beside the judgments, in the same database: one script a change, applied when needed.

``hits``          one published item: its columns and what the market says of it (title, reward, …)
``assignments``   one hit done by one worker, as it came; never changed but for its status
``label_answers`` one alternative of an assignment: its key and the label given, controls included
``comparisons``   two systems compared in an assignment; ``implied`` where one was not shown, its text being another's
``controls``      the outcome of every control
``bonuses``       what was paid for an assignment besides the reward
``identical``     two systems with one text for a segment: a tie, ``count`` times, that nobody was asked about

Which comparisons count is the view ``counted_comparisons``; for judgments that is the database's own ``counted``.
"""

from rypt.database.judgments import DatabaseError, JudgmentDatabase

VERSION = "hits"  # the name of the setting that holds how many scripts were applied

TABLES = """
CREATE TABLE hits (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    batch TEXT NOT NULL,
    item TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('label', 'comparison', 'ranking')),
    size INTEGER NOT NULL CHECK (size >= 1),
    columns TEXT NOT NULL,
    facts TEXT NOT NULL
);
CREATE INDEX hits_of_batch ON hits (batch, item);

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
);

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
) WITHOUT ROWID;

CREATE TABLE comparisons (
    assignment TEXT NOT NULL REFERENCES assignments (id),
    number INTEGER NOT NULL,
    segment TEXT NOT NULL,
    system_a TEXT NOT NULL,
    system_b TEXT NOT NULL,
    choice TEXT NOT NULL CHECK (choice IN ('A', 'B', 'EQUAL')),
    PRIMARY KEY (assignment, number)
) WITHOUT ROWID;
CREATE INDEX comparisons_of_segment ON comparisons (segment);

CREATE TABLE controls (
    assignment TEXT NOT NULL REFERENCES assignments (id),
    slot INTEGER NOT NULL,
    kind TEXT NOT NULL,
    expected TEXT NOT NULL,
    answer TEXT NOT NULL,
    passed INTEGER NOT NULL CHECK (passed IN (0, 1)),
    PRIMARY KEY (assignment, slot)
) WITHOUT ROWID;

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
FROM given WHERE age = 1;
"""

COMPARISONS_WITH_TIES = """
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
FROM identical JOIN copies ON n <= count;
"""

MARKETS_BONUSES_TIES = f"""
ALTER TABLE hits ADD COLUMN market TEXT NOT NULL DEFAULT '';
UPDATE hits SET market = CASE WHEN batch <> '' THEN 'local' ELSE 'mturk' END;
ALTER TABLE comparisons ADD COLUMN implied INTEGER NOT NULL DEFAULT 0;

CREATE TABLE bonuses (
    assignment TEXT NOT NULL REFERENCES assignments (id),
    number INTEGER NOT NULL,
    amount TEXT NOT NULL,
    reason TEXT NOT NULL,
    time INTEGER,
    PRIMARY KEY (assignment, number)
) WITHOUT ROWID;

CREATE TABLE identical (
    batch TEXT NOT NULL,
    segment TEXT NOT NULL,
    system_a TEXT NOT NULL,
    system_b TEXT NOT NULL,
    count INTEGER NOT NULL CHECK (count >= 1),
    PRIMARY KEY (batch, segment, system_a, system_b)
) WITHOUT ROWID;

DROP VIEW counted_comparisons;
{COMPARISONS_WITH_TIES}
"""

SCRIPTS = (TABLES, MARKETS_BONUSES_TIES)


def applied(db: JudgmentDatabase) -> int:
    """How many scripts a database has seen; one of a newer rypt is refused."""
    row = db.db.execute("SELECT value FROM settings WHERE name = ?", [VERSION]).fetchone()
    count = int(row[0]) if row else 0
    if count > len(SCRIPTS):
        raise DatabaseError(db.path, f"its hits were made by a newer rypt (version {count}); update rypt to open it")
    return count


def prepare(db: JudgmentDatabase) -> bool:
    """Bring the tables up to date in one transaction; False when there are none and none can be made."""
    with db.errors():
        count = applied(db)
    if db.readonly or count == len(SCRIPTS):
        return count > 0
    with db.writing():
        for script in SCRIPTS[applied(db) :]:  # asked again: another process may have been faster
            for statement in script.split(";\n"):
                if statement.strip():
                    db.db.execute(statement)
        db.db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", [VERSION, str(len(SCRIPTS))])
    return True
