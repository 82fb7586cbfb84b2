"""Judgments, segments and excluded workers in and out of the database: JSONL, CSV, TSV, and other databases.

One record a line. A record with a ``label`` is a judgment, one with a ``text`` is a segment, one with ``excluded`` a
worker whose judgments do not count. Spans are ``start`` and ``stop`` (not included), or ``first`` and ``last``
(included).
"""

import json
import math
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from rypt.csv_rows import csv_rows, restore, write_records
from rypt.database.judgments import DatabaseError, JudgmentDatabase, Writer
from rypt.database.schema import SQLITE_HEAD
from rypt.options import check_option
from rypt.records import SOURCES, Judgment, Record, Segment, Span, parse_label
from rypt.strict import SyntaxFormatError, parse_json
from rypt.text import (
    FormatError,
    InputError,
    NumberedLines,
    PathLike,
    RyptError,
    is_one_line,
    one_line,
    open_output,
    plural,
    read_lines,
)
from rypt.texts.treebank import parsed

REFUSALS = 1000  # listed with their lines
PLAIN_FIELDS = ("segment", "start", "stop", "phrase", "label", "worker", "origin", "source", "time", "weight")
JUDGMENT_FIELDS = (*PLAIN_FIELDS, "severity")
SEGMENT_FIELDS = ("id", "text", "tree", "language")
NAMES = ("segment", "worker", "origin", "id", "language")  # shown in tables and messages
LONGEST_NAME = 1000
LARGEST_NUMBER = 1e6  # sums of weights stay exact far beyond
TOO_LATE = 253402300800  # seconds from 1970 to the year 10000
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(slots=True)
class Imported:
    """What became of the records of an import; ``others`` are workers who were not excluded before.

    ``refusals`` has the first thousand refused lines; ``conflicts`` are the keys to which one worker gave different
    labels in two databases.
    """

    added: int = 0
    already: int = 0
    segments: int = 0
    unanswered: int = 0
    refused: int = 0
    others: int = 0
    refusals: list[tuple[int, str]] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)


def import_file(
    db: JudgmentDatabase,
    path: PathLike,
    *,
    lines: NumberedLines | None = None,
    rename: Mapping[str, str] | None = None,
    defaults: Mapping[str, str] | None = None,
    skip_refused: bool = False,
    replace_trees: bool = False,
) -> Imported:
    """Import one file in one transaction: JSONL, CSV, TSV, or another judgment database (`merge`).

    A line that is refused stops the import and nothing is changed, unless ``skip_refused``. ``rename`` maps the
    file's own column names to ours; ``defaults`` fills fields that the file does not have or leaves blank, except for a
    blank label. ``lines`` replaces reading ``path``, for a caller who shows progress.
    """
    if is_database(path):
        return merge(db, path, replace_trees=replace_trees)
    lines = read_lines(path) if lines is None else lines
    if str(path) == "-":
        lines = list(lines)  # they may come slowly, and the database is locked from here on
    defaults = {"source": "import", **(defaults or {})}
    result = Imported()
    with db.writing():
        before = db.count()
        writer = Writer(db.db.conn, db.case, count_repeats=True)
        sizes = {segment.id: len(segment.tokens) for segment in db.segments()}
        for line, record in _records(path, lines, rename or {}):
            try:
                if isinstance(record, str):
                    raise FormatError(record)
                if "label" in record or not {"text", "excluded", "assignment"} & record.keys():
                    judgment = _judgment(record, defaults, sizes)
                    if judgment is None:
                        result.unanswered += 1
                    else:
                        writer.add(judgment)
                        result.already += 1
                elif "text" in record:
                    segment = segment_from_record(record)
                    parsed(segment)
                    result.segments += db.put_segment(segment, replace_trees)
                    sizes[segment.id] = len(segment.tokens)
                elif "excluded" in record:
                    worker, reason = record["excluded"], record.get("reason", "")
                    if not isinstance(worker, str) or not worker.strip() or not isinstance(reason, str):
                        raise FormatError(f"expected a worker in the field excluded, found {worker!r}")
                    result.others += db.put_excluded(worker, reason)
                else:
                    raise FormatError(
                        "expected judgments and segments, found an answer to a hit (rypt import --format results)"
                    )
            except RyptError as error:
                result.refused += 1
                if result.refused <= REFUSALS:
                    result.refusals.append((line, str(error)))
        if result.refused and not skip_refused:
            line, message = result.refusals[0]
            more = f" ({plural(result.refused - 1, 'more line')} refused)" if result.refused > 1 else ""
            raise InputError(path, line, message + more)
        writer.flush()
        result.added = db.count() - before
        result.already -= result.added
    return result


def _judgment(
    record: dict[str, Any], defaults: Mapping[str, str], sizes: Mapping[str, int]
) -> Judgment | None:
    """The judgment of a record, None for a question that was not answered; ``sizes`` are the tokens of segments."""
    for name, value in defaults.items():
        if name not in record or (name != "label" and _is_blank(record[name])):
            record[name] = value
    if "label" not in record:
        raise FormatError("expected a label (a judgment) or a text (a segment)")
    if _is_blank(record["label"]):
        return None
    judgment = judgment_from_record(record)
    size = sizes.get(judgment.segment)
    if size is None:
        raise FormatError(f"segment {judgment.segment!r} is not in the database")
    if judgment.span.stop > size:
        where = f"segment {judgment.segment}, which has {plural(size, 'token')}"
        raise FormatError(f"span {judgment.span} is outside {where}")
    return judgment


def _records(
    path: PathLike, lines: NumberedLines, rename: Mapping[str, str]
) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The records of a JSONL, CSV or TSV file with their lines; of a line that has none, what was expected."""
    numbered = iter(lines)
    first = next(((number, text) for number, text in numbered if text.strip()), None)
    if first is None:
        return
    if not first[1].lstrip().startswith("{"):
        yield from _table_records(path, first, numbered, rename)
        return
    for number, text in chain([first], numbered):
        if not text.strip():
            continue
        try:
            record = parse_json(text)
        except SyntaxFormatError as error:
            yield number, f"expected a JSON object: {error}"
            continue
        if isinstance(record, dict):
            yield number, {rename.get(name, name): value for name, value in record.items()}
        else:
            yield number, f"expected a JSON object, found {text[:40]!r}"


def _table_records(
    path: PathLike, first: tuple[int, str], lines: Iterator[tuple[int, str]], rename: Mapping[str, str]
) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The records of a CSV or TSV file, whose first line names the columns."""
    number, text = first
    delimiter = max("\t,;", key=text.count)
    names = [name.strip() for name in next(_table_rows(path, [first], delimiter))[1]]
    if missing := set(rename) - set(names):
        raise InputError(path, number, f"expected the columns to rename, {sorted(missing)}, found {names}")
    header = [rename.get(name, name) for name in names]
    if not {"label", "text"} & set(header):
        message = f"expected a column label (judgments) or text (segments), found {header}"
        raise InputError(path, number, message)
    for number, row in _table_rows(path, lines, delimiter):
        if len(row) == len(header):
            yield number, dict(zip(header, row, strict=True))
        else:
            yield number, f"expected {len(header)} fields, found {len(row)}"


def _table_rows(path: PathLike, lines: NumberedLines, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line on which they begin; TSV has quotation marks as text, CSV as quotes."""
    if delimiter == "\t":
        yield from ((number, line.split("\t")) for number, line in lines if line.strip())
        return
    with_ends = ((number, f"{line}\n") for number, line in lines)
    rows = csv_rows(path, with_ends, delimiter=delimiter)
    yield from ((number, [restore(cell) for cell in row]) for number, row in rows if row)


def export_file(db: JudgmentDatabase, path: PathLike, *, form: str = "jsonl", segments: bool = False) -> int:
    """Write everything as ``jsonl``, or the judgments (or the segments) as ``csv``; return the number of records.

    Importing the JSONL into an empty database gives the same one. CSV has a column ``severity`` if some judgment has one.
    """
    check_option("form", form, ("jsonl", "csv"))
    refuse_itself(db, path)
    with open_output(path) as stream, db.snapshot():
        of_segments, of_judgments = map(segment_record, db.segments()), map(judgment_record, db.judgments())
        if form == "csv" and segments:
            return write_records(stream, SEGMENT_FIELDS, of_segments)
        if form == "csv":
            graded = db.rows("SELECT 1 FROM judgment_rows WHERE severity IS NOT NULL LIMIT 1")
            return write_records(stream, JUDGMENT_FIELDS if graded else PLAIN_FIELDS, of_judgments)
        excluded = ({"excluded": worker, "reason": reason} for worker, reason in db.excluded().items())
        count = 0
        for record in chain(of_segments, of_judgments, excluded):
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
        return count


def is_database(path: PathLike) -> bool:
    if not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(SQLITE_HEAD)) == SQLITE_HEAD


def refuse_itself(db: JudgmentDatabase, path: PathLike) -> None:
    if str(path) != "-" and Path(path).exists() and db.path.exists() and db.path.samefile(path):
        raise InputError(path, None, "is the database itself")


@contextmanager
def new_database(path: Path, case: str | None = None) -> Iterator[JudgmentDatabase]:
    """A database that appears at ``path``, whole, when the block ends without an error.

    Until then it has a name of its own, so a failure leaves nothing behind. Where another process has made one at
    ``path`` meanwhile, the two are merged.
    """
    if not path.parent.is_dir():
        raise DatabaseError(path, "No such file or directory")
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        with JudgmentDatabase(scratch, case=case) as db:
            db.path = path
            yield db
        try:
            os.link(scratch, path)
        except OSError:  # it exists by now, or the file system has no links
            with JudgmentDatabase(path, case=db.case) as other:
                merge(other, scratch)
    finally:
        for suffix in ("", "-wal", "-shm"):
            scratch.with_name(scratch.name + suffix).unlink(missing_ok=True)


def merge(db: JudgmentDatabase, other: PathLike, *, replace_trees: bool = False) -> Imported:
    """Take over segments, judgments and exclusions of another database: each judgment once.

    Texts that differ stop it, with nothing changed. A worker excluded in either is excluded in the result.
    """
    with JudgmentDatabase(other, readonly=True) as second:
        if second.case != db.case:
            message = f"compares phrases with case:{second.case}, {db.path} with case:{db.case}"
            raise DatabaseError(other, message)
        with db.writing(), second.snapshot():
            segments = second.segments()
            new_segments = sum(db.put_segment(segment, replace_trees) for segment in segments)
            before, total = db.count(), second.count()
            conflicts = [text for segment in segments for text in _conflicts(db, second, segment.id)]
            db.put(second.judgments(), count_repeats=True)
            added = db.count() - before
            excluded = sum(db.put_excluded(*each) for each in second.excluded().items())
    return Imported(added, total - added, new_segments, others=excluded, conflicts=conflicts)


def _conflicts(db: JudgmentDatabase, second: JudgmentDatabase, segment: str) -> Iterator[str]:
    """The keys of a segment to which one worker, in one origin, gave different labels in the two databases."""
    ours: dict[tuple[Any, ...], set[str]] = {}
    for j in db.judgments(segment):
        ours.setdefault((j.span, j.phrase, j.worker, j.origin), set()).add(str(j.label))
    for j in second.judgments(segment):
        for label in sorted(ours.get((j.span, j.phrase, j.worker, j.origin), set()) - {str(j.label)}):
            yield f"segment {segment} {j.span} {j.phrase!r}: worker {j.worker} said {label} and {j.label}"


def judgment_from_record(record: Record) -> Judgment:
    """Read one judgment; what is missing or wrong is named.

    A label such as NO_BADLY means NO and a severity; a number in the field severity takes its place.
    """
    segment, phrase = text_field(record, "segment"), text_field(record, "phrase")
    worker, origin = text_field(record, "worker"), _optional_text(record, "origin") or ""
    if "start" in record:
        span = Span(_whole(record, "start"), _whole(record, "stop"))
    else:
        span = Span.inclusive(_whole(record, "first"), _whole(record, "last"))
    if not 0 <= span.start < span.stop:
        raise FormatError(f"expected a span of at least one token, found {span}")
    source = str(record.get("source") or "import")
    if source not in SOURCES:
        raise FormatError(f"expected a source hit, import or simulation, found {source!r}")
    label, graded = _label(str(record["label"]))
    weight, severity = _number(record, "weight"), _number(record, "severity")
    return Judgment(
        segment,
        span,
        phrase,
        label,
        worker,
        origin,
        source,
        _time(record.get("time")),
        1.0 if weight is None else weight,
        graded if severity is None else severity,
    )


_label = lru_cache(1000)(parse_label)


def judgment_record(judgment: Judgment) -> dict[str, Any]:
    """A judgment as it is exported, ``severity`` only where it has one; `judgment_from_record` reads it back."""
    j = judgment
    time = None if j.time is None else datetime.fromtimestamp(j.time, UTC).isoformat().replace("+00:00", "Z")
    values = (j.segment, *j.span, j.phrase, str(j.label), j.worker, j.origin, j.source, time, j.weight)
    record = dict(zip(PLAIN_FIELDS, values, strict=True))
    return record if j.severity is None else {**record, "severity": j.severity}


def segment_from_record(record: Record) -> Segment:
    text, tree, language = (_optional_text(record, name) for name in ("text", "tree", "language"))
    if not isinstance(record.get("text"), str):
        raise FormatError(f"expected a field text, found {record.get('text')!r}")
    return Segment(text_field(record, "id"), text or "", tree, language)


def segment_record(segment: Segment) -> dict[str, Any]:
    """A segment as it is exported; `segment_from_record` reads it back."""
    return {name: getattr(segment, name) for name in SEGMENT_FIELDS}


def text_field(record: Record, name: str) -> str:
    """The text in a field that must have one."""
    value = record.get(name)
    if type(value) is str and value.isprintable() and value.strip() and len(value) <= LONGEST_NAME:
        return value
    if isinstance(value, str) and "\0" in value:
        raise FormatError(f"expected text in the field {name}, found a NUL character")
    if name in NAMES and len(str(value)) > LONGEST_NAME:
        size = len(str(value))
        raise FormatError(f"expected at most {LONGEST_NAME:,} characters in the field {name}, found {size:,}")
    if isinstance(value, (dict, list)) or _is_blank(value):
        nothing = "nothing" if value is None or isinstance(value, str) else repr(value)
        if name == "worker":
            advice = "who gave this label? (--set worker=NAME names one person for all such lines)"
            raise FormatError(f"expected a worker, found {nothing}: {advice}")
        raise FormatError(f"expected text in the field {name}, found {nothing}")
    text = one_line(str(value))
    if not is_one_line(text):
        raise FormatError(f"expected Unicode text in the field {name}, found {text[:200]!r}")
    if name in NAMES and CONTROL.search(text):
        raise FormatError(f"expected a {name} without control characters, found {text[:200]!r}")
    return text


def _is_blank(value: Any) -> bool:
    return value is None or not str(value).strip(" \t\r\n\0")


def _optional_text(record: Record, name: str) -> str | None:
    return None if _is_blank(record.get(name)) else text_field(record, name)


def _whole(record: Record, name: str) -> int:
    value = record.get(name)
    if type(value) is int and 0 <= value < 10**9:
        return value
    if value is None or isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,9}", str(value).strip()):
        raise FormatError(f"expected a whole number in the field {name}, found {value!r}")
    return int(value)


def _number(record: Record, name: str) -> float | None:
    """A number of at least 0, None where there is none."""
    value = record.get(name)
    if value is None or value == "":
        return None
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not 0 <= number <= LARGEST_NUMBER:
        raise FormatError(
            f"expected a {name} of at least 0 and at most {LARGEST_NUMBER:,.0f}, found {value!r}"
        )
    return number


def _time(value: Any) -> int | None:
    """Seconds since 1970, from them or from ISO 8601 (UTC where no zone is given)."""
    if type(value) is int and 0 <= value < TOO_LATE:
        return value
    if value in (None, ""):
        return None
    text = str(value).strip()
    try:
        if re.fullmatch(r"[0-9]{1,12}", text):
            seconds = int(text)
        else:
            moment = datetime.fromisoformat(text)
            seconds = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
        datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError):
        raise FormatError(f"expected a time like 2026-11-16T09:30:00Z, found {value!r}") from None
    return seconds
