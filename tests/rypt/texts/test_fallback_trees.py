"""Trees without a parser: what they promise, and some by eye."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.scoring.frontier import frontier
from rypt.texts.fallback_trees import fallback_tree
from rypt.texts.trees import SourceTree

TOKENS = st.lists(
    st.sampled_from(["a", "of", "the", "house", ",", ".", "?", "''", ")", "(", "…", "日本", "5\u00a0%"]),
    max_size=25,
)


def is_punctuation(token: str) -> bool:
    return all(unicodedata.category(c).startswith("P") for c in token)


@given(TOKENS)
def test_what_every_tree_promises(tokens: list[str]) -> None:
    tree = fallback_tree(tokens)
    assert list(tree.tokens) == tokens
    assert SourceTree.from_brackets(str(tree)).matched(tokens).constituents == tree.constituents
    for index, constituent in enumerate(tree.constituents):
        inside = tokens[slice(*constituent.span)]
        if "C" in constituent.label.split("+") or constituent.label == "H":
            assert not any(map(is_punctuation, inside))
            assert len(tree.children[index]) in (0, 2)  # cut in two, down to words
    if tokens:
        for max_len in (1, 4):
            spans = [tree.constituents[i].span for i in frontier(tree, max_len)]
            assert sum(map(len, spans)) == len(tokens)
            assert max(map(len, spans)) <= max_len


@given(st.integers(1, 200))
def test_halves_are_never_smaller_than_a_quarter(size: int) -> None:
    tree = fallback_tree([f"w{i % 7}" * (i % 5 + 1) for i in range(size)])
    for constituent in tree.constituents:
        if constituent.parent >= 0 and len(constituent.span) > 1:
            assert len(constituent.span) >= len(tree.constituents[constituent.parent].span) // 4


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ('He said : " Stop ! " She left .', ['He said : " Stop ! "', "She left ."]),
        ("Wait ... what ? !", ["Wait ...", "what ? !"]),
        ("no end here", ["no end here"]),
        ("你 好 。 再见 。", ["你 好 。", "再见 。"]),
        (". .", [". ."]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    tree = fallback_tree(text.split())
    found = [" ".join(tree.tokens[slice(*c.span)]) for c in tree.constituents if "S" in c.label.split("+")]
    assert found == sentences


def test_cuts_before_short_words() -> None:
    tree = fallback_tree(["several", "people", "travelled", "to", "distant", "countries"])
    assert [" ".join(tree.tokens[slice(*tree.constituents[i].span)]) for i in tree.children[0]] == [
        "several people travelled",
        "to distant countries",
    ]
    assert str(fallback_tree([])) == "()"
