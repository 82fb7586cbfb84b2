"""Ranges, sign tests and clusters against brute force and scipy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.ranking.confidence import (
    Confidence,
    bootstrap,
    clusters,
    densest,
    ranges_by_sign_tests,
    ranges_of,
    resampled_scores,
)
from hits.ranking.data import comparisons_of, from_counts
from hits.ranking.model import read_model
from hits.ranking.models.wins import WinRatio
from rypt.tails import sign_test
from rypt.text import RyptError

SPANS = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 4)), min_size=1, max_size=12)
DATA = from_counts(
    ("a", "b", "c", "d"),
    np.array([[0, 30, 28, 40], [20, 0, 26, 35], [22, 24, 0, 33], [10, 15, 17, 0]]),
    np.array([[0, 9, 8, 5], [9, 0, 12, 4], [8, 12, 0, 3], [5, 4, 3, 0]]),
)


@given(SPANS)
def test_clusters_are_the_connected_overlaps(spans) -> None:
    low = np.array([start for start, _ in spans])
    high = np.array([start + size for start, size in spans])
    n = len(spans)
    linked = (low[:, None] <= high[None, :]) & (low[None, :] <= high[:, None])
    for _ in range(n):
        linked = linked @ linked
    found = clusters(low, high)
    for i in range(n):
        for j in range(n):
            assert (found[i] == found[j]) == linked[i, j]
            if found[i] < found[j]:
                assert high[i] < low[j]
    assert set(found.tolist()) == set(range(1, found.max() + 1))


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=9), st.integers(0, 4)
)
def test_ranges_drop_the_ends_of_all_ranks(table, trim: int) -> None:
    scores = np.array(table, float)
    if len(table) <= 2 * trim:
        with pytest.raises(RyptError, match="expected more than"):
            ranges_of(scores, trim)
        return
    found = ranges_of(scores, trim)
    for i in range(4):
        best = sorted(1 + sum(other > row[i] for other in row) for row in table)
        worst = sorted(sum(other >= row[i] for other in row) for row in table)
        assert found.low[i] == best[trim]
        assert found.high[i] == worst[len(table) - 1 - trim]
    default = ranges_of(np.tile(scores, (100, 1)))  # Koehn's trim
    trimmed = ranges_of(np.tile(scores, (100, 1)), len(table) * 100 // 40)
    assert (default.low.tolist(), default.high.tolist()) == (trimmed.low.tolist(), trimmed.high.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("model", [WinRatio(), WinRatio("bojar"), WinRatio("wins-ties")])
def test_counts_drawn_from_a_multinomial_are_comparisons_drawn_with_replacement(model) -> None:
    """Means and deviations of scores agree with a plain loop over resampled comparisons."""
    rng = np.random.default_rng(1)
    fast = resampled_scores(model, DATA, rng, Confidence(samples=4000))
    slow = []
    for _ in range(1500):
        wins, ties = DATA.take(rng.integers(0, len(DATA), len(DATA))).counts()
        slow.append(model.scores(wins, ties))
    error = np.std(slow, axis=0) * np.sqrt(1 / 1500 + 1 / 4000)
    assert (np.abs(fast.mean(axis=0) - np.mean(slow, axis=0)) < 4.5 * error).all()
    assert fast.std(axis=0) == pytest.approx(np.std(slow, axis=0), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["expected-wins", "trueskill", "bradley-terry"])
def test_rows_are_drawn_whole(name: str) -> None:
    """Rows that always agree with themselves: drawing rows spreads scores by √10 more than drawing comparisons."""
    records = [("s", "a", "b", 1 if row % 2 else -1, "") for row in range(60) for _ in range(10)]
    data = replace(comparisons_of(records), row=np.repeat(np.arange(60, dtype=np.int32), 10))
    samples = 2000 if name == "expected-wins" else 300
    spread = [
        resampled_scores(
            read_model(name), data, np.random.default_rng(1), Confidence(samples=samples, unit=unit)
        ).std(axis=0)[0]
        for unit in ("comparison", "row")
    ]
    assert spread[1] / spread[0] == pytest.approx(np.sqrt(10), rel=0.2)


@pytest.mark.parametrize("unit", ["comparison", "row"])
@pytest.mark.parametrize("name", ["expected-wins", "trueskill", "bradley-terry"])
def test_ranges_of_one_seed_are_the_same_again_for_any_number_of_threads(name: str, unit: str) -> None:
    ranges = [
        bootstrap(
            read_model(name),
            DATA,
            np.random.default_rng(seed),
            Confidence(samples=20, unit=unit, threads=threads),
        )
        for seed, threads in ((3, 1), (3, 3), (4, 1))
    ]
    assert ranges[0].scores.tolist() == ranges[1].scores.tolist() != ranges[2].scores.tolist()
    assert ranges[0].samples.shape == (20, 4)


def slow_densest(tally: list[int], wanted: float) -> tuple[int, int]:
    """Koehn's rule read aloud, with ranks that never came up left out of a dict."""
    seen = {rank: count for rank, count in enumerate(tally, start=1) if count}
    low = high = max(seen, key=lambda rank: (seen[rank], -rank))
    while sum(seen.get(rank, 0) for rank in range(low, high + 1)) < wanted:
        left, right = seen.get(low - 1, 0), seen.get(high + 1, 0)
        if low == 1 or (high < len(tally) and right >= left):
            high += 1
        else:
            low -= 1
    return low, high


@given(st.lists(st.integers(0, 9), min_size=2, max_size=9).filter(any))
def test_the_densest_range(tally: list[int]) -> None:
    wanted = 0.95 * sum(tally)
    low, high = densest(np.array(tally, np.float64), wanted)
    assert (low, high) == slow_densest(tally, wanted)


def test_ranges_by_sign_tests_count_who_is_significantly_better() -> None:
    wins = np.array([[0, 12, 15, 30], [10, 0, 30, 11], [13, 8, 0, 12], [5, 9, 10, 0]])
    found = ranges_by_sign_tests(wins)
    for i in range(4):
        shown = [j for j in range(4) if sign_test(int(wins[i, j]), int(wins[j, i])) <= 0.05]
        better = sum(wins[j, i] > wins[i, j] for j in shown)
        assert (found.low[i], found.high[i]) == (1 + better, 4 - (len(shown) - better))
    assert (found.low.tolist(), found.high.tolist()) == ([1, 1, 2, 2], [3, 3, 4, 4])
