"""Och's exact line search (2003).

Along w + t·d the model score of a candidate is a line in t: its height is w·f, its slope d·f. The upper envelope of a
segment's lines says which candidate wins where. The places where winners change, of all segments together and sorted,
cut t into intervals in which the summed statistics, and so the metric, are constant. Every interval is scored, so
nothing along the line is missed.

    changes = changes_along(offsets, slopes, heights, stats)   # per segment: the first winner, then who replaces whom
    points, sums = interval_sums([changes])                    # all segments: sort, and add up
    step = best_interval(points, score(sums), low, high)       # score every interval, go to the middle of the best

The changes of parts of a list, each with some of the segments, can be put together in `interval_sums`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rypt.arrays import Floats, Ints, Score
from rypt.compiled import compiled


class Step(NamedTuple):
    """How far to go along a direction, and the score there."""

    length: float
    score: float


class Changes(NamedTuple):
    """How the summed statistics of the winners change from the lower end of a line to the upper one."""

    first: Ints  # (columns,): the sums at the lower end
    where: Floats  # (changes,): where a winner gives way to another, segment by segment
    deltas: Ints  # (changes, columns): what the sums gain there


@compiled
def winner_at(slope: Floats, height: Floats, t: float) -> int:
    """The highest line at t, which may be infinite; of equal ones the first.

    Lines are compared as seen from the first, so that rounding does not confuse nearly parallel ones.
    """
    best = 0
    if np.isinf(t):
        for i in range(1, len(slope)):
            ahead = (slope[i] - slope[best]) * np.sign(t)
            if ahead > 0.0 or (ahead == 0.0 and height[i] > height[best]):
                best = i
        return best
    top = -np.inf
    for i in range(len(slope)):  # without a branch, so that the processor compares several lines at once
        top = max(top, (slope[i] - slope[0]) * t + (height[i] - height[0]))
    while best < len(slope) - 1 and (slope[best] - slope[0]) * t + (height[best] - height[0]) != top:
        best += 1
    return best


@compiled
def lines_between(slope: Floats, height: Floats, left: int, right: int, kept: Ints) -> int:
    """Gather the lines that can win between two winners: those above the point where the two cross, and the right one.

    They are written to ``kept``; returns how many there are.
    """
    cross = (height[left] - height[right]) / (slope[right] - slope[left])
    level = max(slope[left] * cross + height[left], slope[right] * cross + height[right])
    top = level
    for i in range(len(slope)):
        top = max(top, slope[i] * cross + height[i])
    count = 0
    if top > level:
        for i in range(len(slope)):
            if slope[i] * cross + height[i] > level and slope[left] < slope[i] < slope[right]:
                kept[count] = i
                count += 1
    kept[count] = right
    return count + 1


@compiled
def envelopes(
    offsets: Ints, slopes: Floats, heights: Floats, low: float, high: float
) -> tuple[Ints, Floats, Ints, Ints]:
    """Walk along each segment's upper envelope from low to high: from a winner to the line that crosses it next.

    Returns each segment's winner at ``low`` and, for each change, where it is, the winner before it and the one after.
    """
    size = offsets[-1]
    first = np.empty(len(offsets) - 1, np.int64)
    where, before, after = np.empty(size), np.empty(size, np.int64), np.empty(size, np.int64)
    kept = np.empty(size, np.int64)
    n = 0
    for segment in range(len(offsets) - 1):
        start, stop = offsets[segment], offsets[segment + 1]
        slope, height = slopes[start:stop], heights[start:stop]
        line, last = winner_at(slope, height, low), winner_at(slope, height, high)
        first[segment] = start + line
        if not slope[line] < slope[last]:  # the same winner at both ends
            continue
        count = lines_between(slope, height, line, last, kept)
        at = low
        while line != last:
            nearest, following = np.inf, last
            for k in range(count):
                i = kept[k]
                if slope[i] > slope[line]:
                    place = (height[line] - height[i]) / (slope[i] - slope[line])
                    if place < nearest or (place == nearest and slope[i] > slope[following]):
                        nearest, following = place, i
            at = max(at, nearest)
            where[n], before[n], after[n] = at, start + line, start + following
            n, line = n + 1, following
    return first, where[:n].copy(), before[:n].copy(), after[:n].copy()


@compiled
def differences(stats: Ints, before: Ints, after: Ints) -> Ints:
    """What the statistics gain where one candidate gives way to another, (changes, columns)."""
    deltas = np.empty((len(before), stats.shape[1]), np.int64)
    for i in range(len(before)):
        for column in range(stats.shape[1]):
            deltas[i, column] = stats[after[i], column] - stats[before[i], column]
    return deltas


def changes_along(
    offsets: Ints, slopes: Floats, heights: Floats, stats: Ints, low: float = -np.inf, high: float = np.inf
) -> Changes:
    """The changes of winners along a line, and of their statistics, (candidates, columns)."""
    first, where, before, after = envelopes(offsets, slopes, heights, low, high)
    return Changes(stats[first].sum(axis=0), where, differences(stats, before, after))


@compiled
def running_sums(first: Ints, deltas: Ints, order: Ints) -> Ints:
    """The sums of the first interval, then of each following one: (changes + 1, columns)."""
    sums = np.empty((len(order) + 1, len(first)), np.int64)
    sums[0] = first
    for i in range(len(order)):
        for column in range(len(first)):
            sums[i + 1, column] = sums[i, column] + deltas[order[i], column]
    return sums


def interval_sums(parts: Sequence[Changes]) -> tuple[Floats, Ints]:
    """The places where winners of any segment change, in order, and the summed statistics of the intervals between."""
    first, where, deltas = parts[0]
    if len(parts) > 1:
        first = np.sum([part.first for part in parts], axis=0)
        where = np.concatenate([part.where for part in parts])
        deltas = np.concatenate([part.deltas for part in parts])
    order = where.argsort()
    return where[order], running_sums(first, deltas, order)


@compiled
def best_interval(points: Floats, scores: Floats, low: float, high: float) -> tuple[float, float]:
    """The middle of the best interval inside [low, high], and its score.

    Of equal ones that around 0 is taken, which is no step at all, else the widest. An interval without an end is entered
    by as much as the distance between the outermost points, at least 1.
    """
    span = max(1.0, points[-1] - points[0]) if len(points) else 1.0
    best, widest, length = -np.inf, 0.0, 0.0
    for i in range(len(scores)):
        left = max(points[i - 1], low) if i > 0 else low
        right = min(points[i], high) if i < len(points) else high
        if not left < right or scores[i] < best:
            continue
        width = np.inf if left < 0.0 < right else right - left
        if scores[i] == best and width <= widest and not left < 0.0 < right:
            continue
        best, widest = scores[i], width
        if left < 0.0 < right:
            length = 0.0
        elif left == -np.inf:
            length = right - span
        elif right == np.inf:
            length = left + span
        else:
            length = left + (right - left) / 2.0
    return length, best


def line_search(parts: Sequence[Changes], score: Score, low: float = -np.inf, high: float = np.inf) -> Step:
    """The best step along a line whose changes of winners in [low, high] are known; a higher score is better."""
    points, sums = interval_sums(parts)
    return Step(*best_interval(points, score(sums), low, high))
