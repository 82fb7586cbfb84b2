"""Best-first search for the cheapest ranking: states are the sets of systems ranked so far, best system first.

Cumings (2012) casts Lopez' solver as A* with h = 0 and gives two heuristics. With y systems yet to rank, T(y − 1) =
y (y − 1) / 2 costs are still to come:

- ``least-possible``: the sum of as many of the least costs of all pairs. Admissible, not consistent, so a state may be
  explored again when a cheaper way to it is found.
- ``least-remaining``: the same over the pairs not yet decided. For every cost that falls with the share of wins the
  cheaper half of those costs are the cheaper orders of the pairs, so it is a sum over pairs, updated in one pass.

*Nodes* are the states taken from the queue before the goal. With a closed list (the paper's Table 1) a state comes
back only when a cheaper way to it was found; without one (later revisions of Cumings' program) every way to a state
that is no longer in the queue puts it there again. Of states that promise the same cost the one that has waited
longest comes first; another rule would give other counts where several rankings are cheapest.

The compiled functions search whole-number costs; a set of systems is a bit mask.
"""

import heapq
from typing import Any, NamedTuple

import numpy as np

from hits.ranking.data import Counts
from hits.ranking.models.costs import PairCosts
from rypt.arrays import Ints
from rypt.compiled import compiled
from rypt.text import RyptError

HEURISTICS = ("none", "least-possible", "least-remaining")
MOST = 62  # systems that a bit mask holds
LIMIT = 1 << 21
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Explored(NamedTuple):
    """The cost of the cheapest ranking and how many nodes were explored to find it; both None past the limit."""

    cost: float | None
    nodes: int | None


class Table(NamedTuple):
    """States and the least cost of each; slots without a state hold -1. An array without keys is indexed by state."""

    keys: Ints
    values: Any


def explore(
    costs: PairCosts, heuristic: str = "least-remaining", *, closed: bool = True, limit: int = LIMIT
) -> Explored:
    """Search as Cumings does and count the nodes; gives up, with None, when more than ``limit`` are explored."""
    if heuristic not in HEURISTICS:
        raise RyptError(f"expected a heuristic {', '.join(HEURISTICS)}, found {heuristic!r}")
    check_size(len(costs.units))
    by_size, minima = _heuristic(costs.units, heuristic)
    start = int(by_size[0]) + int(np.triu(minima, 1).sum())
    best, nodes, _, _ = _search(costs.units, by_size, minima, start, closed, False, 0, limit)
    return Explored(best / costs.scale, nodes) if best >= 0 else Explored(None, None)


def check_size(systems: int) -> None:
    """Refuse more systems than a state holds."""
    if systems > MOST:
        raise RyptError(f"expected at most {MOST} systems that beat one another in circles, found {systems}")


def least_costs(excess: Counts, slack: int, limit: int) -> tuple[int, Table] | None:
    """The cost of the cheapest ranking, and of every state that costs no more; None past the limit of states."""
    nothing = np.zeros(len(excess) + 1, np.int64)
    best, _, keys, values = _search(excess, nothing, np.zeros_like(excess), 0, True, True, slack, limit)
    return (best, Table(keys, values)) if best >= 0 else None


def all_costs(excess: Counts) -> tuple[int, Table]:
    """The same from a table of all 2^n states: its time and memory do not depend on the data."""
    kind = np.int32 if excess.sum() < 1 << 30 else np.int64
    values = np.zeros(1 << len(excess), kind)
    _fill(excess.astype(kind), values)
    return int(values[-1]), Table(np.zeros(0, np.int64), values)


def _heuristic(units: Counts, heuristic: str) -> tuple[Ints, Counts]:
    """What is still to come: by the number of systems ranked, and for each pair of systems not ranked."""
    n = len(units)
    by_size, minima = np.zeros(n + 1, np.int64), np.zeros((n, n), np.int64)
    if heuristic == "least-possible":
        sums = np.concatenate([[0], np.cumsum(np.sort(units[~np.eye(n, dtype=bool)]))])
        for ranked in range(n):
            by_size[ranked] = sums[(n - ranked) * (n - ranked - 1) // 2]
    elif heuristic == "least-remaining":
        minima = np.minimum(units, units.T)
    return by_size, minima


@compiled
def find(keys: Ints, state: Any) -> Any:
    """The slot of a state, or the empty slot where it belongs."""
    size = len(keys)
    mixed = np.uint64(state) * _GOLDEN
    slot = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(size - 1))
    while keys[slot] != -1 and keys[slot] != state:
        slot = (slot + 1) & (size - 1)
    return slot


@compiled
def value_of(table: Table, state: Any) -> Any:
    """The least cost of a state, -1 for a state that is not in the table."""
    if len(table.keys) == 0:
        return np.int64(table.values[state])
    slot = find(table.keys, state)
    return np.int64(table.values[slot]) if table.keys[slot] == state else np.int64(-1)


@compiled
def byte_tables(costs: Counts) -> Any:
    """For each byte of a state and each value of it: what ranking u above the systems of that byte would cost."""
    n = len(costs)
    tables = np.zeros(((n + 7) // 8, 256, n), np.int64)
    for byte in range(len(tables)):
        for value in range(1, 256):
            bit = 0
            while not (value >> bit) & 1:
                bit += 1
            tables[byte, value] = tables[byte, value & (value - 1)]
            if 8 * byte + bit < n:
                tables[byte, value] += costs[:, 8 * byte + bit]
    return tables


@compiled
def added_costs(totals: Ints, tables: Any, state: Any, added: Ints) -> None:
    """What it costs to rank each system next after those of a state; for one of the state, after its others."""
    added[:] = totals
    for byte in range(len(tables)):
        row = tables[byte, (state >> (8 * byte)) & 255]
        for u in range(len(added)):
            added[u] -= row[u]


@compiled
def _grown(keys: Ints, values: Ints, hopes: Ints, status: Any) -> tuple[Ints, Ints, Ints, Any]:
    """The same table with twice the slots."""
    size = 2 * len(keys)
    new_keys, new_values = np.full(size, -1, np.int64), np.zeros(size, np.int64)
    new_hopes, new_status = np.zeros(size, np.int64), np.zeros(size, np.int8)
    for old in range(len(keys)):
        if keys[old] != -1:
            slot = find(new_keys, keys[old])
            new_keys[slot], new_values[slot] = keys[old], values[old]
            new_hopes[slot], new_status[slot] = hopes[old], status[old]
    return new_keys, new_values, new_hopes, new_status


@compiled
def _good_cost(costs: Counts) -> int:
    """The cost of a good ranking: systems move to a better place one by one until none can."""
    n = len(costs)
    order = np.argsort(costs.sum(axis=1) - costs.sum(axis=0), kind="mergesort")
    better = True
    while better:
        better = False
        for at in range(n):
            u, change, least, to = order[at], 0, 0, at
            for step in (-1, 1):
                change, place = 0, at + step
                while 0 <= place < n:
                    v = order[place]
                    change -= step * (costs[u, v] - costs[v, u])
                    if change < least:
                        least, to = change, place
                    place += step
            if least < 0:
                better = True
                step = 1 if to > at else -1
                for place in range(at, to, step):
                    order[place] = order[place + step]
                order[to] = u
    total = 0
    for i in range(n):
        for j in range(i + 1, n):
            total += costs[order[i], order[j]]
    return total


@compiled
def _search(
    costs: Counts,
    by_size: Ints,
    minima: Counts,
    start: Any,
    closed: bool,
    beyond: bool,
    slack: int,
    limit: int,
) -> Any:
    """A*: the least cost (-1 past the limit), nodes explored before the goal, states and their least costs.

    ``beyond`` the goal the search goes on until every state of no more than the least cost and ``slack`` was explored.
    A state that promises more than a ranking already known is never queued: it would never be explored.
    """
    n = len(costs)
    goal = (np.int64(1) << n) - 1
    known = _good_cost(costs) + slack
    totals, tables, added = costs.sum(axis=1), byte_tables(costs), np.zeros(n, np.int64)
    hope_totals, hope_tables, decided = minima.sum(axis=1), byte_tables(minima), np.zeros(n, np.int64)
    keys, values = np.full(1024, -1, np.int64), np.zeros(1024, np.int64)
    hopes, status = np.zeros(1024, np.int64), np.zeros(1024, np.int8)  # status: 1 in the queue, 2 explored
    first = find(keys, 0)
    keys[first], status[first], hopes[first] = 0, 1, start - by_size[0]
    queue = [
        (np.int64(start), 0, np.int64(0), np.int64(0), 0)
    ]  # promised cost, when, state, cost so far, ranked
    used, best, nodes, when = 1, np.int64(-1), 0, 0
    while len(queue):
        promised, _, state, cost, ranked = heapq.heappop(queue)
        slot = find(keys, state)
        if status[slot] != 1 or values[slot] != cost:
            continue
        if best >= 0 and promised > best + slack:
            break
        status[slot] = 2
        if state == goal:
            if best < 0:
                best = cost
            if not beyond:
                break
            continue
        if best < 0:
            nodes += 1
        if nodes > limit or used > limit:
            return np.int64(-1), nodes, keys, values
        pairs = hopes[slot]  # what the pairs of systems not ranked promise
        added_costs(totals, tables, state, added)
        added_costs(hope_totals, hope_tables, state, decided)
        if 2 * (used + n) > len(keys):
            keys, values, hopes, status = _grown(keys, values, hopes, status)
        for u in range(n):
            reached, hope = cost + added[u], pairs - decided[u]
            promised = reached + hope + by_size[ranked + 1]
            if (state >> u) & 1 or promised > known:
                continue
            after = state | (np.int64(1) << u)
            slot = find(keys, after)
            if keys[slot] != -1 and (closed or status[slot] == 1) and reached >= values[slot]:
                continue
            used += keys[slot] == -1
            keys[slot], values[slot], hopes[slot], status[slot] = after, reached, hope, 1
            when += 1
            heapq.heappush(queue, (promised, when, after, reached, ranked + 1))
    return best, nodes, keys, values


@compiled
def _fill(costs: Any, values: Any) -> None:
    """The least cost of every set of systems, by the system ranked last among them (Held and Karp)."""
    n = len(costs)
    half = n // 2
    low, high = np.zeros((1 << half, n), costs.dtype), np.zeros((1 << (n - half), n), costs.dtype)
    for part, shift in ((low, 0), (high, half)):
        for mask in range(1, len(part)):
            bit = 0
            while not (mask >> bit) & 1:
                bit += 1
            for u in range(n):
                part[mask, u] = part[mask & (mask - 1), u] + costs[u, shift + bit]
    totals = costs.sum(axis=1)
    index = np.zeros(67, np.int64)  # powers of 2 differ modulo 67
    for u in range(n):
        index[(1 << u) % 67] = u
    for state in range(1, len(values)):
        in_low, in_high = state & ((1 << half) - 1), state >> half
        best = values[0] - 1
        rest = state
        while rest:
            bit = rest & -rest
            rest ^= bit
            u = index[bit % 67]
            cost = values[state ^ bit] + (totals[u] - low[in_low, u] - high[in_high, u])
            if best < 0 or cost < best:
                best = cost
        values[state] = best
