"""How many judgments are needed to tell systems apart, and what they cost.

Koehn (2012) runs his simulation with more and more judgments until the wanted share of all pairs of systems is
significantly different; WMT data behave like his σ² of 8 to 12 (`hits.ranking.simulation.simulate` says what that
number is). His table has the first number of a coarse grid that reaches the share: the numbers here are on average 8 %
lower.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, exp, log, sqrt
from typing import Any

import numpy as np

from hits.kinds import KINDS
from hits.payment import HOUR, MIN_WAGE, MTURK_FEES, Fees, Price, fair_rule
from hits.ranking.data import Counts
from hits.ranking.simulation.simulate import RANGE, SimulatedWorld, judge, sign_limits, told_apart
from hits.records import MAX_RANKED, Kind
from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.text import RyptError

STEP = 1.03  # from one number of judgments at which pairs are tested to the next
CHUNK = 24  # such numbers between two looks at the mean: judgments double
MOST = 50_000_000


@dataclass(frozen=True, slots=True)
class JudgmentPlan:
    """How many comparisons tell the wanted share of pairs apart, and their price.

    ``low`` and ``high`` bound what the simulation does not know: two standard errors of the share; ``high`` is None
    where it would take more comparisons than were simulated. ``judgments`` counts comparisons as Koehn does: one hit
    that ranks 5 systems gives 10. Ties among them are asked for and paid, but tell nothing apart.
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
    fees: Fees = MTURK_FEES,
    seconds: Decimal | None = None,
    seed: int = 0,
    threads: int = 1,
) -> JudgmentPlan:
    """Simulate until a share ``significant`` of all pairs is told apart on average, and price the judgments.

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
            f"{most:,} judgments tell only {means[-1]:.1%} of the pairs apart on average, not {significant:.1%}"
        )
    low = _crossing(sizes, means + 2 * errors, significant)
    asked = ceil(needed / (1 - ties))
    return JudgmentPlan(
        world,
        significant,
        experiments,
        seed,
        needed,
        low if low is not None else needed,
        _crossing(sizes, means - 2 * errors, significant),
        ties,
        price_of(asked, world.ways, wage, fees, seconds),
    )


def price_of(
    comparisons: int,
    ways: int,
    wage: Decimal = MIN_WAGE,
    fees: Fees = MTURK_FEES,
    seconds: Decimal | None = None,
) -> Price:
    """What so many comparisons cost when each hit shows so many systems and is done once.

    >>> price_of(40_000, 5).total
    Decimal('1200.00')
    """
    kind, size = (Kind.COMPARISON, 1) if ways == 2 else (Kind.RANKING, ways)
    hits = -(-comparisons // (ways * (ways - 1) // 2))
    reward = fair_rule(kind, wage, seconds).reward(size)
    pace = seconds if seconds is not None else KINDS[kind].seconds
    return Price(
        hits, hits, hits * size, reward * hits, fees.fee(reward, 1) * hits, hits * size * pace / HOUR, wage
    )


def _curve(
    world: SimulatedWorld, significant: float, experiments: int, most: int, seed: int, threads: int
) -> tuple[Ints, Floats, Floats]:
    """Numbers of comparisons, the mean share of pairs told apart, its standard error, until the share is sure.

    Every experiment judges on from chunk to chunk, so that nothing is simulated twice.
    """
    runs = [_Run(world, np.random.default_rng((seed, i))) for i in range(experiments)]
    tried: list[Ints] = []
    shares: list[Floats] = []
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for sizes in _chunks(world.pairs, most):
            limits = sign_limits(int(sizes[-1]) // world.pairs + 1, world.level / world.sides)
            apart = np.array(list(pool.map(lambda run, at=sizes, cut=limits: run.advance(at, cut), runs)))
            tried.append(sizes)
            shares.append(apart)
            if apart[:, -1].mean() - 3 * apart[:, -1].std() / sqrt(experiments) > significant:
                break
    table = np.concatenate(shares, axis=1)
    return np.concatenate(tried), table.mean(axis=0), table.std(axis=0, ddof=1) / sqrt(experiments)


def _chunks(pairs: int, most: int) -> Iterator[Ints]:
    """Growing numbers of comparisons, whole judgments each."""
    rows, place, last = [0], 0.0, most // pairs
    while rows[-1] < last:
        chunk: list[int] = []
        while len(chunk) < CHUNK and rows[-1] < last:
            place = max(place * STEP, rows[-1] + 1.0)
            rows.append(min(int(place), last))
            chunk.append(rows[-1] * pairs)
        yield np.array(chunk, np.int64)


class _Run:
    """One experiment that can go on."""

    def __init__(self, world: SimulatedWorld, rng: np.random.Generator) -> None:
        self.world, self.rng = world, rng
        self.quality = RANGE * rng.random(world.systems)
        self.wins: Counts = np.zeros((world.systems, world.systems), np.int64)
        self.done = 0

    def advance(self, sizes: Ints, limits: Ints) -> Floats:
        """The shares of pairs told apart at these numbers of comparisons."""
        shares = np.zeros(len(sizes))
        world = self.world
        _advance(
            self.quality, world.deviation, world.ways, self.done, sizes, limits, self.rng, self.wins, shares
        )
        self.done = int(sizes[-1])
        return shares


@compiled
def _advance(
    quality: Floats,
    spread: float,
    ways: int,
    done: int,
    sizes: Ints,
    limits: Ints,
    rng: Any,
    wins: Counts,
    out: Floats,
) -> None:
    n = len(quality)
    better, worse = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for place in range(len(sizes)):
        judge(quality, spread, ways, sizes[place] - done, rng, wins)
        done = sizes[place]
        out[place] = told_apart(wins, limits, better, worse) / (n * (n - 1) / 2)


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
