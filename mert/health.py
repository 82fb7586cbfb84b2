"""Warnings about tuned weights that a user can act on."""

import numpy as np

from mert.optimize import TuningProblem
from mert.search.share import segments_that_change
from rypt.arrays import Floats

TINY = 1e-4  # of the mean length of a weight
HUGE = 0.95  # of the length of all weights together
EDGE = 1e-9
FEEBLE = 0.01  # of the length of all weights together
FEW = 0.05  # of the segments with several candidates


def examine(problem: TuningProblem, weights: Floats, start: Floats) -> list[str]:
    """Notes on weights that collapsed, one that drowns the others, and weights on the edge of their bounds."""
    notes = []
    if (problem.sizes > 1).any() and problem.all_tied(start):
        notes.append(
            "the weights to start from give all candidates of a segment the same model score: the score before tuning "
            "is that of the first candidates of the lists, and the gain says nothing"
        )
    free = problem.free
    lengths = np.abs(weights * problem.spread) * problem.deciding
    total = float(lengths.sum())
    if total == 0:
        return [*notes, "all weights that decide are 0: every candidate has the same model score"]
    if len(weights) == 1:
        notes.append(f"{problem.names[0]} is the only feature: its weight decides nothing but its sign")
    if not free.any():
        notes.append("no weight may move")
    tiny = [
        name
        for name, length, moved, before in zip(problem.names, lengths, free, start, strict=True)
        if moved and before != 0 and length < TINY * total / len(weights)
    ]
    if tiny:
        notes.append(f"collapsed to almost nothing: {', '.join(tiny)}")
    largest = int(np.argmax(lengths))
    if len(weights) > 1 and lengths[largest] > HUGE * total:
        share = 100 * lengths[largest] / total
        notes.append(f"{problem.names[largest]} alone decides {share:.0f} % of the model score")
    at_edge = [
        f"{name} ({low if weight - low <= high - weight else high:g})"
        for name, weight, low, high, moved in zip(
            problem.names, weights, problem.low, problem.high, free, strict=True
        )
        if moved and min(abs(weight - low), abs(high - weight)) <= EDGE * max(1.0, abs(weight))
    ]
    if at_edge:
        notes.append(f"at the edge of its bounds: {', '.join(at_edge)}")
    outside = [
        name
        for name, weight, low, high in zip(problem.names, weights, problem.low, problem.high, strict=True)
        if not low - EDGE <= weight <= high + EDGE
    ]
    if outside:
        notes.append(f"normalization took weights out of their bounds: {', '.join(outside)}")
    held = ~free & problem.deciding & (start != 0)
    changed = [
        name
        for name, fixed, a, b in zip(problem.names, held, weights, start, strict=True)
        if fixed and a != b
    ]
    if changed:
        notes.append(f"normalization scaled weights that are held, too: {', '.join(changed)}")
    before = np.abs(start * problem.spread) * problem.deciding
    if before[held].sum() > FEEBLE * before.sum() and lengths[held].sum() < FEEBLE * total:
        names = [name for name, fixed in zip(problem.names, held, strict=True) if fixed]
        notes.append(
            f"the weights that moved grew so large that held ones decide next to nothing: {', '.join(names)}"
        )
    idle = [name for name, deciding in zip(problem.names, problem.deciding, strict=True) if not deciding]
    if idle:
        notes.append(f"never different inside a segment, so left alone: {', '.join(idle)}")
    return notes


def flatness(problem: TuningProblem, start: Floats) -> list[str]:
    """A note where the metric tells the candidates of no segment apart, or those of few."""
    several = int((problem.sizes > 1).sum())
    total = problem.choice(start).sums[None]
    differing = sum(problem.shares.ask(segments_that_change, start, total))
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
