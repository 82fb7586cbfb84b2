"""Votes kept apart by who gave them, so that any set of workers or systems can be the database.

    GroupedVotes(trees, read_vote_table(db), candidates, group="origin")   →   observe(counts({"JHU", "UEDIN"}), …)

Phrases are looked up in the candidates once; each further set of groups costs a few sums.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes, Floats
from rypt.database.vote_table import LABELS, VoteTable
from rypt.options import HOLD_OUT, check_option
from rypt.records import Candidate, Span
from rypt.scoring.forest import Forest
from rypt.scoring.frontier import frontier
from rypt.scoring.observations import JudgedPhrases, Observations
from rypt.texts.trees import SourceTree

Chosen = NDArray[np.int64]  # indices of candidates
YES, NO, NOT_SURE, PENALTY, GRADED = range(5)  # columns of counts


@dataclass(frozen=True, slots=True)
class SegmentJudges:
    """Whose votes are known in each segment, in the order of the trees."""

    names: tuple[frozenset[str], ...]

    def without(self, others: "SegmentJudges") -> "SegmentJudges":
        """The judges of each segment that are not among the others' there."""
        return SegmentJudges(tuple(a - b for a, b in zip(self.names, others.names, strict=True)))


Judges = Collection[str] | SegmentJudges  # the same groups everywhere, or for each segment its own


class GroupedVotes:
    """The votes of each group (each ``worker`` or each ``origin``) on the phrases of these candidates.

    With ``max_len``, only votes on the frontier count. Votes on what is no constituent are left out.
    """

    def __init__(
        self,
        trees: Mapping[str, SourceTree | None],
        votes: VoteTable,
        candidates: Sequence[Candidate],
        *,
        group: str = "origin",
        max_len: int | None = None,
        case: str = "lower",
    ) -> None:
        check_option("group", group, HOLD_OUT)
        self.forest = Forest(trees)
        spans = {segment: _spans(tree, max_len) for segment, tree in trees.items()}
        nodes = np.array([spans.get(name, {}).get(Span(a, b), -1) for name, a, b, _ in votes.keys], np.int64)
        counted = nodes >= 0
        keys = [key for key, taken in zip(votes.keys, counted.tolist(), strict=True) if taken]
        taken = counted[votes.key]
        self._row = (np.cumsum(counted) - 1)[votes.key[taken]]
        self._label, self._weight, self._severity = (
            votes.label[taken],
            votes.weight[taken],
            votes.severity[taken],
        )
        self.origins, self._origin = _used(votes.origins, votes.origin[taken])
        self.groups, self._group = (
            (self.origins, self._origin) if group == "origin" else _used(votes.workers, votes.worker[taken])
        )
        self._segments = np.array([self.forest.index[segment] for segment, *_ in keys], np.int64)
        self.judged = JudgedPhrases(self.forest, keys)
        self.places = self.judged.look_up(candidates, case)

    def __len__(self) -> int:
        return len(self.judged)

    def counts(self, judges: Judges, origins: Collection[str] | None = None) -> Floats:
        """What these groups say of each key, (keys, 5); ``origins`` takes only what was given there.

        The columns are YES, NO and NOT_SURE, the penalty that NOs with a severity add up to, and the number of these.
        """
        chosen = self._given_by(judges)
        if origins is not None:
            chosen &= np.array([name in origins for name in self.origins], np.bool_)[self._origin]
        graded = chosen & ~np.isnan(self._severity)
        sums = [self._sums(chosen & (self._label == label), self._weight) for label in range(len(LABELS))]
        sums += [self._sums(graded, self._weight * self._severity), self._sums(graded, self._weight)]
        return np.stack(sums, axis=1)

    def _sums(self, chosen: NDArray[np.bool_], values: Floats) -> Floats:
        """The sum of the values of the chosen votes on each key."""
        return np.asarray(np.bincount(self._row[chosen], values[chosen], minlength=len(self)), np.float64)

    def _given_by(self, judges: Judges) -> NDArray[np.bool_]:
        """Which votes are by these groups."""
        if not isinstance(judges, SegmentJudges):
            return np.array([name in judges for name in self.groups], np.bool_)[self._group]
        known = np.zeros((len(self.groups), len(self.forest.trees)), np.bool_)
        numbers = {name: i for i, name in enumerate(self.groups)}
        for segment, names in enumerate(judges.names):
            known[[numbers[name] for name in names if name in numbers], segment] = True
        return np.asarray(known[self._group, self._segments[self._row]], np.bool_)

    def permuted(self, counts: Floats, rng: np.random.Generator) -> Floats:
        """The same verdicts on other phrases that were judged in the same segment: a control."""
        judged = np.flatnonzero(_is_judged(counts))
        shuffled = judged[np.lexsort((rng.random(len(judged)), self._segments[judged]))]
        ordered = judged[np.argsort(self._segments[judged], kind="stable")]
        result = counts.copy()
        result[ordered] = counts[shuffled]
        return result

    def observe(self, counts: Floats, candidates: Chosen) -> Observations:
        """What these counts say of each constituent of some of the candidates."""
        return self.places.take(candidates).observe(counts)

    def labels(
        self,
        judges: Judges,
        candidates: Chosen,
        ties: str = "unknown",
        *,
        origins: Collection[str] | None = None,
    ) -> Codes:
        """The labels of these groups on each constituent."""
        return self.observe(self.counts(judges, origins), candidates).labels(ties)


def _is_judged(counts: Floats) -> NDArray[np.bool_]:
    return np.asarray(counts[:, : len(LABELS)].sum(axis=1) > 0, np.bool_)


def _used(names: Sequence[str], numbers: NDArray[np.int32]) -> tuple[list[str], NDArray[np.int64]]:
    """The names that are used, and for each number its place among them."""
    used, places = np.unique(numbers, return_inverse=True)
    return [names[i] for i in used.tolist()], places.reshape(-1).astype(np.int64)


def _spans(tree: SourceTree | None, max_len: int | None) -> Mapping[Span, int]:
    """The constituents whose votes count, and their numbers in the tree."""
    if tree is None:
        return {}
    if max_len is None:
        return tree.index
    return {tree.constituents[i].span: i for i in frontier(tree, max_len)}
