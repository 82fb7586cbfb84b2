"""What it costs to rank one system above another: Lopez' cost and the two of Cumings, in whole units.

A cost function looks only at how often u beat v (wins) and v beat u (losses); ties between candidates do not count.
The cost of a ranking is the sum over all pairs ranked u above v. Searches add whole numbers, so equal sums are equal
whatever the order of the addition, and ties between rankings are ties and not matters of rounding.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import isfinite, log

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Counts
from rypt.arrays import Floats
from rypt.text import RyptError

Marks = NDArray[np.uint64]

NEVER = 10.0
PRIOR = 0.75
_ROOM = 60  # bits that the sum of all units may take
_WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True, eq=False)
class PairCosts:
    """The costs of all ordered pairs: ``costs[u, v]`` is what it costs to rank u above v.

    ``units`` are the same costs as whole numbers, ``scale`` of them to a cost of 1. ``excess`` is what the pair costs
    beyond the cheaper of its two orders, in units of its own; for whole differences of wins it is exact. Where it is
    rounded, sums that differ by ``slack`` or less may be equal, and they are if their sums of ``marks`` are: a mark is
    a hash of the rational number whose logarithm the excess is, additive as logarithms are.
    """

    name: str
    costs: Floats
    units: Counts
    scale: float
    excess: Counts
    marks: Marks
    slack: int = 0

    def total(self, ranking: tuple[int, ...]) -> float:
        """The cost of a ranking, best system first."""
        order = np.array(ranking, np.intp)
        return float(np.triu(self.costs[np.ix_(order, order)], 1).sum())

    def reordered(self, order: tuple[int, ...]) -> "PairCosts":
        """The same costs with the systems numbered in another order, or only some of them."""
        grid = np.ix_(order, order)
        return PairCosts(
            self.name,
            self.costs[grid],
            self.units[grid],
            self.scale,
            self.excess[grid],
            self.marks[grid],
            self.slack,
        )


def costs_mfas(wins: Counts) -> PairCosts:
    """Lopez: max(0, losses − wins). The cheapest ranking leaves out a minimum feedback arc set.

    >>> costs_mfas(np.array([[0, 5], [2, 0]])).costs.tolist()
    [[0.0, 0.0], [3.0, 0.0]]
    """
    excess = np.maximum(0, wins.T - wins)
    return PairCosts("mfas", excess.astype(np.float64), excess, 1.0, excess, np.zeros(wins.shape, np.uint64))


def costs_winning_percentage(wins: Counts, never: float = NEVER) -> PairCosts:
    """Cumings: −log of the share of wins; ``never`` where u never won, log 2 where the two were never compared.

    ``never`` must exceed every other cost, as the paper wants it, or a system with no win would be preferred to one
    with a few.
    """
    decided = wins + wins.T
    with np.errstate(divide="ignore", invalid="ignore"):
        costs = np.where(wins > 0, -np.log(wins / decided), np.where(decided > 0, never, log(2)))
    np.fill_diagonal(costs, 0)
    highest = float(costs[wins > 0].max(initial=0.0))
    if not isfinite(never) or never <= max(highest, log(2)):
        raise RyptError(
            f"expected a cost for no win at all above {max(highest, log(2)):.6g}, found {never:g}"
        )
    costs += 0.0  # no negative zeros
    scale = _scale(costs)
    cheaper = np.minimum(costs, costs.T)
    excess = np.rint((costs - cheaper) * scale).astype(np.int64)
    units = np.rint(cheaper * scale).astype(np.int64) + excess
    return PairCosts("winning-percentage", costs, units, scale, excess, _marks(wins), len(wins) * len(wins))


def costs_testimonial(wins: Counts, prior: float = PRIOR) -> PairCosts:
    """Cumings: −log of the probability that u is better when each judgment is true with probability ``prior``.

    With d = wins − losses and x the prior, the paper's fraction is 1 / (1 + ((1 − x) / x)^d); computed so it does not
    underflow. The excess of a pair is log(x / (1 − x)) times its MFAS cost, so both have the same best rankings.
    """
    if not 0.5 < prior < 1:
        raise RyptError(f"expected a prior probability of a true judgment between 0.5 and 1, found {prior:g}")
    odds = log(prior / (1 - prior))
    costs = np.logaddexp(0.0, -odds * (wins - wins.T))
    np.fill_diagonal(costs, 0)
    scale = _scale(costs)
    excess = np.maximum(0, wins.T - wins)
    units = np.rint(np.minimum(costs, costs.T) * scale).astype(np.int64) + excess * round(odds * scale)
    return PairCosts("testimonial", costs, units, scale, excess, np.zeros(wins.shape, np.uint64))


COSTS: dict[str, Callable[[Counts], PairCosts]] = {
    "mfas": costs_mfas,
    "winning-percentage": costs_winning_percentage,
    "testimonial": costs_testimonial,
}


def _scale(costs: Floats) -> float:
    """The power of 2 with which the sum of all costs still fits, at most 2^44."""
    total = max(1.0, float(costs.sum()))
    return float(2.0 ** min(44, int(_ROOM - np.ceil(np.log2(total)))))


def _marks(wins: Counts) -> Marks:
    """For each pair whose excess is log(losses / wins) the hash of that ratio, 0 where the excess is 0."""
    n = len(wins)
    marks = np.zeros((n, n), np.uint64)
    for u in range(n):
        for v in range(n):
            won, lost = int(wins[u, v]), int(wins[v, u])
            if won < lost:
                marks[u, v] = (_mark(lost) - _mark(won)) & _WORD if won else _mix(0)
    return marks


@cache
def _mark(number: int) -> int:
    """A hash with mark(a · b) = mark(a) + mark(b) modulo 2^64: the sum of random numbers of its prime factors."""
    total, factor = 0, 2
    while factor * factor <= number:
        while number % factor == 0:
            total += _mix(factor)
            number //= factor
        factor += 1
    return (total + (_mix(number) if number > 1 else 0)) & _WORD


def _mix(number: int) -> int:
    """Splitmix64: well spread 64 bits for a small number."""
    z = (number * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)
