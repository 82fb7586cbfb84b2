"""Scorers whose model learns from a campaign's own judgments.

Labels to learn from are *held out*: the labels of one group of workers (or origins) are compared with those of the
others. Leaving out single judgments of a key would be biased, so whole groups are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes
from rypt.database.judgments import JudgmentDatabase
from rypt.database.votes import VoteArrays, read_votes
from rypt.options import HOLD_OUT, MODELS, check_option
from rypt.records import Candidate
from rypt.scoring.models import CalibratedTable, Percolation, SeverityModel
from rypt.scoring.observations import Observations, Places
from rypt.scoring.scorer import Scorer
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

FOLDS = 5


def scorer_from_database(
    trees: Mapping[str, SourceTree | None],
    db: JudgmentDatabase,
    candidates: Sequence[Candidate],
    *,
    model: str = "percolation",
    unknown: str = "half",
    ties: str = "unknown",
    hold_out: str | None = None,
) -> Scorer:
    """A scorer with all judgments of a database; models that need parameters learn them from it.

    ``hold_out`` says whose labels are held out to learn from: by default workers, or origins where there is one worker.
    """
    check_option("model", model, MODELS)
    votes = read_votes(db)
    hold_out = hold_out or ("origin" if len(votes.workers) < 2 <= len(votes.origins) else "worker")
    check_option("hold_out", hold_out, HOLD_OUT)
    scorer = Scorer(trees, votes, case=db.case, model=Percolation(unknown, ties))
    if model == "severity":
        scorer.model = SeverityModel.fit(scorer.judged, scorer.counts, ties)
    elif model == "table":
        groups = votes.workers if hold_out == "worker" else votes.origins
        if len(groups) < 2:
            raise RyptError(
                f"{db.path}: this model learns from the labels of one {hold_out} where another was left out; "
                f"expected judgments of at least two {hold_out}s, found {len(groups)}"
            )
        places = scorer.judged.look_up(candidates, db.case)
        examples = held_out(votes, places, folds(votes, hold_out), ties)
        scorer.model = CalibratedTable.fit(examples, ties, f"held-out-{hold_out}")
    return scorer


def folds(votes: VoteArrays, hold_out: str) -> Iterator[NDArray[np.bool_]]:
    """For each of up to five folds of the workers or origins, which of the votes are theirs."""
    groups, whose = (votes.workers, votes.worker) if hold_out == "worker" else (votes.origins, votes.origin)
    for fold in range(min(FOLDS, len(groups))):
        yield np.asarray(whose % FOLDS == fold, np.bool_)


def held_out(
    votes: VoteArrays, places: Places, folds: Iterable[NDArray[np.bool_]], ties: str
) -> Iterator[tuple[Observations, Codes]]:
    """For each fold what the other votes say at each place, and the label that the fold gives it."""
    for out in folds:
        labels = places.observe(votes.counts(out)).labels(ties)
        yield places.observe(votes.counts(~out)), labels
