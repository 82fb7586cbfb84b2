"""Tests of two systems on the segments that both have: Wilcoxon's signed-rank test and random permutations.

    wilcoxon([3, -1, 2, 4])            →   p, two-sided
    wilcoxon_tests(table)              →   p of each two systems of a table (systems, segments)
    rank_sum_tests(table)              →   the same by the rank-sum test, as in WMT's findings up to 2023
    permutation_tests(table, rng)      →   the same by exchanging the two scores of a segment at random
    stouffer([0.03, 0.2])              →   one p of several, as in WMT24's findings

A table may have several columns for a segment, one for each wave of a campaign that it was rated in; ``items`` then
says which columns are of the same segment. As in WMT's findings, each score of one system is paired with each of the
other.

The signed-rank test does what `scipy.stats.wilcoxon` does, which WMT's findings use: differences of 0 are left out;
exact for up to 50 segments without ties and zeros, and for up to 13 with them, else by the normal distribution with
the correction for ties.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import inf, isnan, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rypt.arrays import Floats, Ids
from rypt.tails import normal_tail

EXACT, EXACT_TIED = 50, 13  # segments up to which the signed-rank test is exact: without and with ties
CHUNK = 500  # permutations at once


def wilcoxon(differences: ArrayLike) -> float:
    """The two-sided signed-rank test of paired differences; 1 where all are 0.

    >>> round(wilcoxon([3, -1, 2, 4, 5, 6]), 4), wilcoxon([0, 0])
    (0.0625, 1.0)
    """
    gaps = np.round(np.asarray(differences, np.float64), 9)  # what is equal but for rounding is tied
    d = gaps[gaps != 0]
    n = len(d)
    if n == 0:
        return 1.0
    ranks, ties = _mean_ranks(np.abs(d))
    plus = float(ranks[d > 0].sum())
    tied = bool((ties > 1).any()) or n < len(gaps)
    if len(gaps) <= (EXACT_TIED if tied else EXACT):
        return _exact(ranks, plus)
    spread = sqrt((n * (n + 1) * (2 * n + 1) - float((ties**3 - ties).sum()) / 2) / 24)
    return min(1.0, 2 * normal_tail(abs(plus - n * (n + 1) / 4) / spread))


def _mean_ranks(values: Floats) -> tuple[Floats, Floats]:
    """Ranks from 1, of equal values the mean of theirs; and how often each distinct value occurs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((2 * last - counts + 1) / 2)[inverse], counts.astype(np.float64)


def _exact(ranks: Floats, plus: float) -> float:
    """The share of all ways to give signs to these ranks whose sum is as far out as this one, on both sides."""
    doubled = np.round(2 * ranks).astype(np.int64)  # mean ranks are halves
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled:
        ways[rank:] = ways[rank:] + ways[:-rank]
    place = round(2 * plus)
    return float(min(1.0, 2 * min(ways[: place + 1].sum(), ways[place:].sum()) / ways.sum()))


def favours(differences: ArrayLike) -> int:
    """1 where the signed ranks of paired differences favour the first of the two, -1 the second, 0 neither.

    >>> favours([3, -1, 2]), favours([-5, 1]), favours([0, 0])
    (1, -1, 0)
    """
    d = np.round(np.asarray(differences, np.float64), 9)
    d = d[d != 0]
    ranks, _ = _mean_ranks(np.abs(d))
    return int(np.sign(np.sign(d) @ ranks))


def stouffer(tests: Sequence[float]) -> float:
    """One p of several tests by Stouffer's z, as WMT24's findings combine the two-sided p of domains.

    What they do is kept as it is: the direction of a domain's difference is not looked at, and a domain without any
    difference (p = 1) makes the whole 1.

    >>> round(stouffer([0.03, 0.2]), 4), stouffer([0.001, 1.0]), stouffer([])
    (0.0271, 1.0, 1.0)
    """
    normal = NormalDist()
    scores = [-inf if p >= 1 else inf if p <= 0 else -normal.inv_cdf(p) for p in tests]
    combined = sum(scores) / sqrt(len(scores)) if scores else -inf
    return 1.0 if isnan(combined) else normal_tail(combined)


def paired_columns(items: Ids) -> tuple[Ids, Ids]:
    """All pairs of columns that are of the same segment.

    >>> [columns.tolist() for columns in paired_columns(np.array([0, 1, 0]))]
    [[0, 0, 1, 2, 2], [0, 2, 1, 0, 2]]
    """
    if len(np.unique(items)) == len(items):
        columns = np.arange(len(items), dtype=np.int32)
        return columns, columns
    of_item: dict[int, list[int]] = {}
    for column, item in enumerate(items.tolist()):
        of_item.setdefault(item, []).append(column)
    pairs = [(left, right) for left, item in enumerate(items.tolist()) for right in of_item[item]]
    both = np.array(pairs, np.int32)
    return both[:, 0], both[:, 1]


def _paired_gaps(table: Floats, items: Ids | None) -> Iterator[tuple[int, int, Floats, Ids]]:
    """Of each two systems the differences of their scores, and the columns that the first ones are from."""
    left, right = paired_columns(np.arange(table.shape[1], dtype=np.int32) if items is None else items)
    for i, j in combinations(range(len(table)), 2):
        gaps = table[i, left] - table[j, right]
        rated = ~np.isnan(gaps)
        yield i, j, gaps[rated], left[rated]


def wilcoxon_tests(table: Floats, items: Ids | None = None, domains: Ids | None = None) -> Floats:
    """p of each two systems, (systems, systems), of scores (systems, segments); 1 on the diagonal and without pairs.

    With ``domains``, a number for each column, each domain has its test, and `stouffer` makes one p of them.
    """
    tests = np.ones((len(table), len(table)))
    for i, j, gaps, columns in _paired_gaps(table, items):
        if domains is None:
            p = wilcoxon(gaps)
        else:
            domain = domains[columns]
            p = stouffer([wilcoxon(gaps[domain == d]) for d in np.unique(domain)])
        tests[i, j] = tests[j, i] = p
    return tests


def signed_rank_wins(table: Floats, items: Ids | None, level: float) -> NDArray[np.bool_]:
    """Whether a system is significantly better than another by the signed-rank test, whatever the means say."""
    wins = np.zeros((len(table), len(table)), np.bool_)
    for i, j, gaps, _ in _paired_gaps(table, items):
        if wilcoxon(gaps) < level:
            wins[i, j], wins[j, i] = favours(gaps) > 0, favours(gaps) < 0
    return wins


def rank_sum(first: Floats, second: Floats) -> float:
    """The two-sided rank-sum test (Mann and Whitney) by the normal distribution, corrected for ties and continuity.

    >>> round(rank_sum(np.array([3.0, 5.0, 6.0]), np.array([1.0, 2.0, 3.0])), 4)
    0.1212
    """
    n, m = len(first), len(second)
    if not n or not m:
        return 1.0
    ranks, ties = _mean_ranks(np.concatenate([first, second]))
    u = float(ranks[:n].sum()) - n * (n + 1) / 2
    size = n + m
    spread = sqrt(n * m / 12 * (size + 1 - float((ties**3 - ties).sum()) / (size * max(1, size - 1))))
    return 1.0 if spread == 0 else min(1.0, 2 * normal_tail((abs(u - n * m / 2) - 0.5) / spread))


def rank_sum_tests(table: Floats) -> Floats:
    """p of each two systems by the rank-sum test on the segments that both have; 1 on the diagonal and without any.

    The scores of a segment are not paired: a segment that is hard for both adds to the spread of both.
    """
    tests, rated = np.ones((len(table), len(table))), ~np.isnan(table)
    for i, j in combinations(range(len(table)), 2):
        both = rated[i] & rated[j]
        tests[i, j] = tests[j, i] = rank_sum(table[j, both], table[i, both])
    return tests


def permutation_tests(table: Floats, rng: np.random.Generator, permutations: int = 1000) -> Floats:
    """One-sided p that system i is better than system j, (systems, systems): small where it surely is.

    A permutation exchanges the scores of the two systems on half of the segments, drawn at random. p is the share of
    permutations in which the difference is as large as observed; one that equals it counts half, so that p of i and j
    and p of j and i sum to 1.
    """
    first, second = np.triu_indices(len(table), 1)
    gaps = np.nan_to_num(table[first] - table[second])  # (pairs, segments); 0 moves nothing
    observed = gaps.sum(axis=1)
    above = np.zeros(len(first))
    for start in range(0, permutations, CHUNK):
        signs = 2.0 * rng.integers(0, 2, (min(CHUNK, permutations - start), gaps.shape[1])) - 1.0
        sums = signs @ gaps.T
        same = np.abs(sums - observed) < 1e-9
        above += ((sums > observed) & ~same).sum(axis=0) + same.sum(axis=0) / 2
    tests = np.full((len(table), len(table)), 0.5)
    tests[first, second] = above / permutations
    tests[second, first] = 1 - tests[first, second]
    return tests
