"""TrueSkill as adapted for WMT: Sakaguchi, Post & Van Durme (2014), after Herbrich, Minka & Graepel (2006).

Skills begin as N(0, 0.5²) and are updated game after game by how surprising the outcome was. Two variants:

    option      paper                          program (the authors' infer_TS.py)
    β           0.025 · games · σ₀²            0.025 · games · σ₀, twice as much for σ₀ = 0.5
    ε           0.25                           from a draw probability of 0.25: √2 Φ⁻¹(0.625) β = 0.4506 β

With either β the games weigh all but the same, whatever their order. So a score is nearly wins minus losses, as a share
of the games, and a tie moves almost nothing.

``order`` says which games are played. ``shuffle``: every comparison once, in a random order, the mean over ``runs``
orders. ``select``: TrueSkill chooses ``games`` games itself, with replacement, as the paper trains it: first the system
of the highest variance, then an opponent with the weight exp(−|μ₁ − μ₂|), then one of their stored comparisons.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons
from hits.ranking.model import Fitted, carve, check_fit, sign
from hits.ranking.models.trueskill_kernel import (
    IN_ORDER,
    RESAMPLED,
    SHUFFLED,
    Games,
    Pool,
    Skills,
    play_all,
    play_rankings,
    play_selected,
    play_selected_rankings,
)
from hits.ranking.rows import whole_rows
from rypt.arrays import Floats
from rypt.options import Options
from rypt.text import RyptError

VARIANTS = ("paper", "program")
ORDERS = ("shuffle", "select", "given")
RUNS = 100
BATCH = 4  # runs handed to a thread at once

Seeds = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class TrueSkill:
    """The model and its settings; None stands for what the variant says."""

    variant: str = "paper"
    order: str = "shuffle"
    games: int = 0  # 0: as many as there are
    players: int = 2
    runs: int = RUNS
    sigma: float = 0.5
    beta: float | None = None
    epsilon: float | None = None
    tau: float = 0.0
    radius: float = 0.3  # between equal and better, for the probabilities of outcomes
    threads: int = 1
    name: str = "trueskill"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Means and variances of skills, averaged over runs."""
        check_fit(comparisons)
        table = self._table(comparisons)
        how = IN_ORDER if self.order == "given" else SHUFFLED
        means, variances = self._runs(table, rng, 1 if self.order == "given" else self.runs, how)
        mean, variance = means.mean(axis=0), variances.mean(axis=0)
        skills = self.skills(table.games)
        facts = {
            "games": table.games,
            "players": self.players,
            "beta": sqrt(skills.beta2),
            "epsilon": skills.epsilon,
            "spread": _by_name(comparisons, means.std(axis=0)),
            "sigma": _by_name(comparisons, np.sqrt(variance)),
        }
        return Fitted(
            comparisons.systems,
            mean,
            self._signature(comparisons, table.games),
            carve(mean, variance, self.radius),
            variance,
            facts,
        )

    def sample_scores(self, comparisons: Comparisons, rng: np.random.Generator, samples: int) -> Floats:
        """The scores of many runs, (samples, systems), for rank ranges.

        Where TrueSkill selects its games each run selects its own, as in the paper. Otherwise each run is one pass over
        games drawn with replacement: runs over one and the same set would say nothing about another set.
        """
        check_fit(comparisons)
        return self._runs(self._table(comparisons), rng, samples, RESAMPLED)[0]

    def skills(self, games: int) -> Skills:
        """How skills begin and change when so many games are played."""
        by_variant = 0.025 * games * (self.sigma**2 if self.variant == "paper" else self.sigma)
        beta = by_variant if self.beta is None else self.beta
        epsilon = 0.25 if self.variant == "paper" else sqrt(2) * NormalDist().inv_cdf(0.625) * beta
        return Skills(
            0.0, self.sigma**2, beta**2, epsilon if self.epsilon is None else self.epsilon, self.tau**2
        )

    def _signature(self, comparisons: Comparisons, games: int) -> str:
        skills = self.skills(games)
        return sign(
            self.name,
            comparisons,
            variant=self.variant,
            order=self.order,
            players=self.players,
            games=games,
            runs=1 if self.order == "given" else self.runs,
            sigma=self.sigma,
            beta=sqrt(skills.beta2),
            epsilon=skills.epsilon,
            tau=self.tau,
        )

    def _table(self, comparisons: Comparisons) -> "_Table":
        if self.players == 2:
            stored: Pool | Games = make_pool(comparisons, by_pair=self.order == "select")
            present = len(comparisons)
        else:
            stored = make_games(comparisons, self.players)
            present = len(stored.systems)
        if self.games and self.order != "select":
            raise RyptError("trueskill: games is for order=select; otherwise every comparison is a game")
        return _Table(stored, self.games or present, len(comparisons.systems), comparisons.systems)

    def _runs(self, table: "_Table", rng: np.random.Generator, runs: int, how: int) -> tuple[Floats, Floats]:
        """Means and variances after each run, (runs, systems); the same for any number of threads."""
        means, variances = np.empty((runs, table.systems)), np.empty((runs, table.systems))
        seeds = rng.integers(0, 2**64, runs, np.uint64)
        skills = self.skills(table.games)
        parts = [slice(start, start + BATCH) for start in range(0, runs, BATCH)]

        def play(part: slice) -> int:
            return _play(
                table, skills, seeds[part], how, means[part], variances[part], select=self.order == "select"
            )

        with ThreadPoolExecutor(self.threads) as pool:
            for alone in pool.map(play, parts):
                if alone >= 0:
                    raise RyptError(f"no game of {self.players} with {table.names[alone]} is in the data")
        return means, variances

    def selected(self, comparisons: Comparisons, rng: np.random.Generator) -> NDArray[np.int32]:
        """The systems of the games that one run selects, (games, 2), in their order."""
        pool = make_pool(comparisons, by_pair=True)
        games = self.games or len(comparisons)
        chosen = np.empty((1, games, 2), np.int32)
        room = np.empty((2, 1, len(comparisons.systems)))
        seeds = rng.integers(0, 2**64, 1, np.uint64)
        alone = play_selected(pool, games, self.skills(games), seeds, room[0], room[1], chosen)
        if alone >= 0:
            raise RyptError(f"no comparison with {comparisons.systems[alone]} is in the data")
        return chosen.reshape(-1, 2)


def _by_name(comparisons: Comparisons, values: Floats) -> dict[str, float]:
    return dict(zip(comparisons.systems, values.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class _Table:
    stored: Pool | Games
    games: int
    systems: int
    names: tuple[str, ...]


_NOTHING_CHOSEN = np.empty((0, 0, 2), np.int32)


def _play(
    table: _Table, skills: Skills, seeds: Seeds, how: int, means: Floats, variances: Floats, *, select: bool
) -> int:
    """Play on one thread; returns a system that nobody can play, or -1."""
    stored = table.stored
    if isinstance(stored, Pool):
        if select:
            return play_selected(stored, table.games, skills, seeds, means, variances, _NOTHING_CHOSEN)
        play_all(stored.winners, stored.losers, stored.tied, skills, seeds, how, means, variances)
    else:
        if select:
            return play_selected_rankings(stored, table.games, skills, seeds, means, variances)
        play_rankings(stored, skills, seeds, how, means, variances)
    return -1


def make_pool(comparisons: Comparisons, *, by_pair: bool) -> Pool:
    """Comparisons for games of two, in their order or side by side for each pair of systems."""
    n = len(comparisons.systems)
    won = comparisons.outcome >= 0
    winners = np.where(won, comparisons.a, comparisons.b).astype(np.int32)
    losers = np.where(won, comparisons.b, comparisons.a).astype(np.int32)
    tied = comparisons.outcome == 0
    starts, stops = np.zeros((n, n), np.int64), np.zeros((n, n), np.int64)
    if by_pair:
        low, high = np.minimum(winners, losers).astype(np.int64), np.maximum(winners, losers)
        order = np.argsort(low * n + high, kind="stable")
        winners, losers, tied = winners[order], losers[order], tied[order]
        sizes = np.bincount(low * n + high, minlength=n * n).reshape(n, n)
        ends = np.cumsum(sizes.ravel()).reshape(n, n)
        upper = np.triu(ends - sizes, 1), np.triu(ends, 1)
        starts, stops = upper[0] + upper[0].T, upper[1] + upper[1].T
    return Pool(starts, stops, winners, losers, tied)


def make_games(comparisons: Comparisons, players: int) -> Games:
    """All rankings of so many systems inside the rows; a row of five holds ten rankings of three."""
    rows = whole_rows(comparisons)
    n = len(comparisons.systems)
    if n**players >= 2**63:
        raise RyptError(f"too many systems for games of {players}: {n}")
    systems: list[NDArray[np.int32]] = []
    ranks: list[NDArray[np.int32]] = []
    for size in sorted({len(row) for row, _ in rows}):
        if size < players:
            continue
        members = np.array([row for row, _ in rows if len(row) == size], np.int32)
        order = np.array([rank for row, rank in rows if len(row) == size], np.int32)
        for places in combinations(range(size), players):
            systems.append(members[:, places])
            ranks.append(order[:, places])
    if not systems:
        raise RyptError(f"games of {players} need rankings of {players} systems or more, found none")
    all_systems, all_ranks = np.concatenate(systems), np.concatenate(ranks)
    best_first = np.argsort(all_ranks, axis=1, kind="stable")
    all_systems = np.take_along_axis(all_systems, best_first, axis=1)
    all_ranks = np.take_along_axis(all_ranks, best_first, axis=1)
    keys = np.sort(all_systems, axis=1).astype(np.int64) @ (
        n ** np.arange(players - 1, -1, -1, dtype=np.int64)
    )
    order_of_keys = np.argsort(keys, kind="stable")
    distinct, firsts = np.unique(keys[order_of_keys], return_index=True)
    return Games(
        distinct,
        np.append(firsts, len(keys)).astype(np.int64),
        np.ascontiguousarray(all_systems[order_of_keys]),
        np.ascontiguousarray(all_ranks[order_of_keys]),
    )


def make_trueskill(options: Options) -> TrueSkill:
    """From the options that `TrueSkill` lists; ``beta`` and ``epsilon`` replace what the variant says."""
    beta, epsilon = options.number("beta", -1.0, least=0.0), options.number("epsilon", -1.0, least=0.0)
    return TrueSkill(
        variant=options.choice("variant", "paper", VARIANTS),
        order=options.choice("order", "shuffle", ORDERS),
        games=options.whole("games", 0),
        players=options.whole("players", 2, least=2, most=5),
        runs=options.whole("runs", RUNS, least=1, most=100_000),
        sigma=options.positive("sigma", 0.5),
        beta=None if beta < 0 else beta,
        epsilon=None if epsilon < 0 else epsilon,
        tau=options.number("tau", 0.0, least=0.0),
        radius=options.positive("radius", 0.3),
        threads=options.whole("threads", 1, least=1, most=1024),
    )
