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


def test_the_least_played_comes_first_and_a_batch_evens_out() -> None:
    data = played({("a", "b"): (40, 40), ("c", "d"): (40, 40), ("a", "e"): (5, 5), ("c", "e"): (5, 5)})
    new = select_matches(data, everything(*"abcde", "new"), 1, np.random.default_rng(1))
    assert new[0].systems[0] == "new"
    matches = select_matches(data, everything(*"abcde"), 190, np.random.default_rng(1))
    assert all(match.systems[0] == "e" for match in matches[:20])
    plays = Counter(name for match in matches for name in match.systems)
    totals = [90 + plays["a"], 80 + plays["b"], 90 + plays["c"], 80 + plays["d"], 20 + plays["e"]]
    assert max(totals) - min(totals) < 20
    asked = comparisons_of([(segment, "a", "b", 1, "w") for segment in SEGMENTS[:38]])
    matches = select_matches(asked, everything("a", "b"), 2, np.random.default_rng(3))
    assert {match.segment for match in matches} == set(SEGMENTS[38:])


@pytest.mark.slow
def test_opponents_are_drawn_by_how_near_they_are() -> None:
    """The share of opponents follows exp(−|μ₁ − μ₂|) of the fitted means."""
    data = played({("a", "b"): (40, 40), ("a", "z"): (80, 0), ("b", "z"): (80, 0)})
    model = TrueSkill(order="given", beta=2.0, sigma=2.0)
    fitted = model.fit(data, np.random.default_rng(1))
    mean = dict(zip(fitted.systems, fitted.scores, strict=True))
    weights = {name: np.exp(-abs(mean[name])) for name in "abz"}
    rng, available = np.random.default_rng(2), everything("a", "b", "z", "new")
    drawn = Counter(select_matches(data, available, 1, rng, model=model)[0].systems[1] for _ in range(300))
    for name in "abz":
        share = weights[name] / sum(weights.values())
        assert drawn[name] / 300 == pytest.approx(share, abs=4.5 * np.sqrt(share * (1 - share) / 300))
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


def test_what_must_not_be_asked_is_not_asked() -> None:
    def differ(systems, segment: str) -> bool:
        return segment != "s0" and set(systems) != {"a", "b"}

    matches = select_matches(None, everything("a", "b", "c"), 500, np.random.default_rng(1), ask=differ)
    assert len(matches) == 2 * 39
    assert all(differ(match.systems, match.segment) for match in matches)


def test_the_seed_decides_and_bad_wishes_are_refused() -> None:
    runs = [select_matches(None, everything(*"abcd"), 20, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    for systems, players, reason in (("abcdefg", 6, "2 to 5 .* found 6"), ("ab", 3, "3 systems .* found 2")):
        with pytest.raises(RyptError, match=reason):
            select_matches(None, everything(*systems), 1, np.random.default_rng(1), players=players)
