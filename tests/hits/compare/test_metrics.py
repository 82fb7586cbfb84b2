"""Comparing metrics without the command line: picks, where they differ, the batch that asks, and the preferences."""

import shutil
from dataclasses import replace

import pytest

from hits.batch.folder import read_batch
from hits.batch.make import BatchOptions
from hits.compare.picks import compare_metrics, read_metrics
from hits.records import Assignment
from hits.results.answers import Results
from rypt.campaign.folder import Campaign
from rypt.picks.metrics import parse_pick_metric
from rypt.text import RyptError


@pytest.fixture
def campaign(demo_campaign, tmp_path):
    return Campaign.open(shutil.copytree(demo_campaign, tmp_path / "campaign"))


def test_picks_and_where_they_differ(campaign, tmp_path):
    comparison = compare_metrics(campaign.folder, "rypt:table+0.2*chrf, bleu")
    assert list(comparison.picks) == ["rypt:table+0.2*chrf", "bleu"]
    assert repr(comparison) == "MetricComparison(rypt:table+0.2*chrf, bleu; 40 segments)"
    different = comparison.disagreements()
    assert len(different.segments) + different.same == 40
    assert (
        different.summary
        == f"{len(different.segments)} segments with different picks, {different.same} with the same"
    )
    assert repr(different) == f"Disagreements(rypt:table+0.2*chrf against bleu: {different.summary})"
    assert different.simulated.startswith("SIMULATED")
    different.write(tmp_path / "p.html", limit=2)
    page = (tmp_path / "p.html").read_text()
    assert page.count("<article>") == 2
    assert "bleu|nrefs:1|" in page


def test_people_are_asked_and_answer(campaign, tmp_path):
    comparison = compare_metrics(campaign)
    with pytest.raises(
        RyptError, match=r"nobody has compared these picks yet \(rypt and bleu differ on \d+ segments\)"
    ):
        comparison.preferences()
    batch = comparison.ask(tmp_path / "b", options=BatchOptions(controls=0, assignments=1, limit=6))
    assert read_batch(tmp_path / "b").items == batch.items
    assert batch.settings.made["systems"] == ["rypt", "bleu"]
    assert (batch.settings.made["wage"], len(batch.items), batch.price.hits) == ("12.00", 6, 6)
    with campaign.database(readonly=False) as db:
        for n, item in enumerate(batch.items):
            first = "A" if item.columns["system_a"] == "rypt" else "B"
            answer = Assignment(
                batch="b",
                item=item.id,
                hit=f"H{n}",
                id=f"X{n}",
                worker="A1",
                fields={"choice": first if n else "EQUAL"},
                accepted=0,
                submitted=30,
            )
            Results(db).add([replace(answer, columns=item.columns)])
    report = comparison.preferences(seed=3)
    (preferences,) = report.preferences
    assert preferences.judgments == (5, 0, 1)
    assert repr(report) == "PreferenceReport(rypt against bleu, reference shown: 6 judgments)"
    assert report.as_dict()["signature"] == report.signature
    assert "|judgments:6|seed:3|" in report.signature
    assert set(report.signatures) == {"rypt", "bleu"}
    assert "first by rypt" in report.text()
    assert report.text(latex=True).count("tabular}") == 4
    report.plot(tmp_path / "p.svg")
    assert "<svg" in (tmp_path / "p.svg").read_text()


def test_the_wage_of_the_campaign_is_not_that_of_a_comparison(campaign, tmp_path):
    text = (campaign.folder / "rypt.toml").read_text()
    (campaign.folder / "rypt.toml").write_text(f'{text}\n[market]\nwage = "30.00"\n')
    batch = compare_metrics(campaign.folder).ask(tmp_path / "b", options=BatchOptions(limit=2))
    assert batch.settings.made["wage"] == "12.00"


def test_metrics_may_be_given_one_by_one():
    assert [m.name for m in read_metrics(["rypt", parse_pick_metric("bleu(tokenize=none)")])] == [
        "rypt",
        "bleu(tokenize=none)",
    ]
    for wrong in ("rypt", "bleu,rypt,bleu", [], ["rypt", "rypt"]):
        with pytest.raises(RyptError, match="expected at least two different metrics"):
            read_metrics(wrong)
