"""Held-out judgments: labels from some systems or workers, checked by the labels of the others.

    DisjointSystems(trees, systems, votes_of)   →   splits(…)   →   rypt.analysis.curve, rypt.analysis.models

The judgments of some systems' candidates (or of some workers) are the database; what the others said is the truth.
Whole systems or workers are held out. Holding out one candidate's own judgments, or single judgments of a key, would be
biased: the remaining judgments look better exactly for the candidates that lost a NO.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rypt.arrays import Codes, Floats
from rypt.records import Candidate, Span, Votes
from rypt.scoring.forest import Forest
from rypt.scoring.frontier import frontier
from rypt.scoring.observations import JudgedPhrases, Observations
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

ALL = "all"  # the one list of candidates that workers judge
VotesOf = Callable[[Collection[str]], Sequence[Votes]]


@dataclass(frozen=True, slots=True)
class JudgmentSplit:
    """The labels that some judgments give to candidates, and those from the others, the truth."""

    observations: Observations
    truth: Codes


class Division(Protocol):
    """A way to split judgments in two at random."""

    @property
    def forest(self) -> Forest:
        """The trees."""

    def splits(
        self, count: int, judging: int, rng: np.random.Generator, max_lens: Sequence[int | None] = (None,)
    ) -> Iterator[list[JudgmentSplit]]:
        """Random divisions in which ``judging`` systems or workers give the judgments.

        For each division a split for each max_len, with the judgments on its frontier; None takes all judgments.
        """


def frontier_spans(trees: Mapping[str, SourceTree | None], max_len: int) -> set[tuple[str, Span]]:
    """The constituents that Algorithm 1 asks about, in all segments."""
    return {
        (segment, tree.constituents[i].span)
        for segment, tree in trees.items()
        if tree is not None
        for i in frontier(tree, max_len)
    }


def _frontiers(
    trees: Mapping[str, SourceTree | None], max_lens: Sequence[int | None]
) -> list[set[tuple[str, Span]] | None]:
    return [None if max_len is None else frontier_spans(trees, max_len) for max_len in max_lens]


def _on(allowed: set[tuple[str, Span]] | None, votes: Sequence[Votes]) -> Sequence[Votes]:
    """The votes on some constituents."""
    return votes if allowed is None else [vote for vote in votes if (vote.segment, vote.span) in allowed]


class LookedUp:
    """Candidates whose phrases are looked up once, so that any part of the votes can be observed again and again."""

    def __init__(
        self, forest: Forest, votes: Sequence[Votes], lists: Mapping[str, Sequence[Candidate]], case: str
    ) -> None:
        """``votes`` are all that may be observed, ``lists`` named lists of candidates."""
        keys = [(vote.segment, *vote.span, vote.phrase) for vote in votes]
        self._rows = {key: row for row, key in enumerate(keys)}
        self._places = JudgedPhrases(forest, keys).look_up([c for some in lists.values() for c in some], case)
        ends = np.cumsum([len(candidates) for candidates in lists.values()])
        self._candidates = dict(zip(lists, np.split(np.arange(len(self._places)), ends), strict=False))

    def counts(self, votes: Iterable[Votes]) -> Floats:
        """The votes of each key, for `observe`."""
        counts = np.zeros((len(self._rows), 5))
        for vote in votes:
            row = self._rows[vote.segment, *vote.span, vote.phrase]
            counts[row] = vote.yes, vote.no, vote.not_sure, vote.penalty, vote.graded
        return counts

    def observe(self, counts: Floats, names: Sequence[str]) -> Observations:
        """What these counts say of the candidates of some lists."""
        chosen = np.concatenate([self._candidates[name] for name in names])
        return self._places.take(chosen).observe(counts)


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
        self.looked_up = LookedUp(self.forest, votes_of([*systems, *self.judged_only]), systems, case)
        self.own = {
            system: self.looked_up.observe(self.looked_up.counts(votes_of([system])), [system]).labels()
            for system in systems
        }

    @property
    def groups(self) -> list[str]:
        """The systems that are judged or scored, by turns."""
        return sorted(set(self.systems) - set(self.judged_only))

    def splits(
        self, count: int, judging: int, rng: np.random.Generator, max_lens: Sequence[int | None] = (None,)
    ) -> Iterator[list[JudgmentSplit]]:
        """The judgments of ``judging`` random systems label the candidates of the rest."""
        frontiers = _frontiers(self.trees, max_lens)
        for _ in range(count):
            judges, scored = _divided(self.groups, judging, rng)
            votes = self.votes_of([*judges, *self.judged_only])
            yield [self._split(_on(allowed, votes), scored) for allowed in frontiers]

    def _split(self, votes: Sequence[Votes], scored: Sequence[str]) -> JudgmentSplit:
        counts = self.looked_up.counts(votes)
        observations = self.looked_up.observe(counts, scored)
        return JudgmentSplit(observations, np.concatenate([self.own[system] for system in scored]))


class DisjointWorkers:
    """All candidates, and the judgments of any set of workers."""

    def __init__(
        self,
        trees: Mapping[str, SourceTree | None],
        candidates: Sequence[Candidate],
        workers: Collection[str],
        votes_of: VotesOf,
        *,
        case: str = "lower",
    ) -> None:
        self.trees = trees
        self.forest = Forest(trees)
        self.candidates = candidates
        self.groups = sorted(workers)
        self.votes_of = votes_of
        self.case = case
        self.looked_up = LookedUp(self.forest, votes_of(self.groups), {ALL: candidates}, case)

    def splits(
        self, count: int, judging: int, rng: np.random.Generator, max_lens: Sequence[int | None] = (None,)
    ) -> Iterator[list[JudgmentSplit]]:
        """The judgments of ``judging`` random workers label all candidates; the truth is what the others said."""
        frontiers = _frontiers(self.trees, max_lens)
        for _ in range(count):
            judges, others = _divided(self.groups, judging, rng)
            votes = self.votes_of(judges)
            truth = self._observe(self.votes_of(others)).labels()
            yield [JudgmentSplit(self._observe(_on(allowed, votes)), truth) for allowed in frontiers]

    def _observe(self, votes: Sequence[Votes]) -> Observations:
        return self.looked_up.observe(self.looked_up.counts(votes), [ALL])


def _divided(names: Sequence[str], judging: int, rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """A random division into those who judge and the others."""
    if not 0 < judging < len(names):
        raise RyptError(
            f"expected judgments of at least 1 and of fewer than all {len(names)}, found {judging}"
        )
    order = [names[i] for i in rng.permutation(len(names))]
    return order[:judging], order[judging:]
