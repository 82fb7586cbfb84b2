"""RYPT: the ratio of acceptably translated constituents, from a database of human judgments.

    >>> import rypt
    >>> tree = rypt.SourceTree.from_brackets("(S (NP (A das) (N Haus)) (V brennt))")
    >>> [str(tree.constituents[i].span) for i in rypt.frontier(tree, max_len=2)]
    ['0-2', '2-3']

    campaign = rypt.Campaign.open("campaign")    # a folder with rypt.toml, texts and judgments
    rypt.queries(campaign)                       # what to ask people; .write("ask.csv", form="csv")
    rypt.score(campaign)                         # the score, its coverage, and the scores of segments

Subpackages: `rypt.texts` (files), `rypt.database` (judgments), `rypt.scoring` (from labels to scores), `rypt.metrics` (how
metrics are named and made), `rypt.campaign`, `rypt.ratings`, `rypt.analysis`, `rypt.picks`; above
everything, also above `mert` and `hits`: `rypt.loop`, `rypt.demo`, `rypt.cli`.
"""

from typing import TYPE_CHECKING

from rypt.lazy import lazy_names

if TYPE_CHECKING:
    from rypt.campaign.folder import Campaign as Campaign
    from rypt.campaign.queries import queries as queries
    from rypt.campaign.scoring import ScoringChoices as ScoringChoices
    from rypt.campaign.scoring import score as score
    from rypt.database.judgments import JudgmentDatabase as JudgmentDatabase
    from rypt.records import Candidate as Candidate
    from rypt.records import Judgment as Judgment
    from rypt.records import Label as Label
    from rypt.records import Span as Span
    from rypt.scoring.frontier import frontier as frontier
    from rypt.scoring.percolation import percolate as percolate
    from rypt.scoring.scorer import Scorer as Scorer
    from rypt.texts.trees import SourceTree as SourceTree

    __version__: str

HOMES = {
    "Campaign": "rypt.campaign.folder",
    "Candidate": "rypt.records",
    "Judgment": "rypt.records",
    "JudgmentDatabase": "rypt.database.judgments",
    "Label": "rypt.records",
    "Scorer": "rypt.scoring.scorer",
    "ScoringChoices": "rypt.campaign.scoring",
    "SourceTree": "rypt.texts.trees",
    "Span": "rypt.records",
    "frontier": "rypt.scoring.frontier",
    "percolate": "rypt.scoring.percolation",
    "queries": "rypt.campaign.queries",
    "score": "rypt.campaign.scoring",
}  # public name → the module it lives in
__all__ = sorted([*HOMES, "__version__"])
__getattr__, __dir__ = lazy_names(__name__, HOMES)
