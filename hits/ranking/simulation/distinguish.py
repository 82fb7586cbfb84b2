"""How many pairs of systems more and more judgments tell apart: Koehn's curve, on real data and beside a simulation.

told_apart_curve(comparisons, sizes, rng)   →   points: comparisons, the share of pairs that the sign test tells apart
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hits.ranking.confidence import sign_tests
from hits.ranking.data import Comparisons
from hits.ranking.model import check_fit
from hits.ranking.simulation.simulate import SimulatedWorld, simulate
from rypt.text import RyptError

STEPS = 8  # sizes by default, each twice the one before


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The share of pairs told apart with so many comparisons, its spread over draws, and the share in a simulation."""

    comparisons: int
    share: float
    spread: float
    simulated: float | None = None


def default_sizes(comparisons: Comparisons) -> list[int]:
    """All comparisons, half of them, a quarter …, in rising order."""
    sizes = {len(comparisons) // 2**k for k in range(STEPS)}
    return sorted(size for size in sizes if size >= 1)


def told_apart_curve(
    comparisons: Comparisons,
    sizes: Sequence[int],
    rng: np.random.Generator,
    *,
    trials: int = 20,
    level: float = 0.05,
    sides: int = 1,
    variance: float | None = None,
    experiments: int = 100,
) -> list[CurvePoint]:
    """The share of pairs that the sign test tells apart, on so many comparisons drawn without replacement.

    Whole rows are drawn, as many as have that many comparisons or a few more. With ``variance``, Koehn's σ², the same
    is simulated for as many systems; his test is one-sided.
    """
    check_fit(comparisons)
    for size in sizes:
        if not 1 <= size <= len(comparisons):
            raise RyptError(
                f"expected sizes from 1 to {len(comparisons)}, the comparisons in the files, found {size}"
            )
    _, row = np.unique(comparisons.row, return_inverse=True)
    lengths = np.bincount(row)
    points = []
    for size in sizes:
        shares = [_share(comparisons, row, lengths, size, rng, level / sides * 2) for _ in range(trials)]
        simulated = None
        if variance is not None:
            ways = min(5, len(comparisons.systems))
            world = SimulatedWorld(len(comparisons.systems), variance, ways, level=level, sides=sides)
            simulated = simulate(world, size, experiments=experiments, method="pairwise", seed=1).significant
        points.append(CurvePoint(size, float(np.mean(shares)), float(np.std(shares)), simulated))
    return points


def _share(
    comparisons: Comparisons,
    row: np.ndarray,
    lengths: np.ndarray,
    size: int,
    rng: np.random.Generator,
    level: float,
) -> float:
    order = rng.permutation(len(lengths))
    count = int(np.searchsorted(np.cumsum(lengths[order]), size)) + 1
    drawn = np.zeros(len(lengths), np.bool_)
    drawn[order[:count]] = True
    wins, _ = comparisons.take(np.flatnonzero(drawn[row])).counts()
    upper = np.triu_indices(len(wins), 1)
    return float((sign_tests(wins)[upper] <= level).mean())
