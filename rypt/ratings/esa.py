"""Ratings of Error Span Annotation (ESA): what Appraise and pearmut export, and what WMT publishes.

Read are Appraise's CSV (which has no texts: the batches that were annotated bring them), Appraise's JSONL, pearmut's
annotations (JSONL, or the JSON of its dashboard), and the JSONL of WMT 2024 (one rating a line) and 2025 (all systems
of a segment a line, each rated in one or two rounds, or by all annotators). Spans are characters of the target from
``start_i`` to ``end_i``, which is included; a span ``missing``, or in pearmut one behind the last character, is an
omission, which has no place. Scores run from 0 to 100. Tutorials and attention checks are left out.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rypt.csv_rows import csv_rows
from rypt.ratings.error_spans import ErrorSpan, Rating
from rypt.records import Record
from rypt.text import FormatError, InputError, NumberedLines, PathLike, read_lines

RATED = ("TGT", "CHK", "REF")  # Appraise's item types that show a candidate as it is; BAD ones are broken on purpose
RESET = "__RESET__"  # pearmut: what this user did before does not count
TUTORIAL = "-tutorial"  # in the name of an Appraise document
_BREAK = re.compile(r"</?br ?/?>")
_PAIR = re.compile(r"[a-z]{2,3}-[a-z]{2,3}(_\w+)?(?=_#_)")  # before a WMT 2025 document's name
_WRONG = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
BatchTexts = Mapping[tuple[str, ...], tuple[str, str]]


def read_esa(path: PathLike, batches: PathLike | None = None, lines: NumberedLines | None = None) -> list[Rating]:
    """Read the ratings of any of the forms; ``batches`` brings the texts of Appraise's CSV."""
    numbered = list(read_lines(path) if lines is None else lines)
    first = next((line for _, line in numbered if line.strip()), None)
    if first is None:
        raise InputError(path, None, "expected ratings, found an empty file")
    if not first.lstrip().startswith(("{", "[")):
        if batches is None:
            raise InputError(path, None, "Appraise's CSV has no texts; --batches names the JSON of what was annotated")
        return list(_appraise_csv(path, numbered, read_batches(batches)))
    if batches is not None:
        raise InputError(path, None, "expected Appraise's CSV, which needs --batches, found JSON, which has the texts")
    records = list(_records(path, numbered))
    if any("user_id" in record for _, record in records):
        records = _without_resets(records)
    ratings: list[Rating] = []
    for number, record in records:
        try:
            ratings += _json_ratings(record, number)
        except _WRONG as error:
            problem = f"no field {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(path, number, f"expected a rating of Appraise, pearmut or WMT: {problem}") from None
    return ratings


def of_languages(path: PathLike, ratings: Sequence[Rating], languages: str) -> list[Rating]:
    """The ratings of one language pair; those of files that name none are refused, as are pairs that are not there."""
    kept = [rating for rating in ratings if rating.languages == languages]
    if not kept:
        named = ", ".join(sorted({rating.languages for rating in ratings} - {""})) or "no language pair"
        raise InputError(path, None, f"expected ratings of {languages}, found {named}")
    return kept


def _records(path: PathLike, lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """JSONL, or one JSON document: a list, or pearmut's lists by campaign."""
    lines = [(number, line) for number, line in lines if line.strip()]
    try:
        document = json.loads(lines[0][1] if len(lines) == 1 else "\n".join(line for _, line in lines))
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict) and document and all(isinstance(value, list) for value in document.values()):
        document = [record for value in document.values() for record in value]
    if isinstance(document, list):
        yield from ((lines[0][0], record) for record in document if isinstance(record, dict))
        return
    for number, line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(path, number, f"expected a JSON object: {error}") from None
        if not isinstance(record, dict):
            raise InputError(path, number, f"expected a JSON object, found {line[:40]!r}")
        yield number, record


def _json_ratings(record: Record, line: int) -> Iterator[Rating]:
    if "annotation" in record and "user_id" in record:
        yield from _pearmut(record, line)
    elif "annotator" in record and ("target_text" in record or "targets" in record):
        yield from _appraise(record, line)
    elif "esa_spans" in record:
        yield _wmt24(record, line)
    elif "scores" in record and "tgt_text" in record:
        yield from _wmt25(record, line)
    else:
        raise ValueError(f"found the fields {', '.join(list(record)[:8])}")


# pearmut


def _without_resets(records: Sequence[tuple[int, dict[str, Any]]]) -> list[tuple[int, dict[str, Any]]]:
    kept: dict[tuple[str, str], list[tuple[int, dict[str, Any]]]] = {}
    for number, record in records:
        place = str(record.get("user_id")), str(record.get("item_i"))
        if record.get("annotation") == RESET:
            kept.pop(place, None)
        else:
            kept.setdefault(place, []).append((number, record))
    return sorted((pair for pairs in kept.values() for pair in pairs), key=lambda pair: pair[0])


def _pearmut(record: Record, line: int) -> Iterator[Rating]:
    if not isinstance(record.get("item_i"), int):  # welcome_0, random_3: tutorials and checks
        return
    if "item" not in record:
        raise ValueError("these annotations do not hold the texts; export them with a newer pearmut")
    time = max((int(action["time"]) for action in record.get("actions") or [] if "time" in action), default=None)
    for item, answers in zip(record["item"], record["annotation"], strict=True):
        if "validation" in item or "tgt" not in item:
            continue
        for system, answer in answers.items():
            if answer.get("score") is None and not answer.get("error_spans"):
                continue  # skipped
            target = _text(item["tgt"], system)
            errors = _spans(answer.get("error_spans") or [], target)
            named = str(item.get("item_id", "")), str(item.get("src", "")), target, system, str(record["user_id"])
            yield Rating(*named, errors, _score(answer.get("score")), time, line)


# Appraise


def _appraise(record: Record, line: int) -> Iterator[Rating]:
    if record.get("item_type", "TGT") not in RATED:
        return
    for answer in record.get("targets", [record]):
        target = _plain(answer["target_text"])
        spans = answer.get("mqm_annotations") or []
        spans = json.loads(spans) if isinstance(spans, str) else spans
        source = _plain(record["source_text"])
        time = answer.get("end_time", record.get("end_time"))
        yield Rating(
            str(record.get("source_id", "")), source, target, str(answer["target_id"]), str(record["annotator"]),
            _spans(spans, target), _score(answer.get("score")), None if time is None else int(time), line,
        )  # fmt: skip


def read_batches(path: PathLike) -> BatchTexts:
    """Source and target of each item that Appraise showed, by document, item and system."""
    try:
        document = json.loads("\n".join(line for _, line in read_lines(path)))
        items = [item for batch in document for item in batch["items"]]
        texts: dict[tuple[str, ...], tuple[str, str]] = {}
        for item in items:
            key = str(item["documentID"]), str(item["itemID"]), str(item["targetID"])
            text = _plain(item["sourceText"]), _plain(item["targetText"])
            if texts.setdefault(key, text) != text:
                raise FormatError(f"document {key[0]}, item {key[1]} of {key[2]} is there with two texts")
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        raise InputError(path, None, f"expected the JSON of Appraise's batches, with items: {error!r}") from None
    except FormatError as error:
        raise InputError(path, None, str(error)) from None
    return texts


def _appraise_csv(path: PathLike, lines: NumberedLines, texts: BatchTexts) -> Iterator[Rating]:
    """Rows user, system, item, type, languages, score, document, last item?, spans, begin, end.

    Of contrastive campaigns, the id of the source stands before the system.
    """
    for number, row in csv_rows(path, lines):
        if not row or "itemType" in row:
            continue
        shift = next((i for i in (0, 1) if len(row) > 9 + i and row[3 + i] in (*RATED, "BAD")), None)
        if shift is None:
            raise InputError(path, number, "expected a row of Appraise's export: user, system, item, TGT, …")
        system, item, kind, source, target, score, document, _, spans, *times = row[1 + shift :]
        if kind not in RATED or TUTORIAL in document:
            continue
        source_and_target = texts.get((document, item, system))
        if source_and_target is None:
            raise InputError(path, number, f"document {document}, item {item} of {system} is not in the batches")
        try:
            errors = _spans(json.loads(spans or "[]"), source_and_target[1])
            time = int(float(times[1])) if len(times) > 1 else None
            rated = _score(score)
        except _WRONG as error:
            raise InputError(path, number, f"expected a score, spans as JSON and times: {error}") from None
        named = row[1] if shift else item, *source_and_target, system, row[0]
        yield Rating(*named, errors, rated, time, number, f"{source}-{target}")


# WMT


def _wmt24(record: Record, line: int) -> Rating:
    target = _text(record, "tgt")
    rater = str(record.get("annotator") or "esa")
    errors = _spans(record["esa_spans"] or [], target)
    named = str(record.get("line_id", "")), _text(record, "src"), target, str(record["system"]), rater
    return Rating(*named, errors, _score(record.get("esa_score")), None, line, str(record.get("langs", "")))


def _wmt25(record: Record, line: int) -> Iterator[Rating]:
    """All systems of a segment; of each the answers of one or two rounds, or of all annotators."""
    segment, source = str(record.get("doc_id", "")), _text(record, "src_text")
    pair = _PAIR.match(segment)
    for system, given in record["scores"].items():
        target = _text(record["tgt_text"], system)
        for rater, score, spans in _wmt25_answers(system, given):
            errors = _spans(spans, target)
            yield Rating(segment, source, target, system, rater, errors, score, None, line, pair[0] if pair else "")


def _wmt25_answers(system: str, given: Any) -> Iterator[tuple[str, float | None, Sequence[Record]]]:
    """Rater, score and spans: ``human1`` and ``errors1``, the same with 2; or a list of ``human`` and ``errors``."""
    for answer in given if isinstance(given, list) else [given]:
        rounds = [n for n in ("", "1", "2") if {f"human{n}", f"score{n}", f"errors{n}"} & set(answer)]
        if not rounds:
            raise ValueError(f"{system} has no answer with human and errors, or human1 and errors1")
        for n in rounds:
            score = _score(answer.get(f"human{n}", answer.get(f"score{n}")))
            yield str(answer.get(f"annotator{n}") or "esa"), score, answer.get(f"errors{n}") or []


def _text(record: Record, name: str) -> str:
    if not isinstance(record[name], str):
        raise ValueError(f"expected text as {name}, found {record[name]!r}")
    return str(record[name])


def _plain(text: str) -> str:
    """Appraise shows a line break of the text as one character, and so counts it."""
    return _BREAK.sub("\n", text)


def _score(value: Any) -> float | None:
    if value in (None, ""):
        return None
    score = float(value)
    if not math.isfinite(score):
        raise ValueError(f"expected a finite number as score, found {value!r}")
    return score


def _spans(spans: Sequence[Record], target: str) -> tuple[ErrorSpan, ...]:
    errors = []
    for span in spans:
        severity = str(span.get("severity") or "neutral")
        start, last = span["start_i"], span["end_i"]
        if start == "missing" or last == "missing" or int(start) >= len(target):
            errors.append(ErrorSpan("nowhere", 0, 0, severity, "missing"))
            continue
        first, last = sorted((int(start), int(last)))
        if first < 0:
            raise ValueError(f"expected characters from 0, found start_i {first}")
        category = str(span.get("category") or span.get("error_type") or "")
        errors.append(ErrorSpan("target", first, last + 1, severity, category))
    return tuple(errors)
