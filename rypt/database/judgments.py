"""The judgment database: one SQLite file of segments and of what workers said about their phrases.

A judgment is identified by segment, span, phrase, worker, origin and label; the same worker may give the same label
to the same key in one origin more than once (``repeat``). Adding a judgment that is in the database changes nothing but
its attributes: the earliest time, the smallest weight and the largest severity stay, so the order of additions does not
matter.
"""

import math
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rypt.options import CASES, check_option
from rypt.records import LABELS, SOURCES, Judgment, Label, Segment, Span, Votes
from rypt.text import FormatError, PathLike, RyptError, one_line
from rypt.texts.phrases import phrase_key

if TYPE_CHECKING:
    from rypt.database.schema import Database

ROWS = 50_000  # inserted at a time, in the order of their phrases, so that pages fill up
CACHED_PHRASES = 1_000_000
LABEL_CODES = {str(label): code for code, label in enumerate(LABELS)}
SOURCE_CODES = {source: code for code, source in enumerate(SOURCES)}
INSERT = """
    INSERT INTO judgment_rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (phrase, worker, origin, label, repeat) DO UPDATE SET
        time = coalesce(min(time, excluded.time), time, excluded.time),
        weight = min(weight, excluded.weight),
        severity = coalesce(max(severity, excluded.severity), severity, excluded.severity),
        source = min(source, excluded.source)
"""


class DatabaseError(RyptError):
    """A database that cannot be opened, read or written."""

    def __init__(self, path: PathLike, message: str) -> None:
        super().__init__(f"{path}: {message}")


class JudgmentDatabase:
    """Open a database, creating it if it does not exist.

    ``case`` (``lower`` or ``keep``) says how phrases are compared and is fixed when the database is made.
    Every write is one transaction; writers in other processes wait for each other. ``db`` is the same file as a
    `sqlite_utils.Database`, for queries that no method has.

    >>> db = JudgmentDatabase(":memory:")
    >>> db.add_segments([Segment("news-12", "der Patient wurde isoliert .")])
    >>> db.add([Judgment("news-12", Span(0, 2), "The patient", Label.YES, worker="A1B2")])
    1
    >>> db.label("news-12", Span(0, 2), "the patient")
    <Label.YES: 'YES'>
    >>> [(row["phrase"], row["yes"]) for row in db.db.view("votes").rows_where("segment = ?", ["news-12"])]
    [('the patient', 1.0)]
    """

    def __init__(self, path: PathLike, *, readonly: bool = False, case: str | None = None) -> None:
        from rypt.database.schema import open_file, refuse_foreign_file  # loads sqlite_utils

        check_option("case", case or "lower", CASES)
        self.path = Path(path)
        self.readonly = readonly
        try:
            refuse_foreign_file(self.path, readonly=readonly)
            with self.errors():
                self.db: Database = open_file(self.path, readonly=readonly)
                try:
                    self.case = self._prepare(case)
                except BaseException:
                    self.close()
                    raise
        except FormatError as error:
            raise DatabaseError(self.path, str(error)) from None
        except OSError as error:
            raise DatabaseError(self.path, error.strerror or str(error)) from None

    def _prepare(self, case: str | None) -> str:
        """Create the tables where there are none, two processes perhaps at once; return how phrases are compared."""
        from rypt.database.schema import create_tables, has_tables

        if not has_tables(self.db):
            if self.readonly:
                raise FormatError("expected a judgment database, found an SQLite file without tables")
            if str(self.path) != ":memory:":
                self.db.enable_wal()
            with self.writing():
                if not has_tables(self.db):
                    create_tables(self.db, case or "lower")
        rows = self.rows("SELECT value FROM settings WHERE name = 'case'")
        if not rows:
            raise FormatError("the setting case is missing")
        if case not in (None, rows[0][0]):
            message = f"compares phrases with case:{rows[0][0]}; case:{case} needs a database of its own"
            raise FormatError(message)
        return str(rows[0][0])

    @contextmanager
    def errors(self, consequence: str = "") -> Iterator[None]:
        """Raise errors of SQLite (a full or read-only disk, a damaged file) as one line that names the file."""
        try:
            yield
        except UnicodeEncodeError as error:
            raise DatabaseError(self.path, f"expected Unicode text, found {error.object!r}") from None
        except sqlite3.Error as error:
            raise DatabaseError(self.path, f"{error}{consequence}") from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction that holds the write lock from its start and leaves no trace when it fails."""
        connection = self.db.conn
        with self.errors(" (nothing was changed)"):
            if connection.in_transaction:
                raise RuntimeError("one write inside another: the outer one would be committed half done")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read a consistent state, whatever other processes write meanwhile."""
        with self.errors():
            self.db.begin()
            try:
                yield
            finally:
                self.db.rollback()

    def close(self) -> None:
        """Close the file; the write-ahead log is folded into it."""
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def rows(self, sql: str, *values: Any) -> list[Any]:
        with self.errors():
            return self.db.execute(sql, values).fetchall()

    def _number(self, sql: str, *values: Any) -> int:
        return int(self.rows(sql, *values)[0][0])

    def add_segments(self, segments: Iterable[Segment]) -> None:
        """Add segments; one that exists must have the same text and the same tree."""
        with self.writing():
            for segment in segments:
                self.put_segment(segment)

    def put_segment(self, segment: Segment, replace_trees: bool = False) -> bool:
        """Inside a transaction: add a segment, and return True if it was not in the database."""
        rows = self.rows("SELECT text, tree, language FROM segments WHERE id = ?", segment.id)
        if not rows:
            values = [segment.id, segment.text, segment.tree, segment.language]
            self.db.execute("INSERT INTO segments (id, text, tree, language) VALUES (?, ?, ?, ?)", values)
            return True
        text, tree, language = rows[0]
        another = ""
        if text != segment.text:
            another = f"text: {text!r}"
        elif tree is not None and segment.tree not in (None, tree) and not replace_trees:
            another = "tree (--replace-trees takes it)"
        elif language and segment.language and language != segment.language:
            another = f"language: {language}"
        if another:
            raise DatabaseError(self.path, f"segment {segment.id} is there with another {another}")
        merged = [tree if segment.tree is None else segment.tree, language or segment.language, segment.id]
        self.db.execute("UPDATE segments SET tree = ?, language = ? WHERE id = ?", merged)
        return False

    def add(self, judgments: Iterable[Judgment]) -> int:
        """Add judgments in one transaction, and return how many were not in the database."""
        with self.writing():
            before = self.count()
            self.put(judgments)
            return self.count() - before

    def put(self, judgments: Iterable[Judgment], *, count_repeats: bool = False) -> None:
        """Inside a transaction: add judgments.

        Equal ones are one judgment, unless ``count_repeats``: then a worker gave the label so many times.
        """
        writer = Writer(self.db.conn, self.case, count_repeats=count_repeats)
        for judgment in judgments:
            writer.add(judgment)
        writer.flush()

    def put_weight(self, worker: str, origin: str, weight: float, keys: Iterable[Sequence[Any]]) -> None:
        """Inside a transaction: set the weight of a worker's judgments in a hit; with 0 they no longer count."""
        sql = """
            UPDATE judgment_rows SET weight = ?
            WHERE source <> 1 AND phrase = (
                SELECT p.id FROM segments AS s CROSS JOIN phrases AS p ON p.segment = s.number
                WHERE s.id = ? AND p.start = ? AND p.stop = ? AND p.phrase = ?
            )
            AND worker = (SELECT id FROM names WHERE name = ?) AND origin = (SELECT id FROM names WHERE name = ?)
        """
        self.db.conn.executemany(sql, ((weight, *key, worker, origin) for key in keys))

    def count(self) -> int:
        return self._number("SELECT count(*) FROM judgment_rows")

    def count_counted(self) -> int:
        return self._number("SELECT count(*) FROM counted_rows")

    def count_by_source(self) -> dict[str, int]:
        """The number of judgments of each source: hit, import, simulation."""
        counts = dict(self.rows("SELECT source, count(*) FROM judgment_rows GROUP BY source"))
        return {name: counts[code] for name, code in SOURCE_CODES.items() if code in counts}

    def count_workers(self, source: str | None = None) -> int:
        """The number of workers who gave a judgment, of one source or any."""
        sql = "SELECT count(DISTINCT worker) FROM judgment_rows WHERE ?1 IS NULL OR source = ?1"
        return self._number(sql, source and SOURCE_CODES[source])

    def count_contradictions(self) -> int:
        """How often the imported judgments of a worker in one place say both YES and NO of a phrase."""
        return self._number("""
            SELECT count(*) FROM (
                SELECT 1 FROM judgment_rows WHERE source = 1 AND label > 0
                GROUP BY phrase, worker, origin HAVING min(label) < max(label)
            )
        """)

    def origins(self) -> list[str]:
        """The places in which the judgments that count were given, sorted."""
        sql = "SELECT name FROM names WHERE id IN (SELECT origin FROM counted_rows) ORDER BY 1"
        return [str(name) for (name,) in self.rows(sql)]

    def counted_answers(
        self, *, simulated: bool = True, hits: Collection[str] | None = None
    ) -> list[tuple[tuple[str, Span, str], str, Label]]:
        """The judgments that count as triples (key, worker, label), the earliest first.

        Those of simulated workers are left out unless ``simulated``; ``hits`` takes only those given in these hits.
        """
        sql = """
            SELECT segment, start, stop, phrase, worker, label, source, origin FROM counted
            WHERE (?1 OR source <> 'simulation')
            ORDER BY ifnull(time, 0), segment, start, stop, phrase, worker, origin, label, repeat
        """
        chosen = None if hits is None else set(hits)
        labels = {str(label): label for label in Label}
        return [
            ((segment, Span(start, stop), phrase), worker, labels[label])
            for segment, start, stop, phrase, worker, label, source, origin in self.rows(sql, simulated)
            if chosen is None or (source == "hit" and origin in chosen)
        ]

    def segments(self) -> list[Segment]:
        """All segments, in the order in which they were added."""
        rows = self.rows("SELECT id, text, tree, language FROM segments ORDER BY number")
        return [Segment(*row) for row in rows]

    def judgments(self, segment: str | None = None) -> Iterator[Judgment]:
        """Judgments in the order of their keys, all or those of one segment."""
        where, values = ("WHERE segment = ?", [segment]) if segment is not None else ("", [])
        labels = {str(label): label for label in Label}
        sql = f"""
            SELECT start, stop, segment, phrase, worker, origin, label, source, time, weight, severity
            FROM judgments {where}
            ORDER BY segment, start, stop, phrase, worker, origin, judgments.label, repeat
        """
        with self.errors():
            for start, stop, name, phrase, worker, origin, label, *rest in self.db.execute(sql, values):
                yield Judgment(name, Span(start, stop), phrase, labels[label], worker, origin, *rest)

    def votes(self, segment: str | None = None) -> list[Votes]:
        """The judgments of each key that count, summed; all or those of one segment."""
        where, values = ("WHERE segment = ?", [segment]) if segment is not None else ("", [])
        sql = f"SELECT segment, start, stop, phrase, yes, no, not_sure, penalty, graded FROM votes {where}"
        return [Votes(row[0], Span(*row[1:3]), *row[3:]) for row in self.rows(sql, *values)]

    def label(self, segment: str, span: Span, phrase: str) -> Label | None:
        """The majority label of a key, NOT_SURE for a tie, None when nobody judged it."""
        rows = self.rows(
            "SELECT label FROM labels WHERE segment = ? AND start = ? AND stop = ? AND phrase = ?",
            *(segment, *span, phrase_key(phrase, self.case)),
        )
        return Label(rows[0][0]) if rows else None

    def simulated_note(self) -> str:
        """A sentence with the number of simulated judgments among those that count; empty if there are none."""
        ((total, simulated),) = self.rows("SELECT count(*), sum(source = 2) FROM counted_rows")
        return f"SIMULATED: {simulated:,} of {total:,} judgments were given by no person" if simulated else ""

    def exclude(self, worker: str, reason: str, now: int | None = None) -> bool:
        """Exclude a worker: the judgments, later ones included, stay but do not count.

        Return True if the worker was not excluded before.

        >>> db = JudgmentDatabase(":memory:")
        >>> db.exclude("A1B2", "answers YES to everything"), db.excluded(), db.include("A1B2"), db.excluded()
        (True, {'A1B2': 'answers YES to everything'}, True, {})
        """
        with self.writing():
            return self.put_excluded(worker, one_line(reason), now)

    def put_excluded(self, worker: str, reason: str, now: int | None = None) -> bool:
        """Inside a transaction: exclude a worker; one that is excluded keeps its reason."""
        values = [worker, reason, now]
        sql = "INSERT OR IGNORE INTO excluded_workers VALUES (?, ?, ?)"
        return self.db.execute(sql, values).rowcount == 1

    def include(self, worker: str) -> bool:
        """Let an excluded worker's judgments count again; return True if the worker was excluded."""
        with self.writing():
            return self.db.execute("DELETE FROM excluded_workers WHERE worker = ?", [worker]).rowcount == 1

    def excluded(self) -> dict[str, str]:
        return dict(self.rows("SELECT worker, reason FROM excluded_workers ORDER BY worker"))


class Writer:
    """Adds judgments inside one transaction, which holds the write lock: texts become numbers on the way."""

    def __init__(self, connection: sqlite3.Connection, case: str, *, count_repeats: bool = False) -> None:
        self._db = connection
        self._case = case
        self._phrases: dict[str, dict[tuple[tuple[int, int], str], int]] = {}  # by segment, span and phrase
        self._cached = 0
        self._names: dict[str, int] = {}
        self._last_phrase = int(self._one("SELECT max(id) FROM phrases") or 0)
        self._last_name = int(self._one("SELECT max(id) FROM names") or 0)
        self._new_phrases: list[tuple[int, int, int, int, str]] = []
        self._new_names: list[tuple[int, str]] = []
        self._rows: list[tuple[Any, ...]] = []
        self._segments: dict[str, int] = {}
        self._repeats: dict[tuple[int, ...], int] | None = {} if count_repeats else None

    def add(self, judgment: Judgment) -> None:
        """Add one judgment; it is written by `flush` at the latest."""
        segment, span, phrase, label, worker, origin, source, time, weight, severity = judgment
        if not worker.strip():
            raise FormatError("expected a worker, found nothing")
        if severity is not None and label != Label.NO:
            raise FormatError(f"expected a severity with the label NO only, found {severity} with {label}")
        if severity is not None and not 0 <= severity < math.inf:
            raise FormatError(f"expected a severity of at least 0, found {severity}")
        phrases = self._phrases.get(segment)
        if phrases is None:
            phrases = self._load(segment)
        key = phrases.get((span, phrase)) or self._phrase(segment, span, phrase)
        who = self._names.get(worker) or self._name(worker)
        where = self._names.get(origin) or self._name(origin)
        code, repeat = LABEL_CODES[label._value_], 1
        if self._repeats is not None:
            identity = key, who, where, code
            self._repeats[identity] = repeat = self._repeats.get(identity, 0) + 1
        given = SOURCE_CODES.get(source, source)
        self._rows.append((key, who, where, code, repeat, given, time, weight, severity))
        if len(self._rows) == ROWS:
            self.flush()

    def flush(self) -> None:
        self._rows.sort(key=itemgetter(0))
        self._db.executemany("INSERT INTO names VALUES (?, ?)", self._new_names)
        self._db.executemany("INSERT INTO phrases VALUES (?, ?, ?, ?, ?)", self._new_phrases)
        self._db.executemany(INSERT, self._rows)
        for rows in (self._new_names, self._new_phrases, self._rows):
            rows.clear()
        if self._cached + len(self._names) > CACHED_PHRASES:
            self._phrases.clear()
            self._names.clear()
            self._cached = 0

    def _load(self, segment: str) -> dict[tuple[tuple[int, int], str], int]:
        """The phrases of a segment with their numbers."""
        number = self._one("SELECT number FROM segments WHERE id = ?", segment)
        if number is None:
            raise FormatError(f"segment {segment!r} is not in the database")
        self._segments[segment] = number
        rows = self._db.execute("SELECT start, stop, phrase, id FROM phrases WHERE segment = ?", [number])
        phrases = {((start, stop), phrase): id for start, stop, phrase, id in rows}
        self._phrases[segment] = phrases
        self._cached += len(phrases)
        return phrases

    def _phrase(self, segment: str, span: Span, phrase: str) -> int:
        """The number of a phrase that is not as it is in the cache: new, or not in its normal form."""
        phrases, normal = self._phrases[segment], phrase_key(phrase, self._case)
        number = phrases.get((span, normal))
        if number is None:
            start, stop = span
            if not 0 <= start < stop:
                raise FormatError(f"expected a span of at least one token, found {span}")
            self._last_phrase = number = self._last_phrase + 1
            self._new_phrases.append((number, self._segments[segment], start, stop, normal))
            phrases[span, normal] = number
        phrases[span, phrase] = number
        self._cached += 1
        return number

    def _name(self, text: str) -> int:
        name = one_line(text)
        number = self._names.get(name) or self._one("SELECT id FROM names WHERE name = ?", name)
        if number is None:
            self._last_name = number = self._last_name + 1
            self._new_names.append((number, name))
        self._names[name] = self._names[text] = int(number)
        return int(number)

    def _one(self, sql: str, *values: Any) -> Any:
        row = self._db.execute(sql, values).fetchone()
        return row and row[0]
