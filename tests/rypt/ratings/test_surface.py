"""Tokens are found in the text they were made of, whatever a tokeniser did to white space and marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.ratings.surface import spelling, token_places, token_spelling


@given(
    st.lists(st.text("abÄéß.,'\"()„“xyz", min_size=1, max_size=4), max_size=8), st.lists(st.integers(0, 2))
)
def test_places_give_the_tokens_back(tokens: list[str], spaces: list[int]) -> None:
    """However many spaces stand between the tokens, none included."""
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
        ("a-b c", ["a", "@-@", "b", "c"], ["a", "-", "b", "c"]),
        ("Cafe\u0301 X", ["CAFÉ", "x"], ["Cafe\u0301", "X"]),
        ("5\u00a0% (x)", ["5\u00a0%", "-LRB-", "x", "-RRB-"], ["5\u00a0%", "(", "x", ")"]),
        ("Straße", ["STRASSE"], ["Straße"]),
        (
            "AT&amp;T (''x'')",
            ["AT", "&amp;", "T", "(", "'", "'", "x", "''", ")"],
            ["AT", "&amp;", "T", "(", "'", "'", "x", "''", ")"],
        ),
        ("x \u0301y", ["x", "\u0301Y"], ["x", "\u0301y"]),
        ("", [], []),
    ],
)
def test_what_tokenisers_do(text: str, tokens: list[str], found: list[str]) -> None:
    places = token_places(text, tokens)
    assert places is not None
    assert [text[start:stop] for start, stop in places] == found


@pytest.mark.parametrize(
    "tokens", [["the", "hous"], ["the", "houses"], ["house", "the"], ["the", "house", "."], []]
)
def test_other_texts_are_not_spelled(tokens: list[str]) -> None:
    assert token_places("the house", tokens) is None
