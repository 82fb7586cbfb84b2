"""Models learned from a database."""

import pytest

from rypt.database.judgments import JudgmentDatabase
from rypt.records import Candidate, Judgment, Label, Segment, Span, Votes
from rypt.scoring.learning import scorer_from_database
from rypt.scoring.scorer import Scorer
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

TREES = {"1": SourceTree.from_brackets("(S (A a) (B b))")}


def database(workers):
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("1", "a b", str(TREES["1"]))])
    db.add(Judgment("1", Span(0, 1), "x", Label.YES, worker, origin=f"hit-{worker}") for worker in workers)
    return db


@pytest.mark.parametrize("hold_out", ["worker", "origin"])
def test_held_out_workers_teach_the_table(hold_out):
    candidates = [Candidate("1", "x y", "0-0 1-1")]
    scorer = scorer_from_database(TREES, database("abcd"), candidates, model="table", hold_out=hold_out)
    assert scorer.model.p_yes(scorer.observe(candidates))[1] > 0.8
    assert f"model:table|ties:unknown|trained:held-out-{hold_out}" in scorer.signature


def test_one_worker_cannot_teach():
    with pytest.raises(RyptError, match="at least two workers, found 1"):
        scorer_from_database(TREES, database("a"), [], model="table")


def test_unknown_model_is_named():
    with pytest.raises(RyptError, match="expected model as one of"):
        scorer_from_database(TREES, database("ab"), [], model="forest")


@pytest.mark.parametrize("hold_out", ["worker", "origin"])
def test_workers_who_always_disagree_teach_that_labels_are_worth_little(hold_out):
    """Each worker's own labels would predict themselves perfectly; the others' labels predict the opposite."""
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("1", "a b", str(TREES["1"]))])
    for worker, first, second in [("a", Label.YES, Label.NO), ("b", Label.NO, Label.YES)]:
        for n in range(40):
            label = first if n % 2 else second
            db.add([Judgment("1", Span(0, 1), f"x{n}", label, worker=worker, origin=worker)])
    candidates = [Candidate("1", f"x{n} y", "0-0 1-1") for n in range(40)]
    scorer = scorer_from_database(TREES, db, candidates, model="table", hold_out=hold_out)
    one_says_yes = [Votes("1", Span(0, 1), "x0", 1, 0)]
    assert scorer.model.p_yes(Scorer(TREES, one_says_yes).observe(candidates[:1]))[1] < 0.5
