"""How many judgments: Koehn's table, the price, and what cannot be reached."""

import json
from decimal import Decimal
from itertools import accumulate
from math import ceil, comb

import pytest
from click.testing import CliRunner

from hits.cli.rank.study import plan_
from hits.payment import MTURK_FEES
from hits.ranking.plan import plan, price_of, sign_limits
from hits.ranking.simulation import SimulatedWorld, simulate
from rypt.tails import sign_test
from rypt.text import RyptError

# systems, σ², significant pairs: judgments; his steps are coarse, 5 to 10 thousand at 50,000
KOEHN = {(6, 8, 0.8): 8_000, (10, 12, 0.5): 6_000, (15, 10, 0.8): 80_000}


@pytest.mark.slow
@pytest.mark.parametrize("cell", KOEHN)
def test_koehns_table(cell: tuple[int, float, float]) -> None:
    planned = plan(*cell, experiments=300, threads=2)
    assert planned.high is not None
    assert planned.low < planned.judgments < planned.high
    assert 0.95 * planned.low <= KOEHN[cell] <= 1.05 * planned.high


@pytest.mark.slow
def test_so_many_judgments_give_the_share() -> None:
    planned = plan(10, 9.0, 0.6, experiments=400)
    check = simulate(SimulatedWorld(10, 9.0), planned.judgments, experiments=800, method="pairwise", seed=2)
    assert abs(check.significant - 0.6) < 4 * check.errors["significant"]


def test_more_of_anything_needs_more_judgments() -> None:
    def judgments(systems=6, variance=6.0, share=0.5, **options) -> int:
        return plan(systems, variance, share, experiments=60, **options).judgments

    least = judgments()
    for harder in ({"systems": 9}, {"variance": 9.0}, {"share": 0.6}, {"sides": 2}):
        assert judgments(**harder) > 1.2 * least
    assert judgments(noise="text") < least / 3


def test_the_command_and_the_function_have_the_same_defaults() -> None:
    few = ["--systems", "4", "--experiments", "30", "--json"]
    printed = json.loads(CliRunner().invoke(plan_, few, catch_exceptions=False).stdout)
    planned = plan(4, experiments=30)
    assert (printed["judgments"], printed["seed"]) == (planned.judgments, planned.seed)
    assert (printed["fees"], printed["total"]) == (str(planned.price.fees), str(planned.price.total))
    assert plan(4, experiments=30, threads=3) == planned != plan(4, experiments=30, seed=2)


def test_price() -> None:
    planned = plan(6, 8.0, 0.5, experiments=40, ties=0.2)
    assert planned.hits == ceil(ceil(planned.judgments / 0.8) / 10)
    assert planned.price.rewards == planned.hits * Decimal("0.25")  # 5 candidates × 15 seconds, $12 an hour
    assert planned.price.fees == 0
    assert price_of(1000, 5, fees=MTURK_FEES).fees == 100 * Decimal("0.05")
    pairs = price_of(100, 2, wage=Decimal(18), seconds=Decimal(20))
    assert (pairs.hits, pairs.answers, pairs.total) == (100, 100, Decimal("10.00"))
    three = plan(3, 5.0, 0.5, experiments=50)  # all compared at once
    assert (three.world.ways, three.hits) == (3, ceil(three.judgments / 3))


@pytest.mark.parametrize("tail", [0.05, 0.025, 0.2])
def test_limits_of_the_sign_test(tail: float) -> None:
    for n, limit in enumerate(sign_limits(150, tail)):
        sums = accumulate(comb(n, k) for k in range(n + 1))
        assert limit == sum(total / 2**n <= tail for total in sums) - 1
    large = sign_limits(100_000, 0.025)
    for n in (12_345, 99_999):
        few = int(large[n])
        assert sign_test(few, n - few) <= 0.05 < sign_test(few + 1, n - few - 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: plan(significant=1.0), "between 0 and 1, found 1"),
        (lambda: plan(ties=1.0), "from 0 to below 1"),
        (lambda: plan(ways=6), "2 to 5 systems in a hit, found 6"),
        (lambda: plan(experiments=1), "2 experiments or more"),
        (lambda: plan(systems=1), "2 systems or more, found 1"),
        (lambda: plan(8, 10.0, 0.99, most=5000, experiments=20), r"5,000 judgments .* not 99\.0%"),
    ],
)
def test_what_cannot_be(make, message: str) -> None:
    with pytest.raises(RyptError, match=message):
        make()
