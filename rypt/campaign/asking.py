"""What answers to a campaign's queries are worth, given its judgments so far."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rypt.arrays import Floats
from rypt.campaign.folder import Campaign
from rypt.metric.calibration import held_out_labels
from rypt.metric.scorer import Scorer
from rypt.metric.tree_model import TreeModel
from rypt.metric.value import WORTHLESS, places_of, query_values
from rypt.records import Query


def campaign_values(campaign: Campaign, found: Sequence[Query], *, votes: int = 1) -> Floats:
    """The value of each query for picking among a campaign's candidates, given its judgments so far.

    The tree model is learnt from them where two workers judged, and else stays as it is before anything is known.
    """
    if not found:
        return np.zeros(0)
    with campaign.database() as db:
        case = db.case
        scorer = Scorer(campaign.trees, db.votes(), case=case)
        workers = {name for name, _ in db.votes_by("worker")}
        if len(workers) > 1:
            observed, labels = held_out_labels(scorer.forest, db, campaign.candidates, "worker", "unknown")
            model = TreeModel.fit(observed, labels)
        else:
            model = TreeModel.fit(scorer.observe([]), np.zeros(0, np.int8))
    observations = scorer.observe(campaign.candidates)
    return query_values(model, observations, places_of(scorer.forest, found, campaign.candidates, case), votes=votes)


def worthwhile(campaign: Campaign, found: Sequence[Query], *, votes: int = 1) -> list[Query]:
    """The queries whose answers may change which candidates are best, each with its value, the highest first."""
    values = campaign_values(campaign, found, votes=votes).tolist()
    valued = [replace(query, value=value) for query, value in zip(found, values, strict=True) if value > WORTHLESS]
    return sorted(valued, key=lambda query: -(query.value or 0.0))
