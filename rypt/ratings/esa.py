"""Ratings of Error Span Annotation (ESA): what Appraise and pearmut export, and what WMT publishes.

Read are Appraise's CSV (which has no texts: the batches that were annotated bring them), Appraise's JSONL, pearmut's
annotations (JSONL, or the JSON of its dashboard), and the JSONL of WMT 2024 (one rating a line) and 2025 (all systems
of a segment a line, each rated in one or two rounds, or by all annotators). Spans are characters of the target from
``start_i`` to ``end_i``, which is included; a span ``missing``, or in pearmut one behind the last character, is an
omission, which has no place. Scores run from 0 to 100. Tutorials and attention checks are left out. What cannot be
read is refused alone, a span or a rating, and counted.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rypt.csv_rows import csv_rows
from rypt.ratings.error_spans import ErrorSpan, Rating
from rypt.ratings.repairs import Repairs
from rypt.records import Record
from rypt.text import InputError, NumberedLines, PathLike, read_lines

RATED = (
    "TGT",
    "CHK",
    "REF",
)  # Appraise's item types that show a candidate as it is; BAD ones are broken on purpose
RESET = "__RESET__"  # pearmut: what this user did before does not count
TUTORIAL = "-tutorial"  # in the name of an Appraise document
_BREAK = re.compile(r"</?br ?/?>")
_PAIR = re.compile(r"[a-z]{2,3}-[a-z]{2,3}(_\w+)?(?=_#_)")  # before a WMT 2025 document's name
_WRONG = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
ItemKey = tuple[str, str, str]  # document, item and system
BatchTexts = Sequence[Mapping[ItemKey, tuple[str, str]]]  # source and target of each item, batch by batch


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
    numbered = list(read_lines(path) if lines is None else lines)
    first = next((line for _, line in numbered if line.strip()), None)
    if first is None:
        raise InputError(path, None, "expected ratings, found an empty file")
    if not first.lstrip().startswith(("{", "[")):
        if batches is None:
            raise InputError(
                path, None, "Appraise's CSV has no texts; --batches names the JSON of what was annotated"
            )
        ratings = list(_appraise_csv(path, numbered, read_batches(batches), repairs))
        repairs.require(len(ratings))
        return ratings
    if batches is not None:
        raise InputError(
            path, None, "expected Appraise's CSV, which needs --batches, found JSON, which has the texts"
        )
    records = list(_records(numbered, repairs))
    if any("user_id" in record for _, record in records):
        records = _without_resets(records)
    ratings = []
    for number, record in records:
        try:
            ratings += list(_json_ratings(record, number, repairs))
        except _WRONG as error:
            problem = f"no field {error}" if isinstance(error, KeyError) else str(error)
            repairs.add(number, "rating-refused", f"expected a rating of Appraise, pearmut or WMT: {problem}")
    repairs.require(len(ratings))
    return ratings


def of_languages(path: PathLike, ratings: Sequence[Rating], languages: str) -> list[Rating]:
    """The ratings of one language pair; those of files that name none are refused, as are pairs that are not there."""
    kept = [rating for rating in ratings if rating.languages == languages]
    if not kept:
        named = ", ".join(sorted({rating.languages for rating in ratings} - {""})) or "no language pair"
        raise InputError(path, None, f"expected ratings of {languages}, found {named}")
    return kept


def _records(lines: Sequence[tuple[int, str]], repairs: Repairs) -> Iterator[tuple[int, dict[str, Any]]]:
    """JSONL, or one JSON document: a list, or pearmut's lists by campaign."""
    lines = [(number, line) for number, line in lines if line.strip()]
    try:
        document = json.loads(lines[0][1] if len(lines) == 1 else "\n".join(line for _, line in lines))
    except (ValueError, RecursionError):
        document = None
    if (
        isinstance(document, dict)
        and document
        and all(isinstance(value, list) for value in document.values())
    ):
        document = [record for value in document.values() for record in value]
    if isinstance(document, list):
        yield from ((lines[0][0], record) for record in document if isinstance(record, dict))
        return
    for number, line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            repairs.add(number, "line-refused", f"expected a JSON object: {error}")
            continue
        if isinstance(record, dict):
            yield number, record
        else:
            repairs.add(number, "line-refused", f"expected a JSON object, found {line[:40]!r}")


def _json_ratings(record: Record, line: int, repairs: Repairs) -> Iterator[Rating]:
    if "annotation" in record and "user_id" in record:
        yield from _pearmut(record, line, repairs)
    elif "annotator" in record and ("target_text" in record or "targets" in record):
        yield from _appraise(record, line, repairs)
    elif "esa_spans" in record:
        yield _wmt24(record, line, repairs)
    elif "scores" in record and "tgt_text" in record:
        yield from _wmt25(record, line, repairs)
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


def _pearmut(record: Record, line: int, repairs: Repairs) -> Iterator[Rating]:
    if not isinstance(record.get("item_i"), int):  # welcome_0, random_3: tutorials and checks
        return
    if "item" not in record:
        raise ValueError("these annotations do not hold the texts; export them with a newer pearmut")
    time = max(
        (int(action["time"]) for action in record.get("actions") or [] if "time" in action), default=None
    )
    for item, answers in zip(record["item"], record["annotation"], strict=True):
        if "validation" in item or "tgt" not in item:
            continue
        for system, answer in answers.items():
            if answer.get("score") is None and not answer.get("error_spans"):
                continue  # skipped
            target = _text(item["tgt"], system)
            errors = _spans(answer.get("error_spans") or [], target, line, repairs)
            named = (
                str(item.get("item_id", "")),
                str(item.get("src", "")),
                target,
                system,
                str(record["user_id"]),
            )
            yield Rating(*named, errors, _score(answer.get("score")), time, line)


# Appraise


def _appraise(record: Record, line: int, repairs: Repairs) -> Iterator[Rating]:
    if record.get("item_type", "TGT") not in RATED:
        return
    for answer in record.get("targets", [record]):
        target = _plain(answer["target_text"])
        spans = answer.get("mqm_annotations") or []
        spans = json.loads(spans) if isinstance(spans, str) else spans
        source = _plain(record["source_text"])
        time = answer.get("end_time", record.get("end_time"))
        errors = _spans(spans, target, line, repairs)
        yield Rating(
            str(record.get("source_id", "")),
            source,
            target,
            str(answer["target_id"]),
            str(record["annotator"]),
            errors,
            _score(answer.get("score")),
            None if time is None else int(time),
            line,
            document=str(record.get("document_id", "")).split("#")[0],
        )


def read_batches(path: PathLike) -> BatchTexts:
    """Source and target of each item that Appraise showed, batch by batch; ids are those of a batch."""
    try:
        document = json.loads("\n".join(line for _, line in read_lines(path)))
        batches: list[dict[ItemKey, tuple[str, str]]] = []
        for batch in document:
            texts: dict[ItemKey, tuple[str, str]] = {}
            for item in batch["items"]:
                key = str(item["documentID"]), str(item["itemID"]), str(item["targetID"])
                texts.setdefault(key, (_plain(item["sourceText"]), _plain(item["targetText"])))
            batches.append(texts)
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        raise InputError(
            path, None, f"expected the JSON of Appraise's batches, with items: {error!r}"
        ) from None
    return batches


class _ShownTexts:
    """What each user was shown; where two batches have an item of one id, the batch that has most of the user's."""

    def __init__(self, batches: BatchTexts, answered: Mapping[str, Sequence[ItemKey]]) -> None:
        self._batches = batches
        self._answered = answered
        self._holding: dict[ItemKey, list[int]] = {}
        for number, batch in enumerate(batches):
            for key in batch:
                self._holding.setdefault(key, []).append(number)
        self._shares: dict[str, Counter[int]] = {}

    def find(self, user: str, key: ItemKey) -> tuple[list[tuple[str, str]], bool]:
        """The texts that a user may have seen, one if all is well; and whether the id is that of other texts, too."""
        holding = self._holding.get(key, [])
        texts = {self._batches[number][key] for number in holding}
        if len(texts) < 2:
            return list(texts), False
        if user not in self._shares:
            self._shares[user] = Counter(n for k in self._answered[user] for n in self._holding.get(k, ()))
        most = max(self._shares[user][number] for number in holding)
        best = {self._batches[n][key] for n in holding if self._shares[user][n] == most}
        return sorted(best), True


def _appraise_csv(
    path: PathLike, lines: NumberedLines, batches: BatchTexts, repairs: Repairs
) -> Iterator[Rating]:
    """Rows user, system, item, type, languages, score, document, last item?, spans, begin, end.

    Of contrastive campaigns, the id of the source stands before the system.
    """
    rows: list[tuple[int, str, list[str]]] = []  # line, id of the source if there is one, the columns
    answered: dict[str, list[ItemKey]] = {}
    for number, row in csv_rows(path, lines):
        if not row or "itemType" in row:
            continue
        shift = next((i for i in (0, 1) if len(row) > 9 + i and row[3 + i] in (*RATED, "BAD")), None)
        if shift is None:
            repairs.add(
                number, "line-refused", "expected a row of Appraise's export: user, system, item, TGT, …"
            )
            continue
        source_id = row.pop(1) if shift else ""
        rows.append((number, source_id, row))
        answered.setdefault(row[0], []).append((row[7], row[2], row[1]))
    shown = _ShownTexts(batches, answered)
    for number, source_id, row in rows:
        user, system, item, kind, source, target, score, document, _, spans, *times = row
        if kind not in RATED or TUTORIAL in document:
            continue
        texts, is_shared = shown.find(user, (document, item, system))
        named = f"document {document}, item {item} of {system}"
        if len(texts) != 1:
            problem = "is there with two texts" if texts else "is not in the batches"
            repairs.add(number, "rating-refused", f"{named} {problem}")
            continue
        if is_shared:
            repairs.add(
                number, "shared-id", f"{named} is there with two texts", "told apart by the user's batch"
            )
        try:
            errors = _spans(json.loads(spans or "[]"), texts[0][1], number, repairs)
            time = int(float(times[1])) if len(times) > 1 else None
            rated = _score(score)
        except _WRONG as error:
            repairs.add(number, "rating-refused", f"expected a score, spans as JSON and times: {error}")
            continue
        yield Rating(
            source_id or item,
            *texts[0],
            system,
            user,
            errors,
            rated,
            time,
            number,
            f"{source}-{target}",
            document.split("#")[0],
        )


# WMT


def _wmt24(record: Record, line: int, repairs: Repairs) -> Rating:
    target = _text(record, "tgt")
    rater = str(record.get("annotator") or "esa")
    errors = _spans(record["esa_spans"] or [], target, line, repairs)
    named = str(record.get("line_id", "")), _text(record, "src"), target, str(record["system"]), rater
    score, document = _score(record.get("esa_score")), str(record.get("doc_id", ""))
    return Rating(*named, errors, score, None, line, str(record.get("langs", "")), document)


def _wmt25(record: Record, line: int, repairs: Repairs) -> Iterator[Rating]:
    """All systems of a segment; of each the answers of one or two rounds, or of all annotators."""
    segment, source = str(record.get("doc_id", "")), _text(record, "src_text")
    pair = _PAIR.match(segment)
    for system, given in record["scores"].items():
        target = _text(record["tgt_text"], system)
        for rater, score, spans in _wmt25_answers(system, given):
            errors = _spans(spans, target, line, repairs)
            languages, document = pair[0] if pair else "", segment.rpartition("_#_")[0]
            yield Rating(
                segment, source, target, system, rater, errors, score, None, line, languages, document
            )


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


def _spans(spans: Sequence[Record], target: str, line: int, repairs: Repairs) -> tuple[ErrorSpan, ...]:
    """The error spans of an answer; one whose place cannot be read has none."""
    errors = []
    for span in spans:
        try:
            errors.append(_span(span, target))
        except _WRONG as error:
            problem = f"no field {error}" if isinstance(error, KeyError) else str(error)
            repairs.add(
                line, "span-refused", f"expected an error span with start_i and end_i: {problem}", "no place"
            )
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
    return ErrorSpan(
        "target", first, last + 1, severity, str(span.get("category") or span.get("error_type") or "")
    )
