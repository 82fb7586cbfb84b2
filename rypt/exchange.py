"""Judgments and segments in and out of the database: JSONL, CSV, TSV, and other databases.

One record a line. A record with a ``label`` is a judgment, one with a ``text`` is a segment. Spans are ``start`` and
``stop`` (not included), or ``first`` and ``last`` (included).
"""

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Any, TextIO

from rypt.database import COLUMNS, IDENTITY, KEEP_BOTH, DatabaseError, JudgmentDatabase
from rypt.records import SOURCES, Judgment, Label, Segment, Span
from rypt.text import FormatError, InputError, PathLike, RyptError, read_lines

Record = Mapping[str, Any]
JUDGMENT_FIELDS = ("segment", "start", "stop", "phrase", "label", "worker", "origin", "source", "time", "weight")
SEGMENT_FIELDS = ("id", "text", "tree", "language")
REFUSED_KEPT = 1000
BATCH = 20_000


@dataclass(slots=True)
class Imported:
    """What became of the lines of an import."""

    added: int = 0
    already: int = 0
    segments: int = 0
    refused: int = 0
    refusals: list[tuple[int, str]] = field(default_factory=list)

    def refuse(self, line: int, message: str) -> None:
        """Count a refused line; the first thousand are kept with their numbers."""
        self.refused += 1
        if len(self.refusals) < REFUSED_KEPT:
            self.refusals.append((line, message))


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge added, and where the two databases contradict each other."""

    added: int
    already: int
    segments: int
    conflicts: list[str]


def import_file(
    db: JudgmentDatabase,
    path: PathLike,
    *,
    lines: Iterable[tuple[int, str]] | None = None,
    rename: Mapping[str, str] | None = None,
    defaults: Mapping[str, str] | None = None,
    skip_refused: bool = False,
    replace_trees: bool = False,
) -> Imported:
    """Import one file in one transaction.

    A line that is refused stops the import and nothing is changed, unless ``skip_refused``. ``rename`` maps the
    file's own column names to ours; ``defaults`` fills fields the file does not have. ``lines`` replaces reading
    ``path``, for a caller who shows progress. Memory stays bounded: rows wait in a temporary table.
    """
    result = Imported()
    records = read_records(path, lines if lines is not None else read_lines(path), rename or {}, result)
    with db.writing():
        _stage(db, records, {"source": "import", **(defaults or {})}, result, replace_trees)
        _refuse_misplaced(db, result)
        if result.refused and not skip_refused:
            line, message = min(result.refusals)
            more = f" ({result.refused - 1} more lines refused)" if result.refused > 1 else ""
            raise InputError(path, line, message + more)
        _insert_staged(db, result)
    return result


def read_records(
    path: PathLike, lines: Iterable[tuple[int, str]], rename: Mapping[str, str], result: Imported
) -> Iterator[tuple[int, Record]]:
    """Numbered records of a JSONL, CSV or TSV file; what cannot be read is refused."""
    rows = iter(lines)
    first = next(((number, line) for number, line in rows if line.strip()), None)
    if first is None:
        return
    if first[1].lstrip().startswith("{"):
        yield from _json_records([first], rename, result)
        yield from _json_records(rows, rename, result)
        return
    delimiter = "\t" if "\t" in first[1] else ","
    header = [rename.get(name.strip(), name.strip()) for name in next(_csv_rows([first], delimiter))[1]]
    if not {"label", "text"} & set(header):
        raise InputError(path, first[0], f"expected a column label (judgments) or text (segments), found {header}")
    for number, row in _csv_rows(rows, delimiter):
        if len(row) != len(header):
            result.refuse(number, f"expected {len(header)} fields, found {len(row)}")
        else:
            yield number, dict(zip(header, row, strict=True))


def _json_records(
    lines: Iterable[tuple[int, str]], rename: Mapping[str, str], result: Imported
) -> Iterator[tuple[int, Record]]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            result.refuse(number, f"expected a JSON object: {error}")
            continue
        if isinstance(record, dict):
            yield number, {rename.get(name, name): value for name, value in record.items()} if rename else record
        else:
            result.refuse(number, f"expected a JSON object, found {line[:40]!r}")


def _csv_rows(lines: Iterable[tuple[int, str]], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of their last line; TSV takes quotation marks as they stand, CSV as quotes."""
    if delimiter == "\t":
        yield from ((number, line.split("\t")) for number, line in lines if line.strip())
        return
    number = 0

    def feed() -> Iterator[str]:
        nonlocal number
        for number, line in lines:  # noqa: B007
            yield line + "\n"

    for row in csv.reader(feed()):
        if row:
            yield number, row


def _stage(
    db: JudgmentDatabase,
    records: Iterable[tuple[int, Record]],
    defaults: Mapping[str, str],
    result: Imported,
    replace_trees: bool,
) -> None:
    """Put judgments into a temporary table and segments where they belong."""
    db.db.conn.execute("DROP TABLE IF EXISTS temp.incoming")
    db.db.conn.execute("""
        CREATE TEMP TABLE incoming (
            line INTEGER, segment TEXT, start INTEGER, stop INTEGER, phrase TEXT, worker TEXT, origin TEXT, label TEXT,
            source TEXT, time INTEGER, weight REAL)
    """)
    batch: list[tuple[Any, ...]] = []
    insert = f"INSERT INTO incoming VALUES ({', '.join('?' * 11)})"
    for line, record in records:
        try:
            if "label" in record:
                batch.append((line, *db.row(judgment_from_record({**defaults, **record}))))
            elif "text" in record:
                result.segments += db._add_segment(segment_from_record(record), replace_trees)
            else:
                raise FormatError("expected a label (a judgment) or a text (a segment)")
        except RyptError as error:
            result.refuse(line, str(error))
        if len(batch) >= BATCH:
            db.db.conn.executemany(insert, batch)
            batch.clear()
    db.db.conn.executemany(insert, batch)


def _refuse_misplaced(db: JudgmentDatabase, result: Imported) -> None:
    """Take out staged judgments of unknown segments and of spans outside their segment."""
    execute = db.db.conn.execute
    execute("DROP TABLE IF EXISTS temp.sizes")
    execute("CREATE TEMP TABLE sizes (id TEXT PRIMARY KEY, tokens INTEGER) WITHOUT ROWID")
    sizes = ((segment.id, len(segment.tokens)) for segment in db.segments())
    db.db.conn.executemany("INSERT INTO sizes VALUES (?, ?)", sizes)
    misplaced = """
        SELECT line, segment, start, stop, tokens FROM incoming LEFT JOIN sizes ON segment = id
        WHERE tokens IS NULL OR stop > tokens
    """
    for line, segment, start, stop, tokens in execute(misplaced):
        if tokens is None:
            result.refuse(line, f"segment {segment!r} is not in the database")
        else:
            result.refuse(line, f"span {start}-{stop} is outside segment {segment}, which has {tokens} tokens")
    execute(f"DELETE FROM incoming WHERE line IN (SELECT line FROM ({misplaced}))")


def _insert_staged(db: JudgmentDatabase, result: Imported) -> None:
    """Move staged judgments over; the window sorts them in the order of the table, so that its pages fill up."""
    execute = db.db.conn.execute
    staged = execute("SELECT count(*) FROM incoming").fetchone()[0]
    before = db.count()
    execute(f"""
        INSERT INTO judgments ({COLUMNS})
        SELECT segment, start, stop, phrase, worker, origin, label, row_number() OVER (
            PARTITION BY segment, start, stop, phrase, worker, origin, label ORDER BY line), source, time, weight
        FROM incoming WHERE true {KEEP_BOTH}
    """)
    result.added = db.count() - before
    result.already = staged - result.added
    execute("DROP TABLE incoming")
    execute("DROP TABLE sizes")


def judgment_from_record(record: Record) -> Judgment:
    """Read one judgment; what is missing or wrong is named."""
    segment, phrase, worker = (_text(record, name) for name in ("segment", "phrase", "worker"))
    if "start" in record:
        span = Span(_whole(record, "start"), _whole(record, "stop"))
    else:
        span = Span.inclusive(_whole(record, "first"), _whole(record, "last"))
    if not 0 <= span.start < span.stop:
        raise FormatError(f"expected a span of at least one token, found {span}")
    source = str(record.get("source") or "import")
    if source not in SOURCES:
        raise FormatError(f"expected a source hit, import or simulation, found {source!r}")
    label = Label.parse(str(record["label"] if record["label"] is not None else ""))
    origin = str(record.get("origin") or "")
    return Judgment(segment, span, phrase, label, worker, origin, source, _time(record), _weight(record))


def segment_from_record(record: Record) -> Segment:
    """Read one segment."""
    text = _text(record, "text")
    return Segment(_text(record, "id"), text, record.get("tree") or None, record.get("language") or None)


def _text(record: Record, name: str) -> str:
    value = record.get(name)
    if type(value) is str and value.isprintable() and value.strip():
        return value
    if value is None or isinstance(value, (dict, list)) or not str(value).strip():
        raise FormatError(f"expected a field {name}, found {'nothing' if value is None else repr(value)}")
    return re.sub(r"[\r\n\x00]+", " ", str(value))


def _whole(record: Record, name: str) -> int:
    value = record.get(name)
    if type(value) is int and 0 <= value < 10**9:
        return value
    if value is None or isinstance(value, bool) or not re.fullmatch(r"\d{1,9}", str(value).strip()):
        raise FormatError(f"expected a whole number in the field {name}, found {value!r}")
    return int(value)


def _weight(record: Record) -> float:
    value = record.get("weight")
    try:
        weight = 1.0 if value in (None, "") else float(str(value))
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise FormatError(f"expected a weight of at least 0, found {value!r}")
    return weight


def _time(record: Record) -> int | None:
    value = record.get("time")
    if value in (None, ""):
        return None
    text = str(value).strip()
    if re.fullmatch(r"\d{1,12}", text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise FormatError(f"expected a time like 2026-11-16T09:30:00Z, found {value!r}") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def judgment_record(judgment: Judgment) -> dict[str, Any]:
    """A judgment as it is exported; `judgment_from_record` reads it back."""
    j = judgment
    time = None if j.time is None else datetime.fromtimestamp(j.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    values = (j.segment, *j.span, j.phrase, str(j.label), j.worker, j.origin, j.source, time, j.weight)
    return dict(zip(JUDGMENT_FIELDS, values, strict=True))


def segment_records(db: JudgmentDatabase) -> Iterator[dict[str, Any]]:
    """The segments as they are exported; `segment_from_record` reads them back."""
    return ({name: getattr(segment, name) for name in SEGMENT_FIELDS} for segment in db.segments())


def export_jsonl(db: JudgmentDatabase, stream: TextIO) -> int:
    """Write all segments, then all judgments; importing it into an empty database gives the same one."""
    count = 0
    for record in chain(segment_records(db), map(judgment_record, db.judgments())):
        stream.write(json.dumps(record, ensure_ascii=False) + "\n")
        count += 1
    return count


def export_csv(db: JudgmentDatabase, stream: TextIO, *, segments: bool = False) -> int:
    """Write the judgments, or the segments, as CSV with a header."""
    writer = csv.DictWriter(stream, SEGMENT_FIELDS if segments else JUDGMENT_FIELDS, lineterminator="\n")
    writer.writeheader()
    count = 0
    for record in segment_records(db) if segments else map(judgment_record, db.judgments()):
        writer.writerow(record)
        count += 1
    return count


def merge(db: JudgmentDatabase, other: PathLike, *, replace_trees: bool = False) -> Merged:
    """Take over everything of another database: each judgment once; texts that differ stop it, nothing changed."""
    with JudgmentDatabase(other, readonly=True) as second:
        if second.case != db.case:
            raise DatabaseError(other, f"compares phrases with case:{second.case}, {db.path} with case:{db.case}")
        conflicts: list[str] = []
        with db.writing():
            new_segments = sum(db._add_segment(segment, replace_trees) for segment in second.segments())
            before, total = db.count(), second.count()
            conflicts = _conflicts(db, second)
            rows = second.db.execute(f"SELECT {COLUMNS} FROM judgments ORDER BY {IDENTITY}")
            values = ", ".join("?" * len(COLUMNS.split(",")))
            db.db.conn.executemany(f"INSERT INTO judgments ({COLUMNS}) VALUES ({values}) {KEEP_BOTH}", rows)
            added = db.count() - before
    return Merged(added, total - added, new_segments, conflicts)


def _conflicts(db: JudgmentDatabase, second: JudgmentDatabase) -> list[str]:
    """Keys to which one worker, in one origin, gave different labels in the two databases."""
    found = []
    sql = """
        SELECT label FROM judgments
        WHERE segment = ? AND start = ? AND stop = ? AND phrase = ? AND worker = ? AND origin = ? AND label <> ?
    """
    for j in second.judgments():
        key = (j.segment, *j.span, j.phrase, j.worker, j.origin, str(j.label))
        for (label,) in db.db.conn.execute(sql, key):
            found.append(f"segment {j.segment} {j.span} {j.phrase!r}: worker {j.worker} said {label} and {j.label}")
    return found
