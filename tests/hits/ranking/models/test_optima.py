"""All cheapest rankings of one group: the compact graph against permutations, and its limits."""

from itertools import islice, permutations
from math import factorial

import numpy as np
import pytest

from hits.ranking.models import optima
from hits.ranking.models.costs import costs_mfas, costs_winning_percentage
from hits.ranking.models.optima import find_optima
from rypt.text import RyptError


def random_wins(n: int, mean: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).poisson(mean, (n, n)) * (1 - np.eye(n, dtype=int))


def cheapest(wins: np.ndarray) -> list[tuple[int, ...]]:
    costs = costs_mfas(wins)
    totals = {order: costs.total(order) for order in permutations(range(len(wins)))}
    return [order for order, total in totals.items() if total == min(totals.values())]


@pytest.mark.parametrize("dense", [False, True])
def test_the_graph_holds_exactly_the_cheapest_rankings(dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if dense:
        monkeypatch.setattr(optima, "SPARSE_LIMIT", 1)
    several = 0
    for seed in range(25):
        costs = costs_mfas(wins := random_wins(6, 2, seed))
        found = find_optima(costs.excess, costs.marks, 0)
        expected = cheapest(wins)
        assert list(found.rankings()) == sorted(expected)
        assert (found.count, found.ranking) == (len(expected), min(expected))
        places = [[order.index(u) + 1 for order in expected] for u in range(6)]
        assert found.low == tuple(map(min, places))
        assert found.high == tuple(map(max, places))
        several += len(expected) > 2
    assert several > 5


@pytest.mark.parametrize(("size", "groups", "fits"), [(4, 15, True), (8, 7, True), (12, 5, False)])
def test_counts_beyond_64_bits(size: int, groups: int, fits: bool) -> None:
    group = (
        np.arange(size * groups) // size
    )  # systems of a group are even, and lose to all of the groups before
    costs = (group[:, None] > group).astype(np.int64)
    found = find_optima(costs, np.zeros(costs.shape, np.uint64), 0)
    expected = factorial(size) ** groups
    assert expected > 2**64
    assert (expected < 2**128) == fits
    assert found.count == (expected if fits else None)
    assert found.low[size : 2 * size] == (size + 1,) * size
    assert found.high[size : 2 * size] == (2 * size,) * size
    assert len(set(islice(found.rankings(), 200))) == 200


def test_too_many_to_count_still_gives_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optima, "STATES_LIMIT", 10)
    costs = costs_mfas(random_wins(9, 1, 4))
    found = find_optima(costs.excess, costs.marks, 0)
    assert found.count is None
    assert costs.total(found.ranking) == found.cost


def test_too_even_to_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optima, "DENSE", 8)
    monkeypatch.setattr(optima, "LAST_LIMIT", 50)
    costs = costs_winning_percentage(random_wins(12, 9, 0))
    with pytest.raises(RyptError, match="12 systems beat one another in circles"):
        find_optima(costs.excess, costs.marks, costs.slack)
