"""Systems ranked by their mean segment score, with rank ranges and clusters as in WMT's findings (2024).

wilcoxon     two systems differ if a signed-rank test on the segments that both have says p < 0.05; a system's best
             rank is 1 + how many are significantly better, its worst n − how many are significantly worse
wilcoxon-neighbours
             the same tests, but a range goes on to the neighbours in the order of means up to the first one that
             differs, and clusters are where ranges do not overlap, as in WMT25's findings
rank-sum     the same as wilcoxon with a rank-sum test, whose scores are not paired, as in WMT's findings up to 2023
bootstrap    means on resamples of documents (or segments), ranges of their ranks
average      the mean is over segments (micro); or over the means of domains, as WMT24's findings have it (macro), whose
             tests are combined by Stouffer's z
clusters     in the order of means, a cluster ends where all above differ significantly from all below; by bootstrap,
             where ranges of ranks do not overlap
"""

import numpy as np
from numpy.typing import NDArray

from hits.ranking.confidence import COUNTED_SAMPLES, Confidence, Ranges, ranges_of
from hits.ranking.names import AVERAGES, CONFIDENCES, SCORE_CONFIDENCES, SCORE_UNITS
from hits.ranking.result import RankedGroup, ordered
from hits.ranking.scores.data import SegmentScores
from hits.ranking.scores.paired import rank_sum_tests, signed_rank_wins, wilcoxon_tests
from rypt.arrays import Floats, Ids, Ints
from rypt.options import Options, check_option
from rypt.signature import rypt_version, signature
from rypt.text import RyptError

DIGITS = 4  # of a mean


def read_average(options: Options) -> str:
    """What ``-m mean:average=domain`` says."""
    return options.choice("average", "segment", AVERAGES)


def rank_by_mean(
    scores: SegmentScores,
    confidence: Confidence,
    rng: np.random.Generator,
    title: str = "",
    average: str = "segment",
) -> RankedGroup:
    """The systems by the mean of their segments' scores; several ratings of a candidate count as their mean.

    ``average`` says what the mean is over: segments, or the means of domains.
    """
    check_option("average", average, AVERAGES)
    if len(scores.systems) < 2:
        raise RyptError(
            f"expected scores of two systems or more, found {', '.join(scores.systems) or 'none'}"
        )
    table = scores.table()
    domains = domain_numbers(scores) if average == "domain" else None
    averages = table if domains is None else means_of_groups(table, domains)
    means = np.asarray(np.nanmean(averages, axis=1), np.float64)
    ranges, how = score_ranges(scores, table, means, confidence, rng, domains)
    order, systems = ordered(scores.systems, means, ranges, higher=scores.higher)
    name = f"{scores.scale} z" if scores.standardized else scores.scale
    signed = signature(
        "mean",
        average=None if average == "segment" else average,
        scores=scores.scale,
        better=None if scores.higher else "lower",
        z="rater" if scores.standardized else None,
        systems=len(scores.systems),
        segments=len(scores.segments),
        n=len(scores),
        rypt=rypt_version(),
        ranges=how,
    )
    ranks = None if ranges is None else ranges.samples
    resampled = None if ranges is None else ranges.scores
    return RankedGroup(
        "mean",
        signed,
        systems,
        None if ranks is None else ranks[:, order],
        score_samples=None if resampled is None else (1 if scores.higher else -1) * resampled[:, order],
        title=title,
        score=name if scores.higher else f"{name} ↓",
        digits=DIGITS,
        descending=scores.higher,
        score_errors=_score_errors(scores, table, domains)[order],
        wins=None if ranges is None or ranges.wins is None else ranges.wins[order],
    )


def domain_numbers(scores: SegmentScores) -> Ids:
    """The number of each segment's domain."""
    names = sorted(set(scores.domains))
    if len(names) < 2 or "" in names:
        raise RyptError(
            "expected the domain of each segment to average over, found none: a column domain has it, or WMT's names "
            "of documents (test-en-news_…)"
        )
    return np.array([names.index(name) for name in scores.domains], np.int32)


def sums_of_groups(table: Floats, groups: Ids) -> tuple[Floats, Floats]:
    """The sum and the number of each system's scores in each group of columns, (systems, groups)."""
    indicator = np.zeros((table.shape[1], int(groups.max()) + 1))
    indicator[np.arange(len(groups)), groups] = 1.0
    return np.nan_to_num(table) @ indicator, (~np.isnan(table)) @ indicator


def means_of_groups(table: Floats, groups: Ids) -> Floats:
    """The mean of each system's scores in each group of columns, (systems, groups); NaN where it has none."""
    sums, counts = sums_of_groups(table, groups)
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0), np.float64)


def drawn_units(scores: SegmentScores, unit: str | None = None) -> tuple[str, Ids]:
    """Documents, whose segments are not independent, or segments where there are no documents; and their numbers."""
    names, numbers = scores.documents()
    unit = unit or ("document" if len(names) > 1 else "segment")
    check_option("unit", unit, SCORE_UNITS)
    if unit == "document" and len(names) < 2:
        raise RyptError(
            "expected documents to draw, found none: the files do not name them; --unit segment draws segments"
        )
    return unit, numbers if unit == "document" else np.arange(len(scores.segments), dtype=np.int32)


def _score_errors(scores: SegmentScores, table: Floats, domains: Ids | None) -> Floats:
    """The standard error of each mean, from the spread of documents or segments; over domains, of the mean of means."""
    _, units = drawn_units(scores)
    domains = np.zeros(table.shape[1], np.int32) if domains is None else domains
    parts = [np.flatnonzero(domains == domain) for domain in np.unique(domains)]
    variances = np.zeros((len(parts), len(table)))
    for variance, part in zip(variances, parts, strict=True):
        sums, counts = sums_of_groups(
            table[:, part], np.unique(units[part], return_inverse=True)[1].astype(np.int32)
        )
        totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
        gaps = (sums - sums.sum(axis=1, keepdims=True) / totals * counts) / totals
        drawn = (counts > 0).sum(axis=1)
        variance[:] = (gaps**2).sum(axis=1) * drawn / np.maximum(drawn - 1, 1)
    return np.asarray(np.sqrt(variances.sum(axis=0)) / len(parts), np.float64)


def score_ranges(
    scores: SegmentScores,
    table: Floats,
    means: Floats,
    confidence: Confidence,
    rng: np.random.Generator,
    domains: Ids | None = None,
) -> tuple[Ranges | None, str | None]:
    """Rank ranges by a method, and what the signature says of it."""
    method = confidence.method or "wilcoxon"
    if method in CONFIDENCES and method not in SCORE_CONFIDENCES:
        raise RyptError(
            f"{method} needs comparisons, which scores become with another model: -m expected-wins"
        )
    check_option("confidence", method, SCORE_CONFIDENCES)
    if confidence.unit is not None and method != "bootstrap":
        raise RyptError(f"--unit {confidence.unit} is what a bootstrap draws; {method} tests segments")
    level = confidence.level
    if method == "none":
        return None, None
    if method == "wilcoxon":
        tests = wilcoxon_tests(table, scores.items(), domains)
        return ranges_by_tests(means, tests, level), f"wilcoxon-{level:g}"
    if domains is not None:
        raise RyptError(f"the mean over domains has wilcoxon's tests, as in WMT's findings; found {method}")
    if method == "wilcoxon-neighbours":
        wins = signed_rank_wins(table, scores.items(), level)
        return ranges_by_neighbours(means, wins), f"wilcoxon-neighbours-{level:g}"
    if method == "rank-sum":
        return ranges_by_tests(means, rank_sum_tests(table), level), f"rank-sum-{level:g}"
    count = confidence.samples or COUNTED_SAMPLES
    unit, drawn = resampled_means(scores, table, rng, count, confidence.unit)
    shape = confidence.shape or "densest"
    return ranges_of(drawn, shape=shape), f"samples-{count}-{unit}-{shape}"


def ranges_by_tests(means: Floats, tests: Floats, level: float) -> Ranges:
    """Ranges and clusters of the findings: a system wins where p < level and its mean is higher."""
    higher = means[:, None] > means[None, :]
    wins = (tests < level) & higher
    low, high = 1 + wins.sum(axis=0).astype(np.int64), len(means) - wins.sum(axis=1).astype(np.int64)
    return Ranges(low, high, groups=clusters_by_tests(means, tests, level))


def ranges_by_neighbours(means: Floats, wins: NDArray[np.bool_]) -> Ranges:
    """Ranges of WMT25's findings: up to the nearest system above that is significantly better, down likewise.

    >>> wins = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], bool)
    >>> ranges = ranges_by_neighbours(np.array([90.0, 89.0, 70.0]), wins)
    >>> ranges.low.tolist(), ranges.high.tolist()
    ([1, 1, 2], [2, 3, 3])
    """
    order = np.argsort(-means, kind="stable")
    n = len(means)
    low, high = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for place, system in enumerate(order):
        better = [k for k in range(place) if wins[order[k], system]]
        worse = [k for k in range(place + 1, n) if wins[system, order[k]]]
        low[system], high[system] = max(better, default=-1) + 2, min(worse, default=n)
    return Ranges(low, high, wins=wins.sum(axis=1).astype(np.int64))


def clusters_by_tests(means: Floats, tests: Floats, level: float) -> Ints:
    """In the order of means a new cluster begins where everything above differs from everything below (p ≤ level).

    >>> tests = np.array([[1, 0.3, 0.01], [0.3, 1, 0.02], [0.01, 0.02, 1]])
    >>> clusters_by_tests(np.array([90.0, 89.0, 70.0]), tests, 0.05).tolist()
    [1, 1, 2]
    """
    order = np.argsort(-means, kind="stable")
    different = tests[np.ix_(order, order)] <= level
    numbers = np.ones(len(means), np.int64)
    for k in range(1, len(means)):
        numbers[order[k]] = numbers[order[k - 1]] + bool(different[:k, k:].all())
    return numbers


def resampled_means(
    scores: SegmentScores, table: Floats, rng: np.random.Generator, samples: int, unit: str | None = None
) -> tuple[str, Floats]:
    """What was drawn, and the means on resamples, (samples, systems), with the sign that makes higher ones better.

    Documents are drawn with replacement, with all their segments: segments of a document are not independent. Without
    documents, or with ``unit="segment"``, segments are drawn.
    """
    unit, groups = drawn_units(scores, unit)
    sums, counts = sums_of_groups(table, groups)
    size = sums.shape[1]
    drawn = rng.multinomial(size, np.full(size, 1 / size), samples).astype(np.float64)
    totals = drawn @ counts.T
    # a system that a resample leaves without any rating keeps its mean
    means = np.nanmean(table, axis=1)
    return unit, np.where(totals > 0, (drawn @ sums.T) / np.where(totals > 0, totals, 1.0), means)
