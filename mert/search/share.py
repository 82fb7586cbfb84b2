"""A share of a list: the candidates of some segments, and what can be asked of them apart from all others.

Every answer is one of three kinds, so that the answers of all shares put together are the same to the last digit
however the segments are divided: whole numbers, which are summed; rows of single segments, which are put one below the
other in the order of the segments; and sums of real numbers over the candidates of each segment, which are summed in
that order (`ordered_sum`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mert.lists.arrays import winners
from mert.search.lines import Corners, Sweep
from rypt.arrays import Floats, Ints, Score
from rypt.compiled import compiled
from rypt.metrics.metric import Metric, rated

BLOCK = 1024  # rows of features combined at once
STRIDE = 32  # steps of a climb after which the model scores are kept
Line = tuple[Floats, float, float]  # a direction, and how far to go each way
Moves = Sequence[tuple[float, Floats]]  # steps that were made: length and direction


@compiled
def combine(features: Floats, weights: Floats) -> Floats:
    """The sum of the columns times their weights, in the order of the columns; blocks of rows stay in the cache."""
    size = features.shape[0]
    total = np.zeros(size)
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        block = total[start:stop]
        for column in range(features.shape[1]):
            weight = weights[column]
            if weight != 0.0:
                values = features[start:stop, column]
                for row in range(stop - start):
                    block[row] += values[row] * weight
    return total


@compiled
def segment_products(places: Floats, values: Floats, offsets: Ints, sums: Floats) -> None:
    """The products of each column with the values, summed over each segment: ``sums`` (segments, columns).

    Rows are summed in their order; the sums of four columns do not wait for one another.
    """
    width = places.shape[1]
    for segment in range(len(offsets) - 1):
        for column in range(0, width, 4):
            last = width - 1
            second, third, fourth = min(column + 1, last), min(column + 2, last), min(column + 3, last)
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for row in range(offsets[segment], offsets[segment + 1]):
                value = values[row]
                a += places[row, column] * value
                b += places[row, second] * value
                c += places[row, third] * value
                d += places[row, fourth] * value
            sums[segment, fourth], sums[segment, third], sums[segment, second], sums[segment, column] = (
                d,
                c,
                b,
                a,
            )


def ordered_sum(rows: Floats) -> Floats:
    """The sum of the rows, one added after the other; numpy's own sum may pair them."""
    return np.asarray(rows.cumsum(axis=0)[-1])


class Memo(Protocol):
    """Keeps arrays that are made from a share, under a name."""

    def keep(self, name: str, make: Callable[[], Floats]) -> Floats:
        """The array of this name, made if it is not kept."""


class Memory:
    """Keeps the arrays that were used last."""

    def __init__(self, most: int = 3) -> None:
        self.most = most
        self.arrays: dict[str, Floats] = {}

    def keep(self, name: str, make: Callable[[], Floats]) -> Floats:
        """The array of this name, made if it is not kept."""
        array = self.arrays.pop(name, None)
        self.arrays[name] = array = make() if array is None else array
        for old in list(self.arrays)[: -self.most]:
            self.arrays.pop(old, None)
        return array

    def __reduce__(self) -> tuple[type["Memory"], tuple[int]]:
        return Memory, (self.most,)  # what is kept can be made again


def unrated(sums: Ints) -> Floats:
    """In the place of scores in parts of a share, which are only searched."""
    raise ValueError("a part of a share does not score")


class Rate:
    """Scores of rows of summed statistics, higher is better, whatever the metric's direction."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def __call__(self, sums: Ints) -> Floats:
        """The scores."""
        scores = rated(self.metric, sums)
        return scores if self.metric.maximize else -scores


@dataclass(frozen=True, slots=True)
class Share:
    """The candidates of some segments; those of segment s stand at ``offsets[s]:offsets[s + 1]``."""

    offsets: Ints
    features: Floats  # (candidates, features), columns contiguous
    base: Floats | None  # (candidates,): what held features add to the model scores
    stats: Ints  # (candidates, columns)
    rate: Score = unrated  # scores of rows of statistics, higher is better
    memo: Memo = field(default_factory=Memory, compare=False)

    def values(self, weights: Floats) -> Floats:
        """The model score of each candidate."""
        total = combine(self.features, weights)
        return total if self.base is None else total + self.base

    def slopes(self, direction: Floats) -> Floats:
        """What a step of 1 along a direction adds to the model score of each candidate."""
        moving = np.flatnonzero(direction)
        if len(moving) == 1 and direction[moving[0]] == 1.0:
            return self.features[:, moving[0]]
        return combine(self.features, direction)

    def winners(self, values: Floats) -> Ints:
        """The candidates with the highest model scores, one per segment."""
        best = np.empty(len(self.offsets) - 1, np.int64)
        winners(self.offsets, values, best)
        return best

    def ties(self, values: Floats) -> bool:
        """Whether all candidates of each segment have the same of these model scores."""
        starts = self.offsets[:-1]
        return bool((np.maximum.reduceat(values, starts) == np.minimum.reduceat(values, starts)).all())

    def part(self, kept: Ints) -> "Share":
        """The same with some of the candidates, in their order, at least one of each segment."""
        counts = np.diff(np.searchsorted(kept, self.offsets))
        return Share(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.asfortranarray(self.features[kept]),
            None if self.base is None else self.base[kept],
            self.stats[kept],
        )


def joined(shares: Sequence[Share]) -> Share:
    """Shares put together, in the order of their segments."""
    sizes = np.concatenate([np.diff(share.offsets) for share in shares])
    features = np.empty((int(sizes.sum()), shares[0].features.shape[1]), order="F")
    for column in range(features.shape[1]):
        np.concatenate([share.features[:, column] for share in shares], out=features[:, column])
    bases = [share.base for share in shares if share.base is not None]
    return Share(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        features,
        np.concatenate(bases) if bases else None,
        np.concatenate([share.stats for share in shares]),
    )


class Position:
    """A point on a way along lines: the model scores there, which every step changes."""

    def __init__(self, share: Share, start: Floats, moves: Moves = ()) -> None:
        self.share = share
        self.values = values_after(share, start, moves)

    def take(self, length: float, direction: Floats) -> None:
        """Make a step."""
        self.values = self.values + length * self.share.slopes(direction)

    def corners(self, lines: Iterable[Line]) -> list[Corners]:
        """Where winners change along each line through this point."""
        sweep, share = Sweep(self.share.offsets), self.share
        return [
            sweep.corners(share.slopes(direction), self.values, share.stats, low, high)
            for direction, low, high in lines
        ]


def corners_after(share: Share, start: Floats, moves: Moves, lines: Iterable[Line]) -> list[Corners]:
    """Where winners change along lines through the point that steps from a start lead to."""
    return [corners.narrow() for corners in Position(share, start, moves).corners(lines)]


def values_after(share: Share, start: Floats, moves: Moves) -> Floats:
    """The model scores that steps from a start lead to; those after every `STRIDE` steps are kept."""
    done = max(0, len(moves) - 1) // STRIDE * STRIDE
    if done:
        way = [
            start.tobytes(),
            *(np.append(direction, length).tobytes() for length, direction in moves[:done]),
        ]
        name = f"values {sha256(b''.join(way)).hexdigest()}"
        values = share.memo.keep(name, lambda: values_after(share, start, moves[:done]))
    else:
        values = share.values(start)
    for length, direction in moves[done:]:
        values = values + length * share.slopes(direction)
    return values


@dataclass(frozen=True, slots=True)
class Choice:
    """What weights choose: the statistics of the winners summed, which they are, and whether all candidates tie."""

    sums: Ints
    chosen: Ints
    tied: bool


def choice(share: Share, weights: Floats) -> Choice:
    """What weights choose of a share."""
    values = share.values(weights)
    chosen = share.winners(values)
    return Choice(share.stats[chosen].sum(axis=0), chosen, share.ties(values))


def chosen_rows(share: Share, weights: Floats) -> Ints:
    """The statistics of the candidates that weights choose, (segments, columns)."""
    return share.stats[share.winners(share.values(weights))]


def seen_from(share: Share, point: Floats, lines: Iterable[Line]) -> Ints:
    """The candidates that win somewhere on lines through a point."""
    values, sweep = share.values(point), Sweep(share.offsets)
    marks = np.zeros(len(values), np.bool_)
    for direction, low, high in lines:
        sweep.mark_winners(share.slopes(direction), values, low, high, marks)
    return np.flatnonzero(marks)


def gains_at(share: Share, weights: Floats, total: Ints, count: int) -> Floats:
    """What each candidate gains in the place of its segment's winner, times the number of all segments (``count``).

    ``total`` (1, columns) are the summed statistics of the winners of all segments.
    """
    others = np.repeat(total - chosen_rows(share, weights), np.diff(share.offsets), axis=0)
    others += share.stats
    return (rate_rows(share, others) - share.rate(total)) * count


def rate_rows(share: Share, rows: Ints) -> Floats:
    """The scores of many rows; a metric may round one row alone in another way."""
    return share.rate(rows) if len(rows) > 1 else share.rate(np.repeat(rows, 2, axis=0))[: len(rows)]


def segments_that_change(share: Share, weights: Floats, total: Ints) -> int:
    """The number of segments in which another candidate in the winner's place would change the score."""
    changing = (gains_at(share, weights, total, 1) != 0).astype(np.int64)
    return int((np.add.reduceat(changing, share.offsets[:-1]) > 0).sum())


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What is to be known of each feature, before tuning.

    ``largest`` (features,) is the largest absolute value; ``furthest`` (segments, features) the largest distance from
    the mean of a segment, ``squares`` (segments, features) the sum of the squared distances, that one being 1.
    """

    largest: Floats
    differs: NDArray[np.bool_]
    furthest: Floats
    squares: Floats
    size: int


def column_facts(features: Floats, offsets: Ints) -> ColumnFacts:
    """Sizes and distances of the features of some segments."""
    starts, sizes = offsets[:-1], np.diff(offsets)
    count = features.shape[1]
    largest, differs = np.zeros(count), np.zeros(count, np.bool_)
    furthest, squares = np.zeros((len(sizes), count)), np.zeros((len(sizes), count))
    for i, column in enumerate(features.T):
        largest[i] = np.abs(column).max(initial=0.0)
        varied = np.maximum.reduceat(column, starts) > np.minimum.reduceat(column, starts)
        differs[i] = varied.any()
        if differs[i]:
            means = np.add.reduceat(column / np.repeat(sizes, sizes), starts)
            away = np.abs(column - np.repeat(means, sizes))
            furthest[:, i] = np.where(varied, np.maximum.reduceat(away, starts), 0.0)
            away /= np.repeat(
                np.where(furthest[:, i] > 0, furthest[:, i], 1.0), sizes
            )  # no square over- or underflows
            squares[:, i] = np.where(varied, np.add.reduceat(away**2, starts), 0.0)
    return ColumnFacts(largest, differs, furthest, squares, int(offsets[-1]))


def spreads(facts: Sequence[ColumnFacts]) -> Floats:
    """The standard deviation of each feature around the means of the segments; 0 for one that never differs."""
    furthest = np.concatenate([each.furthest for each in facts])
    squares = np.concatenate([each.squares for each in facts])
    most = furthest.max(axis=0)
    differs = np.any([each.differs for each in facts], axis=0)
    shares = (furthest / np.where(most > 0, most, 1.0)) ** 2 * squares
    return np.where(differs, most * np.sqrt(ordered_sum(shares) / sum(each.size for each in facts)), 0.0)
