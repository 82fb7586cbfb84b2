"""How much one label is reused: candidates repeat each other, and so do the phrases of their constituents.

The paper's argument for the metric (sections 4 and 8): a label belongs to (segment, span, phrase), and lists of
candidates are redundant, so few labels serve many candidates, and later iterations of MERT need few new ones.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from tabulate import tabulate

from rypt.arrays import Ints
from rypt.records import Candidate
from rypt.scoring.observations import Places
from rypt.texts.lists import list_name

LONGEST_NAME = 18
COUNTS = ("occurrences", "unique", "labelled", "constituents")


@dataclass(frozen=True, slots=True)
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

    def __str__(self) -> str:
        if not self.unique:
            return "no phrases"
        return (
            f"{self.occurrences:,} phrases, {self.unique:,} different ({self.unique / self.occurrences:.1%}), "
            f"{self.phrases_each:.2f} a constituent; one label serves {self.served:.1f} places; "
            f"{self.labelled:,} have a label"
        )


@dataclass(frozen=True, slots=True)
class ListCounts:
    """What one list holds, and what in it no list before held.

    In ``everywhere`` and ``frontier``, ``unique`` counts phrases (and ``constituents`` those constituents) that are new
    with this list, so that they add up to those of all lists.
    """

    name: str
    candidates: int
    new: int
    everywhere: PhraseReuse
    frontier: PhraseReuse

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

    def text(self) -> str:
        """A row for each list: candidates, and phrases of all constituents and of the frontier's; and their reuse."""
        frontier, total = f"frontier({self.max_len})", self.total
        names = ("list", "candidates", "new", "phrases", "new", frontier, "new", "of these labelled")
        rows = []
        for one in self.lists if len(self.lists) == 1 else [*self.lists, total]:
            everywhere = (one.everywhere.occurrences, one.everywhere.unique)
            on_frontier = (one.frontier.occurrences, one.frontier.unique, one.frontier.labelled)
            numbers = (one.candidates, one.new, *everywhere, *on_frontier)
            rows.append((one.name, *(f"{number:,}" for number in numbers)))
        table = tabulate(rows, names, disable_numparse=True, colalign=("left", *["right"] * (len(names) - 1)))
        return (
            f"{table}\n\n{total.new:,} of {total.candidates:,} candidates are different\n"
            f"all constituents: {total.everywhere}\nfrontier of {self.max_len}: {total.frontier}"
        )

    def draw(self, panel: Any) -> None:
        """Draw phrases so far and the different ones among them, list after list; bars where there is one list."""
        lines = {
            "phrases of all constituents": ("everywhere", "occurrences", "o--", "#81c784"),
            "different ones": ("everywhere", "unique", "o-", "#2e7d32"),
            f"phrases on the frontier ({self.max_len})": ("frontier", "occurrences", "s--", "#90caf9"),
            "different ones: labels needed": ("frontier", "unique", "s-", "#1565c0"),
            "labels there": ("frontier", "labelled", "^:", "#c62828"),
        }
        names = [list_name(one.name) for one in self.lists]
        short = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in names]
        places = list(range(1, len(names) + 1))
        for number, (label, (where, what, style, colour)) in enumerate(lines.items()):
            values = list(accumulate(getattr(getattr(one, where), what) for one in self.lists))
            title = f"{label}: {values[-1] if values else 0:,}"
            if len(names) == 1:
                panel.bar(number, values[0], color=colour, label=title)
            else:
                panel.plot(places, values, style, color=colour, label=title, markersize=4)
        if len(names) == 1:
            panel.set_xticks([])
            panel.set_xlabel(short[0])
        else:
            panel.set_xticks(places, short, rotation=40, ha="right", fontsize=8)
        in_order = ", list after list" if len(names) > 1 else ""
        panel.set_title(f"phrases, and labels they need{in_order}", fontsize="medium")
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
        panel.legend(loc="upper right" if len(names) == 1 else "upper left", fontsize=8)


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
    total = ListCounts("all", sum(sizes), len(first), _sum(everywhere), _sum(frontier))
    return Redundancy(max_len, [ListCounts(*row) for row in rows], total)


def _reuse(places: Places, at: Ints, of_place: Ints, lists: int) -> list[PhraseReuse]:
    """The phrases at some places, by list; what is counted once counts for the list where it comes first."""
    _, phrases = np.unique(places.numbers[at], return_index=True)
    _, constituents = np.unique(places.nodes[at], return_index=True)
    labelled = phrases[places.rows[at[phrases]] >= 0]
    counted = (np.arange(len(at)), phrases, labelled, constituents)
    columns = [np.bincount(of_place[at[each]], minlength=lists).tolist() for each in counted]
    return [PhraseReuse(*row) for row in zip(*columns, strict=True)]


def _sum(reuses: Sequence[PhraseReuse]) -> PhraseReuse:
    return PhraseReuse(*(sum(getattr(reuse, name) for reuse in reuses) for name in COUNTS))
