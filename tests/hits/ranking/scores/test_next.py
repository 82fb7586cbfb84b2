"""What to rate next: never what is rated, first what all lack, then what may split a cluster; and it saves ratings."""

import numpy as np
import pytest

from hits.ranking.scores.data import ScoreRecord, scores_of
from hits.ranking.scores.mean import clusters_by_tests
from hits.ranking.scores.next import FIRST, RatingPlan, next_ratings
from hits.ranking.scores.paired import wilcoxon_tests
from rypt.text import RyptError


def full_table(seed: int = 1, segments: int = 400) -> np.ndarray:
    """Far apart, near, equal: 0 | 1, 2 | 3, where 1 and 2 are the same and 2 and 3 differ a little."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 5, segments)
    return np.array([[90.0], [80.0], [80.0], [78.0]]) + hard + rng.normal(0, 8, (4, segments))


def partly(full: np.ndarray, count: int) -> np.ndarray:
    table = np.full(full.shape, np.nan)
    table[:, :count] = full[:, :count]
    return table


def test_systems_with_few_ratings_come_first() -> None:
    full = full_table()
    table = partly(full, 60)
    table[1, 20:] = np.nan
    plan = RatingPlan(table, np.arange(400))
    chosen = [plan.choose() for _ in range(FIRST - 20)]
    assert chosen == [(segment, [1]) for segment in range(20, FIRST)]  # on segments that the others have


def test_ratings_go_to_the_boundary_that_is_near_and_not_to_what_is_settled() -> None:
    full = full_table()
    table = partly(full, 40)
    plan = RatingPlan(table, np.arange(400))
    rated = {0: 0, 1: 0, 2: 0, 3: 0}
    for _ in range(200):
        choice = plan.choose()
        if choice is None:
            break
        segment, who = choice
        assert np.isnan(table[who, segment]).all()
        for system in who:
            rated[system] += 1
    assert rated[0] == 0  # it is told apart from all others already
    assert rated[3] > 0


def test_nothing_is_asked_where_nothing_can_be_won() -> None:
    rng = np.random.default_rng(1)
    same = np.tile(rng.normal(0, 1, 300), (2, 1))
    assert RatingPlan(partly(same, 200), np.arange(300)).choose() is None
    everything = full_table()
    assert RatingPlan(everything, np.arange(400)).choose() is None


def test_it_reaches_the_clusters_with_fewer_ratings() -> None:
    full = full_table()
    expected = clusters_by_tests(full.mean(axis=1), wilcoxon_tests(full), 0.05).tolist()
    assert expected == [1, 2, 2, 3]
    order = np.random.default_rng(2).permutation(400)
    table = np.full(full.shape, np.nan)
    table[:, order[:FIRST]] = full[:, order[:FIRST]]
    plan = RatingPlan(table, order)
    while True:
        chosen = [choice for choice in (plan.choose() for _ in range(20)) if choice is not None]
        if not chosen:
            break
        for segment, who in chosen:
            table[who, segment] = full[who, segment]
        plan.test()
    assert clusters_by_tests(np.nanmean(table, axis=1), wilcoxon_tests(table), 0.05).tolist() == expected
    assert (~np.isnan(table)).mean() < 0.8


def test_requests_name_segments_and_systems() -> None:
    rows = [ScoreRecord(s, str(i), v + i % 7, "d") for i in range(5) for s, v in (("x", 80), ("y", 79))]
    requests = next_ratings(scores_of(rows), 6, np.random.default_rng(1), segments=["new", "3"], more=["z"])
    asked = [(r.document, r.segment, system) for r in requests for system in r.systems]
    assert len(asked) >= 6
    assert len(set(asked)) == len(asked)
    assert {system for _, _, system in asked} >= {"z"}
    assert ("d", "3", "x") not in asked  # rated already
    assert {segment for document, segment, _ in asked if not document} <= {"new"}
    with pytest.raises(RyptError, match="expected two systems or more to rate, found x"):
        next_ratings(scores_of(rows[::2]), 1, np.random.default_rng(1))
