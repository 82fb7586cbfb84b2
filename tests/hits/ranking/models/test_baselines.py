"""The baselines against the paper's formulas, counted one comparison after the other."""

from itertools import permutations

import numpy as np
import pytest

from hits.ranking.data import Comparisons, comparisons_of
from hits.ranking.model import Fitted, read_model
from rypt.text import RyptError

NAMES = ("a", "b", "c")


def some(seed: int = 3, size: int = 60) -> Comparisons:
    rng = np.random.default_rng(seed)
    pairs = [rng.choice(3, 2, replace=False) for _ in range(size)]
    return comparisons_of([("s", NAMES[a], NAMES[b], int(rng.integers(-1, 2)), "") for a, b in pairs], NAMES)


def fitted(name: str, comparisons: Comparisons, options: dict[str, str] | None = None) -> Fitted:
    return read_model(name, options).fit(comparisons, np.random.default_rng(0))


def tally(comparisons: Comparisons, first: int, second: int | None) -> list[int]:
    """How often worse, equal and better, seen from the first system, against one or all others."""
    found = [0, 0, 0]
    for a, b, outcome in zip(comparisons.a, comparisons.b, comparisons.outcome, strict=True):
        if a == first and second in (None, b):
            found[outcome + 1] += 1
        if b == first and second in (None, a):
            found[1 - outcome] += 1
    return found


def test_uniform_and_adjusted_uniform() -> None:
    comparisons = some()
    assert fitted("uniform", comparisons).outcomes[0, 1] == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    share = np.mean(comparisons.outcome == 0)
    expected = ((1 - share) / 2, share, (1 - share) / 2)
    assert fitted("adjusted-uniform", comparisons).outcomes[2, 0] == pytest.approx(expected)
    for model, reason in (("students-geometric:alpha=0", "alpha"), ("uniform:alpha=1", "it has none")):
        with pytest.raises(RyptError, match=reason):
            read_model(model)


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_independent_pairs(alpha: float) -> None:
    comparisons = some()
    found = fitted("independent-pairs", comparisons, {"alpha": str(alpha)})
    for i, j in permutations(range(3), 2):
        counts = np.array(tally(comparisons, i, j)) + alpha
        assert found.outcomes[i, j] == pytest.approx(counts / counts.sum())
    worth = [found.outcomes[0, j][2] + found.outcomes[0, j][1] / 2 for j in (1, 2)]
    assert found.scores[0] == pytest.approx(sum(worth) / 2)


@pytest.mark.parametrize("how", ["asymmetric", "arithmetic", "geometric"])
def test_independent_students(how: str) -> None:
    comparisons = some(8)
    found = fitted(f"students-{how}", comparisons)
    counts = np.array([tally(comparisons, i, None) for i in range(3)]) + 1
    alone = counts / counts.sum(axis=1, keepdims=True)
    for i, j in ((0, 1), (2, 1), (1, 0)):
        mine, theirs = alone[i], alone[j][::-1]
        product = np.sqrt(mine * theirs)
        means = {"asymmetric": mine, "arithmetic": (mine + theirs) / 2, "geometric": product / product.sum()}
        assert found.outcomes[i, j] == pytest.approx(means[how])
    assert found.scores == pytest.approx(alone[:, 2] / (alone[:, 2] + alone[:, 0]))
