"""Climbing: never down, the same for any number of threads, within bounds."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

from mert.lists import arrange
from mert.optimize import climb, make_problem, optimize
from rypt.records import RawCandidate


class Share:
    """The share of right answers; the first column counts them."""

    signature = "share"

    def stats(self, lists):
        return np.array([[int(raw.text == "right"), 1] for raw in lists.candidates], np.int64)

    def score(self, sums):
        return sums[:, 0] / np.maximum(sums[:, 1], 1)


def made_lists(seed=0, segments=30, candidates=8):
    """Lists in which a known direction picks the right candidate, up to some noise."""
    rng = np.random.default_rng(seed)
    truth = np.array([1.0, -0.5, 0.25, 0.0])
    rows = []
    for segment in range(segments):
        features = rng.normal(size=(candidates, 4))
        right = int(np.argmax(features @ truth + rng.normal(scale=0.2, size=candidates)))
        for i, row in enumerate(features):
            named = {f"f{k}": float(v) for k, v in enumerate(row)} | {"constant": 7.0}
            rows.append(RawCandidate(str(segment), "right" if i == right else f"wrong {i}", None, named, None))
    return arrange(rows)


def test_tuning_finds_what_the_data_hold():
    problem = make_problem(made_lists(), Share())
    start = np.array([-1.0, 1.0, 1.0, 1.0, 1.0])
    best = optimize(problem, start, restarts=5, seed=3)[0]
    assert problem.score(start) < 0.2
    assert best.score > 0.8
    assert problem.score(best.weights) == pytest.approx(best.score)
    assert best.weights[0] > 0 > best.weights[1]


def test_a_climb_never_goes_down_and_ends_at_a_top():
    problem = make_problem(made_lists(1), Share())
    rng = np.random.default_rng(5)
    for _ in range(5):
        start = rng.normal(size=5)
        end = climb(problem, start, np.random.default_rng(1))
        assert end.score >= problem.score(start)
        again = climb(problem, end.weights, np.random.default_rng(1))
        assert again.score >= end.score


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_change_the_answer(threads):
    problem = make_problem(made_lists(2), Share())
    alone = optimize(problem, np.ones(5), restarts=6, seed=9)
    together = optimize(problem, np.ones(5), restarts=6, seed=9, threads=threads)
    assert [r.score for r in alone] == [r.score for r in together]
    assert all((a.weights == b.weights).all() for a, b in zip(alone, together, strict=True))


def test_any_executor_will_do():
    problem = make_problem(made_lists(2, segments=8), _PICKLED)
    with ProcessPoolExecutor(max_workers=2) as pool:
        there = optimize(problem, np.ones(5), restarts=2, seed=9, executor=pool)
    here = optimize(problem, np.ones(5), restarts=2, seed=9)
    assert [r.score for r in there] == [r.score for r in here]


def test_fixed_and_constant_features_keep_their_weights():
    problem = make_problem(made_lists(3), Share(), fixed=["f1"])
    best = optimize(problem, np.array([1.0, 0.125, 1.0, 1.0, 3.0]), restarts=3, seed=1)[0]
    assert best.weights[1] == 0.125
    assert best.weights[4] == 3.0


def test_bounds_hold():
    problem = make_problem(made_lists(4), Share(), low=0.0, high=1.0)
    for result in optimize(problem, np.full(5, 0.5), restarts=5, seed=1):
        assert (result.weights >= 0).all()
        assert (result.weights <= 1).all()


_PICKLED = Share()
