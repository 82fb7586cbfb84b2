"""Weights for unseen segments: estimates that find what the data hold, and no mean that loses what climbs gain."""

import numpy as np
import pytest
from made_lists import START, Errors, Share, made_lists

from mert.constraints import Constraints
from mert.problem import gains, make_problem
from mert.search import SearchSettings, optimize, solve
from mert.unseen import descend, mean_weights, unseen_weights


def test_gains_are_those_of_one_exchanged_candidate():
    problem = make_problem(made_lists(segments=5), Share(), START)
    candidates, here = problem.parts.value, problem.choose(START)
    found = gains(candidates, START, here.sums)
    before = problem.score(START)
    for segment, start in enumerate(candidates.offsets[:-1]):
        for candidate in range(start, candidates.offsets[segment + 1]):
            exchanged = here.rows.copy()
            exchanged[segment] = candidate
            score = problem.rate(candidates.stats[exchanged].sum(axis=0)[None])[0]
            assert found[candidate] == pytest.approx(score - before)


@pytest.mark.slow
def test_weights_for_unseen_segments_do_better_there_than_the_optimum_of_few():
    """Twenty lists of 12 segments, scored on 300 others made in the same way."""
    better = []
    for seed in range(20):
        problem = make_problem(made_lists(seed, segments=12), Share(), START)
        others = make_problem(made_lists(1000 + seed, segments=300), Share(), START)
        ends = optimize(problem, START, restarts=8, seed=seed, scattered=True)
        weights = unseen_weights(problem, START, [end.weights for end in ends], np.random.default_rng(seed))
        assert problem.score(weights) > problem.score(START)
        better.append(others.score(weights) - others.score(ends[0].weights))
    assert np.mean(better) > 0.01


def test_a_metric_that_is_better_when_lower_leads_to_the_same_weights():
    search = SearchSettings(restarts=3)
    up = solve(make_problem(made_lists(), Share(), START), START, search)
    down = solve(make_problem(made_lists(), Errors(), START), START, search)
    assert down.weights == pytest.approx(up.weights)


def test_a_mean_that_loses_what_the_climbs_gain_is_not_taken():
    """Two optima on opposite sides: their mean decides nothing."""
    problem = make_problem(made_lists(), Share(), START, Constraints(fixed=frozenset({"f1", "f2", "f3"})))
    best = optimize(problem, START, restarts=3, seed=1)[0]
    opposite = best.weights * [-1, 1, 1, 1, 1]
    ends = [best.weights, opposite, opposite, opposite]
    weights = unseen_weights(problem, START, ends, np.random.default_rng(1))
    assert problem.score(weights) >= problem.score(START)
    assert weights.tolist() == best.weights.tolist()


def test_held_weights_stay_and_bounds_hold():
    fixed = make_problem(made_lists(3), Share(), START, Constraints(fixed=frozenset({"f1"})))
    assert solve(fixed, START, SearchSettings(restarts=3)).weights[1] == START[1]
    start = np.abs(START)
    signed = make_problem(made_lists(3), Share(), start, Constraints(bounds={"f1": (0.0, np.inf)}))
    assert solve(signed, start, SearchSettings(restarts=3)).weights[1] >= 0


def test_the_mean_of_weights_is_that_of_their_proportions_unless_lengths_count():
    problem = make_problem(made_lists(5), Share(), START)
    one, two = np.array([1.0, 0.0, 1.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0, 0.0, 0.0])
    assert mean_weights(problem, [one, 1000 * two]) == pytest.approx(mean_weights(problem, [one, two]))
    assert mean_weights(problem, [one, np.zeros(5)]) == pytest.approx([0.5, 0, 0.5, 0, 0])
    held = make_problem(made_lists(3), Share(), START, Constraints(fixed=frozenset({"f1"})))
    assert mean_weights(held, [START, 3 * START]).tolist() == (2 * START).tolist()


def test_descent_ends_at_a_minimum_of_a_curved_valley():
    def loss(p):
        x, y = p
        return (1 - x) ** 2 + 10 * (y - x**2) ** 2, np.array(
            [-2 * (1 - x) - 40 * x * (y - x**2), 20 * (y - x**2)]
        )

    assert descend(loss, np.array([-1.0, 1.0])) == pytest.approx([1, 1], abs=0.05)
    assert descend(lambda p: (0.0, np.zeros(1)), np.array([4.0])).tolist() == [4.0]


def test_where_nothing_gains_the_start_is_kept():
    """As in a campaign without labels: the estimates know nothing, and their mean would be noise."""

    class Flat(Share):
        def score(self, sums):
            return np.full(len(sums), 0.5)

    problem = make_problem(made_lists(), Flat(), START)
    assert solve(problem, START, SearchSettings(restarts=3)).weights == pytest.approx(problem.scaled(START))
