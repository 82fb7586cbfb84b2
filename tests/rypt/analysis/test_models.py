"""Models against held-out labels."""

import numpy as np
import pytest
from four_systems import disjoint
from hypothesis import given
from hypothesis import strategies as st

from rypt.analysis.models import ALL, area_under_curve, compare_models, cross_validated, quality


def test_models_are_compared():
    measured = compare_models(disjoint(), splits=3, judging=3, seed=1, max_len=1, folds=2)
    assert set(measured) == set(ALL)
    assert measured["hard percolation, unknown = 0.5"].accuracy == 1.0
    assert measured["calibrated table"].log_loss < measured["hard percolation, unknown = 0.5"].log_loss + 1
    assert measured["tree model + novelty, tempered"].auc > 0.7


def test_nothing_is_learned_from_the_segments_asked_about():
    """With one segment, what a model learns from is always empty."""
    seen = []

    def predict(train, truth, test, ties):
        seen.append((len(train), len(truth), len(test)))
        return np.full(len(test.codes), 0.25)

    (split,) = next(disjoint().splits(1, 2, np.random.default_rng(0)))
    found = cross_validated(split, {"mine": predict}, 3, np.random.default_rng(0), "unknown")
    assert seen == [(0, 0, 2)]
    assert set(found["mine"].tolist()) == {0.25}


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=30))
def test_area_under_curve_equals_counting_pairs(pairs):
    p = np.array([value / 4 for value, _ in pairs])
    labels = np.array([label for _, label in pairs], np.int8)
    ups, downs = p[labels == 1], p[labels == 0]
    if not len(ups) or not len(downs):
        assert np.isnan(area_under_curve(p, labels))
        return
    wins = sum((u > d) + 0.5 * (u == d) for u in ups for d in downs)
    assert area_under_curve(p, labels) == pytest.approx(wins / (len(ups) * len(downs)))


def test_quality():
    measured = quality(np.array([0.9, 0.2, 0.7, 0.5]), np.array([1, 0, 0, -1], np.int8))
    assert measured.accuracy == pytest.approx(2 / 3)
    assert measured.auc == 1.0
