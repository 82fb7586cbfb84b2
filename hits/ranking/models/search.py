"""The cheapest ranking, exactly: minimum feedback arc set (Lopez 2012) and the costs of Cumings (2012), by his A*.

What it costs to rank u above v depends on how often u beat v (wins) and v beat u (losses); ties do not count:

    mfas                 max(0, losses − wins)
    winning-percentage   −log(wins / (wins + losses)); ``never`` without any win, log 2 where the two never met
    testimonial          −log 1 / (1 + ((1 − x) / x)^(wins − losses)): each judgment is true with probability x

A state of the search is the set of systems ranked so far, the best first. Heuristics say what is still to come, where y
systems are left and so T(y − 1) = y (y − 1) / 2 costs:

    none              0 (Lopez)
    least-possible    as many of the least costs of all pairs; a state may be explored again when a cheaper way is found
    least-remaining   the same over pairs not yet decided: the sum of their cheaper orders

*Nodes* are the states explored before the goal; of states that promise the same cost the one that has waited longest
comes first. Several rankings may be the cheapest, "and they can be quite different" (Cumings, section 4): they are
counted, and each system's first and last place among them is given. Judgments of up to 26 systems that are too even for
A* are searched by a table of the least cost of every set of systems (Held and Karp 1962).
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isfinite, log
from typing import Any, NamedTuple

import numpy as np

from hits.ranking.data import Comparisons, Counts
from hits.ranking.model import Fitted, check_fit, sign
from hits.ranking.models.wins import expected_wins
from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.options import Options
from rypt.text import RyptError

HEURISTICS = ("none", "least-possible", "least-remaining")
MOST_STATES = 1 << 21  # that A* looks at
MOST_BITS = 62  # systems that a state holds
DENSE = 26  # systems for which a table of all states fits: 512 MB
MOST_OPTIMA = 50_000  # states on cheapest rankings up to which these are counted


class PairCosts(NamedTuple):
    """``units[u, v]`` is what it costs to rank u above v, as a whole number, ``scale`` of them to a cost of 1.

    Whole numbers add up alike in any order, so ties are ties. Where they are rounded, sums within ``slack`` are equal.
    """

    units: Counts
    scale: float = 1.0
    slack: int = 0

    def total(self, ranking: Sequence[int]) -> float:
        """The cost of a ranking, best system first."""
        return float(np.triu(self.units[np.ix_(ranking, ranking)], 1).sum() / self.scale)


def costs_mfas(wins: Counts) -> PairCosts:
    """Lopez' cost.

    >>> costs_mfas(np.array([[0, 5], [2, 0]])).units.tolist()
    [[0, 0], [3, 0]]
    """
    return PairCosts(np.maximum(0, wins.T - wins))


def costs_winning_percentage(wins: Counts, never: float = 10.0) -> PairCosts:
    """Cumings' cost by shares of wins.

    ``never`` must exceed every other cost, or a system with no win would be preferred to one with a few.
    """
    met = wins + wins.T
    with np.errstate(divide="ignore", invalid="ignore"):
        costs = np.where(wins > 0, -np.log(wins / met), np.where(met > 0, never, log(2)))
    np.fill_diagonal(costs, 0)
    highest = max(float(costs[wins > 0].max(initial=0.0)), log(2))
    if not isfinite(never) or never <= highest:
        raise RyptError(f"expected a cost for no win at all above {highest:.6g}, found {never:g}")
    scale = _scale(costs)
    return PairCosts(np.rint(costs * scale).astype(np.int64), scale, 2 * len(wins) ** 2)


def costs_testimonial(wins: Counts, prior: float = 0.75) -> PairCosts:
    """Cumings' independent testimonies, in logarithms, which do not underflow.

    Beyond its cheaper order a pair costs log(x / (1 − x)) times its MFAS cost, so both have the same best rankings.
    """
    if not 0.5 < prior < 1:
        raise RyptError(f"expected a prior probability of a true judgment between 0.5 and 1, found {prior:g}")
    odds = log(prior / (1 - prior))
    costs = np.logaddexp(0.0, -odds * (wins - wins.T))
    np.fill_diagonal(costs, 0)
    scale = _scale(costs)
    cheaper = np.rint(np.minimum(costs, costs.T) * scale).astype(np.int64)
    return PairCosts(cheaper + np.maximum(0, wins.T - wins) * round(odds * scale), scale)


def _scale(costs: Floats) -> float:
    """The power of 2, at most 2^44, with which the sum of all costs stays below 2^60."""
    return float(2.0 ** min(44, int(60 - np.ceil(np.log2(max(1.0, costs.sum()))))))


class Explored(NamedTuple):
    """The least cost, the nodes explored before it was found, and all states looked at with their costs."""

    cost: int
    nodes: int
    states: Ints
    costs: Ints


def explore(costs: PairCosts, heuristic: str = "least-remaining", bound: int = 1 << 62) -> Explored | None:
    """A* over sets of systems; None where it would look at too many.

    The search goes on beyond the goal until all states are explored that promise no more than the cheapest ranking.
    What promises more than ``bound``, the cost of any ranking, is never looked at.
    """
    n = len(costs.units)
    if n > MOST_BITS:
        raise RyptError(f"expected at most {MOST_BITS} systems to search the cheapest ranking of, found {n}")
    by_size, minima = np.zeros(n + 1, np.int64), np.zeros((n, n), np.int64)
    if heuristic == "least-possible":
        sums = np.concatenate([[0], np.cumsum(np.sort(costs.units[~np.eye(n, dtype=bool)]))])
        left = n - np.arange(n + 1)
        by_size = sums[left * (left - 1) // 2]
    elif heuristic == "least-remaining":
        minima = np.minimum(costs.units, costs.units.T)
    explored = Explored(
        *_explore(np.ascontiguousarray(costs.units), by_size, minima, costs.slack, bound, MOST_STATES)
    )
    return None if explored.cost < 0 else explored


@compiled
def _explore(
    costs: Counts, by_size: Ints, minima: Counts, slack: int, bound: int, most: int
) -> tuple[Any, Any, Ints, Ints]:
    n = len(costs)
    goal, hope = (np.int64(1) << n) - 1, np.triu(minima, 1).sum()
    rest = np.zeros(n, np.int64)
    reached = {np.int64(0): np.int64(0)}  # state → cost
    queue = [(hope + by_size[0], 0, np.int64(0), np.int64(0), hope)]  # promise, when, state, cost, hope
    best: Any = np.int64(-1)
    nodes, when = 0, 0
    while len(queue):
        promised, _, state, cost, hope = heapq.heappop(queue)
        if reached[state] != cost:
            continue  # a cheaper way was found
        if best >= 0 and promised > best + slack:
            break
        if state == goal:
            best = cost
            continue
        nodes += best < 0
        if len(reached) > most:
            best = -1
            break
        left = 0
        for u in range(n):
            if not (state >> u) & 1:
                rest[left] = u
                left += 1
        for u in rest[:left]:
            added, then, after = cost, hope, state | (np.int64(1) << u)
            for v in rest[:left]:
                added += costs[u, v]
                then -= minima[u, v]
            promised = added + then + by_size[n - left + 1]
            if promised > bound + slack or added >= reached.get(after, added + 1):
                continue
            reached[after] = added
            when += 1
            heapq.heappush(queue, (promised, when, after, added, then))
    states, least = np.zeros(len(reached), np.int64), np.zeros(len(reached), np.int64)
    for i, (state, cost) in enumerate(reached.items()):
        states[i], least[i] = state, cost
    return best, nodes, states, least


@compiled
def _fill(costs: Counts, values: Ints) -> None:
    """The least cost of every set of systems, by the system ranked last among them (Held and Karp 1962)."""
    n = len(costs)
    half = n // 2
    low, high = np.zeros((1 << half, n), np.int64), np.zeros((1 << (n - half), n), np.int64)
    for part, shift in ((low, 0), (high, half)):
        for mask in range(1, len(part)):
            bit = 0
            while not (mask >> bit) & 1:
                bit += 1
            for u in range(n):
                part[mask, u] = part[mask & (mask - 1), u] + costs[u, shift + bit]
    totals = costs.sum(axis=1)
    for state in range(1, len(values)):
        best = np.int64(-1)
        for u in range(n):
            if (state >> u) & 1:
                above = totals[u] - low[state & ((1 << half) - 1), u] - high[state >> half, u]
                cost = values[state ^ (1 << u)] + above
                if best < 0 or cost < best:
                    best = cost
        values[state] = best


@dataclass(frozen=True, slots=True)
class Optimum:
    """The cheapest rankings of all systems.

    ``nodes`` were explored before the first was found; None where a table of all states was filled. ``steps`` says for
    each set of systems ranked first, a bit mask, which may come next; ``low`` and ``high`` are the first and the last
    place of each system. ``count`` is None, and any place possible, where these sets are too many.
    """

    nodes: int | None
    count: int | None
    low: list[int]
    high: list[int]
    steps: dict[int, list[int]]

    def rankings(self) -> Iterator[tuple[int, ...]]:
        """Every cheapest ranking, best system first; the one with the preferred systems in front comes first."""
        stack: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        while stack:
            state, path = stack.pop()
            if len(path) == len(self.low):
                yield path
            else:
                stack += [(state | 1 << u, (*path, u)) for u in reversed(self.steps[state])]


def find_optimum(costs: PairCosts, prefer: Sequence[int] | None = None) -> Optimum:
    """The cheapest rankings, by A* or, where judgments are too even for that, by a table of all sets of systems."""
    units, n = costs.units, len(costs.units)
    order = list(range(n)) if prefer is None else list(prefer)
    least: Callable[[int], int | None]
    explored = explore(costs, bound=int(np.triu(units[np.ix_(order, order)], 1).sum()))
    if explored is not None:
        cheap = explored.costs <= explored.cost + costs.slack
        least = dict(zip(explored.states[cheap].tolist(), explored.costs[cheap].tolist(), strict=True)).get
    elif n <= DENSE:
        units, values = units - np.minimum(units, units.T), np.zeros(1 << n, np.int64)
        _fill(np.ascontiguousarray(units), values)
        least = values.item
    else:
        raise RyptError(f"the judgments of {n} systems are too even to search their cheapest ranking exactly")
    steps, countable = _walk(units, costs.slack, least, order)
    nodes = explored.nodes if explored else None
    if not countable:
        return Optimum(nodes, None, [1] * n, [n] * n, steps)
    ways, low, high = {(1 << n) - 1: 1}, [n] * n, [1] * n
    for state, following in steps.items():  # sets of more systems come first
        ways[state] = sum(ways[state | 1 << u] for u in following)
        place = state.bit_count() + 1
        for u in following:
            low[u], high[u] = min(low[u], place), max(high[u], place)
    return Optimum(nodes, ways[0], low, high, steps)


def _walk(
    units: Counts, slack: int, least: Callable[[int], int | None], order: Sequence[int]
) -> tuple[dict[int, list[int]], bool]:
    """The states on cheapest rankings and what comes next, from the goal back; and whether these are all of them."""
    steps: dict[int, list[int]] = {}
    level, countable = {(1 << len(units)) - 1}, True
    bits = 1 << np.arange(len(units))
    while level != {0}:
        earlier = set()
        for state in level:
            added = (units @ ((state & bits) == 0)).tolist()
            cost = (least(state) or 0) + slack
            for u in order:
                if state >> u & 1:
                    before = least(state ^ 1 << u)
                    if before is not None and before + added[u] <= cost:
                        steps.setdefault(state ^ 1 << u, []).append(u)
                        earlier.add(state ^ 1 << u)
        countable = countable and len(steps) <= MOST_OPTIMA
        level = earlier if countable else {min(earlier)}
    for following in steps.values():
        following.sort(key=order.index)
    return steps, countable


@dataclass(frozen=True, slots=True)
class SearchModel:
    """Ranks by the cheapest ranking; a system's score is the number of systems ranked below it.

    ``never`` and ``prior`` are those of the costs. ``extra`` has the cost, the nodes that A* explores, the number of
    cheapest rankings and every system's first and last place among them, and up to ``list`` of these rankings.
    """

    name: str
    heuristic: str = "least-remaining"
    list: int = 0
    never: float = 10.0
    prior: float = 0.75

    def costs(self, wins: Counts) -> PairCosts:
        """What each order of two systems costs."""
        if self.name == "winning-percentage":
            return costs_winning_percentage(wins, self.never)
        return costs_mfas(wins) if self.name == "mfas" else costs_testimonial(wins, self.prior)

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Of several cheapest rankings, the systems with more Expected Wins first, then by name; nothing is random."""
        check_fit(comparisons)
        systems, wins = comparisons.systems, comparisons.counts()[0]
        if not wins.any():
            raise RyptError("expected comparisons that one system won, found only ties")
        costs = self.costs(wins)
        shares = np.round(expected_wins(wins, unseen="zero"), 12)
        optimum = find_optimum(costs, sorted(range(len(systems)), key=lambda i: (-shares[i], systems[i])))
        ranking, nodes = next(optimum.rankings()), optimum.nodes
        if self.heuristic != "least-remaining":
            explored = explore(costs, self.heuristic)
            nodes = explored.nodes if explored else None
        cost = costs.total(ranking)
        extra: dict[str, Any] = {
            "cost": round(cost) if self.name == "mfas" else cost,
            "nodes": nodes,
            "optimal_rankings": optimum.count,
            "optimal_places": {
                name: [low, high] for name, low, high in zip(systems, optimum.low, optimum.high, strict=True)
            },
        }
        if self.list:
            rankings = [[systems[i] for i in each] for each in islice(optimum.rankings(), self.list)]
            extra["rankings"] = rankings
            if optimum.count is None or len(rankings) < optimum.count:
                count = "too many to count" if optimum.count is None else f"{optimum.count:,}"
                extra["message"] = f"{len(rankings):,} of the optimal rankings listed, all: {count}"
        scores = np.zeros(len(systems))
        scores[[*ranking]] = np.arange(len(systems))[::-1]
        option = {"winning-percentage": {"never": self.never}, "testimonial": {"prior": self.prior}}
        return Fitted(systems, scores, sign(self.name, comparisons, **option.get(self.name, {})), extra=extra)


def make_search(options: Options) -> SearchModel:
    """Any of the three costs, with ``heuristic``, ``list`` and ``never`` or ``prior``."""
    never, prior = 10.0, 0.75
    if options.name == "winning-percentage":
        never = options.positive("never", never)
    elif options.name == "testimonial":
        prior = options.number("prior", prior, least=0.5, most=1.0)
    heuristic = options.choice("heuristic", "least-remaining", HEURISTICS)
    most = options.whole("list", 0, most=1_000_000)
    return SearchModel(options.name, heuristic, most, never, prior)
