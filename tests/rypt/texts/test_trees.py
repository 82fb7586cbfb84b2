"""Penn brackets, files of trees, dependencies as constituents, and trees without a parser."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import trees

from rypt.records import Segment, Span
from rypt.scoring.frontier import frontier
from rypt.text import FormatError, InputError
from rypt.texts.fallback_trees import fallback_tree
from rypt.texts.treebank import parsed, segments_with_trees, tree_from_conllu
from rypt.texts.trees import SourceTree


@pytest.mark.parametrize(
    ("brackets", "tokens", "nodes"),
    [
        ("( (S (NP-SBJ-1 (PRP I)) (VP=2 (VBP run))) )", ["I", "run"], ["0-2 S -1", "0-1 NP+PRP 0", "1-2 VP+VBP 0"]),
        ("(S (NP-SBJ (-NONE- *T*-1)) (VP (VB go) (NP (-NONE- *))))", ["go"], ["0-1 S+VP+VB -1"]),
        ("(NP (-LRB- -LRB-) (NN x\\/y))", ["(", "x/y"], ["0-2 NP -1", "0-1 -LRB- 0", "1-2 NN 0"]),
    ],
)  # fmt: skip
def test_constituents_of_brackets(brackets, tokens, nodes):
    """Function tags, unary chains, traces and escapes."""
    tree = SourceTree.from_brackets(brackets)
    assert list(tree.tokens) == tokens
    assert [f"{c.span} {c.label} {c.parent}" for c in tree.constituents] == nodes


@pytest.mark.slow
def test_trees_that_are_too_deep_are_refused():
    deep = "(A (B b) " * 20_000 + "(C c)" + ")" * 20_000
    with pytest.raises(FormatError, match="nested too deeply"):
        SourceTree.from_brackets(deep)
    words = [f"w{i}" for i in range(20_000)]
    tree = SourceTree.from_spans(words, [(Span(i, len(words)), "A") for i in range(len(words))])
    with pytest.raises(FormatError, match="nested too deeply"):
        str(tree)


@pytest.mark.slow
@given(trees())
def test_agrees_with_nltk(tree):
    from nltk import Tree

    theirs = tree.to_nltk()
    assert theirs.leaves() == list(tree.tokens)
    subtrees = [t for t in theirs.subtrees() if isinstance(t, Tree)]
    assert len(subtrees) == len(tree.constituents)
    assert SourceTree.from_nltk(theirs) == SourceTree.from_brackets(str(tree)) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NP a)", "unbalanced brackets: 2 opened, 1 closed"),
        ("S a", "expected a tree in brackets, found 'S' outside"),
    ],
)
def test_bad_brackets(text, message):
    with pytest.raises(FormatError, match=message):
        SourceTree.from_brackets(text)


def test_crossing_spans_are_refused():
    with pytest.raises(FormatError, match="0-2 and 1-3 cross"):
        SourceTree.from_spans(["a", "b", "c"], [(Span(0, 2), "X"), (Span(1, 3), "Y")])


def test_matching_ignores_case_composition_escapes_and_quotation_marks():
    tree = SourceTree.from_brackets("(S (X ``) (X Größe) (X -LRB-) (X '') (X 's) (X &))")
    source = ['"', "gro\u0308ße", "(", '"', "&apos;s", "&amp;"]
    assert tree.matched(source).tokens == tuple(source)


SEGMENTS = [Segment("a", "das Haus"), Segment("b", "ja"), Segment("c", "der Hund bellt")]


ONE_A_LINE = "(NP (ART das) (NN Haus))\n{}\n(S (NP (ART der) (NN Hund)) (V bellt))\n"
BLOCKS = "(NP\n  (ART das)\n  (NN Haus))\n\n()\n(S\n  (NP (ART der)\n    (NN Hund))\n  (V bellt))\n"
CONLLU = "# a comment\n1\tdas\t_\t_\t_\t_\t2\td\n2\tHaus\t_\t_\t_\t_\t0\td\n\n1\tja\t_\t_\t_\t_\t0\td\n\n\n"
CONLLU += "1\tder\t_\t_\t_\t_\t2\td\n2\tHund\t_\t_\t_\t_\t3\td\n3\tbellt\t_\t_\t_\t_\t0\td\n"


@pytest.mark.parametrize("text", [ONE_A_LINE.format("()"), ONE_A_LINE.format(""), BLOCKS, CONLLU])
def test_files_of_trees(tmp_path, text):
    (tmp_path / "trees").write_text(text, encoding="utf-8")
    (_, first), (second, none), (third, tree) = segments_with_trees(SEGMENTS, tmp_path / "trees")
    assert [str(c.span) for c in first.constituents] == ["0-2", "0-1", "1-2"]
    assert [str(c.span) for c in tree.constituents] == ["0-3", "0-2", "0-1", "1-2", "2-3"]
    assert parsed(third) == tree
    if text != CONLLU:
        assert none is second.tree is parsed(second) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(NP (ART das) (NN Haus))\n(X ja)\n(S (NP (ART der) (NN Hund)) (V bellt)\n", ":3: segment c: unbalanced"),
        ("(NP (ART das) (NN Haus))\n(X ja)\n", ":2: expected 3 trees, one per segment, found 2"),
        ("(NP\n (ART das)\n\n(X ja)\n", ":1: unbalanced brackets: 1 not closed"),
        (ONE_A_LINE.format("(X nein)"), ":2: segment b: token 0 is 'ja' in the source and 'nein' in the tree"),
        (ONE_A_LINE.format("(S (X ja) (X .))"), ":2: segment b: the source has 1 tokens and the tree 2"),
        (CONLLU.replace("_\t3", "_\t7"), ":8: segment c: word 'Hund' has head 7, but there are 3 words"),
        (CONLLU.replace("_\t3", "_\t1"), ":8: segment c: the heads form a circle"),
    ],
)  # fmt: skip
def test_bad_files_name_line_and_segment(tmp_path, text, message):
    (tmp_path / "trees").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        segments_with_trees(SEGMENTS, tmp_path / "trees")
    assert message in str(error.value)


def block(*words):
    """Lines from (number, form, head)."""
    return [f"{n}\t{form}\t_\t_\t_\t_\t{head}\tdep\t_\t_" for n, form, head in words]


def span_set(tree):
    return {str(c.span) for c in tree.constituents}


def test_multiword_tokens_count_once():
    lines = [
        "1-2\tim\t_\t_\t_\t_\t_\t_\t_\t_",
        *block((1, "in", 3), (2, "dem", 3), (3, "Haus", 0)),
        "3.1\tx\t_\t_\t_\t_\t_\t_",
    ]
    tree = tree_from_conllu(["# text = im Haus", *lines])
    assert tree.tokens == ("im", "Haus")
    assert span_set(tree) == {"0-2", "0-1", "1-2"}
    words = tree_from_conllu(lines, ["in", "dem", "Haus"])
    assert words.tokens == ("in", "dem", "Haus")


@given(st.data())
def test_constituents_are_the_yields_without_a_gap(data):
    size = data.draw(st.integers(1, 9))
    order = data.draw(st.permutations(range(1, size + 1)))
    heads = {order[0]: 0}
    for i in range(1, size):
        heads[order[i]] = data.draw(st.sampled_from(order[:i]))
    tree = tree_from_conllu(block(*[(n, f"w{n}", heads[n]) for n in range(1, size + 1)]))
    assert tree.tokens == tuple(f"w{n}" for n in range(1, size + 1))
    yields = {n: {n} for n in heads}
    for n in heads:
        head = heads[n]
        while head:
            yields[head].add(n)
            head = heads[head]
    whole = {f"{min(y) - 1}-{max(y)}" for y in yields.values() if len(y) == max(y) - min(y) + 1}
    assert span_set(tree) == {*whole, *(f"{i}-{i + 1}" for i in range(size)), f"0-{size}"}


@pytest.mark.parametrize(
    "lines",
    [
        ["1-0\tim" + "\t_" * 8, *block((1, "in", 0))],
        ["1\ta\t_\t_\t_\t_\t_\tdep"],
        ["1\ta\t_"],
        ["1-2\tim" + "\t_" * 8, *block((1, "in", 0))],
    ],
)
def test_bad_blocks(lines):
    with pytest.raises(FormatError, match=r"expected word 1|expected 10 columns|goes on to word 2"):
        tree_from_conllu(lines)


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


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ('He said : " Stop ! " She left .', ['He said : " Stop ! "', "She left ."]),
        ("你 好 。 再见 。", ["你 好 。", "再见 。"]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    tree = fallback_tree(text.split())
    found = [" ".join(tree.tokens[slice(*c.span)]) for c in tree.constituents if "S" in c.label.split("+")]
    assert found == sentences
