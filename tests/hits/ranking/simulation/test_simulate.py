"""Simulated judgments: the parts against independent ones, and Koehn's tables."""

from itertools import accumulate
from math import comb, erf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.ranking.confidence import clusters
from hits.ranking.model import read_model
from hits.ranking.simulation.simulate import (
    Resampling,
    SimulatedWorld,
    _bootstrap,
    _clusters,
    count_ranking,
    judge,
    rank_drawn,
    ranking_errors,
    sign_limits,
    simulate,
    told_apart,
)
from rypt.tails import sign_test
from rypt.text import RyptError

KOEHN = {  # judgments: pairwise range size, violations, clusters; 15 systems, σ² = 10
    10_000: (8.1, 0.008, 1.0),
    20_000: (6.3, 0.008, 1.1),
    30_000: (5.4, 0.007, 1.4),
    40_000: (4.9, 0.009, 1.7),
    50_000: (4.5, 0.009, 2.0),
}
BOOTSTRAP = {  # judgments: bootstrap range size, violations, clusters, their violations
    10_000: (4.6, 0.034, 1.8, 0.005),
    20_000: (3.7, 0.024, 3.0, 0.005),
    30_000: (3.3, 0.023, 3.9, 0.004),
}


@pytest.mark.parametrize("tail", [0.05, 0.025, 0.2])
def test_limits_of_the_sign_test(tail: float) -> None:
    for n, limit in enumerate(sign_limits(150, tail)):
        sums = accumulate(comb(n, k) for k in range(n + 1))
        assert limit == sum(total / 2**n <= tail for total in sums) - 1
    large = sign_limits(100_000, 0.025)
    for n in (12_345, 99_999):
        assert (
            sign_test(int(large[n]), n - int(large[n]))
            <= 0.05
            < sign_test(int(large[n]) + 1, n - int(large[n]) - 1)
        )


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
    _bootstrap(wins, np.zeros((0, 5), np.int64), Resampling(4000, False, 100), rng, low, high)
    drawn = rng.multinomial(800, wins.ravel() / 800, 4000).reshape(-1, 6, 6)
    shares = drawn / np.maximum(1, drawn + drawn.transpose(0, 2, 1))
    ranks = np.sort((-shares.sum(axis=2)).argsort(axis=1).argsort(axis=1) + 1, axis=0)
    assert np.abs(low - ranks[100]).max() <= 1
    assert np.abs(high - ranks[-101]).max() <= 1
    assert (np.abs(low - ranks[100]) + np.abs(high - ranks[-101])).sum() <= 2
    assert (high - low).max() >= 2


def test_the_same_for_any_number_of_threads() -> None:
    runs = [simulate(SimulatedWorld(8), 700, experiments=12, resamples=60, seed=5, threads=t) for t in (1, 3)]
    assert runs[0] == runs[1]
    assert runs[0] != simulate(SimulatedWorld(8), 700, experiments=12, resamples=60, seed=6)


def test_judgments_are_whole() -> None:
    assert simulate(SimulatedWorld(8), 695, experiments=2, method="pairwise").judgments == 700


@pytest.mark.parametrize("judgments", KOEHN)
def test_koehns_tables_of_the_pairwise_method(judgments: int) -> None:
    found = simulate(SimulatedWorld(), judgments, experiments=600, method="pairwise", threads=2)
    size, violations, groups = KOEHN[judgments]
    _, _, size_error, violation_error, groups_error, _ = found.errors
    assert abs(found.range_size - size) < 0.05 + 3 * size_error
    assert (
        abs(found.range_violations - violations) < 0.0005 + 4 * violation_error
    )  # his is as uncertain as ours
    assert abs(found.clusters - groups) < 0.05 + 3 * groups_error
    assert found.cluster_violations < 0.003


@pytest.mark.parametrize("judgments", BOOTSTRAP)
def test_koehns_tables_of_the_bootstrap(judgments: int) -> None:
    """His figures are of 100 experiments, the same for all numbers of judgments, so as uncertain as ours."""
    experiments = 50
    found = simulate(SimulatedWorld(), judgments, experiments=experiments, threads=2)
    size, violations, groups, group_violations = BOOTSTRAP[judgments]
    _, _, size_error, violation_error, groups_error, _ = found.errors
    both = (1 + experiments / 100) ** 0.5
    assert abs(found.range_size - size) < 0.05 + 3 * both * size_error
    assert abs(found.range_violations - violations) < 0.0005 + 3 * both * violation_error
    assert abs(found.clusters - groups) < 0.05 + 3 * both * groups_error
    assert found.cluster_violations < group_violations + 0.02


def test_what_the_slides_say_of_the_bootstrap_gives_narrower_ranges() -> None:
    slides = simulate(SimulatedWorld(), 10_000, experiments=40, unit="comparison", shape="ends", threads=2)
    assert slides.range_size < 4.2
    assert slides.range_violations > 0.04
    rows = simulate(SimulatedWorld(), 10_000, experiments=40, shape="ends", threads=2)
    assert (
        rows.range_size
        > simulate(SimulatedWorld(), 10_000, experiments=40, threads=2).range_size
        > slides.range_size + 0.3
    )


def test_rankings_are_drawn_like_comparisons_and_drawn_again_whole() -> None:
    quality = np.array([0.0, 2.0, 5.0, 9.0])
    rankings, wins = np.zeros((50_000, 3), np.int64), np.zeros((4, 4), np.int64)
    rank_drawn(quality, 4.0, np.random.default_rng(0), rankings)
    for ranking in rankings:
        count_ranking(ranking, wins)
    assert wins.sum() == 150_000
    expected = (1 + erf(9 / (4 * 2**0.5) / 2**0.5)) / 2
    assert wins[3, 0] / (wins[3, 0] + wins[0, 3]) == pytest.approx(expected, abs=0.01)
    alone = np.array(
        [[0, 1, 2]] * 3 + [[2, 1, 0]] * 2
    )  # in every resample 0 and 2 are the ends, one way or the other
    counts = np.zeros((3, 3), np.int64)
    for ranking in alone:
        count_ranking(ranking, counts)
    low, high = np.zeros((2, 3), np.int64)
    _bootstrap(counts, alone, Resampling(500, True, 0), np.random.default_rng(1), low, high)
    assert (low[1], high[1]) == (2, 2)
    _bootstrap(counts, alone, Resampling(500, False, 0), np.random.default_rng(1), low, high)
    assert (low[1], high[1]) == (1, 3)


def test_the_noise_of_the_text_tells_more_apart() -> None:
    world = SimulatedWorld(noise="text")
    assert world.deviation == pytest.approx(10**0.5)
    assert simulate(world, 10_000, experiments=50, method="pairwise").significant > 0.75
    two_sided = simulate(SimulatedWorld(sides=2), 10_000, experiments=200, method="pairwise")
    assert two_sided.significant == pytest.approx(0.416, abs=0.025)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SimulatedWorld(1), "2 systems or more, found 1"),
        (lambda: SimulatedWorld(4), "judgments of 2 to 4 systems, found 5"),
        (lambda: SimulatedWorld(variance=float("nan")), "variance above 0"),
        (lambda: SimulatedWorld(noise="loud"), "noise as one of table, text, found 'loud'"),
        (lambda: SimulatedWorld(sides=3), "1 or 2 sides"),
        (lambda: SimulatedWorld(level=0), "level between 0 and 1"),
        (lambda: simulate(SimulatedWorld(), 0), "1 or more judgments"),
        (lambda: simulate(SimulatedWorld(), 10, method="guess"), "pairwise or bootstrap, found 'guess'"),
        (
            lambda: simulate(SimulatedWorld(), 10, resamples=50, shape="ends"),
            "fewer than half of 50 resamples, found 25",
        ),
        (lambda: simulate(SimulatedWorld(), 10, unit="page"), "unit"),
        (lambda: simulate(SimulatedWorld(), 10, shape="round"), "range"),
    ],
)
def test_what_cannot_be(make, message: str) -> None:
    with pytest.raises(RyptError, match=message):
        make()


def test_ranking_errors_of_models_on_the_same_judgments() -> None:
    """Koehn's figure: Lopez' violations are worse than both ratios, which are alike; more judgments are better."""
    models = [read_model(name) for name in ("bojar", "expected-wins", "mfas")]
    world = SimulatedWorld()
    few, many = (ranking_errors(world, models, size, experiments=40).mean(axis=0) for size in (1000, 10_000))
    assert (many < 0.7 * few).all()
    assert many[2] > many[1]
    assert many[0] == pytest.approx(many[1], abs=0.01)
    assert (ranking_errors(SimulatedWorld(4, 0.001, 4), models, 600, experiments=3) == 0).all()
