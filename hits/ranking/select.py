"""Which comparison to ask for next: the systems and the segment that TrueSkill selects.

Sakaguchi et al. (2014), section 2.4: take the system of the highest variance, draw the others with the weight
p̂_draw = exp(−|μ₁ − μ₂|), draw a segment. In a batch a system's variance falls with every match chosen, as if it had
been played: otherwise all matches of a batch would be the same system's.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons, compared_only
from hits.ranking.models.trueskill import TrueSkill, drawn, won
from rypt.tails import normal_tail
from rypt.text import RyptError

Ask = Callable[[Sequence[str], str], bool]


@dataclass(frozen=True, slots=True)
class Match:
    """Systems to compare and the segment to compare them on."""

    systems: tuple[str, ...]
    segment: str


def select_matches(
    comparisons: Comparisons | None,
    available: Mapping[str, Collection[str]],
    count: int,
    rng: np.random.Generator,
    *,
    players: int = 2,
    model: TrueSkill | None = None,
    ask: Ask | None = None,
) -> list[Match]:
    """The next matches after these comparisons, best first; fewer where nothing is left to ask.

    ``available`` has the segments that each system has a candidate for; no match is chosen twice. Systems that were
    never compared come first. Segments on which the chosen systems were compared least are taken first, among these
    one at random. ``ask`` may refuse systems on a segment, for instance where their candidates are the same.
    """
    if players < 2 or players > 5:
        raise RyptError(f"expected 2 to 5 systems in a match, found {players}")
    if len(available) < players:
        raise RyptError(f"expected {players} systems or more to choose from, found {len(available)}")
    chooser = _Chooser(comparisons, available, model or TrueSkill(), rng, ask)
    matches: list[Match] = []
    while len(matches) < count and (match := chooser.choose(players)) is not None:
        matches.append(match)
    return matches


def next_matches(
    comparisons: Comparisons,
    count: int,
    rng: np.random.Generator,
    *,
    players: int = 2,
    segments: Sequence[str] | None = None,
    more: Sequence[str] = (),
) -> list[Match]:
    """The next matches of the systems that were compared, and of some ``more``, on these segments or on theirs."""
    asked = comparisons.segments if segments is None else segments
    if not any(asked):
        raise RyptError("the files name no segments: give them with --segments")
    available = dict.fromkeys((*comparisons.systems, *more), asked)
    return select_matches(comparisons, available, count, rng, players=players)


class _Chooser:
    """Skills as they are known, and what was asked."""

    def __init__(
        self,
        comparisons: Comparisons | None,
        available: Mapping[str, Collection[str]],
        model: TrueSkill,
        rng: np.random.Generator,
        ask: Ask | None,
    ) -> None:
        self.systems = tuple(sorted(available))
        self.segments = tuple(dict.fromkeys(segment for name in self.systems for segment in available[name]))
        self.rng, self.ask = rng, ask
        place = {segment: i for i, segment in enumerate(self.segments)}
        self.has = np.zeros((len(self.systems), len(self.segments)), np.bool_)
        for i, name in enumerate(self.systems):
            self.has[i, [place[segment] for segment in available[name]]] = True
        # how often two systems, the smaller number first, were asked about, on each segment
        self.times: dict[tuple[int, int], NDArray[np.int32]] = defaultdict(
            lambda: np.zeros(len(self.segments), np.int32)
        )
        self.matches: set[tuple[tuple[int, ...], int]] = set()
        self.means = np.zeros(len(self.systems))
        self.variances = np.full(len(self.systems), model.sigma**2)
        self.skills = model.skills(len(comparisons) if comparisons else 1)
        if comparisons:
            self._learn(compared_only(comparisons), model, place)

    def _learn(self, comparisons: Comparisons, model: TrueSkill, place: Mapping[str, int]) -> None:
        """Take means and variances from the comparisons, and count what was asked."""
        number = {name: i for i, name in enumerate(self.systems)}
        fitted = model.fit(comparisons, self.rng)
        assert fitted.variances is not None
        for name, mean, variance in zip(comparisons.systems, fitted.scores, fitted.variances, strict=True):
            if name in number:
                self.means[number[name]], self.variances[number[name]] = mean, variance
        columns = (comparisons.a.tolist(), comparisons.b.tolist(), comparisons.segment.tolist())
        for a, b, segment in zip(*columns, strict=True):
            first, second = number.get(comparisons.systems[a]), number.get(comparisons.systems[b])
            at = place.get(comparisons.segments[segment])
            if first is not None and second is not None and at is not None:
                self.times[min(first, second), max(first, second)][at] += 1

    def choose(self, players: int) -> Match | None:
        """The next match, which then counts as asked."""
        for first in sorted(range(len(self.systems)), key=lambda i: (-self.variances[i], i)):
            for chosen in self._companies(first, players):
                segment = self._segment(chosen)
                if segment is not None:
                    self._note(chosen, segment)
                    return Match(tuple(self.systems[i] for i in chosen), self.segments[segment])
        return None

    def _companies(self, first: int, players: int) -> Iterator[tuple[int, ...]]:
        """Sets of systems with the first one: a drawn one, then, should it not do, all others by weight."""
        others = [i for i in range(len(self.systems)) if i != first]
        weights = np.array([exp(-abs(self.means[first] - self.means[i])) for i in others])
        picked = self.rng.choice(len(others), players - 1, replace=False, p=weights / weights.sum())
        yield (first, *(others[i] for i in picked))
        by_weight = [others[i] for i in np.argsort(-weights, kind="stable")]
        for company in combinations(by_weight, players - 1):
            yield (first, *company)

    def _segment(self, chosen: Sequence[int]) -> int | None:
        """A segment that all have, on which they were asked about least."""
        shared = np.flatnonzero(self.has[list(chosen)].all(axis=0))
        if not len(shared):
            return None
        key = tuple(sorted(chosen))
        times = np.sum([self.times[pair][shared] for pair in combinations(key, 2)], axis=0)
        names = [self.systems[i] for i in chosen]
        mixed = self.rng.permutation(len(shared))
        for i in mixed[np.argsort(times[mixed], kind="stable")]:
            segment = int(shared[i])
            refused = self.ask is not None and not self.ask(names, self.segments[segment])
            if (key, segment) not in self.matches and not refused:
                return segment
        return None

    def _note(self, chosen: Sequence[int], segment: int) -> None:
        """The match counts as asked, and variances fall by what a game of each two takes away on average."""
        key = tuple(sorted(chosen))
        self.matches.add((key, segment))
        for i, j in combinations(key, 2):
            self.times[i, j][segment] += 1
            c2 = 2 * self.skills.beta2 + self.variances[i] + self.variances[j]
            t, epsilon = (self.means[i] - self.means[j]) / sqrt(c2), self.skills.epsilon / sqrt(c2)
            better, worse = normal_tail(epsilon - t), normal_tail(epsilon + t)
            share = better * won(t, epsilon)[1] + worse * won(-t, epsilon)[1]
            share += (1 - better - worse) * drawn(t, epsilon)[1]
            for k in (i, j):
                self.variances[k] *= 1 - self.variances[k] / c2 * share
