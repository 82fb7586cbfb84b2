"""The fields of JSONL and CSV records, and the judgments and segments they stand for."""

import math
import re
from datetime import UTC, datetime
from typing import Any

from rypt.records import SOURCES, Judgment, Label, Record, Segment, Span
from rypt.text import FormatError, is_one_line, one_line

JUDGMENT_FIELDS = ("segment", "start", "stop", "phrase", "label", "worker", "origin", "source", "time", "weight")
SEGMENT_FIELDS = ("id", "text", "tree", "language")


def judgment_from_record(record: Record) -> Judgment:
    """Read one judgment; what is missing or wrong is named."""
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
    label = Label.parse(str(record["label"]))
    origin = _optional_text(record, "origin") or ""
    return Judgment(segment, span, phrase, label, worker, origin, source, _time(record), _weight(record))


def is_unanswered(record: Record) -> bool:
    """Whether the record has a place for a label, and nothing in it.

    >>> is_unanswered({"label": ""}), is_unanswered({"label": "NO"}), is_unanswered({})
    (True, False, False)
    """
    return "label" in record and (record["label"] is None or not str(record["label"]).strip())


def judgment_record(judgment: Judgment) -> dict[str, Any]:
    """A judgment as it is exported; `judgment_from_record` reads it back."""
    j = judgment
    time = None if j.time is None else datetime.fromtimestamp(j.time, UTC).isoformat().replace("+00:00", "Z")
    values = (j.segment, *j.span, j.phrase, str(j.label), j.worker, j.origin, j.source, time, j.weight)
    return dict(zip(JUDGMENT_FIELDS, values, strict=True))


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
    value = record.get(name)
    if type(value) is str and value.isprintable() and value.strip():
        return value
    if value is None or isinstance(value, (dict, list)) or not str(value).strip(" \t\r\n\0"):
        raise FormatError(f"expected a field {name}, found {'nothing' if value is None else repr(value)}")
    text = one_line(str(value))
    if not is_one_line(text):
        raise FormatError(f"expected Unicode text in the field {name}, found {text!r}")
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
    """Seconds since 1970, from them or from ISO 8601 (UTC where no zone is given)."""
    value = record.get("time")
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
