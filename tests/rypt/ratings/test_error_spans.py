"""Marks become labels of constituents: against a plain re-statement of the rules, and by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.ratings.error_spans import ErrorSpan, MarkedTokens, Policy, Raters, Rating, judge, judgments_of, marked_tokens
from rypt.records import Candidate, Label, Segment, Span
from rypt.text import FormatError, RyptError
from rypt.texts.phrases import linked_positions
from rypt.texts.trees import SourceTree

TREE = SourceTree.from_brackets("(S (NP (D der) (N Patient)) (V wurde) (VP (P gestern) (V isoliert)))")
SEGMENT = Segment("7", "der Patient wurde gestern isoliert", str(TREE))
CANDIDATE = Candidate("7", "the patient was isolated yesterday", "0-0 1-1 2-2 3-4 4-3")
LINKED = linked_positions(((0, 0), (1, 1), (2, 2), (3, 4), (4, 3)), 5)
TEXT = "The patient was isolated yesterday"


def rating(*errors: ErrorSpan) -> Rating:
    return Rating("7", SEGMENT.text, TEXT, "sys", "rater1", errors, 1.0, time=5)


def labels(policy: Policy, *errors: ErrorSpan) -> dict[str, str]:
    judgments, _ = judgments_of(rating(*errors), SEGMENT, TREE, CANDIDATE, LINKED, policy)
    return {j.phrase: str(j.label) for j in judgments}


PATIENT = ErrorSpan("target", 6, 9, "Minor")  # "tie" of patient: a part of the token
WAS_ISOLATED = ErrorSpan("target", 12, 24, "Major")
WHOLE, NP, VP = "the patient was isolated yesterday", "the patient", "isolated yesterday"


def test_an_error_makes_what_it_touches_and_all_above_it_unacceptable() -> None:
    assert labels(Policy(), PATIENT) == {
        WHOLE: "NO", NP: "NO", "the": "YES", "patient": "NO", "was": "YES", VP: "YES", "yesterday": "YES",
        "isolated": "YES",
    }  # fmt: skip
    assert set(labels(Policy(), ErrorSpan("target", 3, 4, "Major")).values()) == {"YES"}  # white space alone


@pytest.mark.parametrize("policy", [Policy("major"), Policy("any", "major"), Policy("major", "major")])
def test_severity(policy: Policy) -> None:
    found = labels(policy, PATIENT, WAS_ISOLATED)
    assert {phrase for phrase, label in found.items() if label == "NO"} == {WHOLE, "was", VP, "isolated"}
    assert set(labels(Policy("any", "critical"), PATIENT, WAS_ISOLATED).values()) == {"YES"}
    assert labels(policy, WAS_ISOLATED._replace(severity="critical")) == found
    assert set(labels(Policy(), PATIENT._replace(severity="Neutral")).values()) == {"YES"}


def test_density() -> None:
    """One of five tokens is less than a third, one of two is more."""
    found = labels(Policy("dens"), PATIENT)
    assert {phrase for phrase, label in found.items() if label == "NO"} == {NP, "patient"}


def test_containment_leaves_parts_of_an_error_open() -> None:
    found = labels(Policy(match="containment"), WAS_ISOLATED)
    assert {phrase for phrase, label in found.items() if label == "NO"} == {WHOLE}
    assert not {"was", VP, "isolated"} & set(found)
    assert found[NP] == found["yesterday"] == "YES"
    judgments, left_open = judgments_of(
        rating(WAS_ISOLATED), SEGMENT, TREE, CANDIDATE, LINKED, Policy(match="containment")
    )
    assert (len(judgments), left_open) == (5, 3)


def test_omissions_are_marks_in_the_source_or_nowhere() -> None:
    gestern = ErrorSpan("source", 18, 25, "Major", "Accuracy/Omission")
    found = labels(Policy(), gestern)
    assert {phrase for phrase, label in found.items() if label == "NO"} == {WHOLE, VP, "yesterday"}
    assert set(labels(Policy(omissions=False), gestern).values()) == {"YES"}
    missing = ErrorSpan("nowhere", 0, 0, "minor")
    assert {phrase for phrase, label in labels(Policy(), missing).items() if label == "NO"} == {WHOLE}
    assert set(labels(Policy(omissions=False), missing).values()) == {"YES"}
    assert set(labels(Policy("dens"), missing).values()) == {"YES"}


def test_worker_origin_and_time() -> None:
    judgments, _ = judgments_of(rating(), SEGMENT, TREE, CANDIDATE, LINKED, Policy())
    assert {(j.segment, j.worker, j.origin, j.source, j.time) for j in judgments} == {
        ("7", "rater1", "sys", "import", 5)
    }
    assert {j.label for j in judgments} == {Label.YES}


def test_texts_must_be_spelled_by_the_tokens() -> None:
    other = Candidate("7", "a patient", "0-0")
    with pytest.raises(FormatError, match="tokens of the candidate do not spell"):
        marked_tokens(rating(PATIENT), SEGMENT, other, Policy())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "most"}, "expected label as one of any, major, dens"),
        ({"severity": "neutral"}, "expected severity as one of minor, major, critical"),
        ({"match": "near"}, "expected match as one of overlap, containment"),
        ({"label": "dens", "match": "containment"}, "goes with overlap only"),
    ],
)
def test_policies_that_do_not_exist(options: dict[str, str], message: str) -> None:
    with pytest.raises(RyptError, match=message):
        Policy(**options)


def test_raters() -> None:
    assert Raters().take("a")
    assert Raters(frozenset("ab"), frozenset("b")).take("a")
    assert not Raters(frozenset("ab"), frozenset("b")).take("b")
    assert not Raters(frozenset("ab")).take("c")


@given(st.data())
def test_labels_are_what_the_rules_say(data: st.DataObject) -> None:
    """Against the rules said plainly; and labels of an overlap rule never contradict percolation."""
    tokens = [f"w{i}" for i in range(6)]
    links = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=10))
    errors = data.draw(st.lists(st.frozensets(st.integers(0, 5), min_size=1), max_size=3))
    source = data.draw(st.lists(st.frozensets(st.integers(0, 4), min_size=1), max_size=2))
    linked = linked_positions(tuple(links), 5)
    marked = MarkedTokens(errors, source, nowhere=False)
    bad, gone = set().union(*errors), set().union(*source)
    expected: dict[str, dict[Span, bool]] = {"any": {}, "dens": {}}
    for constituent in TREE.constituents:
        words = range(*constituent.span)
        own = {t for s, t in links if s in words}
        if own:
            expected["any"][constituent.span] = bool(own & bad or gone & set(words))
            expected["dens"][constituent.span] = (
                len(own & bad) / len(own) >= 1 / 3 or len(gone & set(words)) / len(words) >= 1 / 3
            )
    for label, wanted in expected.items():
        found = {span: said == Label.NO for span, _, said in judge(TREE, linked, tokens, marked, Policy(label))}
        assert found == wanted
    for constituent in TREE.constituents:
        parent = TREE.constituents[constituent.parent].span
        if expected["any"].get(constituent.span) and constituent.parent >= 0:
            assert expected["any"][parent]
