"""Och's exact line search: the best step along a direction, over n-best lists.

Along w + t·d the model score of a candidate is a line in t, with slope d·features and intercept w·features. The upper
envelope of a segment's lines says which candidate wins where; the critical points of all segments together cut t into
intervals on which the summed statistics, and so the metric, are constant (Och 2003; Zaidan & Callison-Burch 2009,
section 2). Every interval is scored, so nothing along the line is missed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats, Ints, Score
from rypt.compiled import compiled

TOGETHER = 1_000_000  # intervals scored at once, so that memory stays bounded


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
def _outermost(slope: Floats, height: Floats, sign: float) -> int:
    """The line that wins at minus (``sign`` -1) or plus infinity (1): of the steepest the highest, then the first."""
    best = 0
    for line in range(1, len(slope)):
        ahead = sign * (slope[line] - slope[best])
        if ahead > 0.0 or (ahead == 0.0 and height[line] > height[best]):
            best = line
    return best


@compiled
def _outer_winners(slope: Floats, height: Floats, low: float, high: float) -> tuple[int, int]:
    """The winners at both ends of a range: of the highest lines there, the first. An end may be infinite.

    Lines are compared as seen from the first, so that nearly parallel ones are told apart.
    """
    left = _outermost(slope, height, -1.0) if low == -np.inf else -1
    right = _outermost(slope, height, 1.0) if high == np.inf else -1
    if left >= 0 and right >= 0:
        return left, right
    level, base = slope[0], height[0]
    at_low, at_high = -np.inf, -np.inf
    for line in range(len(slope)):  # without a branch, so that several lines are looked at at once
        steep, above = slope[line] - level, height[line] - base
        at_low = max(at_low, steep * low + above)
        at_high = max(at_high, steep * high + above)
    if left < 0:
        left = 0
        while left < len(slope) - 1 and (slope[left] - level) * low + (height[left] - base) != at_low:
            left += 1
    if right < 0 and (slope[left] - level) * high + (height[left] - base) == at_high:
        right = left
    if right < 0:
        right = 0
        while right < len(slope) - 1 and (slope[right] - level) * high + (height[right] - base) != at_high:
            right += 1
    return left, right


@compiled
def _keep_between(
    slope: Floats, height: Floats, line: int, other: int, kept: Ints, kept_slope: Floats, kept_height: Floats
) -> int:
    """Gather the lines that may win between two winners, as seen from the first of all; how many there are.

    Such a line is steeper than one winner, less steep than the other, and above both where they cross.
    """
    level, base = slope[0], height[0]
    gentle, steep = slope[line] - level, slope[other] - level
    above, below = height[line] - base, height[other] - base
    place = (above - below) / (steep - gentle)
    crossing = max(gentle * place + above, steep * place + below)
    highest = crossing
    for i in range(len(slope)):
        highest = max(highest, (slope[i] - level) * place + (height[i] - base))
    count = 0
    if highest > crossing:
        for i in range(len(slope)):
            tilt, tall = slope[i] - level, height[i] - base
            if tilt * place + tall > crossing and gentle < tilt < steep:
                kept[count], kept_slope[count], kept_height[count] = i, tilt, tall
                count += 1
    return count


@compiled
def envelopes(
    offsets: Ints,
    slopes: Floats,
    intercepts: Floats,
    low: float,
    high: float,
    first: Ints,
    where: Floats,
    before: Ints,
    after: Ints,
    lines: Ints,
    numbers: Floats,
) -> int:
    """Each segment's winner at ``low``, and where (``where``) up to ``high`` one winner gives way to the next.

    The winners at both ends are known. Where the lines of two winners cross, either no line is higher, and this is a
    corner of the envelope, or the highest one is a winner between them, and it is asked again on both sides, of the few
    lines that can still win. An envelope has few corners, and looking for the highest line at one place has no
    branches, so this costs less than sorting the lines. Segments do not depend on one another. Returns the number of
    changes. ``lines`` and ``numbers``, two and four rows as long as the longest segment, are room to work in.
    """
    kept, slope, height = lines[0], numbers[0], numbers[1]
    ahead, ahead_slope, ahead_height = (
        lines[1],
        numbers[2],
        numbers[3],
    )  # winners further right, the nearest last
    changes = 0
    for segment in range(len(offsets) - 1):
        start, stop = offsets[segment], offsets[segment + 1]
        tilts, tops = slopes[start:stop], intercepts[start:stop]
        line, last = _outer_winners(tilts, tops, low, high)
        first[segment] = start + line
        gentle, intercept = tilts[line] - tilts[0], tops[line] - tops[0]
        ahead[0], ahead_slope[0], ahead_height[0] = last, tilts[last] - tilts[0], tops[last] - tops[0]
        if not ahead_slope[0] > gentle:  # the same line, or one that rounding took for another
            continue
        size = _keep_between(tilts, tops, line, last, kept, slope, height)
        count, reached = 1, low
        while count:
            steep, other = ahead_slope[count - 1], ahead_height[count - 1]
            if steep <= gentle:
                count -= 1
                continue
            place = (intercept - other) / (steep - gentle)
            highest, between = max(gentle * place + intercept, steep * place + other), -1
            for i in range(size):
                value = slope[i] * place + height[i]
                if value > highest:
                    highest, between = value, i
            if between >= 0 and gentle < slope[between] < steep:
                crossing = (intercept - height[between]) / (slope[between] - gentle)
                if crossing < place:
                    ahead[count] = kept[between]
                    ahead_slope[count], ahead_height[count] = slope[between], height[between]
                    count += 1
                    continue
            reached = max(reached, place)
            where[changes], before[changes], after[changes] = reached, start + line, start + ahead[count - 1]
            changes += 1
            line, gentle, intercept = ahead[count - 1], steep, other
            count -= 1
    return changes


@compiled
def _changed_stats(rows: Ints, first: Ints, before: Ints, after: Ints, total: Ints, changes: Ints) -> None:
    """The summed statistics of the first winners, and what they gain at each change; rows lie one after the other.

    Changes come segment by segment, which is how rows lie in memory.
    """
    width = np.uint64(len(total))  # unsigned: no index has to be checked for counting from the end
    for segment in range(len(first)):
        row = np.uint64(first[segment]) * width
        for column in range(width):
            total[column] += rows[row + column]
    place, change = np.uint64(0), 0
    while place < len(changes):
        gone, come = np.uint64(before[change]) * width, np.uint64(after[change]) * width
        for column in range(width):
            changes[place + column] = rows[come + column] - rows[gone + column]
        place += width
        change += 1


@compiled
def _running_sums(changes: Ints, order: Ints, sums: Ints, width: np.uint64) -> None:
    """The summed statistics of the winners in each interval, from left to right; those of the first are given.

    The rows of ``changes`` and ``sums``, each ``width`` long, lie one after the other.
    """
    place = np.uint64(0)
    for i in range(len(order)):
        change = np.uint64(order[i]) * width
        for column in range(width):
            sums[place + width + column] = sums[place + column] + changes[change + column]
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


@dataclass(frozen=True, slots=True)
class Corners:
    """Where the winners of some segments change along a line, segment by segment.

    ``where`` (changes,) are the places, ``changes`` (changes, columns) what the summed statistics gain there, ``first``
    (columns,) the sums at the lower end of the line. Those of different segments can be put together (`merged`).
    """

    where: Floats
    changes: Ints
    first: Ints

    def narrow(self) -> "Corners":
        """The same with whole numbers as narrow as they can be, to be sent over a network."""
        least, most = int(self.changes.min(initial=0)), int(self.changes.max(initial=0))
        for kind in (np.int8, np.int16, np.int32):
            if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max:
                return Corners(self.where, self.changes.astype(kind), self.first)
        return self


class Sweep:
    """The room that walking along lines needs, for lists of the same segments."""

    def __init__(self, offsets: Ints) -> None:
        size = int(offsets[-1])
        self.offsets = offsets
        self.first, self.where = np.empty(len(offsets) - 1, np.int64), np.empty(size)
        self.before, self.after = np.empty(size, np.int64), np.empty(size, np.int64)
        longest = int(np.diff(offsets).max(initial=1))
        self.lines, self.numbers = np.empty((2, longest), np.int64), np.empty((4, longest))

    def walk(self, slopes: Floats, intercepts: Floats, low: float, high: float) -> int:
        """Find all changes of winners between two places on a line; their number."""
        return envelopes(
            self.offsets,
            slopes,
            intercepts,
            low,
            high,
            self.first,
            self.where,
            self.before,
            self.after,
            self.lines,
            self.numbers,
        )

    def corners(self, slopes: Floats, intercepts: Floats, stats: Ints, low: float, high: float) -> Corners:
        """The changes of winners between two places on a line."""
        count = self.walk(slopes, intercepts, low, high)
        total, changes = np.zeros(stats.shape[1], np.int64), np.empty((count, stats.shape[1]), np.int64)
        _changed_stats(stats.reshape(-1), self.first, self.before, self.after, total, changes.reshape(-1))
        return Corners(self.where[:count].copy(), changes, total)

    def mark_winners(
        self, slopes: Floats, intercepts: Floats, low: float, high: float, marks: NDArray[np.bool_]
    ) -> None:
        """Mark the candidates that win somewhere in [low, high]."""
        count = self.walk(slopes, intercepts, low, high)
        marks[self.first] = True
        marks[self.after[:count]] = True


def merged(parts: Sequence[Corners]) -> tuple[Floats, Ints]:
    """The places where winners of any segment change, in order, and the sums in the intervals between them.

    ``parts`` come in the order of their segments: so the result does not depend on how segments are divided.
    """
    where = parts[0].where if len(parts) == 1 else np.concatenate([part.where for part in parts])
    changes = parts[0].changes if len(parts) == 1 else np.concatenate([part.changes for part in parts])
    order = where.argsort()
    sums = np.empty((len(where) + 1, changes.shape[1]), np.int64)
    sums[0] = sum(part.first for part in parts)
    flat = changes.astype(np.int64, copy=False).reshape(-1)
    _running_sums(flat, order, sums.reshape(-1), np.uint64(sums.shape[1]))
    return where[order], sums


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
    return best_steps(
        [[Sweep(offsets).corners(slopes, intercepts, stats, low, high)]], [(low, high)], score, window
    )[0]


def best_steps(
    lines: Iterable[Sequence[Corners]],
    limits: Sequence[tuple[float, float]],
    score: Score,
    window: Window | None = None,
) -> list[Step]:
    """The best step along each of several lines, given by the corners of all parts of a list, and low and high."""
    steps: list[Step] = []
    waiting: list[tuple[Floats, Ints]] = []
    for parts, (low, high) in zip(lines, limits, strict=True):
        points, sums = merged(parts)
        if window is not None:  # only intervals with a width are neighbours
            apart = (
                np.append(points[1:] > points[:-1], True)[: len(points)] & (points > low) & (points < high)
            )
            points, sums = points[apart], sums[np.append(True, apart)]
        waiting.append((points, sums))
        if sum(len(rows) for _, rows in waiting) > TOGETHER:
            steps += _choose_steps(waiting, limits[len(steps) :], score, window)
            waiting = []
    return [*steps, *_choose_steps(waiting, limits[len(steps) :], score, window)]


def _choose_steps(
    lines: Sequence[tuple[Floats, Ints]],
    limits: Sequence[tuple[float, float]],
    score: Score,
    window: Window | None,
) -> list[Step]:
    """Score the intervals of several lines at once, and choose the best of each line."""
    if not lines:
        return []
    scored = score(lines[0][1] if len(lines) == 1 else np.concatenate([sums for _, sums in lines]))
    steps, end = [], 0
    for (points, _), (low, high) in zip(lines, limits, strict=False):
        scores = scored[end : end + len(points) + 1]
        end += len(points) + 1
        if window is not None:
            scores = window.smooth(scores)
        here = float(scores[points.searchsorted(0.0, "right")])
        chosen, length = choose(points, scores, low, high)
        steps.append(Step(length, float(scores[chosen]), here) if chosen >= 0 else Step(0.0, -np.inf, here))
    return steps
