"""Pearmut's annotations as segment scores: JSON with ``annotation`` and mostly ``item`` beside each other.

A file is one of a campaign's outputs, a line for each answer; or the download of several campaigns, whose names are
keys with lists of answers. Campaigns that name a language pair (``ces_Latn---deu_Latn``) are ranked apart.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hits.ranking.readers.appraise import penalty_of
from hits.ranking.readers.columns import Part
from hits.ranking.readers.languages import pair_in_name, pair_key
from hits.ranking.scores.data import ScoreRecord, scores_of
from rypt.text import InputError, PathLike

OTHERS = ("welcome_", "random_", "goodbye_")  # examples and tests of the rater
PLACE = "_###_"  # between the parts of WMT26's item ids: domain, document, segment
Answer = tuple[int | None, str, Any]  # line, campaign, what was answered
Key = tuple[str, str, str, str]  # user, system, document, segment


def is_answer(record: Any) -> bool:
    """Whether an object is an answer in pearmut."""
    if not isinstance(record, dict) or not isinstance(record.get("annotation"), list | dict):
        return False
    return "item" in record or "item_i" in record


def pearmut_answers(value: Any) -> list[tuple[str, Any]] | None:
    """The answers in a file of pearmut's, each with the name of its campaign; None in other files."""
    if is_answer(value):
        return [("", value)]
    if isinstance(value, list) and value and all(map(is_answer, value)):
        return [("", answer) for answer in value]
    if isinstance(value, dict) and value and all(isinstance(part, list) for part in value.values()):
        answers = [(name, answer) for name, part in value.items() for answer in part]
        return answers if answers and all(is_answer(answer) for _, answer in answers) else None
    return None


def read_pearmut(path: PathLike, answers: Sequence[Answer]) -> list[Part]:
    """The scores in pearmut's answers; a later answer of a user to the same item replaces an earlier one.

    Where no answer has a score, the penalties of the error spans are the scores.
    """
    scored: dict[str, tuple[str, dict[Key, ScoreRecord]]] = {}
    marked: dict[str, tuple[str, dict[Key, ScoreRecord]]] = {}
    for number, campaign, answer in answers:
        pair = pair_in_name(campaign.replace("---", "-"))
        for record, given in _ratings(path, number, answer):
            for parts, score in ((scored, _score(path, number, given)), (marked, _penalty(given))):
                if score is not None:
                    records = parts.setdefault(pair_key(pair), (pair, {}))[1]
                    records[record.rater, record.system, record.document, record.segment] = record._replace(
                        score=score
                    )
    if scored:
        return [(pair, scores_of(records.values(), "ESA")) for pair, records in scored.values()]
    if any(record.score for _, records in marked.values() for record in records.values()):
        return [(pair, scores_of(records.values(), "MQM", higher=False)) for pair, records in marked.values()]
    raise InputError(path, None, "expected scores in pearmut's annotations, found none")


def _ratings(
    path: PathLike, number: int | None, answer: Mapping[str, Any]
) -> Iterator[tuple[ScoreRecord, Any]]:
    """What a user answered about each candidate."""
    place = str(answer.get("item_i", ""))
    if place.startswith(OTHERS):
        return
    annotations = answer["annotation"] if isinstance(answer["annotation"], list) else [answer["annotation"]]
    items = answer.get("item", [None] * len(annotations))
    items = items if isinstance(items, list) else [items]
    if len(items) != len(annotations):
        raise InputError(
            path, number, f"expected an annotation for each of {len(items)} items, found {len(annotations)}"
        )
    user = str(answer.get("user_id", ""))
    for k, (item, annotation) in enumerate(zip(items, annotations, strict=True)):
        segment, document, domain = _names(item, place, k)
        for system, given in annotation.items() if isinstance(annotation, dict) else ():
            yield ScoreRecord(system, segment, 0.0, document, user, "", domain), given


def _score(path: PathLike, number: int | None, given: Any) -> float | None:
    if not isinstance(given, dict) or given.get("score") is None:
        return None
    try:
        return float(given["score"])
    except (TypeError, ValueError):
        raise InputError(path, number, f"expected a number as score, found {given['score']!r}") from None


def _penalty(given: Any) -> float | None:
    return penalty_of(given["error_spans"]) if isinstance(given, dict) and "error_spans" in given else None


def _names(item: Any, place: str, k: int) -> tuple[str, str, str]:
    """The segment, its document and its domain: by their ids, else by the source, else by the place on the page."""
    if not isinstance(item, dict):
        return f"{place}.{k}", place, ""
    segment = item.get("item_id")
    if segment is None:
        segment = json.dumps(item["src"], ensure_ascii=False) if "src" in item else f"{place}.{k}"
    parts = str(segment).split(PLACE)
    document = PLACE.join(parts[:-1]) if len(parts) > 1 else place
    return str(segment), str(item.get("doc_id", document)), parts[0] if len(parts) > 2 else ""
