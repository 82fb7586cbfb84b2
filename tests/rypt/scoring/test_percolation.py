"""NO up and YES down: against the rule written out, and its properties."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import reference_percolate, trees

from rypt.records import Label
from rypt.scoring.percolation import percolate
from rypt.text import FormatError, RyptError
from rypt.texts.trees import SourceTree

ORDER = {Label.NO: 0, None: 1, Label.YES: 2}


@st.composite
def labelled(draw):
    tree = draw(trees())
    options = st.sampled_from([None, None, Label.YES, Label.NO])
    return tree, [draw(options) for _ in tree.constituents]


def up_then_down(tree, labels, *, up_first):
    """The rule as two passes that both look only at the given labels, in either order."""
    result = list(labels)

    def ancestors(i):
        while tree.constituents[i].parent >= 0:
            i = tree.constituents[i].parent
            yield i

    def climb():
        for i, label in enumerate(labels):
            if label == Label.NO and not any(labels[a] == Label.YES for a in ancestors(i)):
                for a in ancestors(i):
                    if result[a] is None:
                        result[a] = Label.NO

    def descend():
        def spoiled(i):
            return labels[i] == Label.NO or any(spoiled(c) for c in tree.children[i])

        def visit(i, from_above):
            if result[i] is None and from_above and not spoiled(i):
                result[i] = Label.YES
            for c in tree.children[i]:
                visit(c, result[i] == Label.YES)

        if tree.constituents:
            visit(0, False)

    for step in (climb, descend) if up_first else (descend, climb):
        step()
    return result


@settings(max_examples=150, deadline=None)
@given(labelled())
def test_equals_the_rule(case):
    tree, labels = case
    assert percolate(tree, labels) == reference_percolate(tree, labels)


@settings(max_examples=150, deadline=None)
@given(labelled())
def test_order_of_the_passes_is_irrelevant(case):
    tree, labels = case
    assert up_then_down(tree, labels, up_first=True) == up_then_down(tree, labels, up_first=False)
    assert percolate(tree, labels) == up_then_down(tree, labels, up_first=True)


@settings(max_examples=120, deadline=None)
@given(labelled())
def test_idempotent_and_direct_labels_stay(case):
    tree, labels = case
    once = percolate(tree, labels)
    assert percolate(tree, once) == once
    assert all(after == before for before, after in zip(labels, once, strict=True) if before is not None)


@settings(max_examples=120, deadline=None)
@given(labelled(), st.data())
def test_monotone_better_labels_never_make_a_constituent_worse(case, data):
    tree, labels = case
    better = [data.draw(st.sampled_from([x for x in ORDER if ORDER[x] >= ORDER[label]])) for label in labels]
    pairs = zip(percolate(tree, labels), percolate(tree, better), strict=True)
    assert all(ORDER[before] <= ORDER[after] for before, after in pairs)


def test_between_a_yes_above_and_a_no_below_nothing_is_known():
    tree = SourceTree.from_brackets("(A (B (C (x x) (y y)) (z z)) (w w))")
    spans = {str(c.span): i for i, c in enumerate(tree.constituents)}
    labels: list[Label | None] = [None] * len(tree.constituents)
    labels[spans["0-4"]] = Label.YES
    labels[spans["0-1"]] = Label.NO
    after = percolate(tree, labels)
    assert after[spans["0-3"]] is None
    assert after[spans["0-2"]] is None
    assert after[spans["1-2"]] is None  # YES does not jump over a blocked constituent
    assert after[spans["3-4"]] == Label.YES


def test_a_label_for_each_constituent_is_needed():
    with pytest.raises(RyptError, match="for each of 3 constituents, got 1 labels"):
        percolate(SourceTree.from_brackets("(A (x x) (y y))"), [Label.YES])


def test_labels_may_be_texts_and_others_are_refused():
    tree = SourceTree.from_brackets("(A (x x) (y y))")
    assert percolate(tree, ["yes", None, None]) == [Label.YES] * 3
    with pytest.raises(
        FormatError, match=r"expected a label YES, NO or NOT_SURE \(or y, n, \?\), found 'good'"
    ):
        percolate(tree, ["good", None, None])


def test_not_sure_does_not_percolate():
    tree = SourceTree.from_brackets("(A (x x) (y y))")
    assert percolate(tree, [Label.NOT_SURE, None, None]) == [None, None, None]
