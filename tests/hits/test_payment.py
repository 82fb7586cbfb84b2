from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.payment import (
    MIN_WAGE,
    MTURK_FEES,
    NO_FEES,
    PAPER_RULE,
    fair_rule,
    fees_of,
    price,
    wage_before_rounding,
)
from hits.records import Batch, BatchSettings, Item, Kind, RewardRule


def batch(sizes: list[int], rule: RewardRule, assignments: int = 1, kind: Kind = Kind.LABEL) -> Batch:
    settings = BatchSettings("b", kind, "t", "d", "k", rule, assignments)
    return Batch(settings, tuple(Item(str(i), {"size": str(size)}) for i, size in enumerate(sizes)), "")


@pytest.mark.parametrize(
    ("reward", "assignments", "total"), [("0.05", 9, "0.54"), ("0.05", 10, "0.70"), ("0.02", 3, "0.09")]
)
def test_the_published_examples_of_fees(reward: str, assignments: int, total: str) -> None:
    found = price(batch([1], RewardRule(each=Decimal(reward)), assignments), fees=MTURK_FEES)
    assert str(found.total) == total
    assert found.rewards == Decimal(reward) * assignments
    assert isinstance(found.fees, Decimal)


@given(
    st.lists(st.integers(1, 10), min_size=1, max_size=30),
    st.decimals("0.001", 2, places=3),
    st.integers(1, 15),
)
def test_prices_are_whole_cents_that_add_up(sizes: list[int], each: Decimal, assignments: int) -> None:
    found = price(batch(sizes, RewardRule(each=each), assignments), fees=MTURK_FEES)
    cents = [-(-int(each * 1000) * size // 10) for size in sizes]  # integers throughout
    tenths = sum(assignments * (10 * c + max(10, c * (4 if assignments >= 10 else 2))) for c in cents)
    assert found.rewards == Decimal(assignments * sum(cents)) / 100
    assert found.total == found.rewards + found.fees == Decimal(-(-tenths // 10)) / 100
    assert [amount.as_tuple().exponent for amount in (found.rewards, found.fees, found.total)] == [-2, -2, -2]
    assert (found.hits, found.assignments) == (len(sizes), len(sizes) * assignments)
    assert found.answers == sum(sizes) * assignments


def test_our_own_market_takes_nothing() -> None:
    assert price(batch([3, 4], RewardRule(), 12), fees=NO_FEES).total == Decimal("0.84")
    assert price(batch([3, 4], RewardRule(), 12)) == price(
        batch([3, 4], RewardRule(), 12), fees=fees_of("local")
    )
    assert fees_of("mturk") is MTURK_FEES
    assert price(batch([3], RewardRule(each=Decimal(0))), fees=NO_FEES).total == 0


def test_the_papers_pace_and_wage() -> None:
    """1000 labels at 8.4 seconds take 2 h 20 min (section 4.2)."""
    found = price(batch([10] * 100, PAPER_RULE))
    assert round(found.hours * 60) == 140
    assert found.wage is not None
    assert Decimal("1.3") < found.wage < Decimal("1.95")
    assert found.warning is not None
    assert "$1.71 an hour, less than $12.00" in found.warning
    assert "$28.00 instead of $4.00" in found.warning


@pytest.mark.parametrize("size", range(1, 11))
@pytest.mark.parametrize("kind", Kind)
def test_the_fair_rule_pays_the_minimum_wage_for_every_size(kind: Kind, size: int) -> None:
    found = price(batch([size], fair_rule(kind), kind=kind))
    assert found.wage is not None
    assert found.wage >= MIN_WAGE
    assert found.warning is None


def test_times_that_were_measured_replace_the_guess() -> None:
    made = batch([5], fair_rule(Kind.LABEL))
    assert price(made, seconds=Decimal(10)).warning is not None
    assert price(made, seconds=Decimal("8.4")).warning is None
    assert price(made, seconds=Decimal(10), min_wage=Decimal(5)).warning is None


def test_rounding_up_explains_a_higher_wage() -> None:
    fast = batch([1], fair_rule(Kind.COMPARISON, seconds=Decimal("2.31")), 3, Kind.COMPARISON)
    cost = price(fast, seconds=Decimal("2.31"))
    assert cost.wage is not None
    assert round(cost.wage, 2) == Decimal("15.58")  # a cent for 2.31 seconds
    exact = wage_before_rounding(fast, cost)
    assert exact is not None
    assert round(exact, 1) == 12
    even = batch([1], fair_rule(Kind.COMPARISON), 3, Kind.COMPARISON)
    assert wage_before_rounding(even, price(even)) is None


def test_no_items_cost_nothing() -> None:
    empty = price(replace(batch([1], RewardRule()), items=()))
    assert (empty.total, empty.wage, empty.warning) == (0, None, None)


def test_a_bonus_has_a_fee_of_its_own() -> None:
    assert MTURK_FEES.bonus_fee(Decimal("1.00")) == Decimal("0.20")
    assert MTURK_FEES.bonus_fee(Decimal("0.01")) == Decimal("0.01")
