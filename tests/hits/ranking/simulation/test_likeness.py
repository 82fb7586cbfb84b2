"""Data like a data set: what is kept of it, what is drawn, how often models find the truth."""

import numpy as np
import pytest

from hits.ranking.model import read_model
from hits.ranking.simulation.likeness import Likeness, likeness, success
from rypt.text import RyptError


def test_likeness_and_drawing() -> None:
    wins = np.array([[0, 8, 5], [2, 0, 9], [5, 1, 0]])
    like = likeness(wins)
    assert (like.systems, like.comparisons, like.deviation) == (3, 10, 0)
    assert like.share == pytest.approx((0.8 + 0.9) / 2)
    drawn = sum(Likeness(6, 30.0, 4.0, 0.7).draw(np.random.default_rng(i)) for i in range(300))
    upper = np.triu_indices(6, 1)
    assert (drawn + drawn.T)[upper].mean() / 300 == pytest.approx(29.5, abs=0.3)  # whole numbers, cut off
    assert drawn[upper].sum() / drawn.sum() == pytest.approx(0.7, abs=0.005)


def test_success() -> None:
    models = [read_model(name) for name in ("expected-wins", "mfas", "winning-percentage")]
    assert success(models, Likeness(6, 20.0, 2.0, 1.0), iterations=10) == [1, 1, 1]
    assert max(success(models, Likeness(6, 20.0, 2.0, 0.5), iterations=50)) < 0.1


def test_the_same_for_any_number_of_threads() -> None:
    like = Likeness(5, 12.0, 3.0, 0.6)
    models = [read_model("expected-wins"), read_model("mfas")]
    assert success(models, like, iterations=20, threads=3) == success(models, like, iterations=20)


def test_nobody_won() -> None:
    with pytest.raises(RyptError, match="found none"):
        likeness(np.zeros((3, 3), np.int64))
