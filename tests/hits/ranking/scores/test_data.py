"""Ratings as arrays: means, z by rater, and the comparisons they make."""

import numpy as np
import pytest

from hits.ranking.scores.data import ScoreRecord, merge_scores, scores_of
from rypt.text import RyptError

ROWS = [
    ScoreRecord("b", "1", 80, "d", "x"),
    ScoreRecord("b", "1", 60, "d", "y"),
    ScoreRecord("a", "1", 90, "d", "x"),
    ScoreRecord("a", "1", 90, "e", "x"),
    ScoreRecord("c", "1", 75, "d", "y"),
]


def test_ratings_of_a_candidate_are_averaged() -> None:
    scores = scores_of(ROWS)
    assert (scores.systems, scores.segments) == (("a", "b", "c"), (("d", "1"), ("e", "1")))
    table = scores.table()
    assert table[:, 0].tolist() == [90, 70, 75]
    assert np.isnan(table[1:, 1]).all()
    assert scores_of(ROWS, "MQM", higher=False).table()[0].tolist() == [-90, -90]
    merged = merge_scores([scores, scores_of([ScoreRecord("z", "1", 50, "d", "x")])])
    assert merged.systems == ("a", "b", "c", "z")
    assert merged.without("z").table() == pytest.approx(table, nan_ok=True)


def test_z_has_mean_0_and_deviation_1_for_each_rater() -> None:
    scores = scores_of([*ROWS, ScoreRecord("c", "1", 5, "e", "flat")]).standardize()
    for rater in (0, 1):
        z = scores.score[scores.rater == rater]
        assert z.mean() == pytest.approx(0)
        assert z.std(ddof=1) == pytest.approx(1)
    assert scores.score[-1] == 0  # a rater with one score
    assert scores.standardized


def told(comparisons) -> set[tuple[str, str, str, int, str]]:
    c = comparisons
    return {
        (c.segments[s], c.systems[a], c.systems[b], int(o), c.workers[w])
        for a, b, o, s, w in zip(c.a, c.b, c.outcome, c.segment, c.worker, strict=True)
    }


def test_comparisons_within_a_segment() -> None:
    pairs = scores_of(ROWS).comparisons(tie=5)
    assert told(pairs) == {("d 1", "a", "b", 1, ""), ("d 1", "a", "c", 1, ""), ("d 1", "b", "c", 0, "")}
    assert len(set(pairs.row.tolist())) == 1  # a segment is a row


def test_the_tie_threshold_is_inclusive_and_free_of_rounding() -> None:
    rows = [ScoreRecord("a", "1", 0.3), ScoreRecord("b", "1", 0.1 + 0.1 + 0.1), ScoreRecord("c", "1", 0.2)]
    outcomes = {pair[1:4] for pair in told(scores_of(rows).comparisons())}
    assert outcomes == {("a", "b", 0), ("a", "c", 1), ("b", "c", 1)}
    assert {pair[3] for pair in told(scores_of(rows).comparisons(tie=0.1))} == {0}


def test_what_cannot_be_compared_is_said() -> None:
    alone = scores_of([ScoreRecord("a", "1", 1), ScoreRecord("b", "2", 1)])
    with pytest.raises(RyptError, match="expected segments with scores of two systems, found none"):
        alone.comparisons()
    with pytest.raises(RyptError, match="expected scores of one scale to rank together, found ESA, MQM"):
        merge_scores([scores_of(ROWS, "ESA"), scores_of(ROWS, "MQM", higher=False)])
