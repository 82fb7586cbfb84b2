"""Tails of distributions against scipy's, and the same compiled."""

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from rypt.compiled import compiled
from rypt.tails import binomial_tail, normal_tail, sign_test


@given(st.floats(-37, 37))
def test_the_normal_tail(x: float) -> None:
    assert normal_tail(x) == pytest.approx(scipy.stats.norm.sf(x), rel=1e-12)


@given(st.integers(1, 400), st.data(), st.floats(0.01, 0.99))
def test_the_binomial_tail(size: int, data: st.DataObject, p: float) -> None:
    count = data.draw(st.integers(0, size))
    assert binomial_tail(count, size, p) == pytest.approx(scipy.stats.binom.cdf(count, size, p), rel=1e-9)


@pytest.mark.parametrize(
    ("count", "size", "p"), [(5300, 10_000, 0.5), (2, 5000, 0.9), (4999, 5000, 0.1), (0, 3000, 0.7)]
)
def test_the_binomial_tail_of_many(count: int, size: int, p: float) -> None:
    assert binomial_tail(count, size, p) == pytest.approx(
        scipy.stats.binom.cdf(count, size, p), rel=1e-7, abs=1e-300
    )


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_sign_test_is_the_binomial_one(one: int, other: int) -> None:
    expected = scipy.stats.binomtest(one, one + other).pvalue if one + other else 1.0
    assert sign_test(one, other) == pytest.approx(expected, rel=1e-9)
    assert sign_test(5300, 4700) == pytest.approx(scipy.stats.binomtest(5300, 10_000).pvalue, rel=1e-7)


def test_compiled_they_give_the_same() -> None:
    fast_tail, fast_binomial = compiled(normal_tail), compiled(binomial_tail)
    for x in (-8.0, -0.5, 0.0, 1.96, 12.0):
        assert fast_tail(x) == pytest.approx(normal_tail(x), rel=1e-14)
    for count, size, p in ((3, 20, 0.5), (19, 20, 0.3), (50, 400, 0.2)):
        assert fast_binomial(count, size, p) == pytest.approx(binomial_tail(count, size, p), rel=1e-12)
