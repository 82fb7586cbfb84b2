"""Tails of the normal and of the binomial distribution, and the sign test: once, for all three packages.

    normal_tail(1.96)          →   0.025
    binomial_tail(1, 5, 0.7)   →   0.03078
    sign_test(9, 1)            →   0.0215

Plain functions of the standard library, so that they cost nothing to import; numba compiles the two tails as they are
(``compiled(normal_tail)``) where a loop needs them. The sign test is exact, in whole numbers, up to 1,000 judgments.
"""

from fractions import Fraction
from math import comb, erfc, exp, lgamma, log, sqrt

ROOT_HALF = sqrt(0.5)
EXACT = 1000  # judgments up to which the sign test is computed in whole numbers


def normal_tail(x: float) -> float:
    """P(N(0, 1) > x); exact far out, where one minus the rest would be 0. P(N(0, 1) < x) is ``normal_tail(-x)``.

    >>> round(normal_tail(1.96), 5), normal_tail(0.0), normal_tail(30.0) > 0
    (0.025, 0.5, True)
    """
    return 0.5 * erfc(x * ROOT_HALF)


def binomial_tail(k: int, n: int, p: float = 0.5) -> float:
    """P(X ≤ k) for X ~ Binomial(n, p) and 0 < p < 1: Σ C(n, i) pⁱ (1 − p)ⁿ⁻ⁱ over i ≤ k.

    Terms are added from i = k down, each from the one before, until they no longer count; above the mean it is one
    minus the other side.

    >>> round(binomial_tail(1, 5, 0.7), 5), binomial_tail(-1, 5), binomial_tail(5, 5)
    (0.03078, 0.0, 1.0)
    """
    if k >= n:
        return 1.0
    if k < 0:
        return 0.0
    above = k > n * p
    i, share = (n - k - 1, 1.0 - p) if above else (k, p)
    term = exp(
        lgamma(n + 1.0)
        - lgamma(i + 1.0)
        - lgamma(n - i + 1.0)
        + (-n * log(2.0) if p == 0.5 else i * log(share) + (n - i) * log(1.0 - share))
    )
    odds = (1.0 - share) / share
    total = 0.0
    while i >= 0 and term > 1e-18 * total:
        total += term
        term *= i / (n - i + 1.0) * odds
        i -= 1
    return 1.0 - total if above else total


def sign_test(wins: int, losses: int) -> float:
    """The two-sided sign test: how likely such an uneven outcome, or a more uneven one, is among equals.

    p = min(1, 2 P(X ≤ min(wins, losses))), X binomial with n = wins + losses and ½. Ties do not count.

    >>> round(sign_test(9, 1), 4), sign_test(5, 5), sign_test(0, 0)
    (0.0215, 1.0, 1.0)
    """
    total, few = wins + losses, min(wins, losses)
    if total > EXACT:
        return min(1.0, 2 * binomial_tail(few, total))
    return min(1.0, float(Fraction(2 * sum(comb(total, k) for k in range(few + 1)), 2**total)))
