"""Who was compared with whom: of all comparisons, and of the first and last fifth that TrueSkill selects.

Figures 5 to 7 of Sakaguchi et al. (2014): comparisons as they were collected are spread evenly; what TrueSkill selects
moves to the diagonal, where systems of similar quality meet.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons
from hits.ranking.model import check_fit
from hits.ranking.models.trueskill import TrueSkill
from rypt.arrays import Floats
from rypt.text import RyptError

SHARE = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Heatmap:
    """Shares of comparisons for each pair of systems, which are sorted from best to worst; the halves mirror."""

    systems: tuple[str, ...]
    everything: Floats  # (systems, systems), the sum over each pair once is 1
    first: Floats
    last: Floats
    games: int


def heatmap(
    comparisons: Comparisons, model: TrueSkill, rng: np.random.Generator, *, share: float = SHARE
) -> Heatmap:
    """Count the pairs; the systems are sorted by TrueSkill's means over its runs."""
    check_fit(comparisons)
    fitted = model.fit(comparisons, rng)
    order = fitted.order()
    games = model.selected(comparisons, rng)
    part = round(share * len(games))
    if part < 1:
        raise RyptError(f"expected a share of the {len(games)} games with a game in it, found {share:g}")
    given = np.column_stack([comparisons.a, comparisons.b])
    tables = [_shares(pairs, order) for pairs in (given, games[:part], games[-part:])]
    return Heatmap(tuple(fitted.systems[i] for i in order), tables[0], tables[1], tables[2], len(games))


def _shares(pairs: NDArray[np.int32], order: list[int]) -> Floats:
    n = len(order)
    counts = np.bincount(pairs[:, 0].astype(np.int64) * n + pairs[:, 1], minlength=n * n).reshape(n, n)
    both = (counts + counts.T)[np.ix_(order, order)]
    return np.asarray(both / len(pairs), np.float64)


def nearness(shares: Floats) -> float:
    """How far apart the compared systems are on average, in ranks: small when comparisons are near the diagonal."""
    n = len(shares)
    distance = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    return float((shares * distance).sum() / shares.sum())


def as_record(table: Heatmap) -> dict[str, Any]:
    """For JSON."""
    return {
        "systems": list(table.systems),
        "games": table.games,
        "all": table.everything.tolist(),
        "first": table.first.tolist(),
        "last": table.last.tolist(),
        "mean_distance": {
            "all": nearness(table.everything),
            "first": nearness(table.first),
            "last": nearness(table.last),
        },
    }
