"""Assignments of one label, one comparison and one ranking item, and a database with their segment."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hits.records import Assignment
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Segment

SEGMENT = Segment(
    "7", "der Patient wurde isoliert .", "(S (NP (A der) (N Patient)) (V wurde) (VP isoliert) (. .))"
)
LABEL_ITEM = {
    "item": "7-0-2-1",
    "segment": "7",
    "start": "0",
    "stop": "2",
    "size": "3",
    "source": "<mark>der Patient</mark> wurde isoliert .",
    "phrase_1": "the patient",
    "phrase_2": "The  Patients",
    "phrase_3": "a stone",
    "phrase_4": "",
    "control_1": "",
    "control_2": "",
    "control_3": "NO",
    "control_kind_3": "damaged",
}
COMPARISON_ITEM = {
    "item": "c-1",
    "segment": "7",
    "system_a": "rypt",
    "system_b": "bleu",
    "candidate_a": "x",
    "candidate_b": "y",
    "control": "",
}
RANKING_ITEM = {
    "item": "r-1",
    "segment": "7",
    "size": "5",
    "control": "",
    **{f"system_{i}": f"s{i}" for i in range(1, 6)},
    **{f"candidate_{i}": f"text {i}" for i in range(1, 6)},
}


def database(path: str | Path = ":memory:") -> JudgmentDatabase:
    db = JudgmentDatabase(path)
    db.add_segments([SEGMENT])
    return db


def assignment(
    number: int = 1,
    fields: Mapping[str, str] | None = None,
    item: Mapping[str, str] = LABEL_ITEM,
    **changes: Any,
) -> Assignment:
    given: dict[str, Any] = {
        "id": f"X{number}",
        "hit": f"H{number}",
        "worker": "A1",
        "fields": {"label_1": "YES", "label_2": "NO", "label_3": "NO"} if fields is None else fields,
        "accepted": 1000 * number,
        "submitted": 1000 * number + 30,
        "batch": "b1",
        "item": item.get("item", "i"),
        "columns": item,
    }
    return Assignment(**given | changes)
