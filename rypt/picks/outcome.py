"""Wins, ties and losses of one metric's picks against another's, over many splits, with intervals over segments."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats
from rypt.picks.held_out import CONTROLS, HeldOutPicks, SplitPicks
from rypt.picks.metrics import PickMetric
from rypt.picks.splits import PickSplit
from rypt.text import RyptError

RESAMPLES = 10_000
LEVEL = 0.95
BOUNDS = ("random", "best")
SplitWatch = Callable[[Collection[PickSplit]], Iterable[PickSplit]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Shares of segments where ``metric``'s pick is better than, like and worse than ``baseline``'s.

    ``net`` is wins - losses, with a bootstrap interval over segments; ``p`` is of a two-sided permutation test: if the
    two metrics were alike, each segment's net could as well have the other sign.
    """

    metric: str
    baseline: str
    wins: float
    equal: float
    losses: float
    net: float
    low: float
    high: float
    p: float
    segments: int


@dataclass(frozen=True, slots=True)
class PickComparison:
    """All outcomes, and the mean human score of each metric's picks, of random ones, and of the best there are."""

    outcomes: list[Outcome]
    quality: dict[str, float]
    splits: int


def compare_picks(
    data: HeldOutPicks,
    metrics: Sequence[PickMetric],
    splits: Iterable[PickSplit],
    *,
    segments: NDArray[np.bool_] | None = None,
    units: Sequence[str] | None = None,
    controls: bool = False,
    ceiling: Sequence[PickMetric] = (),
    seed: int = 1,
    watch: SplitWatch = lambda splits: splits,
) -> PickComparison:
    """Compare each metric's picks with those of the metrics after it, by the human scores of each split.

    A segment counts in a split where at least two candidates have a score: of one there is nothing to pick.
    ``segments`` (a mask) restricts what is counted, not what models learn from. ``units`` names the document of each
    segment: intervals and tests are then over documents, not over segments. With ``controls``, the first metric is
    also tried on labels that say nothing. The metrics of ``ceiling``, which know more than any metric could, are
    compared as controls are, with all metrics but the first.
    """
    if controls and not metrics[0].uses("rypt"):
        raise RyptError(
            f"the controls are labels that say nothing, and {metrics[0].name} uses none: put rypt first"
        )
    rows: list[tuple[str, PickMetric, str | None]] = [(metric.name, metric, None) for metric in metrics]
    if controls:
        rows += [(f"{metrics[0].name}, {control}", metrics[0], control) for control in CONTROLS]
    rows += [(metric.name, metric, None) for metric in ceiling]
    names = [name for name, *_ in rows]
    pairs = [(a, b) for i, a in enumerate(names[: len(metrics)]) for b in names[i + 1 : len(metrics)]]
    pairs += [(a, b) for a in names[len(metrics) :] for b in names[1 : len(metrics)]]
    count = data.candidates.shape[1]
    decided = np.zeros(count)  # in how many splits each segment counts
    wins, losses = np.zeros((len(pairs), count)), np.zeros((len(pairs), count))
    quality = {name: np.zeros(count) for name in (*names, *BOUNDS)}
    divided = list(splits)
    for number, split in enumerate(watch(divided), 1):
        scored = list(split.scored)
        given = np.where(data.candidates[scored] >= 0, split.quality[scored], np.nan)
        picker = SplitPicks(data, split)
        picks = {name: picker.chances(metric, control, seed + number) for name, metric, control in rows}
        picked = np.logical_and.reduce([chance.sum(axis=0) > 0 for chance in picks.values()])
        known = ((~np.isnan(given)).sum(axis=0) >= 2) & picked
        known &= True if segments is None else segments
        decided += known
        for name, chance in {**picks, **_bounds(given)}.items():
            quality[name] += known * (chance * np.nan_to_num(given)).sum(axis=0)
        for i, (a, b) in enumerate(pairs):
            won, lost = against(picks[a], picks[b], given)
            wins[i] += known * won
            losses[i] += known * lost
    at = np.flatnonzero(decided > 0)
    if not len(at):
        raise RyptError("no segment has human scores of two candidates to pick from")
    documents = None if units is None else np.asarray(units)[at]
    outcomes = [
        _outcome(a, b, won[at] / decided[at], lost[at] / decided[at], documents, seed)
        for (a, b), won, lost in zip(pairs, wins, losses, strict=True)
    ]
    means = {name: float((total[at] / decided[at]).mean()) for name, total in quality.items()}
    return PickComparison(outcomes, means, len(divided))


def _bounds(quality: Floats) -> Mapping[str, Floats]:
    """A random pick and the best one by the human scores themselves."""
    known = ~np.isnan(quality)
    filled = np.where(known, quality, -np.inf)
    best = known & (filled >= filled.max(axis=0))
    return {
        name: chance / np.maximum(1, chance.sum(axis=0))
        for name, chance in zip(BOUNDS, (known, best), strict=True)
    }


def against(a: Floats, b: Floats, quality: Floats) -> tuple[Floats, Floats]:
    """The chance, for each segment, that a pick of ``a`` is better, and worse, than one of ``b``."""
    better = np.nan_to_num(quality)[:, None, :] - np.nan_to_num(quality)[None, :, :]
    chances = a[:, None, :] * b[None, :, :]
    return (chances * (better > 1e-9)).sum(axis=(0, 1)), (chances * (better < -1e-9)).sum(axis=(0, 1))


def _outcome(
    metric: str, baseline: str, wins: Floats, losses: Floats, documents: NDArray[np.str_] | None, seed: int
) -> Outcome:
    """The outcome of one pair of metrics; ``documents``, where they are the unit, are resampled as wholes."""
    nets, sizes = wins - losses, np.ones(len(wins))
    if documents is not None:
        _, numbers = np.unique(documents, return_inverse=True)
        sizes = np.bincount(numbers).astype(np.float64)
        nets = np.bincount(numbers, nets) / sizes
    rng = np.random.default_rng(seed)
    low, high = bootstrap_interval(nets, rng, weights=sizes)
    p = permutation_test(nets * sizes, rng)
    won, lost = float(wins.mean()), float(losses.mean())
    net = float((wins - losses).mean())
    return Outcome(metric, baseline, won, 1 - won - lost, lost, net, low, high, p, len(wins))


def bootstrap_interval(
    values: Floats, rng: np.random.Generator, *, weights: Floats | None = None
) -> tuple[float, float]:
    """The 95 % interval of the mean of values, by resampling them, each with its weight."""
    weights = np.ones(len(values)) if weights is None else weights
    means = []
    for some in _shares(RESAMPLES, values):
        drawn = rng.integers(0, len(values), (some, len(values)))
        means.append((values * weights)[drawn].sum(axis=1) / weights[drawn].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def permutation_test(values: Floats, rng: np.random.Generator, resamples: int = RESAMPLES) -> float:
    """The two-sided p of a mean that is 0 but for chance: how often random signs bring it so far from 0, or farther."""
    values = values[np.abs(values) > 1e-12]
    if not len(values):
        return 1.0
    least = abs(values.sum()) - 1e-9
    extreme = sum(
        int(np.count_nonzero(np.abs(rng.choice([-1.0, 1.0], (some, len(values))) @ values) >= least))
        for some in _shares(resamples, values)
    )
    return (extreme + 1) / (resamples + 1)


def _shares(resamples: int, values: Floats, room: int = 500_000) -> list[int]:
    """How many resamples to take at a time, so that they need little memory."""
    each = max(1, min(resamples, room // len(values)))
    return [each] * (resamples // each) + ([resamples % each] if resamples % each else [])
