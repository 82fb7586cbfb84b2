"""Joshua derivations (section 3.1)."""

import pytest

from rypt.text import FormatError
from rypt.texts.alignment import Lexicon, PhrasePair, format_links, links_of_pairs
from rypt.texts.derivation import is_derivation, parse_derivation


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
