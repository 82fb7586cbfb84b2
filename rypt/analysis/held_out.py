"""The paper's Figure 3: what percolation adds for each maxLen, and how far it can be trusted.

The judgments of some systems' candidates (or of some workers) are known, what the others said is the truth. Whole
systems or workers are held out: without one candidate's own judgments, or single judgments of a key, the remaining ones
would look better exactly for the candidates that lost a NO. For each maxLen only the judgments on its frontier are
known; percolated labels are compared with the truth. Where most labels are YES, saying YES to everything is right
often, so every accuracy is reported together with that baseline.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes, Floats, Ints
from rypt.database.votes import VoteArrays
from rypt.scoring.models import CalibratedTable, Percolation
from rypt.scoring.observations import Observations, Places
from rypt.scoring.percolation import NO, NO_UP, STATES, UNKNOWN, YES, YES_DOWN
from rypt.text import RyptError

FOLDS = 2  # of segments, for the table
Mask = NDArray[np.bool_]
SplitWatch = Callable[[Iterable["JudgmentSplit"]], Iterable["JudgmentSplit"]]


class JudgmentSplit(NamedTuple):
    """Which votes are known, the candidates they are compared on, and the labels there from the other votes."""

    known: Mask
    candidates: Ints
    truth: Codes


@dataclass(frozen=True)
class HeldOutSystems:
    """Judgments held out by system; ``outputs`` are each system's candidates, as indices into ``places``.

    VoteArrays of other origins (a reference, say) are always known.
    """

    votes: VoteArrays
    places: Places
    outputs: Mapping[str, Ints]

    @property
    def groups(self) -> list[str]:
        return sorted(self.outputs)

    def splits(self, count: int, judging: int, rng: np.random.Generator) -> Iterator[JudgmentSplit]:
        """The judgments of ``judging`` random systems label the candidates of the rest."""
        truths = {system: self.own_labels(system) for system in self.groups}
        for _ in range(count):
            _, scored = _divided(self.groups, judging, rng)
            hidden = [i for i, origin in enumerate(self.votes.origins) if origin in scored]
            candidates = np.concatenate([self.outputs[system] for system in scored])
            truth = np.concatenate([truths[system] for system in scored])
            yield JudgmentSplit(~np.isin(self.votes.origin, hidden), candidates, truth)

    def own_labels(self, system: str) -> Codes:
        """The labels that a system's candidates got when they were judged themselves."""
        mask = self.votes.origin == self.votes.origins.index(system)
        return self.places.take(self.outputs[system]).observe(self.votes.counts(mask)).labels()


@dataclass(frozen=True)
class HeldOutWorkers:
    """Judgments held out by worker; all candidates are labelled."""

    votes: VoteArrays
    places: Places

    @property
    def groups(self) -> list[str]:
        return self.votes.workers

    def splits(self, count: int, judging: int, rng: np.random.Generator) -> Iterator[JudgmentSplit]:
        """The judgments of ``judging`` random workers label all candidates; the truth is what the others said."""
        candidates = np.arange(len(self.places))
        for _ in range(count):
            judges, _ = _divided(self.groups, judging, rng)
            known = np.isin(self.votes.worker, [self.groups.index(worker) for worker in judges])
            yield JudgmentSplit(known, candidates, self.places.observe(self.votes.counts(~known)).labels())


def _divided(names: Sequence[str], judging: int, rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """A random division into those who judge and the others."""
    if not 0 < judging < len(names):
        raise RyptError(
            f"expected judgments of at least 1 and of fewer than all {len(names)}, found {judging}"
        )
    order = [names[i] for i in rng.permutation(len(names))]
    return order[:judging], order[judging:]


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
        self.states = np.zeros(len(STATES), np.int64)
        self.rules = {YES_DOWN: [0, 0], NO_UP: [0, 0]}  # how often each is right, of how many
        self.right: dict[tuple[str, str], int] = {}
        self.checked = {"percolated": 0, "unlabelled": 0}

    def add(self, observations: Observations, truth: Codes, table: Floats | None, ties: str) -> None:
        states, _ = observations.percolated(ties)
        self.states += np.bincount(states, minlength=len(self.states))
        known = truth != UNKNOWN
        for state, label in ((YES_DOWN, YES), (NO_UP, NO)):
            chosen = (states == state) & known
            self.rules[state][0] += int(np.count_nonzero(truth[chosen] == label))
            self.rules[state][1] += int(np.count_nonzero(chosen))
        p_yes = {
            "always_yes": np.ones(len(states)),
            "percolation": Percolation(ties=ties).p_yes(observations),
        }
        p_yes |= {} if table is None else {"table": table}
        places = {
            "percolated": known & ((states == YES_DOWN) | (states == NO_UP)),
            "unlabelled": known & (observations.labels(ties) == UNKNOWN),
        }
        for where, chosen in places.items():
            self.checked[where] += int(np.count_nonzero(chosen))
            for name, p in p_yes.items():
                right = int(np.count_nonzero((p[chosen] >= 0.5) == (truth[chosen] == YES)))
                self.right[where, name] = self.right.get((where, name), 0) + right

    def accuracies(self, where: str) -> Accuracies:
        checked = self.checked[where]
        names = ("always_yes", "percolation", "table")
        return Accuracies(checked, *(_share(self.right.get((where, name)), checked) for name in names))

    def point(self) -> CurvePoint:
        yes, no, yes_down, no_up = (int(self.states[state]) for state in (YES, NO, YES_DOWN, NO_UP))
        nodes = int(self.states.sum())
        return CurvePoint(
            self.max_len,
            before=_share(yes + no, nodes),
            after=_share(yes + no + yes_down + no_up, nodes),
            from_yes=_share(yes_down, nodes),
            from_no=_share(no_up, nodes),
            yes_right=_share(*self.rules[YES_DOWN]),
            no_right=_share(*self.rules[NO_UP]),
            percolated=self.accuracies("percolated"),
            unlabelled=self.accuracies("unlabelled"),
        )


def _share(part: int | None, whole: int) -> float:
    return part / whole if part is not None and whole else float("nan")


def percolation_curve(
    division: HeldOutSystems | HeldOutWorkers,
    max_lens: Sequence[int],
    *,
    splits: int,
    judging: int,
    seed: int,
    ties: str = "unknown",
    table: bool = True,
    watch: SplitWatch = lambda splits: splits,
) -> list[CurvePoint]:
    """Coverage and accuracies for each maxLen.

    With ``table`` the calibrated table is fitted on half of the segments and asked about the other half, for every
    split and maxLen.
    """
    rng = np.random.default_rng(seed)
    votes, places = division.votes, division.places
    tallies = [_Tally(max_len) for max_len in max_lens]
    frontiers = [places.judged.counted(max_len)[votes.key] for max_len in max_lens]
    for split in watch(division.splits(splits, judging, rng)):
        part = places.take(split.candidates)
        for tally, frontier in zip(tallies, frontiers, strict=True):
            observations = part.observe(votes.counts(split.known & frontier))
            p_yes = _table_predictions(observations, split.truth, seed, ties) if table else None
            tally.add(observations, split.truth, p_yes, ties)
    return [tally.point() for tally in tallies]


def _table_predictions(observations: Observations, truth: Codes, seed: int, ties: str) -> Floats:
    """P(YES) of every constituent by tables that learned from the other half of the segments."""
    predictions = np.full(len(truth), 0.5)
    trees = len(observations.forest.trees)
    fold_of = np.random.default_rng(seed).integers(0, FOLDS, trees)[observations.segments]
    for fold in range(FOLDS):
        test = np.repeat(fold_of == fold, np.diff(observations.offsets))
        if test.any():
            train = observations.take(np.flatnonzero(fold_of != fold)), truth[~test]
            asked = observations.take(np.flatnonzero(fold_of == fold))
            predictions[test] = CalibratedTable.fit([train], ties).p_yes(asked)
    return predictions
