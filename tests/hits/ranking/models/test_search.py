"""The cheapest rankings against all permutations with exact arithmetic, and A* as the paper words it."""

from fractions import Fraction
from itertools import islice, permutations
from math import factorial, log, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hits.ranking.data import comparisons_of, from_counts
from hits.ranking.model import read_model
from hits.ranking.models import search
from hits.ranking.models.search import (
    HEURISTICS,
    PairCosts,
    costs_mfas,
    costs_testimonial,
    costs_winning_percentage,
    explore,
    find_optimum,
)
from rypt.text import RyptError

RNG = np.random.default_rng(0)
COSTS = {"mfas": costs_mfas, "winning-percentage": costs_winning_percentage, "testimonial": costs_testimonial}
COUNTS = st.integers(0, 60)
PAIR = comparisons_of([("s", "a", "b", 1, "")])


def random_wins(n: int, mean: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).poisson(mean, (n, n)) * (1 - np.eye(n, dtype=int))


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Counts so small that many pairs are even and many rankings equally cheap."""
    n = draw(st.integers(2, 5))
    cells = draw(st.lists(st.sampled_from([0, 0, 1, 2, 3, 4, 6, 9]), min_size=n * n, max_size=n * n))
    return np.array(cells).reshape(n, n) * (1 - np.eye(n, dtype=int))


def exactly_cheapest(wins: np.ndarray, name: str) -> list[tuple[int, ...]]:
    """By whole numbers, or by products of fractions: equal here is equal."""

    def cost(order: tuple[int, ...]) -> tuple[int, Fraction]:
        pairs = [(int(wins[u, v]), int(wins[v, u])) for i, u in enumerate(order) for v in order[i + 1 :]]
        if name != "winning-percentage":
            return 0, Fraction(sum(max(0, lost - won) for won, lost in pairs))
        never = sum(won == 0 < lost for won, lost in pairs)
        return never, 1 / prod((Fraction(won, won + lost) for won, lost in pairs if won), start=Fraction(1))

    costs = {order: cost(order) for order in permutations(range(len(wins)))}
    values = {
        key: key[0] * 10 + np.log(float(key[1])) if name == "winning-percentage" else float(key[1])
        for key in set(costs.values())
    }
    least = min(values, key=lambda key: values[key])
    return sorted(order for order, key in costs.items() if key == least)


@pytest.mark.slow
@pytest.mark.parametrize("name", COSTS)
@settings(max_examples=40)
@given(tables())
def test_all_cheapest_rankings(name: str, wins: np.ndarray) -> None:
    n = len(wins)
    expected = exactly_cheapest(wins, name)
    optimum = find_optimum(COSTS[name](wins))
    assert optimum.count == len(expected)
    assert list(islice(optimum.rankings(), factorial(n))) == expected
    places = [[order.index(u) + 1 for order in expected] for u in range(n)]
    assert (optimum.low, optimum.high) == (list(map(min, places)), list(map(max, places)))
    if wins.any():  # the model has of these the one with more Expected Wins in front
        data = from_counts([f"s{n - i}" for i in range(n)], wins, np.zeros_like(wins))
        shares = np.divide(wins, wins + wins.T, out=np.zeros((n, n)), where=wins + wins.T > 0).sum(axis=1)
        prefer = sorted(range(n), key=lambda i: (-round(shares[i], 9), -i)).index
        preferred = min(expected, key=lambda order: [prefer(u) for u in order])
        assert read_model(name).fit(data, RNG).order() == list(preferred)


@pytest.mark.slow
def test_what_is_too_large_is_found_by_a_table_of_all_states_or_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    costs = costs_mfas(random_wins(9, 0.4, 4))
    by_search = find_optimum(costs)
    best = next(by_search.rankings())
    monkeypatch.setattr(search, "MOST_STATES", 8)
    by_table = find_optimum(costs)
    assert (by_table.nodes, by_table.count) == (None, by_search.count)
    assert list(islice(by_table.rankings(), 50)) == list(islice(by_search.rankings(), 50))
    monkeypatch.setattr(search, "MOST_OPTIMA", 10)
    optimum = find_optimum(costs)  # too many to count
    assert (optimum.count, optimum.low) == (None, [1] * 9)
    assert costs.total(next(optimum.rankings())) == costs.total(best)
    monkeypatch.setattr(search, "DENSE", 8)
    with pytest.raises(RyptError, match="9 systems are too even"):
        find_optimum(costs)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: explore(PairCosts(np.zeros((63, 63), np.int64))), "at most 62 systems"),
        (lambda: read_model("mfas").fit(comparisons_of([("s", "a", "b", 0, "")]), RNG), "found only ties"),
        (lambda: read_model("testimonial:prior=0.5").fit(PAIR, RNG), r"between 0\.5 and 1"),
        (lambda: costs_winning_percentage(np.array([[0, 1], [100, 0]]), never=4), "found 4"),
    ],
)
def test_what_cannot_be(make, reason: str) -> None:
    with pytest.raises(RyptError, match=reason):
        make()


@pytest.mark.parametrize("name", COSTS)
def test_better_estimates_find_the_same_cost_with_fewer_nodes(name: str) -> None:
    explored = [explore(COSTS[name](random_wins(6, 6, 1)), heuristic) for heuristic in HEURISTICS]
    assert len({found.cost for found in explored}) == 1
    nodes = {heuristic: found.nodes for heuristic, found in zip(HEURISTICS, explored, strict=True)}
    assert nodes["none"] >= nodes["least-possible"] >= nodes["least-remaining"] >= 6


def test_equal_products_are_a_tie_and_near_ones_are_not() -> None:
    # a cycle a > b > c > a: which of its links to break. 4 : 2 and 2 : 1 cost the same, 1000 : 501 a bit less
    for last, expected in (((2, 1), 3), ((1000, 500), 3), ((1000, 501), 1)):
        wins = np.array([[0, 4, last[1]], [2, 0, 2], [last[0], 1, 0]])
        assert find_optimum(costs_winning_percentage(wins)).count == expected


@given(COUNTS, COUNTS)
def test_each_cost_is_its_papers(won: int, lost: int) -> None:
    wins = np.array([[0, won], [lost, 0]])

    def cost(costs: PairCosts) -> float:
        return float(costs.units[0, 1]) / costs.scale

    assert cost(costs_mfas(wins)) == max(0, lost - won)
    share = log(2) if won + lost == 0 else 10.0 if won == 0 else -log(won / (won + lost))
    assert cost(costs_winning_percentage(wins)) == pytest.approx(share, abs=1e-9)
    x = Fraction(3, 4)
    true, false = x**won * (1 - x) ** lost, x**lost * (1 - x) ** won
    assert cost(costs_testimonial(wins)) == pytest.approx(-log(true / (true + false)), abs=1e-9)


def test_the_models_and_their_options() -> None:
    wins = np.array([[0, 9, 1, 9], [2, 0, 4, 9], [3, 1, 0, 9], [0, 0, 0, 0]])
    data = from_counts(("a", "b", "c", "d"), wins, np.zeros_like(wins))
    fitted = read_model("mfas:list=5").fit(data, RNG)
    assert (fitted.extra["cost"], fitted.extra["rankings"]) == (2, [["a", "b", "c", "d"]])
    assert fitted.extra["optimal_places"]["d"] == [4, 4]
    for model in ("winning-percentage:never=12", "testimonial:prior=0.9"):
        other = read_model(f"{model},heuristic=none").fit(data, RNG)
        assert other.order() == fitted.order()
        assert other.extra["nodes"] >= read_model(model).fit(data, RNG).extra["nodes"] >= 4
        assert f"|{model.partition(':')[2].replace('=', ':')}|" in other.signature
    several = comparisons_of([("s", "a", "b", 1, ""), ("s", "c", "d", 1, "")])
    extra = read_model("mfas:list=4").fit(several, RNG).extra
    assert (len(extra["rankings"]), extra["message"]) == (4, "4 of the optimal rankings listed, all: 6")
