"""ESA ratings of Appraise and WMT, in the forms that they publish."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from rypt.ratings.esa import read_esa
from rypt.ratings.rating import ErrorSpan, Repairs
from rypt.text import InputError

SOURCE, TARGET = "Ein Haus.", "A nice house."
SPANS = [
    {"start_i": 2, "end_i": 5, "severity": "minor", "error_type": None},
    {"start_i": "missing", "end_i": "missing", "severity": "major", "error_type": None},
]
ERRORS = (ErrorSpan("target", 2, 6, "minor"), ErrorSpan("nowhere", 0, 0, "major", "missing"))


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def batches(folder: Path, **item: str) -> Path:
    shown = {
        "itemID": 3,
        "itemType": "TGT",
        "documentID": "doc#A",
        "targetID": "A",
        "sourceID": "src",
        "sourceText": SOURCE,
        "targetText": TARGET,
    }
    path = folder / "batches.json"
    path.write_text(
        json.dumps([{"items": [shown | item], "task": {"batchNo": 1}}], indent=2), encoding="utf-8"
    )
    return path


def appraise_csv(folder: Path, *rows: list[Any]) -> Path:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    (folder / "scores.csv").write_text(stream.getvalue(), encoding="utf-8")
    return folder / "scores.csv"


ROW = ["engdeu01", "A", 3, "TGT", "eng", "deu", 51, "doc#A", "False"]
ROW += [json.dumps(SPANS), 1717331262.035, 1717331440.504]


def test_appraise_csv_with_its_batches(tmp_path: Path) -> None:
    bad = [*ROW[:3], "BAD", *ROW[4:7], "doc#A#bad", *ROW[8:]]
    tutorial = [*ROW[:7], "en-tutorial#A", *ROW[8:]]
    (rating,) = read_esa(appraise_csv(tmp_path, tutorial, ROW, bad), batches(tmp_path))
    assert (rating.line, rating.languages) == (2, "eng-deu")
    assert (rating.source, rating.target, rating.system, rating.rater) == (SOURCE, TARGET, "A", "engdeu01")
    assert (rating.errors, rating.score, rating.time) == (ERRORS, 51, 1717331440)
    contrastive = [ROW[0], "news_#_3", *ROW[1:], 1, 99]
    (rating,) = read_esa(appraise_csv(tmp_path, contrastive), batches(tmp_path))
    assert (rating.segment, rating.system, rating.errors) == ("news_#_3", "A", ERRORS)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([*ROW[:7], "other", *ROW[8:]], "scores.csv:1: document other, item 3 of A is not in the batches"),
        ([*ROW[:9], "[{]", *ROW[10:]], "scores.csv:1: expected a score, spans as JSON and times"),
        (["a", "b"], "scores.csv:1: expected a row of Appraise's export"),
    ],
)
def test_appraise_csv_that_cannot_be_read(tmp_path: Path, row: list[Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        read_esa(appraise_csv(tmp_path, row), batches(tmp_path))
    assert message in str(error.value)


def test_wmt(tmp_path: Path) -> None:
    of_2024 = {"langs": "en-cs", "line_id": 7, "src": SOURCE, "tgt": TARGET, "system": "A"}
    of_2024 |= {"esa_spans": SPANS, "esa_score": 66}
    (rating,) = read_esa(write(tmp_path / "wmt.jsonl", of_2024))
    assert (rating.segment, rating.rater, rating.system, rating.languages) == ("7", "esa", "A", "en-cs")
    assert (rating.errors, rating.score) == (ERRORS, 66)


def test_wmt_2025_has_one_or_two_rounds_and_control_tasks_have_lists(tmp_path: Path) -> None:
    first = {"human1": 66, "errors1": SPANS, "annotator1": "w1"}
    second = {"human2": 80, "errors2": [], "annotator2": "w2"}
    other = {"human1": 90, "errors1": [], "annotator1": "w3"}
    texts = {"src_text": SOURCE, "tgt_text": {"A": TARGET, "B": "A house.", "C": "x"}}
    rounds = texts | {"doc_id": "cs-de_DE_#_news_#_d_#_0", "scores": {"A": first | second, "B": other}}
    both = [{"human": 50, "errors": SPANS, "annotator": "w1"}, {"score": 51, "errors": [], "annotator": "w2"}]
    control = texts | {"doc_id": "test-en-news_#_4", "scores": {"A": both}}
    unrated = {"doc_id": "x", "src_text": SOURCE, "tgt_text": {"A": TARGET}, "scores": {}}
    ratings = read_esa(write(tmp_path / "wmt.jsonl", rounds, control, unrated))
    assert [(r.system, r.rater, r.score, r.errors, r.languages) for r in ratings] == [
        ("A", "w1", 66, ERRORS, "cs-de_DE"),
        ("A", "w2", 80, (), "cs-de_DE"),
        ("B", "w3", 90, (), "cs-de_DE"),
        ("A", "w1", 50, ERRORS, ""),
        ("A", "w2", 51, (), ""),
    ]


def test_what_cannot_be_read_is_refused_alone(tmp_path: Path) -> None:
    good = {"esa_spans": [], "esa_score": 90, "tgt": "abc", "src": "a", "system": "A", "doc_id": "news"}
    unplaced = good | {"esa_spans": [{"start_i": -1, "end_i": 3, "severity": "major"}, SPANS[0]]}
    path = write(tmp_path / "x.jsonl", good, {"x": 1}, unplaced, good | {"esa_score": "nan"})
    repairs = Repairs(path)
    first, second = read_esa(path, repairs=repairs)
    assert (first.document, first.errors) == ("news", ())
    assert [(e.side, e.severity) for e in second.errors] == [("nowhere", "major"), ("target", "minor")]
    assert repairs.counts == {"span-refused": 1, "rating-refused": 2}
    assert [repair.line for repair in repairs.items] == [2, 3, 4]
    with pytest.raises(InputError, match=r"x\.jsonl:2: expected a rating of WMT: found the fields x"):
        read_esa(path, repairs=Repairs(path, strict=True))


def test_items_of_one_id_are_told_apart_by_the_batch_of_the_user(tmp_path: Path) -> None:
    """Both batches have item 3; w1 and w2 did one batch each, w3 the shared item alone."""

    def item(number: int, text: str) -> dict[str, Any]:
        names = {"documentID": "doc#A", "targetID": "A", "sourceText": SOURCE, "itemType": "TGT"}
        return names | {"itemID": number, "targetText": text}

    shown = [{"items": [item(3, "one"), item(4, "four")]}, {"items": [item(3, "two"), item(5, "five")]}]
    (tmp_path / "batches.json").write_text(json.dumps(shown))
    rows = [
        [user, "A", number, *ROW[3:9], "[]", *ROW[10:]]
        for user, number in (("w1", 3), ("w1", 4), ("w2", 3), ("w2", 5), ("w3", 3), ("w3", 9))
    ]
    path = appraise_csv(tmp_path, *rows)
    repairs = Repairs(path)
    found = [(r.rater, r.target) for r in read_esa(path, tmp_path / "batches.json", repairs=repairs)]
    assert found == [("w1", "one"), ("w1", "four"), ("w2", "two"), ("w2", "five")]
    assert repairs.counts == {"shared-id": 2, "rating-refused": 2}
    assert [r.problem.split(" of A ")[1] for r in repairs.items[2:]] == [
        "is there with two texts",
        "is not in the batches",
    ]
