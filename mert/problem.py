"""What is tuned: features and statistics of candidates, and the directions in which weights may move.

Lengths in weight space are measured by what they do: a weight counts times the spread of its feature inside segments,
so rescaling a feature changes nothing.

All that the search, the estimates and the checks know of candidates they ask by functions of `Candidates`, which are
in memory or, as shares of the segments, on the workers of a cluster (`mert.cluster`).
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mert.constraints import Constraints, Normalization
from mert.linesearch import Changes, changes_along, envelopes
from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.metrics.metric import Metric, rated
from rypt.text import RyptError

LARGEST = 1e140  # of features and weights: sums of squares stay finite
BLOCK = 1024  # rows of features that are combined at once, because they fit into the cache
T = TypeVar("T")
Line = tuple[Floats, float, float]  # a direction, and how far to go each way


class Parts(Protocol):
    """Candidates, or what was derived from them, in one part or several, each with some of the segments."""

    def ask(self, question: Callable[..., T], *arguments: Any, each: Sequence[Any] | None = None) -> list[T]:
        """The answers of all parts; with ``each``, every part is given its own of these as the last argument."""

    def derive(self, function: Callable[..., Any], *arguments: Any) -> "Parts":
        """What a function makes of each part, kept where the part is."""


@dataclass(frozen=True, slots=True)
class InMemory(Generic[T]):
    """The only part, in the memory of this process."""

    value: T

    def ask(
        self, question: Callable[..., Any], *arguments: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """The answer."""
        return [question(self.value, *arguments, *(each or ()))]

    def derive(self, function: Callable[..., Any], *arguments: Any) -> "InMemory[Any]":
        """What a function makes of it."""
        return InMemory(function(self.value, *arguments))


class Candidates(NamedTuple):
    """The candidates of some segments; those of segment s have the rows ``offsets[s]:offsets[s + 1]``."""

    offsets: Ints  # (segments + 1,)
    features: Floats  # (candidates, features), columns contiguous
    held: Floats | None  # (candidates,): what sparse features, whose weights are held, add to the model score
    stats: Ints  # (candidates, columns): the metric's sufficient statistics
    metric: Metric

    def model_scores(self, weights: Floats) -> Floats:
        """The model score of each candidate."""
        scores = weighted_sum(self.features, weights)
        return scores if self.held is None else scores + self.held

    def slopes(self, direction: Floats) -> Floats:
        """What a step of 1 along a direction adds to the model score of each candidate."""
        moving = np.flatnonzero(direction)
        if len(moving) == 1 and direction[moving[0]] == 1.0:
            return self.features[:, moving[0]]
        return weighted_sum(self.features, direction)

    def only(self, rows: Ints) -> "Candidates":
        """The same with some of the candidates, in their order, at least one of each segment."""
        counts = np.diff(np.searchsorted(rows, self.offsets))
        return self._replace(
            offsets=offsets_of(counts),
            features=np.asfortranarray(self.features[rows]),
            held=None if self.held is None else self.held[rows],
            stats=self.stats[rows],
        )


def offsets_of(sizes: Ints) -> Ints:
    """Where the candidates of each segment begin, and one more."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@compiled
def weighted_sum(features: Floats, weights: Floats) -> Floats:
    """The sum of the columns times their weights, in the order of the columns, so that no division changes it."""
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
def winners(offsets: Ints, scores: Floats) -> Ints:
    """The candidate of each segment with the highest score; the first of equals."""
    rows = offsets[:-1].copy()
    for segment in range(len(rows)):
        for candidate in range(offsets[segment] + 1, offsets[segment + 1]):
            if scores[candidate] > scores[rows[segment]]:
                rows[segment] = candidate
    return rows


def rate(metric: Metric, sums: Ints) -> Floats:
    """The scores of rows of summed statistics, higher is better, whatever the metric's direction."""
    scores = rated(metric, sums)
    return scores if metric.maximize else -scores


class Choice(NamedTuple):
    """What weights choose: the statistics of the winners summed, their rows, and whether all candidates tie."""

    sums: Ints
    rows: Ints
    tied: bool


def choose(candidates: Candidates, weights: Floats) -> Choice:
    """The winners under these weights."""
    scores, starts = candidates.model_scores(weights), candidates.offsets[:-1]
    rows = winners(candidates.offsets, scores)
    tied = bool((scores[rows] == np.minimum.reduceat(scores, starts)).all())
    return Choice(candidates.stats[rows].sum(axis=0), rows, tied)


def chosen_stats(candidates: Candidates, weights: Floats) -> Ints:
    """The statistics of the winners, (segments, columns)."""
    return candidates.stats[choose(candidates, weights).rows]


def changes_on(candidates: Candidates, weights: Floats, lines: Sequence[Line]) -> list[Changes]:
    """The changes of winners along lines through a point."""
    heights = candidates.model_scores(weights)
    return [
        changes_along(candidates.offsets, candidates.slopes(direction), heights, candidates.stats, low, high)
        for direction, low, high in lines
    ]


def winners_on(candidates: Candidates, weights: Floats, lines: Sequence[Line]) -> Ints:
    """The rows of the candidates that win anywhere on lines through a point."""
    heights = candidates.model_scores(weights)
    wins = np.zeros(len(heights), np.bool_)
    for direction, low, high in lines:
        first, _, _, after = envelopes(candidates.offsets, candidates.slopes(direction), heights, low, high)
        wins[first] = wins[after] = True
    return np.flatnonzero(wins)


def gains(candidates: Candidates, weights: Floats, total: Ints) -> Floats:
    """What the score of all segments gains when a candidate takes the place of its segment's winner, (candidates,).

    ``total`` (columns,) are the summed statistics of the winners of all segments.
    """
    others = np.repeat(total - chosen_stats(candidates, weights), np.diff(candidates.offsets), axis=0)
    others += candidates.stats
    rows = np.concatenate([others, [total]])  # a metric may round one row alone in another way
    scores = rate(candidates.metric, rows)
    return np.asarray(scores[:-1] - scores[-1])


def _deviations(candidates: Candidates) -> tuple[Floats, Floats]:
    """The largest absolute value of each feature, and the squared distances from the means of the segments, summed.

    The latter are (segments, features), and 0 where a feature is the same for all candidates of a segment.
    """
    starts, sizes = candidates.offsets[:-1], np.diff(candidates.offsets)
    largest = np.zeros(candidates.features.shape[1])
    squares = np.zeros((len(sizes), len(largest)))
    for i, column in enumerate(candidates.features.T):
        largest[i] = np.abs(column).max(initial=0.0)
        if largest[i] <= LARGEST:
            varied = np.maximum.reduceat(column, starts) > np.minimum.reduceat(column, starts)
            away = column - np.repeat(np.add.reduceat(column, starts) / sizes, sizes)
            squares[:, i] = np.where(varied, np.add.reduceat(away**2, starts), 0.0)
    return largest, squares


@dataclass(frozen=True, slots=True)
class Problem:
    """Candidates, the metric, and where weights may go. Scores are the metric's, higher is better."""

    names: tuple[str, ...]
    parts: Parts  # of `Candidates`
    sizes: tuple[Ints, ...]  # the number of candidates of each segment, for each part
    metric: Metric
    axes: Floats  # (axes, features)
    spread: (
        Floats  # (features,): the standard deviation of each inside segments; 0 for one that never differs
    )
    low: Floats
    high: Floats
    ranges: Floats  # (features, 2), NaN where there is none
    normalization: Normalization

    @property
    def in_memory(self) -> bool:
        """Whether all candidates are in the memory of this process."""
        return isinstance(self.parts, InMemory)

    @property
    def segments(self) -> int:
        """The number of segments."""
        return sum(map(len, self.sizes))

    @property
    def candidates(self) -> int:
        """The number of candidates."""
        return sum(int(sizes.sum()) for sizes in self.sizes)

    @property
    def deciding(self) -> NDArray[np.bool_]:
        """Whether each feature ever differs inside a segment, (features,)."""
        return self.spread > 0

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which weights may move, (features,)."""
        return np.asarray(self.axes.any(axis=0))

    @property
    def axis_lengths(self) -> Floats:
        """How long a step of 1 along each axis is, (axes,)."""
        return np.asarray(np.abs(self.axes * self.spread).sum(axis=1))

    def length(self, weights: Floats) -> float:
        """The length of weights, or of a step."""
        return float(np.abs(weights * self.spread).sum())

    def mean_length(self, weights: Floats) -> float:
        """The mean length of a weight, the unit of distances; 1 where all weights are 0."""
        return self.length(weights) / max(1, len(self.axes)) or 1.0

    def rate(self, sums: Ints) -> Floats:
        """The scores of rows of summed statistics."""
        return rate(self.metric, sums)

    def choose(self, weights: Floats) -> Choice:
        """The winners under these weights; rows count from the first candidate of all parts."""
        choices = self.parts.ask(choose, weights)
        rows = np.concatenate(self._numbered([choice.rows for choice in choices]))
        return Choice(
            np.sum([each.sums for each in choices], axis=0), rows, all(each.tied for each in choices)
        )

    def _numbered(self, rows: Sequence[Ints]) -> list[Ints]:
        """Rows of each part, counted from the first candidate of all parts."""
        begins = offsets_of(np.array([sizes.sum() for sizes in self.sizes]))
        return [each + begin for each, begin in zip(rows, begins.tolist(), strict=False)]

    def score(self, weights: Floats) -> float:
        """The score of the candidates that these weights choose."""
        return float(self.rate(self.choose(weights).sums[np.newaxis])[0])

    def all_tied(self, weights: Floats) -> bool:
        """Whether all candidates of each segment have the same model score, so that the order of the lists decides."""
        return self.choose(weights).tied

    def winners_on(self, weights: Floats, lines: Sequence[Line]) -> Ints:
        """The rows of the candidates that win anywhere on lines through a point."""
        return np.concatenate(self._numbered(self.parts.ask(winners_on, weights, lines)))

    def only(self, kept: NDArray[np.bool_]) -> "Problem":
        """The same with some of the candidates, at least one of each segment, in memory; lengths stay as they are."""
        ends = np.cumsum([sizes.sum() for sizes in self.sizes])
        rows = [np.flatnonzero(part) for part in np.split(kept, ends[:-1])]
        candidates = _joined(self.parts.ask(Candidates.only, each=rows))
        return replace(self, parts=InMemory(candidates), sizes=(np.diff(candidates.offsets),))

    def moved(self, point: Floats, lengths: Floats) -> Floats:
        """The point after steps along all axes, each as far as the bounds allow."""
        for length, axis in zip(lengths.tolist(), self.axes, strict=True):
            low, high = self.limits(point, axis)
            point = point + min(max(length, low), high) * axis
        return np.clip(point, self.low, self.high)

    def limits(self, weights: Floats, direction: Floats) -> tuple[float, float]:
        """How far one may go each way before a weight leaves its bounds."""
        moving = direction != 0
        to_low = (self.low - weights)[moving] / direction[moving]
        to_high = (self.high - weights)[moving] / direction[moving]
        return float(np.minimum(to_low, to_high).max()), float(np.maximum(to_low, to_high).min())

    def scaled(self, weights: Floats) -> Floats:
        """The weights, normalized."""
        return self.normalization.apply(weights, self.names)


def _joined(parts: Sequence[Candidates]) -> Candidates:
    """Parts put together, in the order of their segments."""
    if len(parts) == 1:
        return parts[0]
    held = [part.held for part in parts if part.held is not None]
    return Candidates(
        offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])),
        np.asfortranarray(np.concatenate([part.features for part in parts])),
        np.concatenate(held) if held else None,
        np.concatenate([part.stats for part in parts]),
        parts[0].metric,
    )


class Lists(Protocol):
    """Lists whose features are known: `mert.lists.NBest` in memory, or the shares of a cluster."""

    @property
    def segments(self) -> list[str]:
        """The ids of the segments, in order."""

    @property
    def names(self) -> tuple[str, ...]:
        """The features with columns."""

    @property
    def sparse_names(self) -> tuple[str, ...]:
        """The features without columns."""

    @property
    def open_ended(self) -> bool:
        """Whether lines may leave out features that are 0."""

    @property
    def raw(self) -> bool:
        """Whether the candidates are raw text, which a metric for tokens does not expect."""

    def check_segments(self, size: int, where: str) -> list[str]:
        """Refuse a segment that is none of ``size`` segments from 0; a note where some have no candidates."""

    def without(self, columns: Collection[str]) -> "Lists":
        """The same without some features."""

    def parts(self, metric: Metric, sparse_weights: Floats | None = None) -> Parts:
        """The `Candidates`."""


def make_problem(
    lists: Lists,
    metric: Metric,
    start: Floats,
    constraints: Constraints | None = None,
    *,
    names: Sequence[str] = (),
    sparse_weights: Floats | None = None,
) -> Problem:
    """What is tuned on lists; ``names`` are those of the features [as in the lists], ``start`` their first weights.

    Sparse features without columns are held at ``sparse_weights``.
    """
    names = names or lists.names
    if not names:
        raise RyptError(
            "the lists have no features to tune; `rypt score CAMPAIGN --pick best` chooses candidates without weights"
        )
    return problem_of(lists.parts(metric, sparse_weights), names, metric, start, constraints)


def problem_of(
    parts: Parts, names: Sequence[str], metric: Metric, start: Floats, constraints: Constraints | None = None
) -> Problem:
    """What is tuned on these `Candidates`."""
    (constraints or Constraints()).check(names, start)
    sizes, held = zip(*parts.ask(_sizes), strict=True)
    constraints = (constraints or Constraints()).settled(names, anything_held=any(held))
    facts = parts.ask(_deviations)
    largest = np.max([each for each, _ in facts], axis=0)
    for name, size, weight in zip(names, largest.tolist(), start.tolist(), strict=True):
        if max(size, abs(weight), size * abs(weight)) > LARGEST:
            raise RyptError(
                f"feature {name} has values up to {size:g} and the weight {weight:g}: too large to add up"
            )
    squares = np.concatenate([each for _, each in facts]).sum(axis=0)
    spread = np.sqrt(squares / sum(int(each.sum()) for each in sizes))
    low, high = constraints.low_high(names)
    none = (np.nan, np.nan)
    return Problem(
        tuple(names),
        parts,
        tuple(sizes),
        metric,
        constraints.axes(names, start, spread > 0),
        spread,
        low,
        high,
        np.array([constraints.ranges.get(name, none) for name in names], np.float64).reshape(-1, 2),
        constraints.normalization or Normalization(),
    )


def _sizes(candidates: Candidates) -> tuple[Ints, bool]:
    """The number of candidates of each segment, and whether held features add anything."""
    return np.diff(candidates.offsets), candidates.held is not None and bool(candidates.held.any())
