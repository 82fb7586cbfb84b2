"""The paired bootstrap against one made segment by segment."""

import numpy as np
import pytest

from mert.bootstrap import bootstrap_gain
from mert.lists.arrays import arrange
from mert.optimize import make_problem
from rypt.records import Candidate


class Ratio:
    """A share, the candidate's text saying of what."""

    signature = "ratio"
    maximize = True
    scale = 1.0

    def stats(self, candidates):
        return np.array([[int(x) for x in raw.text.split("/")] for raw in candidates], np.int64)

    def score(self, sums):
        return sums[:, 0] / np.maximum(sums[:, 1], 1)


class Loss(Ratio):
    """The same, better when lower."""

    maximize = False


def made_problem(seed, metric=None, shift=0, segments=20):
    """Two candidates per segment: x prefers the first, y the second, which is better by ``shift`` in most segments."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(segments):
        total = int(rng.integers(5, 15))
        one, two = int(rng.integers(0, total)), int(rng.integers(0, total)) + shift
        rows.append(Candidate(str(i), f"{one}/{total}", None, {"x": 1.0, "y": 0.0}, None))
        rows.append(Candidate(str(i), f"{two}/{total} ", None, {"x": 0.0, "y": 1.0}, None))
    return make_problem(arrange(rows), metric or Ratio(), np.ones(2))


X, Y = np.array([1.0, 0.0]), np.array([0.0, 1.0])


def test_gains_are_those_of_resampled_segments():
    problem = made_problem(3, shift=2)
    found = bootstrap_gain(problem, X, Y, np.random.default_rng(7), samples=250)
    old, new = problem.whole.stats[0::2], problem.whole.stats[1::2]
    rng, gains = np.random.default_rng(7), []
    for size in (100, 100, 50):
        for drawn in rng.integers(20, size=(size, 20)):
            a, b = old[drawn].sum(axis=0), new[drawn].sum(axis=0)
            gains.append(b[0] / b[1] - a[0] / a[1])
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(gains, [0.025, 0.975])))
    assert found.p == np.mean(np.array(gains) <= 0)
    a, b = old.sum(axis=0), new.sum(axis=0)
    assert found.gain == pytest.approx(b[0] / b[1] - a[0] / a[1])


def test_a_clear_gain_is_significant_and_none_is_not():
    clear = bootstrap_gain(made_problem(1, shift=8), X, Y, np.random.default_rng(1))
    assert clear.p == 0.0
    assert 0 < clear.low < clear.gain < clear.high
    same = bootstrap_gain(made_problem(1), X, X, np.random.default_rng(1))
    assert (same.gain, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)
    back = bootstrap_gain(made_problem(1, shift=8), Y, X, np.random.default_rng(1))
    assert (back.gain, back.p) == (-clear.gain, 1.0)


def test_p_is_honest_where_nothing_is_gained():
    """Of many comparisons without a difference about one in twenty looks significant."""
    found = [
        bootstrap_gain(made_problem(seed), X, Y, np.random.default_rng(1), samples=200).p
        for seed in range(200)
    ]
    assert 0.01 < np.mean(np.array(found) <= 0.05) < 0.12
    assert 0.4 < np.mean(found) < 0.6


def test_a_metric_that_falls_gains_when_it_falls():
    up = bootstrap_gain(made_problem(1, shift=8), X, Y, np.random.default_rng(1))
    down = bootstrap_gain(made_problem(1, Loss(), shift=8), X, Y, np.random.default_rng(1))
    assert (down.gain, down.low, down.high) == pytest.approx((-up.gain, -up.high, -up.low))
    assert down.p == 1.0


def test_the_generator_decides_and_is_all_that_decides():
    problem = made_problem(2, shift=1)
    one, again, other = (bootstrap_gain(problem, X, Y, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == again
    assert one != other
