"""How far percolated labels can be trusted, measured with judgments of disjoint systems.

The judgments of some systems' candidates are the database; the other systems' candidates are scored with it, and
what was said of *their own* phrases is the truth. (Leaving out one candidate's own judgments instead is biased.)
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rypt.calibration import concatenate
from rypt.frontier import frontier
from rypt.kernel import Codes
from rypt.model import (
    CalibratedTable,
    Floats,
    Percolation,
    direct_labels,
    length_class,
    percolated,
    yes_share_by_length,
)
from rypt.observations import Forest, JudgedPhrases, Observations
from rypt.percolation import NO_UP, YES_DOWN
from rypt.records import Candidate, Span, Votes
from rypt.scorer import coverage
from rypt.tree_model import TreeModel, log_loss
from rypt.trees import SourceTree

VotesOf = Callable[[Collection[str]], Sequence[Votes]]


@dataclass(frozen=True, slots=True)
class Split:
    """One division of the systems: what the judgments of some say of the others' candidates, and the truth."""

    observations: Observations
    truth: Codes


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One max_len of the paper's Figure 3; shares from 0 to 1."""

    max_len: int
    before: float
    after: float
    accuracy: float
    yes_right: float
    no_right: float
    always_yes: float


@dataclass(frozen=True, slots=True)
class Quality:
    """How well P(YES) of all judged constituents agrees with the truth."""

    accuracy: float
    auc: float
    log_loss: float


def frontier_spans(trees: Mapping[str, SourceTree | None], max_len: int) -> set[tuple[str, Span]]:
    """The constituents that Algorithm 1 asks about, in all segments."""
    return {
        (segment, tree.constituents[i].span)
        for segment, tree in trees.items()
        if tree is not None
        for i in frontier(tree, max_len)
    }


class DisjointSystems:
    """Candidates by system, and the judgments of any set of systems."""

    def __init__(
        self,
        trees: Mapping[str, SourceTree | None],
        systems: Mapping[str, Sequence[Candidate]],
        votes_of: VotesOf,
        *,
        judged_only: Collection[str] = (),
        case: str = "lower",
    ) -> None:
        """``judged_only`` are systems (a reference, say) whose judgments are used but which are never scored."""
        self.trees = trees
        self.forest = Forest(trees)
        self.systems = systems
        self.votes_of = votes_of
        self.judged_only = sorted(judged_only)
        self.case = case
        self.own = {
            system: direct_labels(JudgedPhrases(self.forest, votes_of([system])).observe(candidates, case))
            for system, candidates in systems.items()
        }

    def splits(
        self, count: int, judging: int, rng: np.random.Generator, max_lens: Sequence[int | None] = (None,)
    ) -> Iterator[list[Split]]:
        """Random divisions: ``judging`` systems give judgments, the rest are scored.

        For each division a split for each max_len, with the judgments on its frontier; None takes all judgments.
        """
        frontiers = [None if max_len is None else frontier_spans(self.trees, max_len) for max_len in max_lens]
        names = sorted(set(self.systems) - set(self.judged_only))
        for _ in range(count):
            order = [names[i] for i in rng.permutation(len(names))]
            votes = self.votes_of([*order[:judging], *self.judged_only])
            yield [self._split(votes, allowed, order[judging:]) for allowed in frontiers]

    def _split(self, votes: Sequence[Votes], allowed: set[tuple[str, Span]] | None, scored: Sequence[str]) -> Split:
        if allowed is not None:
            votes = [vote for vote in votes if (vote.segment, vote.span) in allowed]
        judged = JudgedPhrases(self.forest, votes)
        observations = concatenate([judged.observe(self.systems[system], self.case) for system in scored])
        return Split(observations, np.concatenate([self.own[system] for system in scored]))

    def curve(
        self, max_lens: Sequence[int], *, splits: int, judging: int, seed: int, ties: str = "unknown"
    ) -> list[CurvePoint]:
        """Coverage and accuracy of percolation for each max_len, with the share of YES as the baseline (Figure 3)."""
        divided = list(self.splits(splits, judging, np.random.default_rng(seed), max_lens))
        return [
            _curve_point(max_len, of_one, ties)
            for max_len, of_one in zip(max_lens, zip(*divided, strict=True), strict=True)
        ]

    def compare_models(
        self, *, splits: int, judging: int, seed: int, max_len: int | None = 4, ties: str = "unknown", folds: int = 5
    ) -> dict[str, Quality]:
        """Accuracy, AUC and log loss of each model; fitted on some segments, measured on the others."""
        rng = np.random.default_rng(seed)
        truths: list[Codes] = []
        predictions: dict[str, list[Floats]] = {}
        for (split,) in self.splits(splits, judging, rng, [max_len]):
            fold_of = rng.integers(0, folds, len(self.forest.trees))[split.observations.segments]
            for fold in range(folds):
                train, test = (_part(split, chosen) for chosen in (fold_of != fold, fold_of == fold))
                truths.append(test[1])
                for name, p in _predictions(*train, test[0], ties).items():
                    predictions.setdefault(name, []).append(p)
        truth = np.concatenate(truths)
        return {name: quality(np.concatenate(p), truth) for name, p in predictions.items()}


def _part(split: Split, chosen: NDArray[np.bool_]) -> tuple[Observations, Codes]:
    places = np.repeat(chosen, np.diff(split.observations.offsets))
    return split.observations.take(np.flatnonzero(chosen)), split.truth[places]


def _predictions(train: Observations, truth: Codes, test: Observations, ties: str) -> dict[str, Floats]:
    return {
        "length prior": yes_share_by_length(train, truth)[length_class(test.lengths)],
        "hard percolation, unknown = 0.5": Percolation(ties=ties).p_yes(test),
        "calibrated table": CalibratedTable.fit(train, truth, ties).p_yes(test),
        "tree model": TreeModel.fit(train, truth, novelty=False, temper=1.0).p_yes(test),
        "tree model + novelty": TreeModel.fit(train, truth, temper=1.0).p_yes(test),
        "tree model + novelty, tempered": TreeModel.fit(train, truth).p_yes(test),
    }


def _curve_point(max_len: int, splits: Sequence[Split], ties: str) -> CurvePoint:
    covered = [coverage(split.observations, ties) for split in splits]
    nodes = sum(c.nodes for c in covered)
    right = {YES_DOWN: [0, 0], NO_UP: [0, 0]}
    for split in splits:
        states, _ = percolated(split.observations, ties)
        for state, counts in right.items():
            chosen = (states == state) & (split.truth >= 0)
            counts[0] += int(np.count_nonzero(split.truth[chosen] == (state == YES_DOWN)))
            counts[1] += int(np.count_nonzero(chosen))
    (yes_right, yes_all), (no_right, no_all) = right[YES_DOWN], right[NO_UP]
    checked = max(1, yes_all + no_all)
    return CurvePoint(
        max_len,
        before=sum(c.yes + c.no for c in covered) / nodes,
        after=sum(c.yes + c.no + c.percolated_yes + c.percolated_no for c in covered) / nodes,
        accuracy=(yes_right + no_right) / checked,
        yes_right=yes_right / yes_all if yes_all else float("nan"),
        no_right=no_right / no_all if no_all else float("nan"),
        always_yes=(yes_right + no_all - no_right) / checked,
    )


def quality(p_yes: Floats, truth: Codes) -> Quality:
    """Measure probabilities against labels (1 YES, 0 NO, -1 none); P = 0.5 counts as YES."""
    known = truth >= 0
    p, labels = p_yes[known], truth[known]
    return Quality(float(np.mean((p >= 0.5) == (labels == 1))), area_under_curve(p, labels), log_loss(p_yes, truth))


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
