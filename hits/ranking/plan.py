"""How many judgments are needed until systems differ significantly, and what they cost.

Koehn (2012) runs his simulation with more and more judgments until the wanted share of all pairs of systems is
significantly different; WMT data behave like his σ² of 8 to 12 (`hits.ranking.simulation` says what that number is). His
table has the first number of a coarse grid that reaches the share: the numbers here are on average 8 % lower.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from math import ceil, exp, log, sqrt
from typing import Any

import numpy as np

from hits.kinds import KINDS
from hits.payment import HOUR, MIN_WAGE, NO_FEES, Fees, Price, fair_rule
from hits.ranking.data import Counts
from hits.ranking.simulation import SimulatedWorld, judge
from hits.records import MAX_RANKED, Kind
from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.tails import binomial_tail
from rypt.text import RyptError

STEP = 1.03  # from one number of judgments at which pairs are tested to the next
CHUNK = 24  # such numbers between two looks at the mean: judgments double
MOST = 50_000_000


@dataclass(frozen=True, slots=True)
class JudgmentPlan:
    """How many comparisons make the wanted share of pairs differ significantly, and their price.

    ``low`` and ``high`` bound what the simulation does not know: two standard errors of the share; ``high`` is None
    where it would take more comparisons than were simulated. ``judgments`` counts comparisons as Koehn does: one hit
    that ranks 5 systems gives 10. Ties among them are asked for and paid, but say nothing of which system is better.
    """

    world: SimulatedWorld
    significant: float
    experiments: int
    seed: int
    judgments: int
    low: int
    high: int | None
    ties: float
    price: Price

    @property
    def hits(self) -> int:
        """Pages of work, each ranking as many systems as the plan says."""
        return self.price.hits


def plan(
    systems: int = 15,
    variance: float = 10.0,
    significant: float = 0.70,
    *,
    ways: int = 5,
    noise: str = "table",
    level: float = 0.05,
    sides: int = 1,
    ties: float = 0.0,
    experiments: int = 500,
    most: int = MOST,
    wage: Decimal = MIN_WAGE,
    fees: Fees = NO_FEES,
    seconds: Decimal | None = None,
    seed: int = 1,
    threads: int = 1,
) -> JudgmentPlan:
    """Simulate until a share ``significant`` of all pairs differs significantly on average, and price the judgments.

    ``ways`` systems share a hit, two at least and five at most; fewer systems than that are all compared at once.
    ``ties`` is the share of comparisons that workers will call equal. Hits pay ``wage`` an hour at the pace of
    `hits.kinds`, or at ``seconds`` for each candidate ranked (for each comparison where ``ways`` is 2).
    """
    if not 0 < significant < 1:
        raise RyptError(f"expected a share of significant pairs between 0 and 1, found {significant:g}")
    if not 0 <= ties < 1:
        raise RyptError(f"expected a share of ties from 0 to below 1, found {ties:g}")
    if not 2 <= ways <= MAX_RANKED:
        raise RyptError(f"expected 2 to {MAX_RANKED} systems in a hit, found {ways}")
    if experiments < 2:
        raise RyptError(f"expected 2 experiments or more, found {experiments}")
    world = SimulatedWorld(systems, variance, min(ways, max(systems, 2)), noise, level, sides)
    sizes, means, errors = _curve(world, significant, experiments, most, seed, threads)
    needed = _crossing(sizes, means, significant)
    if needed is None:
        raise RyptError(
            f"with {most:,} judgments only {means[-1]:.1%} of the pairs differ on average, not {significant:.1%}"
        )
    low = _crossing(sizes, means + 2 * errors, significant)
    return JudgmentPlan(
        world,
        significant,
        experiments,
        seed,
        needed,
        needed if low is None else low,
        _crossing(sizes, means - 2 * errors, significant),
        ties,
        price_of(ceil(needed / (1 - ties)), world.ways, wage, fees, seconds),
    )


def price_of(
    comparisons: int,
    ways: int,
    wage: Decimal = MIN_WAGE,
    fees: Fees = NO_FEES,
    seconds: Decimal | None = None,
) -> Price:
    """What a number of comparisons costs when each hit shows ``ways`` systems and is done once.

    >>> price_of(40_000, 5).total
    Decimal('1000.00')
    """
    kind, size = (Kind.COMPARISON, 1) if ways == 2 else (Kind.RANKING, ways)
    hits = -(-comparisons // (ways * (ways - 1) // 2))
    reward = fair_rule(kind, wage, seconds).reward(size)
    pace = seconds if seconds is not None else KINDS[kind].seconds
    hours = hits * size * pace / HOUR
    return Price(hits, hits, hits * size, reward * hits, fees.fee(reward, 1) * hits, hours, wage)


def _curve(
    world: SimulatedWorld, significant: float, experiments: int, most: int, seed: int, threads: int
) -> tuple[Ints, Floats, Floats]:
    """Numbers of comparisons, the mean share of significant pairs, its standard error, until the share is sure.

    Every experiment judges on from chunk to chunk, so that nothing is simulated twice.
    """
    rngs = [np.random.default_rng((seed, i)) for i in range(experiments)]
    qualities = [world.quality(rng) for rng in rngs]
    wins = np.zeros((experiments, world.systems, world.systems), np.int64)
    tried, shares = np.zeros(0, np.int64), np.zeros((experiments, 0))
    with ThreadPoolExecutor(threads) as pool:
        for rows in _chunks(most // world.pairs):
            limits = sign_limits(
                int(rows[-1]), world.level / world.sides
            )  # a judgment has a pair at most once
            chunk = np.zeros((experiments, len(rows) - 1))
            settings = world.deviation, world.ways, rows, limits
            list(pool.map(partial(_judge_on, *settings), qualities, rngs, wins, chunk))
            tried = np.append(tried, rows[1:] * world.pairs)
            shares = np.concatenate([shares, chunk], axis=1)
            if chunk[:, -1].mean() - 3 * chunk[:, -1].std() / sqrt(experiments) > significant:
                break
    return tried, shares.mean(axis=0), shares.std(axis=0, ddof=1) / sqrt(experiments)


@compiled
def _judge_on(
    deviation: float,
    ways: int,
    rows: Ints,
    limits: Ints,
    quality: Floats,
    rng: Any,
    wins: Counts,
    shares: Floats,
) -> None:
    """Judge from each number of judgments to the next, and fill in the shares of significant pairs."""
    n = len(quality)
    for k in range(len(shares)):
        judge(quality, deviation, rng, np.zeros((rows[k + 1] - rows[k], ways), np.int64), wins)
        different = 0
        for i in range(n):
            for j in range(i):
                different += min(wins[i, j], wins[j, i]) <= limits[wins[i, j] + wins[j, i]]
        shares[k] = different / (n * (n - 1) / 2)


def _chunks(most: int) -> Iterator[Ints]:
    """Growing numbers of judgments; each chunk begins with the last of the one before."""
    rows, place = [0], 0.0
    while rows[-1] < most:
        rows = rows[-1:]
        while len(rows) <= CHUNK and rows[-1] < most:
            place = max(place * STEP, rows[-1] + 1.0)
            rows.append(min(int(place), most))
        yield np.array(rows, np.int64)


def sign_limits(most: int, tail: float) -> Ints:
    """For each number of comparisons the most losses that are still significant, -1 where none are.

    A pair is different when P(X ≤ losses) ≤ ``tail`` for X ~ Binomial(n, 1/2).

    >>> sign_limits(8, 0.05).tolist()
    [-1, -1, -1, -1, -1, 0, 0, 0, 1]
    """
    limits: Ints = _sign_limits(most, tail)
    return limits


_binomial_tail = compiled(binomial_tail)


@compiled
def _sign_limits(most: int, tail: float) -> Any:
    limits = np.full(most + 1, -1, np.int64)
    limit = -1
    for n in range(1, most + 1):
        # P(X ≤ k) falls with n and the limit rises by at most 1, so two sums tell the next one
        if _binomial_tail(limit + 1, n, 0.5) <= tail:
            limit += 1
        limits[n] = limit
    return limits


def _crossing(sizes: Ints, shares: Floats, wanted: float) -> int | None:
    """Where a curve first reaches a share, between two sizes by the logarithm; None where it does not."""
    reached = np.flatnonzero(shares >= wanted)
    if not len(reached):
        return None
    k = int(reached[0])
    if k == 0:
        return int(sizes[0])
    part = (wanted - shares[k - 1]) / (shares[k] - shares[k - 1])
    return round(exp(log(sizes[k - 1]) + part * (log(sizes[k]) - log(sizes[k - 1]))))
