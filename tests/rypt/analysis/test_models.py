"""Models against held-out labels."""

import numpy as np
from four_systems import disjoint

from rypt.analysis.models import cross_validated


def test_nothing_is_learned_from_the_segments_asked_about():
    """With one segment, what a model learns from is always empty."""
    seen = []

    def predict(train, truth, test, ties):
        seen.append((len(train), len(truth), len(test)))
        return np.full(len(test.rows), 0.25)

    (split,) = next(disjoint().splits(1, 2, np.random.default_rng(0)))
    found = cross_validated(split, {"mine": predict}, 3, np.random.default_rng(0), "unknown")
    assert seen == [(0, 0, 2)]
    assert set(found["mine"].tolist()) == {0.25}
