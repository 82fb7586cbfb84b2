"""Figure 3 on made-up data with known answers."""

import numpy as np
import pytest
from four_systems import TREES, disjoint

from rypt.analysis.curve import percolation_curve
from rypt.analysis.heldout import JudgmentSplit
from rypt.records import Candidate, Span, Votes
from rypt.scoring.forest import Forest
from rypt.scoring.percolation import NO, YES
from rypt.scoring.scorer import Scorer


def test_curve_counts_what_percolation_adds_and_how_much_of_it_is_right():
    (point,) = percolation_curve(disjoint(), [1], splits=20, judging=3, seed=1)
    assert point.max_len == 1
    assert point.before < point.after <= 1
    assert point.percolated.percolation == 1.0  # a NO word spoils all above it, here always rightly
    assert point.no_right == 1.0
    assert np.isnan(point.yes_right)
    assert point.percolated.always_yes == 0.0
    assert point.from_yes == 0.0
    assert point.from_no == pytest.approx(point.after - point.before)


class OneSplit:
    """A YES on the noun phrase "x y" and a NO on "z", and a truth that says the first "x" is wrong."""

    forest = Forest(TREES)

    def splits(self, count, judging, rng, max_lens=(None,)):
        votes = [Votes("1", Span(0, 2), "x y", 1, 0), Votes("1", Span(2, 3), "z", 0, 1)]
        observations = Scorer(TREES, votes).observe([Candidate("1", "x y z", "0-0 1-1 2-2")])
        truth = np.array([NO, YES, NO, YES, NO], np.int8)
        for _ in range(count):  # constituents: S, NP, A, B, C
            yield [JudgmentSplit(observations, truth) for _ in max_lens]


def test_every_number_by_hand():
    (point,) = percolation_curve(OneSplit(), [2], splits=2, judging=1, seed=1, models=False)
    assert (point.before, point.after) == (2 / 5, 1.0)
    assert (point.from_yes, point.from_no) == (2 / 5, 1 / 5)  # A and B from above, S from below
    assert (point.yes_right, point.no_right) == (1 / 2, 1.0)
    assert point.percolated.checked == point.unlabelled.checked == 6  # three constituents, two splits
    assert point.percolated.percolation == 2 / 3
    assert point.percolated.always_yes == 1 / 3
    assert np.isnan(point.percolated.table)


def test_models_are_asked_too():
    points = percolation_curve(disjoint(), [1, 2], splits=3, judging=2, seed=1)
    assert all(0 <= p.unlabelled.table <= 1 for p in points if p.unlabelled.checked)
    assert any(p.unlabelled.checked for p in points)


def test_a_seed_decides():
    def curve(seed):
        return [repr(p) for p in percolation_curve(disjoint(), [1, 2], splits=3, judging=2, seed=seed)]

    assert curve(1) == curve(1)
    assert len({tuple(curve(seed)) for seed in range(5)}) > 1
