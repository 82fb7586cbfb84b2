"""The compiled loops of TrueSkill: games of two in closed form, games of more by message passing, and which game next.

Every run has a generator of its own (splitmix64, one number of state), so runs may be spread over threads at will.
A game of two is Herbrich et al. (2006) in closed form; t = (μ₁ − μ₂)/c, c² = 2β² + σ₁² + σ₂².
"""

from math import exp, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats, Ids
from rypt.compiled import compiled
from rypt.tails import normal_tail

State = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 1.0 / 9007199254740992.0
_PEAK = 0.3989422804014327  # the normal density at 0
TAIL = -6.0  # below it the ratio of density and distribution is computed as a continued fraction
NARROW, VANISHED = 1e-5, 1e-290
SWEEPS, SETTLED = 100, 1e-10
DRAWS = 10_000  # a set of systems for which there is no ranking is drawn anew at most so often

SHUFFLED, RESAMPLED, IN_ORDER = 0, 1, 2


class Skills(NamedTuple):
    """How skills begin and change."""

    mean: float
    variance: float
    beta2: float  # β²
    epsilon: float
    tau2: float  # τ²


class Pool(NamedTuple):
    """The comparisons of each two systems, side by side: those of i and j are ``starts[i, j]`` to ``stops[i, j]``."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    winners: Ids  # the better of the two, or one of two equal ones
    losers: Ids
    tied: NDArray[np.bool_]


class Games(NamedTuple):
    """Rankings of the same number of systems each, from best to worst; sorted by which systems they are of."""

    keys: NDArray[np.int64]  # one for each set of systems, sorted
    starts: NDArray[np.int64]  # where its games begin, and one more
    systems: Ids  # (games, players)
    ranks: Ids  # (games, players)


@compiled
def uniform(state: State) -> float:
    """The next number from 0 to 1 of the generator."""
    state[0] += _GOLDEN
    z = state[0]
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return float((z ^ (z >> _31)) >> _11) * _UNIT


@compiled
def _below(state: State, n: int) -> int:
    return int(uniform(state) * n)


@compiled
def _density(x: float) -> float:
    return _PEAK * exp(-0.5 * x * x)


_tail = compiled(normal_tail)


@compiled
def _mills(x: float) -> float:
    """Density over distribution far below 0, where both vanish: a continued fraction."""
    value = -x
    for k in range(40, 0, -1):
        value = -x + k / value
    return value


@compiled
def won(t: float, epsilon: float) -> tuple[float, float]:
    """How far the means, and by which share the variances, move after a win: v and w."""
    x = t - epsilon
    v = _mills(x) if x < TAIL else _density(x) / _tail(-x)
    return v, v * (v + x)


@compiled
def drawn(t: float, epsilon: float) -> tuple[float, float]:
    """The same after a tie: v and w; the paper prints w = v + …, which is a misprint for v² + …."""
    size = abs(t)
    low, high = -epsilon - size, epsilon - size
    if (
        epsilon * max(1.0, size) < NARROW
    ):  # the difference is all but known: it has the mean 0 and the variance ε²/3
        return -t, 1.0 - epsilon * epsilon / 3.0
    mass = _tail(-high) - _tail(-low)
    if mass < VANISHED:  # a tie that nobody would expect: the difference is at the nearer edge
        return (high if t >= 0.0 else -high), 1.0
    a, b = _density(low), _density(high)
    v = (a - b) / mass
    return (v if t >= 0.0 else -v), v * v + (high * b - low * a) / mass


@compiled
def play(means: Floats, variances: Floats, winner: int, loser: int, tied: bool, skills: Skills) -> None:
    """One game of two."""
    first, second = variances[winner] + skills.tau2, variances[loser] + skills.tau2
    c2 = 2.0 * skills.beta2 + first + second
    by_c = 1.0 / sqrt(c2)
    t = (means[winner] - means[loser]) * by_c
    if tied:
        v, w = drawn(t, skills.epsilon * by_c)
    else:
        v, w = won(t, skills.epsilon * by_c)
    step, shrink = v * by_c, w * by_c * by_c
    means[winner] += first * step
    means[loser] -= second * step
    variances[winner] = first * (1.0 - first * shrink)
    variances[loser] = second * (1.0 - second * shrink)


@compiled
def play_all(
    winners: Ids,
    losers: Ids,
    tied: NDArray[np.bool_],
    skills: Skills,
    seeds: State,
    how: int,
    means: Floats,
    variances: Floats,
) -> None:
    """One pass over all games for each seed; ``means`` and ``variances`` are (runs, systems)."""
    n = len(winners)
    order = np.arange(n, dtype=np.int32)
    state = np.empty(1, np.uint64)
    for run in range(len(seeds)):
        state[0] = seeds[run]
        mean, variance = means[run], variances[run]
        mean[:], variance[:] = skills.mean, skills.variance
        if how == SHUFFLED:
            order = np.arange(n, dtype=np.int32)
            for i in range(n - 1, 0, -1):
                j = _below(state, i + 1)
                order[i], order[j] = order[j], order[i]
        for i in range(n):
            game = _below(state, n) if how == RESAMPLED else order[i]
            play(mean, variance, winners[game], losers[game], tied[game], skills)


@compiled
def most_uncertain(variances: Floats) -> int:
    """The system of the largest variance, the last of several."""
    best = 0
    for i in range(1, len(variances)):
        if variances[i] >= variances[best]:
            best = i
    return best


@compiled
def draw_opponent(
    means: Floats, first: int, allowed: NDArray[np.bool_], weights: Floats, state: State
) -> int:
    """An opponent with the weight p̂_draw = exp(−|μ₁ − μ₂|); -1 where nobody is allowed."""
    total = 0.0
    for j in range(len(means)):
        weights[j] = exp(-abs(means[first] - means[j])) if allowed[j] else 0.0
        total += weights[j]
    rest = uniform(state) * total
    last = -1
    for j in range(len(means)):
        if weights[j] > 0.0:
            last = j
            rest -= weights[j]
            if rest < 0.0:
                break
    return last


@compiled
def play_selected(
    pool: Pool, games: int, skills: Skills, seeds: State, means: Floats, variances: Floats, chosen: Ids
) -> int:
    """For each seed as many games of two as wanted, each selected by what is known before it.

    ``chosen`` is (runs, games, 2), or of no run when nobody asks. Returns a system without any comparison, or -1.
    """
    n = means.shape[1]
    weights = np.empty(n)
    allowed = pool.stops > pool.starts
    state = np.empty(1, np.uint64)
    for run in range(len(seeds)):
        state[0] = seeds[run]
        mean, variance = means[run], variances[run]
        mean[:], variance[:] = skills.mean, skills.variance
        for game in range(games):
            first = most_uncertain(variance)
            second = draw_opponent(mean, first, allowed[first], weights, state)
            if second < 0:
                return first
            start = pool.starts[first, second]
            i = start + _below(state, pool.stops[first, second] - start)
            play(mean, variance, pool.winners[i], pool.losers[i], pool.tied[i], skills)
            if len(chosen):
                chosen[run, game, 0], chosen[run, game, 1] = first, second
    return -1


@compiled
def play_ranking(means: Floats, variances: Floats, systems: Ids, ranks: Ids, skills: Skills) -> None:
    """One free-for-all game: systems from best to worst, neighbours of equal rank tied.

    The performances form a chain whose links are the differences of neighbours. Messages run up and down the chain
    until they settle (expectation propagation, Herbrich et al. 2006).
    """
    n = len(systems)
    mean, precision = np.empty(n), np.empty(n)  # of performances, before the game
    up_precision, up_shift = np.zeros(n), np.zeros(n)  # what the link below each performance says of it
    down_precision, down_shift = np.zeros(n), np.zeros(n)  # what the link above says
    for i in range(n):
        variances[systems[i]] += skills.tau2
        mean[i] = means[systems[i]]
        precision[i] = 1.0 / (variances[systems[i]] + skills.beta2)
    for _ in range(SWEEPS):
        change = 0.0
        for at in range(2 * (n - 1) - 1 if n > 2 else 1):
            k = at if at < n - 1 else 2 * (n - 1) - 2 - at
            first_p, second_p = precision[k] + down_precision[k], precision[k + 1] + up_precision[k + 1]
            first_m = (mean[k] * precision[k] + down_shift[k]) / first_p
            second_m = (mean[k + 1] * precision[k + 1] + up_shift[k + 1]) / second_p
            variance = 1.0 / first_p + 1.0 / second_p
            by_c = 1.0 / sqrt(variance)
            t = (first_m - second_m) * by_c
            if ranks[k] == ranks[k + 1]:
                v, w = drawn(t, skills.epsilon * by_c)
            else:
                v, w = won(t, skills.epsilon * by_c)
            w = min(max(w, 1e-300), 1.0 - 1e-12)
            extra = variance * (1.0 - w) / w  # the variance of what the outcome alone says of the difference
            gap = (first_m - second_m) + v / (w * by_c)
            message = 1.0 / (extra + 1.0 / second_p)
            change = max(change, abs(message - up_precision[k]) / (message + precision[k]))
            change = max(change, abs(message * (second_m + gap) - up_shift[k]) * by_c / precision[k])
            up_precision[k], up_shift[k] = message, message * (second_m + gap)
            message = 1.0 / (extra + 1.0 / first_p)
            down_precision[k + 1], down_shift[k + 1] = message, message * (first_m - gap)
        if change < SETTLED:
            break
    for i in range(n):
        message = up_precision[i] + down_precision[i]
        if message <= 0.0:
            continue
        seen = 1.0 / (1.0 / message + skills.beta2)
        before = 1.0 / variances[systems[i]]
        value = (up_shift[i] + down_shift[i]) / message
        means[systems[i]] = (means[systems[i]] * before + value * seen) / (before + seen)
        variances[systems[i]] = 1.0 / (before + seen)


@compiled
def play_rankings(
    games: Games, skills: Skills, seeds: State, how: int, means: Floats, variances: Floats
) -> None:
    """One pass over all free-for-all games for each seed."""
    n = len(games.systems)
    order = np.arange(n, dtype=np.int32)
    state = np.empty(1, np.uint64)
    for run in range(len(seeds)):
        state[0] = seeds[run]
        mean, variance = means[run], variances[run]
        mean[:], variance[:] = skills.mean, skills.variance
        if how == SHUFFLED:
            order = np.arange(n, dtype=np.int32)
            for i in range(n - 1, 0, -1):
                j = _below(state, i + 1)
                order[i], order[j] = order[j], order[i]
        for i in range(n):
            game = _below(state, n) if how == RESAMPLED else order[i]
            play_ranking(mean, variance, games.systems[game], games.ranks[game], skills)


@compiled
def _draw_players(means: Floats, first: int, players: int, weights: Floats, state: State) -> int:
    """The key of a set of systems: the first and others drawn without repeats."""
    allowed = np.ones(len(means), np.bool_)
    allowed[first] = False
    taken = 1
    while taken < players:
        allowed[draw_opponent(means, first, allowed, weights, state)] = False
        taken += 1
    key = 0
    for j in range(len(means)):
        if not allowed[j]:
            key = key * len(means) + j
    return key


@compiled
def play_selected_rankings(
    games: Games, count: int, skills: Skills, seeds: State, means: Floats, variances: Floats
) -> int:
    """For each seed so many free-for-all games, each selected by what is known before it.

    Returns a system of which no game could be drawn, or -1.
    """
    players = games.systems.shape[1]
    weights = np.empty(means.shape[1])
    state = np.empty(1, np.uint64)
    for run in range(len(seeds)):
        state[0] = seeds[run]
        mean, variance = means[run], variances[run]
        mean[:], variance[:] = skills.mean, skills.variance
        for _ in range(count):
            first = most_uncertain(variance)
            chosen = -1
            for _ in range(DRAWS):
                key = _draw_players(mean, first, players, weights, state)
                place = int(np.searchsorted(games.keys, key))
                if place < len(games.keys) and games.keys[place] == key:
                    chosen = place
                    break
            if chosen < 0:
                return first
            game = games.starts[chosen] + _below(state, games.starts[chosen + 1] - games.starts[chosen])
            play_ranking(mean, variance, games.systems[game], games.ranks[game], skills)
    return -1
