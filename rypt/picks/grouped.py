"""Votes kept apart by who gave them, so that any set of workers or systems can be the database.

    GroupedVotes(trees, db.votes_by("origin"), candidates)   →   observe({"JHU", "UEDIN"}, …)

Phrases are looked up in the candidates once; each further set of groups costs a few sums.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes, Floats
from rypt.metric.frontier import frontier
from rypt.metric.kernel import NOVEL, SILENT
from rypt.metric.model import direct_labels
from rypt.metric.observations import Forest, JudgedPhrases, Observations, vote_codes
from rypt.records import Candidate, Span, Votes
from rypt.texts.trees import SourceTree

Chosen = NDArray[np.int64]  # indices of candidates


class GroupedVotes:
    """The votes of each group on the phrases of these candidates.

    With ``max_len``, only votes on the frontier count. Votes on what is no constituent are left out.
    """

    def __init__(
        self,
        trees: Mapping[str, SourceTree | None],
        votes: Iterable[tuple[str, Votes]],
        candidates: Sequence[Candidate],
        *,
        max_len: int | None = None,
        case: str = "lower",
    ) -> None:
        self.forest = Forest(trees)
        spans = {segment: _spans(tree, max_len) for segment, tree in trees.items()}
        self.groups: list[str] = []
        numbers: dict[str, int] = {}
        keys: dict[tuple[str, Span, str], int] = {}
        rows, groups, counts = [], [], []
        for group, vote in votes:
            if vote.span not in spans.get(vote.segment, ()):
                continue
            rows.append(keys.setdefault((vote.segment, vote.span, vote.phrase), len(keys)))
            groups.append(numbers.setdefault(group, len(numbers)))
            counts.append((vote.yes, vote.no, vote.not_sure))
        self.groups = list(numbers)
        self._row, self._group = np.array(rows, np.int64), np.array(groups, np.int64)
        self._counts: Floats = np.array(counts, np.float64).reshape(-1, 3)
        judged = JudgedPhrases(self.forest, (Votes(*key, 1, 0) for key in keys))
        self._nodes = np.array([spans[segment][span] for segment, span, _ in keys], np.int64)
        self._nodes += self.forest.firsts[[self.forest.index[segment] for segment, _, _ in keys]] if keys else 0
        self._segments = np.array([self.forest.index[segment] for segment, _, _ in keys], np.int64)
        self.places = judged.rows(candidates, case)

    def __len__(self) -> int:
        return len(self._nodes)

    def counts(self, groups: Collection[str]) -> Floats:
        """YES, NO and NOT_SURE of each key by these groups, (keys, 3)."""
        chosen = np.isin(self._group, [i for i, name in enumerate(self.groups) if name in groups])
        return np.stack(
            [np.bincount(self._row[chosen], self._counts[chosen, i], minlength=len(self)) for i in range(3)], axis=1
        )

    def permuted(self, counts: Floats, rng: np.random.Generator) -> Floats:
        """The same verdicts on other phrases that were judged in the same segment: a control."""
        judged = np.flatnonzero(counts.sum(axis=1) > 0)
        shuffled = judged[np.lexsort((rng.random(len(judged)), self._segments[judged]))]
        ordered = judged[np.argsort(self._segments[judged], kind="stable")]
        result = counts.copy()
        result[ordered] = counts[shuffled]
        return result

    def observe(self, counts: Floats, candidates: Chosen) -> Observations:
        """What these counts say of each constituent of some of the candidates."""
        judged = counts.sum(axis=1) > 0
        asked = np.zeros(len(self.forest.parents), np.bool_)
        asked[self._nodes[judged]] = True
        codes = np.where(judged, vote_codes(*counts.T), np.where(asked[self._nodes], NOVEL, SILENT)).astype(np.int8)
        segments = self.places.segments[candidates]
        sizes = np.diff(self.places.offsets)[candidates]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        each = np.arange(offsets[-1])
        rows = self.places.rows[np.repeat(self.places.offsets[candidates] - offsets[:-1], sizes) + each]
        nodes = np.repeat(self.forest.firsts[segments] - offsets[:-1], sizes) + each
        missing = np.where(rows == -1 - NOVEL, np.where(asked[nodes], NOVEL, SILENT), -1 - rows)
        observed = np.where(rows >= 0, codes[np.maximum(rows, 0)], missing) if len(codes) else missing
        return Observations(self.forest, segments, offsets, observed.astype(np.int8))

    def labels(self, groups: Collection[str], candidates: Chosen, ties: str = "unknown") -> Codes:
        """The labels of these groups on each constituent: 1 YES, 0 NO, -1 nothing."""
        return direct_labels(self.observe(self.counts(groups), candidates), ties)


def _spans(tree: SourceTree | None, max_len: int | None) -> Mapping[Span, int]:
    """The constituents whose votes count, and their numbers in the tree."""
    if tree is None:
        return {}
    if max_len is None:
        return tree.index
    return {tree.constituents[i].span: i for i in frontier(tree, max_len)}
