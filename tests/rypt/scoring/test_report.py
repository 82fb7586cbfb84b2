"""Corpus scores with what belongs beside them, and explanations in words and as pictures."""

import xml.etree.ElementTree as ElementTree

import pytest

from rypt.records import Candidate, Span, Votes
from rypt.scoring.drawing import as_svg
from rypt.scoring.explain import ExplainedNode, as_text, explain, legend
from rypt.scoring.models import Percolation, SeverityModel
from rypt.scoring.report import score_report, scoring_advice
from rypt.scoring.scorer import Scorer
from rypt.text import RyptError
from rypt.texts.fallback_trees import fallback_tree
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


def test_what_decides_the_best_is_counted():
    more = [*CANDIDATES, Candidate("2", "newer", "0-0 1-0"), Candidate("4", "only", "0-0")]
    report = score_report(Scorer(TREES, VOTES), more)
    assert (report.decisions.by_labels, report.decisions.shared, report.decisions.unlabelled) == (1, 0, 1)
    assert not report.decisions.arbitrary
    assert str(report.decisions) in str(report)
    assert "on average 1.3 candidates of a segment share its best score" in str(report)
    tied = [Candidate("1", "good", "0-0 1-0", score=-2.0), Candidate("1", "Good", "0-0 1-0", score=-1.0)]
    decisions = score_report(Scorer(TREES, VOTES), tied).decisions
    assert (decisions.by_labels, decisions.shared, "the decoder's score" in decisions.ties_by) == (0, 1, True)
    for votes in ([], [Votes("1", Span(0, 2), "good", 0, 0, 1)]):  # NOT_SURE decides nothing
        assert score_report(Scorer(TREES, votes), CANDIDATES).decisions.arbitrary


def test_signature_and_json():
    report = score_report(Scorer(TREES, VOTES), CANDIDATES, pick="best")
    assert report.signature.endswith("|pick:best|n:2")
    assert report.as_dict(with_segments=False)["segments"] == 2
    assert report.as_dict(with_segments=True)["segments"][0]["segment"] == "1"
    nothing = score_report(Scorer(TREES, []), CANDIDATES)
    assert (nothing.without_labels, report.without_labels) == (True, False)
    assert "none of their phrases has a label" in str(nothing).splitlines()[0]
    assert nothing.as_dict(with_segments=False)["without_labels"] is True


def test_nothing_to_score():
    for candidates in ([], CANDIDATES[3:]):
        with pytest.raises(RyptError, match="no segment has both a parse and a candidate"):
            score_report(Scorer(TREES, VOTES), candidates)


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


PARSES = {
    "1": SourceTree.from_brackets("(S (NP (ART der) (NN <patient>)) (VVFIN lacht) (ADV laut) ($. .))"),
    "2": None,
}
GIVEN = [Votes("1", Span(0, 2), "the [GAP] & co", 2, 1), Votes("1", Span(3, 4), "loud", 0, 1)]
EXPLAINED = Candidate("1", "The old & co laughs loud", "0-0 1-2 1-3 2-4 3-5")


def explained():
    return explain(Scorer(PARSES, GIVEN), EXPLAINED, max_len=2)


def test_marks_tallies_and_counts():
    explanation = explained()
    marks = " ".join(f"{node.constituent.span}:{node.mark}" for node in explanation.nodes)
    assert marks == "0-5:no ↑ 0-2:YES 0-1:yes ↓ 1-2:yes ↓ 2-3:? 3-4:NO 4-5:–"
    assert explanation.nodes[1].tally == "2 YES, 1 NO"
    assert (explanation.counts, explanation.score) == ((3, 2, 2), pytest.approx(4 / 7))
    on_frontier = [str(n.constituent.span) for n in explanation.nodes if n.on_frontier]
    assert on_frontier == ["0-2", "2-3", "3-4", "4-5"]


def test_the_legend_explains_the_names_of_made_trees():
    made = fallback_tree(["Well", ",", "birds", "sing", "in", "the", "morning", "."])
    explanation = explain(Scorer({"1": made}, []), Candidate("1", "x", "0-0"))
    assert "without a parser: S is a sentence, C a clause, H a part of a clause, X a word" in legend(
        explanation
    )


def test_penalties_add_up_to_the_score():
    scorer = Scorer(PARSES, GIVEN, model=SeverityModel(unseen=0.2))
    explanation = explain(scorer, EXPLAINED, max_len=2)
    lines = as_text(explanation).splitlines()
    assert lines[3].split() == ["penalty×share"]
    costs = [line[8:21].split(" × ") for line in lines[4:11]]
    total = sum(float(penalty) * float(share) for penalty, share in costs)
    assert explanation.score == pytest.approx(1 - total / 5, abs=1e-3)
    assert lines[-1].endswith(f"/ 5 source words = {explanation.score:.4f}")
    assert "stays a little below 1" in legend(explanation)
    assert legend(explanation).startswith("RYPT, at most 1: ")
    assert "penalty×share" in as_svg(explanation)
    assert "penalty" not in as_text(explained()) + legend(explained()) + as_svg(explained())


def test_svg_is_well_formed_and_shows_all_constituents():
    root = ElementTree.fromstring(as_svg(explained()))
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for word in ("der", "<patient>", "NP", "VVFIN", "laughs", "&"):
        assert word in texts
    links = [e for e in root.iter("{http://www.w3.org/2000/svg}path") if e.get("class") == "link"]
    assert len(links) == 5


def test_a_segment_without_a_parse_cannot_be_explained():
    with pytest.raises(RyptError, match="segment 2 has no parse"):
        explain(Scorer(PARSES, []), Candidate("2", "x", ""))


def test_deep_and_wide_trees_are_drawn():
    deep = SourceTree.from_brackets("(A (B b) " * 60 + "(C c)" + ")" * 60)
    candidate = Candidate("1", " ".join(["x\x01"] * 200), " ".join(f"{i}-{i}" for i in range(61)))
    explanation = explain(Scorer({"1": deep}, []), candidate)
    ElementTree.fromstring(as_svg(explanation))
    assert len(as_text(explanation).splitlines()) == 4 + 121


@pytest.mark.parametrize(
    ("votes", "tally"),
    [
        ((2, 1, 0, 5.0, 1.0), "2 YES, 1 NO (severity 5)"),
        ((0, 3, 1, 6.0, 2.0), "3 NO (severity 3), 1 NOT_SURE"),
    ],
)
def test_votes_are_told_with_the_mean_of_their_severities(votes, tally):
    constituent = SourceTree.from_brackets("(S (A a))").constituents[0]
    assert ExplainedNode(constituent, None, votes, 0, False).tally == tally
