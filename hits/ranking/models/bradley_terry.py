"""Bradley–Terry and Thurstone models with ties, by maximum likelihood, with standard errors.

System i is better than j with probability F(g), g = sᵢ − sⱼ. F is logistic (Bradley and Terry 1952) or normal (Thurstone
1927, case V: the unit of scores is the standard deviation of a *difference* of two qualities). Ties are taken in as

    rao-kupper   P(better) = F(g − η), P(worse) = F(−g − η), the rest is equal    Rao and Kupper 1967, θ = e^η
    davidson     P(better) : P(equal) : P(worse) = F(g) : ν √(F(g) F(−g)) : F(−g)                 Davidson 1970
    ignore       ties are left out

Scores are centred; a comparison counts as independent of all others, which the ten of one row of five are not: standard
errors are then too small. The likelihood is climbed by Fisher scoring with halved steps. Where some systems were never
compared with the others, or never lost to them, it has no maximum. That is an error which names them, unless ``prior`` is
set: scores then come from N(0, prior²), and the estimate is the mode of the posterior, which always exists.
"""

from dataclasses import dataclass
from math import pi, sqrt

import numpy as np

from hits.ranking.data import Comparisons, Counts
from hits.ranking.model import Fitted, check_fit, sign
from rypt.arrays import Floats, Ints
from rypt.options import Options
from rypt.tails import normal_tail
from rypt.text import RyptError

TINY = 1e-300
FAR = 30.0  # no difference that data can support is as large, in units of F
STEPS, TOLERANCE, ROUNDING = 500, 1e-11, 1e-13


def logistic(x: Floats) -> tuple[Floats, Floats]:
    """Distribution and density."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1 + small), small / (1 + small) ** 2


def normal(x: Floats) -> tuple[Floats, Floats]:
    """Distribution and density."""
    distribution = np.array([normal_tail(-value) for value in x.ravel()]).reshape(x.shape)
    return distribution, np.exp(-(x**2) / 2) / sqrt(2 * pi)


LINKS = {"bradley-terry": logistic, "thurstone": normal}


@dataclass(frozen=True, slots=True)
class BradleyTerry:
    """``prior`` is the standard deviation of the scores, 0 for maximum likelihood; ``name`` says which F."""

    ties: str = "davidson"
    prior: float = 0.0
    name: str = "bradley-terry"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Scores, variances and outcomes; ``extra`` has standard errors, covariance and the tie parameter ν or η."""
        check_fit(comparisons)
        n = len(comparisons.systems)
        i, j, counts = comparisons.pairs(ties=self.ties != "ignore")
        self._check(comparisons)
        try:
            place, information = self._climb(i, j, counts, n)
            covariance = np.linalg.inv(information)
        except np.linalg.LinAlgError:
            raise self._no_maximum() from None
        gap_variances = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        seen = np.append(gap_variances, covariance.diagonal()[n:])
        if not self.prior and not ((seen > 0) & (seen < FAR**2)).all():
            raise self._no_maximum()  # far out on a slope without end the likelihood is level
        centre = np.eye(n) - 1 / n
        spread = centre @ covariance[:n, :n] @ centre
        scores = place[:n] - place[:n].mean()
        outcomes = self._chances((scores[:, None] - scores).ravel(), place[n:])[0].reshape(n, n, 3)
        extra: dict[str, object] = {
            "standard_errors": np.sqrt(spread.diagonal()).tolist(),
            "covariance": spread.tolist(),
            "log_likelihood": float((counts * np.log(np.maximum(outcomes[i, j], TINY))).sum()),
        }
        if len(place) > n:
            tie, error = float(place[n]), sqrt(covariance[n, n])
            if self.ties == "davidson":
                tie, error = float(np.exp(tie)), error * float(np.exp(tie))
            name = "nu" if self.ties == "davidson" else "eta"
            extra["tie"] = {"name": name, "value": tie, "standard_error": error}
        signature = sign(self.name, comparisons, ties=self.ties, prior=self.prior or "none")
        return Fitted(comparisons.systems, scores, signature, outcomes, spread.diagonal().copy(), extra)

    def _climb(self, i: Ints, j: Ints, counts: Counts, n: int) -> tuple[Floats, Floats]:
        """The scores and the tie parameter at the top, and the information there."""
        place = np.zeros(n + int(counts[:, 1].any()))
        place[n:] = 0.0 if self.ties == "davidson" else 0.5
        value, slope, information = self._objective(place, i, j, counts, n)
        for _ in range(STEPS):
            step, length = np.linalg.solve(information, slope), 1.0
            while True:
                tried = self._objective(place + length * step, i, j, counts, n)
                if tried[0] >= value - ROUNDING * abs(value) or length < 1e-8:
                    break
                length /= 2
            place, (value, slope, information) = place + length * step, tried
            if np.abs(place).max() > FAR:
                break
            if length * np.abs(step).max() < TOLERANCE or length < 1e-8:
                return place, information
        raise self._no_maximum()

    def _objective(
        self, place: Floats, i: Ints, j: Ints, counts: Counts, n: int
    ) -> tuple[float, Floats, Floats]:
        """The logarithm of the likelihood (and prior), its slope, and the Fisher information."""
        size = len(place)
        slope, information = np.zeros(size), np.zeros((size, size))
        if self.ties == "rao-kupper" and size > n and place[n] <= 0:
            return -np.inf, slope, np.eye(size)
        chances, by_gap, by_tie = self._chances(place[i] - place[j], place[n:])
        value = float((counts * np.log(np.maximum(chances, TINY))).sum())
        weights = chances * counts.sum(axis=1, keepdims=True)
        slope[:n] = _by_system((counts * by_gap).sum(axis=1), i, j, n)
        by_pair = (weights * by_gap**2).sum(axis=1)
        information[i, j] = information[j, i] = -by_pair
        information[np.arange(n), np.arange(n)] = np.bincount(i, by_pair, n) + np.bincount(j, by_pair, n)
        if size > n:
            slope[n], information[n, n] = (counts * by_tie).sum(), (weights * by_tie**2).sum()
            mixed = _by_system((weights * by_gap * by_tie).sum(axis=1), i, j, n)
            information[:n, n] = information[n, :n] = mixed
        if self.prior:
            value -= float((place[:n] ** 2).sum()) / (2 * self.prior**2)
            slope[:n] -= place[:n] / self.prior**2
            information[:n, :n] += np.eye(n) / self.prior**2
        else:  # comparisons cannot see the sum of the scores
            information[:n, :n] += max(float(information.diagonal()[:n].mean()), TINY) / n
        return value, slope, information

    def _chances(self, gap: Floats, tie: Floats) -> tuple[Floats, Floats, Floats]:
        """P(worse, equal, better) of pairs, and the slopes of their logarithms by the gap and by the tie."""
        link = LINKS[self.name]
        if self.ties == "rao-kupper" and len(tie):
            (better, above), (worse, below) = link(gap - tie[0]), link(-gap - tie[0])
            equal = link(tie[0] - np.abs(gap))[0] - link(-tie[0] - np.abs(gap))[0]
            chances = np.stack([worse, equal, better], axis=1)
            by_gap = np.stack([-below, below - above, above], axis=1)
            by_tie = np.stack([-below, below + above, -above], axis=1)
            return chances, by_gap / np.maximum(chances, TINY), by_tie / np.maximum(chances, TINY)
        (better, density), worse = link(gap), link(-gap)[0]
        better, worse = np.maximum(better, TINY), np.maximum(worse, TINY)
        rise, fall = density / better, density / worse
        equal = np.exp(tie[0]) * np.sqrt(better * worse) if len(tie) else np.zeros_like(gap)
        share = equal / (1 + equal)
        change = share * (rise - fall) / 2
        return (
            np.stack([worse / (1 + equal), share, better / (1 + equal)], axis=1),
            np.stack([-fall - change, (rise - fall) / 2 - change, rise - change], axis=1),
            np.stack([-share, 1 - share, -share], axis=1),
        )

    def _check(self, comparisons: Comparisons) -> None:
        """Refuse data without a maximum, and say which systems are the reason."""
        wins, ties = comparisons.counts()
        if not wins.any():
            raise RyptError(f"{self.name}: every comparison is a tie, so no system is better than another")
        if self.prior:
            return
        reach = (wins + ties * (self.ties != "ignore") > 0) | np.eye(len(wins), dtype=bool)
        for k in range(len(wins)):
            reach |= reach[:, k : k + 1] & reach[k]
        if not reach.all():
            group = reach[:, reach.sum(axis=0).argmin()]  # reached by the fewest: by its own group alone
            names = [comparisons.systems[k] for k in np.flatnonzero(group)]
            listed = ", ".join(names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"])
            raise RyptError(
                f"{self.name}: {listed} never lost to the other systems{'' if self.ties == 'ignore' else ' or tied'}, "
                "so the likelihood grows without end: set prior, for example prior=1, or leave systems out"
            )

    def _no_maximum(self) -> RyptError:
        return RyptError(
            f"{self.name}: the likelihood grows without end, because some systems hardly ever lost to others: set "
            "prior, for example prior=1, or leave systems out"
        )


def _by_system(values: Floats, i: Ints, j: Ints, n: int) -> Floats:
    """The sum over a system's pairs, with a minus where it is the second of the pair."""
    return np.asarray(np.bincount(i, values, n) - np.bincount(j, values, n), np.float64)


def make_bradley_terry(options: Options) -> BradleyTerry:
    """From ``ties`` (davidson for Bradley–Terry, rao-kupper for Thurstone, ignore) and ``prior``."""
    default = "rao-kupper" if options.name == "thurstone" else "davidson"
    ties = options.choice("ties", default, ("davidson", "rao-kupper", "ignore"))
    return BradleyTerry(ties, options.number("prior", 0.0, least=0.0), options.name)
