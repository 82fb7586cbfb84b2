from pathlib import Path

import pytest

from hits.batch.systems import (
    Outputs,
    candidate_html,
    make_comparison_batch,
    make_ranking_batch,
    page_columns,
    read_output,
    same_text,
    short_name,
)
from hits.records import BatchSettings, Kind, RewardRule
from rypt.records import Segment
from rypt.text import InputError, RyptError

SEGMENTS = [Segment("0", "das Haus"), Segment("1", "der Hund", None, "he")]
SETTINGS = BatchSettings(
    "b", Kind.COMPARISON, "t", "d", "k", RewardRule(), source_language="de", target_language="ar"
)


def test_output_is_a_line_a_segment(tmp_path: Path) -> None:
    path = tmp_path / "system.en"
    path.write_text("the house\n\n", encoding="utf-8")
    assert read_output(path, SEGMENTS) == {"0": "the house", "1": ""}
    path.write_text("the house\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"system.en:1: expected 2 lines, one per segment, found 1"):
        read_output(path, SEGMENTS)


def test_of_a_list_the_first_candidate_of_each_segment_counts(tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text(
        '{"id": 1, "candidate": "the dog"}\n{"id": 0, "candidate": "house"}\n{"id": 1, "candidate": "dog"}\n'
    )
    assert read_output(path, SEGMENTS) == {"0": "house", "1": "the dog"}
    path.write_text('{"id": 1, "candidate": "the dog"}\n')
    with pytest.raises(
        InputError, match=r"list.jsonl: expected a candidate of every segment, found none of segment 0"
    ):
        read_output(path, SEGMENTS)
    path.write_text("0 ||| house ||| lm= 1\n2 ||| dog ||| lm= 1\n")
    with pytest.raises(InputError, match=r"list.jsonl:2: segment '2' is not in the source"):
        read_output(path, SEGMENTS)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"x": {}}, "at least 2 systems, found 1"),
        ({"x": {}, " ": {}}, "a name for each system"),
        ({"x": {}, "y": {"7": "?"}}, "system y: segment '7'"),
    ],
)
def test_outputs_that_cannot_be_right_are_refused(outputs: Outputs, message: str) -> None:
    for make in (make_comparison_batch, make_ranking_batch):
        with pytest.raises(RyptError, match=message):
            make(SEGMENTS, outputs, SETTINGS)


def test_spaces_make_no_difference_to_a_reader() -> None:
    assert same_text("the  house\t.", "the house .")
    assert not same_text("the house .", "The house .")


def test_item_ids_stay_short_and_plain() -> None:
    names = ["news-12", "a b", "a:b", "ü", "x" * 65, "../x", "\ud800", ""]
    short = [short_name(name) for name in names]
    assert short[0] == "news-12"
    assert all(len(name) <= 64 and name.isascii() and name.replace("-", "").isalnum() for name in short)
    assert len(set(short)) == len(names)


def test_a_segments_own_language_counts_before_the_batchs() -> None:
    first, second = (page_columns(segment, "ref", SETTINGS) for segment in SEGMENTS)
    assert (first["source_lang"], first["source_dir"], first["target_dir"]) == ("de", "ltr", "rtl")
    assert (second["source_lang"], second["source_dir"]) == ("he", "rtl")


def test_an_empty_reference_is_hidden_and_an_empty_candidate_said_to_be_empty() -> None:
    assert page_columns(SEGMENTS[0], " ", SETTINGS)["hidden_reference"] == "hidden"
    assert page_columns(SEGMENTS[0], "<ref>", SETTINGS)["reference"] == "&lt;ref&gt;"
    assert "reference" not in page_columns(SEGMENTS[0], None, SETTINGS)
    assert candidate_html(" ", "(no text)") == '<i class="empty">(no text)</i>'
    assert candidate_html("<b>", "(no text)") == "&lt;b&gt;"
