"""Rank systems by a model, with ranges and clusters; systems that were never compared are ranked apart."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hits.ranking.confidence import (
    LEVEL,
    Posterior,
    Ranges,
    Seen,
    bootstrap,
    ranges_by_sign_tests,
    rank_bounds,
)
from hits.ranking.data import Comparisons
from hits.ranking.model import Fitted, RankingModel, check_fit
from hits.ranking.models.trueskill import TrueSkill
from hits.ranking.names import CONFIDENCES, SCORE_CONFIDENCES
from rypt.arrays import Floats
from rypt.options import check_option
from rypt.signature import signature
from rypt.text import RyptError


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
    the order of ``systems``. ``title`` says which part of the data it is, where there are several parts.
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
    gap_errors: Floats | None = (
        None  # (systems, systems): standard errors of differences, where the model has them
    )
    score_errors: Floats | None = None  # (systems,): standard errors of scores, where there are no samples

    @property
    def clusters(self) -> int:
        """The number of clusters; 0 if ranges were not computed."""
        return max((system.cluster or 0 for system in self.systems), default=0)


@dataclass(frozen=True, slots=True)
class Confidence:
    """How ranges are made from comparisons or from segment scores (`hits.ranking.names` lists the methods).

    Without a method, models have a ``bootstrap`` and means of segment scores ``wilcoxon``. Without a unit the bootstrap
    draws rows where comparisons come in rows, else single comparisons; of scores it draws documents. ``koehn-slides``
    is a bootstrap as on Koehn's slides: of single comparisons, less the ranks at both ends.
    """

    method: str | None = None
    samples: int | None = None
    trim: int | None = None
    unit: str | None = None
    shape: str | None = None
    level: float = LEVEL
    threads: int = 1
    seen: Seen | None = None  # called after each resample that a model was fitted to


def choose_ranges(confidence: Confidence, comparisons: Comparisons, model: RankingModel) -> Confidence:
    """The same with its method, unit and shape of ranges filled in.

    By default rows are drawn, with the range of WMT13's official table. What has no rows is drawn comparison by
    comparison; so are the games that TrueSkill selects, and a posterior needs no drawing.
    """
    method = confidence.method or "bootstrap"
    if method in SCORE_CONFIDENCES and method not in CONFIDENCES:
        raise RyptError(
            f"{method} tests segment scores, by the model mean; comparisons have {', '.join(CONFIDENCES)}"
        )
    check_option("confidence", method, CONFIDENCES)
    unit, shape = confidence.unit, confidence.shape
    if method == "koehn-slides":
        if unit is not None or shape is not None:
            raise RyptError(
                "koehn-slides draws comparisons and drops the ends: leave out the unit and the range"
            )
        return replace(confidence, method="bootstrap", unit="comparison", shape="ends")
    if unit is None:
        itself = isinstance(model, Posterior) or (isinstance(model, TrueSkill) and model.order == "select")
        unit = "comparison" if itself or not comparisons.has_rows() else "row"
    if shape is None:
        shape = "ends" if unit == "comparison" or confidence.trim is not None else "densest"
    return replace(confidence, method=method, unit=unit, shape=shape)


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
    confidence = choose_ranges(confidence, comparisons, model)
    ranges = _ranges(comparisons, model, rng, confidence)
    order = fitted.order()
    first, _ = rank_bounds(np.round(fitted.scores, 12))  # what is equal but for rounding shares a rank
    numbers = None if ranges is None else ranges.clusters()
    errors = fitted.extra.get("standard_errors")
    systems = tuple(
        Ranked(
            fitted.systems[i],
            float(fitted.scores[i]),
            int(first[i]),
            None if ranges is None else int(ranges.low[i]),
            None if ranges is None else int(ranges.high[i]),
            None if numbers is None else int(numbers[i]),
            None if errors is None else float(errors[i]),
        )
        for i in order
    )
    samples = None if ranges is None or ranges.samples is None else ranges.samples[:, order]
    scores = None if ranges is None or ranges.scores is None else ranges.scores[:, order]
    how = None if ranges is None else _how(ranges, confidence)
    return RankedGroup(
        model.name, signature(fitted.signature, ranges=how), systems, samples, _extra(fitted), scores
    )


def _extra(fitted: Fitted) -> dict[str, Any]:
    """The model's own facts; ``parameters_of`` says which systems its lists are of."""
    lists = any(isinstance(value, list) and name != "rankings" for name, value in fitted.extra.items())
    return dict(fitted.extra) | ({"parameters_of": list(fitted.systems)} if lists else {})


def _ranges(
    comparisons: Comparisons, model: RankingModel, rng: np.random.Generator, confidence: Confidence
) -> Ranges | None:
    if confidence.method == "none":
        return None
    if confidence.method == "sign-test":
        return ranges_by_sign_tests(comparisons.counts()[0], confidence.level)
    return bootstrap(
        model,
        comparisons,
        rng,
        samples=confidence.samples,
        trim=confidence.trim,
        unit=confidence.unit or "comparison",
        shape=confidence.shape or "ends",
        threads=confidence.threads,
        seen=confidence.seen,
    )


def _how(ranges: Ranges, confidence: Confidence) -> str:
    if ranges.samples is None:
        return f"sign-test-{confidence.level:g}"
    trim = "" if confidence.trim is None else f"-trim-{confidence.trim}"
    unit = "" if confidence.unit == "comparison" else f"-{confidence.unit}"
    shape = "" if confidence.shape == "ends" else f"-{confidence.shape}"
    return f"{ranges.source}-{len(ranges.samples)}{trim}{unit}{shape}"
