"""Ratings of Error Span Annotation (ESA): Appraise's export, and the files that WMT publishes.

Read are Appraise's CSV (which has no texts: the batches that were annotated bring them), and the JSONL of WMT 2024 (one
rating a line) and 2025 (all systems of a segment a line, each rated in one or two rounds, or by all annotators). Spans
are characters of the target from ``start_i`` to ``end_i``, which is included; a span ``missing`` is an omission, which
has no place. Scores run from 0 to 100. Tutorials and attention checks are left out. A span or a rating that cannot be
read is refused alone, and counted.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rypt.csv_rows import csv_rows
from rypt.ratings.rating import ErrorSpan, Rating, Repairs
from rypt.records import Record
from rypt.text import InputError, NumberedLines, PathLike, read_lines

SHOWN = ("TGT", "CHK", "REF")  # Appraise's items with unchanged candidates; BAD ones are broken on purpose
TUTORIAL = "-tutorial"  # in the name of an Appraise document
_BREAK = re.compile(r"</?br ?/?>")
_PAIR = re.compile(r"[a-z]{2,3}-[a-z]{2,3}(_\w+)?(?=_#_)")  # before a WMT 2025 document's name
_WRONG = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
ItemKey = tuple[str, str, str]  # document, item and system
Texts = tuple[str, str]  # source and target
Batches = Mapping[ItemKey, Mapping[int, Texts]]  # the texts of an item, by the number of the batch


def read_esa(
    path: PathLike,
    batches: PathLike | None = None,
    lines: NumberedLines | None = None,
    repairs: Repairs | None = None,
) -> list[Rating]:
    """Read the ratings of any of the forms; ``batches`` brings the texts of Appraise's CSV.

    ``lines`` replaces reading ``path``, for a caller who shows progress. ``repairs`` takes what had to be mended.
    """
    repairs = repairs or Repairs(path)
    numbered = [(n, line) for n, line in (read_lines(path) if lines is None else lines) if line.strip()]
    if not numbered:
        raise InputError(path, None, "expected ratings, found an empty file")
    is_json = numbered[0][1].lstrip().startswith(("{", "["))
    if is_json and batches is not None:
        problem = "expected Appraise's CSV, which needs --batches, found JSON, which has the texts"
        raise InputError(path, None, problem)
    if is_json:
        ratings = [rating for number, line in numbered for rating in _json_ratings(number, line, repairs)]
    elif batches is None:
        raise InputError(
            path, None, "Appraise's CSV has no texts; --batches names the JSON of what was annotated"
        )
    else:
        ratings = list(_appraise_ratings(path, numbered, read_batches(batches), repairs))
    repairs.require(len(ratings))
    return ratings


def _json_ratings(number: int, line: str, repairs: Repairs) -> list[Rating]:
    """The ratings of a line of one of WMT's files."""
    try:
        record = json.loads(line)
        if "esa_spans" in record:
            return [_wmt24(record, number, repairs)]
        if "scores" in record and "tgt_text" in record:
            return list(_wmt25(record, number, repairs))
        problem = f"found the fields {', '.join(list(record)[:8])}"
    except _WRONG as error:
        problem = _reason(error)
    repairs.add(number, "rating-refused", f"expected a rating of WMT: {problem}")
    return []


def _reason(error: Exception) -> str:
    return f"no field {error}" if isinstance(error, KeyError) else str(error)


def read_batches(path: PathLike) -> Batches:
    """Source and target of each item that Appraise showed; ids are those of a batch."""
    try:
        document = json.loads("\n".join(line for _, line in read_lines(path)))
        batches: dict[ItemKey, dict[int, Texts]] = {}
        for number, batch in enumerate(document):
            for item in batch["items"]:
                key = str(item["documentID"]), str(item["itemID"]), str(item["targetID"])
                # Appraise shows a line break of the text as one character, and so counts it
                source, target = (_BREAK.sub("\n", item[name]) for name in ("sourceText", "targetText"))
                batches.setdefault(key, {}).setdefault(number, (source, target))
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        problem = f"expected the JSON of Appraise's batches, with items: {error!r}"
        raise InputError(path, None, problem) from None
    return batches


def _shown_texts(
    batches: Batches, answered: Mapping[str, Sequence[ItemKey]], user: str, key: ItemKey
) -> tuple[list[Texts], bool]:
    """The texts that a user may have seen, one if all is well; and whether other texts have the id, too.

    Where two batches have an item of one id, the user saw that of the batch which has most of the user's items.
    """
    holding = batches.get(key, {})
    texts = set(holding.values())
    if len(texts) < 2:
        return list(texts), False
    shares = Counter(number for answer in answered[user] for number in batches.get(answer, ()))
    most = max(shares[number] for number in holding)
    return sorted({text for number, text in holding.items() if shares[number] == most}), True


def _appraise_ratings(
    path: PathLike, lines: NumberedLines, batches: Batches, repairs: Repairs
) -> Iterator[Rating]:
    """Rows user, system, item, type, languages, score, document, last item?, spans, begin, end.

    Of contrastive campaigns, the id of the source comes before the system.
    """
    rows: list[tuple[int, str, list[str]]] = []  # line, id of the source if there is one, the columns
    answered: dict[str, list[ItemKey]] = {}
    for number, row in csv_rows(path, lines):
        if not row or "itemType" in row:
            continue
        shift = next((i for i in (0, 1) if len(row) > 9 + i and row[3 + i] in (*SHOWN, "BAD")), None)
        if shift is None:
            problem = "expected a row of Appraise's export: user, system, item, TGT, …"
            repairs.add(number, "line-refused", problem)
            continue
        source_id = row.pop(1) if shift else ""
        rows.append((number, source_id, row))
        answered.setdefault(row[0], []).append((row[7], row[2], row[1]))
    for number, source_id, row in rows:
        user, system, item, kind, source, target, score, document, _, spans, *times = row
        if kind not in SHOWN or TUTORIAL in document:
            continue
        texts, is_shared = _shown_texts(batches, answered, user, (document, item, system))
        named = f"document {document}, item {item} of {system}"
        if len(texts) != 1:
            problem = "is there with two texts" if texts else "is not in the batches"
            repairs.add(number, "rating-refused", f"{named} {problem}")
            continue
        if is_shared:
            problem = f"{named} is there with two texts"
            repairs.add(number, "shared-id", problem)
        try:
            errors = _spans(json.loads(spans or "[]"), texts[0][1], number, repairs)
            time = int(float(times[1])) if len(times) > 1 else None
            rated = _score(score)
        except _WRONG as error:
            repairs.add(number, "rating-refused", f"expected a score, spans as JSON and times: {error}")
            continue
        segment, languages = source_id or item, f"{source}-{target}"
        who = *texts[0], system, user
        yield Rating(segment, *who, errors, rated, time, number, languages, document.split("#")[0])


def _wmt24(record: Record, line: int, repairs: Repairs) -> Rating:
    target = _text(record, "tgt")
    return Rating(
        str(record.get("line_id", "")),
        _text(record, "src"),
        target,
        str(record["system"]),
        str(record.get("annotator") or "esa"),
        _spans(record["esa_spans"] or [], target, line, repairs),
        _score(record.get("esa_score")),
        None,
        line,
        str(record.get("langs", "")),
        str(record.get("doc_id", "")),
    )


def _wmt25(record: Record, line: int, repairs: Repairs) -> Iterator[Rating]:
    """All systems of a segment; of each the answers of one or two rounds, or of all annotators."""
    segment, source = str(record.get("doc_id", "")), _text(record, "src_text")
    pair = _PAIR.match(segment)
    languages, document = pair[0] if pair else "", segment.rpartition("_#_")[0]
    for system, answers in record["scores"].items():
        target = _text(record["tgt_text"], system)
        for rater, score, spans in _wmt25_answers(system, answers):
            errors = _spans(spans, target, line, repairs)
            text = segment, source, target
            yield Rating(*text, system, rater, errors, score, None, line, languages, document)


def _wmt25_answers(system: str, answers: Any) -> Iterator[tuple[str, float | None, Sequence[Record]]]:
    """Rater, score and spans: ``human1`` and ``errors1``, the same with 2; or a list of ``human`` and ``errors``."""
    for answer in answers if isinstance(answers, list) else [answers]:
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


def _score(value: Any) -> float | None:
    if value in (None, ""):
        return None
    score = float(value)
    if not math.isfinite(score):
        raise ValueError(f"expected a finite number as score, found {value!r}")
    return score


def _spans(spans: Sequence[Record], target: str, line: int, repairs: Repairs) -> tuple[ErrorSpan, ...]:
    """The error spans of an answer; one whose place cannot be read has none."""
    errors = []
    for span in spans:
        try:
            errors.append(_span(span, target))
        except _WRONG as error:
            problem = f"expected an error span with start_i and end_i: {_reason(error)}"
            repairs.add(line, "span-refused", problem)
            if isinstance(span, Mapping):
                errors.append(ErrorSpan("nowhere", 0, 0, str(span.get("severity") or "neutral")))
    return tuple(errors)


def _span(span: Record, target: str) -> ErrorSpan:
    severity = str(span.get("severity") or "neutral")
    start, last = span["start_i"], span["end_i"]
    if start == "missing" or last == "missing" or int(start) >= len(target):
        return ErrorSpan("nowhere", 0, 0, severity, "missing")
    first, last = sorted((int(start), int(last)))
    if first < 0:
        raise ValueError(f"expected characters from 0, found start_i {first}")
    category = str(span.get("category") or span.get("error_type") or "")
    return ErrorSpan("target", first, last + 1, severity, category)
