"""TrueSkill against the package trueskill, and what its runs must keep to."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
import trueskill
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import norm, truncnorm

from hits.ranking.data import Comparisons, comparisons_of
from hits.ranking.models.trueskill import GIVEN, Games, Skills, TrueSkill, drawn, play_runs, won
from rypt.text import RyptError

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("players", [2, 3, 5])
@pytest.mark.parametrize(
    ("sigma", "beta"), [(0.5, 12.5), (0.5, 312.5), (25 / 3, 25 / 6), (1.0, 0.2), (1.0, 1.0)]
)
def test_games_are_the_packages(players: int, sigma: float, beta: float) -> None:
    rng = np.random.default_rng(players)
    n, draw, count = 7, 0.25, 150 if players == 2 else 25
    world = trueskill.TrueSkill(0.0, sigma, beta, 0.0, draw, backend="scipy")
    theirs = [world.create_rating() for _ in range(n)]
    systems = np.array([rng.permutation(n)[:players] for _ in range(count)], np.int32)
    ranks = np.sort(rng.integers(0, players, (count, players)), axis=1).astype(np.int32)
    ranks -= ranks[:, :1]
    for chosen, places in zip(systems, ranks, strict=True):
        groups = world.rate([(theirs[i],) for i in chosen], ranks=places.tolist(), min_delta=1e-12)
        for i, (rating,) in zip(chosen, groups, strict=True):
            theirs[i] = rating
    nothing = np.zeros(0, np.int64)
    games = Games(systems, ranks, nothing, nothing, np.zeros((1, 1), np.bool_))
    skills = Skills(sigma**2, beta**2, sqrt(2) * beta * norm.ppf((draw + 1) / 2))
    means, variances = np.empty((1, n)), np.empty((1, n))
    play_runs(games, count, skills, np.array([1], np.uint64), GIVEN, means, variances)
    assert means[0] == pytest.approx([rating.mu for rating in theirs], abs=1e-6)
    assert variances[0] == pytest.approx([rating.sigma**2 for rating in theirs], abs=1e-6)


@given(st.floats(-8, 8), st.floats(1e-3, 5), st.sampled_from([won, drawn]))
def test_moves_are_moments_of_a_truncated_normal(t: float, epsilon: float, move) -> None:
    v, w = move(t, epsilon)
    ends = (epsilon - t, np.inf) if move is won else (-epsilon - t, epsilon - t)
    mean, variance = truncnorm.stats(*ends)
    assume(np.isfinite(mean) and np.isfinite(variance) and variance > 0)
    assert v == pytest.approx(float(mean), abs=1e-5, rel=1e-6)
    assert 1 - w == pytest.approx(float(variance), abs=1e-4)


@pytest.mark.parametrize("t", [-50.0, -3.0, 0.0, 2.0, 50.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1e-4, 0.1])
def test_ties_that_nobody_would_expect_stay_finite(t: float, epsilon: float) -> None:
    v, w = drawn(t, epsilon)
    assert v == pytest.approx(-t, abs=epsilon + 0.05)
    assert w == pytest.approx(1, abs=5e-3)


def some(rows: int, seed: int = 0, size: int = 5, n: int = 6) -> Comparisons:
    """Rankings of systems that are better the smaller their number."""
    rng = np.random.default_rng(seed)
    records, groups = [], []
    for row in range(rows):
        members = rng.permutation(n)[:size]
        quality = np.round(-0.5 * members + rng.normal(0, 1, size))
        for i in range(size):
            for j in range(i + 1, size):
                sign = int(np.sign(quality[i] - quality[j]))
                records.append((f"s{row}", f"sys{members[i]}", f"sys{members[j]}", sign, "w"))
                groups.append(row)
    return replace(comparisons_of(records), row=np.array(groups, np.int32))


@pytest.mark.parametrize(("order", "players"), [("shuffle", 2), ("select", 2), ("select", 3)])
def test_results_are_the_same_for_any_number_of_threads(order: str, players: int) -> None:
    data, games = some(40), 100 if order == "select" else 0

    def scores(seed: int, threads: int) -> list[float]:
        model = TrueSkill(order=order, players=players, runs=9, games=games, threads=threads)
        fitted = model.fit(data, np.random.default_rng(seed))
        return [*fitted.scores.tolist(), *fitted.variances.tolist()]

    assert scores(5, 1) == scores(5, 3) != scores(6, 1)


@pytest.mark.parametrize("variant", ["paper", "program"])
@pytest.mark.parametrize(
    ("order", "players"), [("shuffle", 2), ("select", 2), ("shuffle", 4), ("select", 4), ("given", 2)]
)
def test_better_systems_get_better_scores(variant: str, order: str, players: int) -> None:
    games = 600 if order == "select" else 0
    model = TrueSkill(variant=variant, order=order, players=players, games=games, runs=10)
    fitted = model.fit(some(150), np.random.default_rng(1))
    assert [fitted.systems[i] for i in fitted.order()] == [f"sys{i}" for i in range(6)]
    assert (fitted.variances < 0.25).all()
    assert model.sample_scores(some(150), np.random.default_rng(1), 3).shape == (3, 6)


def test_settings_are_the_papers_and_the_programs() -> None:
    paper, program = TrueSkill().skills(1000), TrueSkill(variant="program").skills(1000)
    assert sqrt(paper.beta2) == pytest.approx(6.25)
    assert paper.epsilon == 0.25
    assert sqrt(program.beta2) == pytest.approx(12.5)
    assert program.epsilon == pytest.approx(5.6328, abs=1e-4)
    assert TrueSkill(beta=3.0, epsilon=0.5).skills(1000) == (0.25, 9.0, 0.5)


@pytest.mark.parametrize(
    ("model", "data", "reason"),
    [
        (
            TrueSkill(players=3),
            comparisons_of([("s", "a", "b", 1, ""), ("s", "b", "c", 1, "")]),
            "found none",
        ),
        (TrueSkill(players=3), some(3).take(np.arange(7)), "5 systems has 10 comparisons, found 7"),
        (TrueSkill(order="select", games=5), comparisons_of([("s", "a", "b", 1, "")], "abc"), "with c is in"),
        (TrueSkill(games=5), comparisons_of([("s", "a", "b", 1, "")]), "games is for order=select"),
    ],
)
def test_what_cannot_be_played_is_refused(model: TrueSkill, data: Comparisons, reason: str) -> None:
    with pytest.raises(RyptError, match=reason):
        model.fit(data, np.random.default_rng(1))
