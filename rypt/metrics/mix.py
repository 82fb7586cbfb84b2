"""Several metrics at once: a weighted sum of their scores on one scale."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rypt.arrays import Floats, Ints
from rypt.metrics.metric import Metric, check_stats
from rypt.records import RawCandidate
from rypt.text import RyptError


@dataclass(frozen=True, slots=True)
class Part:
    """One metric of a sum, its weight, and its name for messages."""

    weight: float
    name: str
    metric: Metric


class Mix:
    """The sum of weight · 100 · score / scale over some metrics, higher being better.

    So RYPT, from 0 to 1, and BLEU, from 0 to 100, weigh alike, and weights that sum to 1 give a score from 0 to 100.
    A metric that is better when lower has a negative weight, the others a positive one.
    """

    maximize = True
    scale = 100.0

    def __init__(self, parts: Sequence[Part]) -> None:
        for part in parts:
            _check_sign(part)
        self.parts = tuple(parts)
        widths = [check_stats(part.metric.stats([]), 0, part.name).shape[1] for part in parts]
        self.ends = np.cumsum(widths)

    @property
    def signature(self) -> str:
        """The weights with the signatures of their metrics."""
        terms = "".join(f"{part.weight:+.15g}*[{part.metric.signature}]" for part in self.parts)
        return terms.removeprefix("+")

    def stats(self, candidates: Sequence[RawCandidate]) -> Ints:
        """The columns of all metrics side by side."""
        blocks = [
            check_stats(part.metric.stats(candidates), len(candidates), part.name) for part in self.parts
        ]
        return np.concatenate(blocks, axis=1)

    def score(self, sums: Ints) -> Floats:
        """The weighted sum of the scores of each row."""
        total: Floats = np.zeros(len(sums))
        for part, block in zip(self.parts, np.split(sums, self.ends[:-1], axis=1), strict=True):
            total += part.weight * (100 / part.metric.scale) * part.metric.score(block)
        return total


def _check_sign(part: Part) -> None:
    """Refuse a weight of the wrong sign."""
    if part.metric.maximize and part.weight < 0:
        raise RyptError(f"{part.name} is better when higher: write {-part.weight:g}*{part.name}")
    if not part.metric.maximize and part.weight > 0:
        raise RyptError(f"{part.name} is better when lower: write {-part.weight:g}*{part.name}")
