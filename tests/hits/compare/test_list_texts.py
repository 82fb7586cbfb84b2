"""Lists whose segments have names: which reference is whose, and whether texts are tokens."""

import json
from pathlib import Path

import pytest
from commands import run

from hits.compare.list_texts import looks_tokenised
from hits.compare.lists import compare_lists, score_list
from rypt.text import RyptError

REFERENCES = ["The house is on fire.", "The cat sleeps.", "Yes."]
FIRST = ["The house burns.", "The cat is asleep.", "Yes."]
SECOND = ["The house is on fire.", "A dog sleeps.", "No."]
IDS = ["news:2", "news:10", "talk:1"]


def write_rows(name: str, texts: list[str], ids: list[str], field: str = "candidate") -> None:
    rows = [json.dumps({"id": i, field: text}) for i, text in zip(ids, texts, strict=True)]
    Path(name).write_text("".join(f"{row}\n" for row in rows))


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in {"ref": REFERENCES, "A.txt": FIRST, "B.txt": SECOND}.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    write_rows("A.jsonl", FIRST, IDS)
    write_rows("B.jsonl", SECOND, IDS)
    write_rows("src.jsonl", ["eins", "zwei", "drei"], IDS, "text")
    return tmp_path


@pytest.mark.parametrize("first", ["A.txt", "A.jsonl"])
@pytest.mark.parametrize("source", [None, "src.jsonl"])
def test_names_are_matched_in_the_order_of_the_list_or_of_the_source(
    lists: Path, first: str, source: str | None
) -> None:
    plain = compare_lists("A.txt", "B.txt", references=["ref"])
    named = compare_lists(first, "B.jsonl", references=["ref"], source=source)
    assert named.metrics == plain.metrics
    assert {pair.segment: pair.references for pair in named.different} == {
        name: (text,) for name, text in zip(IDS, REFERENCES, strict=True)
    }
    assert (
        score_list("B.jsonl", references=["ref"], source=source).scores
        == score_list("B.txt", references=["ref"]).scores
    )


def test_a_list_in_another_order_needs_the_source(lists: Path) -> None:
    write_rows("turned.jsonl", SECOND[::-1], IDS[::-1])
    with pytest.raises(
        RyptError, match=r"A.jsonl and turned.jsonl have the segments in different orders: --source"
    ):
        compare_lists("A.jsonl", "turned.jsonl", references=["ref"])
    right = compare_lists("A.jsonl", "turned.jsonl", references=["ref"], source="src.jsonl")
    assert right.metrics == compare_lists("A.txt", "B.txt", references=["ref"]).metrics


def test_a_part_of_the_named_segments(lists: Path) -> None:
    write_rows("part.jsonl", SECOND[1:], IDS[1:])
    compared = compare_lists("part.jsonl", "A.jsonl", references=["ref"])
    assert (compared.segments, compared.left_out) == (2, 1)
    with pytest.raises(
        RyptError,
        match=r"part.jsonl: segments have names, such as 'news:10', and there are 2 of them "
        "for 3 references: --source FILE",
    ):
        score_list("part.jsonl", references=["ref"])
    assert score_list("part.jsonl", references=["ref"], source="src.jsonl").without == 1


def test_what_does_not_fit_is_said_with_its_cure(lists: Path) -> None:
    write_rows("one.jsonl", FIRST, ["1", "2", "3"])
    with pytest.raises(
        RyptError, match=r"one.jsonl: segment '3' has no reference: there are 3, for the segments from 0"
    ):
        score_list("one.jsonl", references=["ref"])
    Path("src.txt").write_text("eins\nzwei\ndrei\n")
    with pytest.raises(
        RyptError, match=r"A.jsonl: segment 'news:2' is not in the source; src.txt begins with segment"
    ):
        compare_lists("A.jsonl", "B.jsonl", references=["ref"], source="src.txt")
    Path("short").write_text("Yes.\n")
    with pytest.raises(RyptError, match=r"short: expected 3 lines, one per segment of src.jsonl, found 1"):
        score_list("A.jsonl", references=["short"], source="src.jsonl")


def test_tokenised_candidates_get_a_note(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tokens").write_text("The house burns .\nThe cat is asleep .\nYes .\n")
    _, raw, _ = run(capsys, "compare", "A.txt", "--references", "ref")
    assert "tokenised" not in raw
    _, mixed, _ = run(capsys, "compare", "tokens", "--references", "ref")
    assert "note: the candidates look tokenised" in mixed
    assert "the references are raw text" in mixed
    _, tokens, _ = run(capsys, "compare", "tokens", "A.txt", "--references", "tokens")
    assert "note: the candidates look tokenised" in tokens
    assert "raw text, so" not in tokens
    assert (
        "tokenised" not in run(capsys, "compare", "tokens", "--references", "tokens", "--metrics", "chrf")[1]
    )


def test_most_texts_decide() -> None:
    assert looks_tokenised(["« Oui . »", "Non .", "Ah!"])
    assert not looks_tokenised(["Oui.", "Non.", "Quoi ?"])
    assert not looks_tokenised(["no end", ""])
