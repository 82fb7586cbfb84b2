"""Links and phrase pairs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.text import FormatError, InputError
from rypt.texts.alignment import (
    Lexicon,
    PhrasePair,
    check_links,
    format_links,
    links_of_pairs,
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
