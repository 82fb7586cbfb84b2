"""Och's line search: the exact score along a direction, and the best step (paper, section 2).

Along w + t·d the model score of a candidate is a line in t. The upper envelope of a segment's lines says which
candidate wins where; where the envelopes of all segments bend, the summed statistics change. So the metric is constant
between neighbouring critical points, and is evaluated once for each interval, with statistics updated incrementally.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rypt.kernel import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Step:
    """How far to go along a direction, and the score there."""

    length: float
    score: float


@compiled
def _leftmost(slopes: Floats, intercepts: Floats, start: int, stop: int) -> int:
    """The line that is highest at minus infinity: the flattest, of these the highest, of these the first."""
    best = start
    for line in range(start + 1, stop):
        if slopes[line] < slopes[best] or (slopes[line] == slopes[best] and intercepts[line] > intercepts[best]):
            best = line
    return best


@compiled
def _next(slopes: Floats, intercepts: Floats, start: int, stop: int, line: int) -> tuple[int, float]:
    """The line that overtakes a line of the envelope, and where; -1 when none is steeper.

    Of lines that cross it at one place the steepest, of these the highest, of these the first.
    """
    slope, height = slopes[line], intercepts[line]
    following, place = -1, np.inf
    for other in range(start, stop):
        rise = slopes[other] - slope
        if rise > 0:
            crossing = (height - intercepts[other]) / rise
            if crossing < place or (
                crossing == place
                and (
                    slopes[other] > slopes[following]
                    or (slopes[other] == slopes[following] and intercepts[other] > intercepts[following])
                )
            ):
                following, place = other, crossing
    return following, place


@compiled
def envelopes(
    offsets: Ints, slopes: Floats, intercepts: Floats, first: Ints, where: Floats, before: Ints, after: Ints
) -> int:
    """Each segment's winner at minus infinity, and where (``where``) one winner gives way to the next.

    An envelope has few corners, so walking from each to the next costs less than sorting the lines. Returns the
    number of changes.
    """
    changes = 0
    for segment in range(len(offsets) - 1):
        start, stop = offsets[segment], offsets[segment + 1]
        line = _leftmost(slopes, intercepts, start, stop)
        first[segment] = line
        reached = -np.inf
        while True:
            following, place = _next(slopes, intercepts, start, stop, line)
            if following < 0:
                break
            reached = max(reached, place)
            where[changes], before[changes], after[changes] = reached, line, following
            changes += 1
            line = following
    return changes


def best_step(
    offsets: Ints,
    slopes: Floats,
    intercepts: Floats,
    stats: Ints,
    score: Callable[[Ints], Floats],
    low: float = -np.inf,
    high: float = np.inf,
) -> Step:
    """The step with the best score in [low, high]: the middle of the best interval.

    Of equal intervals, the one around 0 is taken, which is no step at all, else the widest.
    ``stats`` (candidates, columns) add up; ``score`` rates many sums at once, higher is better. An interval without
    an end is entered by as much as the distance between the outermost critical points, at least 1.
    """
    size = len(slopes)
    first, where = np.empty(len(offsets) - 1, np.int64), np.empty(size)
    before, after = np.empty(size, np.int64), np.empty(size, np.int64)
    count = envelopes(offsets, slopes, intercepts, first, where, before, after)
    by_place = np.argsort(where[:count], kind="stable")
    points = where[:count][by_place]
    sums = np.empty((count + 1, stats.shape[1]), np.int64)
    sums[0] = stats[first].sum(axis=0)
    sums[1:] = stats[after[:count][by_place]] - stats[before[:count][by_place]]
    np.cumsum(sums, axis=0, out=sums)
    left, right = np.concatenate([[-np.inf], points]), np.concatenate([points, [np.inf]])
    left, right = np.maximum(left, low), np.minimum(right, high)
    open_intervals = np.flatnonzero(left < right)
    if not len(open_intervals):
        return Step(0.0, -np.inf)
    left, right = left[open_intervals], right[open_intervals]
    scores = score(sums[open_intervals])
    best = np.flatnonzero(scores == scores.max())
    here = best[(left[best] < 0) & (right[best] > 0)]
    if len(here):
        return Step(0.0, float(scores[here[0]]))
    chosen = best[np.argmax(right[best] - left[best])]
    span = max(1.0, float(points[-1] - points[0])) if count else 1.0
    a = float(left[chosen]) if np.isfinite(left[chosen]) else float(right[chosen]) - 2 * span
    b = float(right[chosen]) if np.isfinite(right[chosen]) else a + 2 * span
    return Step((a + b) / 2, float(scores[chosen]))
