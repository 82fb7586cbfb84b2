"""Och's exact line search: the best step along a direction, over n-best lists.

Along w + t·d the model score of a candidate is a line in t, with slope d·features and intercept w·features. The upper
envelope of a segment's lines says which candidate wins where; the critical points of all segments together cut t into
intervals on which the summed statistics, and so the metric, are constant (Och 2003; Zaidan & Callison-Burch 2009,
section 2). Every interval is scored, so nothing along the line is missed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats, Ints, Score
from rypt.compiled import compiled, quick


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


@quick
def _highest(slope: Floats, height: Floats, place: float) -> float:
    """The height of the upper envelope at one place; several lines are looked at at once."""
    highest = -np.inf
    for line in range(len(slope)):
        highest = max(highest, slope[line] * place + height[line])
    return highest


@compiled
def _winner(slope: Floats, height: Floats, place: float, highest: float) -> int:
    """The first of the lines that are so high at one place."""
    for line in range(len(slope)):
        if slope[line] * place + height[line] == highest:
            return line
    return 0


@compiled
def _outermost(slope: Floats, height: Floats, sign: float) -> int:
    """The line that wins at minus (``sign`` -1) or plus infinity (1): of the steepest the highest, then the first."""
    best = 0
    for line in range(1, len(slope)):
        ahead = sign * (slope[line] - slope[best])
        if ahead > 0.0 or (ahead == 0.0 and height[line] > height[best]):
            best = line
    return best


@compiled
def _first_at(slope: Floats, height: Floats, place: float) -> int:
    """The winner at one place, which may be infinite."""
    if abs(place) == np.inf:
        return _outermost(slope, height, np.sign(place))
    return _winner(slope, height, place, _highest(slope, height, place))


@compiled
def envelopes(
    offsets: Ints, slopes: Floats, intercepts: Floats, low: float, high: float, first: Ints, where: Floats,
    before: Ints, after: Ints,
) -> int:  # fmt: skip
    """Each segment's winner at ``low``, and where (``where``) up to ``high`` one winner gives way to the next.

    The winners at both ends are known. Where the lines of two winners cross, either no line is higher, and this is a
    corner of the envelope, or the highest one is a winner between them, and it is asked again on both sides. An
    envelope has few corners, and looking for the highest line at one place has no branches, so this costs less than
    sorting the lines. Returns the number of changes.
    """
    longest = 1
    for segment in range(len(offsets) - 1):
        longest = max(longest, offsets[segment + 1] - offsets[segment])
    ahead = np.empty(longest, np.int64)  # winners further right, the nearest last
    all_slopes, all_heights = np.empty(longest), np.empty(longest)
    changes = 0
    for segment in range(len(offsets) - 1):
        start, stop = offsets[segment], offsets[segment + 1]
        slope, height = all_slopes[: stop - start], all_heights[: stop - start]
        for i in range(stop - start):  # as seen from the first line, so that nearly parallel ones are told apart
            slope[i], height[i] = slopes[start + i] - slopes[start], intercepts[start + i] - intercepts[start]
        line, ahead[0] = _first_at(slope, height, low), _first_at(slope, height, high)
        first[segment] = start + line
        count, reached = 1, low
        while count:
            following = ahead[count - 1]
            rise = slope[following] - slope[line]
            if rise <= 0.0:  # the same line, or one that rounding took for another
                count -= 1
                continue
            place = (height[line] - height[following]) / rise
            highest = _highest(slope, height, place)
            if highest > max(slope[line] * place + height[line], slope[following] * place + height[following]):
                between = _winner(slope, height, place, highest)
                if slope[line] < slope[between] < slope[following]:
                    crossing = (height[line] - height[between]) / (slope[between] - slope[line])
                    if crossing < place:
                        ahead[count] = between
                        count += 1
                        continue
            reached = max(reached, place)
            where[changes], before[changes], after[changes] = reached, start + line, start + following
            changes += 1
            line = following
            count -= 1
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


def mark_winners(
    offsets: Ints, slopes: Floats, intercepts: Floats, low: float, high: float, marks: NDArray[np.bool_]
) -> None:
    """Mark the candidates that win somewhere in [low, high]."""
    size = len(slopes)
    first, where = np.empty(len(offsets) - 1, np.int64), np.empty(size)
    before, after = np.empty(size, np.int64), np.empty(size, np.int64)
    count = envelopes(offsets, slopes, intercepts, low, high, first, where, before, after)
    marks[first] = True
    marks[after[:count]] = True


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
    return best_steps(offsets, [(slopes, low, high)], intercepts, stats, score, window)[0]


def best_steps(
    offsets: Ints,
    lines: Sequence[tuple[Floats, float, float]],
    intercepts: Floats,
    stats: Ints,
    score: Score,
    window: Window | None = None,
) -> list[Step]:
    """The best step along each of several lines through one point, given by slopes, low and high."""
    size = len(intercepts)
    first, where = np.empty(len(offsets) - 1, np.int64), np.empty(size)
    before, after = np.empty(size, np.int64), np.empty(size, np.int64)
    corners, rows = [], []
    for slopes, low, high in lines:
        count = envelopes(offsets, slopes, intercepts, low, high, first, where, before, after)
        order = where[:count].argsort()
        points = where[order]
        sums = np.empty((count + 1, stats.shape[1]), np.int64)
        running_sums(stats, first, before, after, order, sums)
        if window is not None:  # only intervals with a width are neighbours
            apart = np.append(points[1:] > points[:-1], True)[:count] & (points > low) & (points < high)
            points, sums = points[apart], sums[np.append(True, apart)]
        corners.append(points)
        rows.append(sums)
    scored = score(rows[0] if len(rows) == 1 else np.concatenate(rows))
    steps, end = [], 0
    for points, (_, low, high) in zip(corners, lines, strict=True):
        scores = scored[end : end + len(points) + 1]
        end += len(points) + 1
        if window is not None:
            scores = window.smooth(scores)
        here = float(scores[points.searchsorted(0.0, "right")])
        chosen, length = choose(points, scores, low, high)
        steps.append(Step(length, float(scores[chosen]), here) if chosen >= 0 else Step(0.0, -np.inf, here))
    return steps
