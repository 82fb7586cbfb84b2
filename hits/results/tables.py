"""The tables of hits' answers in a judgment database, made when they are first needed.

``hits``           one published item: its columns and what the market says of it (title, reward, …)
``assignments``    one hit done by one worker, as it came; never changed but for its status
``label_answers``  one alternative of an assignment: its key and the label, controls included
``comparisons``    two systems compared; ``implied`` where one was not shown, its text being another's
``controls``       the outcome of every control
``bonuses``        what was paid for an assignment besides the reward
``left_out``       assignments that cannot be read

The view ``counted_comparisons`` has the comparisons that count: of each worker the last one of two systems on a
segment, without rejected work and excluded workers.
"""

from rypt.database.judgments import JudgmentDatabase

TABLES = (
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
        market TEXT NOT NULL
    )
    """,
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
        severity REAL CHECK (severity IS NULL OR (severity >= 0 AND label = 'NO')),
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
        implied INTEGER NOT NULL,
        PRIMARY KEY (assignment, number)
    ) WITHOUT ROWID
    """,
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
    CREATE TABLE left_out (
        assignment TEXT PRIMARY KEY,
        hit TEXT NOT NULL,
        batch TEXT NOT NULL,
        worker TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('Submitted', 'Approved', 'Rejected')),
        reason TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE VIEW counted_comparisons AS
    WITH given AS (
        SELECT c.*, a.hit, h.batch, a.worker, a.submitted, a.number AS arrival,
            row_number() OVER (
                PARTITION BY a.worker, c.segment, min(c.system_a, c.system_b), max(c.system_a, c.system_b)
                ORDER BY ifnull(a.submitted, 0) DESC, a.hit DESC, a.id DESC, c.number DESC
            ) AS age
        FROM comparisons AS c JOIN assignments AS a ON a.id = c.assignment JOIN hits AS h ON h.id = a.hit
        WHERE a.status <> 'Rejected' AND a.worker NOT IN (SELECT worker FROM excluded_workers)
    )
    SELECT segment, system_a, system_b, choice, worker, submitted AS time, hit, batch, assignment, implied,
        arrival, number
    FROM given WHERE age = 1
    """,
)
INDEXES = (
    "CREATE INDEX hits_of_batch ON hits (batch, item)",
    "CREATE INDEX comparisons_of_segment ON comparisons (segment)",
)


def create_answer_tables(db: JudgmentDatabase) -> None:
    """Create the tables where there are none; where nothing can be written, empty ones of this connection."""
    if _has_answer_tables(db):
        return
    if db.readonly:
        for sql in TABLES:
            db.db.execute(sql.replace("CREATE", "CREATE TEMP", 1))
        return
    with db.writing():
        if not _has_answer_tables(db):  # another process may have been faster
            for sql in (*TABLES, *INDEXES):
                db.db.execute(sql)


def _has_answer_tables(db: JudgmentDatabase) -> bool:
    names = "SELECT name FROM sqlite_master UNION SELECT name FROM sqlite_temp_master"
    return bool(db.rows(f"SELECT 1 FROM ({names}) WHERE name = 'left_out'"))
