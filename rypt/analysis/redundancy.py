"""How much one label is reused: candidates repeat each other, and so do the phrases of their constituents.

The paper's argument for the metric (sections 4 and 8): a label belongs to (segment, span, phrase), and lists of
candidates are redundant, so few labels serve many candidates, and later iterations of MERT need few new ones.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rypt.arrays import Ints
from rypt.records import Candidate
from rypt.scoring.observations import Places


@dataclass(slots=True)
class PhraseReuse:
    """Phrases of constituents: how many there are, how many different ones, how many of these have a label.

    ``constituents`` are those with at least one phrase.
    """

    occurrences: int = 0
    unique: int = 0
    labelled: int = 0
    constituents: int = 0

    @property
    def served(self) -> float:
        """How many constituents of candidates one label serves on average."""
        return self.occurrences / self.unique if self.unique else float("nan")

    @property
    def phrases_each(self) -> float:
        """How many different phrases a constituent has."""
        return self.unique / self.constituents if self.constituents else float("nan")


@dataclass(slots=True)
class ListCounts:
    """What one list holds, and what in it no list before held.

    In ``everywhere`` and ``frontier``, ``unique`` counts phrases (and ``constituents`` those constituents) that are new
    with this list, so that they add up to those of all lists.
    """

    name: str
    candidates: int = 0
    new: int = 0
    everywhere: PhraseReuse = field(default_factory=PhraseReuse)
    frontier: PhraseReuse = field(default_factory=PhraseReuse)

    def as_dict(self) -> dict[str, Any]:
        record = asdict(self)
        for name, reuse in (("everywhere", self.everywhere), ("frontier", self.frontier)):
            record[name] |= {"served": reuse.served, "phrases_each": reuse.phrases_each}
        return record


@dataclass(frozen=True, slots=True)
class Redundancy:
    """All lists in order, and their sum."""

    max_len: int
    lists: list[ListCounts]
    total: ListCounts

    def as_dict(self) -> dict[str, Any]:
        lists = [one.as_dict() for one in self.lists]
        return {"max_len": self.max_len, "lists": lists, "total": self.total.as_dict()}


def redundancy(lists: Sequence[tuple[str, Sequence[Candidate]]], places: Places, max_len: int) -> Redundancy:
    """Count candidates and phrases of lists in their order, such as the iterations of a MERT run.

    ``places`` are those of all candidates, list after list, where judged phrases were looked up. A candidate is new
    when no candidate before has its text and its alignment. Segments without a parse count only as candidates.
    """
    sizes = [len(candidates) for _, candidates in lists]
    identities = [(c.segment, c.text, c.alignment) for _, candidates in lists for c in candidates]
    whose = np.repeat(np.arange(len(lists)), sizes)  # the list of each candidate
    first = {identity: i for i, identity in reversed(list(enumerate(identities)))}
    new = np.bincount(whose[sorted(first.values())], minlength=len(lists)).tolist()
    of_place = np.repeat(whose, np.diff(places.offsets))
    aligned = np.flatnonzero(places.numbers != 0)
    on_frontier = aligned[places.forest.on_frontier(max_len)[places.nodes[aligned]]]
    everywhere, frontier = (_reuse(places, at, of_place, len(lists)) for at in (aligned, on_frontier))
    rows = zip([name for name, _ in lists], sizes, new, everywhere, frontier, strict=True)
    counts = [ListCounts(*row) for row in rows]
    total = ListCounts("all", sum(sizes), len(first), *(_sum(reuses) for reuses in (everywhere, frontier)))
    return Redundancy(max_len, counts, total)


def _reuse(places: Places, at: Ints, of_place: Ints, lists: int) -> list[PhraseReuse]:
    """The phrases at some places, by list; what is counted once counts for the list where it comes first."""
    _, phrases = np.unique(places.numbers[at], return_index=True)
    _, constituents = np.unique(places.nodes[at], return_index=True)
    labelled = phrases[places.rows[at[phrases]] >= 0]
    counted = (np.arange(len(at)), phrases, labelled, constituents)
    columns = [np.bincount(of_place[at[each]], minlength=lists).tolist() for each in counted]
    return [PhraseReuse(*row) for row in zip(*columns, strict=True)]


def _sum(reuses: Sequence[PhraseReuse]) -> PhraseReuse:
    names = ("occurrences", "unique", "labelled", "constituents")
    return PhraseReuse(*(sum(getattr(reuse, name) for reuse in reuses) for name in names))
