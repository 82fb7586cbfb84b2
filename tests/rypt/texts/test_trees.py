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


def spans(tree):
    return [str(c.span) for c in tree.constituents]


def test_wrapper_function_tags_and_unary_chains():
    tree = SourceTree.from_brackets("( (S (NP-SBJ-1 (PRP I)) (VP=2 (VBP run))) )")
    assert tree.tokens == ("I", "run")
    assert [(str(c.span), c.label, c.parent) for c in tree.constituents] == [
        ("0-2", "S", -1),
        ("0-1", "NP+PRP", 0),
        ("1-2", "VP+VBP", 0),
    ]


def test_traces_and_empty_elements_vanish_with_their_parents():
    tree = SourceTree.from_brackets("(S (NP-SBJ (-NONE- *T*-1)) (VP (VB go) (NP (-NONE- *))))")
    assert (tree.tokens, spans(tree)) == (("go",), ["0-1"])


def test_brackets_are_unescaped_in_leaves_only():
    tree = SourceTree.from_brackets("(NP (-LRB- -LRB-) (NN x\\/y) (-RRB- -RRB-))")
    assert tree.tokens[0] == "("
    assert tree.tokens[2] == ")"
    assert tree.constituents[1].label == "-LRB-"


def test_trees_that_are_too_deep_are_refused():
    deep = "(A (B b) " * 20_000 + "(C c)" + ")" * 20_000
    with pytest.raises(FormatError, match="nested too deeply"):
        SourceTree.from_brackets(deep)
    words = [f"w{i}" for i in range(20_000)]
    tree = SourceTree.from_spans(words, [(Span(i, len(words)), "A") for i in range(len(words))])
    with pytest.raises(FormatError, match="nested too deeply"):
        str(tree)


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


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["das", "Haus"], "token 1 is 'Haus' in the source and 'haus-' in the tree"),
        (["das"], "the source has 1 tokens and the tree 2"),
    ],
)
def test_a_mismatch_names_the_token(tokens, message):
    with pytest.raises(FormatError, match=message):
        SourceTree.from_brackets("(NP (ART das) (NN haus-))").matched(tokens)


SEGMENTS = [Segment("a", "das Haus"), Segment("b", "ja"), Segment("c", "der Hund bellt")]


def attach(tmp_path, text, name="trees"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return [segment for segment, _ in segments_with_trees(SEGMENTS, path)]


@pytest.mark.parametrize("missing", ["()", ""])
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
        ("(NP (ART das) (NN Haus))\n(X ja)\n", ":2: expected 3 trees, one per segment, found 2"),
    ],
)
def test_bad_files_name_line_and_segment(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        attach(tmp_path, text)


def block(*words):
    """Lines from (number, form, head)."""
    return [f"{n}\t{form}\t_\t_\t_\t_\t{head}\tdep\t_\t_" for n, form, head in words]


def span_set(tree):
    return {str(c.span) for c in tree.constituents}


def test_a_yield_with_a_gap_makes_no_constituent_but_what_is_inside_stays():
    # "Bücher hat er keine neuen gelesen": Bücher … keine neuen is one yield with a gap
    tree = tree_from_conllu(
        block(
            (1, "Bücher", 6), (2, "hat", 6), (3, "er", 6), (4, "keine", 5), (5, "neuen", 1), (6, "gelesen", 0)
        )
    )
    assert "0-5" not in span_set(tree)
    assert "3-5" in span_set(tree)
    assert span_set(tree) == {"0-6", "3-5", *(f"{i}-{i + 1}" for i in range(6))}


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
def test_any_dependency_tree_gives_nested_constituents_over_all_words(data):
    size = data.draw(st.integers(1, 9))
    order = data.draw(st.permutations(range(1, size + 1)))
    heads = {order[0]: 0}
    for i in range(1, size):
        heads[order[i]] = data.draw(st.sampled_from(order[:i]))
    tree = tree_from_conllu(block(*[(n, f"w{n}", heads[n]) for n in range(1, size + 1)]))
    assert tree.tokens == tuple(f"w{n}" for n in range(1, size + 1))
    assert {f"{i}-{i + 1}" for i in range(size)} | {f"0-{size}"} <= span_set(tree)
    yields = {n: {n} for n in heads}
    for n in heads:
        head = heads[n]
        while head:
            yields[head].add(n)
            head = heads[head]
    whole = {f"{min(y) - 1}-{max(y)}" for y in yields.values() if len(y) == max(y) - min(y) + 1}
    assert whole <= span_set(tree)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (block((1, "a", 2), (2, "b", 1)), "circle"),
        (block((1, "a", 7)), "has head 7, but there are 1 words"),
        (["1-0\tim" + "\t_" * 8, *block((1, "in", 0))], "expected word 1"),
        (["1\ta\t_\t_\t_\t_\t_\tdep"], "expected word 1 with the number of its head"),
    ],
)
def test_bad_blocks(lines, message):
    with pytest.raises(FormatError, match=message):
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
