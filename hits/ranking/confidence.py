"""How sure a ranking is: rank ranges by bootstrap or by sign tests, and clusters (Koehn 2012).

bootstrap    rank the systems on many resamples; of each system's ranks drop the 2.5 % at either end
posterior    the same with draws from the posterior, where a model has one, in place of resamples
sign tests   a system's best rank is 1 + how many are significantly better, its worst n − how many are worse
clusters     the finest groups such that ranges of different groups do not overlap

Koehn's slides draw comparisons and drop 25 of 1,000 ranks at either end. His program, and that of WMT13's official
table, draw whole rankings (``unit="row"``) and take a range of another shape: from a system's most frequent rank it
grows by the more frequent neighbour until it holds 95 % of the ranks (``shape="densest"``).
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons, Counts
from hits.ranking.model import RankingModel
from hits.ranking.models.trueskill import TrueSkill, uniform
from hits.ranking.models.wins import WinRatio
from hits.ranking.names import CONFIDENCES, SCORE_CONFIDENCES, SHAPES, UNITS
from rypt.arrays import Floats, Ints, Words
from rypt.compiled import compiled
from rypt.options import check_option
from rypt.tails import binomial_tail
from rypt.text import RyptError

COUNTED_SAMPLES, FITTED_SAMPLES = 1000, 100  # resamples by default: of counts, and of models fitted anew
CHUNK = 4_000_000  # cells of counts at once
LEVEL = 0.05
HELD = 0.95  # the share of a system's ranks in the densest range


@dataclass(frozen=True, slots=True)
class Confidence:
    """How ranges are made from comparisons or from segment scores (`hits.ranking.names` lists the methods).

    Without a method, models have a ``bootstrap`` and means of segment scores ``wilcoxon``. Without a unit the bootstrap
    draws rows where comparisons come in rows, else single comparisons; of scores it draws documents.
    """

    method: str | None = None
    samples: int | None = None
    unit: str | None = None
    shape: str | None = None
    level: float = LEVEL
    threads: int = 1
    after_resample: Callable[[], None] | None = None  # called after each resample that a model was fitted to


@runtime_checkable
class Posterior(Protocol):
    """A model with a posterior of its scores, which says how sure they are without any resample."""

    def posterior_scores(self, comparisons: Comparisons, rng: np.random.Generator, samples: int) -> Floats:
        """Draws of the scores, (samples, systems)."""
        ...


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
    itself = isinstance(model, Posterior) or (isinstance(model, TrueSkill) and model.order == "select")
    unit = confidence.unit or ("comparison" if itself or not comparisons.has_rows() else "row")
    shape = confidence.shape or ("ends" if unit == "comparison" else "densest")
    return replace(confidence, method=method, unit=unit, shape=shape)


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """The best and the worst rank of each system, from 1; ``samples`` are the ranks that they come from, if any."""

    low: Ints
    high: Ints
    samples: Floats | None = None  # (samples, systems); systems that share ranks have the mean of them
    source: str = "samples"  # or posterior
    scores: Floats | None = None  # (samples, systems): the scores that the ranks come from
    groups: Ints | None = None  # clusters, where they are not those of overlapping ranges
    wins: Ints | None = None  # how many systems each is significantly better than, where ranges do not say it

    def clusters(self) -> Ints:
        """The number of each system's cluster, 1 is best: transitively overlapping ranges are one cluster."""
        return clusters(self.low, self.high) if self.groups is None else self.groups


def clusters(low: Ints, high: Ints) -> Ints:
    """Clusters of rank ranges, numbered from the best.

    >>> clusters(np.array([1, 2, 2, 4, 5, 4]), np.array([1, 3, 3, 5, 6, 5])).tolist()
    [1, 2, 2, 3, 3, 3]
    """
    cluster_of = np.zeros(len(low), np.int64)
    number, reach = 0, 0
    for i in sorted(range(len(low)), key=lambda i: (low[i], high[i])):
        number += bool(low[i] > reach)
        reach = max(reach, int(high[i]))
        cluster_of[i] = number
    return cluster_of


def rank_bounds(scores: Floats) -> tuple[Ints, Ints]:
    """The best and the worst rank each score may have, (…, systems): they differ where scores are equal.

    >>> [bound.tolist() for bound in rank_bounds(np.array([0.5, 0.7, 0.5]))]
    [[2, 1, 2], [3, 1, 3]]
    """
    scores = np.asarray(scores)
    mine, others = scores[..., :, None], scores[..., None, :]
    first = 1 + (others > mine).sum(axis=-1)
    return np.asarray(first, np.int64), np.asarray((others >= mine).sum(axis=-1), np.int64)


def ranges_of(scores: Floats, trim: int | None = None, shape: str = "ends") -> Ranges:
    """Rank ranges from the scores of many samples, (samples, systems): without the ends, or the densest.

    By default 25 of 1,000 ranks are dropped at either end, as Koehn has it, so 2 of 100, as Sakaguchi et al. say.
    (Their program drops 3 of 100: it rounds 2.5 up.) A system that shares ranks on a sample has a part of each of them.
    """
    check_option("range", shape, SHAPES)
    samples, n = scores.shape
    first, last = rank_bounds(scores)
    if shape == "densest":
        if trim is not None:
            raise RyptError("trim drops ranks at either end; the densest range drops none of itself")
        ranks = np.arange(1, n + 1)
        shared = (first[..., None] <= ranks) & (ranks <= last[..., None])
        tally = (shared / shared.sum(axis=2, keepdims=True)).sum(axis=0)
        low, high = np.array([densest(tally[i], HELD * samples) for i in range(n)], np.int64).T
    else:
        dropped = samples * 25 // 1000 if trim is None else trim
        if samples <= 2 * dropped:
            raise RyptError(
                f"expected more than {2 * dropped} samples where {dropped} are dropped at either end"
            )
        low = np.sort(first, axis=0)[dropped]
        high = np.sort(last, axis=0)[samples - 1 - dropped]
    return Ranges(low, high, (first + last) / 2, scores=scores)


def densest(tally: Floats, wanted: float) -> tuple[int, int]:
    """The ranks from the most frequent one outwards, the more frequent neighbour first, until they hold enough.

    ``tally[r - 1]`` says how often the rank r was. Of two equal neighbours the worse rank comes first.

    >>> densest(np.array([1.0, 6.0, 2.0, 1.0]), 9.5), densest(np.array([0.0, 3.0, 97.0]), 95.0)
    ((1, 4), (3, 3))
    """
    low = high = int(np.argmax(tally))
    held = tally[low]
    while held < wanted - 1e-9 and (low > 0 or high < len(tally) - 1):
        left = tally[low - 1] if low > 0 else -1.0
        right = tally[high + 1] if high < len(tally) - 1 else -1.0
        if left > right:
            low -= 1
        else:
            high += 1
        held += max(left, right)
    return low + 1, high + 1


def bootstrap(
    model: RankingModel, comparisons: Comparisons, rng: np.random.Generator, confidence: Confidence
) -> Ranges:
    """Rank ranges of a model by resampling comparisons, or whole rows, with replacement.

    The ten comparisons of a five-way ranking are not independent, so ranges by comparison (as in the papers) are too
    narrow; ``unit="row"`` draws rankings. A model that has a posterior draws from that instead, unless rows are to be
    drawn.
    """
    scores = resampled_scores(model, comparisons, rng, confidence)
    ranges = ranges_of(scores, shape=confidence.shape or "ends")
    return replace(ranges, source="posterior") if has_posterior(model, confidence) else ranges


def has_posterior(model: RankingModel, confidence: Confidence) -> bool:
    """Whether ranges come from a posterior."""
    return confidence.unit != "row" and isinstance(model, Posterior)


def resampled_scores(
    model: RankingModel, comparisons: Comparisons, rng: np.random.Generator, confidence: Confidence
) -> Floats:
    """The scores of resamples of comparisons, or of rows, (samples, systems).

    Models that must be fitted to each resample are fitted on several threads. Every resample has its own generator, so
    the scores do not depend on the number of threads.
    """
    unit = confidence.unit or "comparison"
    check_option("unit", unit, UNITS)
    samples = confidence.samples or (COUNTED_SAMPLES if isinstance(model, WinRatio) else FITTED_SAMPLES)
    if isinstance(model, WinRatio):
        draw = _draw_counts if unit == "comparison" else _draw_row_counts
        step = max(1, CHUNK // len(comparisons.systems) ** 2)
        parts = [draw(comparisons, rng, min(step, samples - start)) for start in range(0, samples, step)]
        return np.concatenate([model.scores(wins, ties) for wins, ties in parts])
    if unit == "comparison" and isinstance(model, TrueSkill):
        return model.sample_scores(comparisons, rng, samples)
    if unit == "comparison" and isinstance(model, Posterior):
        return model.posterior_scores(comparisons, rng, samples)
    once = replace(model, runs=1, threads=1) if isinstance(model, TrueSkill) else model

    def refit(own: np.random.Generator) -> Floats:
        scores = once.fit(_resample(comparisons, own, unit), own).scores
        if confidence.after_resample is not None:
            confidence.after_resample()
        return scores

    try:
        with ThreadPoolExecutor(confidence.threads) as pool:
            return np.array(list(pool.map(refit, rng.spawn(samples))))
    except RyptError as error:
        raise RyptError(
            f"a resample cannot be fitted, so there are no ranges by bootstrap: {error}"
        ) from None


def _resample(comparisons: Comparisons, rng: np.random.Generator, unit: str) -> Comparisons:
    n = len(comparisons)
    if unit == "comparison":
        return comparisons.take(rng.integers(0, n, n))
    order, offsets = _by_row(comparisons)
    drawn = rng.integers(0, len(offsets) - 1, len(offsets) - 1)
    sizes = np.diff(offsets)[drawn]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    again = comparisons.take(order[np.repeat(offsets[drawn], sizes) + within])
    rows = np.repeat(np.arange(len(drawn), dtype=np.int32), sizes)  # one drawn twice is two rows
    return replace(again, row=rows)


def _by_row(comparisons: Comparisons) -> tuple[NDArray[np.intp], Ints]:
    """The comparisons ordered by row, and where each row begins, and one more."""
    order = np.argsort(comparisons.row, kind="stable")
    starts = np.flatnonzero(np.diff(comparisons.row[order], prepend=-1))
    return order, np.append(starts, len(order)).astype(np.int64)


def _draw_counts(comparisons: Comparisons, rng: np.random.Generator, samples: int) -> tuple[Counts, Counts]:
    """Counts of resamples: drawing comparisons with replacement is drawing the counts from a multinomial."""
    n = len(comparisons.systems)
    wins, ties = comparisons.counts()
    rows, columns = np.nonzero(wins)
    first, second = np.nonzero(np.triu(ties, 1))
    cells = np.concatenate([wins[rows, columns], ties[first, second]])
    drawn = rng.multinomial(len(comparisons), cells / len(comparisons), samples)
    new_wins, new_ties = np.zeros((samples, n, n), np.int64), np.zeros((samples, n, n), np.int64)
    new_wins[:, rows, columns] = drawn[:, : len(rows)]
    new_ties[:, first, second] = new_ties[:, second, first] = drawn[:, len(rows) :]
    return new_wins, new_ties


def _draw_row_counts(
    comparisons: Comparisons, rng: np.random.Generator, samples: int
) -> tuple[Counts, Counts]:
    n = len(comparisons.systems)
    order, offsets = _by_row(comparisons)
    cells = ((comparisons.a.astype(np.int64) * n + comparisons.b) * 3 + comparisons.outcome + 1)[order]
    counted = np.zeros((samples, n * n * 3), np.int64)
    _count_rows(offsets, cells, rng.integers(0, 2**64, samples, np.uint64), counted)
    table = counted.reshape(samples, n, n, 3)
    swapped = np.swapaxes(table, 1, 2)
    return table[..., 2] + swapped[..., 0], table[..., 1] + swapped[..., 1]


@compiled
def _count_rows(offsets: Ints, cells: Ints, seeds: Words, counted: Ints) -> None:
    rows = len(offsets) - 1
    state = np.empty(1, np.uint64)
    for sample in range(len(seeds)):
        state[0] = seeds[sample]
        counts = counted[sample]
        for _ in range(rows):
            row = int(uniform(state) * rows)
            for i in range(offsets[row], offsets[row + 1]):
                counts[cells[i]] += 1


_binomial_tail = compiled(binomial_tail)


@compiled
def sign_tests(wins: Counts) -> Floats:
    """The two-sided sign test of each two systems, (systems, systems); 1 on the diagonal."""
    n = len(wins)
    tests = np.ones((n, n))
    for i in range(n):
        for j in range(i):
            few, both = min(wins[i, j], wins[j, i]), wins[i, j] + wins[j, i]
            tests[i, j] = tests[j, i] = min(1.0, 2.0 * _binomial_tail(few, both, 0.5))
    return tests


def ranges_by_sign_tests(wins: Counts, level: float = LEVEL) -> Ranges:
    """Rank ranges from the significant differences of pairs (Koehn's pairwise method)."""
    significant = sign_tests(np.ascontiguousarray(wins, np.int64)) <= level
    better = significant & (wins > wins.T)
    n = len(wins)
    return Ranges(1 + better.sum(axis=0).astype(np.int64), n - better.sum(axis=1).astype(np.int64))
