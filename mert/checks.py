"""Is the gain real, and are the weights sane? A paired bootstrap, and notes that a user can act on."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mert.problem import Candidates, Problem, chosen_stats, gains
from rypt.arrays import Floats, Ints, Score

SAMPLES = 1000
BLOCK = 100  # samples drawn at once
TINY = 1e-4  # of the mean length of a weight
HUGE = 0.95  # of the length of all weights together
EDGE = 1e-9
FEW = 0.05  # of the segments with several candidates


@dataclass(frozen=True, slots=True)
class Gain:
    """How much better one set of weights is than another on the same lists.

    ``low`` and ``high`` hold 95 % of the resampled gains; ``p`` is the share of resamples without a gain.
    """

    gain: float
    low: float
    high: float
    p: float


def bootstrap_gain(problem: Problem, before: Floats, after: Floats, rng: np.random.Generator) -> Gain:
    """The gain from one set of weights to another, positive when the score got better.

    Segments are resampled, the same ones for both (paired bootstrap, Koehn 2004).
    """
    old, new = (np.concatenate(problem.parts.ask(chosen_stats, weights)) for weights in (before, after))
    resampled = resampled_gains(problem.rate, old, new, rng)
    low, high = np.quantile(resampled, [0.025, 0.975])
    gain = problem.score(after) - problem.score(before)
    return Gain(gain, float(low), float(high), float(np.mean(resampled <= 0)))


def resampled_gains(rate: Score, old: Ints, new: Ints, rng: np.random.Generator) -> Floats:
    """What the score gains from old to new statistics, (segments, columns), in samples of the segments."""
    gains = []
    for _ in range(SAMPLES // BLOCK):
        drawn = rng.integers(len(old), size=(BLOCK, len(old)))
        counts = np.stack([np.bincount(row, minlength=len(old)) for row in drawn])
        gains.append(rate(counts @ new) - rate(counts @ old))
    return np.concatenate(gains)


def notes_on(problem: Problem, weights: Floats, start: Floats) -> list[str]:
    """Notes on weights that collapsed, one that drowns the others, weights at the edge of their bounds, and so on."""
    lengths = np.abs(weights * problem.spread)
    total = float(lengths.sum())
    if total == 0:
        return ["all weights that decide are 0: every candidate has the same model score"]
    notes = []
    if any((sizes > 1).any() for sizes in problem.sizes) and problem.all_tied(start):
        notes.append(
            "the weights to start from give all candidates of a segment the same model score: the score before tuning "
            "is that of the first candidates of the lists, and the gain says nothing"
        )
    if not problem.free.any():
        notes.append("no weight may move")

    def add(note: str, which: Iterable[bool]) -> None:
        names = [name for name, holds in zip(problem.names, which, strict=True) if holds]
        if names:
            notes.append(f"{note}: {', '.join(names)}")

    add(
        "collapsed to almost nothing",
        problem.free & problem.deciding & (start != 0) & (lengths < TINY * total / len(weights)),
    )
    largest = int(np.argmax(lengths))
    if len(weights) > 1 and lengths[largest] > HUGE * total:
        share = 100 * lengths[largest] / total
        notes.append(f"{problem.names[largest]} alone decides {share:.0f} % of the model score")
    edge = EDGE * np.maximum(1.0, np.abs(weights))
    at_edge = (weights - problem.low <= edge) | (problem.high - weights <= edge)
    add("at the edge of its bounds", problem.free & at_edge)
    add("never different inside a segment, so left alone", ~problem.deciding)
    return notes


def flatness(problem: Problem, start: Floats) -> list[str]:
    """A note where the metric distinguishes the candidates of no segment, or of few."""
    several = sum(int((sizes > 1).sum()) for sizes in problem.sizes)
    differing = sum(problem.parts.ask(_segments_that_change, start, problem.choose(start).sums))
    if several and not differing:
        return [
            "the metric is flat: no candidate of any segment changes the score, so any weights are as good as these "
            "(a campaign needs labels)"
        ]
    if differing < FEW * several:
        return [
            f"the metric tells the candidates of {differing} of {several} segments apart: too few to tune on (a "
            "campaign needs more labels)"
        ]
    return []


def _segments_that_change(candidates: Candidates, weights: Floats, total: Ints) -> int:
    """The number of segments in which another candidate in the winner's place would change the score."""
    changing = gains(candidates, weights, total) != 0
    return int(np.logical_or.reduceat(changing, candidates.offsets[:-1]).sum())
