"""Ratios of wins against the formulas written out as loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hits.ranking.data import from_counts
from hits.ranking.model import read_model
from hits.ranking.models.wins import expected_wins, wins_ties

COUNTS = arrays(np.int64, (4, 4), elements=st.integers(0, 5)).map(
    lambda counts: counts - np.diag(counts.diagonal())
)


@given(COUNTS)
def test_expected_wins_is_the_mean_share_against_those_met(wins) -> None:
    scores = expected_wins(wins)
    for i in range(4):
        met = [j for j in range(4) if wins[i, j] + wins[j, i]]
        shares = [wins[i, j] / (wins[i, j] + wins[j, i]) for j in met]
        assert scores[i] == pytest.approx(sum(shares) / len(shares) if met else 0.5)
        assert expected_wins(wins, unseen="zero")[i] == pytest.approx(sum(shares) / 3)
        assert expected_wins(wins, unseen="zero", divisor="n")[i] == pytest.approx(sum(shares) / 4)
    assert expected_wins(wins, divisor="n") == pytest.approx(scores * 3 / 4)


@given(COUNTS, COUNTS)
def test_bojar_and_wins_ties(wins, half) -> None:
    ties = half + half.T
    for i in range(4):
        won, lost, tied = wins[i].sum(), wins[:, i].sum(), ties[i].sum()
        total = won + lost + tied
        assert wins_ties(wins, ties)[i] == pytest.approx((won + tied) / total if total else 0.5)
        bojar = read_model("bojar").scores(wins, ties)[i]  # type: ignore[attr-defined]
        assert bojar == pytest.approx(won / (won + lost) if won + lost else 0.5)


def test_models_by_name() -> None:
    data = from_counts(("a", "b"), np.array([[0, 3], [1, 0]]), np.array([[0, 4], [4, 0]]))
    scores = {"expected-wins": 0.75, "expected-wins:divisor=n": 0.375, "bojar": 0.75, "wins-ties": 7 / 8}
    for model, score in scores.items():
        fitted = read_model(model).fit(data, np.random.default_rng(1))
        assert fitted.scores[0] == score
        assert model.partition(":")[2].replace("=", ":") in fitted.signature
