"""Thurstone's model against an optimiser and a normal distribution of scipy's."""

import numpy as np
import pytest
from scipy import optimize
from scipy.stats import norm

from hits.ranking.data import Comparisons, from_counts
from hits.ranking.model import read_model
from hits.ranking.models.bradley_terry import BradleyTerry
from hits.ranking.models.thurstone import Thurstone
from rypt.text import RyptError

RNG = np.random.default_rng(0)


def counted(n: int, seed: int, *, ties: bool = True) -> Comparisons:
    rng = np.random.default_rng(seed)
    wins = rng.integers(3, 40, (n, n))
    np.fill_diagonal(wins, 0)
    tied = np.triu(rng.integers(0, 25, (n, n)), 1) * ties
    return from_counts([f"s{i}" for i in range(n)], wins, tied + tied.T)


def minus_likelihood(place: np.ndarray, ties: str, comparisons: Comparisons) -> float:
    wins, tied = comparisons.counts()
    scores, tie = np.append(place[:-1], -place[:-1].sum()), place[-1]
    value = 0.0
    for i in range(len(scores)):
        for j in range(i + 1, len(scores)):
            gap = scores[i] - scores[j]
            if ties == "rao-kupper":
                parts = [norm.cdf(-tie - gap), norm.cdf(tie - gap) - norm.cdf(-tie - gap), norm.sf(tie - gap)]
            else:
                weights = np.array(
                    [norm.cdf(-gap), np.exp(tie) * np.sqrt(norm.cdf(gap) * norm.cdf(-gap)), norm.cdf(gap)]
                )
                parts = weights / weights.sum()
            value -= (
                wins[j, i] * np.log(parts[0]) + tied[i, j] * np.log(parts[1]) + wins[i, j] * np.log(parts[2])
            )
    return value


@pytest.mark.parametrize("ties", ["rao-kupper", "davidson"])
@pytest.mark.parametrize("seed", range(2))
def test_against_an_independent_optimiser(ties: str, seed: int) -> None:
    comparisons = counted(4, seed)
    found = Thurstone(ties).fit(comparisons, RNG)
    best = optimize.minimize(
        minus_likelihood,
        np.array([0, 0, 0, 0.3]),
        (ties, comparisons),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 20_000, "maxfev": 20_000},
    )
    assert found.extra["log_likelihood"] == pytest.approx(-best.fun, abs=1e-7)
    assert found.scores[:3] == pytest.approx(best.x[:3], abs=2e-5)
    tie = found.extra["tie"]["value"]
    assert (np.log(tie) if ties == "davidson" else tie) == pytest.approx(best.x[3], abs=2e-5)


def test_standard_errors_cover_the_truth() -> None:
    rng = np.random.default_rng(5)
    truth, threshold = np.array([0.5, 0.1, -0.6]), 0.25
    inside = []
    for _ in range(200):
        wins, tied = np.zeros((3, 3), np.int64), np.zeros((3, 3), np.int64)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            seen = truth[i] - truth[j] + rng.standard_normal(80)
            wins[i, j], wins[j, i] = (seen > threshold).sum(), (seen < -threshold).sum()
            tied[i, j] = tied[j, i] = 80 - wins[i, j] - wins[j, i]
        found = Thurstone().fit(from_counts("abc", wins, tied), rng)
        tie = found.extra["tie"]
        inside.append(
            [
                *(np.abs(found.scores - truth) < 1.96 * np.sqrt(found.variances)),
                abs(tie["value"] - threshold) < 1.96 * tie["standard_error"],
            ]
        )
    assert 0.92 < np.mean(inside) < 0.98


def test_two_systems_have_the_closed_form() -> None:
    found = Thurstone("ignore").fit(from_counts("ab", np.array([[0, 30], [10, 0]]), np.zeros((2, 2))), RNG)
    assert found.scores == pytest.approx([norm.ppf(0.75) / 2, -norm.ppf(0.75) / 2])
    density = norm.pdf(norm.ppf(0.75))
    assert found.extra["standard_errors"][0] == pytest.approx(np.sqrt(0.75 * 0.25 / 40) / density / 2)


def test_it_orders_as_bradley_terry_does() -> None:
    comparisons = counted(6, 9)
    assert (
        Thurstone().fit(comparisons, RNG).order() == BradleyTerry("rao-kupper").fit(comparisons, RNG).order()
    )


def test_separation_is_an_error_and_a_prior_helps() -> None:
    never_lost = from_counts("abc", np.array([[0, 5, 5], [0, 0, 2], [0, 3, 0]]), np.zeros((3, 3)))
    with pytest.raises(RyptError, match="thurstone: a never lost"):
        Thurstone().fit(never_lost, RNG)
    assert Thurstone(prior=1.0).fit(never_lost, RNG).order() == [0, 2, 1]


def test_options() -> None:
    assert read_model("thurstone") == Thurstone("rao-kupper", 0.0)
    assert read_model("thurstone", {"ties": "davidson", "prior": "0.5"}) == Thurstone("davidson", 0.5)
