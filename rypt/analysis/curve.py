"""The paper's Figure 3: what percolation adds for each maxLen, and how far it can be trusted.

For each maxLen only the judgments on its frontier are kept; percolated labels are compared with what held-out
systems or workers said of the same constituents. Where most labels are YES, saying YES to everything is right
often, so every accuracy is reported together with that baseline.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rypt.analysis.heldout import Division, JudgmentSplit
from rypt.analysis.models import FITTED, cross_validated
from rypt.arrays import Floats
from rypt.scoring.models import Percolation
from rypt.scoring.percolation import NO, NO_UP, UNKNOWN, YES, YES_DOWN

FOLDS = 2
DivisionWatch = Callable[[Iterable[list[JudgmentSplit]]], Iterable[list[JudgmentSplit]]]


@dataclass(frozen=True, slots=True)
class Accuracies:
    """Accuracies on the ``checked`` constituents; NaN where a method was not run or nothing was checked.

    Constituents without a percolated label count as YES in ``percolation``.
    """

    checked: int
    always_yes: float
    percolation: float
    table: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One maxLen; shares from 0 to 1.

    ``before`` and ``after`` are coverage, ``from_yes`` and ``from_no`` what percolation adds to it. ``percolated`` are
    accuracies on the constituents that percolation labels, ``yes_right`` and ``no_right`` those of its two rules.
    ``unlabelled`` are accuracies on all constituents without a label of their own.
    """

    max_len: int
    before: float
    after: float
    from_yes: float
    from_no: float
    yes_right: float
    no_right: float
    percolated: Accuracies
    unlabelled: Accuracies


class _Tally:
    """Sums over the splits of one maxLen."""

    def __init__(self, max_len: int) -> None:
        self.max_len = max_len
        self.nodes = 0
        self.states = np.zeros(NO_UP + 1, np.int64)
        self.rules: dict[int, list[int]] = {YES_DOWN: [0, 0], NO_UP: [0, 0]}
        self.right: dict[tuple[str, str], int] = {}
        self.checked = {"percolated": 0, "unlabelled": 0}

    def add(self, split: JudgmentSplit, predictions: Mapping[str, Floats], ties: str) -> None:
        states, _ = split.observations.percolated(ties)
        self.nodes += len(states)
        self.states += np.bincount(states, minlength=len(self.states))
        truth_known = split.truth != UNKNOWN
        for state, counts in self.rules.items():
            chosen = (states == state) & truth_known
            counts[0] += int(np.count_nonzero(split.truth[chosen] == (YES if state == YES_DOWN else NO)))
            counts[1] += int(np.count_nonzero(chosen))
        places = {
            "percolated": truth_known & ((states == YES_DOWN) | (states == NO_UP)),
            "unlabelled": truth_known & (split.observations.labels(ties) == UNKNOWN),
        }
        answers = {
            "always_yes": np.ones(len(states)),
            "percolation": Percolation(ties=ties).p_yes(split.observations),
        }
        for where, chosen in places.items():
            self.checked[where] += int(np.count_nonzero(chosen))
            for name, p_yes in {**answers, **predictions}.items():
                self._count(where, name, p_yes[chosen] >= 0.5, split.truth[chosen] == YES)

    def _count(self, where: str, name: str, labels: NDArray[np.bool_], truth: NDArray[np.bool_]) -> None:
        self.right[where, name] = self.right.get((where, name), 0) + int(np.count_nonzero(labels == truth))

    def accuracies(self, where: str) -> Accuracies:
        checked = self.checked[where]
        always_yes, percolation, table = (
            _share(self.right.get((where, name)), checked) for name in ("always_yes", "percolation", *FITTED)
        )
        return Accuracies(checked, always_yes, percolation, table)

    def point(self) -> CurvePoint:
        yes, no, yes_down, no_up = (int(self.states[state]) for state in (YES, NO, YES_DOWN, NO_UP))
        return CurvePoint(
            self.max_len,
            before=_share(yes + no, self.nodes),
            after=_share(yes + no + yes_down + no_up, self.nodes),
            from_yes=_share(yes_down, self.nodes),
            from_no=_share(no_up, self.nodes),
            yes_right=_share(*self.rules[YES_DOWN]),
            no_right=_share(*self.rules[NO_UP]),
            percolated=self.accuracies("percolated"),
            unlabelled=self.accuracies("unlabelled"),
        )


def _share(part: int | None, whole: int) -> float:
    return part / whole if part is not None and whole else float("nan")


def percolation_curve(
    division: Division,
    max_lens: Sequence[int],
    *,
    splits: int,
    judging: int,
    seed: int,
    ties: str = "unknown",
    models: bool = True,
    watch: DivisionWatch = lambda divided: divided,
) -> list[CurvePoint]:
    """Coverage and accuracies for each maxLen.

    With ``models`` the calibrated table is fitted on half of the segments and asked about the
    other half, for every split and maxLen.
    """
    rng = np.random.default_rng(seed)
    tallies = [_Tally(max_len) for max_len in max_lens]
    for divided in watch(division.splits(splits, judging, rng, max_lens)):
        for tally, split in zip(tallies, divided, strict=True):
            predictions = (
                cross_validated(split, FITTED, FOLDS, np.random.default_rng(seed), ties) if models else {}
            )
            tally.add(split, predictions, ties)
    return [tally.point() for tally in tallies]
