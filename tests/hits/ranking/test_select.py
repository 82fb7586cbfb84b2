"""What to ask next: who is least known, who is near, what was not asked yet."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from hits.ranking.data import comparisons_of
from hits.ranking.models.trueskill import TrueSkill
from hits.ranking.select import select_matches
from rypt.text import RyptError

SEGMENTS = [f"s{i}" for i in range(40)]


def played(games: dict[tuple[str, str], tuple[int, int]]):
    return comparisons_of(
        [
            (SEGMENTS[k % 40], a, b, outcome, "w")
            for (a, b), counts in games.items()
            for outcome, count in zip((1, -1), counts, strict=True)
            for k in range(count)
        ]
    )


def everything(*systems: str):
    return dict.fromkeys(systems, SEGMENTS)


def test_who_was_never_compared_comes_first() -> None:
    data = played({("a", "b"): (30, 20), ("b", "c"): (30, 20), ("a", "c"): (25, 25)})
    matches = select_matches(data, everything("a", "b", "c", "new"), 3, np.random.default_rng(1))
    assert [match.systems[0] for match in matches[:1]] == ["new"]
    assert select_matches(None, everything("a", "b"), 1, np.random.default_rng(1))[0].systems in (
        ("a", "b"),
        ("b", "a"),
    )


def test_the_least_played_comes_first_and_a_batch_evens_out() -> None:
    data = played({("a", "b"): (40, 40), ("c", "d"): (40, 40), ("a", "e"): (5, 5), ("c", "e"): (5, 5)})
    matches = select_matches(data, everything(*"abcde"), 60, np.random.default_rng(1))
    assert matches[0].systems[0] == "e"
    assert all(match.systems[0] == "e" for match in matches[:20])
    later = select_matches(data, everything(*"abcde"), 190, np.random.default_rng(1))
    plays = Counter(name for match in later for name in match.systems)
    before = {"a": 90, "b": 80, "c": 90, "d": 80, "e": 20}
    totals = [before[name] + plays[name] for name in "abcde"]
    assert max(totals) - min(totals) < 20


def test_opponents_are_drawn_by_how_near_they_are() -> None:
    """The share of opponents follows exp(−|μ₁ − μ₂|) of the fitted means."""
    games = {("a", "b"): (40, 40), ("a", "z"): (80, 0), ("b", "z"): (80, 0)}
    data = played(games)
    model = TrueSkill(order="given", beta=2.0, sigma=2.0)
    fitted = model.fit(data, np.random.default_rng(1))
    mean = dict(zip(fitted.systems, fitted.scores, strict=True)) | {"new": 0.0}
    weights = {name: np.exp(-abs(mean[name])) for name in "abz"}
    rng = np.random.default_rng(2)
    drawn = Counter(
        select_matches(data, everything("a", "b", "z", "new"), 1, rng, model=model)[0].systems[1]
        for _ in range(600)
    )
    for name in "abz":
        expected = weights[name] / sum(weights.values())
        assert drawn[name] / 600 == pytest.approx(
            expected, abs=4.5 * np.sqrt(expected * (1 - expected) / 600)
        )
    assert weights["z"] != pytest.approx(weights["a"], rel=0.2)


@pytest.mark.parametrize("players", [2, 3, 5])
def test_matches_of_several_are_of_different_systems_and_never_twice(players: int) -> None:
    matches = select_matches(None, everything(*"abcdef"), 200, np.random.default_rng(1), players=players)
    assert len(matches) == 200
    assert {len(set(match.systems)) for match in matches} == {players}
    assert len({(frozenset(match.systems), match.segment) for match in matches}) == 200


def test_everything_is_asked_once_and_then_it_ends() -> None:
    available = {"a": ["1", "2"], "b": ["2", "3"], "c": ["2"], "d": ["9"]}
    matches = select_matches(None, available, 50, np.random.default_rng(1))
    assert sorted((*sorted(match.systems), match.segment) for match in matches) == [
        (*pair, "2") for pair in combinations("abc", 2)
    ]


def test_segments_asked_least_come_first() -> None:
    data = comparisons_of([(segment, "a", "b", 1, "w") for segment in SEGMENTS[:38]])
    matches = select_matches(data, everything("a", "b"), 2, np.random.default_rng(3))
    assert {match.segment for match in matches} == set(SEGMENTS[38:])


def test_what_must_not_be_asked_is_not_asked() -> None:
    def differ(systems, segment: str) -> bool:
        return segment != "s0" and set(systems) != {"a", "b"}

    matches = select_matches(None, everything("a", "b", "c"), 500, np.random.default_rng(1), ask=differ)
    assert len(matches) == 2 * 39
    assert all(differ(match.systems, match.segment) for match in matches)


def test_the_seed_decides_and_bad_wishes_are_refused() -> None:
    runs = [select_matches(None, everything(*"abcd"), 20, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    rng = np.random.default_rng(1)
    with pytest.raises(RyptError, match="expected 2 to 5 systems in a match, found 6"):
        select_matches(None, everything(*"abcdefg"), 1, rng, players=6)
    with pytest.raises(RyptError, match="expected 3 systems or more to choose from, found 2"):
        select_matches(None, everything("a", "b"), 1, rng, players=3)
