"""The treatments of unknown constituents and the calibrated table."""

import numpy as np
import pytest
from hypothesis import given, settings
from reference import corpora

from rypt.records import Candidate, Span, Votes
from rypt.scoring.model import (
    LENGTHS,
    UNKNOWN_AS,
    CalibratedTable,
    Percolation,
    direct_labels,
    yes_share_by_length,
)
from rypt.scoring.observations import Forest, JudgedPhrases
from rypt.scoring.scorer import Scorer
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

PRIOR = np.append(np.linspace(0.9, 0.2, len(LENGTHS)), 0.6)
SUMS = np.array([[6, 2, 4, 12]])


@pytest.mark.parametrize(
    ("unknown", "score"), [("half", 8 / 12), ("no", 6 / 12), ("yes", 10 / 12), ("ignore", 6 / 8)]
)
def test_treatments(unknown, score):
    assert Percolation(unknown).score(SUMS)[0] == pytest.approx(score)


def test_smoothed_adds_five_nodes_a_segment_at_the_prior():
    sums = np.array([[6, 2, 4, 12, 2]])
    model = Percolation("smoothed", prior=PRIOR)
    assert model.score(sums)[0] == pytest.approx((6 + 10 * 0.6) / (8 + 10))
    scorer = Scorer(
        {"1": SourceTree.from_brackets("(S (A a) (B b))")}, [Votes("1", Span(0, 1), "x", 1, 0)], model=model
    )
    stats = scorer.stats([Candidate("1", "x", "0-0")])
    assert stats.tolist() == [[1, 0, 2, 3, 1]]
    assert model.p_yes(scorer.observe([Candidate("1", "x", "0-0")])).tolist() == [0.6, 1.0, 0.6]


def test_prior_by_length():
    tree = {"1": SourceTree.from_brackets("(S (NP (ART a) (NN b)) (V c))")}
    model = Percolation("prior", prior=PRIOR)
    scorer = Scorer(tree, [Votes("1", Span(0, 2), "x y", 1, 0)], model=model)
    stats = scorer.stats([Candidate("1", "x y z", "0-0 1-1 2-2")])
    expected = (3 + PRIOR[0] + PRIOR[2]) / 5  # c has one word, the root three
    assert scorer.score(stats)[0] == pytest.approx(expected)
    assert model.p_yes(scorer.observe([Candidate("1", "x y z", "0-0 1-1 2-2")])).mean() == pytest.approx(
        expected
    )


@settings(max_examples=50)
@given(corpora())
def test_score_is_the_mean_of_p_yes_for_every_additive_model(corpus):
    trees, candidates, votes = corpus
    scorer = Scorer(trees, votes)
    observations = scorer.observe(candidates)
    truth = direct_labels(observations)
    models = [Percolation(u, prior=PRIOR) for u in ("half", "no", "yes", "prior")]
    for model in [*models, CalibratedTable.fit(observations, truth)]:
        p = model.p_yes(observations)
        scores = model.score(model.stats(observations)) if candidates else np.zeros(0)
        for i, score in enumerate(scores):
            own = p[observations.offsets[i] : observations.offsets[i + 1]]
            assert score == pytest.approx(own.mean() if len(own) else 0.5, abs=1e-6)
            assert 0 <= score <= 1


@pytest.mark.parametrize("unknown", UNKNOWN_AS)
def test_every_treatment_gives_a_score_to_nothing(unknown):
    model = Percolation(unknown, prior=PRIOR)
    width = {"prior": 4 + len(LENGTHS), "smoothed": 5}.get(unknown, 4)
    assert model.score(np.zeros((1, width), np.int64))[0] == 0.5
    assert f"unknown:{unknown}" in model.options


@pytest.mark.parametrize(("unknown", "ties"), [("maybe", "unknown"), ("half", "coin"), ("prior", "unknown")])
def test_bad_options(unknown, ties):
    with pytest.raises(RyptError):
        Percolation(unknown, ties)


@pytest.mark.parametrize(("ties", "counts"), [("unknown", (0, 0)), ("no", (0, 1)), ("yes", (1, 0))])
def test_ties(ties, counts):
    trees = {"1": SourceTree.from_brackets("(X a)")}
    candidate = [Candidate("1", "x", "0-0")]
    scorer = Scorer(trees, [Votes("1", Span(0, 1), "x", 1, 1)], model=Percolation(ties=ties))
    assert tuple(scorer.stats(candidate)[0, :2]) == counts
    for votes in [(1, 0, 1), (0, 1, 1)]:  # a tie with NOT_SURE is nobody's YES or NO
        scorer = Scorer(trees, [Votes("1", Span(0, 1), "x", *votes)], model=Percolation(ties=ties))
        assert tuple(scorer.stats(candidate)[0, :2]) == (0, 0)


def test_table_learns_what_each_state_is_worth():
    trees = {"1": SourceTree.from_brackets("(S (A a) (B b))")}
    forest = Forest(trees)
    judged = JudgedPhrases(forest, [Votes("1", Span(0, 1), "x", 1, 0), Votes("1", Span(1, 2), "z", 0, 1)])
    observed = judged.observe([Candidate("1", "x z", "0-0 1-1")] * 200, "lower")
    truth = np.tile(np.array([0, 1, 0], np.int8), 200)
    truth[1::6] = 0  # half of the direct YES are wrong
    table = CalibratedTable.fit(observed, truth)
    root, yes, no = table.p_yes(observed)[:3]
    assert root < 0.02
    assert no < 0.02
    assert yes == pytest.approx(0.5, abs=0.02)


def test_table_tells_patterns_of_votes_apart():
    """One YES is right half of the time, five always; both are YES after percolation."""
    trees = {"1": SourceTree.from_brackets("(S (A a) (B b))")}
    judged = JudgedPhrases(
        Forest(trees), [Votes("1", Span(0, 1), "x", 1, 0), Votes("1", Span(1, 2), "z", 5, 0)]
    )
    observed = judged.observe([Candidate("1", "x z", "0-0 1-1")] * 200, "lower")
    table = CalibratedTable.fit(observed, np.tile(np.array([-1, 0, 1, -1, 1, 1], np.int8), 100))
    _, one, five = table.p_yes(observed)[:3]
    assert one == pytest.approx(0.5, abs=0.05)
    assert five > 0.95


def test_table_takes_what_it_never_saw_from_what_is_near():
    """No length but 1 was seen; for longer constituents one NO is still NO, and all is a probability."""
    trees = {"1": SourceTree.from_brackets("(S (N (A a) (B b)) (C c))")}
    judged = JudgedPhrases(
        Forest(trees), [Votes("1", Span(0, 2), "x y", 0, 1), Votes("1", Span(2, 3), "z", 0, 1)]
    )
    observed = judged.observe([Candidate("1", "x y z", "0-0 1-1 2-2")] * 100, "lower")
    truth = np.full(len(observed.codes), -1, np.int8)
    truth[4::5] = 0
    table = CalibratedTable.fit(observed, truth)
    assert ((table.table > 0) & (table.table < 1)).all()
    assert table.p_yes(observed)[1] < 0.1
    empty = CalibratedTable.fit(observed, np.full(len(observed.codes), -1, np.int8))
    assert np.isfinite(empty.table).all()
    assert empty.p_yes(observed)[1] == pytest.approx(
        0.2
    )  # what is assumed of a NO before anything is counted


def test_table_tells_unaligned_constituents_from_unknown_ones():
    observed = JudgedPhrases(Forest({"1": SourceTree.from_brackets("(S (A a) (B b))")}), []).observe(
        [Candidate("1", "x", "0-0")] * 100, "lower"
    )
    table = CalibratedTable.fit(observed, np.tile(np.array([1, 1, 0], np.int8), 100))
    _, aligned, unaligned = table.p_yes(observed)[:3]
    assert aligned > 0.9
    assert unaligned < 0.1


def test_yes_share_by_length_shrinks_to_the_overall_share():
    trees = {"1": SourceTree.from_brackets("(S (A a) (B b))")}
    observed = JudgedPhrases(Forest(trees), []).observe([Candidate("1", "", "")] * 10, "lower")
    truth = np.tile(np.array([0, 1, 1], np.int8), 10)
    shares = yes_share_by_length(observed, truth)
    assert shares[0] > 0.9
    assert shares[1] < 0.3
    assert shares[5] == pytest.approx(shares[-1])  # nothing of that length
