"""The cheapest rankings against all permutations with exact arithmetic."""

from fractions import Fraction
from itertools import permutations
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hits.ranking.data import comparisons_of, from_counts
from hits.ranking.model import read_model
from hits.ranking.models.costs import COSTS, costs_mfas, costs_winning_percentage
from hits.ranking.models.search import find_optimum, preference
from rypt.text import RyptError

RNG = np.random.default_rng(0)
Rankings = list[tuple[int, ...]]


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Counts so small that many pairs are even and many rankings equally cheap."""
    n = draw(st.integers(2, 6))
    cells = draw(st.lists(st.sampled_from([0, 0, 1, 2, 3, 4, 6, 9]), min_size=n * n, max_size=n * n))
    return np.array(cells).reshape(n, n) * (1 - np.eye(n, dtype=int))


def exactly_cheapest(wins: np.ndarray, name: str) -> Rankings:
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


@pytest.mark.parametrize("name", COSTS)
@settings(max_examples=60)
@given(tables())
def test_all_cheapest_rankings(name: str, wins: np.ndarray) -> None:
    n = len(wins)
    expected = exactly_cheapest(wins, name)
    costs = COSTS[name](wins)
    found = find_optimum(costs)
    assert found.cost == pytest.approx(costs.total(expected[0]))
    assert found.count == len(expected)
    assert sorted(found.rankings(factorial(n))) == expected
    assert found.rankings(1) == [found.ranking]
    assert found.ranking == expected[0]
    places = [[order.index(u) + 1 for order in expected] for u in range(n)]
    assert (found.low, found.high) == (tuple(map(min, places)), tuple(map(max, places)))


@given(tables())
def test_the_preferred_of_the_cheapest(wins: np.ndarray) -> None:
    systems = tuple("fedcba"[: len(wins)])
    prefer = preference(systems, wins)
    found = find_optimum(costs_mfas(wins), prefer)
    assert found.ranking == min(
        exactly_cheapest(wins, "mfas"), key=lambda order: [prefer.index(u) for u in order]
    )


def test_equal_products_are_a_tie_and_near_ones_are_not() -> None:
    # a cycle a > b > c > a: which of its links to break. 4 : 2 and 2 : 1 cost the same, 1000 : 501 a bit less
    for last, count in (((2, 1), 3), ((1000, 500), 3), ((1000, 501), 1)):
        wins = np.zeros((3, 3), np.int64)
        for (u, v), (won, lost) in zip(((0, 1), (1, 2), (2, 0)), ((4, 2), (2, 1), last), strict=True):
            wins[u, v], wins[v, u] = won, lost
        assert find_optimum(costs_winning_percentage(wins)).count == count


def test_many_systems_that_split_into_groups() -> None:
    n = 200  # 40 groups of five in a row, each a cycle of three and two even systems
    wins = np.triu(np.full((n, n), 7), 1)
    for start in range(0, n, 5):
        a, _, c, d, e = range(start, start + 5)
        wins[a, c], wins[c, a] = 0, 3
        wins[d, e] = 0
    found = find_optimum(costs_mfas(wins))
    assert found.cost == 3 * 40
    assert found.count == 2**40
    assert (found.low[:5], found.high[:5]) == ((1, 2, 3, 4, 4), (1, 2, 3, 5, 5))
    assert len(set(found.rankings(50))) == 50


def test_even_systems_interleave() -> None:
    wins = np.zeros((26, 26), np.int64)
    wins[3, 1] = 1
    found = find_optimum(costs_mfas(wins))
    assert found.count == factorial(26) // 2
    assert found.ranking[:4] == (0, 2, 3, 1)
    assert (found.low[1], found.high[3]) == (2, 25)
    assert len(set(found.rankings(1000))) == 1000


def test_the_models() -> None:
    wins = np.array([[0, 9, 1, 9], [2, 0, 4, 9], [3, 1, 0, 9], [0, 0, 0, 0]])
    given = from_counts(("a", "b", "c", "d"), wins, np.zeros_like(wins))
    fitted = read_model("mfas", {"list": "5"}).fit(given, RNG)
    assert fitted.extra["cost"] == 2
    assert fitted.extra["optimal_rankings"] == 1
    assert fitted.extra["rankings"] == [["a", "b", "c", "d"]]
    assert fitted.extra["optimal_places"]["d"] == [4, 4]
    assert "message" not in fitted.extra
    assert fitted.scores.tolist() == [3, 2, 1, 0]
    assert fitted.signature.startswith("mfas|systems:4|n:47|")
    for name, options in (("winning-percentage", {"never": "12"}), ("testimonial", {"prior": "0.9"})):
        other = read_model(name, {**options, "heuristic": "none", "closed": "no"}).fit(given, RNG)
        assert other.order() == fitted.order()
        assert other.extra["nodes"] >= read_model(name).fit(given, RNG).extra["nodes"] >= 4
        key, value = next(iter(options.items()))
        assert f"|{key}:{value}|" in other.signature


def test_a_list_that_is_cut_says_so() -> None:
    given = comparisons_of([("s", "a", "b", 1, ""), ("s", "c", "d", 1, "")])
    extra = read_model("mfas", {"list": "4"}).fit(given, RNG).extra
    assert len(extra["rankings"]) == 4
    assert extra["message"] == "4 of the optimal rankings listed, all: 6"


def test_nothing_to_rank_by() -> None:
    with pytest.raises(RyptError, match="found only ties"):
        read_model("mfas").fit(comparisons_of([("s", "a", "b", 0, "")]), RNG)
    with pytest.raises(RyptError, match=r"between 0\.5 and 1"):
        read_model("testimonial", {"prior": "0.5"}).fit(comparisons_of([("s", "a", "b", 1, "")]), RNG)
