"""Simulated judgments against what Koehn and Cumings draw, and Koehn's tables."""

from math import erf

import numpy as np
import pytest

from hits.ranking.confidence import sign_tests
from hits.ranking.data import from_counts
from hits.ranking.model import read_model
from hits.ranking.simulation import (
    Likeness,
    SimulatedWorld,
    likeness,
    ranking_errors,
    significance_curve,
    simulate,
    success,
)
from rypt.text import RyptError

# method, judgments: range size, violations, clusters; 15 systems, σ² = 10
METHODS = {
    ("pairwise", 10_000): (8.1, 0.008, 1.0),
    ("pairwise", 30_000): (5.4, 0.007, 1.4),
    ("pairwise", 50_000): (4.5, 0.009, 2.0),
    ("bootstrap", 10_000): (4.6, 0.034, 1.8),
    ("bootstrap", 30_000): (3.3, 0.023, 3.9),
}
EXPERIMENTS = {"pairwise": 200, "bootstrap": 25}


def test_judgments_are_drawn_as_koehn_draws_them() -> None:
    quality, rng = np.array([0.0, 2.0, 5.0, 5.0, 9.0, 10.0]), np.random.default_rng(0)
    data = SimulatedWorld(6, 3.0).judge(quality, 599_993, rng)
    wins, ties = data.counts()
    assert (wins.sum(), ties.sum(), len(np.unique(data.row))) == (600_000, 0, 60_000)
    met = wins + wins.T
    assert met[np.triu_indices(6, 1)] == pytest.approx(np.full(15, 40_000), rel=0.03)
    for i in range(6):
        for j in range(6):
            if i != j:
                expected = (1 + erf((quality[i] - quality[j]) / (3 * 2**0.5) / 2**0.5)) / 2
                assert wins[i, j] / met[i, j] == pytest.approx(expected, abs=0.012)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "judgments"), METHODS)
def test_koehns_tables(method: str, judgments: int) -> None:
    """His figures are of 100 experiments, and as uncertain as ours."""
    run = simulate(SimulatedWorld(), judgments, experiments=EXPERIMENTS[method], method=method, threads=2)
    size, violations, clusters = METHODS[method, judgments]
    assert abs(run.range_size - size) < 0.05 + 3.7 * run.errors["range_size"]
    assert abs(run.range_violations - violations) < 0.0005 + 4 * run.errors["range_violations"]
    assert abs(run.clusters - clusters) < 0.05 + 3.7 * run.errors["clusters"]
    assert run.cluster_violations < 0.025


@pytest.mark.slow
def test_what_the_slides_say_gives_narrower_ranges_and_more_significant_pairs() -> None:
    slides = simulate(SimulatedWorld(), 10_000, experiments=20, unit="comparison", shape="ends")
    program = simulate(SimulatedWorld(), 10_000, experiments=20)
    assert slides.range_size < program.range_size - 0.2
    text = simulate(SimulatedWorld(noise="text"), 10_000, experiments=50, method="pairwise")
    assert text.significant > 0.75
    two_sided = simulate(SimulatedWorld(sides=2), 10_000, experiments=200, method="pairwise")
    assert two_sided.significant == pytest.approx(0.416, abs=0.025)


def test_only_the_seed_matters_not_threads() -> None:
    world = SimulatedWorld(8)
    runs = [simulate(world, 695, experiments=6, resamples=60, seed=5, threads=t) for t in (1, 3)]
    assert runs[0] == runs[1]
    assert runs[0].judgments == 700  # whole judgments
    assert runs[0] != simulate(world, 700, experiments=6, resamples=60)
    like, models = Likeness(5, 12.0, 3.0, 0.6), [read_model("expected-wins"), read_model("mfas")]
    assert success(models, like, iterations=20, threads=3) == success(models, like, iterations=20)


def test_ranking_errors_of_models_on_the_same_judgments() -> None:
    """Koehn's figure: Lopez' violations are worse than both ratios, which are alike; more judgments are better."""
    models = [read_model(name) for name in ("bojar", "expected-wins", "mfas")]
    world = SimulatedWorld()
    few, many = (ranking_errors(world, models, size, experiments=40).mean(axis=0) for size in (1000, 10_000))
    assert (many < 0.7 * few).all()
    assert many[2] > many[1]
    assert many[0] == pytest.approx(many[1], abs=0.01)
    assert (ranking_errors(SimulatedWorld(4, 0.001, 4), models, 600, experiments=3) == 0).all()


def test_the_curve_rises_to_the_share_of_all() -> None:
    wins = np.array([[0, 90, 95, 99], [30, 0, 61, 80], [25, 60, 0, 82], [5, 15, 11, 0]])
    data, rng = from_counts(tuple("abcd"), wins, np.zeros((4, 4))), np.random.default_rng(1)
    points = significance_curve(data, rng, trials=10, sides=2)
    assert (points[-1].comparisons, points[-1].spread) == (len(data), 0)
    assert points[-1].share == pytest.approx((sign_tests(wins)[np.triu_indices(4, 1)] <= 0.05).mean())
    assert points[0].share < points[3].share < points[-1].share
    (one,) = significance_curve(data, rng, [200], sides=1, trials=10, variance=10.0, experiments=20)
    assert 0 < one.simulated < 1


def test_data_like_a_data_set_and_how_often_the_true_ranking_is_found() -> None:
    like = likeness(np.array([[0, 8, 5], [2, 0, 9], [5, 1, 0]]))
    assert (like.systems, like.comparisons, like.deviation) == (3, 10, 0)
    assert like.share == pytest.approx((0.8 + 0.9) / 2)
    drawn = sum(Likeness(6, 30.0, 4.0, 0.7).draw(np.random.default_rng(i)) for i in range(300))
    upper = np.triu_indices(6, 1)
    assert (drawn + drawn.T)[upper].mean() / 300 == pytest.approx(29.5, abs=0.3)  # whole numbers, cut off
    assert drawn[upper].sum() / drawn.sum() == pytest.approx(0.7, abs=0.005)
    models = [read_model(name) for name in ("expected-wins", "mfas", "winning-percentage")]
    assert success(models, Likeness(6, 20.0, 2.0, 1.0), iterations=10) == [1, 1, 1]
    assert max(success(models, Likeness(6, 20.0, 2.0, 0.5), iterations=50)) < 0.1


WORLD = SimulatedWorld()
CURVE_DATA = from_counts(("a", "b"), np.array([[0, 5], [5, 0]]), np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SimulatedWorld(1), "2 systems or more, found 1"),
        (lambda: SimulatedWorld(4), "judgments of 2 to 4 systems, found 5"),
        (lambda: SimulatedWorld(variance=float("nan")), "variance above 0"),
        (lambda: SimulatedWorld(noise="loud"), "'loud'"),
        (lambda: SimulatedWorld(sides=3), "1 or 2 sides"),
        (lambda: SimulatedWorld(level=0), "level between 0 and 1"),
        (lambda: simulate(WORLD, 0), "1 or more judgments"),
        (lambda: simulate(WORLD, 10, method="guess"), "'guess'"),
        (lambda: simulate(WORLD, 10, unit="page"), "unit"),
        (lambda: simulate(WORLD, 10, shape="round"), "range"),
        (lambda: likeness(np.zeros((3, 3), np.int64)), "found none"),
        (lambda: significance_curve(CURVE_DATA, np.random.default_rng(1), [11]), "found 11"),
    ],
)
def test_what_cannot_be(make, message: str) -> None:
    with pytest.raises(RyptError, match=message):
        make()
