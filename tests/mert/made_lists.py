"""Small lists in which a known direction picks the right candidate, and metrics that count right ones."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mert.lists import NBest, arrange
from rypt.records import Candidate

NAMES = ("f0", "f1", "f2", "f3", "constant")
TRUTH = np.array([1.0, -0.5, 0.25, 0.0])
START = np.array([-1.0, 1.0, 1.0, 1.0, 1.0])


class Share:
    """The share of right answers; the first column counts them."""

    signature = "share"
    maximize = True
    scale = 1.0

    def stats(self, candidates):
        return np.array([[int(raw.text == "right"), 1] for raw in candidates], np.int64)

    def score(self, sums):
        return sums[:, 0] / np.maximum(sums[:, 1], 1)


class Errors(Share):
    """The share of wrong answers, which is better when it is lower."""

    maximize = False

    def score(self, sums):
        return 1 - super().score(sums)


def arranged(candidates: Iterable[Candidate]) -> NBest:
    """Candidates in memory as a list."""
    return arrange([(("candidates", number), each) for number, each in enumerate(candidates, start=1)])


def candidates_of(rows: Iterable[tuple[int, str, dict[str, float]]]) -> NBest:
    """Candidates given by segment, text and features."""
    return arranged(Candidate(str(segment), text, None, features) for segment, text, features in rows)


def made_lists(seed=0, segments=30, candidates=8, scales=(1.0,) * 5):
    """Lists in which `TRUTH` picks the right candidate, up to some noise; the last feature is always the same."""
    rng = np.random.default_rng(seed)
    rows = []
    for segment in range(segments):
        features: NDArray[np.float64] = rng.normal(size=(candidates, 4))
        right = int(np.argmax(features @ TRUTH + rng.normal(scale=0.2, size=candidates)))
        for i, row in enumerate(features):
            values = np.append(row, 7.0) * scales
            text = "right" if i == right else f"wrong {i}"
            rows.append((segment, text, dict(zip(NAMES, values.tolist(), strict=True))))
    return candidates_of(rows)
