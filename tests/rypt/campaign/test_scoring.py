"""``rypt.score``, ``ScoringChoices`` and why a candidate has its score, without the command line."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from commands import run

import rypt
from rypt.campaign.folder import Campaign
from rypt.campaign.scoring import ScoringChoices, campaign_scorer, explain_candidate
from rypt.text import OptionError, RyptError


@pytest.fixture(scope="module")
def campaign(demo_campaign: Path) -> Campaign:
    return rypt.Campaign.open(demo_campaign)


def test_the_command_prints_the_same_report(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = rypt.score(campaign, pick="best", choices=ScoringChoices(unknown="no", ties="yes"))
    report.write(tmp_path / "report.json")
    options = ["--pick", "best", "--unknown", "no", "--ties", "yes"]
    _, out, _ = run(capsys, "score", campaign.folder, *options, "--segments", "--json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == json.loads(out)
    assert run(capsys, "score", campaign.folder, *options, "-q")[1] == f"{report}\n"
    assert repr(report).startswith(
        f"ScoreReport(RYPT {report.score:.4f}, candidates best by RYPT of 39 segments, "
    )
    assert "|unknown:no|ties:yes|" in report.signature


def test_candidates_of_a_file(campaign: Campaign, tmp_path: Path) -> None:
    segment = campaign.segments[0]
    (tmp_path / "list.jsonl").write_text(json.dumps({"id": segment.id, "candidate": "x"}) + "\n")
    (tmp_path / "links").write_text("0-0\n")
    report = rypt.score(campaign, candidates=tmp_path / "list.jsonl", alignments=tmp_path / "links")
    assert [row.candidate for row in report.segments] == ["x"]
    with pytest.raises(OptionError, match="expected candidates, too"):
        rypt.score(campaign, alignments=tmp_path / "links")


def test_another_database(campaign: Campaign, tmp_path: Path) -> None:
    with rypt.JudgmentDatabase(tmp_path / "none.db") as db:
        db.add_segments(campaign.segments)
    report = rypt.score(campaign, choices=ScoringChoices(database=tmp_path / "none.db"))
    assert (report.score, report.coverage.before) == (0.5, 0.0)
    explanation = explain_candidate(campaign, "7", choices=ScoringChoices(database=tmp_path / "none.db"))
    assert explanation.counts[:2] == (0, 0)


def test_choices_are_checked(campaign: Campaign) -> None:
    with pytest.raises(
        RyptError, match="expected model as one of percolation, table, severity, found 'forest'"
    ):
        ScoringChoices(model="forest")
    with pytest.raises(RyptError, match="expected hold_out as one of worker, origin, found 'label'"):
        ScoringChoices(hold_out="label")
    with pytest.raises(
        OptionError, match="unknown is an option of the model percolation; the model table gives"
    ):
        campaign_scorer(campaign, ScoringChoices(model="table", unknown="no"))
    assert "|model:table|" in campaign_scorer(campaign, ScoringChoices(model="table")).signature


def test_an_explanation_is_drawn(campaign: Campaign, tmp_path: Path) -> None:
    explanation = explain_candidate(campaign, "7", 3)
    assert str(explanation).startswith("segment 7, candidate 3: RYPT ")
    assert repr(explanation) == f"Explanation({explanation.headline})"
    explanation.write(tmp_path / "why.svg")
    assert "<svg" in (tmp_path / "why.svg").read_text(encoding="utf-8")
    with pytest.raises(OptionError, match=r"expected a file .* for the picture, got why\.gif"):
        explanation.write("why.gif")
    with pytest.raises(
        RyptError, match="segment 7 has 20 candidates, numbered from 0 to 19; there is no candidate -1"
    ):
        explain_candidate(campaign, "7", -1)


@pytest.mark.parametrize(
    "choices", [ScoringChoices(), ScoringChoices(unknown="ignore"), ScoringChoices(model="severity")]
)
def test_an_explanation_reads_its_segment_alone_and_says_what_the_whole_campaign_does(
    campaign: Campaign, choices: ScoringChoices
) -> None:
    segment = campaign.segments[3].id
    scorer = campaign_scorer(campaign, choices)
    whole = [candidate for candidate in campaign.candidates if candidate.segment == segment]
    part = campaign.part([segment])
    assert ([s.id for s in part.segments], list(part.trees), part.candidates) == ([segment], [segment], whole)
    for number, candidate in enumerate(whole[:3]):
        explanation = explain_candidate(campaign, segment, number, choices=choices)
        assert explanation.name == f"candidate {number}"
        assert (explanation.candidate, explanation.signature) == (candidate, scorer.signature)
        assert explanation.score == scorer.score(scorer.stats([candidate]))[0]


@pytest.mark.parametrize("model", ["percolation", "severity"])
def test_the_number_of_a_pick_is_that_of_its_explanation(campaign: Campaign, model: str) -> None:
    choices = ScoringChoices(model=model)
    rows = rypt.score(campaign, pick="best", choices=choices).segments
    assert len({row.number for row in rows}) > 3
    for row in rows[:6]:
        best = explain_candidate(campaign, row.segment, "best", choices=choices)
        assert (best.name, best.candidate.text, best.score) == (
            f"candidate {row.number}",
            row.candidate,
            row.score,
        )
        assert (
            explain_candidate(campaign, row.segment, row.number, choices=choices).candidate == best.candidate
        )


def test_the_line_about_picks_says_by_what_they_were_decided(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decided = rypt.score(campaign, pick="best").decisions.by_labels
    _, out, err = run(capsys, "score", campaign.folder, "--pick", "best", "-o", tmp_path / "picks")
    assert f"; labels decided {decided} of 39 picks\n" in err
    assert (
        f"labels decide the best candidate of {decided} segments; in {39 - decided} several share the best"
        in out
    )
    assert "decided" not in run(capsys, "score", campaign.folder, "-o", tmp_path / "picks")[2]
    with rypt.JudgmentDatabase(tmp_path / "none.db") as db:
        db.add_segments(campaign.segments)
    options = ["--pick", "best", "--database", tmp_path / "none.db", "-o", tmp_path / "picks"]
    assert (
        "; no candidate has a label, so these picks are arbitrary\n"
        in run(capsys, "score", campaign.folder, *options)[2]
    )


def test_the_signature_names_the_segmenter(campaign: Campaign) -> None:
    languages = replace(campaign.settings.languages, segmenter="icu-78.3")
    segmented = Campaign(campaign.folder, replace(campaign.settings, languages=languages))
    assert "|case:lower|segmenter:icu-78.3|" in rypt.score(segmented).signature
    assert "segmenter" not in rypt.score(campaign).signature


def test_picked_candidates_are_written_in_the_order_of_the_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], demo_campaign: Path
) -> None:
    code, _, err = run(capsys, "score", demo_campaign, "--pick", "best", "-o", tmp_path / "picks")
    assert code == 0, err
    lines = (tmp_path / "picks").read_text(encoding="utf-8").splitlines()
    campaign = Campaign.open(demo_campaign)
    assert len(lines) == len(campaign.segments)
    best = rypt.score(campaign, pick="best")
    assert [line for line in lines if line] == [row.candidate for row in best.segments]


def test_picks_are_written_as_they_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lists that were cut into tokens keep the texts, which are what people want back."""
    monkeypatch.chdir(tmp_path)
    Path("dev.de").write_text("Das Haus brennt.\nDie Katze schläft.\n", encoding="utf-8")
    lists = {
        "raw": "0 ||| The house burns.\n0 ||| A house.\n1 ||| The cat  sleeps.\n",
        "pieces": "0 ||| ▁The ▁hou se ▁burn s .\n1 ||| ▁The ▁cat ▁sleep s .\n",
        "tokens": "0 ||| The house burns .\n1 ||| The cat sleeps .\n",
    }
    forms = {
        "raw": "as they were read, before they were cut into tokens",
        "pieces": "as they were read, before",
        "tokens": "as they stand in the lists, so as tokens where these hold tokens",
    }
    for name, text in lists.items():
        Path(f"{name}.nbest").write_text(text, encoding="utf-8")
        code, _, err = run(capsys, "init", name, "--source", "dev.de", "--nbest", f"{name}.nbest", "-q")
        assert code == 0, err
        code, out, err = run(capsys, "score", name, "-o", "picks.txt")
        assert code == 0, err
        assert f"picks.txt: 2 candidates written, {forms[name]}" in err
        tokens = name == "tokens"
        assert Path("picks.txt").read_text() == (
            lists[name].replace("0 ||| ", "").replace("1 ||| ", "")
            if tokens
            else "The house burns.\nThe cat sleeps.\n"
        )
        assert "none of their phrases has a label" in out
    older = Path("raw/prepared/lists/raw.jsonl")
    records = [json.loads(line) for line in older.read_text().splitlines()]
    tokens_alone = [{name: record[name] for name in ("id", "candidate")} for record in records]
    older.write_text("".join(json.dumps(record) + "\n" for record in tokens_alone))
    assert (
        "picks.txt: 2 candidates written, as tokens; rypt init"
        in run(capsys, "score", "raw", "-o", "picks.txt")[2]
    )
    assert Path("picks.txt").read_text() == "The house burns .\nThe cat sleeps .\n"
    Path("other.jsonl").write_text('{"id": "0", "candidate": "A house", "alignment": "0-0"}\n')
    code, _, err = run(capsys, "score", "raw", "--candidates", "other.jsonl", "-o", "picks.txt")
    assert "1 candidates written, as they stand in the lists" in err
    assert Path("picks.txt").read_text() == "A house\n\n"


def test_a_list_is_no_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list.txt").write_text("x\n")
    code, _, err = run(capsys, "score", tmp_path / "list.txt")
    assert code == 2
    assert f"rypt compare {tmp_path / 'list.txt'} --references FILE prints the BLEU" in err
