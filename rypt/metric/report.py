"""The RYPT score of a corpus with everything that belongs beside it: coverage, picks, ties, segments."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rypt.metric.model import Stats
from rypt.metric.scorer import Coverage, Scorer, coverage, picks
from rypt.options import PICKS, check_option
from rypt.records import Candidate
from rypt.signature import signature
from rypt.text import RyptError
from rypt.texts.nbest import by_segment


@dataclass(frozen=True, slots=True)
class SegmentScore:
    """One segment's picked candidate."""

    segment: str
    score: float
    before: float
    after: float
    candidate: str


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """What ``rypt score`` prints."""

    score: float
    pick: str
    candidates: int
    segments: list[SegmentScore]
    without_parse: int
    without_candidate: int
    coverage: Coverage
    all_candidates: float
    best: float
    tied: float
    unused_keys: int
    signature: str

    def as_dict(self, *, with_segments: bool) -> dict[str, Any]:
        """For JSON; the rows of segments only when asked for."""
        record = asdict(self)
        record["coverage"] |= {"before": self.coverage.before, "after": self.coverage.after}
        record["segments"] = record["segments"] if with_segments else len(self.segments)
        return record


def score_report(scorer: Scorer, candidates: Sequence[Candidate], *, pick: str = "first") -> ScoreReport:
    """Score the first candidate of each segment, or the best by RYPT, as one corpus."""
    check_option("pick", pick, PICKS)
    parsed = scorer.forest.counts > 0
    kept = [c for c in candidates if parsed[scorer.forest.index[c.segment]]]
    observations = scorer.observe(kept)
    stats = scorer.model.stats(observations)
    scores = scorer.score(stats)
    groups = list(by_segment(kept))
    if not groups:
        raise RyptError("nothing to score: no segment has both a parse and a candidate")
    best, tied = picks(scores, kept)
    chosen = [indices[0] if pick == "first" else best[segment] for segment, indices in groups]
    taken = observations.take(np.array(chosen, np.int64))
    rows = []
    for place, i in enumerate(chosen):
        covered = coverage(taken.take(np.array([place])), scorer.model.ties)
        rows.append(SegmentScore(kept[i].segment, float(scores[i]), covered.before, covered.after, kept[i].text))
    return ScoreReport(
        score=_corpus_score(scorer, stats[chosen]),
        pick=pick,
        candidates=len(kept),
        segments=rows,
        without_parse=len({c.segment for c in candidates}) - len(groups),
        without_candidate=int(parsed.sum()) - len(groups),
        coverage=coverage(taken, scorer.model.ties),
        all_candidates=_corpus_score(scorer, stats),
        best=_corpus_score(scorer, stats[list(best.values())]),
        tied=tied,
        unused_keys=scorer.judged.unused,
        signature=signature(scorer.signature, pick=pick, n=len(chosen)),
    )


def _corpus_score(scorer: Scorer, stats: Stats) -> float:
    return float(scorer.score(stats.sum(axis=0, keepdims=True))[0])
