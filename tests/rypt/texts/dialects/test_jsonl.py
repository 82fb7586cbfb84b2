"""Lists as scripts around neural systems write them: names of fields, several candidates a line, no ids."""

import json
from pathlib import Path
from typing import Any

import pytest

from rypt.text import InputError
from rypt.texts.nbest import read_raw

TWO = [["the house", "a house"], ["yes", "yes !"]]
FLAT = [(str(i), text) for i, texts in enumerate(TWO) for text in texts]


def written(folder: Path, records: list[Any]) -> Path:
    path = folder / "list.jsonl"
    path.write_text(
        "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records), encoding="utf-8"
    )
    return path


def texts_of(path: Path, order: tuple[str, ...] | None = ("0", "1")) -> list[tuple[str, str]]:
    return [(raw.segment, raw.text) for _, raw in read_raw(path, order)]


@pytest.mark.parametrize("name", ["candidate", "hypothesis", "translation", "translation_text", "mt", "text"])
@pytest.mark.parametrize("key", ["id", "segment", "index"])
def test_a_candidate_a_line(tmp_path: Path, name: str, key: str) -> None:
    path = written(tmp_path, [{key: int(segment), name: text, "comet": 0.5} for segment, text in FLAT])
    assert texts_of(path) == texts_of(path, None) == FLAT
    assert [raw.columns for _, raw in read_raw(path)] == [{"comet": 0.5}] * 4


@pytest.mark.parametrize(
    "records",
    [
        [{"candidates": texts} for texts in TWO],
        [{"source": "x", "translations": texts} for texts in TWO],
        [{"id": i, "hypotheses": [{"text": text} for text in texts]} for i, texts in enumerate(TWO)],
        [
            {"hypotheses": [[f"▁{word}" for word in text.split()] for text in texts], "scores": [-1, -2]}
            for texts in TWO
        ],
        [{"src": f"source {i}", "mt": text} for i, texts in enumerate(TWO) for text in texts],
        [[{"translation_text": text} for text in texts] for texts in TWO],
        TWO,
    ],
)
def test_a_segment_a_line(tmp_path: Path, records: list[Any]) -> None:
    assert texts_of(written(tmp_path, records)) == FLAT
    assert texts_of(written(tmp_path, records), None) == FLAT
    whole = tmp_path / "list.json"
    for indent in (None, 2):
        whole.write_text(json.dumps(records, indent=indent))
        assert texts_of(whole) == FLAT


def test_lines_without_ids_take_the_names_of_the_source(tmp_path: Path) -> None:
    path = written(tmp_path, [{"candidates": texts, "scores": [-1, -2]} for texts in TWO])
    assert [(raw.segment, raw.score) for _, raw in read_raw(path, ("a", "b"))] == [
        ("a", -1),
        ("a", -2),
        ("b", -1),
        ("b", -2),
    ]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"candidates": ["a"]}], "list.jsonl:1: expected 2 segments, found 1: give each line an id"),
        ([{"mt": "a"}] * 3, "list.jsonl:3: expected 2 segments, found more: give each line an id"),
        ([{"src": "ja", "mt": "a"}] * 2, "list.jsonl:2: expected 2 segments, found 1"),
        ([{"id": 0, "mt": "a"}, {"mt": "b"}], "list.jsonl:2: expected an id on every line or on none"),
        (
            [{"id": 0, "wort": "a"}],
            "expected a field candidate (or hypothesis, translation, translation_text, …), ",
        ),
        (
            [{"id": 0, "candidates": "a"}],
            "list.jsonl:1: expected candidates as a list of candidates, found 'a'",
        ),
        (
            [{"id": 0, "candidates": ["a"], "scores": [1, 2]}],
            "expected a list of 1 scores, one for each of the candid",
        ),
        ([{"id": 0, "candidates": ["a", 7]}], "expected the candidate as one line of text, found 7"),
        ([{"id": 0, "mt": {"en": "a"}}], "expected the candidate as one line of text, found {'en': 'a'}"),
        ([[{"mt": "a"}], 7], "list.jsonl:2: expected a JSON object with id and candidate, found 7"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, records: list[Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        texts_of(written(tmp_path, records))
    assert message in str(error.value)


def test_plain_output_may_begin_with_a_bracket(tmp_path: Path) -> None:
    path = tmp_path / "plain"
    path.write_text("[Applause]\n{laughs}\n")
    with pytest.raises(InputError, match="plain:2: expected a JSON object"):
        texts_of(path)
    path.write_text("[Applause]\n[ Musik ]\n")
    assert texts_of(path) == [("0", "[Applause]"), ("1", "[ Musik ]")]
