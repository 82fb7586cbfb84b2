"""All cheapest rankings of systems that cannot be split into independent groups, as one compact graph.

A state is the set of systems ranked so far, a bit mask. A state lies on a cheapest ranking if a step of least cost
leads to the goal from it; the cheapest rankings are the paths from the empty state to the full one. There are few
states even where there are many rankings.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hits.ranking.data import Counts
from hits.ranking.models.astar import (
    Table,
    added_costs,
    all_costs,
    byte_tables,
    check_size,
    find,
    least_costs,
    value_of,
)
from hits.ranking.models.costs import Marks
from rypt.arrays import Ints
from rypt.compiled import compiled
from rypt.text import RyptError

DENSE = 26  # systems for which a table of all states fits: 256 MB where costs are small, else 512 MB
SPARSE_LIMIT = 1 << 19
LAST_LIMIT = 1 << 25
STATES_LIMIT = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Optima:
    """The cheapest rankings: how many (None: 2^128 or more), one of them, and each system's first and last place.

    Where their states are too many to hold, ``states`` is empty, ``count`` None and every place possible.

    ``steps`` has for each state the bit mask of the systems that may come next.
    """

    cost: int
    count: int | None
    ranking: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    states: Ints
    steps: Ints

    def rankings(self) -> Iterator[tuple[int, ...]]:
        """Every cheapest ranking, in lexicographic order."""
        steps = dict(zip(self.states.tolist(), self.steps.tolist(), strict=True))
        n = len(self.low)
        stack: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        while stack:
            state, path = stack.pop()
            if len(path) == n:
                yield path
                continue
            stack += [(state | 1 << u, (*path, u)) for u in reversed(range(n)) if steps[state] >> u & 1]


def find_optima(excess: Counts, marks: Marks, slack: int) -> Optima:
    """All cheapest rankings for costs beyond the cheaper order of each pair, in whole units.

    States are searched in the order of their cost; where the data lets too many of them stay cheap, all states are
    tabulated instead, which takes seconds for 26 systems.
    """
    n = len(excess)
    check_size(n)
    explored = least_costs(excess, slack, SPARSE_LIMIT if n <= DENSE else LAST_LIMIT)
    if explored is None and n > DENSE:
        raise RyptError(
            f"{n} systems beat one another in circles, and their judgments are too even to search exactly"
        )
    cost, table = explored if explored is not None else all_costs(excess)
    states, values = _gather(excess, table, slack, STATES_LIMIT)
    if len(states) == 0:
        ranking = tuple(int(u) for u in _one_ranking(excess, table))
        return Optima(cost, None, ranking, (1,) * n, (n,) * n, states, states)
    low_word, high_word, steps, over = _walk(excess, marks.view(np.int64), slack, states, values)
    count = None if over else (int(high_word) << 64) + int(low_word)
    low, high = np.full(n, n + 1), np.zeros(n, np.int64)
    _places(states, steps, low, high)
    kept = steps > 0
    kept[0] = True
    optima = Optima(cost, count, (), tuple(low.tolist()), tuple(high.tolist()), states[kept], steps[kept])
    return replace(optima, ranking=next(optima.rankings()))


@compiled
def _gather(costs: Counts, table: Table, slack: int, limit: int) -> tuple[Ints, Ints]:
    """States on rankings of least cost give or take ``slack`` and their costs, the goal first; none past the limit."""
    n = len(costs)
    seen = np.full(1024, -1, np.int64)
    states = np.zeros(512, np.int64)
    states[0] = (np.int64(1) << n) - 1
    seen[find(seen, states[0])] = states[0]
    totals, tables, added = costs.sum(axis=1), byte_tables(costs), np.zeros(n, np.int64)
    count, place = 1, 0
    while place < count:
        state = states[place]
        place += 1
        cost = value_of(table, state)
        added_costs(totals, tables, state, added)
        for u in range(n):
            if not (state >> u) & 1:
                continue
            before = state ^ (np.int64(1) << u)
            earlier = value_of(table, before)
            if earlier < 0 or earlier + added[u] > cost + slack:
                continue
            slot = find(seen, before)
            if seen[slot] == before:
                continue
            if count == limit:
                return np.zeros(0, np.int64), np.zeros(0, np.int64)
            if count == len(states):
                states = np.concatenate((states, np.zeros(count, np.int64)))
                seen = np.full(4 * count, -1, np.int64)
                for known in states[:count]:
                    seen[find(seen, known)] = known
                slot = find(seen, before)
            seen[slot] = before
            states[count] = before
            count += 1
    values = np.zeros(count, np.int64)
    for place in range(count):
        values[place] = value_of(table, states[place])
    return states[:count], values


@compiled
def _walk(
    costs: Counts, marks: Counts, slack: int, states: Ints, values: Ints
) -> tuple[Any, Any, Ints, bool]:
    """Count the paths to the goal (two words, and whether they overflowed), and the next systems of every state.

    ``states`` come with the goal first and fewer and fewer systems. A step is on a cheapest ranking when it gives its
    state's least cost: within ``slack``, and with the same sum of marks as the cheapest way to that state. Sums of
    marks wrap around.
    """
    n, size = len(costs), len(states)
    slots = 1024
    while slots < 2 * size:
        slots *= 2
    keys, places = np.full(slots, -1, np.int64), np.zeros(slots, np.int64)
    for place in range(size):
        slot = find(keys, states[place])
        keys[slot], places[slot] = states[place], place
    low, high, ways = np.zeros(size, np.uint64), np.zeros(size, np.uint64), np.zeros(size, np.int64)
    sums = np.zeros(size, np.int64)
    totals, tables, added = costs.sum(axis=1), byte_tables(costs), np.zeros(n, np.int64)
    mark_totals, mark_tables, mark = marks.sum(axis=1), byte_tables(marks), np.zeros(n, np.int64)
    earlier = np.zeros(n, np.int64)
    low[size - 1] = np.uint64(1)
    over = False
    for place in range(size - 2, -1, -1):
        state, least = states[place], np.int64(-1)
        added_costs(totals, tables, state, added)
        added_costs(mark_totals, mark_tables, state, mark)
        for u in range(n):
            before = state ^ (np.int64(1) << u)
            slot = find(keys, before)
            earlier[u] = places[slot] if (state >> u) & 1 and keys[slot] == before else -1
            if earlier[u] >= 0:
                added[u] += values[earlier[u]]
                mark[u] += sums[earlier[u]]
                if least < 0 or added[u] < least:
                    least, sums[place] = added[u], mark[u]
        for u in range(n):
            if earlier[u] >= 0 and added[u] <= least + slack and mark[u] == sums[place]:
                ways[place] |= np.int64(1) << u
                low[place] += low[earlier[u]]
                carry = np.uint64(1) if low[place] < low[earlier[u]] else np.uint64(0)
                high[place] += high[earlier[u]] + carry
                over = over or high[place] < high[earlier[u]] + carry
    steps, wanted = np.zeros(size, np.int64), np.zeros(size, np.bool_)
    wanted[0] = True
    for place in range(size):
        if wanted[place]:
            for u in range(n):
                if (ways[place] >> u) & 1:
                    before_it = places[find(keys, states[place] ^ (np.int64(1) << u))]
                    wanted[before_it] = True
                    steps[before_it] |= np.int64(1) << u
    return low[0], high[0], steps, over


@compiled
def _places(states: Ints, steps: Ints, low: Ints, high: Ints) -> None:
    """The first and the last place of every system over all cheapest rankings."""
    for place in range(len(states)):
        ranked, rest = 1, states[place]
        while rest:
            rest &= rest - 1
            ranked += 1
        for u in range(len(low)):
            if (steps[place] >> u) & 1:
                low[u], high[u] = min(low[u], ranked), max(high[u], ranked)


@compiled
def _one_ranking(costs: Counts, table: Table) -> Ints:
    """One cheapest ranking, traced back from the goal."""
    n = len(costs)
    totals, tables, added = costs.sum(axis=1), byte_tables(costs), np.zeros(n, np.int64)
    state: Any = (np.int64(1) << n) - 1
    ranking = np.zeros(n, np.int64)
    for place in range(n - 1, -1, -1):
        added_costs(totals, tables, state, added)
        best, least = -1, 0
        for u in range(n):
            if (state >> u) & 1:
                earlier = value_of(table, state ^ (np.int64(1) << u))
                if earlier >= 0 and (best < 0 or earlier + added[u] <= least):
                    best, least = u, earlier + added[u]
        ranking[place] = best
        state ^= np.int64(1) << best
    return ranking
