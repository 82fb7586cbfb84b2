"""Bradley and Terry's model with ties, by maximum likelihood, with standard errors.

System i is better than j with probability F(sᵢ − sⱼ), F(x) = 1 / (1 + e⁻ˣ). With g = sᵢ − sⱼ, ties are taken in as

    rao-kupper   P(better) = F(g − η), P(worse) = F(−g − η), the rest is equal    Rao and Kupper 1967, θ = e^η
    davidson     P(better) : P(equal) : P(worse) = F(g) : ν √(F(g) F(−g)) : F(−g)          Davidson 1970 (the default)
    ignore       ties are left out                                                        Bradley and Terry 1952

`hits.ranking.models.thurstone` has the same with the normal distribution for F. Scores are centred; a comparison counts
as independent of all others, which the ten of one row of five are not: standard errors are then too small.

The likelihood is climbed by Fisher scoring with halved steps; its curvature at the top, the Fisher information, gives
the standard errors. A maximum need not exist: where some systems were never compared with the others, or never lost to
them, the likelihood grows for ever. That is an error which names them, unless ``prior`` is set: scores then come from
N(0, prior²) and the estimate is the mode of the posterior, which always exists.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons
from hits.ranking.model import Fitted, check_fit, sign
from rypt.arrays import Floats, Ints
from rypt.options import Options
from rypt.text import RyptError

TIES = ("davidson", "rao-kupper", "ignore")
MAX_STEPS = 500
TOLERANCE = 1e-11  # the last step is shorter than this in every coordinate
BEYOND = 30.0  # no difference that data can support is as large, in units of F
TINY = 1e-300


class Link(NamedTuple):
    """The distribution function F of a symmetric distribution, and its density."""

    distribution: Callable[[Floats], Floats]
    density: Callable[[Floats], Floats]


class Shares(NamedTuple):
    """P(worse, equal, better) of each pair, (pairs, 3), and the slopes of their logarithms by g and by the tie."""

    chances: Floats
    by_gap: Floats
    by_tie: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Scores that sum to 0 and what is known of them; ``tie`` is log ν or η, NaN where there is none."""

    scores: Floats
    tie: float
    covariance: Floats  # (systems, systems), of the centred scores
    tie_error: float
    log_likelihood: float


@dataclass(frozen=True, slots=True)
class BradleyTerry:
    """The logistic model; ``prior`` is the standard deviation of the scores, 0 for maximum likelihood."""

    ties: str = "davidson"
    prior: float = 0.0
    name: str = "bradley-terry"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Scores, variances and outcomes; nothing random."""
        return fit_link(self.name, LOGISTIC, self.ties, self.prior, comparisons)


def make_bradley_terry(options: Options) -> BradleyTerry:
    """From ``ties`` (davidson, rao-kupper, ignore) and ``prior``."""
    return BradleyTerry(options.choice("ties", "davidson", TIES), options.number("prior", 0.0, least=0.0))


def fit_link(name: str, link: Link, ties: str, prior: float, comparisons: Comparisons) -> Fitted:
    """Fit a model of paired comparisons; ``extra`` has the standard errors, the tie parameter and the covariance."""
    check_fit(comparisons)
    _check_maximum(name, comparisons, ties, prior)
    pairs, counts = pair_counts(comparisons)
    if ties == "ignore":
        counts = counts * np.array([1, 0, 1])
    n = len(comparisons.systems)
    estimated = estimate(link, ties, pairs, counts, n, prior)
    if estimated is None:
        raise RyptError(
            f"{name}: no scores are the most likely, the likelihood grows without end (some systems never lost to the "
            "others): set prior, for example prior=1, or leave systems out"
        )
    extra: dict[str, object] = {
        "standard_errors": np.sqrt(estimated.covariance.diagonal()).tolist(),
        "covariance": estimated.covariance.tolist(),
        "log_likelihood": estimated.log_likelihood,
    }
    if np.isfinite(estimated.tie):
        davidson = ties == "davidson"
        value = float(np.exp(estimated.tie)) if davidson else estimated.tie
        error = value * estimated.tie_error if davidson else estimated.tie_error
        extra["tie"] = {"name": "nu" if davidson else "eta", "value": value, "standard_error": error}
    gaps = estimated.scores[:, None] - estimated.scores[None, :]
    outcomes = _shares(link, ties, gaps.ravel(), estimated.tie).chances.reshape(n, n, 3)
    signature = sign(name, comparisons, ties=ties, prior=prior if prior else "none")
    return Fitted(
        comparisons.systems, estimated.scores, signature, outcomes, estimated.covariance.diagonal().copy(), extra
    )


def pair_counts(comparisons: Comparisons) -> tuple[Ints, Ints]:
    """The pairs of systems i < j that were compared (pairs, 2), and how often i was worse, equal, better (pairs, 3)."""
    wins, ties = comparisons.counts()
    i, j = np.nonzero(np.triu(wins + wins.T + ties, 1))
    counts = np.stack([wins[j, i], ties[i, j], wins[i, j]], axis=1)
    return np.stack([i, j], axis=1).astype(np.int64), counts.astype(np.int64)


def estimate(link: Link, ties: str, pairs: Ints, counts: Ints, n: int, prior: float) -> Estimate | None:
    """The maximum of the likelihood, or of the posterior where ``prior`` is above 0; None where there is none.

    ``pairs`` (pairs, 2) and ``counts`` (pairs, 3) are those of `pair_counts`. Without any tie the tie parameter is
    left out: it would be ν = 0 or θ = 1.
    """
    free = n + int(counts[:, 1].any())
    place = np.zeros(n + 1)
    place[n] = (0.0 if ties == "davidson" else 0.5) if free > n else np.nan
    objective, slope, curvature = _objective(link, ties, pairs, counts, n, prior, place)
    for _ in range(MAX_STEPS):
        try:
            step = np.linalg.solve(_invertible(curvature, n, prior)[:free, :free], slope[:free])
        except np.linalg.LinAlgError:
            return None
        length = 1.0
        while True:
            trial = place.copy()
            trial[:free] += length * step
            optimum = _objective(link, ties, pairs, counts, n, prior, trial)
            if optimum[0] >= objective or length < 1e-8:
                break
            length /= 2
        if length < 1e-8:
            break  # nothing along this way is better: rounding is all that is left
        place, (objective, slope, curvature) = trial, optimum
        if np.abs(place[:n]).max() > BEYOND or (free > n and abs(place[n]) > BEYOND):
            return None
        if length * np.abs(step).max() < TOLERANCE:
            break
    else:
        return None
    try:
        covariance = np.asarray(np.linalg.inv(_invertible(curvature, n, prior)[:free, :free]), np.float64)
    except np.linalg.LinAlgError:
        return None
    if not prior and _is_level(covariance, pairs, n):
        return None
    return _described(place, objective, covariance, n, prior)


def _is_level(covariance: Floats, pairs: Ints, n: int) -> bool:
    """Whether the likelihood is level where the climb ended, as it is far out on a slope without end.

    How far out rounding stops the climb depends on the machine. At a maximum every outcome that was seen is expected
    as often as it was seen, so a compared pair's difference and the tie have standard errors of a few units.
    """
    i, j = pairs.T
    variances = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
    return not (np.append(variances, covariance.diagonal()[n:]) < BEYOND**2).all()


def _described(place: Floats, objective: float, covariance: Floats, n: int, prior: float) -> Estimate:
    centre = np.eye(n) - 1.0 / n
    scores = place[:n] - place[:n].mean()
    penalty = float((place[:n] ** 2).sum()) / (2 * prior**2) if prior else 0.0
    tie_error = float(np.sqrt(covariance[n, n])) if len(covariance) > n else np.nan
    return Estimate(scores, float(place[n]), centre @ covariance[:n, :n] @ centre, tie_error, objective + penalty)


def _invertible(curvature: Floats, n: int, prior: float) -> Floats:
    """The information about the scores and, where no prior holds it, about their sum, which comparisons cannot see."""
    full = curvature.copy()
    if not prior:
        full[:n, :n] += max(float(curvature[:n, :n].diagonal().mean()), TINY) / n
    return full


def _objective(
    link: Link, ties: str, pairs: Ints, counts: Ints, n: int, prior: float, place: Floats
) -> tuple[float, Floats, Floats]:
    """The logarithm of the likelihood (and prior), its slope, and the Fisher information: scores, then the tie."""
    i, j = pairs.T
    tie = place[n]
    if ties == "rao-kupper" and tie <= 0.0:
        return -np.inf, np.zeros(n + 1), np.zeros((n + 1, n + 1))
    chances, by_gap, by_tie = _shares(link, ties, place[i] - place[j], tie)
    value = float((counts * np.log(np.maximum(chances, TINY))).sum())
    gap_slope = (counts * by_gap).sum(axis=1)
    slope = np.zeros(n + 1)
    np.add.at(slope, i, gap_slope)
    np.add.at(slope, j, -gap_slope)
    slope[n] = (counts * by_tie).sum()
    weights = chances * counts.sum(axis=1, keepdims=True)
    rows = np.zeros((len(pairs), n))
    rows[np.arange(len(pairs)), i], rows[np.arange(len(pairs)), j] = 1.0, -1.0
    information = np.zeros((n + 1, n + 1))
    information[:n, :n] = rows.T @ ((weights * by_gap**2).sum(axis=1)[:, None] * rows)
    information[:n, n] = information[n, :n] = rows.T @ (weights * by_gap * by_tie).sum(axis=1)
    information[n, n] = (weights * by_tie**2).sum()
    if prior:
        value -= float((place[:n] ** 2).sum()) / (2 * prior**2)
        slope[:n] -= place[:n] / prior**2
        information[:n, :n] += np.eye(n) / prior**2
    return value, slope, information


def _shares(link: Link, ties: str, gap: Floats, tie: float) -> Shares:
    """Outcomes of pairs whose scores differ by ``gap``; a tie parameter NaN means that nothing is equal."""
    if np.isnan(tie):
        return _davidson(link, gap, 0.0)
    return _rao_kupper(link, gap, tie) if ties == "rao-kupper" else _davidson(link, gap, float(np.exp(tie)))


def _davidson(link: Link, gap: Floats, weight: float) -> Shares:
    """Davidson's ties of weight ν, by log ν."""
    better, worse = (np.maximum(link.distribution(side), TINY) for side in (gap, -gap))
    density = link.density(gap)
    rise, fall = density / better, density / worse
    equal = weight * np.sqrt(better * worse)
    total = 1.0 + equal
    share = equal / total
    change = share * (rise - fall) / 2
    return Shares(
        np.stack([worse / total, share, better / total], axis=1),
        np.stack([-fall - change, (rise - fall) / 2 - change, rise - change], axis=1),
        np.stack([-share, 1.0 - share, -share], axis=1),
    )


def _rao_kupper(link: Link, gap: Floats, threshold: float) -> Shares:
    """Rao and Kupper's ties, by the threshold η."""
    better, worse = link.distribution(gap - threshold), link.distribution(-gap - threshold)
    far = np.abs(gap)
    equal = link.distribution(threshold - far) - link.distribution(-threshold - far)
    chances = np.stack([worse, equal, better], axis=1)
    above, below = link.density(gap - threshold), link.density(gap + threshold)
    safe = np.maximum(chances, TINY)
    return Shares(
        chances,
        np.stack([-below, below - above, above], axis=1) / safe,
        np.stack([-below, below + above, -above], axis=1) / safe,
    )


def _check_maximum(name: str, comparisons: Comparisons, ties: str, prior: float) -> None:
    """Refuse data for which no maximum can exist, and say which systems are the reason."""
    wins, tied = comparisons.counts()
    if not wins.any():
        raise RyptError(f"{name}: every comparison is a tie, so no system is better than another")
    if prior:
        return
    if ties == "ignore":
        tied = np.zeros_like(tied)
    names = comparisons.systems
    met = _reachable((wins + wins.T + tied) > 0)
    if not met.all():
        one = [names[i] for i in np.flatnonzero(met[0])]
        rest = [names[i] for i in np.flatnonzero(~met[0])]
        what = "no decisive comparison" if ties == "ignore" else "no comparison"
        raise RyptError(
            f"{name}: {what} between {_listed(one)} and {_listed(rest)}: rank each group on its own, or set prior, "
            "for example prior=1"
        )
    reach = _reachable((wins + tied) > 0)
    for i in range(len(names)):
        group = np.flatnonzero(reach[i] & reach[:, i])
        if len(group) < len(names) and set(np.flatnonzero(reach[:, i])) == set(group):
            raise RyptError(
                f"{name}: {_listed([names[k] for k in group])} never lost to the others"
                f"{'' if ties == 'ignore' else ' or tied with them'}, so the likelihood grows without end: set prior, "
                "for example prior=1, or leave systems out"
            )


def _reachable(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which systems lead to which along any number of edges; each to itself."""
    reached = edges | np.eye(len(edges), dtype=np.bool_)
    for k in range(len(edges)):
        reached |= reached[:, k : k + 1] & reached[k : k + 1, :]
    return reached


def _listed(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def _logistic(x: Floats) -> Floats:
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0, small) / (1.0 + small))


def _logistic_density(x: Floats) -> Floats:
    small = np.exp(-np.abs(x))
    return np.asarray(small / (1.0 + small) ** 2)


LOGISTIC = Link(_logistic, _logistic_density)
