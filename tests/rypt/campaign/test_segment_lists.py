"""Which candidate of a segment a number, "best" or a list's name means."""

import json
from pathlib import Path

import pytest

from rypt.campaign.folder import Campaign, create
from rypt.campaign.scoring import explain_candidate
from rypt.campaign.segment_lists import SegmentLists
from rypt.text import RyptError

LISTS = {
    "A.jsonl": ["one two", "uno dos"],
    "B.2.jsonl": ["one two"],
    "3.jsonl": ["eins zwei"],
    "best.jsonl": ["x y"],
}


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    (tmp_path / "source").write_text("a b\nc d\n")
    (tmp_path / "trees").write_text("(S (A a) (B b))\n(S (C c) (D d))\n")
    for name, texts in LISTS.items():
        rows = [{"id": "0", "candidate": text, "alignment": "0-0 1-1"} for text in texts]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "last.jsonl").write_text('{"id": "1", "candidate": "z", "alignment": "0-0"}\n')
    files = [tmp_path / name for name in (*LISTS, "last.jsonl")]
    return create(tmp_path / "campaign", source=tmp_path / "source", trees=tmp_path / "trees", nbest=files)


@pytest.mark.parametrize(
    ("candidate", "text", "name"),
    [
        (0, "one two", "candidate 0 (A, B.2)"),
        ("1", "uno dos", "candidate 1 (A)"),
        ("A", "one two", "candidate 0 (A, B.2)"),
        ("B.2", "one two", "candidate 0 (A, B.2)"),
        ("B.2.jsonl", "one two", "candidate 0 (A, B.2)"),
        ("3.jsonl", "eins zwei", "candidate 2 (3)"),
        ("3", "x y", "candidate 3 (best)"),
        ("best", "one two", "candidate 0 (A, B.2)"),  # without labels all share the best score
        ("best.jsonl", "x y", "candidate 3 (best)"),
    ],
)
def test_a_candidate_is_called_by_number_list_or_best(
    campaign: Campaign, candidate: int | str, text: str, name: str
) -> None:
    explanation = explain_candidate(campaign, "0", candidate)
    assert (explanation.candidate.text, explanation.name) == (text, name)
    assert explanation.headline.startswith(f"segment 0, {name}: RYPT 0.5000 (")


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        (
            4,
            r"segment 0 has 4 candidates, numbered from 0 to 3 \(5 in the lists, 1 of them with a text and links "
            r"that are there already\); there is no candidate 4$",
        ),
        (
            "C",
            "expected a candidate's number, best or the name of a list, found 'C'; lists: A, B.2, 3, best, last$",
        ),
        ("last", "the list last.jsonl has no candidate of segment 0$"),
    ],
)
def test_what_is_not_there(campaign: Campaign, candidate: int | str, message: str) -> None:
    with pytest.raises(RyptError, match=message):
        explain_candidate(campaign, "0", candidate)


def test_a_segment_without_a_candidate() -> None:
    with pytest.raises(RyptError, match="segment 9 has no candidate in the campaign's lists"):
        SegmentLists("9", ["A"], ["A.txt"], [[]], []).number_of("best")
