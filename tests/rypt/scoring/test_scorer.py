"""Algorithm 1, percolation and the compiled scorer: against the definitions, and the paper's own numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import FIGURE_2, corpora, reference_percolate, reference_stats, trees

from rypt.records import Candidate, Label, Span, Votes
from rypt.scoring.frontier import frontier
from rypt.scoring.models import observed_patterns
from rypt.scoring.percolation import percolate
from rypt.scoring.scorer import Scorer, best_picks, coverage
from rypt.text import FormatError
from rypt.texts.trees import SourceTree


@given(trees(), st.integers(1, 8))
def test_the_frontier_covers_every_word_once_by_the_highest_constituents_that_fit(tree, max_len):
    chosen = [tree.constituents[i] for i in frontier(tree, max_len)]
    assert [word for c in chosen for word in range(*c.span)] == list(range(len(tree.tokens)))
    assert all(len(c.span) <= max_len for c in chosen)
    parents = [c.parent for c in chosen]
    assert all(parent < 0 or len(tree.constituents[parent].span) > max_len for parent in parents)


def test_figure_2():
    tree = SourceTree.from_brackets(FIGURE_2)
    assert len(tree.constituents) == 18
    texts = [" ".join(tree.tokens[slice(*tree.constituents[i].span)]) for i in frontier(tree, 4)]
    long = ["offizielle prognosen", "sind", "von nur 3 prozent", "ausgegangen"]
    assert texts == [*long, ",", "sagte", "bloomberg", "."]
    assert frontier(SourceTree((), ()), 4) == ()


ORDER = {Label.NO: 0, None: 1, Label.YES: 2}


@st.composite
def labelled(draw):
    tree = draw(trees())
    options = st.sampled_from([None, None, Label.YES, Label.NO])
    return tree, [draw(options) for _ in tree.constituents]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(labelled())
def test_equals_the_rule(case):
    tree, labels = case
    once = percolate(tree, labels)
    assert once == reference_percolate(tree, labels)
    assert percolate(tree, once) == once
    assert all(after == before for before, after in zip(labels, once, strict=True) if before is not None)


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(labelled(), st.data())
def test_monotone_better_labels_never_make_a_constituent_worse(case, data):
    tree, labels = case
    better = [data.draw(st.sampled_from([x for x in ORDER if ORDER[x] >= ORDER[label]])) for label in labels]
    pairs = zip(percolate(tree, labels), percolate(tree, better), strict=True)
    assert all(ORDER[before] <= ORDER[after] for before, after in pairs)


def test_labels_may_be_texts_and_others_are_refused():
    tree = SourceTree.from_brackets("(A (x x) (y y))")
    assert percolate(tree, ["yes", None, None]) == [Label.YES] * 3
    with pytest.raises(
        FormatError, match=r"expected a label YES, NO or NOT_SURE \(or y, n, \?\), found 'good'"
    ):
        percolate(tree, ["good", None, None])


PATIENT = {
    "1": SourceTree.from_brackets("(S (NP (ART der) (NN patient)) (VAFIN wurde) (VVPP isoliert) ($. .))")
}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(corpora())
def test_statistics_equal_the_reference(corpus):
    trees, candidates, votes = corpus
    stats = Scorer(trees, votes[::-1]).stats(candidates)
    assert stats.tolist() == [list(reference_stats(trees, votes, candidate)) for candidate in candidates]


@pytest.mark.parametrize(
    ("text", "links", "counts"),
    [
        ("the patient isolated .", "0-0 1-1 3-2 4-3", (3, 0, 4, 7)),  # YES: der, patient too
        (
            "of the patient has been isolated .",
            "0-0 0-1 1-2 2-3 2-4 3-5 4-6",
            (0, 2, 5, 7),
        ),  # NO: the root too
    ],
)
def test_a_judgment_serves_every_candidate_with_the_same_phrase(text, links, counts):
    """Section 3: der patient / the patient / of the patient."""
    votes = [Votes("1", Span(0, 2), "the patient", 1, 0), Votes("1", Span(0, 2), "of the patient", 0, 1)]
    assert tuple(Scorer(PATIENT, votes).stats([Candidate("1", text, links)])[0]) == counts


def test_figure_2_arithmetic():
    """All frontier constituents YES but one (ausgegangen): 13 of 18 constituents are YES, RYPT is 0.72."""
    tree = SourceTree.from_brackets(FIGURE_2)
    text = " ".join(f"t{i}" for i in range(12))
    spans = [tree.constituents[i].span for i in frontier(tree, 4)]
    votes = [
        Votes("2", span, " ".join(f"t{i}" for i in range(*span)), *((0, 1) if span == (7, 8) else (1, 0)))
        for span in spans
    ]
    scorer = Scorer({"2": tree}, votes)
    stats = scorer.stats([Candidate("2", text, " ".join(f"{i}-{i}" for i in range(12)))])
    assert stats.tolist() == [[13, 5, 0, 18]]
    assert round(scorer.score(stats)[0], 2) == 0.72


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ("0-9", "0-9 is out of range: the candidate has 2 tokens"),
        ("7-0", "7-0 is out of range: the source has 5 tokens"),
        ("99999999999999999999-0", "expected alignment links like 3-5"),
    ],
)
def test_bad_links_name_segment_and_alignment(links, message):
    with pytest.raises(FormatError, match=message) as error:
        Scorer(PATIENT, []).stats(
            [Candidate("1", "the patient", "0-0"), Candidate("1", "the patient", links)]
        )
    assert "segment 1" in str(error.value)


def test_votes_on_spans_that_are_no_constituents_are_counted_as_unused():
    scorer = Scorer(PATIENT, [Votes("1", Span(1, 3), "x", 1, 0), Votes("7", Span(0, 1), "x", 1, 0)])
    assert scorer.judged.unused == 2


def test_no_candidates_and_no_segments():
    assert Scorer({}, []).stats([]).shape == (0, 4)
    assert Scorer(PATIENT, []).stats([]).shape == (0, 4)


def test_picks_break_ties_by_model_score_then_order():
    candidates = [
        Candidate("1", "a", "", score=-2.0),
        Candidate("1", "b", "", score=-1.0),
        Candidate("2", "c", ""),
    ]
    picks = best_picks(np.array([0.5, 0.5, 0.1]), candidates)
    assert {segment: (pick.index, pick.tied) for segment, pick in picks.items()} == {"1": (1, 2), "2": (2, 1)}
    unscored = [Candidate("1", "a", "", score=-3.0), Candidate("1", "b", "")]
    assert best_picks(np.array([0.5, 0.5]), unscored)["1"].index == 0


@pytest.mark.parametrize("size", [1, 200])
def test_phrases_of_any_length(size):
    """One constituent aligned with every token of a candidate, and with every second one."""
    text = " ".join(f"t{i}" for i in range(size))
    gaps = " [GAP] ".join(f"t{i}" for i in range(0, size, 2))
    for step, phrase in ((1, text), (2, gaps)):
        links = " ".join(f"0-{i}" for i in range(0, size, step))
        scorer = Scorer(PATIENT, [Votes("1", Span(0, 1), phrase, 1, 0)])
        assert coverage(scorer.observe([Candidate("1", text, links)])).yes == 1


@settings(max_examples=50)
@given(corpora(), st.data())
def test_observations_of_some_candidates_and_of_some_votes(corpus, data):
    """What was looked up once serves any candidates and any part of the votes."""
    trees, candidates, votes = corpus
    scorer = Scorer(trees, votes)
    indices = st.lists(st.integers(0, len(candidates) - 1)) if candidates else st.just([])
    chosen = np.array(data.draw(indices), np.int64)
    known = np.array([data.draw(st.booleans()) for _ in votes], np.bool_)
    places = scorer.judged.look_up(candidates, "lower").take(chosen)
    part = Scorer(trees, [vote for vote, taken in zip(votes, known.tolist(), strict=True) if taken])
    direct = part.observe([candidates[i] for i in chosen])
    observed = places.observe(scorer.counts * known[:, None])
    assert observed.offsets.tolist() == direct.offsets.tolist()
    assert observed.labels().tolist() == direct.labels().tolist()
    assert observed_patterns(observed).tolist() == observed_patterns(direct).tolist()
