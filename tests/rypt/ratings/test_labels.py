"""Marks become labels of constituents: against a plain re-statement of the rules, and by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.ratings.error_spans import ErrorSpan, Policy, Rating
from rypt.ratings.labels import JudgedCandidate, MarkedTokens, aligned_constituents, bits, judge
from rypt.records import Candidate, Judgment, Label, Segment, Span
from rypt.text import FormatError
from rypt.texts.phrases import linked_positions, phrase_of
from rypt.texts.trees import SourceTree

TREE = SourceTree.from_brackets("(S (NP (D der) (N Patient)) (V wurde) (VP (P gestern) (V isoliert)))")
SEGMENT = Segment("7", "der Patient wurde gestern isoliert", str(TREE))
CANDIDATE = Candidate("7", "the patient was isolated yesterday", "0-0 1-1 2-2 3-4 4-3")
LINKED = linked_positions(((0, 0), (1, 1), (2, 2), (3, 4), (4, 3)), 5)
TEXT = "The patient was isolated yesterday"


def rating(*errors: ErrorSpan) -> Rating:
    return Rating("7", SEGMENT.text, TEXT, "sys", "rater1", errors, 1.0, time=5)


def judgments(policy: Policy, *errors: ErrorSpan) -> list[Judgment]:
    return list(JudgedCandidate(SEGMENT, TREE, CANDIDATE, LINKED).judgments(rating(*errors), policy))


def labels(policy: Policy, *errors: ErrorSpan) -> dict[str, str]:
    return {j.phrase: str(j.label) for j in judgments(policy, *errors)}


def severities(policy: Policy, *errors: ErrorSpan) -> dict[str, float]:
    return {j.phrase: j.severity for j in judgments(policy, *errors) if j.severity is not None}


PATIENT = ErrorSpan("target", 6, 9, "Minor")  # "tie" of patient: a part of the token
WAS_ISOLATED = ErrorSpan("target", 12, 24, "Major")
WHOLE, NP, VP = "the patient was isolated yesterday", "the patient", "isolated yesterday"


def test_an_error_makes_what_it_touches_and_all_above_it_unacceptable() -> None:
    assert labels(Policy(), PATIENT) == {
        WHOLE: "NO",
        NP: "NO",
        "the": "YES",
        "patient": "NO",
        "was": "YES",
        VP: "YES",
        "yesterday": "YES",
        "isolated": "YES",
    }
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
    assert len(found) == 5


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
    for errors in ((), (PATIENT,)):
        given = judgments(Policy(), *errors)
        assert {(j.segment, j.worker, j.origin, j.source, j.time, j.weight) for j in given} == {
            ("7", "rater1", "sys", "import", 5, 1.0)
        }


def test_the_severity_of_a_no_is_the_sum_of_the_penalties_that_touch_it() -> None:
    assert severities(Policy(), PATIENT, WAS_ISOLATED) == {
        WHOLE: 6,
        NP: 1,
        "patient": 1,
        "was": 5,
        VP: 5,
        "isolated": 5,
    }
    assert all((j.severity is None) == (j.label == Label.YES) for j in judgments(Policy(), PATIENT))
    comma = ErrorSpan("target", 0, 3, "Minor", "Fluency/Punctuation")
    assert severities(Policy(), comma, comma) == {WHOLE: 0.2, NP: 0.2, "the": 0.2}
    missing = ErrorSpan("nowhere", 0, 0, "major")
    assert severities(Policy(), PATIENT, missing)[WHOLE] == 6
    assert severities(Policy("major"), PATIENT, WAS_ISOLATED)[WHOLE] == 5
    assert severities(Policy("dens"), PATIENT, missing) == {NP: 1, "patient": 1}
    assert severities(Policy(match="containment"), WAS_ISOLATED) == {WHOLE: 5}


def test_an_error_with_several_marks_counts_once_a_phrase() -> None:
    the, yesterday = (
        ErrorSpan("target", 0, 3, "Major", error=1),
        ErrorSpan("target", 25, 34, "Major", error=1),
    )
    gestern, was = ErrorSpan("source", 18, 25, "Major", error=1), ErrorSpan("target", 12, 15, "Minor")
    assert severities(Policy(), the, yesterday, gestern, was) == {
        WHOLE: 6,
        NP: 5,
        "the": 5,
        "was": 1,
        VP: 5,
        "yesterday": 5,
    }


def test_texts_must_be_spelled_by_the_tokens() -> None:
    other = Candidate("7", "a patient", "0-0")
    with pytest.raises(FormatError, match="tokens of the candidate do not spell"):
        JudgedCandidate(SEGMENT, TREE, other, [[0], [], [], [], []]).judgments(rating(PATIENT), Policy())


@given(st.data())
def test_labels_are_what_the_rules_say(data: st.DataObject) -> None:
    """Against the rules said plainly; and labels of an overlap rule never contradict percolation."""
    tokens = [f"w{i}" for i in range(6)]
    links = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=10))
    errors = data.draw(st.lists(st.frozensets(st.integers(0, 5), min_size=1), max_size=3))
    source = data.draw(st.lists(st.frozensets(st.integers(0, 4), min_size=1), max_size=2))
    linked = linked_positions(tuple(links), 5)
    both = [(bits(error), 0, 1.0) for error in errors] + [(0, bits(error), 10.0) for error in source]
    marked = MarkedTokens([bits(error) for error in errors], [bits(error) for error in source], both, [])
    constituents = aligned_constituents(TREE, linked, tokens)
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
    for span, phrase in zip(constituents.spans, constituents.phrases, strict=True):
        assert phrase == phrase_of(span, linked, tokens).text
    for label, wanted in expected.items():
        verdicts = dict(zip(constituents.spans, judge(constituents, marked, Policy(label)), strict=True))
        assert {span: said == Label.NO for span, (said, _) in verdicts.items()} == wanted
        for span, (said, severity) in verdicts.items():
            own = {t for s, t in links if s in range(*span)}
            penalty = sum(bool(own & e) for e in errors) + 10 * sum(
                bool(e & set(range(*span))) for e in source
            )
            assert severity == (penalty if said == Label.NO else None)
    for constituent in TREE.constituents:
        parent = TREE.constituents[constituent.parent].span
        if expected["any"].get(constituent.span) and constituent.parent >= 0:
            assert expected["any"][parent]
