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
from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons, Counts
from hits.ranking.model import Fitted, check_fit, sign
from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.options import Options
from rypt.text import RyptError

TIES = ("davidson", "rao-kupper", "ignore")
MAX_STEPS = 500
TOLERANCE = 1e-11  # the last step is shorter than this in every coordinate
QUADRATIC = 1e-6  # the same where the error of a step is the square of the one before
BEYOND = 30.0  # no difference that data can support is as large, in units of F
TINY = 1e-300
NO_MAXIMUM = (
    "{}: no scores are the most likely, the likelihood grows without end (some systems never lost to the others): set "
    "prior, for example prior=1, or leave systems out"
)
ROUNDING = 1e-13  # of a likelihood, as a part of it
DIRECT = 64  # systems up to which equations are solved directly


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

    def only_scores(self, comparisons: Comparisons) -> Floats:
        """The scores alone, which are cheaper: what resamples are for."""
        return link_scores(self.name, LOGISTIC, self.ties, self.prior, comparisons)


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
        raise RyptError(NO_MAXIMUM.format(name))
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
        comparisons.systems,
        estimated.scores,
        signature,
        outcomes,
        estimated.covariance.diagonal().copy(),
        extra,
    )


def link_scores(name: str, link: Link, ties: str, prior: float, comparisons: Comparisons) -> Floats:
    """The scores that `fit_link` gives, without standard errors where it is sure that a maximum exists."""
    check_fit(comparisons)
    wins, tied = comparisons.counts()
    if not _all_won(wins) and not prior:
        return fit_link(name, link, ties, prior, comparisons).scores
    if not wins.any():
        _check_maximum(name, comparisons, ties, prior)
    made = scores_of_counts(link, wins, np.zeros_like(tied) if ties == "ignore" else tied, ties, prior)
    if made is None:
        raise RyptError(NO_MAXIMUM.format(name))
    return made


def scores_of_counts(link: Link, wins: Counts, tied: Counts, ties: str, prior: float = 0.0) -> Floats | None:
    """The scores alone, from counts of systems that were all better than each other at times, or with a prior.

    >>> wins = np.array([[0, 8], [2, 0]])
    >>> scores_of_counts(LOGISTIC, wins, np.zeros((2, 2), np.int64), "ignore").round(3).tolist()
    [0.693, -0.693]
    """
    pairs, counts = _counted_pairs(wins, tied)
    top = climb(link, ties, pairs, counts, len(wins), prior)
    if top is None:
        return None
    scores = top[0][: len(wins)]
    return np.asarray(scores - scores.mean(), np.float64)


def _all_won(wins: Counts) -> bool:
    """Whether every system was better than every other at times: then a maximum exists."""
    return bool((wins + np.eye(len(wins), dtype=np.int64) > 0).all())


@compiled
def _counted_pairs(wins: Counts, ties: Counts) -> tuple[Ints, Ints]:
    """The pairs i < j that were compared, and how often i was worse, equal, better."""
    n = len(wins)
    pairs, counts = np.empty((n * (n - 1) // 2, 2), np.int64), np.empty((n * (n - 1) // 2, 3), np.int64)
    k = 0
    for i in range(n):
        for j in range(i + 1, n):
            if wins[i, j] + wins[j, i] + ties[i, j] > 0:
                pairs[k, 0], pairs[k, 1] = i, j
                counts[k, 0], counts[k, 1], counts[k, 2] = wins[j, i], ties[i, j], wins[i, j]
                k += 1
    return pairs[:k], counts[:k]


def pair_counts(comparisons: Comparisons) -> tuple[Ints, Ints]:
    """The pairs of systems i < j that were compared (pairs, 2), and how often i was worse, equal, better (pairs, 3)."""
    return _counted_pairs(*comparisons.counts())


def estimate(link: Link, ties: str, pairs: Ints, counts: Ints, n: int, prior: float) -> Estimate | None:
    """The maximum of the likelihood, or of the posterior where ``prior`` is above 0; None where there is none.

    ``pairs`` (pairs, 2) and ``counts`` (pairs, 3) are those of `pair_counts`. Without any tie the tie parameter is
    left out: it would be ν = 0 or θ = 1.
    """
    top = climb(link, ties, pairs, counts, n, prior)
    if top is None:
        return None
    place, objective, curvature = top
    free = n + int(counts[:, 1].any())
    try:
        covariance = np.asarray(np.linalg.inv(_invertible(curvature, n, prior)[:free, :free]), np.float64)
    except np.linalg.LinAlgError:
        return None
    if not prior and _is_level(covariance, pairs, n):
        return None
    return _described(place, objective, covariance, n, prior)


def climb(
    link: Link, ties: str, pairs: Ints, counts: Ints, n: int, prior: float
) -> tuple[Floats, float, Floats] | None:
    """The scores and the tie at the top of the likelihood, its logarithm and its curvature; None without a top."""
    free = n + int(counts[:, 1].any())
    place = np.zeros(n + 1)
    place[n] = (0.0 if ties == "davidson" else 0.5) if free > n else np.nan
    if link is LOGISTIC and not prior:
        place[:n] = _mean_odds(pairs, counts, n)
    objective, slope, curvature = _objective(link, ties, pairs, counts, n, prior, place)
    newton = link is LOGISTIC and ties != "rao-kupper"  # there the information is the curvature
    enough = QUADRATIC if newton else TOLERANCE
    for _ in range(MAX_STEPS):
        try:
            step = _solve(_invertible(curvature, n, prior)[:free, :free], slope[:free])
        except np.linalg.LinAlgError:
            return None
        length = 1.0
        while True:
            trial = place.copy()
            trial[:free] += length * step
            optimum = _objective(link, ties, pairs, counts, n, prior, trial)
            if optimum[0] >= objective or length < 1e-8 or _is_flatter(optimum, objective, slope):
                break
            length /= 2
        if length < 1e-8:
            break  # nothing along this way is better: rounding is all that is left
        place, (objective, slope, curvature) = trial, optimum
        if np.abs(place[:n]).max() > BEYOND or (free > n and abs(place[n]) > BEYOND):
            return None
        if length * np.abs(step).max() < enough:
            break
    else:
        return None
    return place, objective, curvature


def _is_flatter(optimum: tuple[float, Floats, Floats], objective: float, slope: Floats) -> bool:
    """Whether a place is as high but for rounding, and nearer to the top by its slope."""
    rounding = ROUNDING * abs(objective)
    return bool(optimum[0] >= objective - rounding and np.abs(optimum[1]).max() < np.abs(slope).max() / 2)


@compiled
def _mean_odds(pairs: Ints, counts: Ints, n: int) -> Floats:
    """A start for the logistic model: the mean over opponents of the logarithm of wins by losses."""
    scores = np.zeros(n)
    for k in range(len(pairs)):
        odds = log((counts[k, 2] + 0.5) / (counts[k, 0] + 0.5)) / n
        scores[pairs[k, 0]] += odds
        scores[pairs[k, 1]] -= odds
    return scores


def _solve(matrix: Floats, right: Floats) -> Floats:
    """The solution of a symmetric system; that of many systems by conjugate gradients, as they meet nearly all others.

    Where a few dozen steps do not solve it, it is solved directly.
    """
    if len(right) <= DIRECT:
        return np.asarray(np.linalg.solve(matrix, right), np.float64)
    scale = 1.0 / np.maximum(matrix.diagonal(), TINY)
    solution = np.zeros(len(right))
    rest = right.copy()
    towards = scaled = scale * rest
    size = float(rest @ scaled)
    enough = 1e-24 * max(size, TINY)
    for _ in range(60):
        image = matrix @ towards
        length = size / float(towards @ image) if size > 0 else 0.0
        solution = solution + length * towards
        rest = rest - length * image
        scaled = scale * rest
        old, size = size, float(rest @ scaled)
        if size <= enough:
            return solution
        towards = scaled + size / old * towards
    return np.asarray(np.linalg.solve(matrix, right), np.float64)


def _is_level(covariance: Floats, pairs: Ints, n: int) -> bool:
    """Whether the likelihood is level where the climb ended, as it is far out on a slope without end.

    How far out rounding stops the climb depends on the machine. At a maximum every outcome that was seen is expected
    as often as it was seen, so a compared pair's difference and the tie have standard errors of a few units.
    """
    i, j = pairs.T
    variances = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
    seen = np.append(variances, covariance.diagonal()[n:])
    return not ((seen > 0) & (seen < BEYOND**2)).all()


def _described(place: Floats, objective: float, covariance: Floats, n: int, prior: float) -> Estimate:
    centre = np.eye(n) - 1.0 / n
    scores = place[:n] - place[:n].mean()
    penalty = float((place[:n] ** 2).sum()) / (2 * prior**2) if prior else 0.0
    tie_error = float(np.sqrt(covariance[n, n])) if len(covariance) > n else np.nan
    return Estimate(
        scores, float(place[n]), centre @ covariance[:n, :n] @ centre, tie_error, objective + penalty
    )


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
    slope, information = np.zeros(n + 1), np.zeros((n + 1, n + 1))
    if ties == "rao-kupper" and tie <= 0.0:
        return -np.inf, slope, information
    if link is LOGISTIC and ties != "rao-kupper":
        weight = 0.0 if np.isnan(tie) else float(np.exp(tie))
        value = _davidson_pass(pairs, counts, place, weight, slope, information)
        information += np.triu(information, 1).T
    else:
        value = _add_pairs(_shares(link, ties, place[i] - place[j], tie), pairs, counts, slope, information)
    if prior:
        value -= float((place[:n] ** 2).sum()) / (2 * prior**2)
        slope[:n] -= place[:n] / prior**2
        information[:n, :n] += np.eye(n) / prior**2
    return value, slope, information


def _add_pairs(shares: Shares, pairs: Ints, counts: Ints, slope: Floats, information: Floats) -> float:
    """The logarithm of the likelihood; its slope and the information are added where they are zero before."""
    i, j = pairs.T
    n = len(slope) - 1
    chances, by_gap, by_tie = shares
    value = float((counts * np.log(np.maximum(chances, TINY))).sum())
    gap_slope = (counts * by_gap).sum(axis=1)
    slope[:n] = _by_system(gap_slope, i, j, n)
    slope[n] = (counts * by_tie).sum()
    weights = chances * counts.sum(axis=1, keepdims=True)
    by_pair = (weights * by_gap**2).sum(axis=1)
    information[i, j] = information[j, i] = -by_pair
    information[np.arange(n), np.arange(n)] = np.bincount(i, by_pair, n) + np.bincount(j, by_pair, n)
    information[:n, n] = information[n, :n] = _by_system((weights * by_gap * by_tie).sum(axis=1), i, j, n)
    information[n, n] = (weights * by_tie**2).sum()
    return value


@compiled
def _davidson_pass(
    pairs: Ints, counts: Ints, place: Floats, weight: float, slope: Floats, information: Floats
) -> float:
    """What `_add_pairs` does with Davidson's ties of the logistic model, in one pass over the pairs.

    The information is filled above the diagonal only.
    """
    n = len(slope) - 1
    value = 0.0
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        few, ties, many = counts[k, 0], counts[k, 1], counts[k, 2]
        gap = place[i] - place[j]
        small = exp(-abs(gap))
        high = 1.0 / (1.0 + small)
        better = high if gap >= 0.0 else small * high
        worse = 1.0 - better if gap < 0.0 else small * high
        value -= (few + many) * log(1.0 + small) + (few * gap if gap >= 0.0 else -many * gap)
        if weight == 0.0:
            step = many * worse - few * better
            known = (few + many) * better * worse
            slope[i] += step
            slope[j] -= step
            information[i, j] = -known
            information[i, i] += known
            information[j, j] += known
            continue
        equal = weight * sqrt(better * worse)
        total = 1.0 + equal
        share = equal / total
        half = (worse - better) / 2.0  # the slope of log √(F(g) F(−g)) by g
        change = share * half
        below, above = -better - change, worse - change
        beside, both = half - change, few + ties + many
        value += ties * log(max(equal, TINY)) - both * log(total)
        step = few * below + ties * beside + many * above
        known = both * (worse / total * below**2 + share * beside**2 + better / total * above**2)
        mixed = both * (
            -share * (worse / total * below + better / total * above) + share * (1.0 - share) * beside
        )
        slope[i] += step
        slope[j] -= step
        slope[n] += ties - both * share
        information[i, j] = -known
        information[i, i] += known
        information[j, j] += known
        information[i, n] += mixed
        information[j, n] -= mixed
        information[n, n] += both * share * (1.0 - share)
    return value


def _by_system(values: Floats, i: Ints, j: Ints, n: int) -> Floats:
    """The sum over a system's pairs, with a minus where it is the second of the pair."""
    return np.asarray(np.bincount(i, values, n) - np.bincount(j, values, n), np.float64)


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
    if ((wins + tied + np.eye(len(wins), dtype=np.int64)) > 0).all():
        return  # everybody was better than everybody at times
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
