"""Paragraphs are cut only where both sides have the same sentences; the pieces are the whole."""

from hypothesis import given
from hypothesis import strategies as st

from rypt.tools.sentence_pairs import sentence_pairs

TOKENS = st.lists(st.sampled_from(["a", "haus", ".", "!", '"', ")", ","]), min_size=1, max_size=30).map(tuple)


def cut(source: str, target: str) -> list[str]:
    return [f"{one} {other}" for one, other in sentence_pairs((tuple(source.split()), tuple(target.split())))]


def test_where_a_pair_is_cut() -> None:
    assert cut("a b . c d ! e", "x y . z ! u v") == ["0-3 0-3", "3-6 3-5", "6-7 5-7"]
    assert cut("a b . c d .", "x y , z u .") == ["0-6 0-6"]
    assert cut("a b c", "x y") == ["0-3 0-2"]


def test_a_pair_whose_sentences_differ_in_length_stays_whole() -> None:
    long = " ".join("abcdefghijk")
    assert cut(f"a . {long} .", f"{long} . x .") == ["0-14 0-14"]
    assert cut(f"a . {long} .", f"x . {long} .") == ["0-2 0-2", "2-14 2-14"]


@given(TOKENS, TOKENS)
def test_pieces_are_the_whole(source: tuple[str, ...], target: tuple[str, ...]) -> None:
    pieces = sentence_pairs((source, target))
    for side, tokens in enumerate((source, target)):
        spans = [piece[side] for piece in pieces]
        assert [i for start, stop in spans for i in range(start, stop)] == list(range(len(tokens)))
