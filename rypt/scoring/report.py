"""The RYPT score of a corpus with everything that belongs beside it: coverage, picks, ties, segments."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats
from rypt.options import PICKS, check_option
from rypt.records import Candidate
from rypt.scoring.models import LabelModel, Percolation, Stats
from rypt.scoring.observations import Observations
from rypt.scoring.percolation import UNKNOWN
from rypt.scoring.scorer import Coverage, Scorer, best_picks, coverage, coverage_by_candidate
from rypt.signature import signature
from rypt.text import PathLike, RyptError, open_output, plural

LONG = 40  # mean words of a segment from which it is a paragraph
FEW = 0.5  # share of labelled constituents below which labels are few
WITHOUT_LABELS = ": none of their phrases has a label, so the score says nothing about them"
PICKED = {"first": "first candidates", "best": "candidates best by RYPT"}


@dataclass(frozen=True, slots=True)
class SegmentScore:
    """One segment's picked candidate; ``number`` counts the segment's candidates from 0, as `rypt explain` does."""

    segment: str
    score: float
    before: float
    after: float
    candidate: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Decisions:
    """What decides the best candidate of each segment that has several.

    ``by_labels`` counts segments with labels in which one candidate alone has the best score, ``shared`` those with
    labels in which several share it, ``unlabelled`` those in which no phrase of any candidate has a label.
    ``ties_by`` says what decides between candidates of the same score.
    """

    by_labels: int
    shared: int
    unlabelled: int
    ties_by: str = ""

    def __str__(self) -> str:
        parts = [f"labels decide the best candidate of {plural(self.by_labels, 'segment')}"]
        if self.shared:
            parts.append(
                f"in {self.shared} several share the best score, and {self.ties_by} decides among them"
            )
        if self.unlabelled:
            parts.append(f"in {self.unlabelled} no candidate has a label, so the best is arbitrary")
        return "; ".join(parts)

    @property
    def arbitrary(self) -> bool:
        """Whether there was something to decide, and no label to decide by."""
        return self.unlabelled > 0 and not self.by_labels and not self.shared


@dataclass(frozen=True, slots=True, repr=False)
class ScoreReport:
    """The score of a corpus of picked candidates, and what to read beside it; `print` shows all of it.

    ``pick`` is "first" or "best", ``coverage`` that of the picked candidates. ``all_candidates`` is the score of all
    candidates, ``best`` that of the best of each segment by RYPT, ``tied`` how many candidates share the highest score
    of a segment, on average, ``decisions`` what decides the best. ``unused_keys`` counts judged keys that are of no
    constituent. ``advice`` says where another model would serve better, ``scoring`` how labels become scores.
    """

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
    advice: str = ""
    scoring: str = ""
    decisions: Decisions = Decisions(0, 0, 0)

    @property
    def without_labels(self) -> bool:
        """Whether no phrase of the picked candidates has a label, so that the score says nothing about them."""
        return not self.coverage.before

    def as_dict(self, *, with_segments: bool) -> dict[str, Any]:
        """For JSON; the rows of segments only when asked for, advice and a lack of labels where there is one."""
        record = asdict(self)
        del record["scoring"]
        if not self.advice:
            del record["advice"]
        if self.without_labels:
            record["without_labels"] = True
        record["coverage"] |= {"before": self.coverage.before, "after": self.coverage.after}
        record["segments"] = record["segments"] if with_segments else len(self.segments)
        return record

    def write(self, path: PathLike) -> None:
        with open_output(path) as stream:
            stream.write(json.dumps(self.as_dict(with_segments=True), ensure_ascii=False) + "\n")

    def write_texts(
        self, path: PathLike, segments: Sequence[str], originals: Mapping[str, str] | None = None
    ) -> None:
        """Write the picked candidate of each of ``segments``, a line each; empty where a segment has none.

        ``originals`` are texts to be written in the place of the candidates' tokens, by segment.
        """
        texts = {row.segment: row.candidate for row in self.segments} | dict(originals or {})
        with open_output(path) as stream:
            stream.writelines(f"{texts.get(segment, '')}\n" for segment in segments)

    def __repr__(self) -> str:
        return (
            f"ScoreReport(RYPT {self.score:.4f}, {PICKED[self.pick]} of {len(self.segments)} segments, "
            f"{self.coverage.before:.1%} labelled, {self.coverage.after:.1%} after percolation)"
        )

    def __str__(self) -> str:
        covered = self.coverage
        lines = [
            f"RYPT = {self.score:.4f}   {PICKED[self.pick]} of {len(self.segments)} segments"
            f"{WITHOUT_LABELS if self.without_labels else ''}",
            f"coverage {covered.before:.1%} labelled, {covered.after:.1%} after percolation, "
            f"of the {covered.nodes} constituents of these {covered.candidates} candidates "
            f"({covered.unaligned / max(1, covered.nodes):.1%} unaligned, {covered.conflicts} NO below YES); "
            "rypt status counts those of all candidates",
            f"all {self.candidates} candidates {self.all_candidates:.4f}, best of each segment {self.best:.4f}; on "
            f"average {self.tied:.1f} candidates of a segment share its best score",
            str(self.decisions),
        ]
        if self.without_candidate:
            lines.append(f"{plural(self.without_candidate, 'segment')} without a candidate left out")
        if self.without_parse:
            lines.append(f"{plural(self.without_parse, 'segment')} without a parse left out")
        if self.unused_keys:
            lines.append(
                f"{self.unused_keys} judged keys are of no constituent and were not used (see 'rypt check')"
            )
        how = [f"scored by {self.scoring}"] if self.scoring else []
        return "\n".join([*lines, *how, *([f"note: {self.advice}"] if self.advice else []), self.signature])

    def segment_table(self) -> str:
        """A line for each segment: score, coverage before and after percolation, the candidate's number and text."""
        from tabulate import tabulate

        rows = [
            (s.segment, f"{s.score:.4f}", f"{s.before:.0%}", f"{s.after:.0%}", str(s.number), s.candidate)
            for s in self.segments
        ]
        names = ("segment", "RYPT", "labelled", "percolated", "number", "candidate")
        return str(tabulate(rows, names, tablefmt="plain", disable_numparse=True))


def score_report(scorer: Scorer, candidates: Sequence[Candidate], *, pick: str = "first") -> ScoreReport:
    """Score the first candidate of each segment, or the best by RYPT, as one corpus."""
    check_option("pick", pick, PICKS)
    parsed = scorer.forest.counts > 0
    kept = [c for c in candidates if parsed[scorer.forest.position(c.segment)]]
    observations = scorer.observe(kept)
    stats = scorer.model.stats(observations)
    scores = scorer.score(stats)
    numbers: dict[str, list[int]] = {}
    for index, candidate in enumerate(kept):
        numbers.setdefault(candidate.segment, []).append(index)
    groups = list(numbers.items())
    if not groups:
        raise RyptError("nothing to score: no segment has both a parse and a candidate")
    best = best_picks(scores, kept)
    chosen = [indices[0] if pick == "first" else best[segment].index for segment, indices in groups]
    taken = observations.take(np.array(chosen, np.int64))
    labelled = observations.sums(observations.labels(ties="yes") != UNKNOWN) > 0
    shares = zip(*coverage_by_candidate(taken, scorer.model.ties), strict=True)
    rows = [
        SegmentScore(segment, float(scores[i]), before, after, kept[i].text, indices.index(i))
        for i, (segment, indices), (before, after) in zip(chosen, groups, shares, strict=True)
    ]
    return ScoreReport(
        score=_corpus_score(scorer, stats[chosen]),
        pick=pick,
        candidates=len(kept),
        segments=rows,
        without_parse=len({c.segment for c in candidates}) - len(groups),
        without_candidate=int(parsed.sum()) - len(groups),
        coverage=coverage(taken, scorer.model.ties),
        all_candidates=_corpus_score(scorer, stats),
        best=_corpus_score(scorer, stats[[pick.index for pick in best.values()]]),
        tied=sum(pick.tied for pick in best.values()) / len(best),
        decisions=_decisions(kept, groups, scores, labelled),
        unused_keys=scorer.judged.unused,
        signature=signature(scorer.signature, pick=pick, n=len(chosen)),
        advice=scoring_advice(scorer.model, observations),
        scoring=scorer.words,
    )


def _decisions(
    candidates: Sequence[Candidate],
    groups: Sequence[tuple[str, list[int]]],
    scores: Floats,
    labelled: NDArray[np.bool_],
) -> Decisions:
    by_labels = shared = unlabelled = 0
    for _, indices in groups:
        if len(indices) < 2:
            continue
        of_segment = scores[indices]
        if not labelled[indices].any():
            unlabelled += 1
        elif np.count_nonzero(of_segment == of_segment.max()) > 1:
            shared += 1
        else:
            by_labels += 1
    scored = any(candidate.score is not None for candidate in candidates)
    ties_by = "the decoder's score, then the order in the lists," if scored else "the order in the lists"
    return Decisions(by_labels, shared, unlabelled, ties_by)


def scoring_advice(model: LabelModel, observations: Observations) -> str:
    """A line where an unknown that counts one half does harm: long segments of which few constituents have a label.

    There most of what a candidate has of its own is unknown, and counts less than what others share.
    """
    if not isinstance(model, Percolation) or model.unknown != "half" or not len(observations):
        return ""
    words = float(observations.forest.sizes[np.unique(observations.segments)].mean())
    labelled = np.count_nonzero(observations.labels(model.ties)) / max(1, len(observations.rows))
    if words < LONG or labelled >= FEW:
        return ""
    return (
        f"segments have {words:.0f} words on average and {labelled:.0%} of their constituents a label; an unknown "
        "that counts one half punishes what is new there: the model severity does not"
    )


def _corpus_score(scorer: Scorer, stats: Stats) -> float:
    return float(scorer.score(stats.sum(axis=0, keepdims=True))[0])
