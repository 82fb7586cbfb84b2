"""Constraints on weights: by name or by label, and how weights are scaled."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mert.constraints import Constraints, Normalization, read_intervals, read_normalization
from rypt.text import RyptError

NAMES = ("a", "b", "c", "d")
START = np.array([1.0, -2.0, 0.0, 0.5])
ALL = np.ones(4, np.bool_)


@pytest.mark.parametrize(
    ("normalization", "expected"),
    [
        (Normalization("none"), [1, -2, 0, 0.5]),
        (Normalization("l1"), [1 / 3.5, -2 / 3.5, 0, 0.5 / 3.5]),
        (Normalization("l1", 7.0), [2, -4, 0, 1]),
        (Normalization("l2"), [1 / 5.25**0.5, -2 / 5.25**0.5, 0, 0.5 / 5.25**0.5]),
        (Normalization("max"), [0.5, -1, 0, 0.25]),
        (Normalization("max", 8.0), [4, -8, 0, 2]),
        (Normalization("min"), [1, -2, 0, 0.5]),
        (Normalization("weight", 3.0, "b"), [1.5, -3, 0, 0.75]),
        (Normalization("weight", 3.0, "c"), [1, -2, 0, 0.5]),
    ],
)
def test_normalizations(normalization, expected):
    assert normalization.apply(START, NAMES).tolist() == pytest.approx(expected)
    assert normalization.apply(np.zeros(4), NAMES).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("kind", ["l1", "max"])
def test_weights_near_the_smallest_numbers_are_scaled(kind):
    assert Normalization(kind).apply(np.array([3e-320, 0.0]), ("a", "b")).tolist() == [1, 0]


def test_the_smallest_weight_can_be_set():
    assert Normalization("min", 2.0).apply(np.array([4.0, -1.0]), ("a", "b")).tolist() == [8, -2]


@given(
    st.lists(st.floats(-1e6, 1e6).map(lambda x: x if abs(x) > 1e-9 else 0.0), min_size=4, max_size=4),
    st.sampled_from(["l1", "l2", "max", "min", "weight"]),
    st.floats(1e-3, 1e3),
)
def test_scaling_keeps_proportions_and_is_done_once(weights, kind, value):
    normalization = Normalization(kind, value, "b" if kind == "weight" else None)
    once = normalization.apply(np.array(weights), NAMES)
    assert (np.sign(once) == np.sign(weights)).all()
    assert normalization.apply(once, NAMES) == pytest.approx(once, rel=1e-12)
    largest = int(np.argmax(np.abs(weights)))
    assert once * weights[largest] == pytest.approx(np.array(weights) * once[largest], rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (Constraints(fixed=("x", "a")), "a constraint names x; the lists have the features a, b, c, d"),
        (Constraints(only=("y",)), "a constraint names y"),
        (Constraints(bounds={"z": (0, 1)}), "a constraint names z"),
        (Constraints(ranges={"z": (0, 1)}), "a constraint names z"),
        (Constraints(tied=(("a", "q"),)), "a constraint names q"),
        (Constraints(normalization=Normalization("weight", 1.0, "w")), "a constraint names w"),
        (Constraints(tied=(("a", "b"), ("b", "c"))), "a weight is in two tied groups"),
        (Constraints(tied=(("a", "a"),)), "a weight is in two tied groups"),
        (Constraints(bounds={"a": (2, 1)}), r"the bounds of a are empty: 2\.\.1"),
        (Constraints(bounds={"a": (1, 1)}), "the bounds of a are empty"),
        (Constraints(bounds={"a": (math.nan, 1)}), "the bounds of a are empty"),
        (Constraints(bounds={"b": (0, math.inf)}), r"the bounds 0\.\.inf of b exclude its start -2"),
        (Constraints(ranges={"a": (0, math.inf)}), r"the range of a for random starts is empty or infinite"),
        (Constraints(ranges={"a": (1, 0)}), r"the range of a for random starts is empty or infinite"),
        (Constraints(ranges={"a": (math.nan, 0)}), r"the range of a for random starts is empty or infinite"),
        (
            Constraints(ranges={"a": (0, 3)}, bounds={"a": (0, 2)}),
            r"the range 0\.\.3 of a for random starts leaves",
        ),
    ],
)
def test_what_cannot_be_is_refused(constraints, message):
    with pytest.raises(RyptError, match=message):
        constraints.check(NAMES, START)


@pytest.mark.parametrize(
    "constraints",
    [
        Constraints(),
        Constraints(bounds={"a": (1, 2), "b": (-3, -2)}, ranges={"a": (1, 1)}),
        Constraints(fixed=("b",), bounds={"b": (0, 1)}),
        Constraints(only=("a",), bounds={"b": (0, 1)}),
    ],
)
def test_what_can_be_is_not_refused(constraints):
    constraints.check(NAMES, START)


def test_held_weights_do_not_move_and_have_no_bounds():
    constraints = Constraints(fixed=("a",), only=("a", "b", "d"), bounds={"a": (2, 3), "b": (-5, -1)})
    assert [constraints.moves(name) for name in NAMES] == [False, True, False, True]
    low, high = constraints.low_high(NAMES)
    assert low.tolist() == [-math.inf, -5, -math.inf, -math.inf]
    assert high.tolist() == [math.inf, -1, math.inf, math.inf]
    assert constraints.axes(NAMES, START, ALL).tolist() == [[0, 1, 0, 0], [0, 0, 0, 1]]


def test_tied_weights_have_one_axis_in_their_proportions():
    constraints = Constraints(tied=(("d", "b"),))
    assert constraints.axes(NAMES, START, ALL).tolist() == [[1, 0, 0, 0], [0, 0, 1, 0], [0, -2, 0, 0.5]]
    assert constraints.axes(NAMES, np.zeros(4), ALL).tolist() == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1]]
    held = Constraints(tied=(("d", "b"),), fixed=("b",))
    assert held.axes(NAMES, START, ALL).tolist() == [[1, 0, 0, 0], [0, 0, 1, 0]]


def test_a_feature_that_decides_nothing_has_no_axis():
    constraints = Constraints(tied=(("a", "b"),))
    deciding = np.array([False, True, False, False])
    assert constraints.axes(NAMES, START, deciding).tolist() == [[1, -2, 0, 0]]
    assert constraints.axes(NAMES, START, ~deciding).tolist() == [[1, -2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert Constraints().axes(NAMES, START, np.zeros(4, np.bool_)).shape == (0, 4)


@pytest.mark.parametrize(
    ("constraints", "held", "kind"),
    [
        (Constraints(), False, "l1"),
        (Constraints(bounds={"a": (0, math.inf), "b": (-math.inf, 0)}), False, "l1"),
        (Constraints(bounds={"a": (0, 1)}), False, "none"),
        (Constraints(fixed=("a",)), False, "none"),
        (Constraints(only=("a",)), False, "none"),
        (Constraints(), True, "none"),
        (Constraints(normalization=Normalization("l2"), fixed=("a",)), False, "l2"),
        (Constraints(normalization=Normalization("none")), True, "none"),
    ],
)
def test_weights_are_scaled_where_that_is_harmless(constraints, held, kind):
    assert constraints.settled(NAMES, anything_held=held).normalization.kind == kind


def test_a_scale_that_leaves_out_what_is_held_is_refused():
    with pytest.raises(
        RyptError, match="the normalization l2 cannot be had: it would scale the tuned weights and not"
    ):
        Constraints(normalization=Normalization("l2")).settled(NAMES, anything_held=True)


def test_normalizations_have_names():
    assert [str(Normalization("l2")), str(Normalization("weight", 0.5, "lm"))] == ["l2", "lm=0.5"]


FEATURES = ("LM0", "TM0_0", "TM0_1", "WordPenalty0")


def test_a_label_stands_for_all_its_values_on_top_of_what_a_file_says():
    given = Constraints(
        ("TM0",),
        ("TM0",),
        read_intervals(["LM0=0..1", "WordPenalty0=..0"], "--bound"),
        {"LM0": (0.2, 0.4)},
        (("LM0", "TM0"),),
        read_normalization("TM0=2"),
    )
    file = Constraints(
        only=("LM0",),
        fixed=("WordPenalty0",),
        bounds={"TM0_1": (0, 9), "LM0": (0, 9)},
        ranges={"TM0_1": (1, 2)},
    )
    found = given.on(FEATURES, file)
    assert found.only == ("TM0_0", "TM0_1")
    assert set(found.fixed) == {"WordPenalty0", "TM0_0", "TM0_1"}
    assert found.bounds == {"LM0": (0, 1), "WordPenalty0": (-math.inf, 0), "TM0_1": (0, 9)}
    assert found.ranges == {"LM0": (0.2, 0.4), "TM0_1": (1, 2)}
    assert found.tied == (("LM0", "TM0_0", "TM0_1"),)
    assert str(found.normalization) == "TM0_0=2"
    assert Constraints().on(FEATURES, file).only == ("LM0",)
    with pytest.raises(
        RyptError, match="TM1 is not a feature; expected one of LM0, TM0_0, TM0_1, WordPenalty0"
    ):
        Constraints(fixed=("TM1",)).on(FEATURES)


@pytest.mark.parametrize("text", ["big", "l3", "LM0=0", "LM0=-1", "LM0=inf", "LM0=x"])
def test_norms_that_cannot_be_read(text):
    with pytest.raises(RyptError, match=f"norm {text}: expected none, l1, l2, max, or FEATURE=VALUE above 0"):
        read_normalization(text)


@pytest.mark.parametrize("text", ["LM0", "LM0=a..b", "=0..1", "LM0=0"])
def test_intervals_that_cannot_be_read(text):
    with pytest.raises(RyptError, match=f"--bound {text}: expected FEATURE=LOW..HIGH"):
        read_intervals([text], "--bound")
