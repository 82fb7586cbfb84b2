"""Is the gain real? A paired bootstrap over segments (Koehn 2004)."""

from dataclasses import dataclass

import numpy as np

from mert.optimize import TuningProblem
from mert.search.share import chosen_rows
from rypt.arrays import Floats, Ints, Score

SAMPLES = 1000
BLOCK = 100  # samples drawn at once


@dataclass(frozen=True, slots=True)
class Gain:
    """How much better one set of weights is than another on the same lists.

    ``low`` and ``high`` hold 95 % of the resampled gains; ``p`` is the share of resamples without a gain.
    """

    gain: float
    low: float
    high: float
    p: float


def bootstrap_gain(
    problem: TuningProblem, before: Floats, after: Floats, rng: np.random.Generator, samples: int = SAMPLES
) -> Gain:
    """The gain from one set of weights to another in the metric's score, positive when it got better."""
    old, new = (np.concatenate(problem.shares.ask(chosen_rows, weights)) for weights in (before, after))
    resampled = resampled_gains(problem.rate, old, new, rng, samples)
    low, high = np.quantile(resampled, [0.025, 0.975])
    gain = problem.score(after) - problem.score(before)
    return Gain(gain, float(low), float(high), float(np.mean(resampled <= 0)))


def resampled_gains(
    rate: Score, old: Ints, new: Ints, rng: np.random.Generator, samples: int = SAMPLES
) -> Floats:
    """What the score gains from old to new statistics, (segments, columns), in samples of the segments."""
    size = len(old)
    gains = []
    for start in range(0, samples, BLOCK):
        drawn = rng.integers(size, size=(min(BLOCK, samples - start), size))
        counts = np.stack([np.bincount(row, minlength=size) for row in drawn])
        gains.append(rate(counts @ new) - rate(counts @ old))
    return np.concatenate(gains)
