"""Wins, ties and losses of one metric's picks against another's, over many splits, with intervals over segments."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
class SegmentOutcomes:
    """The chance of ``metric``'s pick to be better, and worse, than ``baseline``'s in each segment that counts.

    Both are means over splits; ``segments`` are the places of the segments in the campaign.
    """

    metric: str
    baseline: str
    segments: tuple[int, ...]
    wins: tuple[float, ...]
    losses: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PickComparison:
    """All outcomes, and the mean human score of each metric's picks, of random ones, and of the best there are.

    ``by_segment`` has for each outcome what it is the mean of.
    """

    outcomes: list[Outcome]
    quality: dict[str, float]
    splits: int
    by_segment: list[SegmentOutcomes] = field(default_factory=list)


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
    by_segment = []
    for pair, *totals in zip(pairs, wins, losses, strict=True):
        won, lost = ((total[at] / decided[at]).tolist() for total in totals)
        by_segment.append(SegmentOutcomes(*pair, tuple(at.tolist()), tuple(won), tuple(lost)))
    outcomes = [outcome_of([pair], units and [units], seed=seed) for pair in by_segment]
    means = {name: float((total[at] / decided[at]).mean()) for name, total in quality.items()}
    return PickComparison(outcomes, means, len(divided), by_segment)


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


def outcome_of(
    sets: Sequence[SegmentOutcomes], units: Sequence[Sequence[str]] | None = None, *, seed: int = 1
) -> Outcome:
    """The outcome of one pair of metrics over all segments of one set or of several.

    Resampling is within each set. ``units`` names the document of every segment of each set: documents are then
    resampled, and change signs, as wholes.
    """
    wins, losses = (np.concatenate([getattr(one, name) for one in sets]) for name in ("wins", "losses"))
    if not len(wins):
        raise RyptError("no segment has human scores of two candidates to pick from")
    strata = [_units(one, None if units is None else units[i]) for i, one in enumerate(sets)]
    rng = np.random.default_rng(seed)
    low, high = _interval(strata, rng)
    p = permutation_test(np.concatenate([means * sizes for means, sizes in strata]), rng)
    won, lost = float(wins.mean()), float(losses.mean())
    net = float((wins - losses).mean())
    return Outcome(sets[0].metric, sets[0].baseline, won, 1 - won - lost, lost, net, low, high, p, len(wins))


Unit = tuple[Floats, Floats]  # of each document or segment the mean net, and how many segments it has


def _units(outcomes: SegmentOutcomes, names: Sequence[str] | None) -> Unit:
    nets = np.array(outcomes.wins, np.float64) - np.array(outcomes.losses, np.float64)
    if names is None or not len(nets):
        return nets, np.ones(len(nets))
    _, numbers = np.unique([names[i] for i in outcomes.segments], return_inverse=True)
    sizes = np.bincount(numbers).astype(np.float64)
    return np.bincount(numbers, nets) / sizes, sizes


def bootstrap_interval(
    values: Floats, rng: np.random.Generator, *, weights: Floats | None = None
) -> tuple[float, float]:
    """The 95 % interval of the mean of values, by resampling them, each with its weight."""
    return _interval([(values, np.ones(len(values)) if weights is None else weights)], rng)


def _interval(strata: Sequence[Unit], rng: np.random.Generator) -> tuple[float, float]:
    """The 95 % interval of the weighted mean of all values, by resampling those of each stratum."""
    total, weight = np.zeros(RESAMPLES), np.zeros(RESAMPLES)
    for values, weights in strata:
        if len(values):
            drawn = (rng.integers(0, len(values), (some, len(values))) for some in _shares(RESAMPLES, values))
            sums = [((values * weights)[at].sum(axis=1), weights[at].sum(axis=1)) for at in drawn]
            total += np.concatenate([part for part, _ in sums])
            weight += np.concatenate([part for _, part in sums])
    low, high = np.quantile(total / weight, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
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
