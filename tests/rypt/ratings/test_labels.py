"""Marks become labels of constituents: against a plain re-statement of the rules, and by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.ratings.labels import JudgedCandidate, spelling, token_places, token_spelling
from rypt.ratings.rating import ErrorSpan, Policy, Rating
from rypt.records import Candidate, Judgment, Segment
from rypt.texts.phrases import linked_positions, phrase_of
from rypt.texts.trees import SourceTree

TREE = SourceTree.from_brackets("(S (NP (D der) (N Patient)) (V wurde) (VP (P gestern) (V isoliert)))")
SEGMENT = Segment("7", "der Patient wurde gestern isoliert", str(TREE))
CANDIDATE = Candidate("7", "the patient was isolated yesterday", "0-0 1-1 2-2 3-4 4-3")
TEXT = "The patient was isolated yesterday"
PATIENT = ErrorSpan("target", 6, 9, "Minor")  # "tie" of patient: a part of the token
WAS_ISOLATED = ErrorSpan("target", 12, 24, "Major")
WHOLE, NP, VP = "the patient was isolated yesterday", "the patient", "isolated yesterday"


def judgments(policy: Policy, *errors: ErrorSpan) -> list[Judgment]:
    rating = Rating("7", SEGMENT.text, TEXT, "sys", "rater1", errors, 1.0, time=5)
    return list(JudgedCandidate(SEGMENT, TREE, CANDIDATE).judgments(rating, policy))


def severities(policy: Policy, *errors: ErrorSpan) -> dict[str, float | None]:
    """The severity of each NO."""
    return {j.phrase: j.severity for j in judgments(policy, *errors) if str(j.label) == "NO"}


def test_an_error_makes_what_it_touches_and_all_above_it_unacceptable() -> None:
    both = {WHOLE: 6, NP: 1, "patient": 1, "was": 5, VP: 5, "isolated": 5}
    assert severities(Policy(), PATIENT, WAS_ISOLATED) == both
    assert not severities(Policy(), ErrorSpan("target", 3, 4, "Major"))  # white space alone
    assert not severities(Policy(), PATIENT._replace(severity="Neutral"))
    assert set(severities(Policy("major"), PATIENT, WAS_ISOLATED)) == {WHOLE, "was", VP, "isolated"}
    given = judgments(Policy(), PATIENT)
    assert len(given) == 8
    assert {(j.segment, j.worker, j.origin, j.source, j.time, j.weight) for j in given} == {
        ("7", "rater1", "sys", "import", 5, 1.0)
    }


def test_omissions_are_marks_in_the_source_or_nowhere() -> None:
    gestern = ErrorSpan("source", 18, 25, "Major", "Accuracy/Omission")
    assert set(severities(Policy(), gestern)) == {WHOLE, VP, "yesterday"}
    missing = ErrorSpan("nowhere", 0, 0, "minor")
    assert severities(Policy(), missing, PATIENT) == {WHOLE: 2, NP: 1, "patient": 1}
    assert not severities(Policy(omissions=False), gestern, missing)


SPANS = st.tuples(st.integers(0, 5), st.integers(1, 6))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=10),
    st.lists(st.tuples(SPANS, st.booleans(), st.integers(0, 2)), max_size=4),
)
def test_labels_are_what_the_rules_say(links, marked):
    """Against the rules in plain words; and labels never contradict percolation."""
    tokens = [f"w{i}" for i in range(6)]
    sides = {"target": tokens, "source": list(TREE.tokens)}
    errors = []
    for (first, size), on_target, number in marked:
        side = "target" if on_target else "source"
        text = " ".join(sides[side])
        start = len(" ".join(sides[side][:first])) + bool(first)
        stop = min(len(text), len(" ".join(sides[side][: first + size])))
        errors.append(ErrorSpan(side, min(start, stop), stop, "Major", error=number))
    candidate = Candidate("7", " ".join(tokens), " ".join(f"{a}-{b}" for a, b in links))
    rating = Rating("7", SEGMENT.text, candidate.text, "s", "r", tuple(errors), 0.0)
    found = {j.span: j for j in JudgedCandidate(SEGMENT, TREE, candidate).judgments(rating, Policy())}
    linked = linked_positions(tuple(links), 5)
    for constituent in TREE.constituents:
        phrase = phrase_of(constituent.span, linked, tokens)
        assert (constituent.span in found) == (phrase is not None)
        if phrase is None:
            continue
        inside = {"target": set(phrase.positions), "source": set(range(*constituent.span))}
        touching = set()
        for i, error in enumerate(errors):
            places = token_places(" ".join(sides[error.side]), sides[error.side])
            touched = {n for n, (a, b) in enumerate(places) if a < error.stop and error.start < b}
            if touched & inside[error.side]:
                touching.add(error.error or ("alone", i))
        judgment = found[constituent.span]
        assert judgment.phrase == phrase.text
        assert (str(judgment.label) == "NO", judgment.severity) == (
            bool(touching),
            5.0 * len(touching) if touching else None,
        )
        if touching and constituent.parent >= 0:
            assert str(found[TREE.constituents[constituent.parent].span].label) == "NO"


@given(
    st.lists(st.text("abÄéß.,'\"()„“xyz", min_size=1, max_size=4), max_size=8), st.lists(st.integers(0, 2))
)
def test_places_give_the_tokens_back(tokens: list[str], spaces: list[int]) -> None:
    """With any number of spaces between the tokens."""
    text = ""
    for i, token in enumerate(tokens):
        text += " " * (spaces[i] if i < len(spaces) else 1) + token
    places = token_places(text, tokens)
    if places is None:  # two marks that touch are one in the text
        assert "''" in text.replace(" ", "") or "``" in text
        return
    assert [text[start:stop] for start, stop in places] == tokens
    if "''" not in text:  # as letters these are one mark, as tokens two
        assert spelling(text) == token_spelling(tokens)


@pytest.mark.parametrize(
    ("text", "tokens", "found"),
    [
        ("He said “no”.", ["He", "said", "``", "no", "''", "."], ["He", "said", "“", "no", "”", "."]),
        ("don't", ["do", "n&apos;t"], ["do", "n't"]),
        ("Cafe\u0301 X", ["CAFÉ", "x"], ["Cafe\u0301", "X"]),
        ("AT&amp;T", ["AT", "&amp;", "T"], ["AT", "&amp;", "T"]),
        ("x \u0301y", ["x", "\u0301Y"], ["x", "\u0301y"]),
        ("the house", ["the", "hous"], None),
    ],
)
def test_what_tokenisers_do(text: str, tokens: list[str], found: list[str] | None) -> None:
    places = token_places(text, tokens)
    assert (places and [text[start:stop] for start, stop in places]) == found
