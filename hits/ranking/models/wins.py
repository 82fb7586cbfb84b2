"""Ratios of wins: Expected Wins, Bojar's ratio, and wins and ties by all comparisons.

    expected-wins   score(i) = 1/(n−1) Σⱼ wins(i, j) / (wins(i, j) + wins(j, i))     WMT12 and later
    bojar           score(i) = wins(i) / (wins(i) + losses(i))                       Bojar et al. 2011
    wins-ties       score(i) = (wins(i) + ties(i)) / (wins(i) + ties(i) + losses(i)) before WMT11

Koehn (2012) and Sakaguchi et al. (2014) print 1/n for Expected Wins; the programs, and the figures WMT published, have
1/(n−1). The option ``divisor`` takes either: the order of systems is the same.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons, Counts
from hits.ranking.model import Fitted, check_fit, sign
from rypt.arrays import Floats
from rypt.options import Options

NEUTRAL = 0.5  # the score of a system without a decisive comparison


def expected_wins(wins: Counts, *, divisor: str = "n-1", unseen: str = "skip") -> Floats:
    """The mean share of wins against each opponent, ties left out; ``wins`` is (…, systems, systems).

    Opponents without a decisive comparison are skipped. The programs count 0 against them (``unseen="zero"``), which
    punishes systems that were not compared.

    >>> expected_wins(np.array([[0, 3, 1], [1, 0, 1], [1, 1, 0]])).round(3).tolist()
    [0.625, 0.375, 0.5]
    """
    n = wins.shape[-1]
    decisive = wins + np.swapaxes(wins, -1, -2)
    shares = _ratio(wins, decisive, 0.0).sum(axis=-1)
    if unseen == "zero":
        return np.asarray(shares / (n - 1 if divisor == "n-1" else n), np.float64)
    mean = _ratio(shares, (decisive > 0).sum(axis=-1), NEUTRAL)
    return mean if divisor == "n-1" else mean * ((n - 1) / n)


def wins_ties(wins: Counts, ties: Counts) -> Floats:
    """The share of wins and ties in all comparisons; both are (…, systems, systems). Bojar's ratio is without ties.

    >>> wins_ties(np.array([[0, 2], [1, 0]]), np.array([[0, 1], [1, 0]])).tolist()
    [0.75, 0.5]
    """
    won, lost, tied = wins.sum(axis=-1), wins.sum(axis=-2), ties.sum(axis=-1)
    return _ratio(won + tied, won + lost + tied, NEUTRAL)


def _ratio(part: NDArray[Any], whole: NDArray[Any], otherwise: float) -> Floats:
    ratio: Floats = np.full(np.shape(whole), otherwise)
    np.divide(part, whole, out=ratio, where=whole > 0)
    return ratio


@dataclass(frozen=True, slots=True)
class WinRatio:
    """``expected-wins``, ``bojar`` or ``wins-ties``; ``divisor`` and ``unseen`` are those of Expected Wins."""

    name: str = "expected-wins"
    divisor: str = "n-1"
    unseen: str = "skip"

    def scores(self, wins: Counts, ties: Counts) -> Floats:
        """Scores from counts (…, systems, systems)."""
        if self.name == "expected-wins":
            return expected_wins(wins, divisor=self.divisor, unseen=self.unseen)
        return wins_ties(wins, ties if self.name == "wins-ties" else np.zeros_like(wins))

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        check_fit(comparisons)
        options = {"divisor": self.divisor, "unseen": self.unseen} if self.name == "expected-wins" else {}
        scores = self.scores(*comparisons.counts())
        return Fitted(comparisons.systems, scores, sign(self.name, comparisons, **options))


def make_win_ratio(options: Options) -> WinRatio:
    """Expected Wins from ``divisor`` (n-1, n) and ``unseen`` (skip, zero); the others have no options."""
    if options.name != "expected-wins":
        return WinRatio(options.name)
    return WinRatio(
        divisor=options.choice("divisor", "n-1", ("n-1", "n")),
        unseen=options.choice("unseen", "skip", ("skip", "zero")),
    )
