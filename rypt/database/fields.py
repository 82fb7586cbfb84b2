"""The fields of JSONL and CSV records, and what they stand for: judgments, segments, assignments, ties, exclusions."""

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from rypt.database.answer_rows import AssignmentRow, BonusRow, HitRow, IdenticalRow, split_facts
from rypt.options import money
from rypt.records import SOURCES, Judgment, Record, Segment, Span, parse_label
from rypt.text import FormatError, is_one_line, one_line

JUDGMENT_FIELDS = (
    "segment",
    "start",
    "stop",
    "phrase",
    "label",
    "worker",
    "origin",
    "source",
    "time",
    "weight",
    "severity",
)
SEGMENT_FIELDS = ("id", "text", "tree", "language")
TOO_LATE = 253402300800  # seconds from 1970 to the year 10000, which no calendar here knows
NAMES = (
    "segment",
    "worker",
    "origin",
    "id",
    "language",
)  # shown in tables and messages, so of a limited length
LONGEST_NAME = 1000
LARGEST_NUMBER = 1e6  # sums of weights stay exact far beyond
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
OTHER_FIELDS = (
    "excluded",
    "assignment",
    "identical",
)  # a record with one of these is no judgment and no segment


def judgment_from_record(record: Record) -> Judgment:
    """Read one judgment; what is missing or wrong is named.

    A label such as NO_BADLY stands for NO and a severity; a number in the field severity takes its place.
    """
    segment, phrase, worker = _text(record, "segment"), _text(record, "phrase"), _text(record, "worker")
    if "start" in record:
        span = Span(_whole(record, "start"), _whole(record, "stop"))
    else:
        span = Span.inclusive(_whole(record, "first"), _whole(record, "last"))
    if not 0 <= span.start < span.stop:
        raise FormatError(f"expected a span of at least one token, found {span}")
    source = str(record.get("source") or "import")
    if source not in SOURCES:
        raise FormatError(f"expected a source hit, import or simulation, found {source!r}")
    label, graded = parse_label(str(record["label"]))
    origin = _optional_text(record, "origin") or ""
    weight, severity = _number(record, "weight"), _number(record, "severity")
    return Judgment(
        segment,
        span,
        phrase,
        label,
        worker,
        origin,
        source,
        time_field(record.get("time")),
        1.0 if weight is None else weight,
        graded if severity is None else severity,
    )


def is_unanswered(record: Record) -> bool:
    """Whether the record has a place for a label, and nothing in it.

    >>> is_unanswered({"label": ""}), is_unanswered({"label": "NO"}), is_unanswered({})
    (True, False, False)
    """
    return "label" in record and (record["label"] is None or not str(record["label"]).strip())


def judgment_record(judgment: Judgment) -> dict[str, Any]:
    """A judgment as it is exported, ``severity`` only where it has one; `judgment_from_record` reads it back."""
    j = judgment
    time = None if j.time is None else datetime.fromtimestamp(j.time, UTC).isoformat().replace("+00:00", "Z")
    values = (j.segment, *j.span, j.phrase, str(j.label), j.worker, j.origin, j.source, time, j.weight)
    record = dict(zip(JUDGMENT_FIELDS[:-1], values, strict=True))
    return record if j.severity is None else {**record, "severity": j.severity}


def segment_from_record(record: Record) -> Segment:
    """Read one segment."""
    optional = {name: _optional_text(record, name) for name in ("text", "tree", "language")}
    if not isinstance(record.get("text"), str):
        raise FormatError(f"expected a field text, found {record.get('text')!r}")
    return Segment(_text(record, "id"), optional["text"] or "", optional["tree"], optional["language"])


def segment_record(segment: Segment) -> dict[str, Any]:
    """A segment as it is exported; `segment_from_record` reads it back."""
    return {name: getattr(segment, name) for name in SEGMENT_FIELDS}


def _text(record: Record, name: str) -> str:
    return text_field(name, record.get(name))


def text_field(name: str, value: Any) -> str:
    """The text in a field that must have one."""
    if type(value) is str and value.isprintable() and value.strip() and len(value) <= LONGEST_NAME:
        return value
    if isinstance(value, str) and "\0" in value:
        raise FormatError(f"expected text in the field {name}, found a NUL character")
    if name in NAMES and len(str(value)) > LONGEST_NAME:
        size = len(str(value))
        raise FormatError(f"expected at most {LONGEST_NAME:,} characters in the field {name}, found {size:,}")
    if value is None or isinstance(value, (dict, list)) or not str(value).strip(" \t\r\n\0"):
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


def _optional_text(record: Record, name: str) -> str | None:
    value = record.get(name)
    blank = value is None or (isinstance(value, str) and not value.strip(" \t\r\n\0"))
    return None if blank else _text(record, name)


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
    if not 0 <= number < math.inf:
        raise FormatError(f"expected a {name} of at least 0, found {value!r}")
    if number > LARGEST_NUMBER:
        raise FormatError(f"expected a {name} of at most {LARGEST_NUMBER:,.0f}, found {value!r}")
    return number


def time_field(value: Any) -> int | None:
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


def assignment_record(hit: HitRow, assignment: AssignmentRow, paid: Sequence[BonusRow]) -> dict[str, Any]:
    """An assignment as it is exported; `assignment_from_record` reads it back."""
    a = assignment
    return {
        "assignment": a.id,
        "hit": hit.id,
        "batch": hit.batch,
        "item": hit.item,
        "market": hit.market,
        "worker": a.worker,
        "status": a.status,
        "accepted": a.accepted,
        "submitted": a.submitted,
        "columns": dict(hit.columns),
        "fields": dict(a.fields),
        "facts": {**hit.facts, **a.facts},
        "bonuses": [{"amount": str(amount), "reason": reason, "time": time} for amount, reason, time in paid],
    }


def assignment_from_record(record: Record) -> tuple[HitRow, AssignmentRow, list[BonusRow]]:
    """Read one assignment; what its hit asks for and how long it took is not in the record."""
    batch, item, hit, name, worker = (
        _plain(record, name) for name in ("batch", "item", "hit", "assignment", "worker")
    )
    of_hit, of_work = split_facts(_texts(record, "facts"))
    market, status = _plain(record, "market"), _plain(record, "status")
    accepted, submitted = _seconds(record, "accepted"), _seconds(record, "submitted")
    paid = record.get("bonuses", [])
    if not isinstance(paid, list) or not all(isinstance(each, dict) for each in paid):
        raise FormatError("expected a list of payments in the field bonuses")
    return (
        HitRow(hit, batch, item, "", 0, _texts(record, "columns"), of_hit, market),
        AssignmentRow(
            name, hit, worker, status, accepted, submitted, None, _texts(record, "fields"), of_work
        ),
        [BonusRow(_amount(each), _plain(each, "reason"), _seconds(each, "time")) for each in paid],
    )


def identical_record(pair: IdenticalRow) -> dict[str, Any]:
    """Two systems with the same text as they are exported; `identical_from_record` reads them back."""
    return {
        "identical": pair.segment,
        "batch": pair.batch,
        "system_a": pair.system_a,
        "system_b": pair.system_b,
    }


def identical_from_record(record: Record) -> IdenticalRow:
    """Read two systems with the same text; ``count``, which files of older versions have, says nothing any more."""
    batch, segment, a, b = (_plain(record, name) for name in ("batch", "identical", "system_a", "system_b"))
    return IdenticalRow(batch, segment, a, b)


def excluded_record(worker: str, reason: str) -> dict[str, Any]:
    """An excluded worker as it is exported; `excluded_from_record` reads it back."""
    return {"excluded": worker, "reason": reason}


def excluded_from_record(record: Record) -> tuple[str, str]:
    """Read an excluded worker and the reason."""
    worker, reason = record["excluded"], record.get("reason", "")
    if not isinstance(worker, str) or not worker.strip() or not isinstance(reason, str):
        raise FormatError(f"expected a worker in the field excluded, found {worker!r}")
    return worker, reason


def _plain(record: Record, name: str) -> str:
    value = record.get(name, "")
    if not isinstance(value, str):
        raise FormatError(f"expected text in the field {name}, found {value!r}")
    return value


def _texts(record: Record, name: str) -> dict[str, str]:
    value = record.get(name, {})
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise FormatError(f"expected names and texts in the field {name}")
    return value


def _seconds(record: Record, name: str) -> int | None:
    value = record.get(name)
    if value is not None and (type(value) is not int or not 0 <= value < 10**12):
        raise FormatError(f"expected a whole number in the field {name}, found {value!r}")
    return value


def _amount(record: Record) -> Decimal:
    amount = money(_plain(record, "amount"))
    if amount is None:
        raise FormatError(f"expected an amount of money, found {record.get('amount')!r}")
    return amount
