"""Links, phrase pairs and derivations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.text import FormatError, InputError
from rypt.texts.alignment import (
    Lexicon,
    PhrasePair,
    check_links,
    format_links,
    is_derivation,
    links_of_pairs,
    parse_derivation,
    parse_links,
    parse_phrase_pairs,
)


@given(st.sets(st.tuples(st.integers(0, 50), st.integers(0, 50))))
def test_pharaoh_reads_back(links):
    assert set(parse_links(format_links(links))) == links


@pytest.mark.parametrize("text", ["0", "0-", "-0", "a-b", "0-1-2", "0:1", "٣-1", "0--1"])
def test_bad_links(text):
    with pytest.raises(FormatError, match="expected alignment links"):
        parse_links(text)


@pytest.mark.parametrize("text", ["0-1", "0=", "=1", "0-=1", "a=b", "0-9999999999=0"])
def test_bad_phrase_pairs(text):
    with pytest.raises(FormatError, match="expected phrase alignments"):
        parse_phrase_pairs(text)


def test_out_of_range_links_say_which_side():
    with pytest.raises(FormatError, match="link 3-0 is out of range: the source has 3 tokens"):
        check_links(((3, 0),), 3, 5)
    with pytest.raises(FormatError, match="link 0-5 is out of range: the candidate has 5 tokens"):
        check_links(((0, 5),), 3, 5)


def test_a_lexicon_gives_the_word_links_of_a_pair(tmp_path):
    table = tmp_path / "lexicon"
    table.write_text(
        "Offizielle sind ||| official are ||| 0-0 1-1\n"
        "das haus ||| the house ||| 0.5 0.4 ||| 0-0 1-1 ||| 3 2 1\n"
        "offizielle sind ||| official are ||| 0-1\n"
        "ein pair ||| an pair ||| 0.5 ||| ||| 1\n",
        encoding="utf-8",
    )
    lexicon = Lexicon.read(table)
    source = ["offizielle", "prognosen", "sind"]
    pair = PhrasePair((0, 2), (0, 2))
    assert lexicon.links(pair, source, ["official", "forecasts", "are"]) == ((0, 0), (2, 2))
    assert lexicon.links(pair, source, ["an", "unknown", "pair"]) == ((0, 0), (0, 2), (2, 0), (2, 2))
    assert lexicon.links(PhrasePair((0, 1), (0, 1)), ["das", "Haus"], ["The", "house"]) == ((0, 0), (1, 1))
    every = ((0, 0), (0, 1), (1, 0), (1, 1))  # a table without alignments says nothing
    assert lexicon.links(PhrasePair((0, 1), (0, 1)), ["ein", "pair"], ["an", "pair"]) == every


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("das haus ||| the house", ":1: expected source"),
        ("das ||| the ||| 0-4", ":1: link 0-4 is out of range"),
    ],
)
def test_bad_lexicon_lines(tmp_path, line, message):
    path = tmp_path / "lexicon"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=message):
        Lexicon.read(path)


def test_pairs_outside_the_segment_are_refused():
    with pytest.raises(FormatError, match="out of range"):
        links_of_pairs([PhrasePair((0, 4), (0,))], ["a", "b"], ["x"], Lexicon())


def test_indirect_pairs_by_discarding_covered_words():
    """(offizielle,prognosen,sind)-(official,forecasts,are) with (prognosen)-(forecasts) inside."""
    tokens, pairs = parse_derivation("(ROOT{0-3} (S{0-3} (X{0-3} official (X{1-2} forecasts) are)))")
    assert tokens == ["official", "forecasts", "are"]
    assert PhrasePair((1,), (1,)) in pairs
    assert PhrasePair((0, 2), (0, 2)) in pairs
    lexicon = Lexicon({("offizielle sind", "official are"): ((0, 0), (1, 1))})
    links = links_of_pairs(pairs, ["offizielle", "prognosen", "sind"], tokens, lexicon)
    assert format_links(links) == "0-0 1-1 2-2"


def test_glue_rules_and_reordering():
    text = "(ROOT{0-6} (S{0-6} (S{0-1} (X{0-1} i)) (X{1-6} (X{4-6} saw) (X{1-4} the (X{2-3} old) man))) )"
    tokens, pairs = parse_derivation(text)
    assert " ".join(tokens) == "i saw the old man"
    assert pairs == [
        PhrasePair((0,), (0,)),
        PhrasePair((4, 5), (1,)),
        PhrasePair((2,), (3,)),
        PhrasePair((1, 3), (2, 4)),
    ]


def test_words_without_source_and_source_without_words_stay_unaligned():
    tokens, pairs = parse_derivation("(S{0-2} of (X{0-1} (Y{0-1} the)) (X{1-2}))")
    assert tokens == ["of", "the"]
    assert pairs == [PhrasePair((0,), (1,))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S{0-2} a", "1 not closed"),
        ("(S{0-2} a)) b", "unbalanced"),
        ("(S{0-2} a) b", "after its end"),
        ("a b", "expected a derivation"),
        ("(S{0-3} (Y{3-2} c))", "from left to right, found 3-2"),
        ("(S{0-9999999999} a)", "expected a derivation"),
        ("(S{0-2} (X{1-3} a))", "node 1-3 lies outside its parent 0-2"),
    ],
)
def test_bad_derivations(text, message):
    with pytest.raises(FormatError, match=message):
        parse_derivation(text)


def test_is_derivation():
    assert is_derivation("(ROOT{0-6} x)")
    assert not is_derivation("( a house )")
    assert not is_derivation("0-0 1-1")
