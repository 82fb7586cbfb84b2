"""Percolation: NO climbs to the constituents above, YES descends to those below (paper, section 3).

A label that was given stays as it is. NO climbs through unlabelled ancestors, but only when no YES stands
anywhere above it; YES descends into unlabelled constituents that hold no NO, and does not jump over one that does.
A constituent between a YES above and a NO below stays unknown. The two passes touch different constituents (those
with and those without a NO inside), so their order does not matter. Percolated labels are never stored.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes, Ids, Ints
from rypt.compiled import plain_if_small
from rypt.records import Label
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

UNKNOWN, YES, NO, YES_DOWN, NO_UP = 0, 1, 2, 3, 4  # states of a constituent: unlabelled, labelled, percolated
STATES = ("unknown", "YES", "NO", "YES from above", "NO from below")


@plain_if_small
def percolate_states(
    firsts: Ints, parents: Ids, segments: Ids, offsets: Ints, states: Codes, conflicts: NDArray[np.int64]
) -> None:
    """Percolate, in place, the labels of many candidates; ``conflicts`` counts the NOs that stand below a YES."""
    room = 0
    for segment in segments:
        room = max(room, firsts[segment + 1] - firsts[segment])
    has_no, climbs, yes_above = np.zeros(room, np.bool_), np.zeros(room, np.bool_), np.zeros(room, np.bool_)
    for candidate in range(len(segments)):
        first = firsts[segments[candidate]]
        count = firsts[segments[candidate] + 1] - first
        at = offsets[candidate]
        has_no[:count] = False
        climbs[:count] = False
        for node in range(count - 1, 0, -1):
            parent = parents[first + node]
            state = states[at + node]
            if state == NO:
                has_no[node] = True
                climbs[parent] = True
            elif climbs[node] and state != YES:
                climbs[parent] = True
            if has_no[node]:
                has_no[parent] = True
        for node in range(count):
            parent = parents[first + node]
            state = states[at + node]
            yes_above[node] = parent >= 0 and (yes_above[parent] or states[at + parent] == YES)
            if state == NO and yes_above[node]:
                conflicts[candidate] += 1
            if state != UNKNOWN:
                continue
            if climbs[node] and not yes_above[node]:
                states[at + node] = NO_UP
            elif not has_no[node] and parent >= 0 and states[at + parent] in (YES, YES_DOWN):
                states[at + node] = YES_DOWN


def percolate(tree: SourceTree, labels: Sequence[Label | str | None]) -> list[Label | None]:
    """The labels of a tree's constituents after percolation; None and NOT_SURE are unlabelled.

    ``labels`` has an entry for each of ``tree.constituents``, in their order.

    >>> tree = SourceTree.from_brackets("(S (NP (ART der) (NN patient)) (VVFIN lacht))")
    >>> percolate(tree, [None, Label.YES, None, None, Label.NO])
    [<Label.NO: 'NO'>, <Label.YES: 'YES'>, <Label.YES: 'YES'>, <Label.YES: 'YES'>, <Label.NO: 'NO'>]
    """
    if len(labels) != len(tree.constituents):
        raise RyptError(
            f"expected a label or None for each of {len(tree.constituents)} constituents, got {len(labels)} labels"
        )
    given = {Label.YES: YES, Label.NO: NO}
    states = np.array([given.get(Label.parse(label or "?"), UNKNOWN) for label in labels], np.int8)
    parents = np.array([c.parent for c in tree.constituents], np.int32)
    whole = np.array([0, len(parents)])
    percolate_states(whole, parents, np.zeros(1, np.int32), whole, states, np.zeros(1, np.int64))
    names = {YES: Label.YES, YES_DOWN: Label.YES, NO: Label.NO, NO_UP: Label.NO}
    return [names.get(int(state)) for state in states]
