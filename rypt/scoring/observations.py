"""The votes on the phrase of each constituent of each candidate, before percolation: the input of every model.

judged = JudgedPhrases(Forest(trees), votes.keys)
places = judged.look_up(candidates, "lower")      # once; the texts are not needed again
places.observe(votes.counts())                    # as often as there are other votes to count
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes, Floats, Ids, Ints
from rypt.records import Candidate
from rypt.scoring.forest import Forest
from rypt.scoring.percolation import NO, UNKNOWN, YES, percolate_states
from rypt.scoring.phrase_keys import Keys, candidate_keys, phrase_keys

TIE_STATES = {"unknown": UNKNOWN, "no": NO, "yes": YES}


class JudgedPhrases:
    """Phrases with a judgment, ready to be looked up in candidates.

    ``keys`` are (segment, start, stop, phrase) with the phrase in its normal form. ``nodes`` has the constituent of
    each, -1 for a key that is of no constituent of these trees; such keys are ``unused``.
    """

    def __init__(self, forest: Forest, keys: Iterable[tuple[str, int, int, str]]) -> None:
        self.forest = forest
        given = list(keys)
        spans = {key[:3]: 0 for key in given}
        for span in spans:
            spans[span] = forest.node(*span)
        self.nodes: Ints = np.array([spans[key[:3]] for key in given], np.int64)
        used = np.flatnonzero(self.nodes >= 0)
        self.unused = len(given) - len(used)
        numbers = phrase_keys(self.nodes[used], [given[i][3] for i in used.tolist()])
        order = np.argsort(numbers, kind="stable")
        self._numbers, self._rows = numbers[order], used[order].astype(np.int32)
        self._asked = np.zeros(len(forest.parents), np.bool_)
        self._asked[self.nodes[used]] = True

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def lengths(self) -> Ids:
        """The length of each key's constituent in source tokens, 0 for an unused key."""
        lengths = np.zeros(len(self), np.int32)
        lengths[self.nodes >= 0] = self.forest.lengths[self.nodes[self.nodes >= 0]]
        return lengths

    def counted(self, max_len: int | None = None) -> NDArray[np.bool_]:
        """Which of the phrases are of a constituent; with ``max_len``, of one on that frontier."""
        counted = self.nodes >= 0
        if max_len is not None:
            counted[counted] = self.forest.on_frontier(max_len)[self.nodes[counted]]
        return counted

    def look_up(self, candidates: Sequence[Candidate], case: str) -> "Places":
        """Find for every constituent of every candidate which of the judged phrases it has."""
        segments, offsets, numbers = candidate_keys(self.forest, candidates, case)
        return self.places_in(Places(self, segments, offsets, numbers, np.zeros(0, np.int32)))

    def places_in(self, places: "Places") -> "Places":
        """Find these judged phrases where others were looked up before."""
        rows = np.full(len(places.numbers), -1, np.int32)
        if len(self._numbers):
            at = np.flatnonzero(self._asked[places.nodes] & (places.numbers != 0))
            numbers = places.numbers[at]
            nearest = np.minimum(np.searchsorted(self._numbers, numbers), len(self._numbers) - 1)
            same = self._numbers[nearest] == numbers
            rows[at[same]] = self._rows[nearest[same]]
        return Places(self, places.segments, places.offsets, places.numbers, rows)


@dataclass(frozen=True)
class Places:
    """Candidates and their constituents, those of candidate c at ``offsets[c]:offsets[c + 1]``.

    ``numbers`` are the phrase keys of constituents, 0 where nothing is aligned; ``rows`` the index of the judged
    phrase, -1 where nobody judged it.
    """

    judged: JudgedPhrases
    segments: Ids
    offsets: Ints
    numbers: Keys
    rows: Ids

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def forest(self) -> Forest:
        return self.judged.forest

    @cached_property
    def nodes(self) -> Ints:
        """The constituent at each place, as an index into the forest's arrays."""
        shifts = self.forest.firsts[self.segments] - self.offsets[:-1]
        return np.arange(self.offsets[-1]) + np.repeat(shifts, np.diff(self.offsets))

    @property
    def lengths(self) -> Ids:
        """The length of the constituent at each place, in source tokens."""
        return self.forest.lengths[self.nodes]

    def take(self, candidates: Ints) -> "Places":
        sizes = np.diff(self.offsets)[candidates]
        offsets = np.append(0, np.cumsum(sizes))
        at = np.repeat(self.offsets[candidates] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Places(self.judged, self.segments[candidates], offsets, self.numbers[at], self.rows[at])

    def observe(self, counts: Floats) -> "Observations":
        """The votes at these places; ``counts`` has a row for each judged phrase, as `rypt.database.votes` gives them.

        A phrase whose counts are 0 counts as not judged.
        """
        return Observations(self.judged, self.segments, self.offsets, self.numbers, self.rows, counts)


@dataclass(frozen=True)
class Observations(Places):
    """Places and the votes there: a row of YES, NO, NOT_SURE, penalty and graded for each judged phrase.

    The penalty is the sum of weight times severity over the NOs that have a severity, ``graded`` their weight.
    """

    counts: Floats

    def take(self, candidates: Ints) -> "Observations":
        return super().take(candidates).observe(self.counts)

    def labels(self, ties: str = "unknown") -> Codes:
        """The label at each place before percolation: `UNKNOWN`, `YES` or `NO`."""
        labels = np.zeros(len(self.rows), np.int8)
        judged = np.flatnonzero(self.rows >= 0)
        labels[judged] = vote_labels(self.counts, ties)[self.rows[judged]]
        return labels

    def percolated(self, ties: str = "unknown") -> tuple[Codes, Ints]:
        """The state at each place after percolation, and each candidate's number of NOs below a YES."""
        states, conflicts = self.labels(ties), np.zeros(len(self), np.int64)
        forest = self.forest
        percolate_states(forest.firsts, forest.parents, self.segments, self.offsets, states, conflicts)
        return states, conflicts

    def sums(self, values: NDArray[np.int64] | NDArray[np.bool_]) -> Ints:
        """The sum of values at places, for each candidate."""
        sums = np.append(0, np.cumsum(values, dtype=np.int64))
        return np.asarray(sums[self.offsets[1:]] - sums[self.offsets[:-1]], np.int64)


def vote_labels(counts: Floats, ties: str = "unknown") -> Codes:
    """The label of each row of votes: YES or NO where more people said so than either of the others.

    >>> vote_labels(np.array([[2, 1, 0], [0, 1, 1], [1, 1, 0]], np.float64), ties="no").tolist()
    [1, 0, 2]
    """
    yes, no, not_sure = counts[:, :3].T
    labels = np.where((yes > no) & (yes > not_sure), YES, UNKNOWN)
    labels[(no > yes) & (no > not_sure)] = NO
    labels[(yes == no) & (yes >= not_sure) & (yes > 0)] = TIE_STATES[ties]
    return labels.astype(np.int8)
