"""Algorithm 1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import FIGURE_2, trees

from rypt.scoring.frontier import frontier
from rypt.text import RyptError
from rypt.texts.trees import SourceTree


@given(trees(), st.integers(1, 8))
def test_covers_every_word_once_within_the_limit(tree, max_len):
    chosen = [tree.constituents[i].span for i in frontier(tree, max_len)]
    covered = [word for span in chosen for word in range(*span)]
    assert covered == list(range(len(tree.tokens)))
    assert all(len(span) <= max_len for span in chosen)


@given(trees(), st.integers(1, 8))
def test_takes_the_highest_constituents_that_fit(tree, max_len):
    for i in frontier(tree, max_len):
        parent = tree.constituents[i].parent
        assert parent < 0 or len(tree.constituents[parent].span) > max_len


def test_figure_2():
    tree = SourceTree.from_brackets(FIGURE_2)
    assert len(tree.constituents) == 18
    texts = [" ".join(tree.tokens[slice(*tree.constituents[i].span)]) for i in frontier(tree, 4)]
    assert texts == [
        "offizielle prognosen",
        "sind",
        "von nur 3 prozent",
        "ausgegangen",
        ",",
        "sagte",
        "bloomberg",
        ".",
    ]


def test_an_empty_tree_gives_an_empty_set():
    assert frontier(SourceTree((), ()), 4) == ()


def test_max_len_below_one_is_refused():
    with pytest.raises(RyptError, match="max_len must be at least 1, got 0"):
        frontier(SourceTree.from_brackets("(A a)"), 0)
