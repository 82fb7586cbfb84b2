"""The cheapest ranking, exactly: minimum feedback arc set (Lopez 2012) and the costs of Cumings (2012).

Only what a pair costs beyond its cheaper order matters. Systems split into groups before anything is searched:

- *series*: every system of one group beats every system of the next. Each cheapest ranking keeps that order, so
  costs add up and numbers of rankings multiply.
- *parallel*: no system of one group beats or is beaten by one of another. Their rankings interleave in every way.
- what is left is searched (`hits.ranking.models.optima`).

There may be several cheapest rankings, "and they can be quite different" (Cumings, section 4): all are counted, and
each system's first and last place among them is told. The one given is, place by place, that with the system of the
most Expected Wins, then of the first name.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons, Counts
from hits.ranking.model import Fitted, check_fit, sign
from hits.ranking.models.astar import HEURISTICS, explore
from hits.ranking.models.costs import (
    NEVER,
    PRIOR,
    PairCosts,
    costs_mfas,
    costs_testimonial,
    costs_winning_percentage,
)
from hits.ranking.models.optima import Optima, find_optima
from rypt.options import Options
from rypt.text import RyptError

Reaches = NDArray[np.bool_]  # (systems, systems): whether one is linked to the other


@dataclass(frozen=True, slots=True)
class OptimalGroup:
    """Systems and their cheapest rankings; ``low`` and ``high`` are first and last places, in the order of members."""

    members: tuple[int, ...]
    count: int | None
    ranking: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    kind: str = "single"
    parts: tuple["OptimalGroup", ...] = ()
    optima: Optima | None = None

    def rankings(self, most: int) -> Iterator[tuple[int, ...]]:
        """Cheapest rankings, at most so many of each part's, the given one first."""
        if self.optima is not None and len(self.optima.states):
            for order in islice(self.optima.rankings(), most):
                yield tuple(self.members[i] for i in order)
        elif not self.parts:
            yield self.ranking
        else:
            for choice in product(*(list(islice(part.rankings(most), most)) for part in self.parts)):
                if self.kind == "series":
                    yield tuple(u for part in choice for u in part)
                else:
                    yield from _interleaved(choice)


@dataclass(frozen=True, slots=True)
class Optimum:
    """The cheapest rankings of all systems, as indices, best first.

    ``count`` is the number of rankings of this cost, None where even their partial rankings are too many to hold;
    ``low`` and ``high`` are the first and the last place of each system among them.
    """

    cost: float
    ranking: tuple[int, ...]
    count: int | None
    low: tuple[int, ...]
    high: tuple[int, ...]
    group: OptimalGroup
    order: tuple[int, ...]

    def rankings(self, most: int) -> list[tuple[int, ...]]:
        """Up to ``most`` of the cheapest rankings, the given one first."""
        listed = islice(self.group.rankings(most), most)
        return [tuple(self.order[i] for i in ranking) for ranking in listed]


def find_optimum(costs: PairCosts, prefer: tuple[int, ...] | None = None) -> Optimum:
    """The cheapest ranking, and how many there are; ``prefer`` orders the systems for the choice among several."""
    n = len(costs.excess)
    order = prefer if prefer is not None else tuple(range(n))
    ordered = costs.reordered(order)
    group = _split(ordered, tuple(range(n)), set())
    ranking = tuple(order[i] for i in group.ranking)
    back = {system: i for i, system in enumerate(order)}
    place = {member: i for i, member in enumerate(group.members)}
    low = tuple(group.low[place[back[i]]] for i in range(n))
    high = tuple(group.high[place[back[i]]] for i in range(n))
    return Optimum(costs.total(ranking), ranking, group.count, low, high, group, order)


def preference(systems: tuple[str, ...], wins: Counts) -> tuple[int, ...]:
    """Systems by Expected Wins, then by name: which of several cheapest rankings to give."""
    decided = wins + wins.T
    shares = np.divide(wins, decided, out=np.zeros(wins.shape), where=decided > 0).sum(axis=1)
    return tuple(sorted(range(len(systems)), key=lambda i: (-round(float(shares[i]), 12), systems[i])))


def _split(costs: PairCosts, members: tuple[int, ...], tried: set[str]) -> OptimalGroup:
    """The cheapest rankings of some systems, through ever smaller groups."""
    if len(members) == 1:
        return OptimalGroup(members, 1, members, (1,), (1,))
    grid = np.ix_(members, members)
    beats = costs.excess[grid].T > 0
    if "series" not in tried:
        groups = _strong_groups(beats | ~(beats | beats.T))
        if len(groups) > 1:
            return _joined(
                "series", [_split(costs, tuple(members[i] for i in g), {"series"}) for g in groups]
            )
    if "parallel" not in tried:
        groups = _strong_groups(beats | beats.T)
        if len(groups) > 1:
            return _joined(
                "parallel", [_split(costs, tuple(members[i] for i in g), {"parallel"}) for g in groups]
            )
    optima = find_optima(
        np.ascontiguousarray(costs.excess[grid]), np.ascontiguousarray(costs.marks[grid]), costs.slack
    )
    ranking = tuple(members[i] for i in optima.ranking)
    return OptimalGroup(members, optima.count, ranking, optima.low, optima.high, "search", (), optima)


def _joined(kind: str, parts: list[OptimalGroup]) -> OptimalGroup:
    """Groups one after the other, or side by side."""
    members = tuple(u for part in parts for u in part.members)
    sizes = [len(part.members) for part in parts]
    counts = [part.count for part in parts if part.count is not None]
    count = prod(counts) if len(counts) == len(parts) else None
    low, high, before = [], [], 0
    for part, size in zip(parts, sizes, strict=True):
        ahead, others = (before, before) if kind == "series" else (0, len(members) - size)
        low += [place + ahead for place in part.low]
        high += [place + others for place in part.high]
        before += size
        if kind == "parallel" and count is not None:
            count *= comb(before, size)
    if kind == "series":
        ranking = tuple(u for part in parts for u in part.ranking)
    else:
        ranking = next(_interleaved(tuple(part.ranking for part in parts)))
    return OptimalGroup(members, count, ranking, tuple(low), tuple(high), kind, tuple(parts))


def _strong_groups(links: Reaches) -> list[list[int]]:
    """Groups of systems that reach one another, a group before those it reaches (here: reaching is all or nothing)."""
    n = len(links)
    reach = links | np.eye(n, dtype=bool)
    for k in range(n):
        reach |= np.outer(reach[:, k], reach[k])
    mutual = reach & reach.T
    firsts = [i for i in range(n) if not mutual[i, :i].any()]
    firsts.sort(key=lambda i: (-int(reach[i].sum()), i))
    return [np.flatnonzero(mutual[i]).tolist() for i in firsts]


def _interleaved(rankings: tuple[tuple[int, ...], ...]) -> Iterator[tuple[int, ...]]:
    """All ways to merge rankings, that with the smallest numbers first."""
    rest = sorted(ranking for ranking in rankings if ranking)
    if not rest:
        yield ()
    for i, ranking in enumerate(rest):
        for merged in _interleaved((*rest[:i], ranking[1:], *rest[i + 1 :])):
            yield (ranking[0], *merged)


@dataclass(frozen=True, slots=True)
class SearchModel:
    """Ranks by the cheapest ranking; a system's score is the number of systems ranked below it.

    ``extra`` has the cost, the nodes that Cumings' A* explores, the number of cheapest rankings and every system's
    first and last place among them, and with ``most`` above 0 up to so many of these rankings.
    """

    name: str
    costs: Callable[[Counts], PairCosts]
    facts: tuple[tuple[str, object], ...] = ()
    heuristic: str = "least-remaining"
    closed: bool = True
    most: int = 0

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """The cheapest ranking; nothing here is random."""
        check_fit(comparisons)
        systems, wins = comparisons.systems, comparisons.counts()[0]
        if not wins.any():
            raise RyptError("expected comparisons that one system won, found only ties")
        costs = self.costs(wins)
        optimum = find_optimum(costs, preference(systems, wins))
        scores = np.zeros(len(systems))
        scores[list(optimum.ranking)] = np.arange(len(systems))[::-1]
        signature = sign(self.name, comparisons, **dict(self.facts))
        return Fitted(systems, scores, signature, extra=self._extra(systems, costs, optimum))

    def _extra(self, systems: tuple[str, ...], costs: PairCosts, optimum: Optimum) -> dict[str, Any]:
        explored = explore(costs, self.heuristic, closed=self.closed)
        cost = round(optimum.cost) if self.name == "mfas" else optimum.cost
        extra: dict[str, Any] = {
            "cost": cost,
            "nodes": explored.nodes,
            "optimal_rankings": optimum.count,
            "optimal_places": {name: [optimum.low[i], optimum.high[i]] for i, name in enumerate(systems)},
        }
        if self.most:
            listed = optimum.rankings(self.most)
            extra["rankings"] = [[systems[i] for i in ranking] for ranking in listed]
            if optimum.count is None or len(listed) < optimum.count:
                total = "too many to count" if optimum.count is None else f"{optimum.count:,}"
                extra["message"] = f"{len(listed):,} of the optimal rankings listed, all: {total}"
        return extra


def _make(options: Options, costs: Callable[[Counts], PairCosts], **facts: object) -> SearchModel:
    return SearchModel(
        options.name,
        costs,
        tuple(facts.items()),
        options.choice("heuristic", "least-remaining", HEURISTICS),
        options.choice("closed", "yes", ("yes", "no")) == "yes",
        options.whole("list", 0, most=1_000_000),
    )


def make_mfas(options: Options) -> SearchModel:
    """Lopez' minimum feedback arc set."""
    return _make(options, costs_mfas)


def make_winning_percentage(options: Options) -> SearchModel:
    """Cumings' most probable ranking by shares of wins; ``never`` is the cost where there is no win."""
    never = options.positive("never", NEVER)
    return _make(options, lambda wins: costs_winning_percentage(wins, never), never=never)


def make_testimonial(options: Options) -> SearchModel:
    """Cumings' independent testimonies, each true with probability ``prior``."""
    prior = options.number("prior", PRIOR, least=0.5, most=1.0)
    return _make(options, lambda wins: costs_testimonial(wins, prior), prior=prior)
