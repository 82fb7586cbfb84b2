"""The requester's results CSV: one row per assignment, read and written as the web site did.

Columns: `SITE_COLUMNS`, then ``Input.*`` (the item's), ``Answer.*`` (the form's), ``Approve`` and ``Reject``, which the
requester fills in. Every cell is in quotation marks. Times are read as the site wrote them (``Mon Sep 21 10:11:12 PDT
2009``), in ISO 8601 or in seconds since 1970, and written in the site's form, in UTC.

Cells that spreadsheets would take for formulas are written so that they are not (`rypt.csv_rows.neutralize`).
"""

import csv
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple, TextIO

from hits.records import SUBMITTED, Assignment, Batch, Item, parse_annotation
from hits.results.answers import HIT_FACTS, Added, Results
from rypt.csv_rows import csv_rows, neutralize, restore
from rypt.text import FormatError, InputError, PathLike, open_binary_input

SITE_COLUMNS = (
    "HITId",
    *HIT_FACTS,
    "AssignmentId",
    "WorkerId",
    "AssignmentStatus",
    "AcceptTime",
    "SubmitTime",
    "AutoApprovalTime",
    "ApprovalTime",
    "RejectionTime",
    "RequesterFeedback",
    "WorkTimeInSeconds",
    "LifetimeApprovalRate",
    "Last30DaysApprovalRate",
    "Last7DaysApprovalRate",
)
IDS = ("HITId", "AssignmentId", "WorkerId", "AssignmentStatus")
NEEDED_OF_BATCH = (*IDS, "AcceptTime", "SubmitTime", "Answer.*")
NEEDED = (*NEEDED_OF_BATCH, "Input.*")  # without a batch at hand, the rows say themselves what was asked
REVIEW = ("Approve", "Reject")
SITE_TIME = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([0-9]{1,2}) ([0-9:]{8}) ([A-Z]{3,4}) ([0-9]{4})")
Row = dict[str, str]


class Decision(NamedTuple):
    """What the requester filled in for an assignment: approved, or rejected with a reason."""

    assignment: str
    approve: bool
    reason: str = ""


def parse_time(text: str) -> int | None:
    """Seconds since 1970, None for nothing; a time without a zone is UTC.

    >>> parse_time("Mon Sep 21 10:11:12 PDT 2009"), parse_time("2009-09-21T17:11:12Z"), parse_time("1253553072")
    (1253553072, 1253553072, 1253553072)
    """
    text = text.strip()
    if not text:
        return None
    try:
        if match := SITE_TIME.fullmatch(text):
            month, day, clock, zone, year = match.groups()
            moment = parsedate_to_datetime(f"{day} {month} {year} {clock} {zone}")
            if moment.tzinfo is None:
                raise ValueError
        elif re.fullmatch(r"[0-9]{1,11}", text):
            moment = datetime.fromtimestamp(int(text), UTC)
        else:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return int(moment.timestamp())
    except (ValueError, OverflowError):
        raise FormatError(f"expected a time like Mon Sep 21 10:11:12 PDT 2009, found {text!r}") from None


def format_time(seconds: int | None) -> str:
    """A time in the site's form, in UTC; nothing for None.

    >>> format_time(1253553072)
    'Mon Sep 21 17:11:12 UTC 2009'
    """
    if seconds is None:
        return ""
    weekday, month, day, clock, year = time.asctime(time.gmtime(seconds)).split()
    return f"{weekday} {month} {int(day):02} {clock} UTC {year:>04}"


def _read_rows(
    path: PathLike, needed: Sequence[str], rename: Mapping[str, str] | None = None
) -> Iterator[tuple[int, Row]]:
    """Rows with the number of the line they begin in; a row that repeats an assignment is refused."""
    records = ((line, cells) for line, cells in csv_rows(path, _lines(path), strict=True) if cells)
    line, names = next(records, (1, []))
    header = _header(path, line, names, needed, rename or {})
    seen: dict[str, int] = {}
    for line, cells in records:
        if len(cells) != len(header):
            raise InputError(path, line, f"expected {len(header)} cells, found {len(cells)}")
        row = {name: restore(text) for name, text in zip(header, cells, strict=True)}
        first = seen.setdefault(row["AssignmentId"], line)
        if first != line:
            message = f"assignment {row['AssignmentId']} is there already, in line {first}"
            raise InputError(path, line, message)
        yield line, row


def _lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """Numbered lines with their ends."""
    with open_binary_input(path) as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                byte = error.object[error.start]
                raise InputError(path, number, f"expected UTF-8, found byte 0x{byte:02x}") from None
            if "\0" in text:
                raise InputError(path, number, "expected text, found a NUL character")
            yield number, text


def _header(
    path: PathLike, line: int, names: Sequence[str], needed: Sequence[str], rename: Mapping[str, str]
) -> list[str]:
    """The columns; those that are ``needed`` and end in ``*`` are met by any that begin so."""
    names = [name.strip() for name in names]
    if missing := [name for name in rename if name not in names]:
        raise InputError(path, line, f"expected the columns to rename, {', '.join(missing)}")
    header = [rename.get(name, name) for name in names]
    present = {*header, *(re.sub(r"\..*", ".*", name) for name in header)}
    if missing := [name for name in needed if name not in present]:
        raise InputError(path, line, f"expected the columns of a results CSV; missing: {', '.join(missing)}")
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise InputError(path, line, f"expected each column once, found more of {', '.join(twice)}")
    return header


def import_results(
    results: Results,
    path: PathLike,
    *,
    rename: Mapping[str, str] | None = None,
    batch: Batch | None = None,
    market: str = "",
) -> Added:
    """Add all assignments of a file in one transaction: a row that cannot be taken stops it, and nothing is changed.

    ``rename`` maps a file's own columns to ours (``Input.sentence`` → ``Input.segment``); columns that are no column of
    the site are not read. A ``batch`` says what its rows mean: the file needs no ``Input.*`` besides ``Input.item`` or
    our annotation, and what it has of them must be the batch's. ``market`` is where the work was done
    (`hits.records.Assignment`).
    """
    added = Added()
    items = {item.id: item for item in batch.items} if batch else {}
    with results.db.writing():
        for line, row in _read_rows(path, NEEDED_OF_BATCH if batch else NEEDED, rename):
            try:
                assignment = _assignment(row, market)
                results.put(_completed(assignment, batch, items) if batch else assignment, added)
            except FormatError as error:
                raise InputError(path, line, str(error)) from None
    return added


def _assignment(row: Row, market: str) -> Assignment:
    columns = {name.removeprefix("Input."): text for name, text in row.items() if name.startswith("Input.")}
    fields = {name.removeprefix("Answer."): text for name, text in row.items() if name.startswith("Answer.")}
    batch, item = parse_annotation(row.get("RequesterAnnotation", "")) or ("", columns.get("item", ""))
    return Assignment(
        id=row["AssignmentId"],
        hit=row["HITId"],
        worker=row["WorkerId"],
        fields=fields,
        accepted=parse_time(row["AcceptTime"]),
        submitted=parse_time(row["SubmitTime"]),
        status=row["AssignmentStatus"].strip() or SUBMITTED,
        batch=batch,
        item=item,
        columns=columns,
        facts={name: row[name] for name in SITE_COLUMNS if row.get(name) and name not in IDS},
        market=market,
    )


def _completed(a: Assignment, batch: Batch, items: Mapping[str, Item]) -> Assignment:
    """The assignment with its item's columns, and the batch's title, reward and so on where the row has none."""
    if a.batch not in ("", batch.settings.id):
        raise FormatError(f"expected a hit of the batch {batch.settings.id}, found one of {a.batch}")
    if not a.item:
        raise FormatError("expected an item, in Input.item or the annotation")
    item = items.get(a.item)
    if item is None:
        raise FormatError(f"item {a.item!r} is not in the batch")
    for name, text in a.columns.items():
        expected = item.columns.get(name, "")
        if text and expected != text:
            raise FormatError(
                f"expected Input.{name} as in the batch, {expected[:40]!r}, found {text[:40]!r}"
            )
    facts = {**batch_facts(batch, item), **a.facts}
    return replace(a, batch=batch.settings.id, columns=item.columns, facts=facts)


def export_results(results: Results, stream: TextIO, *, batch: str | None = None) -> int:
    """Write the assignments of a batch, or all; importing them elsewhere and exporting again gives the same bytes."""
    return write_results(stream, lambda: results.assignments(batch))


def write_results(stream: TextIO, read: Callable[[], Iterable[Assignment]]) -> int:
    """Write assignments; they are read twice, first for their columns, so that they need not be in memory."""
    inputs: dict[str, None] = {}
    answers: dict[str, None] = {}
    for assignment in read():
        inputs.update(dict.fromkeys(f"Input.{name}" for name in assignment.columns))
        answers.update(dict.fromkeys(f"Answer.{name}" for name in assignment.fields))
    header = [*SITE_COLUMNS, *inputs, *answers, *REVIEW]
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(header)
    count = 0
    for row in map(_row, read()):
        count += 1
        writer.writerow(neutralize(row.get(name, "")) for name in header)
    return count


def _row(a: Assignment) -> Row:
    row = {name: a.facts.get(name, "") for name in SITE_COLUMNS}
    row |= {"HITId": a.hit, "AssignmentId": a.id, "WorkerId": a.worker, "AssignmentStatus": a.status}
    computed = {
        "AcceptTime": format_time(a.accepted),
        "SubmitTime": format_time(a.submitted),
        "WorkTimeInSeconds": "" if a.seconds is None else str(a.seconds),
        "RequesterAnnotation": f"rypt:{a.batch}:{a.item}" if a.batch else "",
    }
    row |= {name: row[name] or text for name, text in computed.items()}
    row |= {f"Input.{name}": text for name, text in a.columns.items()}
    return row | {f"Answer.{name}": text for name, text in a.fields.items()}


def read_decisions(path: PathLike) -> list[Decision]:
    """What the requester filled in: anything in ``Approve`` approves, the text in ``Reject`` is the reason."""
    decisions = []
    for line, row in _read_rows(path, ("AssignmentId", *REVIEW)):
        approve, reject = row["Approve"].strip(), row["Reject"].strip()
        if approve and reject:
            message = f"expected Approve or Reject for assignment {row['AssignmentId']}, found both"
            raise InputError(path, line, message)
        if approve or reject:
            decisions.append(Decision(row["AssignmentId"], bool(approve), reject))
    return decisions


def batch_facts(batch: Batch, item: Item) -> dict[str, str]:
    """The site columns that a batch says of a hit, for assignments that come from a market and not from a file."""
    settings = batch.settings
    return {
        "Title": settings.title,
        "Description": settings.description,
        "Keywords": settings.keywords,
        "Reward": f"${batch.reward(item)}",
        "MaxAssignments": str(settings.assignments),
        "RequesterAnnotation": batch.annotation(item),
        "AssignmentDurationInSeconds": str(settings.duration),
        "AutoApprovalDelayInSeconds": str(settings.auto_approval),
        "LifetimeInSeconds": str(settings.lifetime),
    }
