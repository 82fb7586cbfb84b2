"""Which comparison to ask for next: the systems and the segment that TrueSkill selects.

Sakaguchi et al. (2014), section 2.4: take the system of the highest variance, draw the others with the weight
p̂_draw = exp(−|μ₁ − μ₂|), draw a segment. In a batch a system's variance falls with every match chosen, as if it had
been played: otherwise all matches of a batch would be the same system's.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons, compared_only
from hits.ranking.models.trueskill import Skills, TrueSkill, drawn, won
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
    while len(matches) < count:
        match = chooser.choose(players)
        if match is None:
            break
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
    """Skills as they are known, and what was asked so far."""

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
        self.has = np.zeros((len(self.systems), len(self.segments)), np.bool_)
        place = {segment: i for i, segment in enumerate(self.segments)}
        for i, name in enumerate(self.systems):
            self.has[i, [place[segment] for segment in available[name]]] = True
        self.asked: dict[tuple[int, int], NDArray[np.int32]] = {}
        self.matches: set[tuple[tuple[int, ...], int]] = set()
        self.means = np.zeros(len(self.systems))
        self.variances = np.full(len(self.systems), model.sigma**2)
        self.skills = self._learn(comparisons, model, place)

    def _learn(self, comparisons: Comparisons | None, model: TrueSkill, place: Mapping[str, int]) -> Skills:
        """Take means and variances from the comparisons, and count what was asked."""
        if comparisons is None or not len(comparisons):
            return model.skills(1)
        seen = compared_only(comparisons)
        number = {name: i for i, name in enumerate(self.systems)}
        fitted = model.fit(seen, self.rng)
        assert fitted.variances is not None
        for i, name in enumerate(seen.systems):
            if name in number:
                self.means[number[name]], self.variances[number[name]] = fitted.scores[i], fitted.variances[i]
        for a, b, segment in zip(seen.a.tolist(), seen.b.tolist(), seen.segment.tolist(), strict=True):
            first, second = number.get(seen.systems[a]), number.get(seen.systems[b])
            at = place.get(seen.segments[segment])
            if first is not None and second is not None and at is not None:
                self._times(first, second)[at] += 1
        return model.skills(len(seen))

    def _times(self, first: int, second: int) -> NDArray[np.int32]:
        """How often two systems were asked about, on each segment."""
        key = (min(first, second), max(first, second))
        if key not in self.asked:
            self.asked[key] = np.zeros(len(self.segments), np.int32)
        return self.asked[key]

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
        """Sets of systems around the first one: a drawn one, then, should it not do, all others by weight."""
        others = [i for i in range(len(self.systems)) if i != first]
        weights = np.array([exp(-abs(self.means[first] - self.means[i])) for i in others])
        picked = self.rng.choice(len(others), players - 1, replace=False, p=weights / weights.sum())
        drawn_first = (first, *(others[i] for i in picked))
        yield drawn_first
        by_weight = [others[i] for i in np.argsort(-weights, kind="stable")]
        for company in combinations(by_weight, players - 1):
            if set(company) != set(drawn_first[1:]):
                yield (first, *company)

    def _segment(self, chosen: Sequence[int]) -> int | None:
        """A segment that all have, on which they were asked about least."""
        shared = np.flatnonzero(self.has[list(chosen)].all(axis=0))
        if not len(shared):
            return None
        times = sum(
            (self._times(i, j)[shared] for i, j in combinations(chosen, 2)), np.zeros(len(shared), np.int32)
        )
        names = [self.systems[i] for i in chosen]
        key = tuple(sorted(chosen))
        mixed = self.rng.permutation(len(shared))
        for i in mixed[np.argsort(times[mixed], kind="stable")]:
            segment = int(shared[i])
            if (key, segment) in self.matches or (self.ask and not self.ask(names, self.segments[segment])):
                continue
            return segment
        return None

    def _note(self, chosen: Sequence[int], segment: int) -> None:
        self.matches.add((tuple(sorted(chosen)), segment))
        for i, j in combinations(chosen, 2):
            self._times(i, j)[segment] += 1
            self._expect(i, j)

    def _expect(self, i: int, j: int) -> None:
        """Let the variances fall by what a game of the two takes away on average."""
        c2 = 2 * self.skills.beta2 + self.variances[i] + self.variances[j]
        t, epsilon = (self.means[i] - self.means[j]) / sqrt(c2), self.skills.epsilon / sqrt(c2)
        better, worse = normal_tail(epsilon - t), normal_tail(epsilon + t)
        share = better * won(t, epsilon)[1] + worse * won(-t, epsilon)[1]
        share += (1 - better - worse) * drawn(t, epsilon)[1]
        for k in (i, j):
            self.variances[k] *= 1 - self.variances[k] / c2 * share
