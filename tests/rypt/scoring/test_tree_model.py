"""Sum-product against enumeration, and learning."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import trees

from rypt.records import Candidate, Span, Votes
from rypt.scoring import tree_model
from rypt.scoring.model import LENGTHS, count_cells, length_class, percolated, table_rows
from rypt.scoring.observations import CODES, Forest, Grades, JudgedPhrases, Observations
from rypt.scoring.percolation import STATES
from rypt.scoring.tree_model import TEMPERS, TreeModel, add_losses, count_labels, log_loss
from rypt.texts.trees import SourceTree


@settings(max_examples=80)
@given(trees(max_size=5), st.integers(0, 2**32 - 1))
def test_posteriors_equal_enumeration(tree, seed):
    rng = np.random.default_rng(seed)
    count = len(tree.constituents)
    size = len(LENGTHS)
    emission = rng.random((len(CODES), 2))
    model = TreeModel(rng.random(size), rng.random((size, size, 2)), emission, temper=0.7)
    codes = rng.integers(0, len(CODES), count).astype(np.int8)
    forest = Forest({"1": tree})
    grades = Grades(np.ones(2), np.zeros(2), 1.0)
    unjudged = np.full(count, -1, np.int32)
    observations = Observations(forest, np.zeros(1, np.int32), np.array([0, count]), codes, unjudged, grades)
    classes = length_class(observations.lengths)
    total, yes = 0.0, np.zeros(count)
    for labels in product((0, 1), repeat=count):
        p = 1.0
        for i, label in enumerate(labels):
            parent = tree.constituents[i].parent
            above = (
                model.root[classes[i]]
                if parent < 0
                else model.down[classes[i], classes[parent], labels[parent]]
            )
            p *= (above if label else 1 - above) * emission[codes[i], label] ** 0.7
        total += p
        yes += p * np.array(labels)
    assert model.p_yes(observations) == pytest.approx(yes / total)


@settings(max_examples=40, deadline=None)
@given(trees(max_size=6), st.integers(0, 2**32 - 1), st.booleans())
def test_the_losses_of_all_tempers_are_those_of_each(tree, seed, compiled):
    """With odds and in one pass; and labels are counted as they stand."""
    rng = np.random.default_rng(seed)
    count, size = len(tree.constituents), len(LENGTHS)
    forest = Forest({"1": tree})
    codes, truth = (
        rng.integers(low, high, 3 * count).astype(np.int8) for low, high in ((0, len(CODES)), (-1, 2))
    )
    segments, offsets = np.zeros(3, np.int32), np.arange(4) * count
    rows, grades = np.full(3 * count, -1, np.int32), Grades(np.ones(2), np.zeros(2), 1.0)
    observations = Observations(forest, segments, offsets, codes, rows, grades)
    root, down, emission = rng.random(size), rng.random((size, size, 2)), rng.random((len(CODES), 2))
    ratios = np.stack([emission[:, 1] ** t / emission[:, 0] ** t for t in TEMPERS], axis=1)
    losses = np.zeros(len(TEMPERS))
    run = add_losses.machine if compiled else add_losses.plain
    classes = length_class(forest.stops - forest.starts)
    where = (classes, segments, offsets, codes)
    run(forest.firsts, forest.parents, *where, truth, ratios, root / (1 - root), down, losses)
    each = [log_loss(TreeModel(root, down, emission, t).p_yes(observations), truth) for t in TEMPERS]
    assert losses == pytest.approx(np.array(each) * np.count_nonzero(truth >= 0))
    fits = [TreeModel.fit(observations, truth)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_model, "FEW", -1)
        fits.append(TreeModel.fit(observations, truth))
    one, other = (log_loss(fit.p_yes(observations), truth) for fit in fits)  # two tempers may be equally good
    assert one == pytest.approx(other)
    expected = np.zeros((len(CODES) * len(STATES), size, 2), np.int64)
    states, _ = percolated(observations)
    counts = count_cells(observations, classes, states, truth)
    known = truth >= 0
    cells = (
        table_rows(observations, "unknown")[known],
        length_class(observations.lengths)[known],
        truth[known],
    )
    np.add.at(expected, cells, 1)
    assert counts.tolist() == expected.tolist()
    assert [part.tolist() for part in count_labels(observations, classes, truth)] == counted_one_by_one(
        observations, classes, truth
    )


def counted_one_by_one(observations, classes, truth):
    """What `count_labels` counts, constituent by constituent."""
    forest, size = observations.forest, len(LENGTHS)
    roots, pairs = np.zeros((size, 2), np.int64), np.zeros((size, size, 2, 2), np.int64)
    votes, known = np.zeros((len(CODES), 2), np.int64), np.zeros(2, np.int64)
    for candidate, segment in enumerate(observations.segments):
        first, at = forest.firsts[segment], observations.offsets[candidate]
        for node in range(observations.offsets[candidate + 1] - at):
            label, parent = truth[at + node], forest.parents[first + node]
            if label < 0:
                continue
            known[label] += 1
            votes[observations.codes[at + node], label] += 1
            if parent < 0:
                roots[classes[first + node], label] += 1
            elif truth[at + parent] >= 0:
                pairs[classes[first + node], classes[first + parent], truth[at + parent], label] += 1
    return [part.tolist() for part in (roots, pairs, votes, known)]


def learned(novelty=True, temper=None):
    """200 candidates of one tree: "x" for a is good and judged YES, "bad" is judged NO, "new" is never judged."""
    tree = {"1": SourceTree.from_brackets("(S (A a) (B b))")}
    judged = JudgedPhrases(
        Forest(tree), [Votes("1", Span(0, 1), "x", 2, 0), Votes("1", Span(0, 1), "bad", 0, 2)]
    )
    texts = ["x y"] * 100 + ["bad y"] * 60 + ["new y"] * 40
    observed = judged.observe([Candidate("1", text, "0-0 1-1") for text in texts], "lower")
    truth = np.array([[1, 1, 1]] * 100 + [[0, 0, 1]] * 60 + [[0, 0, 1]] * 40, np.int8).ravel()
    return TreeModel.fit(observed, truth, novelty=novelty, temper=temper), observed, truth


def test_learning_raises_yes_and_lowers_no_and_its_ancestors():
    model, observed, _ = learned()
    p = model.p_yes(observed).reshape(-1, 3)
    assert p[0, 1] > 0.9
    assert p[0, 0] > 0.6 > p[120, 0]
    assert p[120, 1] < 0.1


def test_novelty_is_evidence_only_when_asked_for():
    with_novelty, observed, _ = learned()
    without, _, _ = learned(novelty=False)
    assert with_novelty.p_yes(observed).reshape(-1, 3)[-1, 1] < without.p_yes(observed).reshape(-1, 3)[-1, 1]


def test_the_temper_has_the_smallest_log_loss():
    best, observed, truth = learned()
    for temper in (0.1, 0.5, 1.0):
        other, _, _ = learned(temper=temper)
        assert log_loss(best.p_yes(observed), truth) <= log_loss(other.p_yes(observed), truth) + 1e-12


def test_a_flat_tree_of_thousands_does_not_underflow():
    tree = SourceTree.from_spans([f"w{i}" for i in range(4000)], [])
    model, _, _ = learned()
    observed = JudgedPhrases(Forest({"1": tree}), []).observe([Candidate("1", "", "")], "lower")
    p = model.p_yes(observed)
    assert np.isfinite(p).all()


def test_log_loss():
    truth = np.array([1, 0, -1], np.int8)
    assert log_loss(np.array([0.8, 0.4, 0.1]), truth) == pytest.approx(-(np.log(0.8) + np.log(0.6)) / 2)
