"""Systems' outputs beside each other: sacrebleu's numbers, the segments that differ, and the page."""

import json
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from commands import run
from sacrebleu.significance import PairedTest

from hits.compare.lists import compare_systems

SOURCE = ["das Haus brennt .", "die Katze schläft .", "ja ."]
REFERENCES = ["the house is on fire .", "the cat sleeps .", "yes ."]
FIRST = ["the house burns .", "the <b>cat</b> sleeps .", "yes ."]
SECOND = ["the house is on fire .", "a dog sleep .", "yes ."]


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in {"src": SOURCE, "ref": REFERENCES, "A.txt": FIRST, "B.txt": SECOND}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    rows = [{"id": i, "candidate": text} for i, text in enumerate(SECOND)]
    (tmp_path / "B.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in [*rows, {**rows[0], "candidate": "x"}])
    )
    return tmp_path


def test_numbers_are_those_of_sacrebleu(lists: Path) -> None:
    compared = compare_systems(["A.txt", "B.txt"], source="src", references=["ref"])
    metrics = {"BLEU": sacrebleu.BLEU(), "chrF2": sacrebleu.CHRF(), "TER": sacrebleu.TER()}
    _, expected = PairedTest([("A", FIRST), ("B", SECOND)], metrics, [REFERENCES], test_type="bs")()
    for name, theirs in (("bleu", "BLEU"), ("chrf", "chrF2"), ("ter", "TER")):
        rows = [score for score in compared.scores if score.metric == name]
        for row, result in zip(rows, expected[theirs], strict=True):
            assert (row.score, row.interval) == pytest.approx((result.score, result.ci), abs=1e-4)
            assert row.p == result.p_value
    assert compared.systems == ["A", "B"]
    assert {pair.source for pair in compared.different} == set(SOURCE[:2])
    gains = [abs(pair.scores[0][1] - pair.scores[0][0]) for pair in compared.different]
    assert gains == sorted(gains, reverse=True)
    texts = compare_systems(["A.txt", "B.txt"])
    assert (texts.scores, texts.segments, len(texts.different)) == ([], 3, 2)


def test_one_system_alone_gets_its_scores(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of an n-best list the first candidates."""
    scored = compare_systems(["B.jsonl"], references=["ref"])
    for row, metric in zip(scored.scores, (sacrebleu.BLEU(), sacrebleu.CHRF(), sacrebleu.TER()), strict=True):
        assert row.score == pytest.approx(metric.corpus_score(SECOND, [REFERENCES]).score)
        assert row.p is None
    code, out, err = run(capsys, "compare", "systems", "B.jsonl", "--references", "ref")
    assert (code, err) == (0, "")
    assert out.splitlines()[2].split()[:2] == ["B", f"{scored.scores[0].score:.2f}"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["A.txt"], "A.txt: expected --references FILE"),
        (["nothing.txt", "--references", "ref"], "nothing.txt: No such file"),
        (["A.txt", "--references", "ref", "--page", "x.html"], "expected two systems"),
        (["A.txt", "B.txt", "--metrics", "chrf"], "the metric chrf needs --references"),
        (["A.txt", "B.txt", "--metrics", "rypt"], "the metric rypt needs a campaign"),
        (["none.jsonl", "B.txt", "--references", "ref"], "they begin with 'x' and '0'"),
        (["A.txt", "short", "--references", "ref"], "short:1: expected 3 lines"),
        (["B.jsonl", "--source", "src", "--references", "short"], "short: expected 3 lines"),
    ],
)
def test_what_cannot_be_compared(lists: Path, capsys: Any, arguments: list[str], reason: str) -> None:
    (lists / "none.jsonl").write_text('{"id": "x", "candidate": "the cat sleeps ."}\n')
    (lists / "short").write_text("one\n")
    code, out, err = run(capsys, "compare", "systems", *arguments)
    assert (code, out) == (1, "")
    assert reason in err


def test_a_difference_that_is_shown_is_starred(lists: Path) -> None:
    many = [line for _ in range(20) for line in REFERENCES]
    (lists / "many").write_text("".join(f"{line}\n" for line in many))
    (lists / "worse").write_text("".join(f"{line} x y\n" for line in many))
    assert compare_systems(["many", "worse"], references=["many"], metrics="ter").text().count(")*") == 1
    same = compare_systems(["many", "many"], references=["many"], metrics="ter")
    assert "*" not in same.text().partition("\n\n")[0]


def test_segments_that_not_all_have_are_left_out(lists: Path) -> None:
    (lists / "some.jsonl").write_text('{"id": 1, "candidate": "the cat sleeps ."}\n')
    compared = compare_systems(["some.jsonl", "B.txt"], references=["ref"], metrics="ter")
    assert (compared.segments, compared.left_out) == (1, 2)


def test_references_are_in_the_order_of_the_source(lists: Path) -> None:
    names = ["n1", "n2", "n3"]
    source = [{"id": name, "text": text} for name, text in zip(names, SOURCE, strict=True)]
    (lists / "named").write_text("".join(f"{json.dumps(row)}\n" for row in source))
    rows = [{"id": name, "candidate": text} for name, text in zip(names, SECOND, strict=True)]
    (lists / "C.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in reversed(rows)))
    compared = compare_systems(["C.jsonl"], source="named", references=["ref"])
    plain = compare_systems(["B.txt"], references=["ref"])
    assert [row.score for row in compared.scores] == pytest.approx([row.score for row in plain.scores])


@pytest.mark.slow
def test_the_command_and_its_page(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", "systems", "A.txt", "B.txt", "--source", "src", "--references", "ref"]
    code, out, err = run(capsys, *command, "--metrics", "ter", "--page", "page.html", "--limit", "1")
    assert code == 0, err
    assert "A and B differ in 2 of them" in out
    assert (lists / "page.html").read_text(encoding="utf-8").count("<article>") == 1
    metrics = ["--metrics", "chrf,0.5*chrf-0.5*ter"]
    code, out, _ = run(capsys, *command, "--json", *metrics, "--page", "page.html")
    assert list(json.loads(out)["signatures"]) == ["chrf", "0.5*chrf-0.5*ter"]
    page = (lists / "page.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;cat" in page
    assert "<mark>" in page
    assert "<b>" not in page
