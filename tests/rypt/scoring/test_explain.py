"""Explanations in words and as pictures."""

import xml.etree.ElementTree as ElementTree

import pytest

from rypt.records import Candidate, Span, Votes
from rypt.scoring.drawing import as_svg
from rypt.scoring.explain import ExplainedNode, as_text, explain, legend
from rypt.scoring.models import SeverityModel
from rypt.scoring.scorer import Scorer
from rypt.text import RyptError
from rypt.texts.fallback_trees import fallback_tree
from rypt.texts.trees import SourceTree

TREES = {
    "1": SourceTree.from_brackets("(S (NP (ART der) (NN <patient>)) (VVFIN lacht) (ADV laut) ($. .))"),
    "2": None,
}
VOTES = [Votes("1", Span(0, 2), "the [GAP] & co", 2, 1), Votes("1", Span(3, 4), "loud", 0, 1)]
CANDIDATE = Candidate("1", "The old & co laughs loud", "0-0 1-2 1-3 2-4 3-5")


def explained():
    return explain(Scorer(TREES, VOTES), CANDIDATE, VOTES, max_len=2)


def test_marks_tallies_and_counts():
    explanation = explained()
    marks = {str(node.constituent.span): node.mark for node in explanation.nodes}
    assert marks == {
        "0-5": "no ↑",
        "0-2": "YES",
        "0-1": "yes ↓",
        "1-2": "yes ↓",
        "2-3": "?",
        "3-4": "NO",
        "4-5": "–",
    }
    assert explanation.nodes[1].tally == "2 YES, 1 NO"
    assert explanation.counts == (3, 2, 2)
    assert explanation.score == pytest.approx(4 / 7)
    assert [str(n.constituent.span) for n in explanation.nodes if n.on_frontier] == [
        "0-2",
        "2-3",
        "3-4",
        "4-5",
    ]


def test_outline():
    lines = as_text(explained()).splitlines()
    assert lines[0].startswith("segment 1: RYPT 0.5714 (3 YES, 2 NO, 2 unknown of 7 constituents)")
    assert "YES   * ├ NP" in lines[5]
    assert lines[5].endswith("The [GAP] & co  [2 YES, 1 NO]")
    assert len(lines) == 4 + 7


def test_the_legend_names_the_model_and_the_marks():
    lines = legend(explained()).splitlines()
    assert lines[0].startswith("RYPT, from 0 to 1: people's labels as the paper scores them")
    for mark in ("YES, NO", "yes ↓", "no ↑", "?", "–"):
        assert f"{mark}: " in lines[1]
    assert lines[2].startswith("*: on the frontier")
    assert lines[-1] == explained().signature


def test_the_legend_explains_the_names_of_made_trees():
    made = fallback_tree(["Well", ",", "birds", "sing", "in", "the", "morning", "."])
    explanation = explain(Scorer({"1": made}, []), Candidate("1", "x", "0-0"), [])
    assert "without a parser: S is a sentence, C a clause, H a part of a clause, X a word" in legend(
        explanation
    )
    assert "the parser's" not in legend(explanation)
    assert "names such as NP are the parser's" in legend(explained())


def test_penalties_add_up_to_the_score():
    scorer = Scorer(TREES, VOTES, model=SeverityModel(unseen=0.2))
    explanation = explain(scorer, CANDIDATE, VOTES, max_len=2)
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


@pytest.mark.parametrize("votes", [1, 16])
def test_a_candidate_with_nothing_but_yes_keeps_a_penalty_that_shrinks(votes):
    tree = {"1": SourceTree.from_brackets("(A a)")}
    yes = [Votes("1", Span(0, 1), "x", votes, 0)]
    explanation = explain(Scorer(tree, yes, model=SeverityModel(unseen=0.2)), Candidate("1", "x", "0-0"), yes)
    assert explanation.nodes[0].penalty == pytest.approx(0.2 / (votes + 1))
    assert explanation.score == pytest.approx(1 - 0.2 / (votes + 1), abs=1e-6)


def test_svg_is_well_formed_and_shows_all_constituents():
    root = ElementTree.fromstring(as_svg(explained()))
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for word in ("der", "<patient>", "NP", "VVFIN", "laughs", "&"):
        assert word in texts
    links = [e for e in root.iter("{http://www.w3.org/2000/svg}path") if e.get("class") == "link"]
    assert len(links) == 5


def test_control_characters_do_not_break_the_picture():
    tree = SourceTree.from_brackets("(S (A a\x01) (B b))").matched(["a\x01", "b"])
    candidate = Candidate("1", "x\x0b y", "0-0 1-1")
    root = ElementTree.fromstring(as_svg(explain(Scorer({"1": tree}, []), candidate, [])))
    assert "a\ufffd" in [
        "".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")
    ]


def test_a_segment_without_a_parse_cannot_be_explained():
    with pytest.raises(RyptError, match="segment 2 has no parse"):
        explain(Scorer(TREES, []), Candidate("2", "x", ""), [])


def test_deep_and_wide_trees_are_drawn():
    deep = SourceTree.from_brackets("(A (B b) " * 60 + "(C c)" + ")" * 60)
    candidate = Candidate("1", " ".join(["x"] * 200), " ".join(f"{i}-{i}" for i in range(61)))
    explanation = explain(Scorer({"1": deep}, []), candidate, [])
    ElementTree.fromstring(as_svg(explanation))
    assert len(as_text(explanation).splitlines()) == 4 + 121


@pytest.mark.parametrize(
    ("votes", "tally"),
    [
        (Votes("1", Span(0, 1), "x", 2, 1, 0, 5.0, 1.0), "2 YES, 1 NO (severity 5)"),
        (Votes("1", Span(0, 1), "x", 0, 3, 1, 6.0, 2.0), "3 NO (severity 3), 1 NOT_SURE"),
        (Votes("1", Span(0, 1), "x", 0, 1, 1), "1 NO, 1 NOT_SURE"),
    ],
)
def test_votes_are_told_with_the_mean_of_their_severities(votes, tally):
    constituent = SourceTree.from_brackets("(S (A a))").constituents[0]
    assert ExplainedNode(constituent, None, votes, 0, False).tally == tally
