"""Rank systems by a model, with ranges and clusters; systems that were never compared are ranked in separate groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hits.ranking.confidence import (
    Confidence,
    Ranges,
    bootstrap,
    choose_ranges,
    ranges_by_sign_tests,
    rank_bounds,
)
from hits.ranking.data import Comparisons
from hits.ranking.model import RankingModel, check_fit
from rypt.arrays import Floats, Ints
from rypt.signature import signature


@dataclass(frozen=True, slots=True)
class Ranked:
    """One system of a ranking; range and cluster are None if ranges were not computed."""

    system: str
    score: float
    rank: int
    low: int | None
    high: int | None
    cluster: int | None
    error: float | None = None  # the standard error of the score, where the model has one


@dataclass(frozen=True, slots=True, eq=False)
class RankedGroup:
    """The systems from best to worst.

    ``rank_samples`` and ``score_samples`` are ranks and scores on resamples, (samples, systems), with the systems in
    the order of ``systems``; ``score_errors`` are standard errors of scores where nothing was resampled. ``title`` says
    which part of the data it is, where there are several parts.
    """

    model: str
    signature: str
    systems: tuple[Ranked, ...]
    rank_samples: Floats | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    score_samples: Floats | None = None
    title: str = ""
    score: str = "score"  # what the column of scores is called
    digits: int = 3  # of a score, after the point
    descending: bool = True  # whether a higher score is better
    score_errors: Floats | None = None  # (systems,)
    wins: Ints | None = None  # how many systems each is significantly better than, where ranges do not say it

    @property
    def clusters(self) -> int:
        """The number of clusters; 0 if ranges were not computed."""
        return max((system.cluster or 0 for system in self.systems), default=0)


def ordered(
    names: Sequence[str],
    scores: Floats,
    ranges: Ranges | None,
    errors: Sequence[float] | None = None,
    *,
    higher: bool = True,
) -> tuple[list[int], tuple[Ranked, ...]]:
    """The systems from best to worst, by number and as a ranking; ``scores`` are negative where less is better."""
    order = sorted(range(len(names)), key=lambda i: (-round(float(scores[i]), 9), names[i]))
    first, _ = rank_bounds(np.round(scores, 12))  # what is equal but for rounding shares a rank
    clusters = None if ranges is None else ranges.clusters()
    systems = tuple(
        Ranked(
            names[i],
            float(scores[i] if higher else 0 - scores[i]),
            int(first[i]),
            None if ranges is None else int(ranges.low[i]),
            None if ranges is None else int(ranges.high[i]),
            None if clusters is None else int(clusters[i]),
            None if errors is None else float(errors[i]),
        )
        for i in order
    )
    return order, systems


def rank_systems(
    comparisons: Comparisons,
    model: RankingModel,
    rng: np.random.Generator,
    confidence: Confidence | None = None,
) -> list[RankedGroup]:
    """A ranking for each group of systems that are connected by comparisons, the largest group first.

    Systems of different groups cannot be compared: no comparison says anything about them.
    """
    check_fit(comparisons)
    groups = comparisons.components()
    parts = [comparisons] if len(groups) == 1 else [comparisons.among(group) for group in groups]
    return [_rank(part, model, rng, confidence or Confidence()) for part in parts]


def _rank(
    comparisons: Comparisons, model: RankingModel, rng: np.random.Generator, confidence: Confidence
) -> RankedGroup:
    fitted = model.fit(comparisons, rng)
    chosen = choose_ranges(confidence, comparisons, model)
    ranges, how = _ranges(comparisons, model, rng, chosen)
    order, systems = ordered(fitted.systems, fitted.scores, ranges, fitted.extra.get("standard_errors"))
    ranks = None if ranges is None or ranges.samples is None else ranges.samples[:, order]
    scores = None if ranges is None or ranges.scores is None else ranges.scores[:, order]
    extra = dict(fitted.extra)
    if any(isinstance(value, list) and name != "rankings" for name, value in extra.items()):
        extra["parameters_of"] = list(fitted.systems)  # the systems that the lists are of
    signed = signature(fitted.signature, ranges=how)
    return RankedGroup(model.name, signed, systems, ranks, extra, score_samples=scores)


def _ranges(
    comparisons: Comparisons, model: RankingModel, rng: np.random.Generator, chosen: Confidence
) -> tuple[Ranges | None, str | None]:
    """The ranges, and what the signature says of them."""
    if chosen.method == "none":
        return None, None
    if chosen.method == "sign-test":
        wins = comparisons.counts()[0]
        return ranges_by_sign_tests(wins, chosen.level), f"sign-test-{chosen.level:g}"
    ranges = bootstrap(model, comparisons, rng, chosen)
    parts = [ranges.source, len(ranges.samples if ranges.samples is not None else ())]
    parts += [part for part in (chosen.unit, chosen.shape) if part not in ("comparison", "ends")]
    return ranges, "-".join(map(str, parts))
