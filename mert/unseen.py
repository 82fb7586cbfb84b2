"""Weights for segments that were not tuned on: the mean of estimates whose errors differ.

The best point of a list owes much of its score to chance: it suits these segments and no others. Four estimates are
less lucky or wrong in other ways, and their mean, each brought to the same length, does better on other segments than
any of them (bench/unseen.py):

- the mean of the better half of climbs from random starts, which find the optima of the metric itself;
- PRO's ranking of pairs, which sees all candidates but only the scores of single ones;
- a linear regression of the gains of all candidates on their features, steady but crude;
- the weights with the greatest expected gain when candidates are chosen at random, with probabilities that rise with
  their model scores (minimum risk, Smith & Eisner 2006).

The gain of a candidate is what the score of all segments gains when it takes the place of its segment's winner. So
this asks of a metric only that its statistics add up.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from mert.learned import learned
from mert.optimize import Tuned, TuningProblem
from mert.search.share import Share, combine, gains_at, ordered_sum, segment_products
from rypt.arrays import Floats, Ints
from rypt.text import RyptError

ROUNDS = 6  # of regression, each with the gains at the winners of the one before, averaged
PULL = 1e-5  # towards 0, of the expected gain: its weight, the best score being 1
SAMPLES = 500  # pairs of a segment for PRO
KEPT = 0.25  # the share of the climbs' gain on the lists that a mean must keep to be trusted
MAX_STEPS = 100
ENOUGH = 1e-6  # relative: a step of the expected gain that gains less is the last


def unseen_weights(
    problem: TuningProblem, start: Floats, climbs: Sequence[Tuned], rng: np.random.Generator
) -> Floats:
    """The mean of four estimates; of the climbs alone, or their best, where it would lose most of what they gain.

    ``climbs`` come best first. Where more than the proportions of weights matter, as beside weights that are held or
    within bounds other than 0, only climbs are averaged. Where no climb gains, the start is returned.
    """
    before = problem.score(start)
    if climbs[0].score <= before and not problem.all_tied(start):
        return problem.scaled(start)
    good = mean_weights(problem, [tuned.weights for tuned in climbs[: (len(climbs) + 1) // 2]])
    choices = [good, climbs[0].weights]
    bounds = np.concatenate([problem.low, problem.high])
    proportional = problem.normalization.kind != "none" and not bounds[np.isfinite(bounds)].any()
    if proportional and len(problem.axes) > 1:
        choices.insert(0, mean_weights(problem, [good, *_estimates(problem, start, rng)]))
    least = before + KEPT * (climbs[0].score - before)
    return next(
        (w for w in choices if problem.score(w) >= least and not problem.all_tied(w)), climbs[0].weights
    )


def mean_weights(problem: TuningProblem, weights: Sequence[Floats]) -> Floats:
    """The mean of several weights, each first scaled to the same length, for only their proportions matter."""
    if problem.normalization.kind == "none":
        return np.asarray(np.mean(weights, axis=0))
    return problem.scaled(np.mean([w / (problem.length(w) or 1.0) for w in weights], axis=0))


def _estimates(problem: TuningProblem, start: Floats, rng: np.random.Generator) -> list[Floats]:
    """PRO's weights, those of the regression, and those of the greatest expected gain."""
    estimator = _Estimator(problem)
    steady, gains = estimator.regression(start)
    estimates = [steady, estimator.expectation(steady, gains)]
    with suppress(RyptError):  # it needs segments whose candidates differ in their own scores
        estimates.append(learned(problem, start, "pro", rng, samples=SAMPLES))
    return estimates


@dataclass(frozen=True, slots=True)
class _Axes:
    """The directions in which weights may move, and how far 1 goes along each."""

    axes: Floats  # (axes, features)
    units: Floats  # (axes,)

    def places(self, share: Share) -> Floats:
        """Where candidates are along each axis, in spreads from the mean of their segment, (candidates, axes)."""
        return share.memo.keep("places", lambda: self._make_places(share))

    def _make_places(self, share: Share) -> Floats:
        starts, sizes = share.offsets[:-1], np.diff(share.offsets)
        places = np.empty((len(share.features), len(self.axes)), order="F")
        for i, (axis, unit) in enumerate(zip(self.axes, self.units, strict=True)):
            column = share.slopes(axis) / unit
            places[:, i] = column - np.repeat(np.add.reduceat(column, starts) / sizes, sizes)
        return places


@dataclass(frozen=True, slots=True)
class _Gains:
    """The gains of candidates, summed over several sets of weights, each with the statistics that it chooses in all."""

    count: int  # of all segments
    at: tuple[tuple[Floats, Ints], ...] = ()

    def of(self, share: Share) -> Floats:
        """The gains of the candidates of a share."""
        *earlier, (weights, total) = self.at
        name = f"gains {[(each.tolist(), sums.tolist()) for each, sums in self.at]}"

        def make() -> Floats:
            latest = gains_at(share, weights, total, self.count)
            return _Gains(self.count, tuple(earlier)).of(share) + latest if earlier else latest

        return share.memo.keep(name, make)


def _squares(share: Share, axes: _Axes) -> Floats:
    """The products of all pairs of axes, summed over each segment, (segments, axes * axes)."""
    places = axes.places(share)
    size = places.shape[1]
    sums = np.empty((len(share.offsets) - 1, size, size))
    row = np.empty((len(sums), size))
    for i in range(size):
        segment_products(places, places[:, i], share.offsets, row)
        sums[:, i] = row
    return sums.reshape(len(sums), -1)


def _project(share: Share, axes: _Axes, values: Floats) -> Floats:
    """The products of the axes with the values, summed over each segment, (segments, axes)."""
    sums = np.empty((len(share.offsets) - 1, len(axes.units)))
    segment_products(axes.places(share), values, share.offsets, sums)
    return sums


def _project_gains(share: Share, axes: _Axes, gains: _Gains) -> Floats:
    return _project(share, axes, gains.of(share))


def _expected(share: Share, axes: _Axes, gains: _Gains, lengths: Floats) -> tuple[Floats, Floats]:
    """The expected gain of each segment, (segments,), and how it grows along the axes, (segments, axes)."""
    starts, sizes = share.offsets[:-1], np.diff(share.offsets)
    values = gains.of(share) / len(gains.at)
    scores = combine(axes.places(share), lengths)
    scores = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
    shares = scores / np.repeat(np.add.reduceat(scores, starts), sizes)
    expected = np.add.reduceat(shares * values, starts)
    return expected, _project(share, axes, shares * (values - np.repeat(expected, sizes)))


class _Estimator:
    """Weights from the gains of all candidates."""

    def __init__(self, problem: TuningProblem) -> None:
        self.problem = problem
        self.units = np.abs(problem.axes * problem.spread).sum(axis=1)
        self.axes = _Axes(problem.axes, self.units)

    def weights(self, lengths: Floats) -> Floats:
        """The weights that these lengths along the axes come to, within their bounds."""
        problem = self.problem
        return problem.moved(np.zeros(len(problem.names)), lengths / self.units)

    def regression(self, start: Floats) -> tuple[Floats, _Gains]:
        """The weights that predict the gains of candidates best, and these gains."""
        p = self.problem
        sums = ordered_sum(np.concatenate(p.shares.ask(_squares, self.axes)))
        square = sums.reshape(len(self.units), -1) + np.eye(len(self.units))
        weights, gains = start, _Gains(len(p.sizes))
        for _ in range(ROUNDS):
            gains = replace(gains, at=(*gains.at, (weights, p.choice(weights).sums[None])))
            projected = ordered_sum(np.concatenate(p.shares.ask(_project_gains, self.axes, gains)))
            weights = self.weights(np.asarray(np.linalg.solve(square, projected), np.float64))
        return weights, gains

    def expectation(self, start: Floats, gains: _Gains) -> Floats:
        """The weights with the greatest expected gain, less a pull towards 0, by steps from the start."""
        pull = PULL * self.problem.metric.scale

        def loss(lengths: Floats) -> tuple[float, Floats]:
            answers = self.problem.shares.ask(_expected, self.axes, gains, lengths)
            expected = np.concatenate([answer[0] for answer in answers])
            slope = ordered_sum(np.concatenate([answer[1] for answer in answers])) / len(expected)
            return pull * float(lengths @ lengths) - float(expected.mean()), 2 * pull * lengths - slope

        lengths = np.array([start[np.flatnonzero(axis)[0]] for axis in self.problem.axes]) * self.units
        size = float(np.abs(lengths).mean())
        return self.weights(descend(loss, lengths / size if size > 0 else np.ones(len(lengths))))


def descend(loss: Callable[[Floats], tuple[float, Floats]], point: Floats) -> Floats:
    """A point of least loss, which also returns its gradient, by the method of Broyden, Fletcher, Goldfarb and Shanno.

    >>> descend(lambda p: (float((p - 3) @ (p - 3)), 2 * (p - 3)), np.array([1.0, 9.0])).round(3)
    array([3., 3.])
    """
    inverse: Floats | None = None  # of the curvature
    value, slope = loss(point)
    for _ in range(MAX_STEPS):
        steepness = float(np.sqrt(slope @ slope))
        if steepness == 0.0:
            break
        if inverse is None:
            inverse = np.eye(len(point)) * 0.1 * float(np.sqrt(point @ point) or 1.0) / steepness
        step = -inverse @ slope
        promise = float(slope @ step)
        while (reached := loss(point + step))[0] > value + 1e-4 * promise and promise < -1e-12 * abs(value):
            step, promise = step / 2, promise / 2
        if not reached[0] < value:
            break
        change = reached[1] - slope
        curved = float(step @ change)
        if curved > 0:
            turn = np.eye(len(point)) - np.outer(step, change) / curved
            inverse = turn @ inverse @ turn.T + np.outer(step, step) / curved
        done = value - reached[0] < ENOUGH * max(1e-3, abs(reached[0]))
        point, (value, slope) = point + step, reached
        if done:
            break
    return point
