"""Appraise's export of scores: direct assessment of segments or documents, ESA, and MQM, with a header or without.

    direct assessment of segments    user, system, segment, type, source language, target language, score, start, end
    of documents                     the same with document and whole before start
    ESA, MQM                         the same with document, whole and spans before start

The type is TGT for what is rated, and another one for tests of the rater. ``whole`` says that the score is that of the
whole document. Campaigns that ask for error spans alone (MQM) have scores of 0: there the spans are the judgment.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hits.ranking.readers.columns import Part, plain
from hits.ranking.readers.languages import domain_in_document, pair_key
from hits.ranking.scores.data import ScoreRecord, scores_of
from rypt.ratings.rating import weight
from rypt.strict import SyntaxFormatError, parse_json
from rypt.text import InputError, PathLike

Lines = Sequence[tuple[int, str]]
RATED = "TGT"  # the type of an item that is not a test of the rater
TYPES = (RATED, "BAD", "REF", "CHK", "TGT-BAD", "DUP")
LEFT_OUT = ("#incomplete", "#dup")  # in names of documents: they fill up a rater's share of work
TUTORIAL = "tutorial"
ITEM = ("user", "system", "segment", "type", "source", "target", "score")
ORDERS = {
    9: (*ITEM, "start", "end"),
    11: (*ITEM, "document", "whole", "start", "end"),
    12: (*ITEM, "document", "whole", "spans", "start", "end"),
}  # by the number of columns
NAMES = {
    "username": "user",
    "userid": "user",
    "user": "user",
    "annotator": "user",
    "system": "system",
    "systemid": "system",
    "itemid": "segment",
    "segmentid": "segment",
    "itemtype": "type",
    "type": "type",
    "segmenttype": "type",
    "srclang": "source",
    "sourcelang": "source",
    "sourcelanguage": "source",
    "trglang": "target",
    "tgtlang": "target",
    "targetlang": "target",
    "targetlanguage": "target",
    "score": "score",
    "overall": "score",
    "docid": "document",
    "documentid": "document",
    "isdocscore": "whole",
    "isdocument": "whole",
    "isdocumentscore": "whole",
    "unk": "whole",
    "errorspans": "spans",
    "mqm": "spans",
    "spans": "spans",
    "timestart": "start",
    "starttime": "start",
    "timeend": "end",
    "endtime": "end",
}
Key = tuple[str, str, str, str]  # user, system, document, segment


class Rated(NamedTuple):
    """A user's rating of an item: when, the score, and the penalty of its error spans."""

    time: float
    score: float
    penalty: float | None


def appraise_columns(line: str) -> tuple[tuple[str, ...], bool] | None:
    """The columns of an export that begins with this line, and whether the line is a header; None for other files.

    >>> appraise_columns("engdeu01,sys,7,TGT,eng,deu,90,1.5,2.5")[0][-2:]
    ('start', 'end')
    >>> appraise_columns("username,system,itemId,itemType,srcLang,trgLang,score,timeStart,timeEnd")[1]
    True
    """
    try:
        fields = next(csv.reader([line]))
    except (csv.Error, StopIteration):
        return None
    names = [NAMES.get(plain(field), "") for field in fields]
    if {*ITEM, "end"} <= set(names):
        return tuple(names), True
    columns = ORDERS.get(len(fields))
    if columns is None or fields[3].strip().upper() not in TYPES or _number(fields[6]) is None:
        return None
    return columns, False


def read_appraise(path: PathLike, lines: Lines) -> list[Part]:
    """The scores of each language pair: no tests of raters, no tutorials, of a user's ratings of an item the latest.

    As WMT's findings read these files: documents that are marked ``#incomplete`` or ``#dup`` are left out, and each
    file is a wave of its own.
    """
    columns = appraise_columns(lines[0][1])
    if columns is None:
        raise InputError(
            path, lines[0][0], "expected Appraise's export: user, system, segment, type, languages, score"
        )
    latest: dict[str, dict[Key, Rated]] = {}
    pairs: dict[str, str] = {}
    for number, row in _rows(path, lines, *columns):
        if not _counts(row):
            continue
        rated = _rated(path, number, row)
        pair = pair_key(f"{row['source']}-{row['target']}")
        pairs.setdefault(pair, f"{row['source']}-{row['target']}")
        key = row["user"], row["system"], row.get("document", ""), row["segment"]
        ratings = latest.setdefault(pair, {})
        if key not in ratings or ratings[key].time <= rated.time:
            ratings[key] = rated
    if not latest:
        raise InputError(path, None, f"expected ratings of type {RATED}, found none")
    by_spans = _spans_alone(latest)
    scale = "MQM" if by_spans else "ESA" if "spans" in columns[0] else "DA"
    return [
        (pairs[pair], scores_of(_records(ratings, str(path), by_spans=by_spans), scale, higher=not by_spans))
        for pair, ratings in latest.items()
    ]


def _rows(
    path: PathLike, lines: Lines, columns: Sequence[str], header: bool
) -> Iterator[tuple[int, dict[str, str]]]:
    numbers = [number for number, _ in lines]
    reader = csv.reader((line for _, line in lines), strict=True)
    wanted = str(len(columns)) if header else " or ".join(map(str, (11, 12) if len(columns) > 9 else (9,)))
    try:
        if header:
            next(reader)
        for fields in reader:
            number = numbers[min(reader.line_num, len(numbers)) - 1]
            names = (
                columns
                if len(fields) == len(columns)
                else None
                if header
                else _other_order(columns, len(fields))
            )
            if names is None:
                raise InputError(
                    path, number, f"expected {wanted} fields of Appraise's export, found {len(fields)}"
                )
            yield number, {name: field.strip() for name, field in zip(names, fields, strict=True)}
    except csv.Error as error:
        raise InputError(
            path, numbers[min(reader.line_num, len(numbers)) - 1], f"expected CSV: {error}"
        ) from None


def _other_order(columns: Sequence[str], size: int) -> Sequence[str] | None:
    """Files of direct assessment and ESA may be joined."""
    return ORDERS[size] if len(columns) in (11, 12) and size in (11, 12) else None


def _counts(row: Mapping[str, str]) -> bool:
    document = row.get("document", "")
    if (
        row["type"].upper() != RATED
        or TUTORIAL in row["system"]
        or any(mark in document for mark in LEFT_OUT)
    ):
        return False
    return "spans" in row or row.get("whole", "").lower() != "true"


def _rated(path: PathLike, number: int, row: Mapping[str, str]) -> Rated:
    score, time = _number(row["score"]), _number(row["end"] or "0")
    if score is None or time is None:
        raise InputError(
            path, number, f"expected a score and a time, found {row['score']!r} and {row['end']!r}"
        )
    return Rated(time, score, _penalty(path, number, row["spans"]) if "spans" in row else None)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def _penalty(path: PathLike, number: int, text: str) -> float:
    """The sum of MQM's penalties of error spans; 0 where there is none."""
    if text in ("", "[]"):
        return 0.0
    try:
        spans = parse_json(text)
    except SyntaxFormatError as error:
        raise InputError(path, number, f"expected error spans as JSON: {error}") from None
    return penalty_of(spans)


def penalty_of(spans: Any) -> float:
    """The sum of MQM's penalties of error spans as Appraise and pearmut have them.

    >>> penalty_of([{"severity": "major", "error_type": ["Accuracy", "Omission"]}, {"severity": "minor"}])
    6.0
    """
    total = 0.0
    for span in spans if isinstance(spans, list) else ():
        if isinstance(span, dict):
            kind = span.get("error_type", span.get("category")) or ""
            total += weight(
                str(span.get("severity") or ""), "/".join(map(str, kind)) if isinstance(kind, list) else kind
            )
    return total


def _spans_alone(latest: Mapping[str, Mapping[Key, Rated]]) -> bool:
    """Whether nobody gave a score but somebody marked errors."""
    ratings = [rated for of_pair in latest.values() for rated in of_pair.values()]
    return all(rated.score == 0 for rated in ratings) and any(rated.penalty for rated in ratings)


def _records(ratings: Mapping[Key, Rated], wave: str, *, by_spans: bool) -> Iterator[ScoreRecord]:
    """Ratings with segments that all systems share.

    Where documents are named ``document#system``, items are numbered within a user's work, so a segment is known by its
    place in the document. Where a user has only a part of a document, its place is unknown: such a segment is nobody
    else's.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for user, system, document, segment in ratings:
        if _names_system(document, system):
            places.setdefault((user, document), []).append(segment)
    lengths: dict[str, int] = {}
    for (_, document), segments in places.items():
        segments.sort(key=lambda text: (len(text), text))
        base = document.split("#")[0]
        lengths[base] = max(lengths.get(base, 0), len(segments))
    for (user, system, document, segment), rated in ratings.items():
        name = document
        if _names_system(document, system):
            name = document.split("#")[0]
            segments = places[user, document]
            whole = len(segments) == lengths[name]
            segment = str(segments.index(segment) + 1) if whole else f"{segment} of {user}"
        score = (rated.penalty or 0.0) if by_spans else rated.score
        yield ScoreRecord(system, segment, score, name, user, wave, domain_in_document(name))


def _names_system(document: str, system: str) -> bool:
    """Whether a document is named after the system, too: ``rt.com.39936#refA`` of ``wmt23.refA``."""
    name = document.partition("#")[2].partition("#")[0]
    return bool(name) and system.endswith(name)
