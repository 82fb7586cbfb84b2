"""Agreement of rankings: against scipy's tau, soft pairwise accuracy by hand, files of several pairs."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hits.ranking.readers.files import ComparisonFiles
from hits.ranking.scores.agree import OrderEvidence, agree, agreement, order_evidence
from hits.ranking.scores.data import ScoreRecord, scores_of
from rypt.text import RyptError

NAMES = tuple("abcdefgh")


def evidence(scores, p=None) -> OrderEvidence:
    n = len(scores)
    return OrderEvidence(
        NAMES[:n], np.array(scores, float), np.full((n, n), 0.5) if p is None else np.array(p)
    )


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=8))
def test_tau_is_scipys_and_accuracy_counts_half_for_one_tie(pairs: list[tuple[int, int]]) -> None:
    x, y = zip(*pairs, strict=True)
    made = agreement(evidence(x), evidence(y))
    expected = stats.kendalltau(x, y).statistic
    assert made.tau == pytest.approx(0.0 if np.isnan(expected) else expected)
    credits = []
    for i in range(len(x)):
        for j in range(i):
            one, two = np.sign(x[i] - x[j]), np.sign(y[i] - y[j])
            credits.append(1 if one == two else 0.5 if 0 in (one, two) else 0)
    assert made.accuracy == pytest.approx(np.mean(credits))


def test_soft_pairwise_accuracy_is_one_less_the_mean_gap_of_p() -> None:
    p = [[0.5, 0.01, 0.2], [0.99, 0.5, 0.4], [0.8, 0.6, 0.5]]
    q = [[0.5, 0.11, 0.2], [0.89, 0.5, 0.7], [0.8, 0.3, 0.5]]
    made = agreement(evidence([3, 2, 1], p), evidence([3, 1, 2], q))
    assert made.soft == pytest.approx(1 - (0.1 + 0 + 0.3) / 3)
    assert (made.significant, made.significant_pairs) == (1.0, 1)  # only a and b are told apart
    assert made.accuracy == pytest.approx(2 / 3)


def test_systems_that_only_one_ranking_has_are_left_out() -> None:
    short = OrderEvidence(("b", "z", "a"), np.array([2.0, 9.0, 3.0]), np.full((3, 3), 0.5))
    assert agreement(evidence([3, 2, 1]), short).systems == 2
    with pytest.raises(RyptError, match="expected two systems or more in both rankings, found none"):
        agreement(evidence([3, 2]), OrderEvidence(("x", "y"), np.zeros(2), np.zeros((2, 2))))


def test_penalties_are_turned_round() -> None:
    rows = [ScoreRecord(s, str(i), v) for i in range(9) for s, v in (("a", 1), ("b", 5))]
    made = order_evidence(scores_of(rows, higher=False), np.random.default_rng(1))
    assert made.scores[0] > made.scores[1]
    assert made.p[0, 1] < 0.05


def write(path: Path, pairs: dict[str, dict[str, float]]) -> Path:
    rng = np.random.default_rng(3)
    lines = ["lp,system,segment,score"]
    lines += [
        f"{pair},{s},{i},{v + rng.normal():.3f}"
        for pair, systems in pairs.items()
        for s, v in systems.items()
        for i in range(40)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_files_of_several_language_pairs(tmp_path: Path) -> None:
    people = write(tmp_path / "people.csv", {"en-de": {"a": 3, "b": 2, "c": 1}, "en-cs": {"a": 3, "x": 1}})
    metric = write(tmp_path / "metric.csv", {"en-de": {"a": 3, "b": 1, "c": 2}, "en-cs": {"a": 3, "x": 1}})
    made, notes = agree(ComparisonFiles((people, metric)))
    rows = [(a.languages, a.pairs, round(a.accuracy, 3)) for a in made]
    assert rows == [("en-de", 3, 0.667), ("en-cs", 1, 1.0), ("all", 4, 0.75)]
    assert not notes
    same = agree(ComparisonFiles((people, people)))[0][-1]
    assert (same.accuracy, same.tau, same.soft) == (1, 1, 1)
    turned, _ = agree(ComparisonFiles((people, metric)), lower=[metric])
    assert [round(a.accuracy, 3) for a in turned] == [0.333, 0, 0.25]


def test_comparisons_agree_with_scores(tmp_path: Path) -> None:
    people = tmp_path / "counts"
    people.write_text("a b 30 5 10\na c 40 5 5\nb c 30 5 10\n", encoding="utf-8")
    metric = write(tmp_path / "metric.csv", {"": {"a": 3, "b": 2, "c": 1, "d": 0}})
    (made,), notes = agree(ComparisonFiles((people, metric)))
    assert made.accuracy == made.tau == 1
    assert made.soft > 0.9
    assert notes == [f"{metric}: left out what only one of the rankings has: d"]
