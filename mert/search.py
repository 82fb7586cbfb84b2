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
Ids = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Step:
    """How far to go along a direction, and the score there."""

    length: float
    score: float


@compiled
def sorted_lines(offsets: Ints, slopes: Floats) -> Ids:
    """The candidates of each segment in the order of their slopes."""
    order = np.empty(len(slopes), np.int32)
    for segment in range(len(offsets) - 1):
        start, stop = offsets[segment], offsets[segment + 1]
        order[start:stop] = np.argsort(slopes[start:stop]) + start
    return order


@compiled
def envelopes(
    offsets: Ints, order: Ids, slopes: Floats, intercepts: Floats, first: Ints, where: Floats, before: Ints, after: Ints
) -> int:
    """Each segment's winner at minus infinity, and where (``where``) one winner gives way to the next.

    ``order`` comes from `sorted_lines`. Of lines that coincide, the first candidate wins, whatever the order of the
    others. Returns the number of changes.
    """
    longest = 1
    for segment in range(len(offsets) - 1):
        longest = max(longest, offsets[segment + 1] - offsets[segment])
    hull, since = np.empty(longest, np.int64), np.empty(longest, np.float64)
    rise, height = np.empty(longest, np.float64), np.empty(longest, np.float64)  # of the lines in the hull
    changes = 0
    for segment in range(len(offsets) - 1):
        i, stop = offsets[segment], offsets[segment + 1]
        size = 0
        while i < stop:
            line = np.int64(order[i])
            slope, intercept = slopes[line], intercepts[line]
            i += 1
            while i < stop and slopes[order[i]] == slope:
                other = np.int64(order[i])
                if intercepts[other] > intercept or (intercepts[other] == intercept and other < line):
                    line, intercept = other, intercepts[other]
                i += 1
            crossing = -np.inf
            while size:
                crossing = (height[size - 1] - intercept) / (slope - rise[size - 1])
                if crossing > since[size - 1]:
                    break
                size -= 1
                crossing = -np.inf
            hull[size], since[size], rise[size], height[size] = line, crossing, slope, intercept
            size += 1
        first[segment] = hull[0]
        for k in range(1, size):
            where[changes], before[changes], after[changes] = since[k], hull[k - 1], hull[k]
            changes += 1
    return changes


def best_step(
    offsets: Ints,
    order: Ids,
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
    count = envelopes(offsets, order, slopes, intercepts, first, where, before, after)
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
