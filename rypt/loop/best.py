"""Which iteration's weights are best, by the current labels of what each decoded.

Each iteration was scored with the labels of its time. Later labels also apply to earlier lists, so only scores with the
same labels can be compared. Tuning optimises on the lists it has; the decoder's next output may be worse.
"""

from collections.abc import Mapping

import numpy as np

from rypt.campaign.folder import Campaign
from rypt.campaign.scoring import campaign_scorer
from rypt.scoring.report import ScoreReport, score_report


def decoded_scores(campaign: Campaign, lists: Mapping[int, str]) -> dict[int, ScoreReport]:
    """RYPT of the first candidates of each iteration's list, as ``rypt score --candidates`` computes it."""
    scorer = campaign_scorer(campaign)
    return {
        number: score_report(scorer, campaign.read_candidates(campaign.path(name)))
        for number, name in lists.items()
    }


def best_iteration(scores: Mapping[int, ScoreReport]) -> int:
    """The last iteration whose score is within one standard error of the highest.

    The rule is that of Breiman et al. (1984): among what the data cannot tell apart, take what is better for other
    reasons. Here that is the later one, which more labels have shaped and fewer labels speak of.
    """
    top = max(scores, key=lambda number: (scores[number].score, number))
    return max(number for number in scores if number == top or _is_close(scores[number], scores[top]))


def _is_close(one: ScoreReport, best: ScoreReport) -> bool:
    """Whether a score is below another by no more than the standard error of the difference, over segments."""
    scores = {segment.segment: segment.score for segment in one.segments}
    gaps = np.array(
        [segment.score - scores[segment.segment] for segment in best.segments if segment.segment in scores]
    )
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
    return bool(best.score - one.score <= error)
