"""Phrases and their keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.records import Span
from rypt.text import FormatError, one_line, tokenize
from rypt.texts.phrases import linked_positions, normalize, phrase_key, phrase_of


def test_a_repeated_word_is_told_apart_by_position():
    linked = linked_positions(((0, 0), (2, 2)), 3)
    assert phrase_of(Span(2, 3), linked, ["the", "cat", "the"]).positions == (2,)


def test_gaps_of_any_length_are_one_mark_and_are_measured():
    linked = linked_positions(((0, 5), (1, 0), (1, 1)), 2)
    phrase = phrase_of(Span(0, 2), linked, list("abcdef"))
    assert (phrase.text, phrase.gaps, phrase.extent) == ("a b [GAP] f", 1, 6)


def test_unaligned_constituents_have_no_phrase():
    assert phrase_of(Span(0, 1), linked_positions((), 1), ["a"]) is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("The  Patient", "the patient"),
        ("food [Skip] [Skip] for", "food [GAP] for"),
        ("A [GAP] B", "a [GAP] b"),
        ("Gro\u0308ße", "größe"),
        ("ΟΔΟΣ", "οδος"),
        ("a\u00a0b", "a\u00a0b"),
    ],
)
def test_keys(text, key):
    assert phrase_key(text) == key


def test_case_may_be_kept():
    assert phrase_key("The Patient", "keep") == "The Patient"


@given(st.text().filter(lambda text: tokenize(one_line(text))))
def test_keys_are_stable(text):
    assert phrase_key(phrase_key(text)) == phrase_key(text)


def test_an_empty_phrase_is_refused():
    with pytest.raises(FormatError, match="at least one word"):
        phrase_key("  ")


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\0")).filter(bool),
        min_size=1,
    )
)
def test_keys_are_those_of_the_tokens(tokens):
    """Normalising a phrase as a whole, which is faster, is normalising its tokens."""
    if "[GAP]" not in tokens and "[Skip]" not in tokens:
        assert phrase_key(" ".join(tokens)) == " ".join(normalize(token) for token in tokens)
