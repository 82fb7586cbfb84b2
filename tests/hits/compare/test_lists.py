"""Two lists side by side: scores with intervals, the segments that differ, and the page."""

import json
import re
from pathlib import Path

import pytest
import sacrebleu
from commands import run

from hits.compare.lists import compare_lists, score_list
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


def test_scores_are_those_of_the_whole_lists(lists: Path) -> None:
    compared = compare_lists("A.txt", "B.txt", source="src", references=["ref"])
    chrf, bleu = compared.metrics
    for row, metric in ((chrf, sacrebleu.CHRF()), (bleu, sacrebleu.BLEU())):
        for score, texts in ((row.first, FIRST), (row.second, SECOND)):
            assert score == pytest.approx(metric.corpus_score(texts, [REFERENCES]).score)
        assert row.low <= row.difference <= row.high
    assert (chrf.better, chrf.equal, chrf.worse) == (1, 1, 1)
    assert [pair.segment for pair in compared.different] == ["0", "1"] or abs(
        compared.different[0].gain
    ) >= abs(compared.different[1].gain)
    assert {pair.source for pair in compared.different} == set(SOURCE[:2])


def test_a_list_and_an_n_best_list_are_compared_by_first_candidates(lists: Path) -> None:
    plain, listed = (
        compare_lists("A.txt", name, references=["ref"]).metrics for name in ("B.txt", "B.jsonl")
    )
    assert plain == listed


def test_without_references_only_texts_are_compared(lists: Path) -> None:
    compared = compare_lists("A.txt", "B.txt")
    assert (compared.metrics, compared.segments, len(compared.different)) == ([], 3, 2)


def test_one_list_alone_gets_its_scores(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scored = score_list("B.jsonl", references=["ref"])
    metrics = (sacrebleu.BLEU(), sacrebleu.CHRF(), sacrebleu.TER())
    for row, metric in zip(scored.scores, metrics, strict=True):
        assert row.score == pytest.approx(metric.corpus_score(SECOND, [REFERENCES]).score)
        assert row.low <= row.score <= row.high
    assert [row.maximize for row in scored.scores] == [True, True, False]
    assert (scored.segments, scored.candidates, scored.without) == (3, 4, 0)
    code, out, err = run(capsys, "compare", "B.jsonl", "--references", "ref")
    assert (code, err) == (0, "")
    assert out.splitlines()[2].split() == [
        "bleu",
        f"{scored.scores[0].score:.2f}",
        *out.splitlines()[2].split()[2:],
    ]
    assert "the first of 4 candidates of 3 segments" in out
    code, out, _ = run(capsys, "compare", "A.txt", "--references", "ref", "--metrics", "chrf", "--json")
    assert [row["metric"] for row in json.loads(out)["scores"]] == ["chrf"]
    (lists / "some.jsonl").write_text('{"id": 1, "candidate": "the cat sleeps ."}\n')
    assert "segments without a candidate, left out: 2" in score_list("some.jsonl", references=["ref"]).text()
    for arguments, message in [
        (["A.txt"], "A.txt: expected --references FILE, .* --from mqm or --from esa"),
        (["nothing.txt", "--references", "ref"], "nothing.txt: No such file"),
        (["A.txt", "--references", "ref", "--page", "x.html"], "--page is for two lists"),
        (["A.txt", "--references", "ref", "--judging", "2"], "--judging is for a campaign, not a list"),
        ([".", "--references", "ref"], "--references is for --from, or for lists of candidates"),
    ]:
        code, out, err = run(capsys, "compare", *arguments)
        assert code in (1, 2)
        assert out == ""
        assert re.search(message, err)


def test_the_answer_knows_which_way_is_better(lists: Path) -> None:
    many = [line for _ in range(40) for line in REFERENCES]
    (lists / "many").write_text("".join(f"{line}\n" for line in many))
    (lists / "worse").write_text("".join(f"{line} x y\n" for line in many))
    text = compare_lists("many", "worse", references=["many"], metrics="bleu,ter").text()
    assert text.startswith("By bleu many is better; by ter many is better.\n")
    same = compare_lists("many", "many", references=["many"]).text()
    assert same.startswith("By chrf no difference is shown; by bleu no difference is shown.\n")


def test_segments_of_one_list_are_left_out(lists: Path) -> None:
    (lists / "some.jsonl").write_text('{"id": 1, "candidate": "the cat sleeps ."}\n')
    compared = compare_lists("some.jsonl", "B.txt", references=["ref"])
    assert (compared.segments, compared.left_out) == (1, 2)
    assert "segments in one list only, left out: 2" in compared.text()
    (lists / "none.jsonl").write_text('{"id": "x", "candidate": "the cat sleeps ."}\n')
    with pytest.raises(RyptError, match=r"found none that is in both .*: they begin with 'x' and '0'"):
        compare_lists("none.jsonl", "B.txt")


def test_plain_lists_of_different_lengths_are_refused(lists: Path) -> None:
    (lists / "short").write_text("one\n")
    with pytest.raises(InputError, match="short:1: expected 3 lines, one per segment, found 1"):
        compare_lists("A.txt", "short")


def test_the_command_and_its_page(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", "A.txt", "B.txt", "--source", "src", "--references", "ref"]
    code, out, err = run(capsys, *command, "--page", "page.html", "--limit", "1")
    assert code == 0, err
    assert "different candidates in 2 of 3 segments" in out
    page = (lists / "page.html").read_text(encoding="utf-8")
    assert page.count("<article>") == 1
    assert "The first 1 are shown" in page
    run(capsys, *command, "--page", "page.html")
    page = (lists / "page.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;cat" in page
    assert "<mark>" in page
    assert "<b>" not in page
    code, out, _ = run(capsys, *command, "--json", "--metrics", "chrf,0.5*chrf-0.5*ter")
    assert [row["metric"] for row in json.loads(out)["metrics"]] == ["chrf", "0.5*chrf-0.5*ter"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--show"], "--show is for a campaign, not two lists"),
        (["--hold-out", "rater"], "--hold-out is for a campaign, not two lists"),
        (["--limit", "3"], "--limit is for --page"),
        (["C.txt"], "expected one campaign or two lists, found 3"),
    ],
)
def test_options_that_would_do_nothing(
    lists: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    code, _, err = run(capsys, "compare", "A.txt", "B.txt", *options)
    assert code == 2
    assert message in err


def test_metrics_that_need_what_is_not_there(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "compare", "A.txt", "B.txt", "--metrics", "chrf")
    assert (code, err) == (1, "rypt: the metric chrf needs --references\n")
    code, _, err = run(capsys, "compare", "A.txt", "B.txt", "--metrics", "rypt")
    assert (code, err) == (1, "rypt: the metric rypt needs a campaign: rypt compare CAMPAIGN\n")
    code, _, err = run(capsys, "compare", "--source", "src", "campaign")
    assert code == 2
    assert "--source is for lists of candidates, not a campaign" in err
