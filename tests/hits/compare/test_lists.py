"""Systems' outputs beside each other: sacrebleu's numbers, the segments that differ, and the page."""

import json
import re
from pathlib import Path

import pytest
import sacrebleu
from commands import run
from sacrebleu.significance import PairedTest

from hits.compare.lists import compare_systems
from rypt.text import InputError, RyptError

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


def test_of_an_n_best_list_the_first_candidates_count(lists: Path) -> None:
    plain, listed = (compare_systems(["A.txt", name], references=["ref"]) for name in ("B.txt", "B.jsonl"))
    assert plain.scores == listed.scores


def test_without_references_only_texts_are_compared(lists: Path) -> None:
    compared = compare_systems(["A.txt", "B.txt"])
    assert (compared.scores, compared.segments, len(compared.different)) == ([], 3, 2)


def test_one_system_alone_gets_its_scores(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scored = compare_systems(["B.jsonl"], references=["ref"])
    for row, metric in zip(scored.scores, (sacrebleu.BLEU(), sacrebleu.CHRF(), sacrebleu.TER()), strict=True):
        assert row.score == pytest.approx(metric.corpus_score(SECOND, [REFERENCES]).score)
        assert row.p is None
    code, out, err = run(capsys, "compare", "systems", "B.jsonl", "--references", "ref")
    assert (code, err) == (0, "")
    assert out.splitlines()[2].split()[:2] == ["B", f"{scored.scores[0].score:.2f}"]
    code, out, _ = run(
        capsys, "compare", "systems", "A.txt", "--references", "ref", "--metrics", "chrf", "--json"
    )
    assert [row["metric"] for row in json.loads(out)["scores"]] == ["chrf"]
    for arguments, message in [
        (["A.txt"], "A.txt: expected --references FILE"),
        (["nothing.txt", "--references", "ref"], "nothing.txt: No such file"),
        (["A.txt", "--references", "ref", "--page", "x.html"], "expected two systems to show side by side"),
        (["A.txt", "B.txt", "--metrics", "chrf"], "rypt: the metric chrf needs --references"),
        (["A.txt", "B.txt", "--metrics", "rypt"], "rypt: the metric rypt needs a campaign"),
    ]:
        code, out, err = run(capsys, "compare", "systems", *arguments)
        assert (code, out) == (1, "")
        assert re.search(message, err)


def test_a_difference_that_is_shown_is_starred(lists: Path) -> None:
    many = [line for _ in range(40) for line in REFERENCES]
    (lists / "many").write_text("".join(f"{line}\n" for line in many))
    (lists / "worse").write_text("".join(f"{line} x y\n" for line in many))
    text = compare_systems(["many", "worse"], references=["many"], metrics="bleu,ter").text()
    assert text.count("(p = 0.001)*") == 2
    assert "*" not in compare_systems(["many", "many"], references=["many"]).text().partition("\n\n")[0]


def test_segments_that_not_all_have_are_left_out(lists: Path) -> None:
    (lists / "some.jsonl").write_text('{"id": 1, "candidate": "the cat sleeps ."}\n')
    compared = compare_systems(["some.jsonl", "B.txt"], references=["ref"])
    assert (compared.segments, compared.left_out) == (1, 2)
    assert "segments that not all systems have, left out: 2" in compared.text()
    (lists / "none.jsonl").write_text('{"id": "x", "candidate": "the cat sleeps ."}\n')
    with pytest.raises(RyptError, match=r"found none in all: they begin with 'x' and '0'; --source FILE"):
        compare_systems(["none.jsonl", "B.txt"], references=["ref"])
    (lists / "short").write_text("one\n")
    with pytest.raises(InputError, match="short:1: expected 3 lines, one per segment, found 1"):
        compare_systems(["A.txt", "short"])


def test_references_are_in_the_order_of_the_source(lists: Path) -> None:
    names = ["n1", "n2", "n3"]
    source = [{"id": name, "text": text} for name, text in zip(names, SOURCE, strict=True)]
    (lists / "named").write_text("".join(f"{json.dumps(row)}\n" for row in source))
    rows = [{"id": name, "candidate": text} for name, text in zip(names, SECOND, strict=True)]
    (lists / "C.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in reversed(rows)))
    compared = compare_systems(["C.jsonl"], source="named", references=["ref"])
    plain = compare_systems(["B.txt"], references=["ref"])
    assert [row.score for row in compared.scores] == pytest.approx([row.score for row in plain.scores])
    (lists / "two").write_text("yes\nno\n")
    with pytest.raises(InputError, match="two: expected 3 lines, one per segment of named, found 2"):
        compare_systems(["C.jsonl"], source="named", references=["two"])


def test_the_command_and_its_page(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", "systems", "A.txt", "B.txt", "--source", "src", "--references", "ref"]
    code, out, err = run(capsys, *command, "--page", "page.html", "--limit", "1")
    assert code == 0, err
    assert "A and B differ in 2 of them" in out
    page = (lists / "page.html").read_text(encoding="utf-8")
    assert page.count("<article>") == 1
    assert "The first 1 are shown" in page
    run(capsys, *command, "--page", "page.html")
    page = (lists / "page.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;cat" in page
    assert "<mark>" in page
    assert "<b>" not in page
    code, out, _ = run(capsys, *command, "--json", "--metrics", "chrf,0.5*chrf-0.5*ter")
    assert list(json.loads(out)["signatures"]) == ["chrf", "0.5*chrf-0.5*ter"]
