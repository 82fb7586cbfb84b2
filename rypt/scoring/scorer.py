"""RYPT statistics and scores of many candidates at once."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rypt.arrays import Floats
from rypt.database.votes import VoteArrays
from rypt.options import scoring_words
from rypt.records import Candidate, Votes
from rypt.scoring.forest import Forest
from rypt.scoring.models import LabelModel, Percolation, Stats
from rypt.scoring.observations import JudgedPhrases, Observations
from rypt.scoring.percolation import NO, NO_UP, STATES, YES, YES_DOWN
from rypt.signature import rypt_version, signature
from rypt.texts.trees import SourceTree

ALIKE = 1e-9  # scores nearer than this are tied


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the trees is known, summed over candidates."""

    candidates: int
    nodes: int
    unaligned: int
    yes: int
    no: int
    percolated_yes: int
    percolated_no: int
    conflicts: int

    @property
    def before(self) -> float:
        """The share of constituents with a direct YES or NO."""
        return (self.yes + self.no) / self.nodes if self.nodes else 0.0

    @property
    def after(self) -> float:
        """The share of constituents with a YES or NO after percolation."""
        return self.before + ((self.percolated_yes + self.percolated_no) / self.nodes if self.nodes else 0.0)


class Scorer:
    """Computes statistics of candidates from trees and votes, and scores from their sums.

    Phrases of the votes are keys, as the database holds them (`rypt.texts.phrases.phrase_key`).

    >>> from rypt.records import Span
    >>> trees = {"1": SourceTree.from_brackets("(S (NP (ART der) (NN patient)) (VVFIN lacht))")}
    >>> scorer = Scorer(trees, [Votes("1", Span(0, 2), "the patient", yes=1, no=0)])
    >>> stats = scorer.stats([Candidate("1", "The patient laughs", "0-0 1-1 2-2")])
    >>> stats.tolist(), scorer.score(stats).tolist()  # columns yes, no, unknown, nodes
    ([[3, 0, 2, 5]], [0.8])
    """

    def __init__(
        self,
        trees: Mapping[str, SourceTree | None],
        votes: Iterable[Votes] | VoteArrays,
        *,
        model: LabelModel | None = None,
        case: str = "lower",
    ) -> None:
        self.forest = Forest(trees)
        if isinstance(votes, VoteArrays):
            self.judged, self.counts = JudgedPhrases(self.forest, votes.keys), votes.counts()
        else:
            given = list(votes)
            self.judged = JudgedPhrases(self.forest, [(v.segment, *v.span, v.phrase) for v in given])
            rows = [(v.yes, v.no, v.not_sure, v.penalty, v.graded) for v in given]
            self.counts = np.array(rows, np.float64).reshape(-1, 5)
        self.model: LabelModel = model or Percolation()
        self.case = case
        self.segmenter: str | None = None  # what found the words of the texts, for the signature

    def observe(self, candidates: Sequence[Candidate]) -> Observations:
        return self.judged.look_up(candidates, self.case).observe(self.counts)

    def stats(self, candidates: Sequence[Candidate]) -> Stats:
        """Summable integers, (candidates, columns)."""
        return self.model.stats(self.observe(candidates))

    def score(self, sums: Stats) -> Floats:
        return self.model.score(sums)

    @property
    def words(self) -> str:
        """How labels become scores, in plain words."""
        options = dict(part.split(":", 1) for part in self.model.options.split("|"))
        return scoring_words(options["model"], options.get("unknown", "half"))

    @property
    def signature(self) -> str:
        """Everything a score depends on besides the data."""
        how = signature(
            "RYPT", nodes="spans", phrase="aligned", gap="mark", case=self.case, segmenter=self.segmenter
        )
        return signature(how, self.model.options, version=rypt_version())


def coverage(observations: Observations, ties: str = "unknown") -> Coverage:
    """Count labels before and after percolation over all candidates."""
    states, conflicts = observations.percolated(ties)
    counts = np.bincount(states, minlength=len(STATES)).tolist()
    return Coverage(
        candidates=len(observations),
        nodes=len(states),
        unaligned=int(np.count_nonzero(observations.numbers == 0)),
        yes=counts[YES],
        no=counts[NO],
        percolated_yes=counts[YES_DOWN],
        percolated_no=counts[NO_UP],
        conflicts=int(conflicts.sum()),
    )


def coverage_by_candidate(observations: Observations, ties: str) -> tuple[list[float], list[float]]:
    """For each candidate the share of its constituents with a label, before and after percolation."""
    states, _ = observations.percolated(ties)
    nodes = np.maximum(1, np.diff(observations.offsets))
    before = observations.sums((states == YES) | (states == NO)) / nodes
    after = before + observations.sums((states == YES_DOWN) | (states == NO_UP)) / nodes
    return before.tolist(), after.tolist()


@dataclass(frozen=True, slots=True)
class Pick:
    """The choice for one segment: the candidate, its score, how many share the best score, and its index."""

    candidate: Candidate
    score: float
    tied: int
    index: int = 0


def best_picks(scores: Floats, candidates: Sequence[Candidate]) -> dict[str, Pick]:
    """The best candidate of each segment; ties go to the higher model score, then to the earlier one.

    >>> picks = best_picks(np.array([0.5, 0.5]), [Candidate("1", "a", ""), Candidate("1", "b", "", score=2.0)])
    >>> picks["1"].candidate.text, picks["1"].tied
    ('b', 2)
    """
    best: dict[str, float] = {}
    for candidate, score in zip(candidates, scores.tolist(), strict=True):
        best[candidate.segment] = max(score, best.get(candidate.segment, -math.inf))
    picks: dict[str, Pick] = {}
    for i, (candidate, score) in enumerate(zip(candidates, scores.tolist(), strict=True)):
        if score < best[candidate.segment] - ALIKE:
            continue
        pick = picks.get(candidate.segment)
        if pick is None:
            picks[candidate.segment] = Pick(candidate, score, 1, i)
        elif _model_score(candidate) > _model_score(pick.candidate):
            picks[candidate.segment] = Pick(candidate, max(score, pick.score), pick.tied + 1, i)
        else:
            picks[candidate.segment] = replace(pick, score=max(score, pick.score), tied=pick.tied + 1)
    return picks


def _model_score(candidate: Candidate) -> float:
    return -math.inf if candidate.score is None else candidate.score
