"""Simulated judgments: the parts against independent ones, and Koehn's tables."""

from itertools import accumulate
from math import comb, erf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.ranking.confidence import clusters, sign_test
from hits.ranking.model import read_model
from hits.ranking.simulate import (
    Likeness,
    World,
    _bootstrap,
    _clusters,
    judge,
    likeness,
    sign_limits,
    simulate,
    success,
    told_apart,
)
from rypt.text import RyptError

KOEHN = {  # judgments: pairwise range size, violations, clusters; 15 systems, σ² = 10
    10_000: (8.1, 0.008, 1.0),
    20_000: (6.3, 0.008, 1.1),
    30_000: (5.4, 0.007, 1.4),
    40_000: (4.9, 0.009, 1.7),
    50_000: (4.5, 0.009, 2.0),
}


@pytest.mark.parametrize("tail", [0.05, 0.025, 0.2])
def test_limits_of_the_sign_test(tail: float) -> None:
    for n, limit in enumerate(sign_limits(150, tail)):
        sums = accumulate(comb(n, k) for k in range(n + 1))
        assert limit == sum(total / 2**n <= tail for total in sums) - 1
    large = sign_limits(100_000, 0.025)
    for n in (12_345, 99_999):
        assert sign_test(int(large[n]), n - int(large[n])) <= 0.05 < sign_test(int(large[n]) + 1, n - int(large[n]) - 1)


def test_judgments_are_drawn_as_koehn_draws_them() -> None:
    quality = np.array([0.0, 2.0, 5.0, 5.0, 9.0, 10.0])
    wins = np.zeros((6, 6), np.int64)
    judge(quality, 3.0, 5, 600_003, np.random.default_rng(0), wins)
    assert wins.sum() == 600_003
    met = wins + wins.T
    assert met[np.triu_indices(6, 1)] == pytest.approx(np.full(15, 40_000), rel=0.03)
    for i in range(6):
        for j in range(6):
            if i != j:
                expected = (1 + erf((quality[i] - quality[j]) / (3 * 2**0.5) / 2**0.5)) / 2
                assert wins[i, j] / met[i, j] == pytest.approx(expected, abs=0.012)


def test_pairs_told_apart() -> None:
    wins = np.array([[0, 9, 5], [1, 0, 0], [5, 5, 0]])
    better, worse = np.zeros(3, np.int64), np.zeros(3, np.int64)
    assert told_apart(wins, sign_limits(20, 0.05), better, worse) == 2
    assert (better.tolist(), worse.tolist()) == ([1, 0, 1], [0, 2, 0])


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 8)), min_size=9, max_size=9))
def test_clusters_are_those_of_the_table(pairs: list[tuple[int, int]]) -> None:
    low = np.array([a for a, _ in pairs])
    high = np.minimum(9, low + np.array([b for _, b in pairs]))
    first, last = np.zeros(9, np.int64), np.zeros(9, np.int64)
    count = _clusters(low, high, first, last)
    expected = clusters(low, high)
    assert count == expected.max()
    for i in range(9):
        assert first[i] == 1 + (expected < expected[i]).sum()
        assert last[i] == (expected <= expected[i]).sum()


def test_bootstrap_ranges_against_a_multinomial() -> None:
    wins = np.zeros((6, 6), np.int64)
    rng = np.random.default_rng(4)
    judge(rng.random(6) * 10, 10.0, 5, 800, rng, wins)
    low, high = np.zeros((2, 6), np.int64)
    _bootstrap(wins, 4000, 100, rng, low, high)
    drawn = rng.multinomial(800, wins.ravel() / 800, 4000).reshape(-1, 6, 6)
    shares = drawn / np.maximum(1, drawn + drawn.transpose(0, 2, 1))
    ranks = np.sort((-shares.sum(axis=2)).argsort(axis=1).argsort(axis=1) + 1, axis=0)
    assert np.abs(low - ranks[100]).max() <= 1
    assert np.abs(high - ranks[-101]).max() <= 1
    assert (np.abs(low - ranks[100]) + np.abs(high - ranks[-101])).sum() <= 2
    assert (high - low).max() >= 2


def test_the_same_for_any_number_of_threads() -> None:
    runs = [simulate(World(8), 700, experiments=12, resamples=60, drop=1, seed=5, threads=t) for t in (1, 3)]
    assert runs[0] == runs[1]
    assert runs[0] != simulate(World(8), 700, experiments=12, resamples=60, drop=1, seed=6)
    like = Likeness(5, 12.0, 3.0, 0.6)
    models = [read_model("expected-wins"), read_model("mfas")]
    assert success(models, like, iterations=20, threads=3) == success(models, like, iterations=20)


@pytest.mark.parametrize("judgments", KOEHN)
def test_koehns_tables_of_the_pairwise_method(judgments: int) -> None:
    found = simulate(World(), judgments, experiments=600, method="pairwise", threads=2)
    size, violations, groups = KOEHN[judgments]
    _, _, size_error, violation_error, groups_error, _ = found.errors
    assert abs(found.range_size - size) < 0.05 + 3 * size_error
    assert abs(found.range_violations - violations) < 0.0005 + 4 * violation_error  # his is as uncertain as ours
    assert abs(found.clusters - groups) < 0.05 + 3 * groups_error
    assert found.cluster_violations < 0.003


def test_koehns_bootstrap_with_narrower_tails() -> None:
    found = simulate(World(), 30_000, experiments=60, drop=6, threads=2)
    assert found.range_size == pytest.approx(3.3, abs=0.25)
    assert found.clusters == pytest.approx(3.9, abs=0.6)
    assert simulate(World(), 30_000, experiments=60, threads=2).range_size < found.range_size - 0.3


def test_the_noise_of_the_text_tells_more_apart() -> None:
    world = World(noise="text")
    assert world.deviation == pytest.approx(10**0.5)
    assert simulate(world, 10_000, experiments=50, method="pairwise").significant > 0.75
    two_sided = simulate(World(sides=2), 10_000, experiments=200, method="pairwise")
    assert two_sided.significant == pytest.approx(0.416, abs=0.025)


def test_likeness_and_drawing() -> None:
    wins = np.array([[0, 8, 5], [2, 0, 9], [5, 1, 0]])
    like = likeness(wins)
    assert (like.systems, like.comparisons, like.deviation) == (3, 10, 0)
    assert like.share == pytest.approx((0.8 + 0.9) / 2)
    drawn = sum(Likeness(6, 30.0, 4.0, 0.7).draw(np.random.default_rng(i)) for i in range(300))
    upper = np.triu_indices(6, 1)
    assert (drawn + drawn.T)[upper].mean() / 300 == pytest.approx(29.5, abs=0.3)  # whole numbers, cut off
    assert drawn[upper].sum() / drawn.sum() == pytest.approx(0.7, abs=0.005)


def test_success() -> None:
    models = [read_model(name) for name in ("expected-wins", "mfas", "winning-percentage")]
    assert success(models, Likeness(6, 20.0, 2.0, 1.0), iterations=10) == [1, 1, 1]
    assert max(success(models, Likeness(6, 20.0, 2.0, 0.5), iterations=50)) < 0.1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: World(1), "2 systems or more, found 1"),
        (lambda: World(4), "judgments of 2 to 4 systems, found 5"),
        (lambda: World(variance=float("nan")), "variance above 0"),
        (lambda: World(noise="loud"), "noise as one of table, text, found 'loud'"),
        (lambda: World(sides=3), "1 or 2 sides"),
        (lambda: World(level=0), "level between 0 and 1"),
        (lambda: simulate(World(), 0), "1 or more judgments"),
        (lambda: simulate(World(), 10, method="guess"), "pairwise or bootstrap, found 'guess'"),
        (lambda: simulate(World(), 10, resamples=50), "fewer than half of 50 resamples, found 25"),
        (lambda: likeness(np.zeros((3, 3), np.int64)), "found none"),
    ],
)
def test_what_cannot_be(make, message: str) -> None:
    with pytest.raises(RyptError, match=message):
        make()
