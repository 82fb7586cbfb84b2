"""The costs of pairs against the papers' formulas."""

from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.ranking.models.costs import COSTS, costs_mfas, costs_testimonial, costs_winning_percentage
from rypt.text import RyptError

COUNTS = st.integers(0, 60)


def counts(won: int, lost: int) -> np.ndarray:
    return np.array([[0, won], [lost, 0]])


@given(COUNTS, COUNTS)
def test_each_cost_is_its_papers(won: int, lost: int) -> None:
    wins = counts(won, lost)
    assert costs_mfas(wins).costs[0, 1] == max(0, lost - won)
    share = log(2) if won + lost == 0 else 10.0 if won == 0 else -log(won / (won + lost))
    assert costs_winning_percentage(wins).costs[0, 1] == pytest.approx(share)
    x = Fraction(3, 4)
    true, false = x**won * (1 - x) ** lost, x**lost * (1 - x) ** won
    assert costs_testimonial(wins).costs[0, 1] == pytest.approx(-log(true / (true + false)), rel=1e-12)


@pytest.mark.parametrize("name", COSTS)
@given(st.lists(COUNTS, min_size=16, max_size=16))
def test_whole_units_are_the_costs(name: str, cells: list[int]) -> None:
    wins = np.array(cells).reshape(4, 4) * (1 - np.eye(4, dtype=int))
    found = COSTS[name](wins)
    assert found.units / found.scale == pytest.approx(found.costs, abs=1e-9)
    assert (found.excess == 0).all() or (np.minimum(found.excess, found.excess.T) == 0).all()
    ranking = (2, 0, 3, 1)
    by_hand = sum(found.costs[u, v] for i, u in enumerate(ranking) for v in ranking[i + 1 :])
    assert found.total(ranking) == pytest.approx(by_hand)
    assert found.reordered(ranking).total((0, 1, 2, 3)) == pytest.approx(by_hand)


def test_a_great_lead_does_not_underflow() -> None:
    # 0.25 ** 2000 is 0 in floating point; the cost of the wrong order is 2000 · log 3
    assert costs_testimonial(counts(0, 2000)).costs[0, 1] == pytest.approx(2000 * log(3))
    assert costs_testimonial(counts(0, 10**6)).units.max() < 2**62


@given(st.lists(st.tuples(st.integers(1, 90), st.integers(1, 90)), min_size=2, max_size=2))
def test_marks_are_equal_when_products_are(pairs: list[tuple[int, int]]) -> None:
    (a, b), (c, d) = pairs
    marks = [
        int(costs_winning_percentage(counts(w, lost)).marks[0, 1])
        for w, lost in ((1, a), (1, b), (1, c), (1, d))
    ]
    same = (marks[0] + marks[1]) % 2**64 == (marks[2] + marks[3]) % 2**64
    assert same == (a * b == c * d)


def test_what_cannot_be() -> None:
    with pytest.raises(RyptError, match=r"no win at all above 4\.61512, found 4"):
        costs_winning_percentage(counts(1, 100), never=4)
    for prior in (0.5, 1.0, float("nan")):
        with pytest.raises(RyptError, match=r"between 0\.5 and 1"):
            costs_testimonial(counts(1, 2), prior)
