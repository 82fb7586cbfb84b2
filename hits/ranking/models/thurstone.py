"""Thurstone's model with ties, by maximum likelihood, with standard errors.

System i is better than j with probability Φ(sᵢ − sⱼ), Φ the normal distribution (Thurstone 1927, case V; Mosteller
1951). The unit of scores is the standard deviation of a *difference* of two qualities: times √2 it is that of one.
Ties, checks, ``prior`` and standard errors are those of `hits.ranking.models.bradley_terry`; with a threshold for ties
(``rao-kupper``) it is the model of Glenn and David (1960), and the likelihood part of Hopkins and May's Gaussian one.
"""

from dataclasses import dataclass
from math import pi, sqrt

import numpy as np

from hits.ranking.data import Comparisons
from hits.ranking.model import Fitted
from hits.ranking.models.bradley_terry import TIES, Link, fit_link, link_scores
from rypt.arrays import Floats
from rypt.options import Options
from rypt.tails import normal_tail


@dataclass(frozen=True, slots=True)
class Thurstone:
    """The normal model; ``prior`` is the standard deviation of the scores, 0 for maximum likelihood."""

    ties: str = "rao-kupper"
    prior: float = 0.0
    name: str = "thurstone"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Scores, variances and outcomes; nothing random."""
        return fit_link(self.name, NORMAL, self.ties, self.prior, comparisons)

    def only_scores(self, comparisons: Comparisons) -> Floats:
        """The scores alone, which are cheaper: what resamples are for."""
        return link_scores(self.name, NORMAL, self.ties, self.prior, comparisons)


def make_thurstone(options: Options) -> Thurstone:
    """From ``ties`` (rao-kupper, davidson, ignore) and ``prior``."""
    return Thurstone(options.choice("ties", "rao-kupper", TIES), options.number("prior", 0.0, least=0.0))


def _normal(x: Floats) -> Floats:
    return np.array([normal_tail(-value) for value in x.ravel()]).reshape(x.shape)


def _normal_density(x: Floats) -> Floats:
    return np.asarray(np.exp(-(x**2) / 2) / sqrt(2 * pi))


NORMAL = Link(_normal, _normal_density)
