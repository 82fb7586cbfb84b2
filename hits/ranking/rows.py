"""Whole rankings back from comparisons: who took part in a row, and at which rank."""

from itertools import pairwise

import numpy as np

from hits.ranking.data import Comparisons
from rypt.text import RyptError

Row = tuple[tuple[int, ...], tuple[int, ...]]  # systems, and how many of them are better than each


def whole_rows(comparisons: Comparisons) -> list[Row]:
    """The ranking of each row, in the order of rows; all comparisons of a ranking must be there, once.

    A system's rank is the number of systems better than it, so the ranks 1, 3, 3, 5 are 0, 1, 1, 3.

    >>> from hits.ranking.data import comparisons_of
    >>> from dataclasses import replace
    >>> pairs = comparisons_of([("s", "a", "b", -1, ""), ("s", "a", "c", 0, ""), ("s", "b", "c", 1, "")])
    >>> whole_rows(replace(pairs, row=np.zeros(3, np.int32)))
    [((0, 1, 2), (1, 0, 1))]
    """
    order = np.argsort(comparisons.row, kind="stable")
    row = comparisons.row[order]
    cuts = np.flatnonzero(np.diff(row)) + 1
    rankings = []
    a, b, outcome = (array[order].tolist() for array in (comparisons.a, comparisons.b, comparisons.outcome))
    edges = [0, *cuts.tolist(), len(row)] if len(row) else [0]
    for start, stop in pairwise(edges):
        ranks: dict[int, int] = {}
        for i in range(start, stop):
            ranks[a[i]] = ranks.get(a[i], 0) + (outcome[i] < 0)
            ranks[b[i]] = ranks.get(b[i], 0) + (outcome[i] > 0)
        if len(ranks) * (len(ranks) - 1) // 2 != stop - start:
            raise RyptError(
                f"a ranking of {len(ranks)} systems has {len(ranks) * (len(ranks) - 1) // 2} comparisons, found "
                f"{stop - start}: games of more than two need whole rankings"
            )
        rankings.append((tuple(ranks), tuple(ranks.values())))
    return rankings
