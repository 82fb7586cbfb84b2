"""Lines of JSON as columns of judgments: distinct values are checked once each, by the functions for single records.

    columns, others = read_judgments(raw_lines, first_number, case="lower", defaults={"source": "import"})

What is not plainly a judgment without fault is left to the caller, line by line: segments, other records, fields that
are not known here, values that are wrong or unusual. So a line is read in this way or the other with the same result,
and all messages come from `rypt.database.fields`.
"""

from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType
from numpy.typing import NDArray

from rypt.arrays import Floats, Ids, Ints
from rypt.database.columns import NO_TIME, JudgmentColumns, TextColumn
from rypt.database.compact import LABEL_CODES, NO, SOURCE_CODES
from rypt.database.fields import LARGEST_NUMBER, TOO_LATE, is_unanswered, text_field, time_field
from rypt.records import parse_label
from rypt.text import FormatError
from rypt.texts.phrases import joined_keys, phrase_key

FILLED = frozenset({"source", "worker", "origin"})  # fields whose defaults are known here
Whole = Annotated[int, Meta(ge=0, lt=10**9)]
Bools = NDArray[np.bool_]


class JudgmentLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The fields of a judgment with the types that most lines have."""

    label: str
    segment: str
    start: Whole
    stop: Whole
    phrase: str
    worker: str | UnsetType = UNSET
    origin: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    time: Annotated[int, Meta(ge=0, lt=TOO_LATE)] | str | UnsetType | None = UNSET
    weight: float | UnsetType | None = UNSET
    severity: float | UnsetType | None = UNSET


REQUIRED = frozenset({"label", "segment", "start", "stop", "phrase"})  # of one type in all lines
_decode = msgspec.json.Decoder(JudgmentLine).decode


def read_judgments(
    lines: Sequence[bytes], first: int, *, case: str, defaults: Mapping[str, str]
) -> tuple[JudgmentColumns | None, list[int]]:
    """The judgments of lines, of which the first has the number ``first``, and the indices of lines left to others."""
    if not FILLED.issuperset(defaults):
        return None, list(range(len(lines)))
    try:
        records, places = list(map(_decode, lines)), np.arange(len(lines))
    except msgspec.MsgspecError:
        records, places = _decoded(lines)
    if not records:
        return None, list(range(len(lines)))
    values = {name: list(map(attrgetter(name), records)) for name in JudgmentLine.__struct_fields__}
    columns, good = _columns(values, case, defaults)
    good &= _has_no_name_twice(
        values, [lines[i] for i in places.tolist()] if len(places) < len(lines) else lines
    )
    taken = np.zeros(len(lines), np.bool_)
    taken[places[good]] = True
    left = np.flatnonzero(~taken).tolist()
    columns["line"] = places + first
    judgments = JudgmentColumns(**columns)
    return (
        judgments.take(np.flatnonzero(good)) if not good.all() else judgments
    ) if good.any() else None, left


def _decoded(lines: Sequence[bytes]) -> tuple[list[JudgmentLine], Ints]:
    """The lines that can be decoded, and which these are."""
    records, places = [], []
    for i, line in enumerate(lines):
        try:
            records.append(_decode(line))
        except msgspec.MsgspecError:
            continue
        places.append(i)
    return records, np.array(places, np.int64)


def _columns(
    values: Mapping[str, list[Any]], case: str, defaults: Mapping[str, str]
) -> tuple[dict[str, Any], Bools]:
    """All columns but that of lines, and which of the judgments are without fault."""
    start, stop = np.array(values["start"], np.int64), np.array(values["stop"], np.int64)
    texts = {
        "segment": TextColumn.read(values["segment"], lambda value: text_field("segment", value)),
        "phrase": _phrases(values["phrase"], case),
        "worker": TextColumn.read(values["worker"], lambda value: _worker(value, defaults)),
        "origin": TextColumn.read(values["origin"], lambda value: _origin(value, defaults)),
    }
    label, graded = _labels(values["label"])
    source = _sources(values["source"], defaults.get("source", "import"))
    time, timed = _times(values["time"])
    weight, severity = _numbers(values["weight"]), _numbers(values["severity"])
    weight = np.where(np.isnan(weight), 1.0, weight)
    severity = np.where(np.isnan(severity), graded, severity)
    good = (start < stop) & (label >= 0) & (source >= 0) & timed & (weight >= 0) & (weight <= LARGEST_NUMBER)
    good &= np.isnan(severity) | ((severity >= 0) & (severity <= LARGEST_NUMBER) & (label == NO))
    for column in texts.values():
        good &= column.codes >= 0
    numbers = {"start": start, "stop": stop, "label": label, "source": source, "time": time, "weight": weight}
    return {**texts, **numbers, "severity": severity}, good


def _worker(value: str | UnsetType, defaults: Mapping[str, str]) -> str:
    return text_field("worker", defaults.get("worker") if value is UNSET else value)


def _origin(value: str | UnsetType, defaults: Mapping[str, str]) -> str:
    text = defaults.get("origin", "") if value is UNSET else value
    return text_field("origin", text) if text else ""


def _phrases(values: list[str], case: str) -> TextColumn:
    """Keys of phrases: of those without marks of gaps all at once, where all have single spaces and can be printed."""
    distinct = dict.fromkeys(values)
    plain = [phrase for phrase in distinct if "[" not in phrase]
    joined = "\n".join(plain)
    framed = f"\n{joined}\n"
    keys: dict[str, str] = {}
    if (
        not any(some in framed for some in ("  ", "\n ", " \n", "\n\n"))
        and joined.replace("\n", "").isprintable()
    ):
        written = joined_keys(plain, case).decode().split("\n")
        if len(written) == len(plain):  # no phrase has two lines
            keys = dict(zip(plain, written, strict=True))
    return TextColumn.read(
        values, lambda phrase: keys.get(phrase) or phrase_key(text_field("phrase", phrase), case)
    )


def _labels(values: list[str]) -> tuple[NDArray[np.int8], Floats]:
    """Codes, -1 where there is none, and the severities that labels such as NO_BADLY stand for."""
    which, distinct = _numbered(values)
    codes, severities = np.full(len(distinct), -1, np.int8), np.full(len(distinct), np.nan)
    for i, value in enumerate(distinct):
        try:
            label, severity = parse_label(value)
        except FormatError:
            continue
        codes[i] = -1 if is_unanswered({"label": value}) else LABEL_CODES[str(label)]
        severities[i] = np.nan if severity is None else severity
    return codes[which], severities[which]


def _sources(values: list[Any], default: str) -> NDArray[np.int8]:
    which, distinct = _numbered(values)
    codes = [SOURCE_CODES.get(default if value is UNSET else value or "import", -1) for value in distinct]
    return np.array(codes, np.int8)[which]


def _numbered(values: list[Any]) -> tuple[Ids, list[Any]]:
    """For each value which of the distinct ones it is."""
    distinct = list(set(values))
    numbers = {value: i for i, value in enumerate(distinct)}
    return np.fromiter(map(numbers.__getitem__, values), np.int32, len(values)), distinct


def _times(values: list[Any]) -> tuple[Ints, Bools]:
    """Seconds since 1970, `NO_TIME` where there are none, and which of them can be read."""
    if set(map(type, values)) == {int}:
        return np.array(values, np.int64), np.ones(len(values), np.bool_)
    seconds: dict[Any, int | None] = {}
    for value in set(values):
        try:
            seconds[value] = NO_TIME if value is UNSET else _or_none(time_field(value))
        except FormatError:
            seconds[value] = None
    times = [seconds[value] for value in values]
    known = np.array([time is not None for time in times], np.bool_)
    return np.array([NO_TIME if time is None else time for time in times], np.int64), known


def _or_none(time: int | None) -> int:
    return NO_TIME if time is None else time


def _numbers(values: list[Any]) -> Floats:
    """Numbers, nan where there is none."""
    kinds = set(map(type, values))
    if kinds == {float}:
        return np.array(values)
    if kinds == {UnsetType}:
        return np.full(len(values), np.nan)
    return np.array([np.nan if value is UNSET or value is None else value for value in values], np.float64)


def _has_no_name_twice(values: Mapping[str, list[Any]], lines: Sequence[bytes]) -> Bools:
    """Where no name stands twice in an object: then its quotation marks are those of its names and texts.

    The decoder takes the last of two values. Each name and each text has two quotation marks; escaped ones inside texts
    are not counted, where they can be told apart at a glance.
    """
    marks = np.fromiter(map(bytes.count, lines, repeat(b'"')), np.int64, len(lines))
    expected = np.zeros(len(lines), np.int64)
    for name, column in values.items():
        if name in REQUIRED or len(set(map(type, column))) == 1:
            expected += _marks(column[0])
        else:
            expected += np.array(list(map(_marks, column)))
    for i in np.flatnonzero(marks != expected).tolist():
        if b"\\\\" not in lines[i]:
            marks[i] -= lines[i].count(b'\\"')
    return np.equal(marks, expected)


def _marks(value: Any) -> int:
    """How many quotation marks a member of an object has."""
    return 0 if value is UNSET else 4 if isinstance(value, str) else 2
