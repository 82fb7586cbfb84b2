"""Weights of errors, policies, and whose ratings are taken."""

import pytest

from rypt.ratings.error_spans import ErrorSpan, Policy, Raters, weight
from rypt.text import RyptError


@pytest.mark.parametrize(
    ("severity", "category", "penalty"),
    [
        ("minor", "", 1),
        ("major", "", 5),
        ("Critical", "Accuracy/Omission", 10),
        ("Neutral", "Style/Awkward", 0),
        ("Minor", "Fluency/Punctuation", 0.1),
        ("Major", "Fluency/Punctuation", 5),
        ("Major", "Non-translation!", 25),
        ("Minor", "Source error/-", 0),
        ("Major", "Source issue", 0),
        ("Major", "Accuracy/Creative Reinterpretation", 0),
        ("No-error", "No-error", 0),
        ("huge", "", 0),
    ],
)
def test_weights(severity: str, category: str, penalty: float) -> None:
    assert weight(severity, category) == penalty
    assert ErrorSpan("target", 0, 1, severity, category).weight == penalty


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
