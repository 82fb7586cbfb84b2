"""The trees of all segments as arrays."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Ids, Ints
from rypt.records import Candidate
from rypt.scoring.frontier import frontier
from rypt.text import FormatError
from rypt.texts.trees import SourceTree


class Forest:
    """The constituents of all segments, one segment after the other, parents before children.

    A segment without a parse has no constituents. ``parents`` count within the segment, -1 for a root; so do
    ``leaves``, which hold the constituent of each source token.
    """

    def __init__(self, trees: Mapping[str, SourceTree | None]) -> None:
        self.index = {segment: i for i, segment in enumerate(trees)}
        self.trees = list(trees.values())
        self.counts: Ints = np.array([len(tree.constituents) if tree else 0 for tree in self.trees], np.int64)
        self.sizes: Ints = np.array([len(tree.tokens) if tree else 0 for tree in self.trees], np.int64)
        self.firsts: Ints = np.append(0, np.cumsum(self.counts))
        nodes = [constituent for tree in self.trees if tree for constituent in tree.constituents]
        self.starts: Ids = np.array([node.span.start for node in nodes], np.int32)
        self.stops: Ids = np.array([node.span.stop for node in nodes], np.int32)
        self.parents: Ids = np.array([node.parent for node in nodes], np.int32)
        self.lengths = self.stops - self.starts  # in source tokens
        self.segments: Ints = np.repeat(np.arange(len(self.trees)), self.counts)
        self.first_leaves: Ints = np.append(0, np.cumsum(self.sizes))
        self.leaves: Ids = np.zeros(int(self.sizes.sum()), np.int32)
        words = np.flatnonzero(self.lengths == 1)
        segments = self.segments[words]
        self.leaves[self.first_leaves[segments] + self.starts[words]] = words - self.firsts[segments]

    def position(self, segment: str) -> int:
        """The index of a segment among the trees; an unknown one is an error."""
        if segment not in self.index:
            raise FormatError(f"segment {segment!r} of a candidate is not known")
        return self.index[segment]

    def positions(self, candidates: Sequence[Candidate]) -> Ids:
        index = self.index
        try:
            return np.array([index[candidate.segment] for candidate in candidates], np.int32)
        except KeyError as error:
            raise FormatError(f"segment {error.args[0]!r} of a candidate is not known") from None

    def on_frontier(self, max_len: int) -> NDArray[np.bool_]:
        """Which of the constituents Algorithm 1 asks about."""
        chosen = np.zeros(len(self.parents), np.bool_)
        for first, tree in zip(self.firsts.tolist(), self.trees, strict=False):
            if tree:
                chosen[[first + node for node in frontier(tree, max_len)]] = True
        return chosen

    def node(self, segment: str, start: int, stop: int) -> int:
        """The index of a constituent in the arrays, -1 where the span is none."""
        position = self.index.get(segment, -1)
        tree = self.trees[position] if position >= 0 else None
        local = tree.index.get((start, stop), -1) if tree else -1  # type: ignore[call-overload]
        return int(self.firsts[position]) + local if local >= 0 else -1
