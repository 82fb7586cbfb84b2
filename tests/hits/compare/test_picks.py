"""Two metrics' picks beside each other."""

from datetime import UTC, datetime

import pytest

from hits.batch.folder import new_settings
from hits.batch.systems import make_comparison_batch
from hits.compare.picks import MetricComparison, rejected_words
from hits.records import Kind
from rypt.campaign.folder import Campaign
from rypt.picks.choose import Chooser
from rypt.picks.metrics import parse_pick_metric
from rypt.records import Candidate, Span, Votes
from rypt.scoring.scorer import Pick, Scorer
from rypt.texts.trees import SourceTree

TREES = {"1": SourceTree.from_brackets("(S (NP (A a) (B b)) (C c))"), "2": None}


def settings():
    return new_settings(Kind.COMPARISON, seed=1, now=datetime(2026, 1, 1, tzinfo=UTC), id="b")


@pytest.fixture(scope="module")
def campaign(demo_campaign):
    return Campaign.open(demo_campaign)


@pytest.fixture(scope="module")
def picks(campaign):
    chooser = Chooser(campaign)
    return {name: chooser.picks(parse_pick_metric(name)) for name in ("rypt", "bleu", "model")}


def texts_of(picks):
    return {segment: pick.candidate.text for segment, pick in picks.items()}


def disagreements(campaign, first, second):
    metrics = [parse_pick_metric("rypt"), parse_pick_metric("bleu")]
    compared = MetricComparison(campaign, metrics, {"rypt": first, "bleu": second}, Chooser(campaign))
    return compared.disagreements().segments


def marked(candidate, scorer):
    wrong = rejected_words(candidate, scorer)
    return " ".join(f"[{word}]" if i in wrong else word for i, word in enumerate(candidate.tokens))


def test_words_that_people_rejected_are_marked():
    votes = [
        Votes("1", Span(0, 2), "x y", 0, 2),
        Votes("1", Span(2, 3), "z", 1, 1),
        Votes("1", Span(1, 2), "q", 0, 1),
    ]
    scorer = Scorer(TREES, votes)
    assert marked(Candidate("1", "X y z", "0-0 1-1 2-2"), scorer) == "[X] [y] z"
    assert marked(Candidate("1", "q the x z", "1-0 0-2 2-3"), scorer) == "[q] the x z"
    assert (
        marked(Candidate("1", "y o x z", "0-2 1-0 2-3"), scorer) == "y o x z"
    )  # another phrase: "y [GAP] x"
    assert marked(Candidate("2", "no parse", ""), scorer) == "no parse"
    assert marked(Candidate("1", "", ""), scorer) == ""


def test_a_rejected_phrase_with_a_gap_is_marked_without_it():
    scorer = Scorer(TREES, [Votes("1", Span(0, 2), "x [GAP] y", 0, 1)])
    assert marked(Candidate("1", "x o y z", "0-0 1-2 2-3"), scorer) == "[x] o [y] z"


def test_a_wrong_word_does_not_mark_all_that_it_is_in():
    candidate = Candidate("1", "x y z", "0-0 1-1 2-2")
    around = [Votes("1", Span(0, 3), "x y z", 0, 1), Votes("1", Span(0, 2), "x y", 0, 1)]
    assert marked(candidate, Scorer(TREES, [*around, Votes("1", Span(1, 2), "y", 0, 1)])) == "x [y] z"
    assert marked(candidate, Scorer(TREES, [*around, Votes("1", Span(1, 2), "y", 1, 0)])) == "[x] [y] z"
    assert marked(candidate, Scorer(TREES, around[:1])) == "[x] [y] [z]"


def test_disagreements_are_the_segments_with_two_texts(campaign, picks):
    found = disagreements(campaign, picks["rypt"], picks["bleu"])
    ours, theirs = texts_of(picks["rypt"]), texts_of(picks["bleu"])
    assert [d.segment for d in found] == [s.id for s in campaign.segments if ours[s.id] != theirs[s.id]]
    assert 0 < len(found) < len(campaign.segments)
    references = dict(zip([s.id for s in campaign.segments], campaign.references[0], strict=True))
    for d in found:
        assert (d.first.candidate.text, d.second.candidate.text) == (ours[d.segment], theirs[d.segment])
        assert d.reference == references[d.segment]


def test_one_text_with_two_alignments_is_no_disagreement(campaign, picks):
    d = disagreements(campaign, picks["rypt"], picks["bleu"])[0]
    copy = Pick(Candidate(d.segment, d.first.candidate.text.replace(" ", "  "), ""), 0.5, 1)
    found = disagreements(campaign, picks["rypt"], {**picks["bleu"], d.segment: copy})
    assert d.segment not in {other.segment for other in found}


def test_segments_that_one_metric_has_no_pick_for_are_no_disagreement(campaign, picks):
    d = disagreements(campaign, picks["rypt"], picks["bleu"])[0]
    rest = {segment: pick for segment, pick in picks["bleu"].items() if segment != d.segment}
    assert d.segment not in {other.segment for other in disagreements(campaign, picks["rypt"], rest)}


def test_people_are_asked_where_the_picks_differ(campaign, picks):
    outputs = {name: texts_of(picks[name]) for name in ("rypt", "bleu")}
    batch = make_comparison_batch(campaign.segments, outputs, settings(), control_share=0)
    found = {
        d.segment: {"rypt": d.first.candidate.text, "bleu": d.second.candidate.text}
        for d in disagreements(campaign, picks["rypt"], picks["bleu"])
    }
    shown = {
        i.columns["segment"]: {i.columns[f"system_{s}"]: i.columns[f"candidate_{s}"] for s in "ab"}
        for i in batch.items
    }
    assert shown == found
