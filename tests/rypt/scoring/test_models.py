"""Unknown constituents, the calibrated table and severities against their definition; models learned from a database."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import corpora, reference_label, reference_phrase

from rypt.database.judgments import JudgmentDatabase
from rypt.records import Candidate, Judgment, Label, Segment, Span, Votes
from rypt.scoring.frontier import frontier
from rypt.scoring.learning import scorer_from_database
from rypt.scoring.models import SCALE, UNSEEN, CalibratedTable, Percolation, SeverityModel
from rypt.scoring.observations import vote_labels
from rypt.scoring.percolation import NO, UNKNOWN, YES
from rypt.scoring.scorer import Scorer
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

STATES = {None: UNKNOWN, "YES": YES, "NO": NO}
HOUSE = {"1": SourceTree.from_brackets("(S (NP (ART das) (NN haus)) (VVFIN steht))")}
PAIR = {"1": SourceTree.from_brackets("(S (A a) (B b))")}


@given(st.tuples(*[st.integers(0, 4)] * 3))
def test_the_label_is_that_of_the_majority(votes):
    label = vote_labels(np.array([votes], np.float64))[0]
    assert label == STATES[reference_label(Votes("1", Span(0, 1), "x", *map(float, votes)))]


@pytest.mark.parametrize(("ties", "counts"), [("unknown", (0, 0)), ("no", (0, 1)), ("yes", (1, 0))])
def test_ties(ties, counts):
    trees = {"1": SourceTree.from_brackets("(X a)")}
    candidate = [Candidate("1", "x", "0-0")]
    scorer = Scorer(trees, [Votes("1", Span(0, 1), "x", 1, 1)], model=Percolation(ties=ties))
    assert tuple(scorer.stats(candidate)[0, :2]) == counts
    for votes in [(1, 0, 1), (0, 1, 1)]:  # a tie with NOT_SURE is nobody's YES or NO
        scorer = Scorer(trees, [Votes("1", Span(0, 1), "x", *votes)], model=Percolation(ties=ties))
        assert tuple(scorer.stats(candidate)[0, :2]) == (0, 0)


@pytest.mark.parametrize(("unknown", "score"), [("half", 8 / 12), ("no", 6 / 12), ("ignore", 6 / 8)])
def test_treatments_of_unknowns(unknown, score):
    assert Percolation(unknown).score(np.array([[6, 2, 4, 12]]))[0] == pytest.approx(score)
    assert Percolation(unknown).score(np.zeros((1, 4), np.int64))[0] == 0.5
    assert f"unknown:{unknown}" in Percolation(unknown).options


@pytest.mark.slow
@settings(max_examples=50)
@given(corpora())
def test_score_is_the_mean_of_p_yes(corpus):
    trees, candidates, votes = corpus
    observations = Scorer(trees, votes).observe(candidates)
    table = CalibratedTable.fit([(observations, observations.labels())])
    for model in [Percolation("half"), Percolation("no"), table]:
        p = model.p_yes(observations)
        scores = model.score(model.stats(observations)) if candidates else np.zeros(0)
        for i, score in enumerate(scores):
            own = p[observations.offsets[i] : observations.offsets[i + 1]]
            assert score == pytest.approx(own.mean() if len(own) else 0.5, abs=1e-6)


# the calibrated table


def fitted(trees, votes, text, links, labels):
    observed = Scorer(trees, votes).observe([Candidate("1", text, links)] * (len(labels)))
    table = CalibratedTable.fit([(observed, np.array(labels, np.int8).ravel())])
    return table, observed


def test_table_learns_what_each_state_is_worth():
    votes = [Votes("1", Span(0, 1), "x", 1, 0), Votes("1", Span(1, 2), "z", 0, 1)]
    labels = [[NO, YES, NO], [NO, NO, NO]] * 100  # half of the direct YES are wrong
    table, observed = fitted(PAIR, votes, "x z", "0-0 1-1", labels)
    root, yes, no = table.p_yes(observed)[:3]
    assert max(root, no) < 0.02
    assert yes == pytest.approx(0.5, abs=0.02)


def test_table_takes_what_it_never_saw_from_what_is_near():
    """No length but 1 was seen; for longer constituents one NO is still NO, and all is a probability."""
    trees = {"1": SourceTree.from_brackets("(S (N (A a) (B b)) (C c))")}
    votes = [Votes("1", Span(0, 2), "x y", 0, 1), Votes("1", Span(2, 3), "z", 0, 1)]
    table, observed = fitted(trees, votes, "x y z", "0-0 1-1 2-2", [[0, 0, 0, 0, NO]] * 100)
    assert ((table.table > 0) & (table.table < 1)).all()
    assert table.p_yes(observed)[1] < 0.1
    empty = CalibratedTable.fit([])
    assert empty.p_yes(observed)[1] == pytest.approx(0.2)  # assumed of a NO before anything is counted


# severities


def reference_penalty(tree, votes, candidate, no_penalty):
    """The mean, over the frontiers of 1, 2, 4, 8 and all words, of the summed penalties of their constituents."""
    known = {(v.segment, v.span, v.phrase): v for v in votes}
    links = [tuple(map(int, link.split("-"))) for link in candidate.alignment.split()]

    def penalty(i):
        constituent = tree.constituents[i]
        phrase = reference_phrase(constituent.span, links, candidate.text.split(" "))
        if tree.children[i]:
            inside = sum(penalty(child) for child in tree.children[i])
        else:
            inside = UNSEEN / 2 if phrase is None else UNSEEN
        vote = known.get((candidate.segment, constituent.span, phrase)) if phrase is not None else None
        if vote is None or vote.yes + vote.no == 0:
            return inside
        graded = vote.graded * math.sqrt(vote.penalty / vote.graded) if vote.graded else 0.0
        judged = graded + (vote.no - vote.graded) * no_penalty
        return (judged + inside) / (vote.yes + vote.no + 1)

    lengths = (1, 2, 4, 8, len(tree.tokens))
    return math.fsum(penalty(i) for length in lengths for i in frontier(tree, length)) / len(lengths)


@st.composite
def graded_corpora(draw):
    trees, candidates, votes = draw(corpora())
    graded = []
    for vote in votes:
        part = draw(st.integers(0, int(vote.no)))
        graded.append(
            replace(vote, graded=float(part), penalty=float(part * draw(st.sampled_from([0.1, 1, 5, 25]))))
        )
    return trees, candidates, graded


@settings(max_examples=60, deadline=None)
@given(graded_corpora())
def test_penalties_equal_the_definition(corpus):
    trees, candidates, votes = corpus
    scorer = Scorer(trees, votes)
    scorer.model = replace(SeverityModel.fit(scorer.judged, scorer.counts), unseen=UNSEEN)
    stats = scorer.stats(candidates)
    graded = sum(v.graded for v in votes)
    rooted = sum(v.graded * math.sqrt(v.penalty / v.graded) for v in votes if v.graded)
    no_penalty = rooted / graded if graded else 1.0
    for candidate, (penalty, words) in zip(candidates, stats.tolist(), strict=True):
        tree = trees[candidate.segment]
        assert words == (len(tree.tokens) if tree else 0)
        expected = 0.0 if tree is None else reference_penalty(tree, votes, candidate, no_penalty)
        assert penalty / SCALE == pytest.approx(expected, abs=2 / SCALE)
    total, words = stats.sum(axis=0)
    expected = 1 - total / SCALE / words if words else 0.5
    assert scorer.score(stats.sum(axis=0)) == pytest.approx(expected)


def votes(span, phrase, *, no=0.0, penalty=0.0, graded=None, yes=0.0):
    return Votes("1", span, phrase, yes, no, 0.0, penalty, no if graded is None else graded)


def test_unseen_words_cost_what_words_judged_once_cost():
    once = [votes(Span(2, 3), word, no=1, penalty=4) for word in ("stands", "stood", "stand")]
    often = [votes(Span(0, 1), "the", no=5, penalty=125), votes(Span(0, 2), "the house", no=1, penalty=25)]
    scorer = Scorer(HOUSE, [*once, *often, votes(Span(1, 3), "no constituent", no=1, penalty=999)])
    model = SeverityModel.fit(scorer.judged, scorer.counts)
    assert model.unseen == pytest.approx((3 * 2 + 20 * UNSEEN) / 23)
    assert f"model:severity|k:1|unseen:{model.unseen:.3f}" in model.options


LEARNED = {"1": SourceTree.from_brackets("(S (A a) (B b))")}


def test_one_worker_cannot_teach():
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("1", "a b", str(LEARNED["1"]))])
    db.add([Judgment("1", Span(0, 1), "x", Label.YES, "a")])
    with pytest.raises(RyptError, match="at least two workers, found 1"):
        scorer_from_database(LEARNED, db, [], model="table")


@pytest.mark.parametrize("hold_out", ["worker", "origin"])
def test_workers_who_always_disagree_teach_that_labels_are_worth_little(hold_out):
    """Each worker's own labels would predict themselves perfectly; the others' labels predict the opposite."""
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("1", "a b", str(LEARNED["1"]))])
    for worker, first, second in [("a", Label.YES, Label.NO), ("b", Label.NO, Label.YES)]:
        for n in range(40):
            label = first if n % 2 else second
            db.add([Judgment("1", Span(0, 1), f"x{n}", label, worker=worker, origin=worker)])
    candidates = [Candidate("1", f"x{n} y", "0-0 1-1") for n in range(40)]
    scorer = scorer_from_database(LEARNED, db, candidates, model="table", hold_out=hold_out)
    assert f"model:table|ties:unknown|trained:held-out-{hold_out}" in scorer.signature
    one_says_yes = [Votes("1", Span(0, 1), "x0", 1, 0)]
    assert scorer.model.p_yes(Scorer(LEARNED, one_says_yes).observe(candidates[:1]))[1] < 0.5
