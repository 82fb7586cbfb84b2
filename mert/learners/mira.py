"""Batch MIRA on n-best lists (Cherry & Foster 2012): online steps of the size that a margin asks for, averaged.

The candidates of a segment are compared by their gain: what the score of a background would be with this candidate in
it. The background stands for the rest of the corpus: first what the starting weights choose, then the hopes met so far,
older ones fading. Hope is the candidate with the most of model score plus gain, fear that with the most of model score
minus gain. This asks of a metric only that its statistics add up.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats, Ints, Score
from rypt.text import RyptError

SIZE = (
    10.0  # of a segment whose size is not given: gains as of ten words, the unit for which c = 0.01 does well
)


@dataclass(slots=True)
class Background:
    """Summed statistics of fading candidates, and the summed size of their segments."""

    sums: Floats
    size: float
    decay: float  # what is left of both after one more segment

    def gains(self, rows: Ints, size: float, score: Score, scale: float) -> Floats:
        """What each candidate makes of the background: its size with the candidate, times its score with it.

        The size makes up for the small share one candidate has in the sum, so gains depend little on how much the
        background holds. Its sums are rounded, for statistics are integers.
        """
        return score(np.rint(self.sums).astype(np.int64) + rows) * ((self.size + size) / scale)

    def add(self, row: Ints, size: float) -> None:
        """Let the background fade, then add a candidate."""
        self.sums = self.decay * self.sums + row
        self.size = self.decay * self.size + size


def mira(
    offsets: Ints,
    features: Floats,
    stats: Ints,
    score: Score,
    start: Floats,
    free: NDArray[np.bool_],
    rng: np.random.Generator,
    *,
    scale: float,
    sizes: Floats | None = None,
    c: float = 0.01,
    decay: float = 0.999,
    passes: int = 60,
) -> Floats:
    """The averaged weights after that pass over the segments after which they score best; the start if none is better.

    ``offsets`` says where the candidates of each segment begin, and one more; ``features`` are (candidates, features),
    ``stats`` (candidates, columns); ``score`` rates rows of summed statistics, higher is better, and ``scale`` is its
    value for perfect candidates. Weights that are not ``free`` stay as they are and take part in the margins. ``sizes``
    of the segments, such as their numbers of words, give long ones more say; without them all have `SIZE`. ``c`` is the
    largest step, ``decay`` how much of the background is left after one more segment. Steps depend on the units of
    features and gains: ``c`` suits features that differ by a few units between the candidates of a segment.
    """
    if c <= 0 or not 0 < decay <= 1:
        raise RyptError(f"expected a c above 0 and a decay above 0 and at most 1, found {c} and {decay}")
    filled = np.diff(offsets) > 0
    if not filled.any():
        return start.copy()
    bounds = np.append(offsets[:-1][filled], offsets[-1])
    sizes = np.full(len(bounds) - 1, SIZE) if sizes is None else sizes[filled]
    lists = _Lists(bounds, np.ascontiguousarray(features), stats, score, scale, sizes, free)
    chosen = lists.chosen(start)
    lasting = 1.0 if decay == 1 else min(1.0, 1 / ((1 - decay) * len(sizes)))
    background = Background((lasting * chosen).astype(np.float64), lasting * float(sizes.sum()), decay)
    best, best_score = start.copy(), lists.rate(chosen)
    weights, total = start.copy(), np.zeros(len(start))
    for done in range(1, passes + 1):
        for segment in rng.permutation(len(sizes)):
            weights = _learn(lists, segment, weights, background, c)
            total += weights
        average = np.where(free, total / (done * len(sizes)), start)
        reached = lists.rate(lists.chosen(average))
        if reached > best_score:
            best, best_score = average, reached
    return best


@dataclass(frozen=True, slots=True)
class _Lists:
    """What is learned from: candidates of segments that have any, rows contiguous."""

    bounds: Ints
    features: Floats
    stats: Ints
    score: Score
    scale: float
    sizes: Floats
    free: NDArray[np.bool_]

    def chosen(self, weights: Floats) -> Ints:
        """The summed statistics of the candidates these weights choose; the first of equals."""
        model = self.features @ weights
        top = np.maximum.reduceat(model, self.bounds[:-1])
        segment_of = np.repeat(np.arange(len(top)), np.diff(self.bounds))
        winners = np.flatnonzero(model == top[segment_of])
        _, firsts = np.unique(segment_of[winners], return_index=True)
        sums: Ints = self.stats[winners[firsts]].sum(axis=0)
        return sums

    def rate(self, sums: Ints) -> float:
        """The score of one row of summed statistics."""
        return float(self.score(sums[np.newaxis])[0])


def _learn(lists: _Lists, segment: int, weights: Floats, background: Background, c: float) -> Floats:
    """The weights after one segment; its hope joins the background."""
    block = slice(int(lists.bounds[segment]), int(lists.bounds[segment + 1]))
    features, stats, size = lists.features[block], lists.stats[block], float(lists.sizes[segment])
    gains = background.gains(stats, size, lists.score, lists.scale)
    model = features @ weights
    hope, fear = int(np.argmax(model + gains)), int(np.argmax(model - gains))
    if hope != fear:
        apart = np.where(lists.free, features[hope] - features[fear], 0.0)
        loss = float(gains[hope] - gains[fear] - (model[hope] - model[fear]))
        weights = weights + step_length(loss, apart, c) * apart
    background.add(stats[hope], size)
    return weights


def step_length(loss: float, apart: Floats, c: float) -> float:
    """How far to go along ``apart``, hope minus fear, to make up for a loss, but not further than ``c``.

    The loss is what hope's gain over fear is above hope's margin over fear in the model; the margin grows by the square
    of ``apart`` for each unit of length.

    >>> step_length(2.0, np.array([1.0, 3.0]), 1.0), step_length(2.0, np.array([1.0, 3.0]), 0.01)
    (0.2, 0.01)
    """
    square = float(apart @ apart)
    return min(c, loss / square) if loss > 0 and square > 0 else 0.0
