"""The judgment database: one SQLite file of segments and of what workers said about their phrases.

A judgment is identified by segment, span, phrase, worker, origin and label; the same worker may give the same label
to the same key in one origin more than once (``repeat``). Adding a judgment that is there changes nothing but its
attributes: the earliest time, the smallest weight and the largest severity stay, so the order of additions does not
matter.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from rypt.database.compact import KEY, LABEL_CODES, SOURCE_CODES, VOTE_SUMS, VOTE_TABLES
from rypt.database.schema import SCHEMA
from rypt.database.vote_columns import (
    KeyColumns,
    Keys,
    VoteColumns,
    VoteRows,
    read_counted,
    read_integers,
    read_key_numbers,
    read_keys,
    segment_marks,
)
from rypt.database.writing import JudgmentWriter, Row, check_severity
from rypt.migrations import SchemaError
from rypt.options import CASES, HOLD_OUT, check_option
from rypt.records import CandidateJudgments, Judgment, Label, Segment, Span, Votes
from rypt.text import FormatError, PathLike, RyptError, one_line, plural
from rypt.texts.phrases import phrase_key

if TYPE_CHECKING:
    from sqlite_utils import Database

BUSY_SECONDS = 120.0
CACHE = 16_000  # KiB of pages in memory
IDENTITY = "segment, start, stop, phrase, worker, origin, label, repeat"
COLUMNS = f"{IDENTITY}, source, time, weight, severity"

CountedAnswer = tuple[tuple[str, Span, str], str, Label]  # ((segment, span, phrase), worker, label)


class DatabaseError(RyptError):
    """A database that cannot be opened, read or written."""

    def __init__(self, path: PathLike, message: str) -> None:
        super().__init__(f"{path}: {message}")


class JudgmentDatabase:
    """Open a database, creating it if it is not there.

    ``case`` (``lower`` or ``keep``) says how phrases are compared and is fixed when the database is made.
    Every write is one transaction; writers in other processes wait for each other.

    >>> db = JudgmentDatabase(":memory:")
    >>> db.add_segments([Segment("news-12", "der Patient wurde isoliert .")])
    >>> db.add([Judgment("news-12", Span(0, 2), "The patient", Label.YES, worker="A1B2")])
    1
    >>> db.label("news-12", Span(0, 2), "the patient")
    <Label.YES: 'YES'>
    """

    def __init__(self, path: PathLike, *, readonly: bool = False, case: str | None = None) -> None:
        self.path = Path(path)
        self.readonly = readonly
        self._refuse_foreign_file()
        with self.errors():
            self.db = self._connect()
            try:
                self._open(case)
            except BaseException:
                self.close()
                raise

    def _open(self, case: str | None) -> None:
        self.db.execute("PRAGMA foreign_keys = ON")
        self.db.execute(f"PRAGMA cache_size = -{CACHE}")
        try:
            SCHEMA.check(self.db, may_be_empty=not self.readonly)
            self._prepare(case or "lower")
        except SchemaError as error:
            raise DatabaseError(self.path, str(error)) from None
        self.case = self._setting("case")
        if case and case != self.case:
            message = f"compares phrases with case:{self.case}; case:{case} needs a database of its own"
            raise DatabaseError(self.path, message)

    def _refuse_foreign_file(self) -> None:
        if str(self.path) == ":memory:":
            return
        try:
            if self.path.exists() or self.readonly:
                with open(self.path, "rb") as file:
                    head = file.read(16)
                if not head and self.readonly:
                    raise DatabaseError(self.path, "expected a judgment database, found an empty file")
                if head and head != b"SQLite format 3\0":
                    raise DatabaseError(
                        self.path, "expected a judgment database, found a file that is not SQLite"
                    )
        except OSError as error:
            raise DatabaseError(self.path, error.strerror or str(error)) from None

    def _connect(self) -> sqlite3.Connection:
        if str(self.path) == ":memory:":
            return sqlite3.connect(":memory:", timeout=BUSY_SECONDS)
        if not self.readonly:
            return sqlite3.connect(self.path, timeout=BUSY_SECONDS)
        location = f"file:{quote(str(self.path.absolute()))}"
        try:
            connection = sqlite3.connect(f"{location}?mode=ro", uri=True, timeout=BUSY_SECONDS)
            connection.execute("SELECT 1 FROM sqlite_master")
        except sqlite3.OperationalError:  # a WAL database on a medium where no shared memory can be made
            log = self.path.with_name(f"{self.path.name}-wal")
            if log.exists() and log.stat().st_size:
                message = (
                    f"{log.name} holds changes that cannot be read here; open it once where it can be written"
                )
                raise DatabaseError(self.path, message) from None
            connection = sqlite3.connect(f"{location}?immutable=1", uri=True)
        return connection

    def _prepare(self, case: str) -> None:
        """Create the tables or bring them up to date; two processes may do it at once.

        Reading changes no file: the tables of an older one are brought up to date in a temporary copy.
        """
        check_option("case", case, CASES)
        if SCHEMA.is_current(self.db):
            return
        if self.readonly:
            original, self.db = self.db, sqlite3.connect("")
            original.backup(self.db)
            original.close()
        elif str(self.path) != ":memory:":
            self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute(
            "PRAGMA foreign_keys = OFF"
        )  # what is wrong in an old file stays, for `rypt db check` to find
        with self.writing():
            SCHEMA.apply(self.db)
            self.db.execute("INSERT OR IGNORE INTO settings VALUES ('case', ?)", [case])
        self.db.execute("PRAGMA foreign_keys = ON")
        if self.readonly:
            self.db.execute("PRAGMA query_only = ON")

    @cached_property
    def utils(self) -> "Database":
        """The same file for sqlite-utils, to ask it what no method here does.

        >>> JudgmentDatabase(":memory:").utils["judgments"].count
        0
        """
        from sqlite_utils import Database

        return Database(self.db)

    @contextmanager
    def errors(self, consequence: str = "") -> Iterator[None]:
        """Turn what SQLite says (a full or read-only disk, a damaged file) into one line that names the file."""
        try:
            yield
        except UnicodeEncodeError as error:
            raise DatabaseError(self.path, f"expected Unicode text, found {error.object!r}") from None
        except sqlite3.Error as error:
            raise DatabaseError(self.path, f"{error}{consequence}") from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction that holds the write lock from its start and leaves no trace when it fails."""
        with self.errors(" (nothing was changed)"):
            if self.db.in_transaction:
                raise RuntimeError("one write inside another: the outer one would be committed half done")
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.db.execute("COMMIT")
            except BaseException:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read the state of one moment, whatever others write meanwhile."""
        with self.errors():
            self.db.execute("BEGIN")
            try:
                yield
            finally:
                self.db.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file; the write-ahead log is folded into it."""
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def _setting(self, name: str) -> str:
        row = self.db.execute("SELECT value FROM settings WHERE name = ?", [name]).fetchone()
        if row is None:
            raise DatabaseError(self.path, f"the setting {name} is missing")
        return str(row[0])

    def add_segments(self, segments: Iterable[Segment], *, replace_trees: bool = False) -> None:
        """Add segments; one that exists must have the same text and, unless ``replace_trees``, the same tree."""
        with self.writing():
            for segment in segments:
                self.add_segment(segment, replace_trees)

    def add_segment(self, segment: Segment, replace_trees: bool) -> bool:
        """Inside a transaction: add a segment, and return True if it was not in the database."""
        row = self.db.execute(
            "SELECT text, tree, language FROM segments WHERE id = ?", [segment.id]
        ).fetchone()
        if row is None:
            values = [segment.id, segment.text, segment.tree, segment.language]
            self.db.execute("INSERT INTO segments (id, text, tree, language) VALUES (?, ?, ?, ?)", values)
            return True
        text, tree, language = row
        if text != segment.text:
            raise DatabaseError(self.path, f"segment {segment.id} is there with another text: {text!r}")
        if tree is not None and segment.tree is not None and tree != segment.tree and not replace_trees:
            raise DatabaseError(
                self.path, f"segment {segment.id} is there with another tree (--replace-trees takes it)"
            )
        if language and segment.language and language != segment.language:
            raise DatabaseError(self.path, f"segment {segment.id} is there with another language: {language}")
        merged = [
            segment.tree if segment.tree is not None else tree,
            language or segment.language,
            segment.id,
        ]
        self.db.execute("UPDATE segments SET tree = ?, language = ? WHERE id = ?", merged)
        return False

    def add(self, judgments: Iterable[Judgment]) -> int:
        """Add judgments in one transaction, and return how many were not in the database."""
        with self.writing():
            before = self.count()
            self.put(judgments)
            return self.count() - before

    def add_candidates(self, judged: Iterable[CandidateJudgments]) -> int:
        """Add the judgments of whole candidates in one transaction, and return how many were not in the database."""
        with self.writing():
            before = self.count()
            JudgmentWriter(self.db, self.case).put_candidates(judged)
            return self.count() - before

    def add_one(self, judgment: Judgment) -> bool:
        """Add one judgment, on a span of a segment that is here; return True if it was not in the database."""
        tokens = {segment.id: len(segment.tokens) for segment in self.segments()}
        segment, span = judgment.segment, judgment.span
        if segment not in tokens:
            raise FormatError(f"segment {segment!r} is not in {self.path}")
        if not 0 <= span.start < span.stop <= tokens[segment]:
            raise FormatError(
                f"span {span} is outside segment {segment}, which has {plural(tokens[segment], 'token')}"
            )
        return self.add([judgment]) == 1

    def put(self, judgments: Iterable[Judgment]) -> None:
        """Inside a transaction: add judgments."""
        JudgmentWriter(self.db, self.case).put(judgments)

    def put_rows(self, rows: Iterable[Row]) -> None:
        """Inside a transaction: add judgments whose columns are those of `row`."""
        JudgmentWriter(self.db, self.case).put_rows(rows)

    def row(self, judgment: Judgment) -> Row:
        """The columns of a judgment in the order of ``COLUMNS``, its phrase as a key."""
        j = judgment
        phrase = phrase_key(j.phrase, self.case)
        worker, origin = one_line(j.worker), one_line(j.origin)
        if not worker.strip():
            raise FormatError("expected a worker, found nothing")
        check_severity(j.label, j.severity)
        return (
            j.segment,
            *j.span,
            phrase,
            worker,
            origin,
            str(j.label),
            1,
            j.source,
            j.time,
            j.weight,
            j.severity,
        )

    def count(self) -> int:
        """The number of judgments."""
        return int(self.db.execute("SELECT count(*) FROM judgment_rows").fetchone()[0])

    def count_counted(self) -> int:
        """The number of judgments that count."""
        with self.errors():
            return int(self.db.execute("SELECT count(*) FROM counted_rows").fetchone()[0])

    def count_by_source(self) -> dict[str, int]:
        """The number of judgments of each source: hit, import, simulation."""
        with self.errors():
            counts = dict(
                self.db.execute("SELECT source, count(*) FROM judgment_rows GROUP BY source").fetchall()
            )
        return {name: counts[code] for name, code in SOURCE_CODES.items() if code in counts}

    def count_workers(self, source: str | None = None) -> int:
        """The number of workers who gave a judgment, of one source or any."""
        sql = "SELECT count(DISTINCT worker) FROM judgment_rows WHERE ?1 IS NULL OR source = ?1"
        with self.errors():
            return int(self.db.execute(sql, [source and SOURCE_CODES[source]]).fetchone()[0])

    def count_repeated_keys(self) -> int:
        """The number of keys with two or more judgments that count."""
        with self.errors():
            sql = "SELECT 1 FROM counted_rows GROUP BY phrase HAVING count(*) > 1"
            return int(self.db.execute(f"SELECT count(*) FROM ({sql})").fetchone()[0])

    def has_severities(self) -> bool:
        """Whether some judgment carries a severity."""
        with self.errors():
            sql = "SELECT EXISTS (SELECT 1 FROM judgment_rows WHERE severity IS NOT NULL)"
            return bool(self.db.execute(sql).fetchone()[0])

    def groups(self, column: str) -> list[str]:
        """The workers (``worker``), or the places (``origin``), of the judgments that count, sorted."""
        check_option("group", column, HOLD_OUT)
        with self.errors():
            sql = f"SELECT name FROM names WHERE id IN (SELECT {column} FROM counted_rows) ORDER BY 1"
            return [str(row[0]) for row in self.db.execute(sql)]

    def counted_answers(self, *, simulated: bool = True, hits_of: str | None = None) -> list[CountedAnswer]:
        """The judgments that count as triples (key, worker, label), the earliest first.

        Those of simulated workers are left out unless ``simulated``; ``hits_of`` takes those given in hits of a batch.
        """
        where = "" if simulated else "AND source <> 'simulation'"
        if hits_of is not None:
            where += " AND source = 'hit' AND origin IN (SELECT id FROM hits WHERE batch = ?)"
        sql = f"""
            SELECT segment, start, stop, phrase, worker, label FROM counted WHERE true {where}
            ORDER BY ifnull(time, 0), segment, start, stop, phrase, worker, origin, label, repeat
        """
        with self.errors():
            rows = self.db.execute(sql, [] if hits_of is None else [hits_of]).fetchall()
        return [
            ((segment, Span(start, stop), phrase), worker, Label(label))
            for segment, start, stop, phrase, worker, label in rows
        ]

    def segments(self) -> list[Segment]:
        """All segments, in the order in which they were added."""
        with self.errors():
            rows = self.db.execute("SELECT id, text, tree, language FROM segments ORDER BY rowid")
            return [Segment(*row) for row in rows]

    def judgments(self, segment: str | None = None) -> Iterator[Judgment]:
        """Judgments in the order of their keys, all or those of one segment."""
        where, values = ("WHERE segment = ?", [segment]) if segment is not None else ("", [])
        labels = Label.__members__
        with self.errors():
            for row in self.db.execute(
                f"SELECT {COLUMNS} FROM judgments {where} ORDER BY {IDENTITY}", values
            ):
                name, start, stop, phrase, worker, origin, label, _, source, time, weight, severity = row
                if label not in labels:
                    raise DatabaseError(self.path, f"expected labels YES, NO, NOT_SURE, found {label!r}")
                span = Span(start, stop)
                yield Judgment(
                    name, span, phrase, labels[label], worker, origin, source, time, weight, severity
                )

    def votes(
        self,
        segment: str | None = None,
        *,
        workers: Collection[str] | None = None,
        origins: Collection[str] | None = None,
    ) -> list[Votes]:
        """The judgments of each key that count, summed; of one segment, of these workers, of these origins, or all."""
        where, values = ("s.segment = ?", [segment]) if segment is not None else ("1", [])
        for column, allowed in (("worker", workers), ("origin", origins)):
            if allowed is not None:
                where += f" AND r.{column} IN (SELECT id FROM names WHERE name IN (SELECT value FROM json_each(?)))"
                values.append(json.dumps(list(allowed)))
        sql = f"SELECT {KEY}, {VOTE_SUMS} FROM {VOTE_TABLES} WHERE {where} GROUP BY {KEY}"
        with self.errors():
            return [Votes(row[0], Span(row[1], row[2]), *row[3:]) for row in self.db.execute(sql, values)]

    def vote_columns(self) -> VoteColumns:
        """What `votes` returns of all keys, in the same order, as columns."""
        return self.vote_rows().columns()

    def judged_keys(self) -> KeyColumns:
        """The keys with judgments that count, in the order of `votes`."""
        with self.errors():
            return Keys(
                self._spans(), read_keys(self.db), read_integers(self.db, ("phrase",), "counted_rows")[:, 0]
            ).columns()

    def vote_rows(self) -> VoteRows:
        """The judgments that count as numbers, to be summed up by key for any workers or places."""
        with self.errors():
            names = dict(self.db.execute("SELECT name, id FROM names").fetchall())
            return VoteRows(self._spans(), read_keys(self.db), read_counted(self.db), LABEL_CODES, names)

    def _spans(self) -> list[tuple[int, str, int, int]]:
        return self.db.execute(
            "SELECT id, segment, start, stop FROM spans ORDER BY segment, start, stop"
        ).fetchall()

    def vote_marks(self) -> dict[str, int]:
        """For each segment with judgments that count a number that changes with them."""
        with self.errors():
            spans = self.db.execute("SELECT id, segment FROM spans").fetchall()
            rows = read_counted(self.db)[:, [0, 1, 4, 5]]
            return segment_marks(spans, read_key_numbers(self.db), rows)

    def count_keys(self) -> int:
        """The number of keys with judgments that count."""
        with self.errors():
            return int(self.db.execute("SELECT count(DISTINCT phrase) FROM counted_rows").fetchone()[0])

    def votes_by(self, group: str) -> Iterator[tuple[str, Votes]]:
        """The judgments that count of each worker (``worker``) or of each place they were given in (``origin``)."""
        check_option("group", group, HOLD_OUT)
        sql = f"SELECT r.{group}, {KEY}, {VOTE_SUMS} FROM {VOTE_TABLES} GROUP BY {KEY}, r.{group}"
        with self.errors():
            names = dict(self.db.execute("SELECT id, name FROM names").fetchall())
            for _, rows in groupby(self.db.execute(sql), itemgetter(1, 2, 3, 4)):
                for name, row in sorted((names[row[0]], row) for row in rows):
                    yield name, Votes(row[1], Span(row[2], row[3]), *row[4:])

    def label(self, segment: str, span: Span, phrase: str) -> Label | None:
        """The majority label of a key, NOT_SURE for a tie, None when nobody judged it."""
        row = self.db.execute(
            "SELECT label FROM labels WHERE segment = ? AND start = ? AND stop = ? AND phrase = ?",
            [segment, *span, phrase_key(phrase, self.case)],
        ).fetchone()
        return Label(row[0]) if row else None

    def exclude(self, worker: str, reason: str, now: int | None = None) -> bool:
        """Let no judgment of a worker count, those that come later included; they stay.

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
        return (
            self.db.execute("INSERT OR IGNORE INTO excluded_workers VALUES (?, ?, ?)", values).rowcount == 1
        )

    def include(self, worker: str) -> bool:
        """Let an excluded worker's judgments count again; return True if the worker was excluded."""
        with self.writing():
            return self.db.execute("DELETE FROM excluded_workers WHERE worker = ?", [worker]).rowcount == 1

    def excluded(self) -> dict[str, str]:
        """The excluded workers and why."""
        with self.errors():
            return dict(
                self.db.execute("SELECT worker, reason FROM excluded_workers ORDER BY worker").fetchall()
            )
