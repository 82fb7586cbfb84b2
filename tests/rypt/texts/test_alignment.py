"""Links, derivations, and the phrases that they make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.records import Span
from rypt.text import FormatError
from rypt.texts.alignment import format_links, links_of_pairs, parse_derivation, parse_links, read_lexicon
from rypt.texts.phrases import linked_positions, normalize, phrase_key, phrase_of


@pytest.mark.parametrize("text", ["0", "-0", "a-b", "0-1-2", "٣-1"])
def test_bad_links(text):
    with pytest.raises(FormatError, match="expected alignment links"):
        parse_links(text)


def test_a_lexicon_gives_the_word_links_of_a_pair(tmp_path):
    table = tmp_path / "lexicon"
    table.write_text(
        "Offizielle sind ||| official are ||| 0-0 1-1\n"
        "das haus ||| the house ||| 0.5 0.4 ||| 0-0 1-1 ||| 3 2 1\n"
        "offizielle sind ||| official are ||| 0-1\n"
        "ein pair ||| an pair ||| 0.5 ||| ||| 1\n",
        encoding="utf-8",
    )
    lexicon = read_lexicon(table)
    source = ["offizielle", "prognosen", "sind"]
    pair, both = ((0, 2), (0, 2)), ((0, 1), (0, 1))
    assert links_of_pairs([pair], source, ["official", "forecasts", "are"], lexicon) == ((0, 0), (2, 2))
    every = ((0, 0), (0, 2), (2, 0), (2, 2))
    assert links_of_pairs([pair], source, ["an", "unknown", "pair"], lexicon) == every
    assert links_of_pairs([both], ["das", "Haus"], ["The", "house"], lexicon) == ((0, 0), (1, 1))
    every = ((0, 0), (0, 1), (1, 0), (1, 1))  # a table without alignments says nothing
    assert links_of_pairs([both], ["ein", "pair"], ["an", "pair"], lexicon) == every


def test_indirect_pairs_by_discarding_covered_words():
    """(offizielle,prognosen,sind)-(official,forecasts,are) with (prognosen)-(forecasts) inside."""
    text, pairs = parse_derivation("(ROOT{0-3} (S{0-3} (X{0-3} official (X{1-2} forecasts) are)))")
    assert (text, pairs) == ("official forecasts are", [((1,), (1,)), ((0, 2), (0, 2))])
    lexicon = {("offizielle sind", "official are"): ((0, 0), (1, 1))}
    links = links_of_pairs(pairs, ["offizielle", "prognosen", "sind"], text.split(), lexicon)
    assert format_links(links) == "0-0 1-1 2-2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S{0-2} a", "1 not closed"),
        ("a b", "expected one derivation"),
        ("(S{0-3} (Y{3-2} c))", "from left to right, found 3-2"),
        ("(S{0-2} (X{1-3} a))", "node 1-3 lies outside its parent 0-2"),
    ],
)
def test_bad_derivations(text, message):
    with pytest.raises(FormatError, match=message):
        parse_derivation(text)


def test_gaps_of_any_length_are_one_mark():
    linked = linked_positions(((0, 5), (1, 0), (1, 1)), 2)
    phrase = phrase_of(Span(0, 2), linked, list("abcdef"))
    assert phrase == ("a b [GAP] f", (0, 1, 5))


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
