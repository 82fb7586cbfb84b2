"""What is said of weights that look wrong."""

import math

import numpy as np
import pytest

from mert.constraints import Constraints, Normalization
from mert.health import examine, flatness
from mert.lists.arrays import arrange
from mert.optimize import make_problem
from rypt.records import Candidate


class Count:
    """A metric for problems that are not solved here."""

    signature = "count"
    maximize = True
    scale = 1.0

    def stats(self, candidates):
        return np.ones((len(candidates), 1), np.int64)

    def score(self, sums):
        return sums[:, 0].astype(float)


START = np.ones(4)


def made_problem(constraints=None, start=START, scale=1.0):
    rng = np.random.default_rng(0)
    rows = [
        Candidate(
            str(i // 4),
            f"t{i}",
            None,
            {**dict(zip("abc", (rng.normal(size=3) * [scale, 1, 1]).tolist(), strict=True)), "same": 5.0},
            None,
        )
        for i in range(40)
    ]
    return make_problem(
        arrange(rows), Count(), start, constraints or Constraints(normalization=Normalization("none"))
    )


IDLE = "never different inside a segment, so left alone: same"


def test_good_weights_get_no_note_but_on_idle_features():
    assert examine(made_problem(), np.array([1.0, -0.5, 0.25, 1.0]), START) == [IDLE]


def test_a_score_before_tuning_that_the_order_of_the_lists_gives_is_told():
    weights = np.array([1.0, -0.5, 0.25, 1.0])
    note, *others = examine(made_problem(), weights, np.zeros(4))
    assert "same model score" in note
    assert "the gain says nothing" in note
    assert others == [IDLE]
    assert len(examine(made_problem(), np.zeros(4), np.zeros(4))) == 2


def test_a_collapsed_weight_is_named_unless_it_was_0_before():
    weights = np.array([1.0, 1e-9, 0.0, 1.0])
    assert examine(made_problem(), weights, START)[0] == "collapsed to almost nothing: b, c"
    assert (
        examine(made_problem(), weights, np.array([1.0, 1.0, 0.0, 1.0]))[0]
        == "collapsed to almost nothing: b"
    )
    held = Constraints(fixed=frozenset({"b"}))
    weights = np.array([1.0, 1e-9, 1.0, 1.0])
    assert examine(made_problem(held), weights, weights) == [IDLE]


def test_what_becomes_of_held_weights_is_told():
    held = Constraints(fixed=frozenset({"b"}))
    notes = examine(made_problem(held), np.array([50.0, 0.1, 50.0, 1.0]), START)
    assert notes[0] == "normalization scaled weights that are held, too: b"
    assert notes[1] == "the weights that moved grew so large that held ones decide next to nothing: b"


def test_a_weight_that_drowns_the_others_is_named():
    (note, idle) = examine(made_problem(), np.array([0.01, 100.0, 0.01, 0.0]), START)
    assert note == "b alone decides 100 % of the model score"
    assert idle == IDLE


def test_size_is_measured_by_what_a_weight_does():
    """A feature in large units has a small weight without having collapsed, and the other way round."""
    scaled = np.array([1e-9, 1.0, 1.0, 1.0])
    assert examine(made_problem(scale=1e9), scaled, START) == [IDLE]
    assert "a alone decides" in examine(made_problem(scale=1e9), np.ones(4), START)[1]


@pytest.mark.parametrize("weight", [0.0, 1.0, 1e12])
def test_an_idle_feature_decides_nothing_whatever_its_weight(weight):
    assert examine(made_problem(), np.array([1.0, 1.0, 1.0, weight]), START) == [IDLE]


def test_weights_of_zero_are_named():
    note = ["all weights that decide are 0: every candidate has the same model score"]
    assert examine(made_problem(), np.zeros(4), START) == note
    assert examine(made_problem(), np.array([0.0, 0.0, 0.0, 3.0]), START) == note


def test_weights_at_the_edge_of_their_bounds_are_named():
    constraints = Constraints(bounds={"a": (0.0, 2.0), "b": (-1.0, math.inf), "c": (-math.inf, 5.0)})
    problem = made_problem(constraints)
    at_edge = "at the edge of its bounds: "
    assert examine(problem, np.array([2.0, 1.0, 1.0, 1.0]), START) == [at_edge + "a (2)", IDLE]
    assert examine(problem, np.array([1.0, -1.0, 5.0, 1.0]), START) == [at_edge + "b (-1), c (5)", IDLE]
    assert examine(problem, np.array([1.0, 0.0, 4.9, 1.0]), START)[-1] == IDLE
    held = Constraints(bounds={"a": (0.0, 1.0)}, fixed=frozenset({"a"}))
    assert examine(made_problem(held), np.ones(4), START) == [IDLE]


def test_a_normalization_that_leaves_the_bounds_is_named():
    constraints = Constraints(bounds={"a": (0.5, 2.0)}, normalization=Normalization("l1"))
    notes = examine(made_problem(constraints), np.full(4, 0.25), START)
    assert notes == ["normalization took weights out of their bounds: a", IDLE]


def test_a_problem_in_which_nothing_may_move_is_named():
    assert examine(made_problem(Constraints(fixed=frozenset("abc"))), START, START) == [
        "no weight may move",
        IDLE,
    ]


class Blind(Count):
    """Sees the candidates of the first segments only."""

    def __init__(self, sighted):
        self.sighted = sighted

    def stats(self, candidates):
        return np.array(
            [[int(int(raw.segment) < self.sighted and raw.text == "0")] for raw in candidates], np.int64
        )


@pytest.mark.parametrize(
    ("sighted", "note"), [(0, "the metric is flat"), (1, "of 1 of 30 segments apart"), (2, None)]
)
def test_a_metric_that_tells_few_candidates_apart(sighted, note):
    raws = [Candidate(str(i // 2), str(i % 2), None, {"f": float(i % 2), "g": 1.0}, None) for i in range(60)]
    problem = make_problem(arrange(raws), Blind(sighted), np.ones(2))
    notes = flatness(problem, np.ones(2))
    assert [note in text for text in notes] == ([True] if note else [])
