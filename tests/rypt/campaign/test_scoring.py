"""The score of a campaign, picks as texts, and why a candidate has its score."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from commands import run

import rypt
from rypt.campaign.create import create_campaign
from rypt.campaign.folder import Campaign
from rypt.campaign.scoring import ScoringChoices, campaign_scorer, explain_candidate
from rypt.text import OptionError, RyptError


@pytest.fixture(scope="module")
def campaign(demo_campaign: Path) -> Campaign:
    return rypt.Campaign.open(demo_campaign)


@pytest.mark.slow
def test_the_command_prints_the_same_report(campaign, tmp_path, capsys):
    report = rypt.score(campaign, pick="best", choices=ScoringChoices(unknown="no", ties="yes"))
    report.write(tmp_path / "report.json")
    options = ["--pick", "best", "--unknown", "no", "--ties", "yes"]
    _, out, _ = run(capsys, "score", campaign.folder, *options, "--segments", "--json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == json.loads(out)
    assert run(capsys, "score", campaign.folder, *options, "-q")[1] == f"{report}\n"
    assert "|unknown:no|ties:yes|" in report.signature


def test_candidates_of_a_file(campaign: Campaign, tmp_path: Path) -> None:
    segment = campaign.segments[0]
    (tmp_path / "list.jsonl").write_text(json.dumps({"id": segment.id, "candidate": "x"}) + "\n")
    (tmp_path / "links").write_text("0-0\n")
    report = rypt.score(campaign, candidates=tmp_path / "list.jsonl", alignments=tmp_path / "links")
    assert [row.candidate for row in report.segments] == ["x"]
    with pytest.raises(OptionError, match="expected candidates, too"):
        rypt.score(campaign, alignments=tmp_path / "links")


def test_choices_are_checked(campaign: Campaign) -> None:
    with pytest.raises(RyptError, match=r"expected model as one of percolation, .*, found 'forest'"):
        ScoringChoices(model="forest")
    with pytest.raises(
        OptionError, match="unknown is an option of the model percolation, and the model is table"
    ):
        campaign_scorer(campaign, ScoringChoices(model="table", unknown="no"))


@pytest.mark.parametrize("model", ["percolation", "table", "severity"])
def test_an_explanation_has_the_score_of_the_campaign(campaign: Campaign, model: str) -> None:
    choices = ScoringChoices(model=model)
    scorer = campaign_scorer(campaign, choices)
    assert f"model:{model}" in scorer.signature or model == "percolation"
    for row in rypt.score(campaign, pick="best", choices=choices).segments[:4]:
        best = explain_candidate(campaign, row.segment, "best", choices=choices)
        assert (best.name, best.score) == (f"candidate {row.number}", row.score)
        assert best.signature == scorer.signature
        numbered = explain_candidate(campaign, row.segment, row.number, choices=choices)
        assert numbered.candidate.text == best.candidate.text == row.candidate


LISTS = {
    "A.jsonl": ["one two", "uno dos"],
    "B.2.jsonl": ["one two"],
    "3.jsonl": ["eins zwei"],
    "best.jsonl": ["x y"],
}


@pytest.fixture
def systems(tmp_path: Path) -> Campaign:
    (tmp_path / "source").write_text("a b\nc d\ne\n")
    (tmp_path / "trees").write_text("(S (A a) (B b))\n(S (C c) (D d))\n(S e)\n")
    for name, texts in LISTS.items():
        rows = [{"id": "0", "candidate": text, "alignment": "0-0 1-1"} for text in texts]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "last.jsonl").write_text('{"id": "1", "candidate": "z", "alignment": "0-0"}\n')
    files = [tmp_path / name for name in (*LISTS, "last.jsonl")]
    return create_campaign(
        tmp_path / "campaign", source=tmp_path / "source", trees=tmp_path / "trees", nbest=files
    )


@pytest.mark.parametrize(
    ("candidate", "text", "name"),
    [
        ("1", "uno dos", "candidate 1 (A)"),
        ("B.2", "one two", "candidate 0 (A, B.2)"),
        ("3", "x y", "candidate 3 (best)"),
        ("best", "one two", "candidate 0 (A, B.2)"),  # without labels all share the best score
        ("best.jsonl", "x y", "candidate 3 (best)"),
    ],
)
def test_a_candidate_is_named_by_number_list_or_best(systems, candidate, text, name):
    explanation = explain_candidate(systems, "0", candidate)
    assert (explanation.candidate.text, explanation.name) == (text, name)


@pytest.mark.parametrize(
    ("segment", "candidate", "message"),
    [
        ("0", 4, "segment 0 has 4 candidates, numbered from 0 to 3 .*; there is no candidate 4"),
        (
            "0",
            "C",
            "expected a candidate's number, best or the name of a list, found 'C'; lists: A, B.2, 3, best",
        ),
        ("2", "best", "segment 2 has no candidate in the campaign's lists"),
        ("0", "last", "the list last.jsonl has no candidate of segment 0"),
        ("9", 0, "segment '9' is not in the campaign, whose segments are 0 to 2"),
    ],
)
def test_candidates_that_do_not_exist(systems, segment, candidate, message):
    with pytest.raises(RyptError, match=message):
        explain_candidate(systems, segment, candidate)


def test_the_signature_names_the_segmenter(campaign: Campaign) -> None:
    languages = replace(campaign.settings.languages, segmenter="icu-78.3")
    segmented = Campaign(campaign.folder, replace(campaign.settings, languages=languages))
    assert "|case:lower|segmenter:icu-78.3|" in rypt.score(segmented).signature


def test_picked_candidates_are_written_in_the_order_of_the_source(campaign, tmp_path, capsys):
    best = rypt.score(campaign, pick="best")
    code, _, err = run(capsys, "score", campaign.folder, "--pick", "best", "-o", tmp_path / "picks")
    assert code == 0, err
    assert f"; labels decided {best.decisions.by_labels} of 39 picks\n" in err
    lines = (tmp_path / "picks").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(campaign.segments)
    assert [line for line in lines if line] == [row.candidate for row in best.segments]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (
            "0 ||| The house burns.\n0 ||| A house.\n1 ||| The cat  sleeps.\n",
            "as they were read, before they",
        ),
        ("0 ||| The house burns .\n1 ||| The cat sleeps .\n", "as they stand in the lists"),
    ],
    ids=["raw", "tokens"],
)
def test_picks_are_written_as_they_were_read(tmp_path, monkeypatch, capsys, texts, form):
    """Lists that were cut into tokens keep the texts, which are what people want back."""
    monkeypatch.chdir(tmp_path)
    Path("dev.de").write_text("Das Haus brennt.\nDie Katze schläft.\n", encoding="utf-8")
    Path("list.nbest").write_text(texts, encoding="utf-8")
    code, _, err = run(capsys, "init", "c", "--source", "dev.de", "--nbest", "list.nbest", "-q")
    assert code == 0, err
    code, out, err = run(capsys, "score", "c", "--pick", "best", "-o", "picks.txt")
    assert f"picks.txt: 2 candidates written, {form}" in err
    tokens = form.startswith("as they stand")
    assert Path("picks.txt").read_text() == (
        "The house burns .\nThe cat sleeps .\n" if tokens else "The house burns.\nThe cat sleeps.\n"
    )
    assert "none of their phrases has a label" in out
