"""Dependencies as constituents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.text import FormatError
from rypt.texts.conllu import tree_from_conllu


def block(*words):
    """Lines from (number, form, head)."""
    return [f"{n}\t{form}\t_\t_\t_\t_\t{head}\tdep\t_\t_" for n, form, head in words]


def spans(tree):
    return {str(c.span) for c in tree.constituents}


def test_constituents_are_yields_of_heads():
    tree = tree_from_conllu(block((1, "der", 2), (2, "Patient", 3), (3, "lacht", 0), (4, "laut", 3)))
    assert spans(tree) == {"0-4", "0-2", "0-1", "1-2", "2-3", "3-4"}


def test_a_yield_with_a_gap_makes_no_constituent_but_what_is_inside_stays():
    # "Bücher hat er keine neuen gelesen": Bücher … keine neuen is one yield with a gap
    tree = tree_from_conllu(
        block(
            (1, "Bücher", 6), (2, "hat", 6), (3, "er", 6), (4, "keine", 5), (5, "neuen", 1), (6, "gelesen", 0)
        )
    )
    assert "0-5" not in spans(tree)
    assert "3-5" in spans(tree)
    assert spans(tree) == {"0-6", "3-5", *(f"{i}-{i + 1}" for i in range(6))}


def test_multiword_tokens_count_once():
    lines = [
        "1-2\tim\t_\t_\t_\t_\t_\t_\t_\t_",
        *block((1, "in", 3), (2, "dem", 3), (3, "Haus", 0)),
        "3.1\tx\t_\t_\t_\t_\t_\t_",
    ]
    tree = tree_from_conllu(["# text = im Haus", *lines])
    assert tree.tokens == ("im", "Haus")
    assert spans(tree) == {"0-2", "0-1", "1-2"}
    words = tree_from_conllu(lines, ["in", "dem", "Haus"])
    assert words.tokens == ("in", "dem", "Haus")


def test_several_roots_are_allowed():
    assert "0-2" in spans(tree_from_conllu(block((1, "ja", 0), (2, "nein", 0))))


@given(st.data())
def test_any_dependency_tree_gives_nested_constituents_over_all_words(data):
    size = data.draw(st.integers(1, 9))
    order = data.draw(st.permutations(range(1, size + 1)))
    heads = {order[0]: 0}
    for i in range(1, size):
        heads[order[i]] = data.draw(st.sampled_from(order[:i]))
    tree = tree_from_conllu(block(*[(n, f"w{n}", heads[n]) for n in range(1, size + 1)]))
    assert tree.tokens == tuple(f"w{n}" for n in range(1, size + 1))
    assert {f"{i}-{i + 1}" for i in range(size)} | {f"0-{size}"} <= spans(tree)
    yields = {n: {n} for n in heads}
    for n in heads:
        head = heads[n]
        while head:
            yields[head].add(n)
            head = heads[head]
    whole = {f"{min(y) - 1}-{max(y)}" for y in yields.values() if len(y) == max(y) - min(y) + 1}
    assert whole <= spans(tree)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (block((1, "a", 2), (2, "b", 1)), "circle"),
        (block((1, "a", 7)), "has head 7, but there are 1 words"),
        (["1\ta\t_"], "expected 10 columns"),
        (["1-0\tim" + "\t_" * 8, *block((1, "in", 0))], "expected word 1"),
        (["1-2\tim" + "\t_" * 8, *block((1, "in", 0))], "goes on to word 2, but there are 1 words"),
        (block((2, "a", 0)), "expected word 1"),
        (["1\ta\t_\t_\t_\t_\t_\tdep"], "expected word 1 with the number of its head"),
    ],
)
def test_bad_blocks(lines, message):
    with pytest.raises(FormatError, match=message):
        tree_from_conllu(lines)
