"""The RYPT score of a corpus with everything that belongs beside it: coverage, picks, ties, segments."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rypt.nbest import by_segment
from rypt.records import Candidate
from rypt.scorer import Coverage, Scorer, coverage, picks

PICKS = ("first", "best")


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
    mean: float
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


def score_report(
    scorer: Scorer, candidates: Sequence[Candidate], *, pick: str = "first", ties: str = "unknown"
) -> ScoreReport:
    """Score the first candidate of each segment, or the best by RYPT, as one corpus."""
    parsed = [i for i, c in enumerate(candidates) if scorer.forest.trees[scorer.forest.index[c.segment]] is not None]
    kept = [candidates[i] for i in parsed]
    stats = scorer.stats(kept)
    scores = scorer.score(stats) if kept else np.zeros(0)
    groups = list(by_segment(kept))
    best, tied = picks(scores, kept)
    chosen = [indices[0] if pick == "first" else best[segment] for segment, indices in groups]
    rows = []
    for i in chosen:
        covered = coverage(scorer.observe([kept[i]]), ties)
        rows.append(SegmentScore(kept[i].segment, float(scores[i]), covered.before, covered.after, kept[i].text))
    none = np.zeros((1, stats.shape[1]), np.int64)
    total = float(scorer.score(stats[chosen].sum(axis=0) if chosen else none)[0])
    return ScoreReport(
        score=total,
        pick=pick,
        candidates=len(kept),
        segments=rows,
        without_parse=len({c.segment for c in candidates}) - len(groups),
        without_candidate=sum(tree is not None for tree in scorer.forest.trees) - len(groups),
        coverage=coverage(scorer.observe([kept[i] for i in chosen]), ties),
        mean=float(scorer.score(stats.sum(axis=0) if kept else none)[0]),
        best=float(scorer.score(stats[list(best.values())].sum(axis=0) if best else none)[0]),
        tied=tied,
        unused_keys=scorer.judged.unused,
        signature=f"{scorer.signature}|n:{len(chosen)}",
    )
