"""Constraints on the command line."""

import numpy as np
import pytest

from mert.limits import WeightLimits, read_groups, read_intervals
from mert.weights import default_weights
from rypt.text import RyptError

NAMES = ("LM0", "TM0_0", "TM0_1", "WordPenalty0")


def limits(only=(), fix=(), bound=(), ranges=(), tie=(), norm=None):
    given = WeightLimits(
        only, fix, read_intervals(bound, "--bound"), read_intervals(ranges, "--range"), read_groups(tie), norm
    )
    return given.constraints(NAMES, default_weights(NAMES, np.ones(4)))


def test_a_label_stands_for_all_its_values():
    found = limits(
        fix=["TM0"], bound=["LM0=0..1", "WordPenalty0=..0"], ranges=["LM0=0.2..0.4"], tie=["LM0,TM0_1"]
    )
    assert found.fixed == {"TM0_0", "TM0_1"}
    assert found.bounds == {"LM0": (0, 1), "WordPenalty0": (-np.inf, 0)}
    assert found.ranges == {"LM0": (0.2, 0.4)}
    assert found.tied == (("LM0", "TM0_1"),)
    assert limits(only=["TM0"]).only == {"TM0_0", "TM0_1"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fix": ["TM1"]}, "TM1 is not a feature; expected one of LM0, TM0_0, TM0_1, WordPenalty0"),
        ({"bound": ["LM0"]}, "--bound LM0: expected FEATURE=LOW..HIGH"),
        ({"bound": ["LM0=a..b"]}, "--bound LM0=a..b: expected FEATURE=LOW..HIGH"),
        ({"norm": "l3"}, "norm l3: expected none, l1, l2, max, or FEATURE=VALUE above 0"),
        ({"norm": "LM0=-1"}, "norm LM0=-1: expected none"),
    ],
)
def test_mistakes_are_told(given, message):
    with pytest.raises(RyptError) as caught:
        limits(**given)
    assert message in str(caught.value)


def test_norms():
    assert limits().normalization is None
    assert str(limits(norm="max").normalization) == "max"
    assert str(limits(norm="LM0=2").normalization) == "LM0=2"
