"""Segment scores of evaluation campaigns: Appraise's export, Google's MQM, pearmut's annotations, WMT25's JSONL.

Appraise exports direct assessment, ESA and MQM, with a header or without:

    direct assessment of segments    user, system, segment, type, source language, target language, score, start, end
    of documents                     the same with document and whole before start
    ESA, MQM                         the same with document, whole and spans before start

The type is TGT for what is rated, and another one for tests of the rater. ``whole`` says that the score is that of the
whole document. Campaigns that ask for error spans alone (MQM) have scores of 0: there the spans are the judgment.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hits.ranking.readers.languages import domain_in_document, pair_in_name, pair_key
from hits.ranking.readers.text_file import Part, TextFile, as_number
from hits.ranking.scores.data import ScoreRecord, scores_of
from rypt.ratings.mqm import read_mqm
from rypt.ratings.rating import weight
from rypt.ratings.texts import segment_names
from rypt.strict import SyntaxFormatError, parse_json

RATED = "TGT"  # Appraise's type of an item that is not a test of the rater
TYPES = (RATED, "BAD", "REF", "CHK", "TGT-BAD", "DUP")
LEFT_OUT = ("#incomplete", "#dup")  # in names of documents: they fill up a rater's share of work
TUTORIAL = "tutorial"
ITEM = ("rater", "system", "segment", "type", "source", "target", "score")
ORDERS = {
    9: (*ITEM, "start", "end"),
    11: (*ITEM, "document", "whole", "start", "end"),
    12: (*ITEM, "document", "whole", "spans", "start", "end"),
}  # of the columns without a header, by their number
CANARY = "canary"  # the document of a line that marks test sets, at the beginning of some of WMT's files
WARM_UP = ("welcome_", "random_", "goodbye_")  # pearmut's examples and tests of the rater
PEARMUT_PLACE = "_###_"  # between the parts of WMT26's item ids: domain, document, segment
WMT25_PLACE = "_#_"  # between the parts of WMT25's doc_id: languages, domain, document, segment
Key = tuple[str, str, str, str]  # rater, system, document, segment


class Rated(NamedTuple):
    """A rater's rating of an item: when, the score, and the penalty of its error spans."""

    time: float
    score: float
    penalty: float | None


def _has_header(file: TextFile) -> bool:
    return {*ITEM, "end"} <= file.roles.keys()


def is_appraise(file: TextFile) -> bool:
    """Whether the first line is a header, or a row, of Appraise's export."""
    fields = file.header
    is_row = len(fields) in ORDERS and fields[3].upper() in TYPES and as_number(fields[6]) is not None
    return _has_header(file) or is_row


def read_appraise(file: TextFile) -> list[Part]:
    """The scores of each language pair: no tests of raters, no tutorials, of a rater's ratings of an item the latest.

    As WMT's findings read these files: documents that are marked ``#incomplete`` or ``#dup`` are left out, and each
    file is a separate wave.
    """
    latest: dict[str, dict[Key, Rated]] = {}
    pairs: dict[str, str] = {}
    for number, row in file.records() if _has_header(file) else _rows_without_header(file):
        if not _counts(row):
            continue
        score, time = as_number(row["score"]), as_number(row["end"] or "0")
        if score is None or time is None:
            problem = f"expected a score and a time, found {row['score']!r} and {row['end']!r}"
            raise file.error(problem, number)
        penalty = _penalty_of_json(file, number, row["spans"]) if "spans" in row else None
        pair = pair_key(f"{row['source']}-{row['target']}")
        pairs.setdefault(pair, f"{row['source']}-{row['target']}")
        key = row["rater"], row["system"], row.get("document", ""), row["segment"]
        ratings = latest.setdefault(pair, {})
        if key not in ratings or ratings[key].time <= time:
            ratings[key] = Rated(time, score, penalty)
    if not latest:
        raise file.error(f"expected ratings of type {RATED}, found none")
    rated = [rating for ratings in latest.values() for rating in ratings.values()]
    by_spans = not any(rating.score for rating in rated) and any(rating.penalty for rating in rated)
    has_spans = any(rating.penalty is not None for rating in rated)
    scale = "MQM" if by_spans else "ESA" if has_spans else "DA"
    return [
        (
            pairs[pair],
            scores_of(_records(ratings, str(file.path), by_spans=by_spans), scale, higher=not by_spans),
        )
        for pair, ratings in latest.items()
    ]


def _rows_without_header(file: TextFile) -> Iterator[tuple[int, dict[str, str]]]:
    sizes = (11, 12) if len(file.header) > 9 else (9,)  # files of direct assessment and ESA may be joined
    for number, fields in file.fields():
        if len(fields) not in sizes:
            expected = f"{' or '.join(map(str, sizes))} fields of Appraise's export"
            raise file.error(f"expected {expected}, found {len(fields)}", number)
        yield number, dict(zip(ORDERS[len(fields)], fields, strict=True))


def _counts(row: Mapping[str, str]) -> bool:
    is_test = row["type"].upper() != RATED or TUTORIAL in row["system"]
    if is_test or any(mark in row.get("document", "") for mark in LEFT_OUT):
        return False
    return "spans" in row or row.get("whole", "").lower() != "true"


def _penalty_of_json(file: TextFile, number: int, text: str) -> float:
    if text in ("", "[]"):
        return 0.0
    try:
        return penalty_of(parse_json(text))
    except SyntaxFormatError as error:
        raise file.error(f"expected error spans as JSON: {error}", number) from None


def penalty_of(spans: Any) -> float:
    """The sum of MQM's penalties of error spans as Appraise and pearmut have them.

    >>> penalty_of([{"severity": "major", "error_type": ["Accuracy", "Omission"]}, {"severity": "minor"}])
    6.0
    """
    total = 0.0
    for span in spans if isinstance(spans, list) else ():
        if isinstance(span, dict):
            kind = span.get("error_type", span.get("category")) or ""
            category = "/".join(map(str, kind)) if isinstance(kind, list) else kind
            total += weight(str(span.get("severity") or ""), category)
    return total


def _records(ratings: Mapping[Key, Rated], wave: str, *, by_spans: bool) -> Iterator[ScoreRecord]:
    """Ratings with segments that all systems share.

    Where documents are named ``document#system``, items are numbered within a rater's work, so a segment is identified
    by its place in the document. Where a rater has only a part of a document, its place is unknown, and no other system
    has such a segment.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for rater, system, document, segment in ratings:
        if _names_system(document, system):
            places.setdefault((rater, document), []).append(segment)
    lengths: dict[str, int] = {}
    for (_, document), segments in places.items():
        segments.sort(key=lambda text: (len(text), text))
        base = document.split("#")[0]
        lengths[base] = max(lengths.get(base, 0), len(segments))
    for (rater, system, document, segment), rated in ratings.items():
        name = document
        if _names_system(document, system):
            name = document.split("#")[0]
            segments = places[rater, document]
            is_whole = len(segments) == lengths[name]
            segment = str(segments.index(segment) + 1) if is_whole else f"{segment} of {rater}"
        score = (rated.penalty or 0.0) if by_spans else rated.score
        yield ScoreRecord(system, segment, score, name, rater, wave, domain_in_document(name))


def _names_system(document: str, system: str) -> bool:
    """Whether a document is named after the system, too: ``rt.com.39936#refA`` of ``wmt23.refA``."""
    name = document.partition("#")[2].partition("#")[0]
    return bool(name) and system.endswith(name)


def is_mqm(file: TextFile) -> bool:
    """Whether the first line is the header of Google's MQM files, with a line for each error."""
    return {"system", "rater", "severity", "category"} <= set(map(str.lower, file.header))


def read_mqm_scores(file: TextFile) -> list[Part]:
    """The penalty of each rating, 0 is best; segments are those of a campaign that is made of the file."""
    ratings = [r for r in read_mqm(file.path, file.lines) if r.document.lower() != CANARY]
    names = segment_names(ratings)
    documents: dict[str, str] = {}
    records = [
        ScoreRecord(r.system, name, r.score, documents.setdefault(name, r.document), r.rater)
        for r, name in zip(ratings, names, strict=True)
        if r.score is not None
    ]
    return [("", scores_of(records, "MQM", higher=False))]


def _is_answer(record: Any) -> bool:
    """Whether an object is an answer in pearmut."""
    has_annotation = isinstance(record, dict) and isinstance(record.get("annotation"), list | dict)
    return has_annotation and ("item" in record or "item_i" in record)


def _answers(value: Any) -> list[tuple[str, Any]]:
    """The answers in a value of a file of pearmut's, each with the name of its campaign; none in other files."""
    if isinstance(value, dict) and value and all(isinstance(part, list) for part in value.values()):
        answers = [(name, answer) for name, part in value.items() for answer in part]
    else:
        answers = [("", value)]
    return answers if all(_is_answer(answer) for _, answer in answers) else []


def is_pearmut(file: TextFile) -> bool:
    """Whether a file has a line for each answer, or the answers of several campaigns, whose names are keys."""
    return file.is_json and bool(file.values) and all(_answers(value) for _, value in file.values)


def read_pearmut(file: TextFile) -> list[Part]:
    """The scores in pearmut's answers; a later answer of a user to the same item replaces an earlier one.

    Where no answer has a score, the penalties of the error spans are the scores. Campaigns that name a language pair
    (``ces_Latn---deu_Latn``) are separate parts.
    """
    scored: dict[str, tuple[str, dict[Key, ScoreRecord]]] = {}
    marked: dict[str, tuple[str, dict[Key, ScoreRecord]]] = {}
    for number, value in file.values:
        for campaign, answer in _answers(value):
            pair = pair_in_name(campaign.replace("---", "-"))
            for record, judgment in _judged(file, number, answer):
                if not isinstance(judgment, dict):
                    continue
                key = record.rater, record.system, record.document, record.segment
                if judgment.get("score") is not None:
                    score = file.number(number, judgment["score"])
                    scored.setdefault(pair_key(pair), (pair, {}))[1][key] = record._replace(score=score)
                if "error_spans" in judgment:
                    penalty = penalty_of(judgment["error_spans"])
                    marked.setdefault(pair_key(pair), (pair, {}))[1][key] = record._replace(score=penalty)
    if scored:
        return [(pair, scores_of(records.values(), "ESA")) for pair, records in scored.values()]
    if any(record.score for _, records in marked.values() for record in records.values()):
        return [(pair, scores_of(records.values(), "MQM", higher=False)) for pair, records in marked.values()]
    raise file.error("expected scores in pearmut's annotations, found none")


def _judged(file: TextFile, number: int, answer: Mapping[str, Any]) -> Iterator[tuple[ScoreRecord, Any]]:
    """What a user answered about each candidate; the record has no score yet."""
    place = str(answer.get("item_i", ""))
    if place.startswith(WARM_UP):
        return
    annotations = answer["annotation"] if isinstance(answer["annotation"], list) else [answer["annotation"]]
    items = answer.get("item", [None] * len(annotations))
    items = items if isinstance(items, list) else [items]
    if len(items) != len(annotations):
        expected = f"expected an annotation for each of {len(items)} items"
        raise file.error(f"{expected}, found {len(annotations)}", number)
    user = str(answer.get("user_id", ""))
    for k, (item, annotation) in enumerate(zip(items, annotations, strict=True)):
        segment, document, domain = _pearmut_names(item, place, k)
        for system, judgment in annotation.items() if isinstance(annotation, dict) else ():
            yield ScoreRecord(system, segment, 0.0, document, user, domain=domain), judgment


def _pearmut_names(item: Any, place: str, k: int) -> tuple[str, str, str]:
    """The segment, its document and its domain: by their ids, else by the source, else by the place on the page."""
    if not isinstance(item, dict):
        return f"{place}.{k}", place, ""
    segment = item.get("item_id")
    if segment is None:
        segment = json.dumps(item["src"], ensure_ascii=False) if "src" in item else f"{place}.{k}"
    parts = str(segment).split(PEARMUT_PLACE)
    document = PEARMUT_PLACE.join(parts[:-1]) if len(parts) > 1 else place
    return str(segment), str(item.get("doc_id", document)), parts[0] if len(parts) > 2 else ""


def _is_wmt25_line(value: Any) -> bool:
    has_scores = isinstance(value, dict) and isinstance(value.get("scores"), dict)
    return has_scores and WMT25_PLACE in str(value.get("doc_id"))


def is_wmt25(file: TextFile) -> bool:
    """Whether a file is WMT25's human evaluation: a line for each segment, with the scores of its systems."""
    return file.is_json and bool(file.values) and _is_wmt25_line(file.values[0][1])


def read_wmt25(file: TextFile) -> list[Part]:
    """The scores of each language pair; a first and a second rating of a candidate are two waves, as in the findings.

    The ratings of a system are ``{"human1": 90, "annotator1": …, "human2": …}``, or a list of ``{"score": 90,
    "annotator": …}`` (``human`` in the file of control items); a score may be NaN. A segment without scores was not
    chosen for rating. WMT23's direct assessment is published in this format, too, and names its protocol.
    """
    by_pair: dict[str, list[ScoreRecord]] = {}
    protocols: set[str] = set()
    for number, value in file.values:
        if not _is_wmt25_line(value):
            problem = "expected an object with scores and a doc_id, as WMT25's lines have"
            raise file.error(problem, number)
        parts = str(value["doc_id"]).split(WMT25_PLACE)
        if len(parts) != 4:
            expected = "a doc_id of languages, domain, document and segment"
            raise file.error(f"expected {expected}, found {value['doc_id']!r}", number)
        pair, domain, document, segment = parts
        for system, ratings in value["scores"].items():
            for wave, score, rater, protocol in _wmt25_ratings(file, number, ratings):
                protocols.add(protocol)
                row = ScoreRecord(system, segment, score, document, rater, wave, domain)
                by_pair.setdefault(pair, []).append(row)
    if not by_pair:
        raise file.error("expected scores, found none: no segment was rated")
    scale = "DA" if any(name.startswith("DA") for name in protocols) else "ESA"
    if all(row.score <= 0 for rows in by_pair.values() for row in rows):
        scale = "MQM"  # penalties with a minus sign
    return [(pair, scores_of(rows, scale)) for pair, rows in by_pair.items()]


def _wmt25_ratings(file: TextFile, number: int, ratings: Any) -> Iterator[tuple[str, float, str, str]]:
    """Wave, score, rater and protocol of each rating of a candidate."""
    if isinstance(ratings, dict):
        waves = [key.removeprefix("human") for key in ratings if re.fullmatch(r"human\d+", key)]
        ratings = [
            {"score": ratings[f"human{wave}"], "annotator": ratings.get(f"annotator{wave}"), "wave": wave}
            for wave in waves
        ]
    if not isinstance(ratings, list) or not all(isinstance(rating, dict) for rating in ratings):
        raise file.error(f"expected the ratings of a system, found {json.dumps(ratings)[:60]}", number)
    for k, rating in enumerate(ratings, start=1):
        score = rating.get("human", rating.get("score"))
        if score is None or (isinstance(score, float) and math.isnan(score)):
            continue
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise file.error(f"expected a number as score, found {json.dumps(score)[:40]}", number)
        rater, protocol = rating.get("annotator") or "", rating.get("protocol", "")
        yield str(rating.get("wave", k)), float(score), str(rater), str(protocol)
