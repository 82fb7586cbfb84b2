"""Judgments and segments in and out of the database: JSONL, CSV, TSV, and other databases.

One record a line. A record with a ``label`` is a judgment, one with a ``text`` is a segment, one with ``excluded`` a
worker whose judgments do not count, one with ``assignment`` or ``identical`` what a hit brought back. Spans are
``start`` and ``stop`` (not included), or ``first`` and ``last`` (included).
"""

import json
import os
import secrets
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Ints
from rypt.csv_rows import csv_rows, restore, write_records
from rypt.database.answer_rows import AnswerRows, AssignmentRow, HitRow
from rypt.database.answers import AnswerTables
from rypt.database.column_writing import ColumnWriter
from rypt.database.columns import JudgmentColumns
from rypt.database.fields import (
    JUDGMENT_FIELDS,
    OTHER_FIELDS,
    SEGMENT_FIELDS,
    assignment_from_record,
    assignment_record,
    excluded_from_record,
    excluded_record,
    identical_from_record,
    identical_record,
    is_unanswered,
    judgment_from_record,
    judgment_record,
    segment_from_record,
    segment_record,
)
from rypt.database.judgments import COLUMNS, IDENTITY, DatabaseError, JudgmentDatabase
from rypt.database.staging import StagedJudgments
from rypt.options import check_option
from rypt.records import Record, Segment, Span
from rypt.strict import SyntaxFormatError, parse_json
from rypt.text import (
    FormatError,
    InputError,
    PathLike,
    RyptError,
    decoded_line,
    open_output,
    plural,
    read_line_blocks,
)
from rypt.texts.treebank import parsed

REFUSED_KEPT = 1000
BATCH = 20_000
LineBlock = tuple[int, list[bytes]]  # the number of the first line, and lines
Understand = Callable[[HitRow, AssignmentRow, str], tuple[HitRow, AssignmentRow, AnswerRows]]


@dataclass(slots=True)
class Imported:
    """What became of the lines of an import; ``others`` are new records that are no segments and no judgments."""

    added: int = 0
    already: int = 0
    segments: int = 0
    unanswered: int = 0
    refused: int = 0
    others: int = 0
    refusals: list[tuple[int, str]] = field(default_factory=list)

    def refuse(self, line: int, message: str) -> None:
        """Count a refused line; the first thousand of the file are kept with their numbers."""
        self.refused += 1
        insort(self.refusals, (line, message))
        del self.refusals[REFUSED_KEPT:]


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge added, and where the two databases contradict each other."""

    added: int
    already: int
    segments: int
    conflicts: list[str]
    others: int = 0


def import_file(
    db: JudgmentDatabase,
    path: PathLike,
    *,
    blocks: Iterable[LineBlock] | None = None,
    rename: Mapping[str, str] | None = None,
    defaults: Mapping[str, str] | None = None,
    skip_refused: bool = False,
    replace_trees: bool = False,
    understand: Understand | None = None,
) -> Imported:
    """Import one file in one transaction.

    A line that is refused stops the import and nothing is changed, unless ``skip_refused``. ``rename`` maps the
    file's own column names to ours; ``defaults`` fills fields that the file does not have or leaves blank, except for a
    blank label. ``blocks`` replaces reading ``path``, for a caller who shows progress (`rypt.text.read_line_blocks`).
    ``understand`` reads what the form of an assignment says, for a database with that ``case``:
    `hits.results.content.understand_rows`; without it a record of an assignment is refused. Memory stays bounded:
    judgments wait in a temporary file.
    """
    result = Imported()
    with _Staging(db, path, rename or {}, {"source": "import", **(defaults or {})}, result) as staging:
        with db.errors():
            staging.read(read_line_blocks(path) if blocks is None else blocks)
        with db.writing():
            _add_staged_segments(db, result, replace_trees)
            _put_staged_others(db, result, understand)
            _insert_staged(db, staging.judgments, result, skip_refused=skip_refused)
            if result.refused and not skip_refused:
                line, message = result.refusals[0]
                more = f" ({plural(result.refused - 1, 'more line')} refused)" if result.refused > 1 else ""
                raise InputError(path, line, message + more)
            if result.others:
                AnswerTables(db).settle_weights()
    return result


def _filled_in(record: Record, defaults: Mapping[str, str]) -> Record:
    """A record without the blank fields that have a default; a blank label stays, for nobody answered."""
    return {
        name: value
        for name, value in record.items()
        if name == "label" or name not in defaults or (value is not None and str(value).strip())
    }


class _Staging:
    """What a file holds, checked line by line, before the database is locked."""

    def __init__(
        self,
        db: JudgmentDatabase,
        path: PathLike,
        rename: Mapping[str, str],
        defaults: Mapping[str, str],
        result: Imported,
    ) -> None:
        self.db = db
        self.path = path
        self.rename = rename
        self.defaults = defaults
        self.result = result
        self.judgments = StagedJudgments()
        self._rows: list[tuple[Any, ...]] = []  # judgments that were read one by one

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.judgments.close()

    def read(self, blocks: Iterable[LineBlock]) -> None:
        """Read a JSONL, CSV or TSV file."""
        self.db.db.executescript("""
            DROP TABLE IF EXISTS temp.incoming_segments;
            DROP TABLE IF EXISTS temp.incoming_others;
            CREATE TEMP TABLE incoming_segments (line INTEGER, id TEXT, text TEXT, tree TEXT, language TEXT);
            CREATE TEMP TABLE incoming_others (line INTEGER, field TEXT, record TEXT);
        """)
        try:
            remaining = iter(blocks)
            if (head := self._head(remaining)) is not None:
                if head[1][0].lstrip().startswith(b"{"):
                    for first, lines in chain([head], remaining):
                        self._read_json(first, lines)
                else:
                    self._read_table(chain([head], remaining))
            self._stage_rows()
        except OSError as error:
            message = f"cannot write a temporary file: {error.strerror or error} (nothing was changed)"
            raise DatabaseError(self.db.path, message) from None
        self.db.db.commit()

    def _head(self, blocks: Iterator[LineBlock]) -> LineBlock | None:
        """The first lines, from the first one that is not blank on."""
        for first, lines in blocks:
            for i, raw in enumerate(lines):
                if decoded_line(self.path, first + i, raw).strip():
                    return first + i, lines[i:]
        return None

    def _read_json(self, first: int, lines: list[bytes]) -> None:
        """Read lines of JSON: most judgments as columns, everything else one by one."""
        from rypt.database.line_columns import read_judgments  # loads msgspec

        others = list(range(len(lines)))
        if not self.rename:
            columns, others = read_judgments(lines, first, case=self.db.case, defaults=self.defaults)
            if columns is not None:
                self.judgments.add(columns)
        for i in others:
            line = decoded_line(self.path, first + i, lines[i])
            if not line.strip():
                continue
            try:
                record = parse_json(line)
            except SyntaxFormatError as error:
                self.result.refuse(first + i, f"expected a JSON object: {error}")
                continue
            if isinstance(record, dict):
                self._take(first + i, {self.rename.get(name, name): value for name, value in record.items()})
            else:
                self.result.refuse(first + i, f"expected a JSON object, found {line[:40]!r}")

    def _read_table(self, blocks: Iterable[LineBlock]) -> None:
        """Read a CSV or TSV file; its first line names the columns."""
        lines = (
            (number, decoded_line(self.path, number, raw))
            for first, block in blocks
            for number, raw in enumerate(block, start=first)
        )
        first, text = next(lines)
        delimiter = max("\t,;", key=text.count)
        names = [name.strip() for name in next(_csv_rows(self.path, [(first, text)], delimiter))[1]]
        missing = set(self.rename) - set(names)
        if missing:
            message = f"expected the columns to rename, {sorted(missing)}, found {names}"
            raise InputError(self.path, first, message)
        header = [self.rename.get(name, name) for name in names]
        if not {"label", "text"} & set(header):
            message = f"expected a column label (judgments) or text (segments), found {header}"
            raise InputError(self.path, first, message)
        for number, row in _csv_rows(self.path, lines, delimiter):
            if len(row) != len(header):
                self.result.refuse(number, f"expected {len(header)} fields, found {len(row)}")
            else:
                self._take(number, dict(zip(header, row, strict=True)))

    def _take(self, line: int, record: Record) -> None:
        """Stage one record; what is wrong with it is refused."""
        db, execute = self.db, self.db.db.execute
        try:
            has_label = "label" in record
            if "text" in record and not has_label:
                segment = segment_from_record(record)
                parsed(segment)
                values = (line, segment.id, segment.text, segment.tree, segment.language)
                execute("INSERT INTO incoming_segments VALUES (?, ?, ?, ?, ?)", values)
            elif not has_label and (name := next((name for name in record if name in OTHER_FIELDS), None)):
                execute("INSERT INTO incoming_others VALUES (?, ?, ?)", (line, name, json.dumps(record)))
            elif is_unanswered(complete := {**self.defaults, **_filled_in(record, self.defaults)}):
                self.result.unanswered += 1
            elif "label" in complete:
                self._rows.append((line, *db.row(judgment_from_record(complete))))
            else:
                raise FormatError("expected a label (a judgment) or a text (a segment)")
        except RyptError as error:
            self.result.refuse(line, str(error))
        if len(self._rows) >= BATCH:
            self._stage_rows()

    def _stage_rows(self) -> None:
        if self._rows:
            self.judgments.add(JudgmentColumns.from_rows(self._rows))
            self._rows.clear()


def _csv_rows(
    path: PathLike, lines: Iterable[tuple[int, str]], delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line on which they begin; TSV takes quotation marks as they stand, CSV as quotes."""
    if delimiter == "\t":
        yield from ((number, line.split("\t")) for number, line in lines if line.strip())
        return
    with_ends = ((number, f"{line}\n") for number, line in lines)
    rows = csv_rows(path, with_ends, delimiter=delimiter)
    yield from ((number, [restore(cell) for cell in row]) for number, row in rows if row)


def _add_staged_segments(db: JudgmentDatabase, result: Imported, replace_trees: bool) -> None:
    rows = db.db.execute("SELECT line, id, text, tree, language FROM incoming_segments ORDER BY line")
    for line, *values in rows:
        try:
            result.segments += db.add_segment(Segment(*values), replace_trees)
        except DatabaseError as error:
            result.refuse(line, str(error))


def _put_staged_others(db: JudgmentDatabase, result: Imported, understand: Understand | None) -> None:
    """Exclusions, assignments and ties; the judgments that belong to them may come before or after."""
    tables = AnswerTables(db)
    for line, name, text in db.db.execute("SELECT line, field, record FROM incoming_others ORDER BY line"):
        try:
            result.others += _put_other(db, tables, name, json.loads(text), understand)
        except RyptError as error:
            result.refuse(line, str(error))


def _put_other(
    db: JudgmentDatabase, tables: AnswerTables, name: str, record: Record, understand: Understand | None
) -> bool:
    """Inside a transaction: add a record that is no judgment and no segment; False where it was there."""
    if name == "excluded":
        return db.put_excluded(*excluded_from_record(record))
    if name == "identical":
        return tables.put_identical([identical_from_record(record)]) > 0
    if understand is None:
        raise FormatError(
            "expected judgments and segments, found an assignment, which the caller cannot read"
        )
    hit, assignment, paid = assignment_from_record(record)
    return tables.put_merged(*understand(hit, assignment, db.case), paid)


def _insert_staged(
    db: JudgmentDatabase, judgments: StagedJudgments, result: Imported, *, skip_refused: bool
) -> None:
    """Move staged judgments over, part by part; those of unknown segments or outside their segment are refused."""
    sizes = {segment.id: len(segment.tokens) for segment in db.segments()}
    before, taken = db.count(), 0
    writer = ColumnWriter(db.db)
    for columns in judgments.parts():
        tokens = np.array([sizes.get(segment, -1) for segment in columns.segment.texts], np.int64)
        fits = columns.stop <= tokens[columns.segment.codes]
        if not fits.all():
            _refuse_misplaced(columns, ~fits, tokens, result)
            columns = columns.take(np.flatnonzero(fits))
        taken += len(columns)
        if skip_refused or not result.refused:
            writer.put(columns)
    result.added = db.count() - before
    result.already = taken - result.added
    for table in ("incoming_segments", "incoming_others"):
        db.db.execute(f"DROP TABLE temp.{table}")


def _refuse_misplaced(
    columns: JudgmentColumns, misplaced: NDArray[np.bool_], tokens: Ints, result: Imported
) -> None:
    places = np.flatnonzero(misplaced)
    places = places[np.argsort(columns.line[places])]
    for i in places[:REFUSED_KEPT].tolist():
        segment = columns.segment.texts[columns.segment.codes[i]]
        size, span = tokens[columns.segment.codes[i]], Span(int(columns.start[i]), int(columns.stop[i]))
        message = f"segment {segment!r} is not in the database"
        if size >= 0:
            message = f"span {span} is outside segment {segment}, which has {plural(size, 'token')}"
        result.refuse(int(columns.line[i]), message)
    result.refused += len(places[REFUSED_KEPT:])


def export_jsonl(db: JudgmentDatabase, stream: TextIO) -> int:
    """Write all segments, judgments and other records; importing it into an empty database gives the same one."""
    count = 0
    with db.snapshot():
        for record in chain(
            map(segment_record, db.segments()), map(judgment_record, db.judgments()), _others(db)
        ):
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    return count


def _others(db: JudgmentDatabase) -> Iterator[Record]:
    """What is no segment and no judgment: excluded workers, assignments in the order in which they came, same texts."""
    yield from (excluded_record(*each) for each in db.excluded().items())
    tables = AnswerTables(db)
    paid = tables.bonuses()
    for hit, assignment in tables.assignments():
        yield assignment_record(hit, assignment, paid.get(assignment.id, []))
    yield from map(identical_record, tables.identical())


def export_file(db: JudgmentDatabase, path: PathLike, *, form: str = "jsonl", segments: bool = False) -> int:
    """Write everything as ``jsonl``, or the judgments (or the segments) as ``csv``; returns the number of records."""
    check_option("form", form, ("jsonl", "csv"))
    refuse_itself(db, path)
    with open_output(path) as stream:
        return export_csv(db, stream, segments=segments) if form == "csv" else export_jsonl(db, stream)


def refuse_itself(db: JudgmentDatabase, path: PathLike) -> None:
    """Refuse to write to the file of a database."""
    if str(path) != "-" and Path(path).exists() and Path(path).samefile(db.path):
        raise InputError(path, None, "is the database itself")


def export_csv(db: JudgmentDatabase, stream: TextIO, *, segments: bool = False) -> int:
    """Write the judgments, or the segments, as CSV with a header; a column ``severity`` if some judgment has one."""
    with db.snapshot():
        if segments:
            return write_records(stream, SEGMENT_FIELDS, map(segment_record, db.segments()))
        names = JUDGMENT_FIELDS if db.has_severities() else JUDGMENT_FIELDS[:-1]
        return write_records(stream, names, map(judgment_record, db.judgments()))


@contextmanager
def new_database(path: Path, case: str | None = None) -> Iterator[JudgmentDatabase]:
    """A database that appears at ``path``, whole, when the block ends without an error and has put something into it.

    Until then it stands beside it under a name of its own, so a failure leaves nothing behind. A database that another
    process makes at ``path`` meanwhile is never removed: it takes over what is here.
    """
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        with _named(scratch, path, case) as db:
            yield db
            filled = bool(db.segments()) or db.count() > 0
        if filled:
            _publish(scratch, path)
    finally:
        for suffix in ("", "-wal", "-shm"):
            scratch.with_name(scratch.name + suffix).unlink(missing_ok=True)


def _named(scratch: Path, path: Path, case: str | None) -> JudgmentDatabase:
    """A database whose messages name the path it will have."""
    try:
        db = JudgmentDatabase(scratch, case=case)
    except DatabaseError as error:
        raise DatabaseError(path, str(error).removeprefix(f"{scratch}: ")) from None
    db.path = path
    return db


def _publish(scratch: Path, path: Path) -> None:
    """Give a closed database its name; where there is one by now, or names cannot be linked, merge it."""
    try:
        os.link(scratch, path)
    except OSError:
        with JudgmentDatabase(scratch, readonly=True) as db:
            case = db.case
        with JudgmentDatabase(path, case=case) as db:
            merge(db, scratch)


def merge(db: JudgmentDatabase, other: PathLike, *, replace_trees: bool = False) -> Merged:
    """Take over everything of another database: each judgment once; texts that differ stop it, nothing changed.

    A worker excluded in either is excluded in the result; assignments, their bonuses and ties come along.
    """
    with JudgmentDatabase(other, readonly=True) as second:
        if second.case != db.case:
            raise DatabaseError(
                other, f"compares phrases with case:{second.case}, {db.path} with case:{db.case}"
            )
        conflicts: list[str] = []
        with db.writing():
            new_segments = sum(db.add_segment(segment, replace_trees) for segment in second.segments())
            before, total = db.count(), second.count()
            conflicts = _conflicts(db, second)
            rows = second.db.execute(f"SELECT {COLUMNS} FROM judgments ORDER BY {IDENTITY}")
            db.put_rows(rows)
            added = db.count() - before
            others = _merge_others(db, second)
    return Merged(added, total - added, new_segments, conflicts, others)


def _merge_others(db: JudgmentDatabase, second: JudgmentDatabase) -> int:
    """Inside a transaction: take over exclusions, assignments and ties; returns how many are new."""
    tables, theirs = AnswerTables(db), AnswerTables(second)
    added = sum(db.put_excluded(worker, reason) for worker, reason in second.excluded().items())
    paid = theirs.bonuses()
    for hit, assignment in theirs.assignments():
        added += tables.put_merged(
            hit, assignment, theirs.answers(assignment.id), paid.get(assignment.id, [])
        )
    added += tables.put_identical(theirs.identical())
    tables.settle_weights()
    return added


def _conflicts(db: JudgmentDatabase, second: JudgmentDatabase) -> list[str]:
    """Keys to which one worker, in one origin, gave different labels in the two databases."""
    conflicts = []
    sql = """
        SELECT label FROM judgments
        WHERE segment = ? AND start = ? AND stop = ? AND phrase = ? AND worker = ? AND origin = ? AND label <> ?
    """
    for j in second.judgments():
        key = (j.segment, *j.span, j.phrase, j.worker, j.origin, str(j.label))
        for (label,) in db.db.execute(sql, key):
            conflicts.append(
                f"segment {j.segment} {j.span} {j.phrase!r}: worker {j.worker} said {label} and {j.label}"
            )
    return conflicts
