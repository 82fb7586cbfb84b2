"""``rypt hits status``: a screen for people, numbers for programs."""

import json
import shutil
from dataclasses import replace

import pytest
from commands import run

from hits.records import Assignment, Bonus
from hits.results.answers import Results
from rypt.campaign.folder import Campaign

PAPER = ("hits", "alternatives_per_hit", "labels_per_hour", "cost_per_label", "yes", "no", "not_sure")


@pytest.fixture
def campaign(demo_campaign, tmp_path):
    """The demo with a label hit of two workers and a comparison hit, both from a local market."""
    from decimal import Decimal

    shutil.copytree(demo_campaign, tmp_path / "campaign")
    item = {"item": "i", "segment": "0", "start": "0", "stop": "1", "phrase_1": "a", "phrase_2": "b"}
    facts = {"Reward": "$0.06", "MaxAssignments": "2"}
    with Campaign.open(tmp_path / "campaign").database(readonly=False) as db:
        results = Results(db)
        for n, worker in enumerate(("A1", "A2")):
            answer = Assignment(
                batch="b1",
                item="i",
                hit="H1",
                id=f"X{n}",
                worker=worker,
                fields={"label_1": "YES", "label_2": "NO"},
                accepted=0,
                submitted=20,
            )
            results.add([replace(answer, columns=item, status="Approved", facts=facts, market="local")])
        answer = Assignment(
            batch="b2",
            item="c",
            hit="H2",
            id="X3",
            worker="A1",
            fields={"choice": "A"},
            accepted=0,
            submitted=50,
        )
        columns = {"item": "c", "segment": "0", "system_a": "x", "system_b": "y"}
        results.add([replace(answer, columns=columns, facts={"Reward": "$0.20"}, market="mturk")])
        results.add_bonuses([Bonus("X0", "A1", Decimal("0.05"), "thanks")])
    return tmp_path / "campaign"


def test_json_has_the_numbers_of_the_paper(capsys, campaign):
    code, out, err = run(capsys, "hits", "status", "-C", campaign, "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert {name: facts[name] for name in PAPER} == {
        "hits": 2,
        "alternatives_per_hit": 2.0,
        "labels_per_hour": 360.0,
        "cost_per_label": "0.0425",
        "yes": 0.5,
        "no": 0.5,
        "not_sure": 0.0,
    }
    assert [facts[name] for name in ("rewards", "bonuses", "fees", "cost")] == [
        "0.32",
        "0.05",
        "0.04",
        "0.41",
    ]
    assert facts["agreement"]["answers"] == 4  # the demo's judgments are simulated
    assert facts["agreement"]["alpha"] == 1.0


def test_the_screen_is_for_people(capsys, campaign):
    assert run(capsys, "hits", "status", "-C", campaign)[1].splitlines() == [
        "collected    3 assignments of 2 hits: 2 approved, 1 waiting for review; rejected besides: 0",
        "             workers: 2, 0 of them excluded; 0.0 hours of work",
        "labels       4 labels, 2.00 alternatives a hit",
        "             YES 50.0%, NO 50.0%, NOT SURE 0.0%",
        "             10.0 seconds per label, 360 an hour",
        "             agreement on 2 phrases (4 answers): alpha 1.000, kappa 1.000",
        "comparisons  1 comparison",
        "             preferred: x 1",
        "             50.0 seconds per comparison",
        "             agreement on 1 pair of candidates (1 answer): alpha -, kappa -",
        "money        rewards $0.32 + bonuses $0.05 + fees $0.04 = $0.41; workers earn $14.80 an hour",
        "             $0.0425 a label",
        "             $0.2400 a comparison",
    ]


@pytest.mark.slow
def test_a_batch_that_is_not_published_and_one_whose_market_is_away(capsys, campaign, tmp_path):
    batch = tmp_path / "batch"
    run(capsys, "hits", "make", campaign, "-o", batch, "--limit", 2, "-q")
    code, out, err = run(capsys, "hits", "status", "-C", campaign, "--batch", batch)
    assert (code, err) == (0, "")
    assert out.startswith("market       none of ")
    (batch / "published.local-1234.jsonl").write_text('{"item": "x", "hit": "H9", "digest": ""}\n')
    code, out, err = run(
        capsys, "hits", "status", "-C", campaign, "--batch", batch, "--market", tmp_path / "nowhere"
    )
    assert (code, err.count("\n")) == (0, 1)
    assert "hits published on local-1234" in out
    assert "there is no market here" in err
