"""The curve of pairs told apart: by hand on all comparisons, rising, and rows drawn whole."""

import numpy as np
import pytest

from hits.ranking.confidence import sign_tests
from hits.ranking.data import from_counts
from hits.ranking.simulation.distinguish import default_sizes, told_apart_curve
from rypt.text import RyptError

WINS = np.array([[0, 90, 95, 99], [30, 0, 61, 80], [25, 60, 0, 82], [5, 15, 11, 0]])
DATA = from_counts(tuple("abcd"), WINS, np.zeros((4, 4)))


def test_it_rises_to_the_share_of_all() -> None:
    points = told_apart_curve(DATA, default_sizes(DATA), np.random.default_rng(1), trials=10, sides=2)
    upper = np.triu_indices(4, 1)
    assert points[-1].comparisons == len(DATA)
    assert points[-1].share == pytest.approx((sign_tests(WINS)[upper] <= 0.05).mean())
    assert points[-1].spread == 0
    assert points[0].share < points[3].share < points[-1].share
    assert points[0].simulated is None


def test_one_sided_tests_tell_more_apart_and_a_simulation_stands_beside() -> None:
    rng = np.random.default_rng(1)
    (two,) = told_apart_curve(DATA, [200], rng, sides=2, trials=30)
    (one,) = told_apart_curve(DATA, [200], rng, sides=1, trials=30, variance=10.0, experiments=20)
    assert one.share >= two.share
    assert 0 < one.simulated < 1
    with pytest.raises(
        RyptError, match="expected sizes from 1 to 653, the comparisons in the files, found 1000"
    ):
        told_apart_curve(DATA, [1000], rng)
