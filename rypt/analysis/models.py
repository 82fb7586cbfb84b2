"""How well models predict held-out labels: accuracy, area under the curve, log loss."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rypt.analysis.heldout import Division, JudgmentSplit
from rypt.arrays import Codes, Floats
from rypt.scoring.model import CalibratedTable, Percolation, length_class, yes_share_by_length
from rypt.scoring.observations import Observations
from rypt.scoring.tree_model import TreeModel, log_loss

Predict = Callable[[Observations, Codes, Observations, str], Floats]
"""From observations and labels to learn from to P(YES) of other observations; ties count as the last says."""


@dataclass(frozen=True, slots=True)
class Quality:
    """How well P(YES) of all judged constituents agrees with the truth."""

    accuracy: float
    auc: float
    log_loss: float


def _tree(train: Observations, truth: Codes, test: Observations, ties: str) -> Floats:
    return TreeModel.fit(train, truth).p_yes(test)


def _table(train: Observations, truth: Codes, test: Observations, ties: str) -> Floats:
    return CalibratedTable.fit(train, truth, ties).p_yes(test)


FITTED: Mapping[str, Predict] = {"table": _table, "tree": _tree}
ALL: Mapping[str, Predict] = {
    "length prior": lambda train, truth, test, _: yes_share_by_length(train, truth)[
        length_class(test.lengths)
    ],
    "hard percolation, unknown = 0.5": lambda train, truth, test, ties: Percolation(ties=ties).p_yes(test),
    "calibrated table": _table,
    "tree model": lambda train, truth, test, _: TreeModel.fit(train, truth, novelty=False, temper=1.0).p_yes(
        test
    ),
    "tree model + novelty": lambda train, truth, test, _: TreeModel.fit(train, truth, temper=1.0).p_yes(test),
    "tree model + novelty, tempered": _tree,
}


def compare_models(
    division: Division,
    *,
    splits: int,
    judging: int,
    seed: int,
    max_len: int | None = 4,
    ties: str = "unknown",
    folds: int = 5,
) -> dict[str, Quality]:
    """Accuracy, AUC and log loss of each model; fitted on some segments, measured on the others."""
    rng = np.random.default_rng(seed)
    truths: list[Codes] = []
    predictions: dict[str, list[Floats]] = {name: [] for name in ALL}
    for (split,) in division.splits(splits, judging, rng, [max_len]):
        truths.append(split.truth)
        for name, p_yes in cross_validated(split, ALL, folds, rng, ties).items():
            predictions[name].append(p_yes)
    truth = np.concatenate(truths)
    return {name: quality(np.concatenate(p), truth) for name, p in predictions.items()}


def cross_validated(
    split: JudgmentSplit, models: Mapping[str, Predict], folds: int, rng: np.random.Generator, ties: str
) -> dict[str, Floats]:
    """P(YES) of every constituent by models that learned from the other folds' segments."""
    observations = split.observations
    predictions = {name: np.full(len(split.truth), 0.5) for name in models}
    fold_of = rng.integers(0, folds, len(observations.forest.trees))[observations.segments]
    for train, test in _folds(fold_of, folds):
        learned, truth = observations.take(np.flatnonzero(train)), split.truth[_places(observations, train)]
        asked, places = observations.take(np.flatnonzero(test)), _places(observations, test)
        for name, predict in models.items():
            predictions[name][places] = predict(learned, truth, asked, ties)
    return predictions


def _folds(fold_of: NDArray[np.int64], folds: int) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    for fold in range(folds):
        if (fold_of == fold).any():
            yield fold_of != fold, fold_of == fold


def _places(observations: Observations, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where the constituents of some candidates stand."""
    return np.flatnonzero(np.repeat(chosen, np.diff(observations.offsets)))


def quality(p_yes: Floats, truth: Codes) -> Quality:
    """Measure probabilities against labels (1 YES, 0 NO, -1 none); P = 0.5 counts as YES."""
    known = truth >= 0
    p, labels = p_yes[known], truth[known]
    return Quality(
        float(np.mean((p >= 0.5) == (labels == 1))), area_under_curve(p, labels), log_loss(p_yes, truth)
    )


def area_under_curve(p_yes: Floats, labels: Codes) -> float:
    """The chance that a YES has a higher probability than a NO; ties count one half.

    >>> area_under_curve(np.array([0.2, 0.6, 0.6, 0.9]), np.array([0, 1, 0, 1], dtype=np.int8))
    0.875
    """
    _, ranks, counts = np.unique(p_yes, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(counts) - (counts - 1) / 2
    yes = labels == 1
    positives, negatives = int(yes.sum()), int((~yes).sum())
    if not positives or not negatives:
        return float("nan")
    total = mean_rank[ranks][yes].sum()
    return float((total - positives * (positives + 1) / 2) / (positives * negatives))
