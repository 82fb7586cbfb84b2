"""Climbing: never down, within bounds, the same for any number of threads and any units of the features."""

import math
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mert.constraints import Constraints, Normalization
from mert.lists.arrays import arrange, read_lists
from mert.optimize import REACH, _Climb, climb, make_problem, optimize, random_start
from mert.search.lines import Window
from mert.search.share import combine
from rypt.metrics.bleu import Bleu
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.references import References

START = np.array([-1.0, 1.0, 1.0, 1.0, 1.0])


class Share:
    """The share of right answers; the first column counts them."""

    signature = "share"
    maximize = True
    scale = 1.0

    def stats(self, candidates):
        return np.array([[int(raw.text == "right"), 1] for raw in candidates], np.int64)

    def score(self, sums):
        return sums[:, 0] / np.maximum(sums[:, 1], 1)


class Errors(Share):
    """The share of wrong answers, which is better when it is lower."""

    maximize = False

    def score(self, sums):
        return 1 - super().score(sums)


def made_lists(seed=0, segments=30, candidates=8, scales=(1.0, 1.0, 1.0, 1.0, 1.0)):
    """Lists in which a known direction picks the right candidate, up to some noise."""
    rng = np.random.default_rng(seed)
    truth = np.array([1.0, -0.5, 0.25, 0.0])
    rows = []
    for segment in range(segments):
        features = rng.normal(size=(candidates, 4))
        right = int(np.argmax(features @ truth + rng.normal(scale=0.2, size=candidates)))
        for i, row in enumerate(features):
            values = np.append(row, 7.0) * scales
            named = dict(zip(("f0", "f1", "f2", "f3", "constant"), values.tolist(), strict=True))
            rows.append(Candidate(str(segment), "right" if i == right else f"wrong {i}", None, named, None))
    return arrange(rows)


def one_feature(segments=6):
    """Lists whose first candidates are all right, and whose only feature is 1 for these and 2 for the wrong ones."""
    rows = []
    for segment in range(segments):
        rows.append(Candidate(str(segment), "right", None, {"f": 1.0}, None))
        rows.append(Candidate(str(segment), "wrong", None, {"f": 2.0}, None))
    return arrange(rows)


def test_candidates_tie_where_no_weight_tells_them_apart():
    problem = make_problem(one_feature(), Share(), np.array([1.0]))
    assert problem.all_tied(np.array([0.0]))
    assert not problem.all_tied(np.array([1e-300]))


def test_no_gain_comes_from_the_order_of_the_lists():
    """A weight of 0 makes all candidates tie, and the first ones, which are right here, would win."""
    start = np.array([1.0])
    bounded = make_problem(one_feature(), Share(), start, Constraints(bounds={"f": (0.0, math.inf)}))
    best = optimize(bounded, start, earlier=[np.array([0.0])], restarts=5)[0]
    assert best.weights[0] > 0
    assert best.score == 0.0
    free = make_problem(one_feature(), Share(), start)
    assert optimize(free, np.array([0.0]), restarts=0)[0].weights[0] < 0, "a start of 0 is left"
    assert optimize(free, np.array([0.0]), restarts=0)[0].score == 1.0


def test_tuning_finds_what_the_data_hold():
    problem = make_problem(made_lists(), Share(), START)
    best = optimize(problem, START, restarts=5, seed=3)[0]
    assert problem.score(START) < 0.2
    assert best.score > 0.8
    assert problem.score(best.weights) == best.score
    assert best.weights[0] > 0 > best.weights[1]
    assert np.abs(best.weights).sum() == pytest.approx(1)


def test_a_metric_that_is_better_when_lower_is_turned_over():
    up = optimize(make_problem(made_lists(), Share(), START), START, restarts=3, seed=3)[0]
    down = optimize(make_problem(made_lists(), Errors(), START), START, restarts=3, seed=3)[0]
    assert down.weights.tolist() == up.weights.tolist()
    assert down.score == pytest.approx(up.score - 1)


def test_a_climb_never_goes_down_and_ends_at_a_top():
    problem = make_problem(made_lists(1), Share(), START)
    rng = np.random.default_rng(5)
    for _ in range(5):
        start = rng.normal(size=5)
        end = climb(problem, start, np.random.default_rng(1), enough=0.0)
        assert end.score >= problem.score(start)
        for axis in problem.axes:  # nowhere along an axis is it better
            for t in np.linspace(-3, 3, 601):
                assert problem.score(end.weights + t * axis) <= end.score + 1e-12


def test_results_come_best_first():
    problem = make_problem(made_lists(6), Share(), START)
    results = optimize(problem, START, restarts=6, seed=2)
    scores = [tuned.score for tuned in results]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_change_the_answer(threads):
    problem = make_problem(made_lists(2), Share(), START)
    alone = optimize(problem, np.ones(5), restarts=6, seed=9)
    together = optimize(problem, np.ones(5), restarts=6, seed=9, threads=threads)
    assert [r.score for r in alone] == [r.score for r in together]
    assert all((a.weights == b.weights).all() for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize("metric", ["share", "bleu"])
def test_any_executor_will_do(metric):
    lists = made_lists(2, segments=8)
    made = Share() if metric == "share" else Bleu(References([["right"] * 8]), tokenize="13a")
    problem = make_problem(lists, made, START)
    with ProcessPoolExecutor(max_workers=2) as pool:
        there = optimize(problem, np.ones(5), restarts=2, seed=9, executor=pool)
    here = optimize(problem, np.ones(5), restarts=2, seed=9)
    assert all((a.weights == b.weights).all() for a, b in zip(there, here, strict=True))


def test_the_seed_decides():
    problem = make_problem(made_lists(2), Share(), START)
    one, again, other = (
        [tuned.weights.tolist() for tuned in optimize(problem, START, restarts=4, seed=seed)]
        for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other


@pytest.mark.parametrize("scales", [(1000, 1, 1, 1, 1), (1, 1 / 1024, 1, 1, 4096), (2, 0.5, 1e-6, 1e6, 1)])
def test_the_units_of_features_change_nothing(scales):
    """Weights take up the scale, and the same candidates win."""
    found = []
    for scale in (np.ones(5), np.array(scales, float)):
        start = np.ones(5) / scale
        problem = make_problem(made_lists(5, scales=scale), Share(), start)
        best = optimize(problem, start, restarts=4, seed=1)[0]
        found.append((best.score, problem.choice(best.weights).chosen.tolist()))
    assert found[0][0] == found[1][0]
    assert found[0][1] == found[1][1]


@settings(max_examples=20)
@given(st.integers(0, 1000), st.randoms(use_true_random=False))
def test_the_order_of_candidates_and_dominated_ones_change_nothing(seed, random):
    lists = made_lists(seed, segments=6, candidates=4)
    raws = list(lists.candidates)
    shuffled = raws.copy()
    random.shuffle(shuffled)
    best = optimize(make_problem(lists, Share(), START), START, restarts=1, seed=1)[0]
    other = optimize(make_problem(arrange(shuffled), Share(), START), START, restarts=1, seed=1)[0]
    assert other.score == best.score
    middle = {
        raw.segment: {
            name: float(np.mean([r.features[name] for r in raws if r.segment == raw.segment]))
            for name in raw.features
        }
        for raw in raws
    }
    inner = [Candidate(segment, "right", None, features, None) for segment, features in middle.items()]
    more = make_problem(arrange([*raws, *inner]), Share(), START)
    for weights in (best.weights, START, np.random.default_rng(seed).normal(size=5)):
        assert more.score(weights) == make_problem(lists, Share(), START).score(weights)


def test_fixed_and_constant_features_keep_their_weights():
    start = np.array([1.0, 0.125, 1.0, 1.0, 3.0])
    problem = make_problem(made_lists(3), Share(), start, Constraints(fixed=frozenset({"f1"})))
    assert problem.free.tolist() == [True, False, True, True, False]
    assert problem.deciding.tolist() == [True, True, True, True, False]
    for tuned in optimize(problem, start, restarts=3, seed=1):
        assert tuned.weights[[1, 4]].tolist() == [0.125, 3.0]


def test_a_feature_that_never_differs_has_no_say_in_lengths():
    """Its weight may be anything: the same steps are taken, and the others get the same weights."""
    found = []
    for weight in (0.0, 1.0, 1e9):
        start = np.array([1.0, 1.0, 1.0, 1.0, weight])
        constraints = Constraints(normalization=Normalization("none"))
        problem = make_problem(made_lists(3), Share(), start, constraints)
        assert problem.length(start) == pytest.approx(problem.length(np.array([1.0, 1.0, 1.0, 1.0, 0.0])))
        found.append(problem.choice(optimize(problem, start, restarts=2, seed=1)[0].weights).chosen.tolist())
    assert found[0] == found[1]


def test_only_the_named_weights_move_and_others_take_part():
    start = np.array([0.0, -0.5, 0.25, 0.0, 2.0])
    problem = make_problem(made_lists(3), Share(), start, Constraints(only=frozenset({"f0"})))
    best = optimize(problem, start, restarts=3, seed=1)[0]
    assert best.weights[1:].tolist() == start[1:].tolist()
    assert best.weights[0] > 0
    assert best.score > problem.score(start)


def test_nothing_may_move():
    every = frozenset({"f0", "f1", "f2", "f3"})
    problem = make_problem(made_lists(3), Share(), START, Constraints(fixed=every))
    assert [tuned.weights.tolist() for tuned in optimize(problem, START, restarts=2, seed=1)] == [
        START.tolist()
    ] * 3


def test_bounds_hold():
    bounds = dict.fromkeys(("f0", "f1", "f2", "f3"), (0.1, 0.75)) | {"constant": (0.0, 1.0)}
    start = np.full(5, 0.5)
    problem = make_problem(made_lists(4), Share(), start, Constraints(bounds=bounds))
    for result in optimize(problem, start, restarts=8, seed=1):
        assert (result.weights >= [0.1, 0.1, 0.1, 0.1, 0]).all()
        assert (result.weights <= 0.75).all()


def test_signs_hold_and_weights_are_scaled():
    bounds = {"f1": (0.0, math.inf), "f0": (-math.inf, 0.0)}
    start = np.array([-1.0, 1.0, 1.0, 1.0, 1.0])
    problem = make_problem(made_lists(4), Share(), start, Constraints(bounds=bounds))
    for result in optimize(problem, start, restarts=8, seed=1):
        assert result.weights[0] <= 0 <= result.weights[1]
        assert np.abs(result.weights).sum() == pytest.approx(1)


def test_a_held_weight_outside_its_bounds_stays():
    constraints = Constraints(fixed=frozenset({"f3"}), bounds={"f3": (5.0, 6.0)})
    problem = make_problem(made_lists(4), Share(), START, constraints)
    assert all(tuned.weights[3] == 1.0 for tuned in optimize(problem, START, restarts=2, seed=1))


TIED = Constraints(
    tied=(("f0", "f3"), ("f1", "f2")),
    ranges={"f0": (0.5, 2.0), "f3": (-9.0, 9.0), "f2": (0.5, 4.0)},
    bounds={"f1": (-3.0, 0.0)},
    normalization=Normalization("none"),
)


def test_tied_weights_keep_their_proportions():
    start = np.array([1.0, -0.5, 1.0, 0.25, 1.0])
    problem = make_problem(made_lists(7), Share(), start, TIED)
    results = optimize(problem, start, restarts=6, seed=1)
    assert results[0].score > problem.score(start)
    for tuned in results:
        assert tuned.weights[3] == pytest.approx(tuned.weights[0] * 0.25)
        assert tuned.weights[2] == pytest.approx(tuned.weights[1] * -2)
        assert -3 <= tuned.weights[1] <= 0
    starts = [random_start(problem, start, np.random.default_rng(seed)) for seed in range(50)]
    for point in starts:
        assert point[3] == pytest.approx(point[0] * 0.25)
        assert point[2] == pytest.approx(point[1] * -2)
        assert 0.5 - 1e-12 <= point[0] <= 2.0 + 1e-12
        assert 0.5 - 1e-12 <= point[2] <= 4.0 + 1e-12
    assert len({point[0] for point in starts}) == 50


def test_random_starts_are_drawn_from_ranges_and_stay_in_bounds():
    constraints = Constraints(
        ranges={"f0": (10.0, 11.0), "f1": (3.0, 3.0), "constant": (5.0, 6.0)},
        bounds={"f2": (0.9, 1.1), "f0": (-2.0, 12.0)},
        fixed=frozenset({"f3"}),
    )
    problem = make_problem(made_lists(7), Share(), np.ones(5), constraints)
    points = np.array([random_start(problem, np.ones(5), np.random.default_rng(seed)) for seed in range(60)])
    assert (points[:, 0] >= 10).all()
    assert (points[:, 0] <= 11).all()
    assert np.ptp(points[:, 0]) > 0.5
    assert points[:, 1] == pytest.approx(np.full(60, 3.0))
    assert (points[:, 2] >= 0.9).all()
    assert (points[:, 2] <= 1.1).all()
    assert {0.9, 1.1} <= set(points[:, 2])
    assert (points[:, 3:] == 1.0).all()


@pytest.mark.parametrize(
    ("normalization", "measure"),
    [
        (Normalization("l1", 2.0), lambda w: np.abs(w).sum() / 2),
        (Normalization("l2"), lambda w: np.linalg.norm(w)),
        (Normalization("max"), lambda w: np.abs(w).max()),
        (Normalization("weight", 3.0, "f2"), lambda w: abs(w[2]) / 3),
        (None, lambda w: np.abs(w).sum()),
    ],
)
def test_results_are_normalized_and_win_the_same_candidates(normalization, measure):
    lists = made_lists(8)
    plain = make_problem(lists, Share(), START, Constraints(normalization=Normalization("none")))
    problem = make_problem(lists, Share(), START, Constraints(normalization=normalization))
    for tuned in optimize(problem, START, restarts=3, seed=1):
        assert measure(tuned.weights) == pytest.approx(1)
        assert tuned.score == plain.score(tuned.weights * 17)


def test_no_weight_dwarfs_the_others():
    """Without a limit the weight of a feature that is always right would be as large as one likes."""
    rng = np.random.default_rng(0)
    rows = []
    for segment in range(20):
        for i in range(5):
            features = {"good": float(i), "noise": float(rng.normal()), "other": float(rng.normal())}
            rows.append(Candidate(str(segment), "right" if i == 4 else f"w{i}", None, features, None))
    start = np.array([0.0, 1.0, 1.0])
    problem = make_problem(arrange(rows), Share(), start, Constraints(normalization=Normalization("none")))
    best = optimize(problem, start, restarts=0, seed=1)[0]
    assert best.score == 1.0
    assert problem.length(best.weights) <= (REACH + 1) * problem.length(start)
    free = Constraints(only=frozenset({"good"}))
    one = optimize(make_problem(arrange(rows), Share(), start, free), start, restarts=0, seed=1)[0]
    assert one.score == 1.0
    assert one.weights[0] * problem.spread[0] <= REACH * problem.length(start)


@pytest.mark.parametrize(("scale", "found"), [(99.0, True), (101.0, False)])
def test_the_longest_step_is_a_hundred_times_as_long_as_the_weights(scale, found):
    """The right candidate of the first segment wins where the weight of "good" is above 1; lengths count spreads."""
    rows = [Candidate("0", "right", None, {"good": 1.0, "noise": 0.0}, None)]
    rows += [Candidate("0", "wrong", None, {"good": 0.0, "noise": 1.0}, None)]
    rows += [Candidate("1", "right", None, {"good": good, "noise": 0.0}, None) for good in (0.0, scale)]
    start = np.array([0.0, 1.0])
    problem = make_problem(arrange(rows), Share(), start, Constraints(only=frozenset({"good"})))
    needed = problem.spread[0] / problem.length(start)  # as a multiple of the length of the weights
    assert needed == pytest.approx(scale, rel=1e-3)
    assert (optimize(problem, start, restarts=0, seed=1)[0].score == 1.0) == found


def test_huge_and_tiny_features_have_a_spread():
    found = []
    for scale in (1.0, 1e-200, 1e200):
        problem = make_problem(made_lists(5, scales=(scale,) * 5), Share(), np.ones(5) / scale)
        found.append(problem.spread[:4] / scale)
        assert problem.spread[4] == 0
        assert optimize(problem, np.ones(5) / scale, restarts=1, seed=1)[0].score > 0.5
    assert found[1] == pytest.approx(found[0])
    assert found[2] == pytest.approx(found[0])


HELD = "0 ||| right ||| x= 1 y= 0\n0 ||| wrong ||| x= 0 y= 0 s_a= 10\n0 ||| other ||| x= 0.5 y= 2 s_b= 7\n"


def test_what_is_held_adds_to_the_model_score(tmp_path):
    (tmp_path / "list").write_text(HELD)
    lists = read_lists([tmp_path / "list"])
    start = np.array([1.0, 1.0])
    problem = make_problem(lists, Share(), start, sparse_weights=np.array([1.0, 0.0]))
    assert problem.normalization.kind == "none"
    assert problem.whole.values(np.array([5.0, 1.0])).tolist() == [5, 10, 4.5]
    assert problem.choice(np.array([5.0, 1.0])).chosen.tolist() == [1]
    best = optimize(problem, start, restarts=0, seed=1)[0]
    assert (best.score, problem.choice(best.weights).chosen.tolist()) == (1.0, [0])
    assert best.weights[0] > 10
    unused = make_problem(lists, Share(), start, sparse_weights=np.zeros(2))
    assert unused.normalization.kind == "l1"
    with pytest.raises(RyptError, match="the normalization max cannot be had"):
        make_problem(
            lists,
            Share(),
            start,
            Constraints(normalization=Normalization("max")),
            sparse_weights=np.array([1.0, 0.0]),
        )


@pytest.mark.parametrize("kind", ["min", "average"])
def test_a_window_never_leads_in_circles(kind, monkeypatch):
    """Smoothed scores of a point differ from line to line; along a climb each is better than the one before."""
    take = _Climb.take
    scores = []

    def watched(walk, move):
        scores[-1].append(move.step.score)
        take(walk, move)

    monkeypatch.setattr(_Climb, "take", watched)
    for seed in range(5):
        problem = make_problem(made_lists(seed), Share(), START, window=Window(kind, 2))
        scores.append([])
        climb(problem, START, np.random.default_rng(seed))
    assert all(np.all(np.diff(each) > 0) for each in scores)
    assert max(map(len, scores)) > 2


@pytest.mark.parametrize("kind", ["min", "average"])
def test_a_window_climbs_more_than_one_pass(kind):
    problem = make_problem(made_lists(9, segments=60), Share(), START, window=Window(kind, 2))
    best = optimize(problem, START, restarts=3, seed=1)[0]
    assert best.score > 0.75
    end = climb(problem, START, np.random.default_rng(1))
    assert end.searches > len(problem.axes) + 5
    assert problem.length(end.weights) < 100 * REACH**2 * problem.length(START)


@given(st.integers(0, 50), st.integers(1, 2100), st.integers(1, 4))
@settings(max_examples=30)
def test_columns_are_combined_in_their_order(seed, size, width):
    rng = np.random.default_rng(seed)
    features, weights = np.asfortranarray(rng.normal(size=(size, width))), rng.normal(size=width)
    expected = np.zeros(size)
    for column in range(width):
        expected = expected + features[:, column] * weights[column]
    assert combine(features, weights).tolist() == pytest.approx(expected.tolist(), rel=1e-14, abs=1e-14)


def test_lists_without_features_cannot_be_tuned():
    lists = arrange([Candidate("0", "a", None, {}, None)])
    with pytest.raises(RyptError, match="the lists have no features to tune"):
        make_problem(lists, Share(), np.zeros(0))


def test_one_candidate_a_segment_leaves_all_as_it_is():
    lists = arrange([Candidate(str(i), "right", None, {"x": float(i)}, None) for i in range(3)])
    problem = make_problem(lists, Share(), np.array([2.0]))
    assert [t.weights.tolist() for t in optimize(problem, np.array([2.0]), restarts=2, seed=1)] == [[1.0]] * 3
