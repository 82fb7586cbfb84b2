"""WMT25's JSONL, made after the description of wmt-conference/wmt25-general-mt: the file itself was not at hand."""

import json
from pathlib import Path
from typing import Any

import pytest

import hits
from hits.ranking.readers.files import read_parts
from rypt.text import InputError


def line(
    segment: int, scores: dict[str, Any], pair: str = "cs-de_DE", domain: str = "news"
) -> dict[str, Any]:
    place = f"{pair}_#_{domain}_#_blesk.cz.112043_#_{segment}"
    return {"scores": scores, "src_text": "Ahoj", "tgt_text": dict.fromkeys(scores, "Hallo"), "doc_id": place}


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in lines))
    return path


def test_two_ratings_are_two_waves(tmp_path: Path) -> None:
    first = {
        "A": {"human1": 90, "annotator1": "x", "errors1": [], "human2": 70, "annotator2": "y"},
        "B": {"human1": 40, "annotator1": "x", "errors1": []},
    }
    path = write(
        tmp_path / "wmt25.jsonl", [line(0, {}), line(1, first), line(2, {"A": {"human1": 100}, "B": {}})]
    )
    (part,) = read_parts([path])
    scores = part.data
    assert (part.languages, scores.systems, scores.scale) == ("cs-de_DE", ("A", "B"), "ESA")  # type: ignore[union-attr]
    assert [scores.segments[j] for j in scores.segment] == [("blesk.cz.112043", s) for s in "1112"]
    table = hits.rank(path)
    assert [(s.system, round(s.score, 4)) for s in table.systems] == [("A", 86.6667), ("B", 40.0)]
    assert any("1 segment rated in several waves" in note for note in table.notes)


def test_ratings_in_a_list_and_language_pairs(tmp_path: Path) -> None:
    given = {"A": [{"human": 90, "annotator": "x"}, {"human": None}], "B": [{"score": 50, "annotator": "y"}]}
    path = write(tmp_path / "control.jsonl", [line(1, given), line(1, given, "en-sr_Cyrl_RS")])
    parts = read_parts([path])
    assert [part.languages for part in parts] == ["cs-de_DE", "en-sr_Cyrl_RS"]
    assert parts[0].data.table().tolist() == [[90], [50]]  # type: ignore[union-attr]


def test_scores_that_are_not_a_number_and_wmt23(tmp_path: Path) -> None:
    """WMT25's list has NaN for what was not rated; WMT23's direct assessment in this format names its protocol."""
    given = {
        "A": [{"score": float("nan"), "annotator": None}, {"score": 80.0, "annotator": "x"}],
        "B": [{"score": 60.0, "annotator": "y", "protocol": "DA+SQM"}],
    }
    (part,) = read_parts([write(tmp_path / "wmt23-humaneval.jsonl", [line(1, given)])])
    assert part.data.scale == "DA"  # type: ignore[union-attr]
    assert part.data.score.tolist() == [80.0, 60.0]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (line(1, {"A": {"human1": "good"}}), 'expected a number as score, found "good"'),
        (line(1, {"A": 90}), "expected the ratings of a system, found 90"),
        (line(1, {}), "no segment was rated"),
        (
            line(1, {"A": {"human1": 1}}) | {"doc_id": "cs-de_#_news"},
            "expected a doc_id of languages, domain",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, record: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_parts([write(tmp_path / "wmt25.jsonl", [record])])
