"""The signed-rank and the rank-sum test against scipy, permutations against all of them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hits.ranking.scores.paired import permutation_tests, rank_sum, rank_sum_tests, wilcoxon, wilcoxon_tests


@pytest.mark.slow
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=70))
def test_the_signed_rank_test_is_scipys(differences: list[int]) -> None:
    """With ties and zeros: exact up to 13 segments, by the normal distribution from there on."""
    expected = stats.wilcoxon(differences).pvalue if any(differences) else 1.0
    assert wilcoxon(differences) == pytest.approx(expected, abs=1e-12)


@given(st.integers(1, 60), st.integers(0, 1000))
def test_without_ties_it_is_exact_up_to_50(size: int, seed: int) -> None:
    differences = np.random.default_rng(seed).normal(0.2, 1, size)
    assert wilcoxon(differences) == pytest.approx(stats.wilcoxon(differences).pvalue, abs=1e-12)


@pytest.mark.parametrize("tests_of", [wilcoxon_tests, rank_sum_tests])
def test_only_segments_that_both_have_are_compared(tests_of) -> None:
    table = np.random.default_rng(1).normal(0, 1, (3, 80))
    table[0, :20] = table[1, 50:] = table[2] = np.nan
    first, second = table[0, 20:50], table[1, 20:50]
    if tests_of is wilcoxon_tests:
        expected = stats.wilcoxon(first, second).pvalue
    else:
        expected = stats.mannwhitneyu(first, second, method="asymptotic").pvalue
    p = tests_of(table)
    assert p[0].tolist() == p[:, 0].tolist() == pytest.approx([1, expected, 1])


@given(
    st.lists(st.integers(-6, 6), min_size=1, max_size=40),
    st.lists(st.integers(-6, 6), min_size=1, max_size=40),
)
def test_the_rank_sum_test_is_scipys(first: list[int], second: list[int]) -> None:
    expected = (
        stats.mannwhitneyu(first, second, method="asymptotic").pvalue if len({*first, *second}) > 1 else 1.0
    )
    assert rank_sum(np.array(first, float), np.array(second, float)) == pytest.approx(expected, abs=1e-12)


def test_permutations_come_near_the_share_of_all_permutations() -> None:
    gaps = np.array([3.0, -1.0, 2.0, 5.0, 1.0, 4.0, -0.5, 2.5])
    sums = np.array([(gaps * signs).sum() for signs in product((-1, 1), repeat=len(gaps))])
    same = np.abs(sums - gaps.sum()) < 1e-9
    share = np.mean((sums > gaps.sum()) & ~same) + np.mean(same) / 2
    table = np.vstack([gaps, np.zeros(len(gaps))])
    p = permutation_tests(table, np.random.default_rng(1), 20_000)[0, 1]
    assert p == pytest.approx(share, abs=4 * np.sqrt(share / 20_000))
