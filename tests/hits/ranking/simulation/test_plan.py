"""How many judgments: Koehn's table, the price, and what cannot be reached."""

from decimal import Decimal
from math import ceil

import pytest

from hits.payment import NO_FEES
from hits.ranking.simulation.plan import plan, price_of
from hits.ranking.simulation.simulate import SimulatedWorld, simulate
from rypt.text import RyptError

KOEHN = {  # (systems, σ², significant pairs): judgments; Koehn's steps are coarse, 5 to 10 thousand at 50,000
    (6, 8, 0.8): 8_000,
    (6, 10, 0.7): 5_000,
    (6, 12, 0.7): 7_000,
    (8, 10, 0.7): 8_000,
    (10, 12, 0.5): 6_000,
    (10, 12, 0.7): 20_000,
    (15, 8, 0.8): 50_000,
    (15, 10, 0.8): 80_000,
}


@pytest.mark.parametrize("cell", KOEHN)
def test_koehns_table(cell: tuple[int, float, float]) -> None:
    found = plan(*cell, experiments=300, threads=2)
    assert found.high is not None
    assert found.low < found.judgments < found.high
    assert 0.95 * found.low <= KOEHN[cell] <= 1.05 * found.high


def test_so_many_judgments_give_the_share() -> None:
    found = plan(10, 9.0, 0.6, experiments=400, seed=1)
    check = simulate(SimulatedWorld(10, 9.0), found.judgments, experiments=800, method="pairwise", seed=2)
    assert abs(check.significant - 0.6) < 4 * check.errors[0]


def test_the_same_for_any_number_of_threads() -> None:
    assert plan(6, 8.0, 0.5, experiments=40, threads=3) == plan(6, 8.0, 0.5, experiments=40)
    assert plan(6, 8.0, 0.5, experiments=40, seed=1) != plan(6, 8.0, 0.5, experiments=40)


def test_more_of_anything_needs_more_judgments() -> None:
    least = plan(6, 6.0, 0.5, experiments=100)
    harder = (
        plan(9, 6.0, 0.5, experiments=100),
        plan(6, 9.0, 0.5, experiments=100),
        plan(6, 6.0, 0.6, experiments=100),
        plan(6, 6.0, 0.5, sides=2, experiments=100),
    )
    assert all(other.judgments > 1.2 * least.judgments for other in harder)
    assert plan(6, 6.0, 0.5, noise="text", experiments=100).judgments < least.judgments / 3


def test_price() -> None:
    found = plan(6, 8.0, 0.5, experiments=40, ties=0.2)
    assert found.hits == ceil(ceil(found.judgments / 0.8) / 10)
    assert found.price.rewards == found.hits * Decimal(
        "0.25"
    )  # five candidates, 15 seconds each, $12 an hour
    assert found.price.fees == found.hits * Decimal("0.05")
    assert found.price.wage == found.price.min_wage == 12
    pairs = price_of(100, 2, wage=Decimal(18), fees=NO_FEES, seconds=Decimal(20))
    assert (pairs.hits, pairs.answers, pairs.total) == (100, 100, Decimal("10.00"))
    assert price_of(101, 5).hits == 11


def test_three_systems_are_compared_at_once() -> None:
    found = plan(3, 5.0, 0.5, experiments=50)
    assert found.world.ways == 3
    assert found.hits == ceil(found.judgments / 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: plan(significant=1.0), "between 0 and 1, found 1"),
        (lambda: plan(ties=1.0), "from 0 to below 1"),
        (lambda: plan(ways=6), "2 to 5 systems in a hit, found 6"),
        (lambda: plan(experiments=1), "2 experiments or more"),
        (lambda: plan(systems=1), "2 systems or more, found 1"),
        (
            lambda: plan(8, 10.0, 0.99, most=5000, experiments=20),
            r"5,000 judgments tell only \d+\.\d% .* not 99\.0%",
        ),
    ],
)
def test_what_cannot_be(make, message: str) -> None:
    with pytest.raises(RyptError, match=message):
        make()
