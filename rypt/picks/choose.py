"""The candidate of each segment that a metric puts first."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from rypt.arrays import Floats
from rypt.campaign.folder import Campaign
from rypt.metric.calibration import scorer_from_database
from rypt.metric.scorer import Scorer
from rypt.options import MODELS
from rypt.picks.evidence import term_scores
from rypt.picks.heldout import ALIKE
from rypt.picks.metrics import PickMetric, Term
from rypt.records import Candidate
from rypt.texts.lists import lists_without


@dataclass(frozen=True, slots=True)
class Pick:
    """A metric's choice for one segment: the candidate, its score, and how many were tied with it at the top."""

    candidate: Candidate
    score: float
    tied: int


class Chooser:
    """Picks by any metric among a campaign's candidates; what a term costs is paid once."""

    def __init__(self, campaign: Campaign, *, tokenize: str = "13a", judged_only: Collection[str] = ()) -> None:
        """The lists of ``judged_only``, a reference's, say, are not picked from."""
        self.campaign = campaign
        self.tokenize = tokenize
        self.candidates = _without(campaign, judged_only) if judged_only else campaign.candidates
        self.signatures: dict[str, str] = {}
        self._scores: dict[tuple[str, str], Floats] = {}

    def picks(self, metric: PickMetric) -> dict[str, Pick]:
        """For each segment that has candidates the pick; ties go to the higher model score, then to the first."""
        scores = metric.scores(self._term)
        return choose(self.candidates, scores)

    def scorer(self, option: str = "") -> Scorer:
        """RYPT as the campaign's settings or a metric's option say."""
        scoring = self.campaign.scoring
        model = option if option in MODELS else "percolation" if option else scoring.model
        unknown = option if option and option not in MODELS else scoring.unknown if model == scoring.model else "half"
        with self.campaign.database() as db:
            return scorer_from_database(
                self.campaign.trees, db, self.campaign.candidates, model=model, unknown=unknown, ties=scoring.ties,
            )  # fmt: skip

    def _term(self, term: Term) -> Floats:
        key = (term.name, term.option)
        if key not in self._scores:
            if term.name == "rypt":
                scorer = self.scorer(term.option)
                self._scores[key] = scorer.score(scorer.stats(self.candidates))
                self.signatures["rypt" + (f":{term.option}" if term.option else "")] = scorer.signature
            else:
                self._scores[key], self.signatures[term.name] = term_scores(
                    self.campaign, term.name, self.candidates, self.tokenize
                )
        return self._scores[key]


def _without(campaign: Campaign, systems: Collection[str]) -> list[Candidate]:
    with campaign.database() as db:
        origins = set(db.groups("origin"))
    kept = {
        (c.segment, c.text, c.alignment) for _, own in lists_without(campaign.lists(), systems, origins) for c in own
    }
    return [c for c in campaign.candidates if (c.segment, c.text, c.alignment) in kept]


def choose(candidates: Sequence[Candidate], scores: Floats) -> dict[str, Pick]:
    """The best candidate of each segment; ties go to the higher model score, then to the earlier one.

    >>> found = choose([Candidate("1", "a", ""), Candidate("1", "b", "", score=2.0)], np.array([0.5, 0.5]))
    >>> found["1"].candidate.text, found["1"].tied
    ('b', 2)
    """
    best: dict[str, float] = {}
    for candidate, score in zip(candidates, scores.tolist(), strict=True):
        best[candidate.segment] = max(score, best.get(candidate.segment, -np.inf))
    picks: dict[str, Pick] = {}
    for candidate, score in zip(candidates, scores.tolist(), strict=True):
        if score < best[candidate.segment] - ALIKE:
            continue
        there = picks.get(candidate.segment)
        if there is None:
            picks[candidate.segment] = Pick(candidate, score, 1)
            continue
        model, other = candidate.score, there.candidate.score
        winner = candidate if model is not None and (other is None or model > other) else there.candidate
        picks[candidate.segment] = Pick(winner, max(score, there.score), there.tied + 1)
    return picks
