"""What a label is worth: by brute force, and that what changes nothing is worth nothing."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from systems_world import make

from rypt.campaign.folder import Campaign
from rypt.campaign.queries import worthwhile
from rypt.database.exchange import import_file
from rypt.records import Candidate, Query, Span, Votes
from rypt.scoring.models import SeverityModel
from rypt.scoring.queries import QueryLimits, queries
from rypt.scoring.scorer import Scorer
from rypt.scoring.value import SHARPNESS, WORTHLESS, query_rows, query_values
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

TREE = SourceTree.from_brackets("(S (NP (A a) (B b)) (VP (C c) (D d)))")
LINKS = "0-0 1-1 2-2 3-3"
NO_LIMITS = QueryLimits(*[10**6] * 5)
MODEL = SeverityModel(unseen=0.1, no_penalty=1.5)
TEXTS = st.lists(
    st.lists(st.sampled_from("xyz"), min_size=4, max_size=4).map(" ".join), min_size=1, max_size=5
)


def world(texts, votes=()):
    """The scorer, candidates of one segment, and what is still to ask anywhere in its tree."""
    scorer = Scorer({"1": TREE}, votes)
    candidates = [Candidate("1", text, LINKS) for text in texts]
    judged = {(v.segment, v.span, v.phrase) for v in votes}
    found = queries({"1": TREE}, candidates, select="all", max_len=4, judged=judged, limits=NO_LIMITS)
    return scorer, candidates, found


def values_of(scorer, candidates, found, votes=1):
    observations = scorer.observe(candidates)
    return query_values(MODEL, observations, query_rows(found, observations), len(found), votes=votes)


def soft_top(scores):
    return SHARPNESS * np.log(np.mean(np.exp(np.asarray(scores) / SHARPNESS)))


def scores_with(candidates, votes):
    """The expected scores of candidates, given these votes."""
    scorer = Scorer({"1": TREE}, votes)
    return 1 - MODEL.penalties(scorer.observe(candidates))[2] / len(TREE.tokens)


@settings(max_examples=40)
@given(TEXTS, st.sampled_from([1, 3]), st.data())
def test_the_value_is_that_of_its_definition(texts, votes, data):
    """The candidates are scored again with each answer among the votes."""
    choices = [[], [Votes("1", Span(0, 2), "x y", 1, 0)], [Votes("1", Span(2, 3), "z", 0, 2, 0, 8, 2)]]
    known = data.draw(st.sampled_from(choices))
    scorer, candidates, found = world(texts, known)
    values = values_of(scorer, candidates, found, votes)
    now = scores_with(candidates, known)
    for query, value in zip(found, values.tolist(), strict=True):
        key = (query.segment, query.span, query.phrase)
        yes = scores_with(candidates, [*known, Votes(*key, votes, 0)])
        no = scores_with(candidates, [*known, Votes(*key, 0, votes)])
        p = min(1, max(0, (now - no).sum() / (yes - no).sum()))
        expected = p * soft_top(yes) + (1 - p) * soft_top(no) - soft_top(now)
        assert value == pytest.approx(max(0.0, expected), abs=1e-9)


@given(st.lists(st.sampled_from("xyz"), min_size=4, max_size=4).map(" ".join), st.integers(1, 4))
def test_what_does_the_same_to_all_candidates_is_worth_nothing(text, copies):
    assert (values_of(*world([text] * copies)) <= WORTHLESS).all()


def test_what_changes_the_order_of_the_best_candidates_is_worth_most():
    """Two candidates are as good as each other and better than the third; only "w" parts the two, "bad" the third."""
    votes = [Votes("1", Span(2, 4), "y y", 3, 0), Votes("1", Span(2, 4), "bad bad", 0, 3)]
    scorer, candidates, found = world(["x w y y", "x x y y", "x v bad bad"], votes)
    values = values_of(scorer, candidates, found)
    by_key = {(query.span, query.phrase): value for query, value in zip(found, values.tolist(), strict=True)}
    assert by_key[Span(1, 2), "w"] > 2 * by_key[Span(1, 2), "v"]
    assert by_key[Span(0, 1), "x"] < by_key[Span(1, 2), "w"] / 10  # all have it


def query(span, phrase, segment="1"):
    return Query(segment, span, phrase, "", "", 1, "", ())


def test_phrases_that_no_candidate_has_are_worth_nothing():
    scorer, candidates, _ = world(["x x y y", "x z y y"])
    found = [query(Span(1, 2), "q"), query(Span(1, 2), "z"), query(Span(2, 3), "q")]
    values = values_of(scorer, candidates, found)
    assert values[1] > 0
    assert values[[0, 2]].tolist() == [0, 0]
    assert values_of(scorer, [], []).tolist() == []
    with pytest.raises(RyptError, match="1-3 is no constituent of segment 1"):
        values_of(scorer, candidates, [query(Span(1, 3), "x")])


def test_queries_of_several_segments_in_any_order_are_worth_what_each_is_alone(monkeypatch):
    rng = np.random.default_rng(1)
    scorer = Scorer({"1": TREE, "2": TREE}, [])
    texts = [" ".join(rng.choice(list("xyz"), 4)) for _ in range(30)]
    candidates = [Candidate(str(1 + i % 2), text, LINKS) for i, text in enumerate(texts)]
    found = queries({"1": TREE, "2": TREE}, candidates, select="all", limits=NO_LIMITS)
    found = [found[i] for i in rng.permutation(len(found))]
    monkeypatch.setattr("rypt.scoring.value.ROOM", 40)
    together = values_of(scorer, candidates, found)
    assert together.tolist() == pytest.approx(
        [values_of(scorer, candidates, [one])[0] for one in found], abs=1e-15
    )


# campaigns


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return make(tmp_path_factory.mktemp("world") / "campaign", judged=False)


def open_queries(campaign):
    with campaign.database() as db:
        judged = {(v.segment, v.span, v.phrase) for v in db.votes()}
    return queries(campaign.trees, campaign.candidates, judged=judged, max_len=1)


def test_a_campaign_without_judgments_has_values(campaign):
    found = open_queries(campaign)
    ranked = worthwhile(campaign, found)
    values = [query.value for query in ranked]
    assert values == sorted(values, reverse=True)
    assert values[-1] > WORTHLESS
    assert 0 < len(ranked) < len(found)
    alone = {
        (q.segment, q.span): sum(o.segment == q.segment and o.span == q.span for o in found) for q in found
    }
    assert all(
        alone[q.segment, q.span] > 1 for q in ranked
    )  # where all have one phrase, nothing can be learnt
    assert worthwhile(campaign, []) == []


def test_judgments_change_values(campaign, tmp_path):
    shutil.copytree(campaign.folder, tmp_path / "c")
    judged = Campaign.open(tmp_path / "c")
    first = worthwhile(judged, open_queries(judged))[0]
    lines = [
        {
            "segment": first.segment,
            "start": first.span.start,
            "stop": first.span.stop,
            "phrase": first.phrase,
            "label": "NO",
            "worker": worker,
        }
        for worker in ("a", "b")
    ]
    (tmp_path / "j.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with judged.database(readonly=False) as db:
        import_file(db, tmp_path / "j.jsonl")
    after = worthwhile(judged, open_queries(judged))
    assert (first.segment, first.span, first.phrase) not in {(q.segment, q.span, q.phrase) for q in after}
    before = {(q.segment, q.span, q.phrase): q.value for q in worthwhile(campaign, open_queries(campaign))}
    own = [q for q in after if q.segment == first.segment]
    assert any(q.value != pytest.approx(before.get((q.segment, q.span, q.phrase), 0.0)) for q in own)
