"""The search: never down, within constraints, the same for any number of threads and any units of the features."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_lists import NAMES, START, TRUTH, Errors, Share, arranged, candidates_of, made_lists

from mert.constraints import Constraints, Normalization
from mert.lists import read_lists
from mert.problem import make_problem, weighted_sum
from mert.search import ALGORITHMS, LONGEST_STEP, SearchSettings, climb, optimize, random_start, solve
from rypt.text import RyptError

PLAIN = Constraints(normalization=Normalization("none"))


def one_feature():
    """Lists whose first candidates are all right, and whose only feature is 1 for these and 2 for the wrong ones."""
    rows = [(i, text, {"f": value}) for i in range(6) for text, value in (("right", 1.0), ("wrong", 2.0))]
    return candidates_of(rows)


def test_no_gain_comes_from_the_order_of_the_lists():
    """A weight of 0 makes all candidates tie, and the first ones, which are right here, would win."""
    start = np.array([1.0])
    bounded = make_problem(one_feature(), Share(), start, Constraints(bounds={"f": (0.0, math.inf)}))
    assert bounded.all_tied(np.array([0.0]))
    assert not bounded.all_tied(np.array([1e-300]))
    best = optimize(bounded, start, earlier=[np.array([0.0])], restarts=5)[0]
    assert (best.weights[0] > 0, best.score) == (True, 0.0)
    free = optimize(make_problem(one_feature(), Share(), start), np.array([0.0]), restarts=0)[0]
    assert (free.weights[0] < 0, free.score) == (True, 1.0)


def test_a_climb_never_goes_down_and_ends_at_a_top():
    problem = make_problem(made_lists(1), Share(), START)
    rng = np.random.default_rng(5)
    for _ in range(5):
        start = rng.normal(size=5)
        end = climb(problem, start, np.random.default_rng(1), enough=0.0)
        assert end.score == problem.score(end.weights) >= problem.score(start)
        for axis in problem.axes:  # nowhere along an axis is it better
            for t in np.linspace(-3, 3, 601):
                assert problem.score(end.weights + t * axis) <= end.score + 1e-12


@pytest.mark.parametrize("scattered", [False, True])
def test_threads_change_nothing_and_the_seed_decides(scattered):
    problem = make_problem(made_lists(2), Share(), START)
    one, threads, other = (
        [end.weights.tolist() for end in optimize(problem, START, restarts=6, scattered=scattered, **more)]
        for more in ({"seed": 1}, {"seed": 1, "threads": 3}, {"seed": 2})
    )
    assert one == threads
    assert one != other


def test_candidates_that_never_won_are_left_out(monkeypatch):
    """Climbs see the others only; what they come to is scored on all, so little is lost."""
    problem = make_problem(made_lists(4, segments=60, candidates=30), Share(), START)
    whole = optimize(problem, START, restarts=9)[0]
    monkeypatch.setattr("mert.search.SMALL_LIST", 50)
    some = optimize(problem, START, restarts=9)[0]
    assert some.score == problem.score(some.weights) >= whole.score - 0.05


@pytest.mark.parametrize("scales", [(1000, 1, 1, 1, 1), (1, 1 / 1024, 1, 1, 4096), (2, 0.5, 1e-6, 1e6, 1)])
def test_the_units_of_features_change_nothing(scales):
    """Weights take up the scale, and the same candidates win."""
    found = []
    for scale in (np.ones(5), np.array(scales, float)):
        problem = make_problem(made_lists(5, scales=scale), Share(), np.ones(5) / scale)
        best = optimize(problem, np.ones(5) / scale, restarts=4)[0]
        found.append((best.score, problem.choose(best.weights).rows.tolist()))
    assert found[0] == found[1]


@settings(max_examples=20)
@given(st.integers(0, 1000), st.randoms(use_true_random=False))
def test_the_order_of_candidates_changes_nothing(seed, random):
    lists = made_lists(seed, segments=6, candidates=4)
    shuffled = list(lists.candidates)
    random.shuffle(shuffled)
    best = optimize(make_problem(lists, Share(), START), START, restarts=1)[0]
    assert (
        optimize(make_problem(arranged(shuffled), Share(), START), START, restarts=1)[0].score == best.score
    )


def test_a_feature_that_never_differs_has_no_say_in_lengths():
    """Its weight may be anything: the same steps are taken, and the others get the same weights."""
    found = []
    for weight in (0.0, 1.0, 1e9):
        start = np.array([1.0, 1.0, 1.0, 1.0, weight])
        problem = make_problem(made_lists(3), Share(), start, PLAIN)
        assert problem.length(start) == pytest.approx(problem.length(np.array([1.0, 1.0, 1.0, 1.0, 0.0])))
        found.append(problem.choose(optimize(problem, start, restarts=2)[0].weights).rows.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("metric", [Share(), Errors()])
def test_every_algorithm_gains_and_scores_are_the_metrics_own(algorithm, metric):
    problem = make_problem(made_lists(), metric, START)
    search = SearchSettings(algorithm, restarts=3)
    solution, again = solve(problem, START, search), solve(problem, START, search)
    sign = 1 if metric.maximize else -1
    assert solution.weights.tolist() == again.weights.tolist()
    assert sign * (solution.score - solution.start_score) > 0.2
    assert solution.score == sign * problem.score(solution.weights)
    assert solution.start_score == sign * problem.score(START)
    assert solution.gain.gain == pytest.approx(sign * (solution.score - solution.start_score))
    assert solution.gain.p < 0.05
    assert np.abs(solution.weights).sum() == pytest.approx(1)
    assert solution.weights[0] > 0 > solution.weights[1]
    if algorithm == "mert":
        assert solution.searches > 0
        assert sign * solution.ends[0] == max(sign * end for end in solution.ends)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_keeps_the_constraints(algorithm):
    start = np.array([1.0, 0.25, 0.5, 0.125, 3.0])
    constraints = Constraints(
        fixed=frozenset({"f1"}), tied=(("f0", "f3"),), bounds={"f2": (0.0, 0.75), "f0": (0.0, 2.0)}
    )
    problem = make_problem(made_lists(3), Share(), start, constraints)
    weights = solve(problem, start, SearchSettings(algorithm, restarts=3)).weights
    assert weights.tolist() != start.tolist()
    assert weights[[1, 4]].tolist() == [0.25, 3.0], "held, and the same in all candidates"
    assert weights[3] == pytest.approx(weights[0] / 8)
    assert 0 <= weights[2] <= 0.75
    assert 0 <= weights[0] <= 2
    reverse = make_problem(made_lists(3), Share(), START, Constraints(bounds={"f0": (-1.0, 0.0)}))
    assert -1 <= solve(reverse, START, SearchSettings(algorithm, restarts=3)).weights[0] <= 0


def test_all_climbs_stay_in_bounds():
    bounds = dict.fromkeys(NAMES[:4], (0.1, 0.75)) | {"constant": (0.0, 1.0)}
    problem = make_problem(made_lists(4), Share(), np.full(5, 0.5), Constraints(bounds=bounds))
    for end in optimize(problem, np.full(5, 0.5), restarts=8):
        assert (end.weights >= [0.1, 0.1, 0.1, 0.1, 0]).all()
        assert (end.weights <= 0.75).all()
    held = Constraints(fixed=frozenset({"f3"}), bounds={"f3": (5.0, 6.0)})
    problem = make_problem(made_lists(4), Share(), START, held)
    assert all(end.weights[3] == 1.0 for end in optimize(problem, START, restarts=2))


def test_only_the_named_weights_move():
    start = np.array([0.0, -0.5, 0.25, 0.0, 2.0])
    problem = make_problem(made_lists(3), Share(), start, Constraints(only=frozenset({"f0"})))
    best = optimize(problem, start, restarts=3)[0]
    assert best.weights[1:].tolist() == start[1:].tolist()
    assert best.score > problem.score(start)
    every = make_problem(made_lists(3), Share(), START, Constraints(fixed=frozenset(NAMES[:4])))
    assert [end.weights.tolist() for end in optimize(every, START, restarts=2)] == [START.tolist()] * 3


def test_random_starts_are_drawn_from_ranges_and_stay_in_bounds():
    constraints = Constraints(
        ranges={"f0": (10.0, 11.0), "f1": (3.0, 3.0), "constant": (5.0, 6.0)},
        bounds={"f2": (0.9, 1.1), "f0": (-2.0, 12.0)},
        fixed=frozenset({"f3"}),
    )
    problem = make_problem(made_lists(7), Share(), np.ones(5), constraints)
    points = np.array([random_start(problem, np.ones(5), np.random.default_rng(seed)) for seed in range(60)])
    assert ((points[:, 0] >= 10) & (points[:, 0] <= 11)).all()
    assert np.ptp(points[:, 0]) > 0.5
    assert points[:, 1] == pytest.approx(np.full(60, 3.0))
    assert {0.9, 1.1} <= set(points[:, 2])
    assert ((points[:, 2] >= 0.9) & (points[:, 2] <= 1.1)).all()
    assert (points[:, 3:] == 1.0).all()
    tied = Constraints(
        tied=(("f0", "f3"),), ranges={"f0": (0.5, 2.0), "f3": (-9.0, 9.0)}, normalization=PLAIN.normalization
    )
    start = np.array([1.0, -0.5, 1.0, 0.25, 1.0])
    problem = make_problem(made_lists(7), Share(), start, tied)
    for seed in range(50):
        point = random_start(problem, start, np.random.default_rng(seed))
        assert point[3] == pytest.approx(point[0] * 0.25)
        assert 0.5 - 1e-12 <= point[0] <= 2.0 + 1e-12


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
    plain = make_problem(made_lists(8), Share(), START, PLAIN)
    problem = make_problem(made_lists(8), Share(), START, Constraints(normalization=normalization))
    for end in optimize(problem, START, restarts=3):
        assert measure(end.weights) == pytest.approx(1)
        assert end.score == plain.score(end.weights * 17)


@pytest.mark.parametrize(("scale", "within"), [(99.0, True), (101.0, False)])
def test_the_longest_step_is_a_hundred_times_as_long_as_the_weights(scale, within):
    """The right candidate of the first segment wins where the weight of "good" is above 1; lengths count spreads."""
    rows = [(0, "right", {"good": 1.0, "noise": 0.0}), (0, "wrong", {"good": 0.0, "noise": 1.0})]
    rows += [(1, "right", {"good": good, "noise": 0.0}) for good in (0.0, scale)]
    start = np.array([0.0, 1.0])
    problem = make_problem(candidates_of(rows), Share(), start, Constraints(only=frozenset({"good"})))
    assert problem.spread[0] / problem.length(start) == pytest.approx(scale, rel=1e-3)
    assert (optimize(problem, start, restarts=0)[0].score == 1.0) == within
    assert LONGEST_STEP == 100


def test_huge_and_tiny_features_have_a_spread_and_too_large_ones_are_refused():
    plain = make_problem(made_lists(5), Share(), np.ones(5)).spread
    for scale in (1e-120, 1e120):
        problem = make_problem(made_lists(5, scales=(scale,) * 5), Share(), np.ones(5) / scale)
        assert problem.spread / scale == pytest.approx(plain)
        assert optimize(problem, np.ones(5) / scale, restarts=1)[0].score > 0.5
    with pytest.raises(RyptError, match=r"feature f0 has values .* too large"):
        make_problem(made_lists(5, scales=(1e200,) * 5), Share(), np.ones(5))


def test_the_spread_is_the_deviation_from_the_means_of_segments():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(30, 3)) + rng.normal(size=(30, 1)) * 50
    rows = [
        (i // 3, f"t{i}", {"x": x, "same": 0.1 * (i // 3)}) for i, x in enumerate(values.ravel().tolist())
    ]
    spread = make_problem(candidates_of(rows), Share(), np.ones(2)).spread
    assert spread == pytest.approx(
        [np.sqrt(((values - values.mean(axis=1, keepdims=True)) ** 2).mean()), 0.0]
    )


def test_what_is_held_adds_to_the_model_score(tmp_path):
    text = (
        "0 ||| right ||| x= 1 y= 0\n0 ||| wrong ||| x= 0 y= 0 s_a= 10\n0 ||| other ||| x= 0.5 y= 2 s_b= 7\n"
    )
    (tmp_path / "list").write_text(text)
    lists, start = read_lists([tmp_path / "list"]), np.array([1.0, 1.0])
    problem = make_problem(lists, Share(), start, sparse_weights=np.array([1.0, 0.0]))
    assert problem.normalization.kind == "none"
    assert problem.choose(np.array([5.0, 1.0])).rows.tolist() == [1]
    best = optimize(problem, start, restarts=0)[0]
    assert (best.score, best.weights[0] > 10) == (1.0, True)
    assert make_problem(lists, Share(), start, sparse_weights=np.zeros(2)).normalization.kind == "l1"
    scaled = Constraints(normalization=Normalization("max"))
    with pytest.raises(RyptError, match="the normalization max cannot be had"):
        make_problem(lists, Share(), start, scaled, sparse_weights=np.array([1.0, 0.0]))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_sees_what_sparse_features_add(algorithm, tmp_path):
    rng = np.random.default_rng(1)
    lines = []
    for segment in range(30):
        for i in range(6):
            x, y, z = rng.normal(size=3)
            text = "right" if i == 0 else f"wrong {i}"
            lines.append(f"{segment} ||| {text} ||| x= {x + (i == 0)} y= {y} s_z= {z}\n")
    (tmp_path / "list").write_text("".join(lines))
    lists = read_lists([tmp_path / "list"])
    problem = make_problem(lists, Share(), np.ones(2), sparse_weights=np.array([2.0]))
    solution = solve(problem, np.ones(2), SearchSettings(algorithm, restarts=3))
    assert solution.score > solution.start_score
    best = lists.best(solution.weights, np.array([2.0]))
    assert solution.score == np.mean([lists.candidates[i].text == "right" for i in best])


@given(st.integers(0, 50), st.integers(1, 2100), st.integers(1, 4))
@settings(max_examples=30)
def test_columns_are_summed_in_their_order(seed, size, width):
    """So the sums are the same to the last bit however the candidates are divided."""
    rng = np.random.default_rng(seed)
    features, weights = np.asfortranarray(rng.normal(size=(size, width))), rng.normal(size=width)
    whole = weighted_sum(features, weights)
    assert whole == pytest.approx(features @ weights, rel=1e-12, abs=1e-12)
    cut = size // 3
    parts = [weighted_sum(np.asfortranarray(part), weights) for part in (features[:cut], features[cut:])]
    assert np.concatenate(parts).tolist() == whole.tolist()


def test_lists_that_leave_nothing_to_tune():
    with pytest.raises(RyptError, match="the lists have no features to tune"):
        make_problem(candidates_of([(0, "a", {})]), Share(), np.zeros(0))
    alone = candidates_of((i, "right", {"x": float(i)}) for i in range(3))
    problem = make_problem(alone, Share(), np.array([2.0]))
    assert [end.weights.tolist() for end in optimize(problem, np.array([2.0]), restarts=2)] == [[1.0]] * 3


def test_replicates_have_seeds_that_follow_one_another():
    problem = make_problem(made_lists(5), Share(), START)
    solution = solve(problem, START, SearchSettings(restarts=1, seed=7, replicates=3, aim="list"))
    runs = [optimize(problem, START, restarts=1, seed=seed) for seed in (7, 8, 9)]
    assert solution.scores == tuple(run[0].score for run in runs)
    best = max(runs, key=lambda run: run[0].score)[0]
    assert (solution.weights.tolist(), solution.score) == (best.weights.tolist(), max(solution.scores))
    assert len(solution.ends) == 6
    assert solution.searches == sum(end.searches for run in runs for end in run)


def test_earlier_weights_are_climbed_from_as_well():
    problem = make_problem(made_lists(6), Share(), START)
    good = optimize(problem, START, restarts=20, seed=3)[0]
    solution = solve(problem, -good.weights, SearchSettings(restarts=0, aim="list"), earlier=[good.weights])
    assert solution.score >= good.score - 1e-12
    assert len(solution.ends) == 2


def test_without_settings_the_weights_stay():
    problem = make_problem(made_lists(6), Share(), -START)
    solution = solve(problem, -START, None)
    assert solution.weights.tolist() == problem.scaled(-START).tolist()
    assert (solution.score, solution.gain.gain, solution.ends) == (problem.score(-START), 0.0, ())


def test_settings_are_part_of_signatures_and_mistakes_are_refused():
    assert str(SearchSettings()) == "mert|aim:unseen|restarts:20|seed:1"
    assert str(SearchSettings(aim="list").settled(16)) == "mert|aim:list|restarts:80|seed:1"
    assert str(SearchSettings(aim="list").settled(17)) == "mert|aim:list|restarts:85|seed:1"
    assert str(SearchSettings(aim="list", restarts=3).settled(50)) == "mert|aim:list|restarts:3|seed:1"
    assert str(SearchSettings("pro", seed=3, replicates=2)) == "pro|seed:3|replicates:2"
    for wrong in ({"algorithm": "none"}, {"aim": "dev"}, {"restarts": -1}, {"threads": 0}):
        with pytest.raises(RyptError, match=f"{next(iter(wrong))} must be"):
            SearchSettings(**wrong)


def test_what_the_data_hold_is_found():
    problem = make_problem(made_lists(), Share(), START)
    best = optimize(problem, START, restarts=5, seed=3)[0]
    assert problem.score(START) < 0.2
    assert best.score > 0.8
    assert best.weights[:4] / best.weights[0] == pytest.approx(TRUTH, abs=0.35)
