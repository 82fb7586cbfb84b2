"""Models that learn from some segments, asked about the others."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from rypt.analysis.heldout import JudgmentSplit
from rypt.arrays import Codes, Floats
from rypt.scoring.models import CalibratedTable
from rypt.scoring.observations import Observations

Predict = Callable[[Observations, Codes, Observations, str], Floats]
"""From observations and labels to learn from to P(YES) of other observations; ties count as the last says."""


def _table(train: Observations, truth: Codes, test: Observations, ties: str) -> Floats:
    return CalibratedTable.fit([(train, truth)], ties).p_yes(test)


FITTED: Mapping[str, Predict] = {"table": _table}


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
