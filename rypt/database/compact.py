"""Judgments in compact tables, and the views that show them in words.

Most judgments share what they say with others: a few workers, a few origins, one phrase for each system that has it.
So texts are kept once, and a judgment is a row of small numbers:

``spans``          the spans of segments that were judged
``phrases``        the phrases of a span, in the order in which views read them; an ``id`` each, counted in ``settings``
``names``          workers and origins
``judgment_rows``  phrase, worker and origin by number, label and source by code: about 20 bytes

``judgments`` is a view in words, which takes INSERT, UPDATE and DELETE as the table of that name did; ``counted`` has
those that count, ``votes`` and ``labels`` a row for each key. Codes are in the order of the words, so that the first of
two sources and the last of two labels are the same in both. Joins are in the order of the keys (CROSS JOIN keeps it): a
segment is one range of each table, and grouping by key needs no sorting.
"""

LABEL_CODES = {"NO": 0, "NOT_SURE": 1, "YES": 2}
SOURCE_CODES = {"hit": 0, "import": 1, "simulation": 2}
NO, HIT, IMPORT = LABEL_CODES["NO"], SOURCE_CODES["hit"], SOURCE_CODES["import"]


def _word(column: str, codes: dict[str, int]) -> str:
    """SQL for the word of a code; what is no code stays as it is, for `rypt.database.audit` to find."""
    cases = " ".join(f"WHEN {code} THEN '{word}'" for word, code in codes.items())
    return f"CASE {column} {cases} ELSE {column} END"


def _code(column: str, codes: dict[str, int]) -> str:
    """SQL for the code of a word; what is no word stays as it is, for the table to refuse."""
    cases = " ".join(f"WHEN '{word}' THEN {code}" for word, code in codes.items())
    return f"CASE {column} {cases} ELSE {column} END"


# Rounded, so that 0.1 + 0.2 ties with 0.3; of NO judgments with a severity, weight times severity, and weight.
VOTE_SUMS = ", ".join(
    f"round(sum(r.weight * (r.label = {LABEL_CODES[name.upper()]})), 9) AS {name}"
    for name in ("yes", "no", "not_sure")
)
VOTE_SUMS += ", round(total(r.weight * r.severity), 9) AS penalty"
VOTE_SUMS += ", round(total(r.weight * (r.severity IS NOT NULL)), 9) AS graded"
VOTE_TABLES = (
    "spans AS s CROSS JOIN phrases AS p ON p.span = s.id CROSS JOIN counted_rows AS r ON r.phrase = p.id"
)
KEY = "s.segment, s.start, s.stop, p.phrase"

TABLES = (
    "CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """
    CREATE TABLE spans (
        id INTEGER PRIMARY KEY,
        segment TEXT NOT NULL REFERENCES segments (id),
        start INTEGER NOT NULL CHECK (start >= 0),
        stop INTEGER NOT NULL CHECK (stop > start),
        UNIQUE (segment, start, stop)
    )
    """,
    """
    CREATE TABLE phrases (
        span INTEGER NOT NULL REFERENCES spans (id),
        phrase TEXT NOT NULL CHECK (phrase <> ''),
        id INTEGER NOT NULL,
        PRIMARY KEY (span, phrase)
    ) WITHOUT ROWID
    """,
    f"""
    CREATE TABLE judgment_rows (
        phrase INTEGER NOT NULL,
        worker INTEGER NOT NULL REFERENCES names (id),
        origin INTEGER NOT NULL REFERENCES names (id),
        label INTEGER NOT NULL CHECK (label BETWEEN 0 AND {len(LABEL_CODES) - 1}),
        repeat INTEGER NOT NULL DEFAULT 1,
        source INTEGER NOT NULL DEFAULT {IMPORT} CHECK (source BETWEEN 0 AND {len(SOURCE_CODES) - 1}),
        time INTEGER,
        weight REAL NOT NULL DEFAULT 1 CHECK (weight >= 0),
        severity REAL CHECK (severity IS NULL OR (severity >= 0 AND label = {NO})),
        PRIMARY KEY (phrase, worker, origin, label, repeat)
    ) WITHOUT ROWID
    """,
)

COPY_JUDGMENTS = (
    "INSERT INTO names (name) SELECT worker FROM judgments UNION SELECT origin FROM judgments ORDER BY 1",
    "INSERT INTO spans (segment, start, stop) SELECT DISTINCT segment, start, stop FROM judgments ORDER BY 1, 2, 3",
    """
    INSERT INTO phrases (span, phrase, id)
    SELECT span, phrase, row_number() OVER (ORDER BY span, phrase) FROM (
        SELECT DISTINCT s.id AS span, j.phrase FROM judgments AS j JOIN spans AS s USING (segment, start, stop)
    )
    """,
    "INSERT INTO settings SELECT 'phrases', count(*) FROM phrases",
    f"""
    INSERT INTO judgment_rows
    SELECT p.id, w.id, o.id, {_code("j.label", LABEL_CODES)}, j.repeat, {_code("j.source", SOURCE_CODES)},
        j.time, j.weight, j.severity
    FROM judgments AS j CROSS JOIN spans AS s USING (segment, start, stop)
        CROSS JOIN phrases AS p ON p.span = s.id AND p.phrase = j.phrase
        CROSS JOIN names AS w ON w.name = j.worker CROSS JOIN names AS o ON o.name = j.origin
    ORDER BY 1, 2, 3, 4, 5
    """,
)

# Judgments stay for ever. Left out of what counts are judgments of excluded workers, those of weight 0 (rejected work),
# and those that the same worker replaced by a later answer to the same question in a hit.
# Imported judgments replace nothing: their origin may be a system whose candidate held the phrase.
COUNTED_ROWS = f"""
    CREATE VIEW counted_rows AS
    SELECT * FROM judgment_rows AS this
    WHERE weight > 0
        AND worker NOT IN (SELECT n.id FROM excluded_workers AS e CROSS JOIN names AS n ON n.name = e.worker)
        AND NOT (
            source = {HIT} AND EXISTS (
                SELECT 1 FROM judgment_rows AS later CROSS JOIN names AS n ON n.id = later.origin
                WHERE later.phrase = this.phrase AND later.worker = this.worker
                    AND (later.origin, later.label, later.repeat) <> (this.origin, this.label, this.repeat)
                    AND later.source = {HIT} AND later.weight > 0
                    AND (ifnull(later.time, 0), n.name, later.label, later.repeat) > (
                        ifnull(this.time, 0), (SELECT name FROM names WHERE id = this.origin), this.label, this.repeat
                    )
            )
        )
"""
IN_WORDS = f"""
    CREATE VIEW {{view}} AS
    SELECT {KEY}, w.name AS worker, o.name AS origin, {_word("r.label", LABEL_CODES)} AS label, r.repeat,
        {_word("r.source", SOURCE_CODES)} AS source, r.time, r.weight, r.severity
    FROM spans AS s CROSS JOIN phrases AS p ON p.span = s.id CROSS JOIN {{rows}} AS r ON r.phrase = p.id
        CROSS JOIN names AS w ON w.id = r.worker CROSS JOIN names AS o ON o.id = r.origin
"""
VOTES_VIEW = (
    f"CREATE VIEW votes AS SELECT {KEY}, {VOTE_SUMS}, count(*) AS judgments FROM {VOTE_TABLES} GROUP BY {KEY}"
)

# The conditions that find one judgment of the view by the columns of {row}.
THE_PHRASE = """
    SELECT p.id FROM spans AS s CROSS JOIN phrases AS p ON p.span = s.id
    WHERE s.segment = {row}.segment AND s.start = {row}.start AND s.stop = {row}.stop AND p.phrase = {row}.phrase
"""
THE_NAME = "SELECT id FROM names WHERE name = {row}.{column}"
REMOVE_OLD = f"""
    DELETE FROM judgment_rows WHERE phrase = ({THE_PHRASE.format(row="OLD")})
        AND worker = ({THE_NAME.format(row="OLD", column="worker")})
        AND origin = ({THE_NAME.format(row="OLD", column="origin")})
        AND label = {_code("OLD.label", LABEL_CODES)} AND repeat = OLD.repeat;
"""
WRITING = (
    f"""
    CREATE TRIGGER insert_judgment INSTEAD OF INSERT ON judgments BEGIN
        INSERT INTO names (name) VALUES (NEW.worker) ON CONFLICT DO NOTHING;
        INSERT INTO names (name) VALUES (ifnull(NEW.origin, '')) ON CONFLICT DO NOTHING;
        INSERT INTO spans (segment, start, stop) VALUES (NEW.segment, NEW.start, NEW.stop) ON CONFLICT DO NOTHING;
        UPDATE settings SET value = value + 1 WHERE name = 'phrases' AND NOT EXISTS ({THE_PHRASE.format(row="NEW")});
        INSERT INTO phrases (span, phrase, id) SELECT s.id, NEW.phrase, g.value FROM spans AS s, settings AS g
            WHERE s.segment = NEW.segment AND s.start = NEW.start AND s.stop = NEW.stop AND g.name = 'phrases'
            ON CONFLICT DO NOTHING;
        INSERT INTO judgment_rows VALUES (
            ({THE_PHRASE.format(row="NEW")}), ({THE_NAME.format(row="NEW", column="worker")}),
            (SELECT id FROM names WHERE name = ifnull(NEW.origin, '')), {_code("NEW.label", LABEL_CODES)},
            ifnull(NEW.repeat, 1), {_code("NEW.source", SOURCE_CODES)}, NEW.time, ifnull(NEW.weight, 1), NEW.severity
        );
    END
    """,
    f"CREATE TRIGGER delete_judgment INSTEAD OF DELETE ON judgments BEGIN {REMOVE_OLD} END",
    f"""
    CREATE TRIGGER update_judgment INSTEAD OF UPDATE ON judgments BEGIN
        {REMOVE_OLD}
        INSERT INTO judgments VALUES (
            NEW.segment, NEW.start, NEW.stop, NEW.phrase, NEW.worker, NEW.origin, NEW.label, NEW.repeat, NEW.source,
            NEW.time, NEW.weight, NEW.severity
        );
    END
    """,
)
