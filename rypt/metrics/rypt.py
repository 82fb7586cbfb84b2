"""RYPT by name: how its options change a campaign's settings, for tuning and for picks alike."""

from collections.abc import Mapping

from rypt.campaign.scoring import ScoringChoices
from rypt.campaign.settings import Scoring
from rypt.options import MODELS, TIES, UNKNOWN_AS, Options
from rypt.text import RyptError


def read_rypt_options(options: Mapping[str, str], scoring: Scoring) -> ScoringChoices:
    """Read ``rypt(model=…,unknown=…,ties=…,db=…)``; ``scoring`` are the campaign's settings, for what is not given.

    ``unknown`` is an option of percolation, so giving it alone asks for percolation, whatever the campaign's model is.

    >>> read_rypt_options({"unknown": "ignore"}, Scoring(model="tree")).model
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
    return ScoringChoices(model, unknown if model == "percolation" else None, ties, database=database)
