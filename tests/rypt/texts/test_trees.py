"""Penn brackets and what they become."""

import pytest
from hypothesis import given
from reference import FIGURE_2, trees

from rypt.records import Span
from rypt.text import FormatError
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


def test_figure_2_has_18_distinct_spans():
    assert FIGURE_2.count("(") == 19
    assert len(SourceTree.from_brackets(FIGURE_2).constituents) == 18


def test_traces_and_empty_elements_vanish_with_their_parents():
    tree = SourceTree.from_brackets(
        "(S (NP-SBJ (-NONE- *T*-1)) (VP (VB go) (NP (-NONE- *)) (ADVP (RB now))))"
    )
    assert tree.tokens == ("go", "now")
    assert spans(tree) == ["0-2", "0-1", "1-2"]
    assert [c.label for c in tree.constituents] == ["S+VP", "VB", "ADVP+RB"]


def test_brackets_are_unescaped_in_leaves_only():
    tree = SourceTree.from_brackets("(NP (-LRB- -LRB-) (NN x\\/y) (-RRB- -RRB-))")
    assert tree.tokens[0] == "("
    assert tree.tokens[2] == ")"
    assert tree.constituents[1].label == "-LRB-"


def test_a_slash_escape_inside_a_token_is_undone():
    assert SourceTree.from_brackets("(NP (NN 1\\/2) (NN \\*))").tokens == ("1/2", "*")


def test_words_without_a_preterminal_get_a_constituent():
    tree = SourceTree.from_brackets("(NP the (JJ old) house)")
    assert spans(tree) == ["0-3", "0-1", "1-2", "2-3"]


def test_several_trees_stand_under_one_root():
    tree = SourceTree.from_brackets("(S (UH yes)) (S (PRP I) (VBP do))")
    assert (tree.constituents[0].span, tree.constituents[0].label) == (Span(0, 3), "ROOT")


def test_trees_that_are_too_deep_are_refused():
    deep = "(A (B b) " * 20_000 + "(C c)" + ")" * 20_000
    with pytest.raises(FormatError, match="nested too deeply"):
        SourceTree.from_brackets(deep)
    words = [f"w{i}" for i in range(20_000)]
    tree = SourceTree.from_spans(words, [(Span(i, len(words)), "A") for i in range(len(words))])
    with pytest.raises(FormatError, match="nested too deeply"):
        str(tree)


def test_a_bracket_inside_a_token_and_a_bracket_label_read_back():
    tree = SourceTree.from_spans(["1)", ":-("], [(Span(0, 1), "NP+-LRB-")])
    assert SourceTree.from_brackets(str(tree)) == tree


@given(trees())
def test_text_form_reads_back(tree):
    assert SourceTree.from_brackets(str(tree)) == tree


@given(trees())
def test_agrees_with_nltk(tree):
    from nltk import Tree

    theirs = tree.to_nltk()
    assert theirs.leaves() == list(tree.tokens)
    subtrees = [t for t in theirs.subtrees() if isinstance(t, Tree)]
    assert len(subtrees) == len(tree.constituents)
    assert SourceTree.from_nltk(theirs) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NP a)", "unbalanced brackets: 2 opened, 1 closed"),
        ("(S a))", "unbalanced brackets: 1 opened, 2 closed"),
        ("(S a) (", "unbalanced brackets"),
        (")(", "unbalanced brackets"),
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
