"""RYPT statistics and scores of many candidates at once."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rypt.arrays import Floats
from rypt.options import scoring_words
from rypt.records import Candidate, Votes
from rypt.scoring.kernel import UNALIGNED
from rypt.scoring.model import LabelModel, Percolation, Stats, percolated
from rypt.scoring.observations import Forest, JudgedPhrases, Observations, label_states
from rypt.scoring.percolation import NO, UNKNOWN, YES
from rypt.signature import rypt_version, signature
from rypt.texts.trees import SourceTree


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
    """From trees and votes to statistics of candidates that add up, and the score of their sums.

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
        votes: Iterable[Votes],
        *,
        model: LabelModel | None = None,
        case: str = "lower",
        no_penalty: float | None = None,
    ) -> None:
        """``no_penalty`` is the mean penalty of a NO, where ``votes`` are not all that it is the mean of."""
        self.forest = Forest(trees)
        self.judged = JudgedPhrases(self.forest, votes, no_penalty)
        self.model: LabelModel = model or Percolation()
        self.case = case
        self.segmenter: str | None = None  # what found the words of the texts, for the signature

    def observe(self, candidates: Sequence[Candidate]) -> Observations:
        """The votes on each constituent of each candidate."""
        return self.judged.observe(candidates, self.case)

    def stats(self, candidates: Sequence[Candidate]) -> Stats:
        """Integers that may be added up, (candidates, columns)."""
        return self.model.stats(self.observe(candidates))

    def score(self, sums: Stats) -> Floats:
        """The RYPT score of each row of summed statistics."""
        return self.model.score(sums)

    @property
    def words(self) -> str:
        """How labels become scores, for readers who do not know the names of models."""
        options = dict(part.split(":", 1) for part in self.model.options.split("|"))
        return scoring_words(options["model"], options.get("unknown", "half"))

    @property
    def signature(self) -> str:
        """All that a number depends on besides the data."""
        how = signature(
            "RYPT", nodes="spans", phrase="aligned", gap="mark", case=self.case, segmenter=self.segmenter
        )
        return signature(how, self.model.options, version=rypt_version())


def coverage(observations: Observations, ties: str = "unknown") -> Coverage:
    """Count labels before and after percolation over all candidates."""
    direct = label_states(ties)[observations.codes]
    states, conflicts = percolated(observations, ties)
    expanded = (direct == UNKNOWN) & (states != UNKNOWN)
    yes, no = (direct == YES), (direct == NO)
    return Coverage(
        candidates=len(observations),
        nodes=len(states),
        unaligned=int(np.count_nonzero(observations.codes == UNALIGNED)),
        yes=int(yes.sum()),
        no=int(no.sum()),
        percolated_yes=int((expanded & (states % 2 == 1)).sum()),
        percolated_no=int((expanded & (states % 2 == 0)).sum()),
        conflicts=int(conflicts.sum()),
    )


def _model_score(candidate: Candidate) -> float:
    return -math.inf if candidate.score is None else candidate.score


def picks(scores: Floats, candidates: Sequence[Candidate]) -> tuple[dict[str, int], float]:
    """The best candidate of each segment, and the mean number of candidates tied at the top.

    Ties are broken by the model score, then by order.
    """
    best: dict[str, int] = {}
    tied: dict[str, int] = {}
    for i, candidate in enumerate(candidates):
        j = best.get(candidate.segment)
        if j is None or scores[i] > scores[j]:
            best[candidate.segment], tied[candidate.segment] = i, 1
        elif scores[i] == scores[j]:
            tied[candidate.segment] += 1
            if _model_score(candidate) > _model_score(candidates[j]):
                best[candidate.segment] = i
    return best, (sum(tied.values()) / len(tied) if tied else 0.0)
