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
from typing import NamedTuple

import numpy as np

from mert.learners import learn
from mert.problem import Candidates, Parts, Problem, gains
from rypt.arrays import Floats, Ints
from rypt.text import RyptError

ROUNDS = 6  # of regression, each with the gains at the winners of the one before, averaged
PULL = 1e-5  # towards 0, of the expected gain: its weight, the best score being 1
SAMPLES = 500  # pairs of a segment for PRO
KEPT = 0.25  # the share of the climbs' gain on the lists that a mean must keep to be trusted
MAX_STEPS = 100
ENOUGH = 1e-6  # relative: a step of the expected gain that gains less is the last


def unseen_weights(
    problem: Problem, start: Floats, ends: Sequence[Floats], rng: np.random.Generator
) -> Floats:
    """The mean of four estimates; of the climbs alone, or their best, where it would lose most of what they gain.

    ``ends`` are the weights that climbs came to, the best first. Where more than the proportions of weights matter, as
    beside weights that are held or within bounds other than 0, only climbs are averaged. Where no climb gains, the start
    is returned.
    """
    before, best = problem.score(start), problem.score(ends[0])
    if best <= before and not problem.all_tied(start):
        return problem.scaled(start)
    good = mean_weights(problem, ends[: (len(ends) + 1) // 2])
    choices = [good, ends[0]]
    bounds = np.concatenate([problem.low, problem.high])
    proportional = problem.normalization.kind != "none" and not bounds[np.isfinite(bounds)].any()
    if proportional and len(problem.axes) > 1:
        choices.insert(0, mean_weights(problem, [good, *_estimates(problem, start, rng)]))
    least = before + KEPT * (best - before)
    return next((w for w in choices if problem.score(w) >= least and not problem.all_tied(w)), ends[0])


def mean_weights(problem: Problem, weights: Sequence[Floats]) -> Floats:
    """The mean of several weights, each first scaled to the same length, for only their proportions matter."""
    if problem.normalization.kind == "none":
        return np.asarray(np.mean(weights, axis=0))
    return problem.scaled(np.mean([w / (problem.length(w) or 1.0) for w in weights], axis=0))


def _estimates(problem: Problem, start: Floats, rng: np.random.Generator) -> list[Floats]:
    """The weights of the regression, those of the greatest expected gain, and PRO's."""
    lengths, places = regression(problem, start)
    estimates = [weights_at(problem, lengths), weights_at(problem, expectation(problem, lengths, places))]
    with suppress(RyptError):  # it needs segments whose candidates differ in their own scores
        estimates.append(learn(problem, start, "pro", rng, samples=SAMPLES))
    return estimates


def weights_at(problem: Problem, lengths: Floats) -> Floats:
    """The weights that these lengths along the axes come to, within their bounds."""
    return problem.moved(np.zeros(len(problem.names)), lengths / problem.axis_lengths)


class Places(NamedTuple):
    """Where candidates are along each axis, in spreads from the mean of their segment, and what they gain."""

    candidates: Candidates
    places: Floats  # (candidates, axes)
    gains: Floats  # (candidates,): summed over the weights whose winners they replaced


def _places(candidates: Candidates, axes: Floats, units: Floats) -> Places:
    starts, sizes = candidates.offsets[:-1], np.diff(candidates.offsets)
    places = np.empty((len(candidates.features), len(axes)), order="F")
    for i, (axis, unit) in enumerate(zip(axes, units, strict=True)):
        column = candidates.slopes(axis) / unit
        places[:, i] = column - np.repeat(np.add.reduceat(column, starts) / sizes, sizes)
    return Places(candidates, places, np.zeros(len(places)))


def _with_gains(part: Places, weights: Floats, total: Ints) -> Places:
    return part._replace(gains=part.gains + gains(part.candidates, weights, total))


def _squares(part: Places) -> Floats:
    return np.asarray(part.places.T @ part.places)


def _products(part: Places) -> Floats:
    return np.asarray(part.places.T @ part.gains)


def regression(problem: Problem, start: Floats) -> tuple[Floats, Parts]:
    """The lengths along the axes that predict the gains of candidates best, and the `Places` with these gains."""
    parts = problem.parts.derive(_places, problem.axes, problem.axis_lengths)
    square = np.sum(parts.ask(_squares), axis=0) + np.eye(len(problem.axes))
    weights = start
    for _ in range(ROUNDS):
        parts = parts.derive(_with_gains, weights, problem.choose(weights).sums)
        lengths = np.linalg.solve(square, problem.segments * np.sum(parts.ask(_products), axis=0))
        weights = weights_at(problem, lengths)
    return lengths, parts


def _expected(part: Places, lengths: Floats) -> tuple[float, Floats]:
    """The expected gains of all segments summed, and how they grow along the axes."""
    starts, sizes = part.candidates.offsets[:-1], np.diff(part.candidates.offsets)
    scores = part.places @ lengths
    scores = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
    shares = scores / np.repeat(np.add.reduceat(scores, starts), sizes)
    expected = np.add.reduceat(shares * part.gains, starts)
    return float(expected.sum()), part.places.T @ (shares * (part.gains - np.repeat(expected, sizes)))


def expectation(problem: Problem, lengths: Floats, parts: Parts) -> Floats:
    """The lengths along the axes with the greatest expected gain, less a pull towards 0, by steps from the others."""
    pull = PULL * problem.metric.scale

    def loss(lengths: Floats) -> tuple[float, Floats]:
        answers = parts.ask(_expected, lengths)
        expected = sum(answer[0] for answer in answers) / ROUNDS
        slope = np.sum([answer[1] for answer in answers], axis=0) / ROUNDS
        return pull * float(lengths @ lengths) - expected, 2 * pull * lengths - slope

    size = float(np.abs(lengths).mean())
    return descend(loss, lengths / size if size > 0 else np.ones(len(lengths)))


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
