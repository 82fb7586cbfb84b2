"""Exports of evaluation campaigns as segment scores: Appraise (direct assessment, ESA), MQM, pearmut.

appraise  no header: user, system, segment, type (TGT, BAD …), source and target language, score, document, whether it
          is the score of a whole document, error spans (ESA only), start, end
mqm       Google's TSV with a line for each error (`rypt.ratings.mqm`)
wmt25     WMT25's JSONL: a line for each segment, with the ``scores`` of its systems and a ``doc_id``
pearmut   JSON with ``item`` and ``annotation`` beside each other, or a file of several campaigns of these
"""

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hits.ranking.readers.columns import Part
from hits.ranking.readers.languages import pair_key
from hits.ranking.scores.data import ScoreRecord, scores_of
from rypt.text import InputError, PathLike

Lines = Sequence[tuple[int, str]]
RATED = "TGT"  # the type of an item that is not a test of the rater
TYPES = (RATED, "BAD", "REF", "CHK", "TGT-BAD", "DUP")
LEFT_OUT = ("#incomplete", "#dup")  # in names of documents: they fill up a rater's share of work
TUTORIAL = "tutorial"
APPRAISE = {11: "DA", 12: "ESA"}  # columns, and what they score
DOMAIN = re.compile(r"test-[a-z]{2,3}-([a-z]+)_")  # in WMT24's names of documents
PLACE = "_#_"  # between the parts of WMT25's doc_id: languages, domain, document, segment
Key = tuple[str, str, str, str]  # user, system, document, segment


def is_appraise(line: str) -> bool:
    """Whether a line is one of an export of Appraise."""
    try:
        fields = next(csv.reader([line]))
    except (csv.Error, StopIteration):
        return False
    return len(fields) in APPRAISE and fields[3].upper() in TYPES and fields[6].replace(".", "", 1).isdecimal()


def read_appraise(path: PathLike, lines: Lines) -> list[Part]:
    """The scores of each language pair: no tests of raters, no tutorials, of a user's ratings of an item the latest.

    As WMT's findings read these files: documents that are marked ``#incomplete`` or ``#dup`` are left out, and each
    file is a wave of its own.
    """
    latest: dict[str, dict[Key, tuple[float, float]]] = {}
    pairs: dict[str, str] = {}
    scale = "DA"
    for number, fields in _appraise_rows(path, lines):
        scale = APPRAISE[len(fields)]
        user, system, segment, kind, source, target, score, document, whole = fields[:9]
        if kind.upper() != RATED or TUTORIAL in system or any(mark in document for mark in LEFT_OUT):
            continue
        if scale == "DA" and whole.lower() == "true":
            continue
        try:
            rated, time = float(score), float(fields[-1] or 0)
        except ValueError:
            raise InputError(path, number, f"expected a score and a time, found {score!r} and {fields[-1]!r}") from None
        pair = pair_key(f"{source}-{target}")
        pairs.setdefault(pair, f"{source}-{target}")
        key, ratings = (user, system, document, segment), latest.setdefault(pair, {})
        if key not in ratings or ratings[key][0] <= time:
            ratings[key] = (time, rated)
    if not latest:
        raise InputError(path, None, f"expected ratings of type {RATED}, found none")
    wave = str(path)
    return [(pairs[pair], scores_of(_appraise_records(ratings, wave), scale)) for pair, ratings in latest.items()]


def _appraise_records(ratings: Mapping[Key, tuple[float, float]], wave: str) -> Iterator[ScoreRecord]:
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
    for (user, system, document, segment), (_, rated) in ratings.items():
        name = document
        if _names_system(document, system):
            name = document.split("#")[0]
            segments = places[user, document]
            whole = len(segments) == lengths[name]
            segment = str(segments.index(segment) + 1) if whole else f"{segment} of {user}"
        domain = DOMAIN.match(name)
        yield ScoreRecord(system, segment, rated, name, user, wave, domain.group(1) if domain else "")


def _names_system(document: str, system: str) -> bool:
    """Whether a document is named after the system, too: ``rt.com.39936#refA`` of ``wmt23.refA``."""
    name = document.partition("#")[2].partition("#")[0]
    return bool(name) and system.endswith(name)


def _appraise_rows(path: PathLike, lines: Lines) -> Iterator[tuple[int, list[str]]]:
    numbers = [number for number, _ in lines]
    reader = csv.reader((line for _, line in lines), strict=True)
    try:
        for fields in reader:
            number = numbers[min(reader.line_num, len(numbers)) - 1]
            if len(fields) not in APPRAISE:
                raise InputError(path, number, f"expected 11 or 12 fields of Appraise's export, found {len(fields)}")
            yield number, fields
    except csv.Error as error:
        raise InputError(path, numbers[min(reader.line_num, len(numbers)) - 1], f"expected CSV: {error}") from None


def is_mqm(line: str) -> bool:
    """Whether a line is the header of Google's MQM files, or of one with a line for each error."""
    names = {name.strip().lower() for name in line.split("\t")}
    return {"system", "rater", "severity", "category"} <= names


def read_mqm_scores(path: PathLike, lines: Lines) -> list[Part]:
    """The penalty of each rating, 0 is best."""
    from rypt.ratings.mqm import read_mqm

    ratings = read_mqm(path, lines)
    records = (
        ScoreRecord(r.system, r.segment, r.score, r.document, r.rater) for r in ratings if r.score is not None
    )  # fmt: skip
    return [("", scores_of(records, "MQM", higher=False))]


def is_wmt25(record: Any) -> bool:
    """Whether an object is a line of WMT25's human evaluation."""
    return isinstance(record, dict) and isinstance(record.get("scores"), dict) and PLACE in str(record.get("doc_id"))


def read_wmt25(path: PathLike, records: Sequence[tuple[int, Any]]) -> list[Part]:
    """The scores of each language pair; a first and a second rating of a candidate are two waves, as in the findings.

    The ratings of a system are ``{"human1": 90, "annotator1": …, "human2": …}``, or a list of ``{"human": 90,
    "annotator": …}``, as in the file of control items. A segment without scores was not chosen for rating.
    """
    by_pair: dict[str, list[ScoreRecord]] = {}
    for number, record in records:
        if not is_wmt25(record):
            raise InputError(path, number, "expected an object with scores and a doc_id, as WMT25's lines have")
        parts = str(record["doc_id"]).split(PLACE)
        if len(parts) != 4:
            raise InputError(
                path,
                number,
                f"expected a doc_id of languages, domain, document and segment, found {record['doc_id']!r}",
            )
        pair, domain, document, segment = parts
        for system, given in record["scores"].items():
            for wave, score, rater in _wmt25_ratings(path, number, given):
                row = ScoreRecord(system, segment, score, document, rater, wave, domain)
                by_pair.setdefault(pair, []).append(row)
    if not by_pair:
        raise InputError(path, None, "expected scores, found none: no segment was rated")
    return [(pair, scores_of(rows, "ESA")) for pair, rows in by_pair.items()]


def _wmt25_ratings(path: PathLike, number: int, given: Any) -> Iterator[tuple[str, float, str]]:
    """Wave, score and rater of each rating of a candidate."""
    if isinstance(given, dict):
        waves = [key.removeprefix("human") for key in given if re.fullmatch(r"human\d+", key)]
        ratings = [(wave, given[f"human{wave}"], given.get(f"annotator{wave}")) for wave in waves]
    elif isinstance(given, list) and all(isinstance(rating, dict) for rating in given):
        ratings = [
            (str(k), rating.get("human", rating.get("score")), rating.get("annotator"))
            for k, rating in enumerate(given, start=1)
        ]
    else:
        raise InputError(path, number, f"expected the ratings of a system, found {json.dumps(given)[:60]}")
    for wave, score, rater in ratings:
        if score is None or (isinstance(score, float) and math.isnan(score)):
            continue
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise InputError(path, number, f"expected a number as score, found {json.dumps(score)[:40]}")
        yield wave, float(score), str(rater or "")


def is_pearmut(record: Any) -> bool:
    """Whether an object is an answer in pearmut."""
    return isinstance(record, dict) and isinstance(record.get("annotation"), list | dict) and "item" in record


def pearmut_entries(value: Any) -> list[Any] | None:
    """The answers in a file of pearmut's: a list of them, or a campaign's name with such a list; None in others."""
    if is_pearmut(value):
        return [value]
    if isinstance(value, list) and value and all(is_pearmut(entry) for entry in value):
        return value
    if isinstance(value, dict) and value and all(isinstance(part, list) for part in value.values()):
        entries = [entry for part in value.values() for entry in part]
        return entries if entries and all(is_pearmut(entry) for entry in entries) else None
    return None


def read_pearmut(path: PathLike, entries: Sequence[tuple[int | None, Any]]) -> list[Part]:
    """The scores in pearmut's answers; a later answer of a user to the same item replaces an earlier one."""
    latest: dict[tuple[str, str, str, str], ScoreRecord] = {}
    for number, entry in entries:
        place = str(entry.get("item_i", ""))
        if place.startswith(("welcome_", "random_", "goodbye_")):
            continue  # examples and tests of the rater
        items = entry["item"] if isinstance(entry["item"], list) else [entry["item"]]
        answers = entry["annotation"] if isinstance(entry["annotation"], list) else [entry["annotation"]]
        if len(items) != len(answers):
            raise InputError(
                path, number, f"expected an annotation for each of {len(items)} items, found {len(answers)}"
            )
        user = str(entry.get("user_id", ""))
        for k, (item, answer) in enumerate(zip(items, answers, strict=True)):
            for system, given in (answer or {}).items():
                if not isinstance(given, dict) or given.get("score") is None:
                    continue
                segment, document = _pearmut_names(item, place, k)
                try:
                    score = float(given["score"])
                except (TypeError, ValueError):
                    raise InputError(path, number, f"expected a number as score, found {given['score']!r}") from None
                latest[user, system, document, segment] = ScoreRecord(system, segment, score, document, user)
    if not latest:
        raise InputError(path, None, "expected scores in pearmut's annotations, found none")
    return [("", scores_of(latest.values(), "ESA"))]


def _pearmut_names(item: Any, place: str, k: int) -> tuple[str, str]:
    """The segment and its document: by their ids, else by the source, else by the place on the page."""
    if not isinstance(item, dict):
        return f"{place}.{k}", place
    segment = item.get("item_id")
    if segment is None:
        segment = json.dumps(item["src"], ensure_ascii=False) if "src" in item else f"{place}.{k}"
    return str(segment), str(item.get("doc_id", place))
