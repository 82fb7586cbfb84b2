"""MIRA against a plain account of it, PRO against its definition; what stays, and lists that teach nothing."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_lists import START, Share, candidates_of
from made_lists import made_lists as lists_of_right

from mert.constraints import Constraints, Normalization
from mert.learners import KEPT, Background, fit_logistic, fit_pairs, learn, mira, sample_pairs, step_length
from mert.problem import make_problem
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


def by_mira(lists, start, free=None, seed=1, **options):
    free = np.ones(len(start), bool) if free is None else np.array(free)
    return mira(
        *lists, share, np.array(start), free, np.random.default_rng(seed), **({"scale": 1.0} | options)
    )


def chosen(lists, weights):
    """The summed statistics of the first best candidates."""
    offsets, features, stats = lists
    total = [0] * stats.shape[1]
    for begin, end in pairwise(offsets):
        winner = max(range(begin, end), key=lambda i: (features[i] @ weights, -i))
        total = [a + int(b) for a, b in zip(total, stats[winner], strict=True)]
    return np.array([total])


def plain_mira(lists, start, free, seed, c, decay, passes, sizes):
    """Another account of the same: one candidate at a time, every averaged vector kept."""
    offsets, features, stats = lists
    rng, count = np.random.default_rng(seed), len(offsets) - 1
    begin_share = min(1, 1 / (count * (1 - decay)))
    background = [float(x) * begin_share for x in chosen(lists, start)[0]]
    size = sum(sizes) * begin_share
    weights, seen, found = [float(x) for x in start], [], [(share(chosen(lists, start))[0], list(start))]
    for _ in range(passes):
        for s in rng.permutation(count):
            ratings = []
            for i in range(offsets[s], offsets[s + 1]):
                sums = [round(b) + int(x) for b, x in zip(background, stats[i], strict=True)]
                gain = (size + sizes[s]) * share(np.array([sums]))[0]
                ratings.append((sum(w * f for w, f in zip(weights, features[i], strict=True)), gain))
            hope = max(range(len(ratings)), key=lambda k: (ratings[k][0] + ratings[k][1], -k))
            fear = max(range(len(ratings)), key=lambda k: (ratings[k][0] - ratings[k][1], -k))
            apart = (features[offsets[s] + hope] - features[offsets[s] + fear]) * free
            loss = ratings[hope][1] - ratings[fear][1] - ratings[hope][0] + ratings[fear][0]
            if loss > 0 and apart.any():
                weights = [w + min(c, loss / sum(apart**2)) * x for w, x in zip(weights, apart, strict=True)]
            background = [decay * b + x for b, x in zip(background, stats[offsets[s] + hope], strict=True)]
            size = decay * size + sizes[s]
            seen.append(weights)
        average = np.mean(seen, axis=0)
        found.append((share(chosen(lists, average))[0], average))
    top = max(score for score, _ in found)
    return next(weights for score, weights in found if score == top)


@pytest.mark.parametrize(("seed", "c"), [(0, 0.02), (1, 0.02), (2, 5.0), (3, 5.0)])
def test_weights_equal_those_of_a_plain_account(seed, c):
    offsets, features, stats = made_lists(seed, segments=12, candidates=6, noise=0.5)
    rng = np.random.default_rng(seed)
    stats[:, 1] = stats[:, 0] + rng.integers(
        0, 200, len(stats)
    )  # so that gains depend on what the background holds
    lists = offsets, features, stats
    start, sizes = np.append(-TRUTH, 1.0) + rng.normal(scale=0.2, size=5), rng.uniform(3, 30, size=12)
    free = np.array([True, True, seed % 2 == 0, True, True])
    ours = by_mira(lists, start, free, seed=7, c=c, decay=0.95, passes=5, sizes=sizes)
    theirs = plain_mira(lists, start, free, 7, c, 0.95, 5, sizes)
    assert ours == pytest.approx(theirs, abs=1e-10)
    assert (ours != start).any()


@given(
    loss=st.floats(-5, 50), apart=st.lists(st.floats(-10, 10), min_size=1, max_size=5), c=st.floats(1e-4, 1.0)
)
def test_a_step_meets_the_margin_or_is_as_long_as_it_may_be(loss, apart, c):
    direction = np.array(apart)
    length = step_length(loss, direction, c)
    assert 0 <= length <= c
    if loss <= 0 or direction @ direction == 0:
        assert length == 0
    else:
        left = loss - length * (direction @ direction)
        assert left == pytest.approx(0, abs=1e-9) or (length == c and left > 0)


def test_gains_do_not_depend_on_how_much_the_background_holds():
    rows = np.array([[30, 100], [80, 100]])
    small, large = (Background(np.array([50.0, 100.0]) * n, 10.0 * n, 0.9) for n in (100, 10_000))
    differences = [np.diff(held.gains(rows, 10.0, share, 1.0)) for held in (small, large)]
    assert differences[0] == pytest.approx(5.0)
    assert differences[1] == pytest.approx(5.0)


def test_the_known_direction_is_found():
    lists = made_lists()
    start = np.array([-1.0, 1.0, 1.0, 1.0, 3.0])
    weights = by_mira(lists, start)
    assert weights[:4] / weights[0] == pytest.approx(TRUTH, abs=0.1)
    assert weights[0] > 0
    assert weights[4] == 3.0
    best = sum(lists[2][a:b, 0].max() for a, b in pairwise(lists[0]))
    assert chosen(lists, weights)[0, 0] >= 0.99 * best > 1.3 * chosen(lists, start)[0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_the_score_never_falls_and_more_passes_never_make_it_worse(seed):
    lists = made_lists(seed, segments=15, noise=2.0)
    start = np.append(TRUTH, 0.0)
    scores = [share(chosen(lists, by_mira(lists, start, passes=passes)))[0] for passes in (0, 1, 3, 10)]
    assert scores[0] == share(chosen(lists, start))[0]
    assert scores == sorted(scores)


def test_held_weights_stay_and_set_the_length_of_the_others():
    free = [False, True, True, True, True]
    weights = by_mira(made_lists(), [2.0, 1.0, 1.0, 1.0, 0.5], free)
    assert weights[0] == 2.0
    assert weights[:4] / 2 == pytest.approx(TRUTH, abs=0.15)


@pytest.mark.parametrize(
    "what", ["one candidate", "equal candidates", "equal scores", "no free weight", "no segment"]
)
def test_where_nothing_can_be_learned_the_start_is_returned(what):
    offsets, features, stats = made_lists()
    start, free = np.array([1.0, 0.1, -0.7, 0.3, 2.0]), np.ones(5, bool)
    if what == "one candidate":
        offsets = np.arange(len(features) + 1)
    elif what == "equal candidates":
        features, stats = np.ones_like(features), np.ones_like(stats)
    elif what == "equal scores":
        stats = np.ones_like(stats)
    elif what == "no free weight":
        free[:] = False
    else:
        offsets, features, stats = offsets[:1], features[:0], stats[:0]
    weights = by_mira((offsets, features, stats), start, free, passes=5)
    assert (weights == start).all()
    assert weights is not start


def test_segments_without_candidates_are_passed_over():
    offsets, features, stats = made_lists(noise=0.5)
    holes = np.sort(np.append(offsets, [0, 24, 24, offsets[-1]]))
    sizes = np.arange(1.0, len(offsets))
    spread = np.zeros(len(holes) - 1)
    spread[np.diff(holes) > 0] = sizes
    with_holes = by_mira((holes, features, stats), np.ones(5), passes=5, sizes=spread)
    assert (with_holes == by_mira((offsets, features, stats), np.ones(5), passes=5, sizes=sizes)).all()


@pytest.mark.parametrize("options", [{"c": 0.0}, {"decay": 0.0}, {"decay": 1.1}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(RyptError, match="expected a c above 0"):
        by_mira(made_lists(), np.ones(5), **options)


def test_a_background_that_never_fades_will_do():
    weights = by_mira(made_lists(), [-1.0, 1.0, 1.0, 1.0, 0.0], decay=1.0)
    assert weights[:4] / weights[0] == pytest.approx(TRUTH, abs=0.1)


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


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.05, 0.3]), st.integers(1, 12))
def test_the_pairs_that_differ_most_are_kept(seed, least, kept):
    rng = np.random.default_rng(seed)
    offsets, quality = np.array([0, 1, 7, 12]), rng.integers(0, 20, 12) / 20
    better, worse = sample_pairs(offsets, quality, np.random.default_rng(seed), 30, kept, least)
    drawn = np.random.default_rng(seed)
    expected = []
    for begin, end in ((1, 7), (7, 12)):
        first, second = drawn.integers(begin, end, size=(2, 30))
        pairs = [(a, b) if quality[a] > quality[b] else (b, a) for a, b in zip(first, second, strict=True)]
        pairs.sort(key=lambda pair: quality[pair[1]] - quality[pair[0]])
        expected += [(a, b) for a, b in pairs[:kept] if quality[a] - quality[b] >= max(least, 1e-9)]
    assert list(zip(better, worse, strict=True)) == expected


def test_held_weights_enter_the_margins_and_units_do_not_matter():
    rng = np.random.default_rng(1)
    differences = rng.normal(size=(200, 4)) + np.array([1.0, 0.5, -0.3, 0.0])
    start, free = np.array([0.7, 1.0, 1.0, 1.0]), np.array([False, True, True, True])
    weights = fit_pairs(differences, start, free)
    spread = np.sqrt((differences[:, 1:] ** 2).mean(axis=0))
    slope = gradient(differences[:, 1:] / spread, 0.7 * differences[:, 0], 1.0, weights[1:] * spread)
    assert weights[0] == 0.7
    assert np.abs(slope).max() < 1e-8
    units = np.array([1.0, 1000.0, 0.01, 3.0])
    assert fit_pairs(differences * units, start / units, free) * units == pytest.approx(weights, rel=1e-6)
    alone = fit_pairs(differences, start, np.ones(4, bool))
    assert np.abs(alone).sum() == pytest.approx(np.abs(start).sum()), "the length is that of the start"


def test_the_direction_that_makes_candidates_right_is_learned():
    problem = make_problem(lists_of_right(segments=200), Share(), START)
    weights = learn(problem, START, "pro", np.random.default_rng(1))
    assert weights[:4] / weights[0] == pytest.approx(TRUTH, abs=0.1)
    again = learn(problem, START, "pro", np.random.default_rng(1))
    assert (weights == again).all()


@pytest.mark.parametrize("algorithm", ["pro", "mira"])
def test_tied_weights_are_learned_as_one_feature(algorithm):
    """The same as tuning lists in which the tied features are one."""
    start = np.array([1.0, 0.25, 0.5, 0.5, 0.0])
    lists = lists_of_right(4)
    plain = Normalization("none")
    tied = make_problem(lists, Share(), start, Constraints(tied=(("f0", "f3"),), normalization=plain))
    together = learn(tied, start, algorithm, np.random.default_rng(1))
    merged = candidates_of(
        (raw.segment, raw.text, {"sum": f["f0"] + 0.5 * f["f3"], "f1": f["f1"], "f2": f["f2"]})
        for raw in lists.candidates
        for f in [raw.features]
    )
    problem = make_problem(merged, Share(), start[:3], Constraints(normalization=plain))
    alone = learn(problem, start[:3], algorithm, np.random.default_rng(1))
    assert together[:4] == pytest.approx([alone[0], alone[1], alone[2], alone[0] / 2], rel=1e-6)


@pytest.mark.parametrize("what", ["one candidate", "equal scores"])
def test_lists_without_a_pair_to_learn_from_are_refused(what):
    rows = [
        (i // 2, "right" if what == "one candidate" else "wrong", {"f": float(i), "g": 1.0}) for i in range(6)
    ]
    lists = candidates_of(rows[::2] if what == "one candidate" else rows)
    problem = make_problem(lists, Share(), np.ones(2))
    with pytest.raises(RyptError, match=r"no pair of candidates to learn from: .* differ by 0\.05 or more"):
        learn(problem, np.ones(2), "pro", np.random.default_rng(1))
    assert KEPT == 50
