"""Pairwise ranking: the logistic optimum, what is learned, what stays, and lists that teach nothing."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mert.learners.pro import fit_logistic, pro
from rypt.text import RyptError

TRUTH = np.array([1.0, -0.5, 0.25, 0.0])


def share(sums):
    """Points of those there are, from 0 to 1."""
    return sums[:, 0] / np.maximum(sums[:, 1], 1)


def made_lists(seed=0, segments=40, candidates=12, noise=0.05):
    """Lists whose candidates earn points by a known direction, up to noise; the last feature is always 7."""
    rng = np.random.default_rng(seed)
    features = np.column_stack(
        [rng.normal(size=(segments * candidates, 4)), np.full(segments * candidates, 7.0)]
    )
    worth = features[:, :4] @ TRUTH + rng.normal(scale=noise, size=len(features))
    points = np.clip(np.rint(50 + 15 * worth), 0, 100).astype(np.int64)
    offsets = np.arange(0, len(features) + 1, candidates)
    return offsets, np.asfortranarray(features), np.column_stack([points, np.full(len(points), 100)])


def learn(lists, start, free=None, seed=1, **options):
    free = np.ones(len(start), bool) if free is None else np.array(free)
    return pro(*lists, share, np.array(start), free, np.random.default_rng(seed), scale=1.0, **options)


def gradient(differences, margins, l2, weights):
    """Of the regularised loss, term by term."""
    total = l2 * weights
    for row, margin in zip(differences, margins, strict=True):
        total = total - row / (1 + np.exp(margin + row @ weights))
    return total


@given(
    seed=st.integers(0, 10**6),
    pairs=st.integers(1, 60),
    size=st.integers(1, 6),
    l2=st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
    spread=st.sampled_from([0.1, 1.0, 20.0]),
)
def test_the_gradient_is_zero_at_the_answer(seed, pairs, size, l2, spread):
    rng = np.random.default_rng(seed)
    differences = rng.normal(scale=spread, size=(pairs, size))
    margins = rng.normal(scale=spread, size=pairs)
    weights = fit_logistic(differences, margins, l2)
    assert np.abs(gradient(differences, margins, l2, weights)).max() < 1e-8


def test_pairs_that_can_be_told_apart_without_error_have_an_answer_too():
    rows = np.abs(np.random.default_rng(2).normal(size=(500, 3))) + 0.1
    weights = fit_logistic(rows, np.zeros(500), 1e-6)
    assert np.isfinite(weights).all()
    assert (rows @ weights > 0).all()
    assert np.abs(gradient(rows, np.zeros(500), 1e-6, weights)).max() < 1e-8


def test_the_known_direction_is_found():
    lists = made_lists(segments=100, noise=0.5)
    weights = learn(lists, [-1.0, 1.0, 1.0, 1.0, 3.0], kept=5000, threshold=0.0)
    assert weights[:4] / weights[0] == pytest.approx(TRUTH, abs=0.05)
    assert weights[0] > 0
    assert weights[4] == 3.0
    assert np.abs(weights[:4]).sum() == pytest.approx(4.0)


def test_a_weight_held_at_its_best_value_leaves_the_others_at_theirs():
    lists = made_lists(noise=0.5)
    together = learn(lists, np.zeros(5))
    alone = learn(lists, [together[0], 0.0, 5.0, 0.0, 0.0], [False, True, True, True, True])
    assert alone[0] == together[0]
    assert alone == pytest.approx(together, abs=1e-9)


def test_held_weights_enter_the_margins():
    offsets, features, stats = made_lists()
    free = np.array([False, True, True, True, False])
    start = np.array([0.7, 0.0, 0.0, 0.0, 0.0])
    quality = share(stats)
    weights = learn((offsets, features, stats), start, free, samples=300, kept=10)
    rng = np.random.default_rng(1)
    better, worse = [], []
    for begin, end in pairwise(offsets):
        pairs = rng.integers(begin, end, size=(2, 300)).T.tolist()
        pairs = [
            (a, b) if quality[a] > quality[b] else (b, a)
            for a, b in pairs
            if abs(quality[a] - quality[b]) >= 0.05
        ]
        pairs.sort(key=lambda pair: quality[pair[1]] - quality[pair[0]])
        better += [a for a, _ in pairs[:10]]
        worse += [b for _, b in pairs[:10]]
    differences = features[better] - features[worse]
    spread = np.sqrt((differences[:, 1:4] ** 2).mean(axis=0))
    slope = gradient(differences[:, 1:4] / spread, 0.7 * differences[:, 0], 1.0, weights[1:4] * spread)
    assert np.abs(slope).max() < 1e-8


def test_only_pairs_far_enough_apart_are_learned_from():
    """Small differences speak for the first feature, large ones for the second."""
    features = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    stats = np.array([[13, 100], [10, 100], [60, 100], [10, 100]])
    lists = np.array([0, 2, 4]), features, stats
    far = learn(lists, [0.5, 0.5])
    assert far[0] == 0.5
    assert far[1] == 0.5
    near = learn(lists, [0.5, 0.1], threshold=0.02)
    assert near[0] == pytest.approx(near[1])


def test_units_of_features_do_not_matter():
    offsets, features, stats = made_lists(noise=0.5)
    units = np.array([1000.0, 1.0, 0.01, 3.0, 1.0])
    free = [True, True, True, False, True]
    start = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    plain = learn((offsets, features, stats), start, free)
    scaled = learn((offsets, features * units, stats), start / units, free)
    assert scaled * units == pytest.approx(plain, rel=1e-6)


def test_part_of_the_start_can_be_kept():
    start = np.array([-1.0, 1.0, 1.0, 1.0, 3.0])
    whole, part = learn(made_lists(), start), learn(made_lists(), start, interpolate=0.25)
    assert part == pytest.approx(0.75 * start + 0.25 * whole)


def test_single_candidates_can_have_a_score_of_their_own():
    lists = made_lists()
    turned = learn(lists, np.ones(5), sentence_score=lambda rows: -share(rows))
    assert turned[:4] == pytest.approx(-learn(lists, np.ones(5))[:4], rel=1e-6)


def test_the_same_seed_gives_the_same_answer_and_another_one_another():
    lists, start = made_lists(noise=0.5), np.ones(5)
    assert (learn(lists, start, seed=4) == learn(lists, start, seed=4)).all()
    assert (learn(lists, start, seed=4) != learn(lists, start, seed=5)).any()


def test_the_start_is_not_changed():
    start = np.ones(5)
    learn(made_lists(), start)
    assert (start == 1).all()


@pytest.mark.parametrize("what", ["one candidate", "equal candidates", "too close", "no segment"])
def test_lists_without_a_pair_to_learn_from_are_refused(what):
    offsets, features, stats = made_lists()
    if what == "one candidate":
        offsets = np.arange(len(features) + 1)
    elif what == "equal candidates":
        features, stats = np.ones_like(features), np.ones_like(stats)
    elif what == "too close":
        stats = np.column_stack([50 + stats[:, 0] % 5, stats[:, 1]])
    else:
        offsets, features, stats = offsets[:1], features[:0], stats[:0]
    with pytest.raises(RyptError, match=r"differ by 0\.05 or more; lower the threshold"):
        learn((offsets, features, stats), np.ones(5))


def test_candidates_of_equal_score_teach_nothing_at_threshold_zero():
    offsets, features, stats = made_lists()
    with pytest.raises(RyptError):
        learn((offsets, features, np.ones_like(stats)), np.ones(5), threshold=0.0)


def test_without_free_weights_the_start_is_returned():
    start = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (learn(made_lists(), start, np.zeros(5, bool)) == start).all()


def test_a_start_of_zeros_is_no_obstacle():
    weights = learn(made_lists(), np.zeros(5))
    assert weights / np.abs(weights).sum() == pytest.approx(
        learn(made_lists(), [0.25, 0.25, 0.25, 0.25, 0.0])
    )


@pytest.mark.parametrize("options", [{"interpolate": 0.0}, {"interpolate": 1.5}, {"l2": 0.0}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(RyptError, match="expected an interpolation"):
        learn(made_lists(), np.ones(5), **options)
