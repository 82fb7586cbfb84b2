"""TrueSkill as adapted for WMT: Sakaguchi, Post & Van Durme (2014), after Herbrich, Minka & Graepel (2006).

Skills begin as N(0, 0.5²) and are updated game after game by how surprising the outcome was. Two variants:

    option      paper                          program (the authors' infer_TS.py)
    β           0.025 · games · σ₀²            0.025 · games · σ₀, twice as much for σ₀ = 0.5
    ε           0.25                           from a draw probability of 0.25: √2 Φ⁻¹(0.625) β = 0.4506 β

With either β the games weigh all but the same, whatever their order. So a score is nearly wins minus losses, as a share
of the games, and a tie moves almost nothing.

``order`` says which games are played. ``shuffle``: every comparison once, in a random order, the mean over ``runs``
orders. ``select``: TrueSkill chooses ``games`` games itself, with replacement, as the paper trains it: first the system
of the highest variance, then opponents with the weight exp(−|μ₁ − μ₂|), then one of their stored games. ``given``: every
comparison once, as the file has them.

A game of two has a closed form, with t = (μ₁ − μ₂)/c, c² = 2β² + σ₁² + σ₂²; games of more pass messages. Every run has a
generator of its own (splitmix64, one number of state), so runs may be spread over threads at will.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from math import exp, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons
from hits.ranking.model import Fitted, carve, check_fit, sign
from rypt.arrays import Floats, Ids, Ints, Words
from rypt.compiled import compiled
from rypt.options import Options
from rypt.tails import normal_tail
from rypt.text import RyptError

SHUFFLE, SELECT, GIVEN, RESAMPLE = range(4)
ORDERS = {"shuffle": SHUFFLE, "select": SELECT, "given": GIVEN}
BATCH = 4  # runs handed to a thread at once
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
N30, N27, N31, N11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
PEAK = 0.3989422804014327  # the normal density at 0
TAIL = -6.0  # below it the ratio of density and distribution is computed as a continued fraction
NARROW, VANISHED = 1e-5, 1e-290
SWEEPS, SETTLED = 100, 1e-10
DRAWS = 10_000  # tries to draw a set of systems that there is a game of


class Skills(NamedTuple):
    """How skills begin and change."""

    variance: float
    beta2: float  # β²
    epsilon: float


class Games(NamedTuple):
    """Rankings of the same number of systems each, from best to worst.

    For selection they are sorted by their sets of systems: ``keys`` has a number for each set, in rising order, and
    ``starts`` where its games begin, and one more. ``met`` says which two systems are in a game together.
    """

    systems: Ids  # (games, players)
    ranks: Ids  # (games, players)
    keys: Ints
    starts: Ints
    met: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TrueSkill:
    """The model and its settings; where ``beta`` or ``epsilon`` is None the variant says what it is.

    ``games`` is for selected games, 0 for as many as there are. ``radius`` is between equal and better, for the
    probabilities of outcomes.
    """

    variant: str = "paper"
    order: str = "shuffle"
    games: int = 0
    players: int = 2
    runs: int = 100
    sigma: float = 0.5
    beta: float | None = None
    epsilon: float | None = None
    radius: float = 0.3
    threads: int = 1
    name: str = "trueskill"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Means and variances of skills, averaged over runs."""
        runs = 1 if self.order == "given" else self.runs
        games, means, variances = self._play(comparisons, rng, runs, ORDERS[self.order])
        mean, variance = means.mean(axis=0), variances.mean(axis=0)
        skills = self.skills(games)
        facts = {
            "games": games,
            "players": self.players,
            "beta": sqrt(skills.beta2),
            "epsilon": skills.epsilon,
        }
        settings = {"variant": self.variant, "order": self.order, "runs": runs, "sigma": self.sigma} | facts
        deviations = {
            name: dict(zip(comparisons.systems, values.tolist(), strict=True))
            for name, values in (("spread", means.std(axis=0)), ("sigma", np.sqrt(variance)))
        }
        signature = sign(self.name, comparisons, **settings)
        outcomes = carve(mean, variance, self.radius)
        return Fitted(comparisons.systems, mean, signature, outcomes, variance, facts | deviations)

    def sample_scores(self, comparisons: Comparisons, rng: np.random.Generator, samples: int) -> Floats:
        """The scores of many runs, (samples, systems), for rank ranges.

        Where TrueSkill selects its games each run selects its own, as in the paper. Otherwise each run is one pass over
        games drawn with replacement: runs over one and the same set would say nothing about another set.
        """
        order = SELECT if self.order == "select" else RESAMPLE
        return self._play(comparisons, rng, samples, order)[1]

    def skills(self, games: int) -> Skills:
        """How skills begin and change when this number of games is played."""
        by_variant = 0.025 * games * (self.sigma**2 if self.variant == "paper" else self.sigma)
        beta = by_variant if self.beta is None else self.beta
        epsilon = 0.25 if self.variant == "paper" else sqrt(2) * NormalDist().inv_cdf(0.625) * beta
        return Skills(self.sigma**2, beta**2, epsilon if self.epsilon is None else self.epsilon)

    def _play(
        self, comparisons: Comparisons, rng: np.random.Generator, runs: int, order: int
    ) -> tuple[int, Floats, Floats]:
        """How many games, and means and variances after each run, (runs, systems); the same for any number of threads."""
        check_fit(comparisons)
        if self.games and order != SELECT:
            raise RyptError("trueskill: games is for order=select; otherwise every comparison is a game")
        stored = make_games(comparisons, self.players, select=order == SELECT)
        count = self.games or len(stored.systems)
        means, variances = np.empty((2, runs, len(comparisons.systems)))
        seeds = rng.integers(0, 2**64, runs, np.uint64)
        skills = self.skills(count)

        def play(start: int) -> int:
            some = slice(start, start + BATCH)
            return play_runs(stored, count, skills, seeds[some], order, means[some], variances[some])

        with ThreadPoolExecutor(self.threads) as pool:
            for alone in pool.map(play, range(0, runs, BATCH)):
                if alone >= 0:
                    system = comparisons.systems[alone]
                    raise RyptError(f"no game of {self.players} with {system} is in the data")
        return count, means, variances


def make_trueskill(options: Options) -> TrueSkill:
    """From the options that `TrueSkill` lists; ``beta`` and ``epsilon`` replace what the variant says."""
    return TrueSkill(
        variant=options.choice("variant", "paper", ("paper", "program")),
        order=options.choice("order", "shuffle", tuple(ORDERS)),
        games=options.whole("games", 0),
        players=options.whole("players", 2, least=2, most=5),
        runs=options.whole("runs", 100, least=1, most=100_000),
        sigma=options.positive("sigma", 0.5),
        beta=options.number("beta", None, least=0.0),
        epsilon=options.number("epsilon", None, least=0.0),
        radius=options.positive("radius", 0.3),
    )


def whole_rows(comparisons: Comparisons) -> list[list[tuple[int, int]]]:
    """For each row its systems, with how many are better than each; all comparisons of a ranking must be there, once."""
    n = len(comparisons.systems)
    _, row, sizes = np.unique(comparisons.row, return_inverse=True, return_counts=True)
    items = np.append(row * n + comparisons.a, row * n + comparisons.b)
    members, place = np.unique(items, return_inverse=True)
    better = np.bincount(place, np.append(comparisons.outcome < 0, comparisons.outcome > 0))
    rankings: list[list[tuple[int, int]]] = [[] for _ in sizes]
    for item, rank in zip(members.tolist(), better.tolist(), strict=True):
        rankings[item // n].append((int(rank), item % n))
    for ranking, size in zip(rankings, sizes.tolist(), strict=True):
        expected = len(ranking) * (len(ranking) - 1) // 2
        if expected != size:
            raise RyptError(
                f"a ranking of {len(ranking)} systems has {expected} comparisons, found {size}: games of more than two "
                "need whole rankings"
            )
    return rankings


def make_games(comparisons: Comparisons, players: int, *, select: bool = False) -> Games:
    """All games of this number of systems: comparisons, or the rankings inside the rows (ten of three in a row of five)."""
    n = len(comparisons.systems)
    if players == 2:
        won, a, b = comparisons.outcome >= 0, comparisons.a, comparisons.b
        systems = np.stack([np.where(won, a, b), np.where(won, b, a)], axis=1)
        ranks = np.stack([np.zeros(len(won), np.int32), (comparisons.outcome != 0).astype(np.int32)], axis=1)
    else:
        if n**players >= 2**63:
            raise RyptError(f"too many systems for games of {players}: {n}")
        rankings = [sorted(game) for row in whole_rows(comparisons) for game in combinations(row, players)]
        if not rankings:
            raise RyptError(f"games of {players} need rankings of {players} systems or more, found none")
        table = np.array(rankings, np.int32)
        ranks, systems = table[:, :, 0].copy(), table[:, :, 1].copy()
    keys, starts, met = np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros((n, n), np.bool_)
    if select:
        numbers = np.sort(systems, axis=1) @ n ** np.arange(players - 1, -1, -1, dtype=np.int64)
        order = np.argsort(numbers, kind="stable")
        systems, ranks = systems[order], ranks[order]
        keys, firsts = np.unique(numbers[order], return_index=True)
        starts = np.append(firsts, len(numbers)).astype(np.int64)
        for i, j in combinations(range(players), 2):
            met[systems[:, i], systems[:, j]] = met[systems[:, j], systems[:, i]] = True
    return Games(systems, ranks, keys, starts, met)


@compiled
def uniform(state: Words) -> float:
    """The next number from 0 to 1 of the generator."""
    state[0] += GOLDEN
    z = state[0]
    z = (z ^ (z >> N30)) * MIX_1
    z = (z ^ (z >> N27)) * MIX_2
    return float((z ^ (z >> N31)) >> N11) / 9007199254740992.0


@compiled
def _density(x: float) -> float:
    return PEAK * exp(-0.5 * x * x)


_tail = compiled(normal_tail)


@compiled
def won(t: float, epsilon: float) -> tuple[float, float]:
    """How far the means, and by which share the variances, move after a win: v and w."""
    x = t - epsilon
    if x < TAIL:  # density and distribution both vanish
        v = -x
        for k in range(40, 0, -1):
            v = -x + k / v
    else:
        v = _density(x) / _tail(-x)
    return v, v * (v + x)


@compiled
def drawn(t: float, epsilon: float) -> tuple[float, float]:
    """The same after a tie: v and w; the paper prints w = v + …, which is a misprint for v² + …."""
    size = abs(t)
    low, high = -epsilon - size, epsilon - size
    if epsilon * max(1.0, size) < NARROW:  # the difference has the mean 0 and the variance ε²/3
        return -t, 1.0 - epsilon * epsilon / 3.0
    mass = _tail(-high) - _tail(-low)
    if mass < VANISHED:  # a tie that nobody would expect: the difference is at the nearer edge
        return (high if t >= 0.0 else -high), 1.0
    a, b = _density(low), _density(high)
    v = (a - b) / mass
    return (v if t >= 0.0 else -v), v * v + (high * b - low * a) / mass


@compiled
def play_two(means: Floats, variances: Floats, winner: int, loser: int, tied: bool, skills: Skills) -> None:
    """One game of two."""
    first, second = variances[winner], variances[loser]
    by_c = 1.0 / sqrt(2.0 * skills.beta2 + first + second)
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
def play_ranking(means: Floats, variances: Floats, systems: Ids, ranks: Ids, skills: Skills) -> None:
    """One free-for-all game: systems from best to worst, neighbours of equal rank tied.

    The performances form a chain whose links are the differences of neighbours. Messages run up and down the chain
    until they settle (expectation propagation, Herbrich et al. 2006).
    """
    n = len(systems)
    mean, precision = means[systems], 1.0 / (variances[systems] + skills.beta2)  # before the game
    up_precision, up_shift = np.zeros(n), np.zeros(n)  # what the link below each performance says of it
    down_precision, down_shift = np.zeros(n), np.zeros(n)  # what the link above says
    for _ in range(SWEEPS):
        change = 0.0
        for at in range(2 * (n - 1) - 1):
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
        if message > 0.0:
            seen = 1.0 / (1.0 / message + skills.beta2)
            before = 1.0 / variances[systems[i]]
            value = (up_shift[i] + down_shift[i]) / message
            means[systems[i]] = (means[systems[i]] * before + value * seen) / (before + seen)
            variances[systems[i]] = 1.0 / (before + seen)


@compiled
def play_runs(
    games: Games, count: int, skills: Skills, seeds: Words, order: int, means: Floats, variances: Floats
) -> int:
    """A run for each seed, of ``count`` games in this order; ``means`` and ``variances`` are (runs, systems).

    Returns the system of which no game could be selected, or -1.
    """
    n, systems, ranks = len(games.systems), games.systems, games.ranks
    two = systems.shape[1] == 2
    state, weights = np.empty(1, np.uint64), np.empty(means.shape[1])
    for run in range(len(seeds)):
        state[0] = seeds[run]
        mean, variance = means[run], variances[run]
        mean[:], variance[:] = 0.0, skills.variance
        places = np.arange(n, dtype=np.int32)
        if order == SHUFFLE:
            for i in range(n - 1, 0, -1):
                j = int(uniform(state) * (i + 1))
                places[i], places[j] = places[j], places[i]
        for i in range(count):
            if order == SELECT:
                first, game = _select(games, mean, variance, weights, state)
                if game < 0:
                    return first
            else:
                game = int(uniform(state) * n) if order == RESAMPLE else places[i]
            if two:
                play_two(mean, variance, systems[game, 0], systems[game, 1], not ranks[game, 1], skills)
            else:
                play_ranking(mean, variance, systems[game], ranks[game], skills)
    return -1


@compiled
def _select(games: Games, means: Floats, variances: Floats, weights: Floats, state: Words) -> tuple[int, int]:
    """The system of the largest variance (the last of several), and a game with it; -1 where none could be drawn.

    Opponents are drawn with the weight p̂_draw = exp(−|μ₁ − μ₂|), until there is a game of the systems.
    """
    n, players = len(means), games.systems.shape[1]
    first = n - 1
    for i in range(n - 1, -1, -1):
        if variances[i] > variances[first]:
            first = i
    for _ in range(DRAWS):
        chosen = np.zeros(n, np.bool_)
        chosen[first] = True
        for _ in range(players - 1):
            total, opponent = 0.0, -1
            for j in range(n):
                allowed = games.met[first, j] and not chosen[j]
                weights[j] = exp(-abs(means[first] - means[j])) if allowed else 0.0
                total += weights[j]
            rest = uniform(state) * total
            for j in range(n):
                if weights[j] > 0.0 and rest >= 0.0:
                    opponent = j
                    rest -= weights[j]
            if opponent < 0:
                return first, -1
            chosen[opponent] = True
        key = 0
        for j in range(n):
            if chosen[j]:
                key = key * n + j
        place = np.searchsorted(games.keys, key)
        if place < len(games.keys) and games.keys[place] == key:
            start, end = games.starts[place], games.starts[place + 1]
            return first, start + int(uniform(state) * (end - start))
    return first, -1
