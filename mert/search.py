"""Och's exact line search: the best step along a direction, over n-best lists.

Along w + t·d the model score of a candidate is a line in t, with slope d·features and intercept w·features. The upper
envelope of a segment's lines says which candidate wins where; the critical points of all segments together cut t into
intervals on which the summed statistics, and so the metric, are constant (Och 2003; Zaidan & Callison-Burch 2009,
section 2). Every interval is scored, so nothing along the line is missed.
"""

from dataclasses import dataclass

import numpy as np

from rypt.arrays import Floats, Ints, Score
from rypt.compiled import compiled


@dataclass(frozen=True, slots=True)
class Step:
    """How far to go along a direction, the score there, and the score here."""

    length: float
    score: float
    here: float


@dataclass(frozen=True, slots=True)
class Window:
    """Smoothing over neighbouring intervals (Cer et al. 2008): the score of one is the least or the mean of ``size``
    on each side and its own, so that a lucky spike between bad intervals does not win.
    """

    kind: str  # "min" or "average"
    size: int

    def smooth(self, scores: Floats) -> Floats:
        """Smoothed scores; at the ends the windows are shorter.

        >>> Window("average", 1).smooth(np.array([0.0, 3.0, 0.0, 6.0]))
        array([1.5, 1. , 3. , 3. ])
        """
        filled = np.pad(scores, self.size, constant_values=np.nan)
        windows = np.lib.stride_tricks.sliding_window_view(filled, 2 * self.size + 1)
        return np.asarray(np.nanmin(windows, axis=1) if self.kind == "min" else np.nanmean(windows, axis=1))


@compiled
def envelopes(
    offsets: Ints, slopes: Floats, intercepts: Floats, first: Ints, where: Floats, before: Ints, after: Ints
) -> int:
    """Each segment's winner at minus infinity, and where (``where``) one winner gives way to the next.

    An envelope has few corners, so walking from each to the next, over all lines, costs less than sorting the lines:
    the loop that computes the crossings has no branches and runs on four lines at once. Lines that cross the present
    one at one place give way to the steepest, of these to the highest, of these to the first. Returns the number of
    changes.
    """
    longest = 0
    for segment in range(len(offsets) - 1):
        longest = max(longest, offsets[segment + 1] - offsets[segment])
    crossings = np.empty(longest)
    changes = 0
    for segment in range(len(offsets) - 1):
        start, stop = offsets[segment], offsets[segment + 1]
        slope, height = slopes[start:stop], intercepts[start:stop]
        size = stop - start
        line, steepest = 0, slope[0]
        for other in range(1, size):
            steepest = max(steepest, slope[other])
            if slope[other] <= slope[line] and (slope[other] < slope[line] or height[other] > height[line]):
                line = other
        first[segment] = start + line
        reached = -np.inf
        while slope[line] < steepest:
            here_slope, here_height = slope[line], height[line]
            for other in range(size):
                rise = slope[other] - here_slope
                crossing = (here_height - height[other]) / rise
                crossings[other] = crossing if rise > 0.0 else np.inf
            following, place = -1, np.inf
            for other in range(size):
                if crossings[other] <= place and crossings[other] < np.inf:
                    if crossings[other] == place and (
                        slope[other] < slope[following]
                        or (slope[other] == slope[following] and height[other] <= height[following])
                    ):
                        continue
                    following, place = other, crossings[other]
            if following < 0:
                break
            reached = max(reached, place)
            where[changes], before[changes], after[changes] = reached, start + line, start + following
            changes += 1
            line = following
    return changes


@compiled
def running_sums(stats: Ints, first: Ints, before: Ints, after: Ints, order: Ints, sums: Ints) -> None:
    """The summed statistics of the winners in each interval, from left to right."""
    width = np.uint64(stats.shape[1])  # unsigned and flat: no index has to be checked for counting from the end
    rows, total = stats.reshape(-1), sums.reshape(-1)
    sums[0] = 0
    for segment in range(len(first)):
        row = np.uint64(first[segment]) * width
        for column in range(width):
            total[column] += rows[row + column]
    changes = np.empty(len(order) * stats.shape[1], np.int64)  # segment by segment, which is how rows lie in memory
    place = np.uint64(0)
    for change in range(len(order)):
        gone, come = np.uint64(before[change]) * width, np.uint64(after[change]) * width
        for column in range(width):
            changes[place + column] = rows[come + column] - rows[gone + column]
        place += width
    place = np.uint64(0)
    for i in range(len(order)):
        change_row = np.uint64(order[i]) * width
        for column in range(width):
            total[place + width + column] = total[place + column] + changes[change_row + column]
        place += width


@compiled
def choose(points: Floats, scores: Floats, low: float, high: float) -> tuple[int, float]:
    """The best interval within [low, high] and the step to its middle; -1 where there is none.

    Of equal intervals the one around 0 is taken, which is no step at all, else the widest. An interval without an end
    is entered by as much as the distance between the outermost points, at least 1.
    """
    count = len(points)
    best, widest, length = -1, 0.0, 0.0
    span = max(1.0, points[-1] - points[0]) if count else 1.0
    for i in range(count + 1):
        left = max(points[i - 1] if i > 0 else -np.inf, low)
        right = min(points[i] if i < count else np.inf, high)
        if not left < right or (best >= 0 and scores[i] < scores[best]):
            continue
        around = left < 0.0 < right
        width = np.inf if around else right - left
        if best >= 0 and scores[i] == scores[best] and width <= widest and not around:
            continue
        best, widest = i, width
        if around:
            length = 0.0
        elif left == -np.inf:
            length = right - span
        elif right == np.inf:
            length = left + span
        else:
            length = left + (right - left) / 2.0
    return best, length


def best_step(
    offsets: Ints,
    slopes: Floats,
    intercepts: Floats,
    stats: Ints,
    score: Score,
    low: float = -np.inf,
    high: float = np.inf,
    window: Window | None = None,
) -> Step:
    """The step with the best score in [low, high]: the middle of the best interval.

    ``stats`` (candidates, columns) add up; ``score`` rates many sums at once, higher is better. With a window the
    smoothed scores decide, and are returned.
    """
    size = len(slopes)
    first, where = np.empty(len(offsets) - 1, np.int64), np.empty(size)
    before, after = np.empty(size, np.int64), np.empty(size, np.int64)
    count = envelopes(offsets, slopes, intercepts, first, where, before, after)
    order = np.argsort(where[:count])
    points = where[order]
    sums = np.empty((count + 1, stats.shape[1]), np.int64)
    running_sums(stats, first, before, after, order, sums)
    if window is not None:  # only intervals with a width are neighbours
        apart = np.append(points[1:] > points[:-1], True)[:count]
        points, sums = points[apart], sums[np.append(True, apart)]
    inside = slice(np.searchsorted(points, low, "right"), np.searchsorted(points, high, "left") + 1)
    scores = np.full(len(sums), -np.inf)
    scores[inside] = score(sums[inside])
    if window is not None:
        scores[inside] = window.smooth(scores[inside])
    here = float(scores[np.searchsorted(points, 0.0, "right")])
    chosen, length = choose(points, scores, low, high)
    return Step(length, float(scores[chosen]), here) if chosen >= 0 else Step(0.0, -np.inf, here)
