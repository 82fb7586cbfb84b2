"""The candidate of each segment that a metric puts first."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rypt.arrays import Floats
from rypt.campaign.folder import Campaign
from rypt.campaign.scoring import ScoringChoices, campaign_scorer
from rypt.metrics.expression import Term
from rypt.picks.heldout import ALIKE
from rypt.picks.metrics import PickMetric, TermScorer
from rypt.records import Candidate
from rypt.scoring.scorer import Scorer
from rypt.texts.lists import lists_without


@dataclass(frozen=True, slots=True)
class Pick:
    """A metric's choice for one segment: the candidate, its score, and how many were tied with it at the top."""

    candidate: Candidate
    score: float
    tied: int


class Chooser:
    """Picks by any metric among a campaign's candidates; each term is scored once.

    ``signatures`` has one for each term that was used, by the term's label.
    """

    def __init__(
        self, campaign: Campaign, *, tokenize: str = "13a", judged_only: Collection[str] = ()
    ) -> None:
        """The lists of ``judged_only``, a reference's, say, are not picked from."""
        self.campaign = campaign
        self.terms = TermScorer(campaign, tokenize)
        self.candidates = _without(campaign, judged_only) if judged_only else campaign.candidates
        self.signatures: dict[str, str] = {}
        self._scores: dict[str, Floats] = {}

    def picks(self, metric: PickMetric) -> dict[str, Pick]:
        """For each segment that has candidates the pick; ties go to the higher model score, then to the first."""
        scores = metric.scores(self._term)
        return choose(self.candidates, scores)

    def scorer(self, options: Mapping[str, str] | None = None) -> Scorer:
        """RYPT as the campaign's settings say, or the options of a term."""
        return campaign_scorer(
            self.campaign, ScoringChoices.from_options(options or {}, self.campaign.scoring)
        )

    def _term(self, term: Term) -> Floats:
        if term.label not in self._scores:
            if term.name == "rypt":
                scorer = self.scorer(term.options)
                scores, signature = scorer.score(scorer.stats(self.candidates)), scorer.signature
            else:
                scores, signature = self.terms.scores(term, self.candidates)
            self._scores[term.label], self.signatures[term.label] = scores, signature
        return self._scores[term.label]


def _without(campaign: Campaign, systems: Collection[str]) -> list[Candidate]:
    with campaign.database() as db:
        origins = set(db.groups("origin"))
    lists = lists_without(campaign.lists(), systems, origins)
    kept = {(c.segment, c.text, c.alignment) for _, candidates in lists for c in candidates}
    return [c for c in campaign.candidates if (c.segment, c.text, c.alignment) in kept]


def choose(candidates: Sequence[Candidate], scores: Floats) -> dict[str, Pick]:
    """The best candidate of each segment; ties go to the higher model score, then to the earlier one.

    >>> picks = choose([Candidate("1", "a", ""), Candidate("1", "b", "", score=2.0)], np.array([0.5, 0.5]))
    >>> picks["1"].candidate.text, picks["1"].tied
    ('b', 2)
    """
    best: dict[str, float] = {}
    for candidate, score in zip(candidates, scores.tolist(), strict=True):
        best[candidate.segment] = max(score, best.get(candidate.segment, -np.inf))
    picks: dict[str, Pick] = {}
    for candidate, score in zip(candidates, scores.tolist(), strict=True):
        if score < best[candidate.segment] - ALIKE:
            continue
        pick = picks.get(candidate.segment)
        if pick is None:
            picks[candidate.segment] = Pick(candidate, score, 1)
            continue
        model, other = candidate.score, pick.candidate.score
        winner = candidate if model is not None and (other is None or model > other) else pick.candidate
        picks[candidate.segment] = Pick(winner, max(score, pick.score), pick.tied + 1)
    return picks
