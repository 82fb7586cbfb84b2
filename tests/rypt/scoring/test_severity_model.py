"""The compiled severity model against its definition, written one candidate at a time."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import corpora, reference_phrase

from rypt.records import Candidate, Query, Span, Votes
from rypt.scoring.frontier import frontier
from rypt.scoring.model import SCALE
from rypt.scoring.observations import Forest, JudgedPhrases
from rypt.scoring.scorer import Scorer
from rypt.scoring.severity_model import UNSEEN, SeverityModel, unseen_penalty
from rypt.scoring.value import places_of, query_values
from rypt.texts.trees import SourceTree

HOUSE = {"1": SourceTree.from_brackets("(S (NP (ART das) (NN haus)) (VVFIN steht))")}


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
def test_statistics_equal_the_definition(corpus):
    trees, candidates, votes = corpus
    scorer = Scorer(trees, votes, model=SeverityModel())
    stats = scorer.stats(candidates)
    used = [v for v in votes if trees.get(v.segment) and v.span in trees[v.segment].index]
    graded = sum(v.graded for v in used)
    rooted = sum(v.graded * math.sqrt(v.penalty / v.graded) for v in used if v.graded)
    no_penalty = rooted / graded if graded else 1.0
    for candidate, (penalty, words) in zip(candidates, stats.tolist(), strict=True):
        tree = trees[candidate.segment]
        assert words == (len(tree.tokens) if tree else 0)
        expected = 0.0 if tree is None else reference_penalty(tree, votes, candidate, no_penalty)
        assert penalty / SCALE == pytest.approx(expected, abs=2 / SCALE)


@settings(max_examples=40, deadline=None)
@given(graded_corpora())
def test_scores_of_sums_are_penalties_a_word(corpus):
    trees, candidates, votes = corpus
    scorer = Scorer(trees, votes, model=SeverityModel())
    stats = scorer.stats(candidates)
    total, words = stats.sum(axis=0)
    expected = 1 - total / SCALE / words if words else 0.5
    assert scorer.score(stats.sum(axis=0)) == pytest.approx(expected)


def votes(span, phrase, *, no=0.0, penalty=0.0, graded=None, yes=0.0):
    return Votes("1", span, phrase, yes, no, 0.0, penalty, no if graded is None else graded)


def score(judged, text="the house stands", links="0-0 1-1 2-2"):
    return float(
        Scorer(HOUSE, judged, model=SeverityModel()).score(
            Scorer(HOUSE, judged, model=SeverityModel()).stats([Candidate("1", text, links)])
        )[0]
    )


def test_a_worse_severity_scores_lower_and_a_yes_higher():
    nothing = score([])
    yes = score([votes(Span(0, 2), "the house", yes=1)])
    minor = score([votes(Span(0, 2), "the house", no=1, penalty=1)])
    major = score([votes(Span(0, 2), "the house", no=1, penalty=5)])
    assert yes > nothing > minor > major


def test_a_no_without_a_severity_counts_the_mean_of_the_others():
    graded = [votes(Span(2, 3), "stands", no=2, penalty=18)]
    plain = [*graded, votes(Span(0, 2), "the house", no=1, graded=0.0)]
    said = [*graded, votes(Span(0, 2), "the house", no=1, penalty=9)]
    assert score(plain) == pytest.approx(score(said))


def test_words_without_a_translation_cost_half_of_unseen_ones():
    assert score([], links="") == pytest.approx(1 - UNSEEN / 2)
    assert score([]) == pytest.approx(1 - UNSEEN)


def test_unseen_words_cost_what_words_judged_once_cost():
    once = [votes(Span(2, 3), word, no=1, penalty=4) for word in ("stands", "stood", "stand")]
    often = [votes(Span(0, 1), "the", no=5, penalty=125), votes(Span(0, 2), "the house", no=1, penalty=25)]
    judged = JudgedPhrases(Forest(HOUSE), [*once, *often])
    assert unseen_penalty(judged.grades, judged.lengths) == pytest.approx((3 * 2 + 20 * UNSEEN) / 23)


def test_p_yes_is_one_minus_the_share_of_a_mean_no():
    judged = [votes(Span(0, 2), "the house", no=1, penalty=5), votes(Span(2, 3), "stands", yes=9)]
    scorer = Scorer(HOUSE, judged, model=SeverityModel())
    p = scorer.model.p_yes(scorer.observe([Candidate("1", "the house stands", "0-0 1-1 2-2")]))
    assert ((p >= 0) & (p <= 1)).all()
    tree = HOUSE["1"]
    assert p[tree.index[Span(2, 3)]] > 0.95 > 0.6 > p[tree.index[Span(0, 2)]]


def test_values_of_queries_follow_the_penalty_at_stake():
    candidates = [
        Candidate("1", "the house stands", "0-0 1-1 2-2"),
        Candidate("1", "a house stands", "0-0 1-1 2-2"),
    ]
    scorer = Scorer(HOUSE, [], model=SeverityModel())
    open_queries = [
        Query("1", span, phrase, "das haus steht", source, 1, "", ())
        for span, phrase, source in ((Span(0, 1), "the", "das"), (Span(2, 3), "stands", "steht"))
    ]
    places = places_of(scorer.forest, open_queries, candidates, "lower")
    values = query_values(scorer.model, scorer.observe(candidates), places)
    assert values[0] > 0
    assert values[1] == pytest.approx(0, abs=1e-12)


def test_the_signature_names_what_the_score_depends_on():
    signature = Scorer(HOUSE, [], model=SeverityModel()).signature
    assert "model:severity|k:1|unseen:0.100" in signature
    assert np.isfinite(score([]))
