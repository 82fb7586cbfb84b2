"""Files of trees: brackets, and dependencies as constituents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.records import Segment
from rypt.text import FormatError, InputError
from rypt.texts.treebank import parsed, segments_with_trees, tree_from_conllu

SEGMENTS = [Segment("a", "das Haus"), Segment("b", "ja"), Segment("c", "der Hund bellt")]


def attach(tmp_path, text, name="trees"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return [segment for segment, _ in segments_with_trees(SEGMENTS, path)]


@pytest.mark.parametrize("missing", ["()", "", "( ( ) )"])
def test_one_a_line_with_a_failed_parse(tmp_path, missing):
    text = f"(NP (ART das) (NN Haus))\n{missing}\n(S (NP (ART der) (NN Hund)) (V bellt))\n"
    segments = attach(tmp_path, text)
    assert [segment.tree is None for segment in segments] == [False, True, False]
    assert parsed(segments[1]) is None
    assert len(parsed(segments[2]).constituents) == 5


def test_blocks(tmp_path):
    text = "(NP\n  (ART das)\n  (NN Haus))\n\n()\n(S\n  (NP (ART der)\n    (NN Hund))\n  (V bellt))\n"
    segments = attach(tmp_path, text)
    assert [segment.tree is None for segment in segments] == [False, True, False]
    assert len(parsed(segments[2]).constituents) == 5


def test_blocks_after_a_tree_on_one_line(tmp_path):
    """As nltk prints them: a short tree stays on its line."""
    text = "(NP (ART das)\t(NN Haus))\n()\n(S\n  (NP (ART der) (NN Hund))\n  (V bellt))\n"
    assert len(parsed(attach(tmp_path, text)[2]).constituents) == 5


def test_conllu_with_a_bracket_in_a_token(tmp_path):
    path = tmp_path / "trees"
    path.write_text(
        "\n".join(f"{n}\t{form}\t_\t_\t_\t_\t{n - 1}\tdep" for n, form in enumerate(["ja", ":)"], 1))
        + "\n\n\n\n"
    )
    ((_, tree),) = segments_with_trees([Segment("a", "ja :)")], path)
    assert tree.tokens == ("ja", ":)")


def test_conllu(tmp_path):
    rows = [["das 2", "Haus 0"], ["ja 0"], ["der 2", "Hund 3", "bellt 0"]]
    text = ""
    for words in rows:
        for n, word in enumerate(words, 1):
            form, head = word.split()
            text += f"{n}\t{form}\t_\t_\t_\t_\t{head}\tdep\t_\t_\n"
        text += "\n"
    segments = attach(tmp_path, "# a comment\n" + text, "trees.conllu")
    assert parsed(segments[2]).tokens == ("der", "Hund", "bellt")
    assert len(parsed(segments[2]).constituents) == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(NP (ART das) (NN Haus))\n(X ja)\n(S (NP (ART der) (NN Hund)) (V bellt)\n",
            ":3: segment c: unbalanced",
        ),
        (
            "(NP (ART das) (NN Haus)\n(X ja)\n(S der Hund bellt)\n",
            ":1: segment a: unbalanced brackets: 3 opened, 2 closed",
        ),
        (
            "(NP (ART das) (NN Haus))\n(X nein)\n()\n",
            ":2: segment b: token 0 is 'ja' in the source and 'nein'",
        ),
        ("(NP (ART das) (NN Haus))\n(X ja)\n", ":2: expected 3 trees, one per segment, found 2"),
        ("(NP\n  (ART das)\n  (NN Haus)\n(X ja)\n()\n", ":1: unbalanced brackets: 1 not closed"),
        ("", ":1: expected 3 trees"),
    ],
)
def test_bad_files_name_line_and_segment(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        attach(tmp_path, text)


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
