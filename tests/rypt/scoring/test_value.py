"""What a label is worth: by brute force, and that what changes nothing is worth nothing."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import corpora
from systems_world import make

from rypt.campaign.asking import campaign_values, worthwhile
from rypt.campaign.folder import Campaign
from rypt.database.exchange import import_file
from rypt.records import Candidate, Query, Span, Votes
from rypt.scoring.observations import Forest, vote_code
from rypt.scoring.queries import QueryLimits, queries
from rypt.scoring.scorer import Scorer
from rypt.scoring.tree_model import TreeModel
from rypt.scoring.value import SHARPNESS, WORTHLESS, Place, places_of, query_values
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

TREE = SourceTree.from_brackets("(S (NP (A a) (B b)) (VP (C c) (D d)))")
LINKS = "0-0 1-1 2-2 3-3"
NO_LIMITS = QueryLimits(*[10**6] * 5)


def untrained(scorer):
    return TreeModel.fit(scorer.observe([]), np.zeros(0, np.int8))


def world(texts, votes=()):
    """The scorer, candidates of one segment, and what is still to ask anywhere in its tree."""
    scorer = Scorer({"1": TREE}, votes)
    candidates = [Candidate("1", text, LINKS) for text in texts]
    judged = {(v.segment, v.span, v.phrase) for v in votes}
    found = queries({"1": TREE}, candidates, select="all", max_len=4, judged=judged, limits=NO_LIMITS)
    return scorer, candidates, found


def soft_top(scores):
    return SHARPNESS * np.log(np.mean(np.exp(np.asarray(scores) / SHARPNESS)))


def brute_force(scorer, candidates, query, votes):
    """The scores of all candidates under each answer, one candidate and one code at a time."""
    model = untrained(scorer)
    node = TREE.index[query.span]
    now, answered, has = [], {"yes": [], "no": []}, []
    for candidate in candidates:
        observed = scorer.observe([candidate])
        now.append(model.p_yes(observed).mean())
        words = candidate.text.split(" ")[slice(*query.span)]
        has.append(" ".join(words) == query.phrase)
        for answer, code in (("yes", vote_code(votes, 0, 0)), ("no", vote_code(0, votes, 0))):
            if has[-1]:
                changed = observed.take(np.array([0]))
                changed.codes[node] = code
                answered[answer].append(model.p_yes(changed).mean())
            else:
                answered[answer].append(now[-1])
    now, yes, no, has = np.array(now), np.array(answered["yes"]), np.array(answered["no"]), np.array(has)
    p = (now - no)[has].sum() / (yes - no)[has].sum()
    return p * soft_top(yes) + (1 - p) * soft_top(no) - soft_top(now), p


TEXTS = st.lists(
    st.lists(st.sampled_from("xyz"), min_size=4, max_size=4).map(" ".join), min_size=1, max_size=5
)


@settings(max_examples=40)
@given(TEXTS, st.sampled_from([1, 3]), st.data())
def test_the_value_is_that_of_its_definition(texts, votes, data):
    known = data.draw(
        st.sampled_from([[], [Votes("1", Span(0, 2), "x y", 1, 0)], [Votes("1", Span(2, 3), "z", 0, 2)]])
    )
    scorer, candidates, found = world(texts, known)
    places = places_of(scorer.forest, found, candidates, "lower")
    values = query_values(untrained(scorer), scorer.observe(candidates), places, votes=votes)
    assert (values >= 0).all()
    for query, value in zip(found, values.tolist(), strict=True):
        expected, p = brute_force(scorer, candidates, query, votes)
        assert 0 <= p <= 1
        assert value == pytest.approx(max(0.0, expected), abs=3e-6)  # scores are sums of units of 1/2^20


@given(st.lists(st.sampled_from("xyz"), min_size=4, max_size=4).map(" ".join), st.integers(1, 4))
def test_what_does_the_same_to_all_candidates_is_worth_nothing(text, copies):
    scorer, candidates, found = world([text] * copies)
    places = places_of(scorer.forest, found, candidates, "lower")
    assert (query_values(untrained(scorer), scorer.observe(candidates), places) <= WORTHLESS).all()


def test_what_tells_the_best_candidates_apart_is_worth_most():
    """Two candidates are as good as each other and better than the third; only "w" parts the two, "bad" the third."""
    votes = [Votes("1", Span(2, 4), "y y", 3, 0), Votes("1", Span(2, 4), "bad bad", 0, 3)]
    scorer, candidates, found = world(["x w y y", "x x y y", "x v bad bad"], votes)
    places = places_of(scorer.forest, found, candidates, "lower")
    values = query_values(untrained(scorer), scorer.observe(candidates), places)
    by_key = {(query.span, query.phrase): value for query, value in zip(found, values.tolist(), strict=True)}
    assert by_key[Span(1, 2), "w"] > 2 * by_key[Span(1, 2), "v"]
    assert by_key[Span(0, 1), "x"] < by_key[Span(1, 2), "w"] / 10  # all have it
    assert by_key[Span(0, 2), "x w"] > by_key[Span(1, 2), "w"]  # what reaches further is worth more


@settings(max_examples=40)
@given(corpora())
def test_places_are_where_the_phrases_stand(corpus):
    trees, candidates, _ = corpus
    found = queries(trees, candidates, select="all", max_len=99, limits=NO_LIMITS)
    places = places_of(Forest(trees), found, candidates, "lower")
    assert [len(place.candidates) for place in places] == [query.candidates for query in found]
    for query, place in zip(found, places, strict=True):
        assert trees[query.segment].constituents[place.node].span == query.span
        assert {candidates[i].segment for i in place.candidates} == {query.segment}


def query(span, phrase):
    return Query("1", span, phrase, "", "", 1, "", ())


def test_phrases_that_no_candidate_has_are_worth_nothing():
    scorer, candidates, _ = world(["x x y y", "x z y y"])
    found = [query(Span(1, 2), "q"), query(Span(1, 2), "z"), query(Span(2, 3), "q")]
    places = places_of(scorer.forest, found, candidates, "lower")
    assert [place.candidates.tolist() for place in places] == [[], [1], []]
    values = query_values(untrained(scorer), scorer.observe(candidates), places)
    assert values[1] > 0
    assert values[[0, 2]].tolist() == [0, 0]
    assert query_values(untrained(scorer), scorer.observe([]), []).tolist() == []
    with pytest.raises(RyptError, match="1-3 is no constituent of segment 1"):
        places_of(scorer.forest, [query(Span(1, 3), "x")], candidates, "lower")


def test_many_places_are_the_same_as_each_alone():
    rng = np.random.default_rng(1)
    scorer, candidates, found = world([" ".join(rng.choice(list("xyz"), 4)) for _ in range(30)])
    places = places_of(scorer.forest, found, candidates, "lower")
    model, observations = untrained(scorer), scorer.observe(candidates)
    together = query_values(model, observations, places)
    assert together.tolist() == [query_values(model, observations, [place])[0] for place in places]
    before = observations.codes.copy()
    query_values(model, observations, [Place(0, np.array([0]))])
    assert observations.codes.tolist() == before.tolist()


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
    values = campaign_values(campaign, found)
    assert len(values) == len(found) > 0
    assert values.max() > WORTHLESS
    assert campaign_values(campaign, []).tolist() == []


def test_the_worthwhile_come_in_the_order_of_their_values(campaign):
    found = open_queries(campaign)
    values = dict(zip(found, campaign_values(campaign, found).tolist(), strict=True))
    ranked = worthwhile(campaign, found)
    assert [query.value for query in ranked] == sorted(
        (v for v in values.values() if v > WORTHLESS), reverse=True
    )
    assert 0 < len(ranked) < len(found)
    alone = {
        (q.segment, q.span): sum(o.segment == q.segment and o.span == q.span for o in found) for q in found
    }
    assert all(
        alone[q.segment, q.span] > 1 for q in ranked
    )  # where all have one phrase, nothing can be learnt


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
