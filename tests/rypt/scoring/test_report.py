"""Corpus scores with what belongs beside them."""

import pytest

from rypt.records import Candidate, Span, Votes
from rypt.scoring.models import Percolation, SeverityModel
from rypt.scoring.report import score_report, scoring_advice
from rypt.scoring.scorer import Scorer
from rypt.text import FormatError, RyptError
from rypt.texts.trees import SourceTree

TREES = {
    "1": SourceTree.from_brackets("(S (A a) (B b))"),
    "2": SourceTree.from_brackets("(S (A a) (B b))"),
    "3": None,
    "4": SourceTree.from_brackets("(X x)"),
}
VOTES = [
    Votes("1", Span(0, 2), "good", 1, 0),
    Votes("1", Span(0, 2), "bad", 0, 1),
    Votes("9", Span(0, 1), "x", 1, 0),
]
CANDIDATES = [
    Candidate("1", "bad", "0-0 1-0"),
    Candidate("1", "good", "0-0 1-0"),
    Candidate("2", "new", "0-0 1-0"),
    Candidate("3", "unparsed", ""),
]


def test_first_and_best():
    scorer = Scorer(TREES, VOTES)
    first, best = score_report(scorer, CANDIDATES), score_report(scorer, CANDIDATES, pick="best")
    assert first.score == pytest.approx((0 + 2 / 2 + 3 / 2) / 6)  # bad: the root is NO, its parts unknown
    assert best.score == first.best == pytest.approx((3 + 3 / 2) / 6)
    assert first.all_candidates == pytest.approx((1 + 3 + 1.5) / 9)
    assert [row.candidate for row in best.segments] == ["good", "new"]
    assert (first.tied, first.unused_keys) == (1.0, 1)


def test_what_is_left_out_is_counted():
    report = score_report(Scorer(TREES, VOTES), CANDIDATES)
    assert (report.without_parse, report.without_candidate, report.candidates) == (1, 1, 3)
    assert (report.coverage.candidates, report.coverage.nodes) == (2, 6)
    assert report.segments[0].before == pytest.approx(1 / 3)


def test_what_decides_the_best_is_counted():
    more = [*CANDIDATES, Candidate("2", "newer", "0-0 1-0"), Candidate("4", "only", "0-0")]
    report = score_report(Scorer(TREES, VOTES), more)
    assert (report.decisions.by_labels, report.decisions.shared, report.decisions.unlabelled) == (1, 0, 1)
    assert not report.decisions.arbitrary
    assert (
        "labels decide the best candidate of 1 segment; in 1 no candidate has a label, so the best is arbitrary"
        in str(report)
    )
    assert "on average 1.3 candidates of a segment share its best score" in str(report)
    tied = [Candidate("1", "good", "0-0 1-0"), Candidate("1", "Good", "0-0 1-0")]
    assert str(score_report(Scorer(TREES, VOTES), tied).decisions) == (
        "labels decide the best candidate of 0 segments; in 1 several share the best score, and the order in the lists "
        "decides among them"
    )
    scored = [Candidate("1", "good", "0-0 1-0", score=-2.0), Candidate("1", "Good", "0-0 1-0", score=-1.0)]
    assert "the decoder's score, then the order in the lists, decides" in str(
        score_report(Scorer(TREES, VOTES), scored)
    )
    for votes in ([], [Votes("1", Span(0, 2), "good", 0, 0, 1)]):  # NOT_SURE decides nothing
        assert score_report(Scorer(TREES, votes), CANDIDATES).decisions.arbitrary


def test_the_table_of_segments_has_the_numbers_of_candidates():
    best = score_report(Scorer(TREES, VOTES), CANDIDATES, pick="best")
    assert [row.number for row in best.segments] == [1, 0]
    assert best.segment_table().splitlines()[1].split() == ["1", "1.0000", "33%", "100%", "1", "good"]


def test_signature_and_json():
    report = score_report(Scorer(TREES, VOTES), CANDIDATES, pick="best")
    assert report.signature.endswith("|pick:best|n:2")
    assert report.as_dict(with_segments=False)["segments"] == 2
    assert report.as_dict(with_segments=True)["segments"][0]["segment"] == "1"


def test_a_score_without_labels_says_so():
    report = score_report(Scorer(TREES, []), CANDIDATES)
    assert report.without_labels
    assert (
        str(report)
        .splitlines()[0]
        .endswith("of 2 segments: none of their phrases has a label, so the score says nothing about them")
    )
    assert report.as_dict(with_segments=False)["without_labels"] is True
    labelled = score_report(Scorer(TREES, VOTES), CANDIDATES)
    assert "without_labels" not in labelled.as_dict(with_segments=False)
    assert str(labelled).splitlines()[0].endswith("   first candidates of 2 segments")


def test_it_says_what_coverage_and_model_are_of():
    lines = str(score_report(Scorer(TREES, VOTES, model=Percolation("no")), CANDIDATES)).splitlines()
    assert "of the 6 constituents of these 2 candidates (" in lines[1]
    assert lines[1].endswith("; rypt status counts those of all candidates")
    assert lines[-2].startswith("scored by people's labels")
    assert lines[-2].endswith("a constituent without a label counting as NO")


def test_nothing_to_score():
    for candidates in ([], CANDIDATES[3:]):
        with pytest.raises(RyptError, match="no segment has both a parse and a candidate"):
            score_report(Scorer(TREES, VOTES), candidates)


def test_unknown_pick():
    with pytest.raises(RyptError, match="expected pick as one of first, best"):
        score_report(Scorer(TREES, VOTES), CANDIDATES, pick="worst")


def test_a_candidate_of_another_segment_is_refused():
    with pytest.raises(FormatError, match="segment 'x' of a candidate is not known"):
        score_report(Scorer(TREES, VOTES), [Candidate("x", "a", "0-0")])


def observed(words, judged):
    """A segment whose words are its constituents, some of them judged."""
    tree = SourceTree.from_brackets(f"(S {' '.join(f'(W w{i})' for i in range(words))})")
    votes = [Votes("1", Span(i, i + 1), f"t{i}", 1, 0) for i in range(judged)]
    text, links = (" ".join(form.format(i=i) for i in range(words)) for form in ("t{i}", "{i}-{i}"))
    return Scorer({"1": tree}, votes).observe([Candidate("1", text, links)])


@pytest.mark.parametrize(("words", "judged", "harms"), [(80, 10, True), (80, 60, False), (12, 1, False)])
def test_advice_for_long_segments_with_few_labels(words, judged, harms):
    assert bool(scoring_advice(Percolation(), observed(words, judged))) is harms
    assert scoring_advice(SeverityModel(), observed(words, judged)) == ""
    assert scoring_advice(Percolation("ignore"), observed(words, judged)) == ""
