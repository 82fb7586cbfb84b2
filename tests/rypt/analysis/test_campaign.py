"""Campaigns analysed: which systems, which workers, what is refused."""

import json
from math import nan
from pathlib import Path

import pytest
from four_systems import LINKS, TEXTS

from rypt.analysis.agreement import agreement
from rypt.analysis.campaign import UNCHECKED, Analysis, analyze
from rypt.analysis.curve import Accuracies, CurvePoint
from rypt.analysis.redundancy import ListCounts, PhraseReuse, Redundancy
from rypt.campaign.create import create_campaign
from rypt.campaign.folder import Campaign
from rypt.records import Judgment, Label, Span
from rypt.text import RyptError

SPANS = (Span(0, 3), Span(0, 2), Span(0, 1), Span(1, 2), Span(2, 3))


def make(folder, workers=("w",), systems=TEXTS):
    """One list for each system; every phrase of every system judged by each worker."""
    folder.mkdir()
    (folder / "source").write_text("a b c\n")
    (folder / "trees").write_text("(S (NP (A a) (B b)) (C c))\n")
    for system, text in TEXTS.items():
        line = {"id": "0", "candidate": text, "alignment": LINKS}
        (folder / f"{system}.jsonl").write_text(json.dumps(line) + "\n")
    campaign = create_campaign(
        folder / "campaign",
        source=folder / "source",
        trees=folder / "trees",
        nbest=[folder / f"{system}.jsonl" for system in TEXTS],
    )
    with campaign.database(readonly=False) as db:
        for worker in workers:
            for system in systems:
                words = TEXTS[system].split()
                phrases = [(span, " ".join(words[slice(*span)])) for span in SPANS]
                db.add(
                    Judgment("0", span, phrase, Label.NO if "bad" in phrase else Label.YES, worker, system)
                    for span, phrase in phrases
                )
    return Campaign.open(campaign.folder)


@pytest.mark.slow
def test_systems_are_held_out_where_one_worker_judged(tmp_path):
    found = analyze(make(tmp_path / "a", systems=[*TEXTS]), splits=4, longest=2)
    assert found.held_out.way == "system"
    assert found.held_out.groups == list(TEXTS)
    assert found.held_out.judging == 2
    assert [point.max_len for point in found.curve] == [1, 2]
    assert "hold_out:system|judging:2of4|splits:4|seed:1|" in found.signature


def test_an_origin_without_a_list_only_judges(tmp_path):
    campaign = make(tmp_path / "a")
    with campaign.database(readonly=False) as db:
        db.add([Judgment("0", Span(0, 1), "x", Label.YES, "w", "reference")])
    found = analyze(campaign, splits=5, longest=1)
    assert found.held_out.groups == list(TEXTS)
    assert found.notes == ["judged but without a list, so never scored: reference"]


def test_without_judgments_there_is_still_redundancy(tmp_path):
    found = analyze(make(tmp_path / "a", workers=()))
    assert found.curve == []
    assert found.held_out is None
    assert found.redundancy.total.candidates == 4
    assert found.redundancy.total.new == 2
    assert found.notes == ["percolation cannot be checked against held-out judgments: no judgments yet"]
    assert found.as_dict()["agreement"]["alpha"] is None
    assert "NaN" not in json.dumps(found.as_dict())


def test_a_list_can_be_left_out_while_its_judgments_count(tmp_path):
    campaign = make(tmp_path / "a")
    found = analyze(campaign, judged_only=["s3"], splits=5, longest=1)
    assert found.held_out.groups == ["s1", "s2", "s4"]
    assert [Path(one.name).stem for one in found.redundancy.lists] == ["s1", "s2", "s4"]
    assert "judged but without a list, so never scored: s3" in found.notes
    with pytest.raises(RyptError, match="expected a list of s9 to leave out"):
        analyze(campaign, judged_only=["s9"])


@pytest.mark.slow
def test_simulated_judgments_and_unchecked_percolation_are_said(demo_campaign):
    found = analyze(Campaign.open(demo_campaign), splits=1, longest=4, models=False)
    assert UNCHECKED in found.notes
    assert any(note.startswith("SIMULATED: 2,274 of 2,274") for note in found.notes)
    assert found.simulated in found.notes


UNKNOWN = Accuracies(0, nan, nan, nan)
CURVE = [CurvePoint(n, 0.3, 0.7, 0.3, 0.1, nan, nan, Accuracies(9, 0.5, 0.6, nan), UNKNOWN) for n in (1, 2)]
LISTS = [ListCounts(f"{n}.nbest.gz", 10, 5, PhraseReuse(100, 50), PhraseReuse(40, 10, 4, 8)) for n in (1, 2)]


def plot(path, lists, curve):
    Analysis(Redundancy(4, lists, lists[0]), None, curve, agreement([]), [], "", "SIMULATED").plot(path)


def test_pictures(tmp_path):
    """Lines that are known are drawn and named."""
    plot(tmp_path / "a.svg", LISTS, CURVE)
    text = (tmp_path / "a.svg").read_text()
    names = (
        "different ones: labels needed: 20",
        "always YES, percolated",
        "added by NO from below",
        "SIMULATED",
    )
    for name in names:
        assert f"<!-- {name}" in text
    assert "table, percolated" not in text
    plot(tmp_path / "b.svg", LISTS[:1], [])
    text = (tmp_path / "b.svg").read_text()
    assert "phrases on the frontier (4): 40" in text
    assert "maxLen" not in text
