"""Models learned from a database."""

import pytest

from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Candidate, Judgment, Label, Segment, Span, Votes
from rypt.scoring.calibration import scorer_from_database
from rypt.scoring.scorer import Scorer
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

TREES = {"1": SourceTree.from_brackets("(S (A a) (B b))")}


def database(workers):
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("1", "a b", str(TREES["1"]))])
    db.add(Judgment("1", Span(0, 1), "x", Label.YES, worker, origin=f"hit-{worker}") for worker in workers)
    return db


@pytest.mark.parametrize("model", ["table", "tree"])
@pytest.mark.parametrize("hold_out", ["worker", "origin"])
def test_held_out_workers_teach_the_model(model, hold_out):
    candidates = [Candidate("1", "x y", "0-0 1-1")]
    scorer = scorer_from_database(TREES, database("abcd"), candidates, model=model, hold_out=hold_out)
    p = scorer.model.p_yes(scorer.observe(candidates))
    assert p[1] > 0.8
    assert f"model:{model}" in scorer.signature


@pytest.mark.parametrize("model", ["table", "tree"])
def test_one_worker_cannot_teach(model):
    with pytest.raises(RyptError, match="at least two workers, found 1"):
        scorer_from_database(TREES, database("a"), [], model=model)


@pytest.mark.parametrize("unknown", ["prior", "smoothed"])
def test_priors_come_from_the_labels(unknown):
    candidates = [Candidate("1", "x y", "0-0 1-1")]
    scorer = scorer_from_database(TREES, database("abcd"), candidates, unknown=unknown)
    stats = scorer.stats(candidates)
    assert scorer.score(stats)[0] > 0.6
    assert f"unknown:{unknown}" in scorer.signature


def test_unknown_model_is_named():
    with pytest.raises(RyptError, match="expected model as one of"):
        scorer_from_database(TREES, database("ab"), [], model="forest")


@pytest.mark.parametrize(
    ("model", "hold_out"), [("table", "worker"), ("tree", "worker"), ("table", "origin")]
)
def test_workers_who_always_disagree_teach_that_labels_are_worth_little(model, hold_out):
    """Each worker's own labels would predict themselves perfectly; the others' labels predict the opposite."""
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("1", "a b", str(TREES["1"]))])
    said = [("a", Label.YES, Label.NO), ("b", Label.NO, Label.YES)]
    for worker, first, second in said:
        for n in range(40):
            key = {"worker": worker, "origin": worker}
            db.add([Judgment("1", Span(0, 1), f"x{n}", first if n % 2 else second, **key)])
    candidates = [Candidate("1", f"x{n} y", "0-0 1-1") for n in range(40)]
    scorer = scorer_from_database(TREES, db, candidates, model=model, hold_out=hold_out)
    one_says_yes = [Votes("1", Span(0, 1), "x0", 1, 0)]
    p = scorer.model.p_yes(Scorer(TREES, one_says_yes).observe(candidates[:1]))
    assert p[1] < 0.5


def test_all_models_rank_the_demo_much_alike(demo_campaign):
    """Different models, one truth: their scores of the demo's candidates go together."""
    import numpy as np

    campaign = Campaign.open(demo_campaign)
    scores = []
    with campaign.database() as db:
        for model in ("percolation", "table", "tree"):
            scorer = scorer_from_database(campaign.trees, db, campaign.candidates, model=model)
            scores.append(scorer.score(scorer.stats(campaign.candidates)))
    assert np.corrcoef(scores).min() > 0.75
