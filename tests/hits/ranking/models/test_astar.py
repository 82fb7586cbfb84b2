"""A* against the search as the paper words it, and the table of all states."""

import heapq
from itertools import count, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hits.ranking.models.astar import HEURISTICS, all_costs, explore, least_costs
from hits.ranking.models.costs import COSTS, PairCosts, costs_mfas, costs_winning_percentage
from rypt.text import RyptError


def random_wins(n: int, mean: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).poisson(mean, (n, n)) * (1 - np.eye(n, dtype=int))


def by_the_paper(costs: PairCosts, heuristic: str, closed: bool) -> tuple[int, int]:
    """Cost and nodes, with lists of costs kept and removed as Cumings describes them."""
    units = costs.units.tolist()
    n = len(units)

    def estimate(ranked: frozenset[int]) -> int:
        if heuristic == "none":
            return 0
        left = [u for u in range(n) if heuristic == "least-possible" or u not in ranked]
        remaining = sorted(units[u][v] for u in left for v in left if u != v)
        y = n - len(ranked)
        return sum(remaining[: y * (y - 1) // 2])

    clock = count()
    start: frozenset[int] = frozenset()
    queue = [(estimate(start), next(clock), start, 0)]
    waiting, visited, nodes = {start: 0}, {}, 0
    while queue:
        _, _, state, cost = heapq.heappop(queue)
        if waiting.get(state) != cost:
            continue
        del waiting[state]
        if len(state) == n:
            return cost, nodes
        nodes += 1
        visited[state] = min(cost, visited.get(state, cost))
        for u in range(n):
            if u in state:
                continue
            after = state | {u}
            reached = cost + sum(units[u][v] for v in range(n) if v not in after)
            if (closed and visited.get(after, reached + 1) <= reached) or waiting.get(
                after, reached + 1
            ) <= reached:
                continue
            waiting[after] = reached
            heapq.heappush(queue, (reached + estimate(after), next(clock), after, reached))
    raise AssertionError


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("heuristic", HEURISTICS)
@pytest.mark.parametrize("name", COSTS)
def test_nodes_are_those_of_the_paper(name: str, heuristic: str, closed: bool) -> None:
    for seed in range(6):
        costs = COSTS[name](random_wins(6, 6, seed))
        cost, nodes = by_the_paper(costs, heuristic, closed)
        found = explore(costs, heuristic, closed=closed)
        assert (found.cost, found.nodes) == (pytest.approx(cost / costs.scale), nodes)


@settings(max_examples=40)
@given(st.integers(1, 6), st.floats(0.2, 9), st.integers(0, 10**6), st.sampled_from(sorted(COSTS)))
def test_every_search_finds_the_least_cost(n: int, mean: float, seed: int, name: str) -> None:
    costs = COSTS[name](random_wins(n, mean, seed))
    least = min(costs.total(order) for order in permutations(range(n)))
    for heuristic in HEURISTICS:
        assert explore(costs, heuristic).cost == pytest.approx(least, abs=1e-9)
    found = least_costs(costs.excess, costs.slack, 10**6)
    assert found is not None
    assert found[0] == pytest.approx(all_costs(costs.excess)[0], abs=costs.slack)


def test_heuristics_save_nodes() -> None:
    costs = costs_winning_percentage(random_wins(12, 20, 1) + np.triu(np.full((12, 12), 8), 1))
    nodes = [explore(costs, heuristic).nodes or 0 for heuristic in HEURISTICS]
    assert nodes[0] > nodes[1] > 5 * nodes[2]


def test_states_that_cost_no_more_have_their_least_cost() -> None:
    costs = costs_mfas(random_wins(11, 4, 3))
    cost, everything = all_costs(costs.excess)
    found = least_costs(costs.excess, 0, 10**6)
    assert found is not None
    assert found[0] == cost
    known = {int(k): int(v) for k, v in zip(*found[1], strict=True) if k >= 0 and v <= cost}
    cheap = [state for state, value in enumerate(everything.values) if value <= cost]
    assert len(cheap) > 50
    on_the_way = [state for state in cheap if state in known]
    assert {state: known[state] for state in on_the_way} == {s: int(everything.values[s]) for s in on_the_way}
    assert 0 in known
    assert 2**11 - 1 in known


def test_limits() -> None:
    costs = costs_mfas(random_wins(14, 3, 0))
    assert explore(costs, limit=20) == (None, None)
    assert least_costs(costs.excess, 0, 20) is None
    with pytest.raises(RyptError, match="at most 62 systems"):
        explore(costs_mfas(np.zeros((63, 63), np.int64)))
    with pytest.raises(
        RyptError, match="expected a heuristic none, least-possible, least-remaining, found 'best'"
    ):
        explore(costs, "best")
