"""Scorers whose model is estimated from the database itself.

Labels to learn from are *held out*: the labels of one group of workers (or origins) are compared with those of the
others. Leaving out single judgments of a key would be biased, so whole groups are left out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rypt.arrays import Codes
from rypt.database.judgments import JudgmentDatabase
from rypt.database.vote_columns import VoteRows
from rypt.options import HOLD_OUT, MODELS, check_option
from rypt.records import Candidate, Votes
from rypt.scoring.model import CalibratedTable, LabelModel, Percolation, direct_labels, yes_share_by_length
from rypt.scoring.observations import (
    Forest,
    Grades,
    JudgedPhrases,
    Observations,
    Places,
    fill_codes,
    key_codes,
    label_states,
)
from rypt.scoring.percolation import NO, YES
from rypt.scoring.scorer import Scorer
from rypt.scoring.severity_model import SeverityModel, unseen_penalty
from rypt.scoring.tree_model import TreeModel
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


def parameters_of(scorer: Scorer) -> dict[str, Any]:
    """What the model of a scorer learnt, in a form for JSON; all numbers come back as they were."""
    model = scorer.model
    if isinstance(model, SeverityModel):
        return {"unseen": model.unseen, "no_penalty": scorer.judged.grades.no_penalty}
    if isinstance(model, CalibratedTable):
        return {"table": model.table.tolist()}
    if isinstance(model, TreeModel):
        return {
            "root": model.root.tolist(),
            "down": model.down.tolist(),
            "emission": model.emission.tolist(),
            "temper": model.temper,
        }
    assert isinstance(model, Percolation)
    return {"prior": model.prior.tolist()}


def scorer_from_parameters(
    trees: Mapping[str, SourceTree | None],
    votes: Sequence[Votes],
    parameters: Mapping[str, Any],
    *,
    case: str,
    model: str,
    unknown: str,
    ties: str,
    hold_out: str,
) -> Scorer:
    """A scorer of some segments, given their votes, whose model was learnt from all (`parameters_of`)."""
    trained = f"held-out-{hold_out}"
    learnt = {name: np.array(value) for name, value in parameters.items()}
    made: LabelModel
    if model == "severity":
        made = SeverityModel(float(parameters["unseen"]), ties=ties)
    elif model == "table":
        made = CalibratedTable(learnt["table"], ties, trained)
    elif model == "tree":
        temper = float(parameters["temper"])
        made = TreeModel(learnt["root"], learnt["down"], learnt["emission"], temper, ties, trained)
    else:
        made = Percolation(unknown, ties, learnt["prior"])
    return Scorer(trees, votes, model=made, case=case, no_penalty=parameters.get("no_penalty"))


def held_out_labels(
    forest: Forest, db: JudgmentDatabase, candidates: Sequence[Candidate], hold_out: str, ties: str
) -> tuple[Observations, Codes]:
    """What the others say of each constituent, and the label a left-out group gave it (1 YES, 0 NO, -1 none)."""
    groups = groups_to_learn_from(db, hold_out)
    rows = db.vote_rows()
    judged = JudgedPhrases(forest, rows.columns())
    return fold_labels(rows, judged, judged.rows(candidates, db.case), groups, hold_out, ties)


def groups_to_learn_from(db: JudgmentDatabase, hold_out: str) -> list[str]:
    """The workers or origins of a database, of which there must be two."""
    check_option("hold_out", hold_out, HOLD_OUT)
    groups = db.groups(hold_out)
    if len(groups) < 2:
        raise RyptError(
            f"{db.path}: this model learns from the labels of one {hold_out} where another was left out; "
            f"expected judgments of at least two {hold_out}s, found {len(groups)}"
        )
    return groups


def fold_labels(
    rows: VoteRows, judged: JudgedPhrases, places: Places, groups: Sequence[str], hold_out: str, ties: str
) -> tuple[Observations, Codes]:
    """The same for votes whose phrases were looked up in the candidates: all candidates once for each fold.

    The observations have codes alone, as models that learn from them need no more: no key has a row.
    """
    forest, folds = judged.forest, min(FOLDS, len(groups))
    size = len(places.rows)
    codes, truth = np.empty((folds, size), np.int8), np.empty((folds, size), np.int8)
    label_of = np.array(
        [1 if state == YES else 0 if state == NO else -1 for state in label_states(ties)], np.int8
    )
    everybody, no_rows = np.arange(len(places.segments)), np.empty(0, np.int32)
    for fold in range(folds):
        out = set(groups[fold::FOLDS])
        rest = [group for group in groups if group not in out]
        for chosen, filled in ((rest, codes[fold]), (out, truth[fold])):
            counts = rows.counts(workers=chosen) if hold_out == "worker" else rows.counts(origins=chosen)
            of_keys, asked = key_codes(forest, judged.nodes, counts[judged.used])
            fill_codes(
                forest.firsts,
                places.segments,
                places.offsets,
                places.rows,
                everybody,
                of_keys,
                asked,
                filled,
                no_rows,
            )
        np.take(label_of, truth[fold], out=truth[fold])
    offsets = np.append(0, np.cumsum(np.tile(np.diff(places.offsets), folds))).astype(np.int64)
    nothing = np.broadcast_to(np.int32(-1), folds * size)
    grades = Grades(np.ones(2), np.zeros(2), 1.0)
    observed = Observations(forest, np.tile(places.segments, folds), offsets, codes.ravel(), nothing, grades)
    return observed, truth.ravel()


def concatenate(parts: Sequence[Observations]) -> Observations:
    """Observations of one forest, one after the other."""
    sizes = [np.diff(part.offsets) for part in parts]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    codes = np.concatenate([part.codes for part in parts])
    shifts = np.cumsum([0, *(len(part.grades.votes) for part in parts[:-1])])
    rows = [
        np.where(part.rows < 0, part.rows, part.rows + n)
        for part, n in zip(parts, shifts.tolist(), strict=True)
    ]
    grades = [part.grades for part in parts]
    return Observations(
        parts[0].forest,
        np.concatenate([part.segments for part in parts]),
        offsets,
        codes,
        np.concatenate(rows).astype(np.int32),
        Grades(
            np.concatenate([g.votes for g in grades]),
            np.concatenate([g.penalties for g in grades]),
            float(np.mean([g.no_penalty for g in grades])),
        ),
    )
