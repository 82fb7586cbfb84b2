"""The paired bootstrap against one made segment by segment, and notes on weights that look wrong."""

import math

import numpy as np
import pytest
from made_lists import Share, candidates_of

from mert.checks import bootstrap_gain, flatness, notes_on
from mert.constraints import Constraints, Normalization
from mert.problem import make_problem


class Ratio(Share):
    """A share, the candidate's text saying of what."""

    def stats(self, candidates):
        return np.array([[int(x) for x in raw.text.split("/")] for raw in candidates], np.int64)


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
        rows += [(i, f"{one}/{total}", {"x": 1.0, "y": 0.0}), (i, f"{two}/{total} ", {"x": 0.0, "y": 1.0})]
    return make_problem(candidates_of(rows), metric or Ratio(), np.ones(2))


X, Y = np.array([1.0, 0.0]), np.array([0.0, 1.0])


def test_gains_are_those_of_resampled_segments():
    problem = made_problem(3, shift=2)
    found = bootstrap_gain(problem, X, Y, np.random.default_rng(7))
    old, new = problem.parts.value.stats[0::2], problem.parts.value.stats[1::2]
    rng, gains = np.random.default_rng(7), []
    for _ in range(10):
        for drawn in rng.integers(20, size=(100, 20)):
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
    down = bootstrap_gain(made_problem(1, Loss(), shift=8), X, Y, np.random.default_rng(1))
    assert (down.gain, down.low, down.high) == pytest.approx((-clear.gain, -clear.high, -clear.low))
    assert down.p == 1.0


@pytest.mark.slow
def test_p_is_honest_where_nothing_is_gained():
    """Of many comparisons without a difference about one in twenty looks significant."""
    found = [bootstrap_gain(made_problem(seed), X, Y, np.random.default_rng(1)).p for seed in range(200)]
    assert 0.01 < np.mean(np.array(found) <= 0.05) < 0.12
    assert 0.4 < np.mean(found) < 0.6


class Count(Share):
    """A metric for problems that are not solved here."""

    def stats(self, candidates):
        return np.ones((len(candidates), 1), np.int64)

    def score(self, sums):
        return sums[:, 0].astype(float)


START = np.ones(4)
IDLE = "never different inside a segment, so left alone: same"


def notes(weights, start=START, constraints=None, scale=1.0):
    """The notes on weights of three features and one that never differs."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(40):
        features = dict(zip("abc", (rng.normal(size=3) * [scale, 1, 1]).tolist(), strict=True))
        rows.append((i // 4, f"t{i}", {**features, "same": 5.0}))
    plain = Constraints(normalization=Normalization("none"))
    problem = make_problem(candidates_of(rows), Count(), START, constraints or plain)
    return notes_on(problem, np.array(weights, float), np.array(start, float))


HELD = Constraints(fixed=frozenset("b"))
BOUNDS = Constraints(bounds={"a": (0.0, 2.0), "b": (-1.0, math.inf), "c": (-math.inf, 5.0)})
EDGE = "at the edge of its bounds: "


@pytest.mark.parametrize(
    ("weights", "more", "expected"),
    [
        ([1, -0.5, 0.25, 1], {}, []),
        ([1, 1e-9, 1, 1], {}, ["collapsed to almost nothing: b"]),
        ([1, 1e-9, 1, 1], {"start": [1, 0, 1, 1]}, []),
        ([1, 1e-9, 1, 1], {"constraints": HELD}, []),
        ([0.01, 100, 0.01, 0], {}, ["b alone decides 100 % of the model score"]),
        ([1e-9, 1, 1, 1], {"scale": 1e9}, []),  # large units, not a collapse
        ([1, 1, 1, 1e12], {}, []),
        ([2, 1, 1, 1], {"constraints": BOUNDS}, [EDGE + "a"]),
        ([1, -1, 5, 1], {"constraints": BOUNDS}, [EDGE + "b, c"]),
        ([1, 0.5, 4.9, 1], {"constraints": BOUNDS}, []),
        ([1, 1, 1, 1], {"constraints": Constraints(fixed=frozenset("abc"))}, ["no weight may move"]),
    ],
)
def test_notes_on_weights(weights, more, expected):
    assert notes(weights, **more) == [*expected, IDLE]


def test_weights_and_starts_that_decide_nothing_are_named():
    assert ["are 0" in note for note in notes(np.zeros(4))] == [True]
    assert ["are 0" in note for note in notes([0, 0, 0, 3])] == [True]
    first, *others = notes([1, -0.5, 0.25, 1], start=np.zeros(4))
    assert "the gain says nothing" in first
    assert others == [IDLE]


class Blind(Count):
    """Sees the candidates of the first segments only."""

    def __init__(self, sighted):
        self.sighted = sighted

    def stats(self, candidates):
        seen = [int(raw.segment) < self.sighted and raw.text == "0" for raw in candidates]
        return np.array(seen, np.int64)[:, None]


@pytest.mark.parametrize(("sighted", "note"), [(0, "the metric is flat"), (1, "1 of 30 segments"), (2, None)])
def test_a_metric_that_distinguishes_few_candidates(sighted, note):
    rows = [(i // 2, str(i % 2), {"f": float(i % 2), "g": 1.0}) for i in range(60)]
    problem = make_problem(candidates_of(rows), Blind(sighted), np.ones(2))
    assert [note in text for text in flatness(problem, np.ones(2))] == ([True] if note else [])
