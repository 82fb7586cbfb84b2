"""Data sets like a given one, where the true ranking is known: how often does a model return it? (Cumings 2012)

Cumings makes as many systems, as many comparisons of a pair (normal, with the mean and the deviation of the data), and
a fixed probability that the better system wins. His success rate is how often a model returns exactly the true ranking.
Every iteration has its own generator, made from the seed and its number, so results do not depend on threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hits.ranking.data import Counts, from_counts
from hits.ranking.model import RankingModel
from hits.ranking.simulation.simulate import mapped
from rypt.text import RyptError


@dataclass(frozen=True, slots=True)
class Likeness:
    """What Cumings keeps of a data set: systems, comparisons of a pair, the mean share of wins of the better one."""

    systems: int
    comparisons: float
    deviation: float
    share: float

    def draw(self, rng: np.random.Generator) -> Counts:
        """Counts of a data set like it in which system 0 is truly the best, 1 the second, and so on."""
        n = self.systems
        wins = np.zeros((n, n), np.int64)
        upper = np.triu_indices(n, 1)
        decided = np.maximum(0, rng.normal(self.comparisons, self.deviation, len(upper[0])).astype(np.int64))
        won = rng.binomial(decided, self.share)
        wins[upper], wins.T[upper] = won, decided - won
        return wins


def likeness(wins: Counts) -> Likeness:
    """What Cumings keeps of a data set, from its counts; ties do not count, nor do pairs nobody compared."""
    decided = wins + wins.T
    pairs = decided[np.triu_indices(len(wins), 1)]
    pairs = pairs[pairs > 0]
    better = wins > wins.T
    if not better.any():
        raise RyptError("expected comparisons that one system won more often than the other, found none")
    return Likeness(
        len(wins), float(pairs.mean()), float(pairs.std()), float((wins[better] / decided[better]).mean())
    )


def success(
    models: Sequence[RankingModel], like: Likeness, *, iterations: int = 1000, seed: int = 0, threads: int = 1
) -> list[float]:
    """How often each model returns exactly the true ranking of data like a data set (Cumings, section 3.1).

    All models see the same data. Where a model gives two systems the same score it has not found their order, and
    one of the two orders is right by chance.
    """
    names = tuple(f"{i:03}" for i in range(like.systems))

    def one(iteration: int) -> list[bool]:
        rng = np.random.default_rng((seed, iteration))
        shuffled = rng.permutation(like.systems)  # so that no rule for ties, such as by name, knows the truth
        wins = like.draw(rng)[np.ix_(shuffled, shuffled)]
        comparisons = from_counts(names, wins, np.zeros_like(wins))
        return [
            shuffled[model.fit(comparisons, rng).order()].tolist() == sorted(shuffled) for model in models
        ]

    return np.mean(list(mapped(one, iterations, threads)), axis=0).tolist()  # type: ignore[no-any-return]
