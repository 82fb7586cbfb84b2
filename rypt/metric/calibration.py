"""Scorers whose model is estimated from the database itself.

Labels to learn from are *held out*: the labels of one group of workers (or origins) are compared with those of the
others. Leaving out single judgments of a key would be biased, so whole groups are left out.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from rypt.arrays import Codes
from rypt.database.judgments import JudgmentDatabase
from rypt.metric.model import CalibratedTable, Percolation, direct_labels, yes_share_by_length
from rypt.metric.observations import Forest, Grades, JudgedPhrases, Observations, observe_counts
from rypt.metric.scorer import Scorer
from rypt.metric.severity_model import SeverityModel, unseen_penalty
from rypt.metric.tree_model import TreeModel
from rypt.options import HOLD_OUT, MODELS, check_option
from rypt.records import Candidate
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
    hold_out: str = "worker",
) -> Scorer:
    """A scorer with all judgments of a database; models that need parameters learn them from it."""
    check_option("model", model, MODELS)
    check_option("hold_out", hold_out, HOLD_OUT)
    votes = db.vote_columns() if len(trees) != 1 else db.votes(next(iter(trees)))
    scorer = Scorer(trees, votes, case=db.case, model=Percolation(ties=ties))
    if model == "percolation":
        prior = None
        if unknown in ("prior", "smoothed"):
            observations = scorer.observe(candidates)
            prior = yes_share_by_length(observations, direct_labels(observations, ties))
        scorer.model = Percolation(unknown, ties, prior)
        return scorer
    if model == "severity":
        judged = scorer.judged
        scorer.model = SeverityModel(unseen_penalty(judged.grades, judged.lengths), ties=ties)
        return scorer
    observations, truth = held_out_labels(scorer.forest, db, candidates, hold_out, ties)
    if model == "table":
        scorer.model = CalibratedTable.fit(observations, truth, ties, f"held-out-{hold_out}")
    else:
        scorer.model = TreeModel.fit(observations, truth, ties=ties, trained=f"held-out-{hold_out}")
    return scorer


def held_out_labels(
    forest: Forest, db: JudgmentDatabase, candidates: Sequence[Candidate], hold_out: str, ties: str
) -> tuple[Observations, Codes]:
    """What the others say of each constituent, and the label a left-out group gave it (1 YES, 0 NO, -1 none)."""
    check_option("hold_out", hold_out, HOLD_OUT)
    groups = db.groups(hold_out)
    if len(groups) < 2:
        raise RyptError(
            f"{db.path}: this model learns from the labels of one {hold_out} where another was left out; "
            f"expected judgments of at least two {hold_out}s, found {len(groups)}"
        )
    rows = db.vote_rows()
    judged = JudgedPhrases(forest, rows.columns())
    places = judged.rows(candidates, db.case)
    observed, labels = [], []
    for fold in range(min(FOLDS, len(groups))):
        out = set(groups[fold::FOLDS])
        rest = [group for group in groups if group not in out]
        others, left_out = (
            observe_counts(
                forest, places, judged.nodes,
                (rows.counts(workers=chosen) if hold_out == "worker" else rows.counts(origins=chosen))[judged.used],
            )
            for chosen in (rest, out)
        )  # fmt: skip
        observed.append(others)
        labels.append(direct_labels(left_out, ties))
    return concatenate(observed), np.concatenate(labels)


def concatenate(parts: Sequence[Observations]) -> Observations:
    """Observations of one forest, one after the other."""
    sizes = [np.diff(part.offsets) for part in parts]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    codes = np.concatenate([part.codes for part in parts])
    shifts = np.cumsum([0, *(len(part.grades.votes) for part in parts[:-1])])
    rows = [np.where(part.rows < 0, part.rows, part.rows + n) for part, n in zip(parts, shifts.tolist(), strict=True)]
    grades = [part.grades for part in parts]
    return Observations(
        parts[0].forest,
        np.concatenate([part.segments for part in parts]),
        offsets,
        codes,
        np.concatenate(rows).astype(np.int32),
        Grades(
            np.concatenate([g.votes for g in grades]), np.concatenate([g.penalties for g in grades]),
            float(np.mean([g.no_penalty for g in grades])),
        ),
    )  # fmt: skip
