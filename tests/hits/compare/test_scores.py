"""Comparing metrics by held-out scores without the command line."""

import json

import pytest
from systems_world import make

from hits.compare.scores import HeldOutScores, compare_by_scores
from rypt.text import RyptError


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return make(tmp_path_factory.mktemp("world") / "systems", systems=6, segments=20)


@pytest.mark.slow
def test_outcomes(campaign, tmp_path):
    path = campaign.folder / "scores.jsonl"
    scores = HeldOutScores(path, splits=3, judged_only=("sys0",), max_len=2, controls=True)
    report = compare_by_scores(campaign, scores, ["rypt", "bleu", "rypt(unknown=no)+0.1*chrf"], seed=4)
    comparison = report.comparison
    assert (comparison.splits, len(comparison.outcomes)) == (3, 3 + 2 * 2)  # and two controls of the first
    settings = "hold-out:system|splits:3|judging:half|judged_only:sys0|max_len:2|segments:20|rypt:half,no"
    assert report.signature.startswith(f"compare|{settings}|ties:unknown|seed:4|")
    assert [signature.split("|")[0] for signature in report.signatures] == ["bleu", "chrf"]
    assert json.loads(json.dumps(report.as_dict()))["quality"] == comparison.quality
    assert report.text(latex=True).splitlines()[-3] == f"% {report.signature}"
    assert report.text().splitlines()[0] == report.answers()[0]
    names = [line.split("  ")[0] for line in report.text().split("\n\n")[2].splitlines()[1:]]
    terms = ["rypt", "bleu", "rypt:no", "chrf", "A+0.2*B"]
    assert names == [*terms, "…, coverage", "…, permuted", "random", "best"]
    assert repr(report).startswith(f"OutcomeReport(rypt - bleu: {comparison.outcomes[0].net:+.3f}; ")


def test_a_candidate_that_one_rater_scored_has_no_ceiling(campaign, tmp_path):
    """Four raters share the systems of each segment: who judges scored nothing that is picked from."""
    lines = [json.loads(line) for line in (campaign.folder / "scores.jsonl").read_text().splitlines()]
    raters = sorted({line["rater"] for line in lines})
    systems = sorted({line["system"] for line in lines})
    path = tmp_path / "once.jsonl"
    path.write_text(
        "".join(
            f"{json.dumps(line)}\n"
            for line in lines
            if systems.index(line["system"]) % len(raters) == raters.index(line["rater"])
        )
    )
    report = compare_by_scores(campaign, HeldOutScores(path, way="rater"), "rypt,bleu")
    assert [outcome.metric for outcome in report.comparison.outcomes] == ["rypt"]
    assert report.as_dict()["notes"][0].startswith("every candidate was scored by a single rater")
    for ceiling, metrics, reason in ((True, "rypt,bleu", "ceiling"), (False, "rypt,human+0.1*bleu", "human")):
        with pytest.raises(RyptError, match=f"{reason}.* cannot be had here"):
            compare_by_scores(campaign, HeldOutScores(path, way="rater", ceiling=ceiling), metrics)


def test_one_rater_is_not_called_people(campaign, tmp_path):
    alone = make(tmp_path / "alone", systems=4, segments=8, raters=("ada",))
    path = alone.folder / "scores.jsonl"
    report = compare_by_scores(alone, HeldOutScores(path, splits=2), "rypt+0.2*chrf,rypt,bleu")
    assert ": one rater scored them higher in " in report.answers()[0]
    assert any(note.startswith("one rater (ada) gave all labels and all scores") for note in report.notes)
    (tmp_path / "bob.jsonl").write_text(path.read_text().replace('"ada"', '"bob"'))
    other = compare_by_scores(alone, HeldOutScores(tmp_path / "bob.jsonl", splits=2), "rypt,bleu")
    assert ": people scored them higher in " in other.answers()[0]


def test_what_is_left_against_metrics_that_know_the_systems(campaign):
    scores = HeldOutScores(campaign.folder / "scores.jsonl", splits=3)
    report = compare_by_scores(campaign, scores, "rypt+2*system,bleu,chrf+2*system,bleu+2*system")
    _, second = report.answers()
    chrf, bleu = report.comparison.outcomes[1:3]
    for outcome, part in zip((chrf, bleu), second.split("; "), strict=True):
        assert f"{100 * outcome.net:+.1f} points" in part
        assert part.rstrip(".").endswith(f" against {outcome.baseline}")
        assert ("no difference shown" in part) == (outcome.low <= 0 <= outcome.high)
