"""Bradley–Terry and Thurstone against choix, another optimiser, another derivative and simulated truth."""

from itertools import combinations

import choix
import numpy as np
import pytest
from scipy import optimize
from scipy.stats import norm

from hits.ranking.data import Comparisons, comparisons_of, from_counts
from hits.ranking.model import read_model
from hits.ranking.models.bradley_terry import BradleyTerry
from rypt.text import RyptError

RNG = np.random.default_rng(0)


def counted(n: int, seed: int, *, ties: bool = True, least: int = 1) -> Comparisons:
    rng = np.random.default_rng(seed)
    wins = rng.integers(least, 30, (n, n))
    np.fill_diagonal(wins, 0)
    tied = np.triu(rng.integers(0, 20, (n, n)), 1) * ties
    return from_counts([f"s{i}" for i in range(n)], wins, tied + tied.T)


def chances(name: str, ties: str, gap: float, tie: float) -> tuple[float, float, float]:
    """P(worse, equal, better) as the papers write them: with worths, or with the normal distribution."""
    if name == "thurstone":
        if ties == "rao-kupper":
            worse, better = norm.cdf(-tie - gap), norm.sf(tie - gap)
            return worse, norm.cdf(tie - gap) - worse, better
        worse, better = norm.cdf(-gap), norm.cdf(gap)
        equal = np.exp(tie) * np.sqrt(worse * better)
        total = worse + equal + better
        return worse / total, equal / total, better / total
    a, b = np.exp(gap), 1.0
    if ties == "davidson":
        nu = np.exp(tie)
        total = a + b + nu * np.sqrt(a * b)
        return b / total, nu * np.sqrt(a * b) / total, a / total
    theta = np.exp(tie)
    equal = (theta**2 - 1) * a * b / ((a + theta * b) * (theta * a + b))
    return b / (b + theta * a), equal, a / (a + theta * b)


def minus_likelihood(place: np.ndarray, name: str, ties: str, comparisons: Comparisons) -> float:
    wins, tied = comparisons.counts()
    scores, tie = np.append(place[:-1], -place[:-1].sum()), place[-1]
    value = 0.0
    for i in range(len(scores)):
        for j in range(i + 1, len(scores)):
            worse, equal, better = chances(name, ties, scores[i] - scores[j], tie)
            value -= wins[i, j] * np.log(better) + wins[j, i] * np.log(worse) + tied[i, j] * np.log(equal)
    return value


IMBALANCE = np.array([[0, 100_000, 5], [1, 0, 7], [2, 3, 0]])
MANY = np.random.default_rng(1).integers(1, 40, (90, 90)) * (1 - np.eye(90, dtype=np.int64))


@pytest.mark.parametrize("wins", [counted(7, 0).counts()[0], IMBALANCE, MANY])
def test_without_ties_it_is_choix(wins: np.ndarray) -> None:
    expected = choix.ilsr_pairwise_dense(wins.astype(float), alpha=0.0, max_iter=100_000, tol=1e-13)
    names, some_ties = [f"s{k:02}" for k in range(len(wins))], 3 - 3 * np.eye(len(wins))
    for ties, tied in (
        ("davidson", np.zeros_like(wins)),
        ("rao-kupper", np.zeros_like(wins)),
        ("ignore", some_ties),
    ):
        found = BradleyTerry(ties).fit(from_counts(names, wins, tied), RNG)
        assert found.scores == pytest.approx(expected - expected.mean(), abs=1e-6)
        assert found.outcomes[0, 1, 1] == 0.0


def test_a_prior_is_that_of_choix() -> None:
    comparisons = counted(5, 8, ties=False)
    data = [
        (a, b) if o > 0 else (b, a)
        for a, b, o in zip(comparisons.a, comparisons.b, comparisons.outcome, strict=True)
    ]
    expected = choix.opt_pairwise(5, data, alpha=1 / (2 * 0.3**2), tol=1e-12)
    assert BradleyTerry("ignore", prior=0.3).fit(comparisons, RNG).scores == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
@pytest.mark.parametrize("name", ["bradley-terry", "thurstone"])
def test_ties_against_an_independent_optimiser(name: str, ties: str) -> None:
    comparisons = counted(4, 20, least=3)
    found = BradleyTerry(ties, name=name).fit(comparisons, RNG)
    best = optimize.minimize(
        minus_likelihood,
        np.append(np.zeros(3), 0.3),
        (name, ties, comparisons),
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 40_000, "maxfev": 40_000, "adaptive": True},
    )
    assert found.extra["log_likelihood"] == pytest.approx(-best.fun, abs=1e-7)
    assert found.scores == pytest.approx(np.append(best.x[:-1], -best.x[:-1].sum()), abs=2e-5)
    tie = found.extra["tie"]["value"]
    assert (np.log(tie) if ties == "davidson" else tie) == pytest.approx(best.x[-1], abs=2e-5)
    for i, j in ((0, 1), (3, 2)):
        gap = found.scores[i] - found.scores[j]
        assert found.outcomes[i, j] == pytest.approx(chances(name, ties, gap, best.x[-1]), abs=1e-5)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_standard_errors_are_those_of_the_expected_information(ties: str) -> None:
    comparisons = counted(4, 5)
    found = BradleyTerry(ties).fit(comparisons, RNG)
    wins, tied = comparisons.counts()
    pairs, total = list(combinations(range(4), 2)), wins + wins.T + tied
    value = found.extra["tie"]["value"]
    place = np.append(found.scores[:-1], np.log(value) if ties == "davidson" else value)

    def vector(place: np.ndarray) -> np.ndarray:
        scores = np.append(place[:-1], -place[:-1].sum())
        return np.array([chances("bradley-terry", ties, scores[i] - scores[j], place[-1]) for i, j in pairs])

    sizes, step = np.array([total[pair] for pair in pairs]), 1e-5
    slopes = np.stack([(vector(place + step * e) - vector(place - step * e)) / (2 * step) for e in np.eye(4)])
    information = np.einsum("apk,bpk,p,pk->ab", slopes, slopes, sizes, 1 / vector(place))
    errors = np.sqrt(np.linalg.inv(information).diagonal())
    assert found.extra["standard_errors"][:3] == pytest.approx(errors[:3], rel=1e-5)
    assert np.sqrt(found.variances) == pytest.approx(found.extra["standard_errors"])
    factor = value if ties == "davidson" else 1.0
    assert found.extra["tie"]["standard_error"] == pytest.approx(factor * errors[3], rel=1e-5)


def test_two_systems_have_the_closed_form() -> None:
    data = from_counts("ab", np.array([[0, 30], [10, 0]]), np.zeros((2, 2)))
    found = BradleyTerry("ignore", name="thurstone").fit(data, RNG)
    assert found.scores == pytest.approx([norm.ppf(0.75) / 2, -norm.ppf(0.75) / 2])
    density = norm.pdf(norm.ppf(0.75))
    assert found.extra["standard_errors"][0] == pytest.approx(np.sqrt(0.75 * 0.25 / 40) / density / 2)


def records(text: str) -> Comparisons:
    return comparisons_of([("s", a, b, {">": 1, "=": 0}[sign], "") for a, sign, b in text.split()])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "ties", "message"),
    [
        ("a>b b>a c>d d>c", "davidson", "a, b never lost to the other systems or tied"),
        ("a>b a>c b>c c>b", "davidson", "a never lost"),
        ("a>b b>a a>c b>d c>d d>c", "ignore", "a, b never lost"),
        ("a=b b=c", "davidson", "every comparison is a tie"),
        ("a>b b>a b=c", "ignore", "c never lost"),
        ("a>b a=b", "davidson", "the likelihood grows without end"),
        ("a>b a=b", "rao-kupper", "the likelihood grows without end"),
        ("a>b a=b b>c b=c", "davidson", "the likelihood grows without end"),
        (999 * "a>b " + "a=b", "rao-kupper", "the likelihood grows without end"),
    ],
)
def test_where_no_maximum_exists_it_says_so(text: str, ties: str, message: str) -> None:
    with pytest.raises(RyptError, match=message):
        BradleyTerry(ties).fit(records(text), RNG)


def test_a_prior_ranks_what_never_lost_and_what_nobody_met() -> None:
    found = BradleyTerry("rao-kupper", prior=1.0).fit(records("a>b a>b a=b c>d d>c"), RNG)
    assert found.scores[0] > 0.2 > -0.2 > found.scores[1]
    assert found.scores[2:] == pytest.approx([0.0, 0.0], abs=1e-8)
    assert np.isfinite(found.variances).all()


@pytest.mark.parametrize("wrong", ["prior=-1", "ties=half"])
def test_options(wrong: str) -> None:
    assert read_model("bradley-terry:ties=rao-kupper,prior=2") == BradleyTerry("rao-kupper", 2.0)
    with pytest.raises(RyptError, match=wrong.partition("=")[0]):
        read_model(f"bradley-terry:{wrong}")
