"""The candidate of each segment that a metric puts first."""

from collections.abc import Collection, Mapping

from rypt.arrays import Floats
from rypt.campaign.folder import Campaign
from rypt.campaign.scoring import ScoringChoices, campaign_scorer
from rypt.metrics.expression import Term
from rypt.picks.metrics import PickMetric, TermScorer
from rypt.scoring.scorer import Pick, Scorer, best_picks
from rypt.texts.lists import lists_without


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
        self.candidates = campaign.candidates
        if judged_only:
            with campaign.database() as db:
                lists = lists_without(campaign.lists, judged_only, set(db.origins()))
            pickable = {(c.segment, c.text, c.alignment) for _, candidates in lists for c in candidates}
            self.candidates = [c for c in self.candidates if (c.segment, c.text, c.alignment) in pickable]
        self.signatures: dict[str, str] = {}
        self._scores: dict[str, Floats] = {}

    def picks(self, metric: PickMetric) -> dict[str, Pick]:
        """For each segment that has candidates the pick; ties go to the higher model score, then to the first."""
        return best_picks(metric.scores(self._term), self.candidates)

    def scorer(self, options: Mapping[str, str] | None = None) -> Scorer:
        """RYPT as the campaign's settings say, or the options of a term."""
        choices = ScoringChoices.from_options(options or {}, self.campaign.scoring)
        return campaign_scorer(self.campaign, choices)

    def _term(self, term: Term) -> Floats:
        if term.label not in self._scores:
            if term.name == "rypt":
                scorer = self.scorer(term.options)
                scores, signature = scorer.score(scorer.stats(self.candidates)), scorer.signature
            else:
                scores, signature = self.terms.scores(term, self.candidates)
            self._scores[term.label], self.signatures[term.label] = scores, signature
        return self._scores[term.label]
