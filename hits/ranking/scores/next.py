"""Which candidates to rate next, so that clusters split: the systems, and the segments to rate them on.

In the order of means a cluster ends where all systems above differ significantly from all below. So each place between
two neighbours is a boundary to be won: it needs every pair of systems across it to be told apart. Two systems that the
signed-rank test does not tell apart yet may differ once more segments are rated, or may not: with z of the test on n
segments that both have, and N segments that both could have, z on all of them is predicted as normal with mean
z √(N / n) and variance (N − n) / n (a flat prior of the difference), and a pair needs n (2.2 / z)² − n further ones.
A pair that differs now is rated on, by a tenth of its segments, until it is likely to differ with all of them, too (a
chance of 90 %): whoever looks at a test again and again finds differences by luck, and these do not last. Boundaries
that would hardly hold even then (a pair across them has a chance below 10 %) are left alone. Of the others the one that
needs the fewest further segments is taken, and the pair of it that needs the most is rated on the next segment that
they do not share. All systems take segments in one order, those first that have ratings already, so that one rating
serves many pairs.

The last test should still be made on all ratings, with a lower level where that matters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from hits.ranking.scores.data import SegmentScores
from hits.ranking.scores.paired import wilcoxon
from rypt.arrays import Floats, Ints
from rypt.tails import normal_tail
from rypt.text import RyptError

FIRST = 30  # segments of each system before anything is tested
WANTED = 2.2  # z to aim at, above that of p = 0.05
CHANCE = 0.1  # that a boundary holds with all segments, below which it is left alone
SURE = 0.9  # that a difference stays with all segments, below which it is rated on
AGAIN = 0.1  # the share of its segments that such a pair is rated on for
TINY = 1e-15  # the least p: a normal quantile needs one
LEAST = 0.5  # z for the number of segments needed, where it is smaller


@dataclass(frozen=True, slots=True)
class RatingRequest:
    """A segment, by document and name, and the systems whose candidates to rate on it."""

    document: str
    segment: str
    systems: tuple[str, ...]


def next_ratings(
    scores: SegmentScores,
    count: int,
    rng: np.random.Generator,
    *,
    segments: Sequence[str] | None = None,
    more: Sequence[str] = (),
    level: float = 0.05,
) -> list[RatingRequest]:
    """The next ratings, at least ``count`` of them unless nothing is left that is worth rating.

    ``segments`` are further segments that may be rated, ``more`` are systems without a rating.
    """
    systems = (*scores.systems, *(name for name in dict.fromkeys(more) if name not in scores.systems))
    names = list(scores.segments)
    known = {segment for _, segment in names} | {" ".join(filter(None, name)) for name in names}
    names += [("", segment) for segment in dict.fromkeys(segments or ()) if segment not in known]
    if len(systems) < 2:
        raise RyptError(f"expected two systems or more to rate, found {', '.join(systems) or 'none'}")
    table = np.full((len(systems), len(names)), np.nan)
    table[: len(scores.systems), : len(scores.segments)] = scores.table()
    rated = (~np.isnan(table)).sum(axis=0)
    mixed = rng.permutation(len(names))
    order = sorted(range(len(names)), key=lambda j: (-rated[j], mixed[j]))
    plan = RatingPlan(table, np.array(order), level)
    wanted: dict[int, list[int]] = {}
    ratings = 0
    while ratings < count and (chosen := plan.choose()) is not None:
        segment, who = chosen
        wanted.setdefault(segment, []).extend(who)
        ratings += len(who)
    return [RatingRequest(*names[j], tuple(systems[i] for i in sorted(who))) for j, who in wanted.items()]


class RatingPlan:
    """What to rate next in a table of scores (systems, segments), NaN where there is none yet.

    `choose` what to rate, fill in the table, and `test` again.
    """

    def __init__(
        self,
        table: Floats,
        order: NDArray[np.intp],
        level: float = 0.05,
        chance: float = CHANCE,
        sure: float = SURE,
    ) -> None:
        self.table, self.order, self.level, self.least_chance, self.sure = table, order, level, chance, sure
        self.tests: dict[tuple[int, int, int], float] = {}
        self.test()

    def test(self) -> None:
        """Test all pairs on what is rated now: how many further segments each needs, and what its chance is."""
        self.rated = ~np.isnan(self.table)
        n, everything = self.table.shape
        shared: Ints = self.rated.astype(np.int64) @ self.rated.T.astype(np.int64)
        self.needed, self.chance = np.zeros((n, n)), np.ones((n, n))
        for i in range(n):
            for j in range(i):
                p = self._p(i, j, int(shared[i, j]))
                needed, chance = _outlook(p, int(shared[i, j]), everything, self.level, self.sure)
                self.needed[i, j] = self.needed[j, i] = needed
                self.chance[i, j] = self.chance[j, i] = chance
        means = np.array(
            [row[~np.isnan(row)].mean() if (~np.isnan(row)).any() else -inf for row in self.table]
        )
        ranked = np.argsort(-means, kind="stable")
        self.boundaries = [
            (ranked[:k], ranked[k:])
            for k in range(1, n)
            if self.chance[np.ix_(ranked[:k], ranked[k:])].min() >= self.least_chance
            or (shared < FIRST).any()
        ]

    def _p(self, i: int, j: int, shared: int) -> float:
        """The test of a pair, made once for each number of segments that they share."""
        if (i, j, shared) not in self.tests:
            gaps = self.table[i] - self.table[j]
            self.tests[i, j, shared] = wilcoxon(gaps[~np.isnan(gaps)])
        return self.tests[i, j, shared]

    def choose(self) -> tuple[int, list[int]] | None:
        """A segment and the systems to rate on it, who then count as rated; None where nothing is worth it."""
        while (pair := self._neediest()) is not None:
            i, j = pair
            lacking = self.order[~(self.rated[i] & self.rated[j])[self.order]]
            if not len(lacking):
                self.needed[i, j] = self.needed[j, i] = 0  # nothing is left to rate
                continue
            segment = int(lacking[0])
            who = [k for k in (i, j) if not self.rated[k, segment]]
            self.rated[who, segment] = True
            both = np.zeros(self.needed.shape, np.bool_)
            both[who] = self.rated[:, segment]
            self.needed[both | both.T] -= 1  # where this is enough, the next test decides
            return segment, who
        return None

    def _neediest(self) -> tuple[int, int] | None:
        """Of the boundary that is nearest to be won, the pair that needs the most segments."""
        best, pair = inf, None
        for above, below in self.boundaries:
            across = self.needed[np.ix_(above, below)]
            most = float(across.max())
            if 0 < most < best:
                i, j = divmod(int(across.argmax()), len(below))
                best, pair = most, (int(above[i]), int(below[j]))
        return pair


def _outlook(p: float, n: int, everything: int, level: float, sure: float = SURE) -> tuple[float, float]:
    """How many further segments a pair needs, 0 where it is surely told apart; and the chance that it will be with all.

    >>> _outlook(0.001, 100, 500, 0.05), [round(x, 2) for x in _outlook(0.1, 100, 500, 0.05)]
    ((0.0, 1.0), [78.89, 0.81])
    >>> _outlook(0.04, 250, 500, 0.05)  # it may be luck
    (25.0, 1.0)
    """
    if n < min(FIRST, everything):
        return float(FIRST - n), 1.0
    if n >= everything:
        return 0.0, float(p < level)
    z, critical = NormalDist().inv_cdf(1 - max(p, TINY) / 2), NormalDist().inv_cdf(1 - level / 2)
    mean, spread = z * sqrt(everything / n), sqrt((everything - n) / n)
    chance = normal_tail((critical - mean) / spread) + normal_tail((critical + mean) / spread)
    if p < level:
        return (0.0 if chance >= sure else min(float(everything - n), n * AGAIN)), 1.0
    return min(float(everything - n), n * (WANTED / max(z, LEAST)) ** 2 - n), chance
