"""RYPT by name: how its options change a campaign's settings, for tuning and for picks alike."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rypt.campaign.folder import Campaign
from rypt.campaign.settings import Scoring
from rypt.metric.calibration import scorer_from_database
from rypt.metric.scorer import Scorer
from rypt.options import MODELS, TIES, UNKNOWN_AS, Options
from rypt.text import PathLike, RyptError


@dataclass(frozen=True, slots=True)
class RyptOptions:
    """What ``rypt(model=…,unknown=…,ties=…,db=…)`` asks for: settings of scoring, and another database or None."""

    scoring: Scoring
    database: str | None = None


def read_rypt_options(options: Mapping[str, str], scoring: Scoring) -> RyptOptions:
    """Read the options of the metric rypt; ``scoring`` are the campaign's settings, for options that are not given.

    ``unknown`` is an option of percolation, so giving it alone asks for percolation, whatever the campaign's model is.

    >>> read_rypt_options({"unknown": "ignore"}, Scoring(model="tree")).scoring.model
    'percolation'
    """
    read = Options("rypt", options)
    model = read.choice("model", "percolation" if "unknown" in options else scoring.model, MODELS)
    unknown = read.choice("unknown", scoring.unknown, UNKNOWN_AS)
    ties = read.choice("ties", scoring.ties, TIES)
    database = read.text("db", None)
    read.done()
    if "unknown" in options and model != "percolation":
        raise RyptError(f"the metric rypt: the option unknown is for model=percolation, the model is {model}")
    return RyptOptions(replace(scoring, model=model, unknown=unknown, ties=ties), database)


def campaign_scorer(campaign: Campaign, scoring: Scoring | None = None, database: PathLike | None = None) -> Scorer:
    """The scorer of a campaign; other settings or another judgment database may take the place of the campaign's."""
    if database is not None:
        files = replace(campaign.files, database=str(Path(database).absolute()))
        campaign = replace(campaign, settings=replace(campaign.settings, files=files))
    scoring = scoring or campaign.scoring
    with campaign.database() as db:
        return scorer_from_database(
            campaign.trees, db, campaign.candidates, model=scoring.model, unknown=scoring.unknown, ties=scoring.ties
        )
