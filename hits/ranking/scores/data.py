"""Ratings of segments as arrays: what rankings by mean, tests and comparisons are made of."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons, Names
from rypt.arrays import Floats, Ids
from rypt.text import RyptError


class ScoreRecord(NamedTuple):
    """One rating, as a file has it."""

    system: str
    segment: str
    score: float
    document: str = ""
    rater: str = ""
    wave: str = ""
    domain: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class SegmentScores:
    """Ratings of systems' candidates; ``system``, ``segment``, ``rater`` and ``score`` are arrays of one length.

    A segment belongs to a document; two documents may number their segments alike. A segment that was rated in several
    waves of a campaign counts once for each wave, as in WMT's findings. ``higher`` says whether a higher score is
    better (not so for MQM's penalties).
    """

    systems: tuple[str, ...]
    segments: tuple[tuple[str, str], ...]  # document and name
    raters: tuple[str, ...]
    system: Ids  # indices into systems
    segment: Ids  # indices into segments
    rater: Ids  # indices into raters
    score: Floats
    scale: str = "score"  # DA, ESA, MQM …
    higher: bool = True
    standardized: bool = False
    waves: tuple[str, ...] = ()  # of each segment
    domains: tuple[str, ...] = ()  # of each segment: news, speech …

    def __len__(self) -> int:
        return len(self.score)

    def records(self) -> Iterator[ScoreRecord]:
        """The ratings, one by one."""
        for i, j, k, score in zip(self.system, self.segment, self.rater, self.score.tolist(), strict=True):
            document, segment = self.segments[j]
            rater, wave, domain = self.raters[k], self.waves[j], self.domains[j]
            yield ScoreRecord(self.systems[i], segment, score, document, rater, wave, domain)

    def signed(self) -> Floats:
        """The scores with a sign that makes higher ones better."""
        return self.score if self.higher else -self.score

    def table(self) -> Floats:
        """The mean rating of each candidate with that sign, (systems, segments); NaN if it was not rated."""
        shape = len(self.systems), len(self.segments)
        cells = self.system.astype(np.int64) * shape[1] + self.segment
        counts = np.bincount(cells, minlength=shape[0] * shape[1])
        sums = np.bincount(cells, self.signed(), minlength=shape[0] * shape[1])
        means = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
        return np.asarray(means.reshape(shape), np.float64)

    def documents(self) -> tuple[tuple[str, ...], Ids]:
        """The names of documents, and the number of each segment's document."""
        names = Names()
        numbers = np.array([names.number(document) for document, _ in self.segments], np.int32)
        return names.names(), numbers

    def items(self) -> Ids:
        """The number of each segment, the same for all waves that it was rated in."""
        numbers: dict[tuple[str, str], int] = {}
        return np.array([numbers.setdefault(segment, len(numbers)) for segment in self.segments], np.int32)

    def standardize(self) -> "SegmentScores":
        """Each score less the mean of its rater's scores, by their standard deviation (z; Graham et al. 2016).

        A rater whose scores are all equal gives 0 to each.
        """
        counts = np.maximum(np.bincount(self.rater), 1)
        gaps = self.score - (np.bincount(self.rater, self.score) / counts)[self.rater]
        variances = np.bincount(self.rater, gaps**2) / np.maximum(counts - 1, 1)
        deviations = np.sqrt(variances)[self.rater]
        z = np.divide(gaps, deviations, out=np.zeros(len(gaps)), where=deviations > 1e-12)
        return replace(self, score=z, standardized=True)

    def take(self, chosen: NDArray[np.intp]) -> "SegmentScores":
        """Only these ratings; all systems, segments and raters stay."""
        return replace(
            self,
            system=self.system[chosen],
            segment=self.segment[chosen],
            rater=self.rater[chosen],
            score=self.score[chosen],
        )

    def rated_only(self) -> "SegmentScores":
        """Without the systems and segments that have no rating."""
        systems, system = np.unique(self.system, return_inverse=True)
        segments, segment = np.unique(self.segment, return_inverse=True)
        return replace(
            self,
            systems=tuple(self.systems[i] for i in systems),
            segments=tuple(self.segments[i] for i in segments),
            waves=tuple(self.waves[i] for i in segments),
            domains=tuple(self.domains[i] for i in segments),
            system=system.astype(np.int32),
            segment=segment.astype(np.int32),
        )

    def without(self, system: str) -> "SegmentScores":
        """No rating of this system."""
        if system not in self.systems:
            raise RyptError(f"expected one of the systems {', '.join(self.systems)}, found {system!r}")
        kept = np.flatnonzero(self.system != self.systems.index(system))
        return self.take(kept).rated_only()

    def comparisons(self, tie: float = 0.0) -> Comparisons:
        """A comparison for each two candidates of a segment, by the means of their ratings; a segment is a row.

        Scores that differ by at most ``tie`` are equal.

        >>> rows = [ScoreRecord("a", "1", 90), ScoreRecord("b", "1", 80), ScoreRecord("c", "1", 81)]
        >>> pairs = scores_of(rows).comparisons(tie=5)
        >>> [(pairs.systems[a], pairs.systems[b], int(o)) for a, b, o in zip(pairs.a, pairs.b, pairs.outcome)]
        [('a', 'b', 1), ('a', 'c', 1), ('b', 'c', 0)]
        """
        if tie < 0:
            raise RyptError(f"expected a tie threshold of 0 or more, found {tie:g}")
        table = self.table()
        first, second = np.triu_indices(len(table), 1)
        gaps = table[first] - table[second]  # (pairs, segments)
        segment, pair = np.nonzero(~np.isnan(gaps.T))
        if not len(segment):
            raise RyptError("expected segments with scores of two systems, found none")
        gap = np.round(gaps[pair, segment], 9)  # equal but for rounding is equal
        return Comparisons(
            self.systems,
            first[pair].astype(np.int32),
            second[pair].astype(np.int32),
            np.where(np.abs(gap) <= tie + 1e-9, 0, np.sign(gap)).astype(np.int8),
            segment.astype(np.int32),
            segment.astype(np.int32),
            np.zeros(len(segment), np.int32),
            tuple(" ".join(filter(None, name)) for name in self.segments),
        )


def scores_of(records: Iterable[ScoreRecord], scale: str = "score", *, higher: bool = True) -> SegmentScores:
    """Ratings as arrays; systems are sorted by name.

    >>> scores = scores_of([ScoreRecord("b", "1", 70), ScoreRecord("a", "1", 90), ScoreRecord("b", "1", 80)])
    >>> scores.systems, scores.table().tolist()
    (('a', 'b'), [[90.0], [75.0]])
    """
    rows = list(records)
    systems = tuple(sorted({row.system for row in rows}))
    place = {name: i for i, name in enumerate(systems)}
    columns: dict[tuple[str, str, str], int] = {}
    domains: dict[int, str] = {}
    for row in rows:
        domains.setdefault(
            columns.setdefault((row.document, row.segment, row.wave), len(columns)), row.domain
        )
    raters = Names()
    return SegmentScores(
        systems,
        system=np.array([place[row.system] for row in rows], np.int32),
        segment=np.array([columns[row.document, row.segment, row.wave] for row in rows], np.int32),
        rater=np.array([raters.number(row.rater) for row in rows], np.int32),
        score=np.array([row.score for row in rows], np.float64),
        segments=tuple((document, segment) for document, segment, _ in columns),
        raters=raters.names(),
        scale=scale,
        higher=higher,
        waves=tuple(wave for _, _, wave in columns),
        domains=tuple(domains.values()),
    )


def merge_scores(parts: Sequence[SegmentScores]) -> SegmentScores:
    """All ratings of several sets; systems, raters, and segments of the same name and wave are one."""
    if len(parts) == 1:
        return parts[0]
    if len({(part.scale, part.higher) for part in parts}) > 1:
        scales = ", ".join(sorted({part.scale for part in parts}))
        raise RyptError(f"expected scores of one scale to rank together, found {scales}")
    records = (record for part in parts for record in part.records())
    return scores_of(records, parts[0].scale, higher=parts[0].higher)
