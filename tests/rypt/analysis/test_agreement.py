"""Agreement of workers: published worked examples, and a direct implementation that goes over all pairs."""

from collections import Counter
from itertools import combinations, permutations, product
from math import isnan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.analysis.agreement import (
    agreement,
    by_question,
    cohen_kappa,
    krippendorff_alpha,
    mean_pairwise_kappa,
)

Triples = list[tuple[Any, Any, Any]]

ANSWERS = st.dictionaries(
    st.tuples(st.integers(0, 6), st.integers(0, 4)), st.sampled_from(["YES", "NO", "NOT_SURE"]), max_size=35
).map(lambda given: [(question, worker, answer) for (question, worker), answer in given.items()])


def table(*rows: str) -> Triples:
    """One row of answers a worker, ``.`` where there is none."""
    return [
        (question, worker, answer)
        for worker, row in enumerate(rows)
        for question, answer in enumerate(row.split())
        if answer != "."
    ]


def test_alpha_of_a_published_example() -> None:
    """Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, section C."""
    rows = (
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    )
    assert krippendorff_alpha(table(*rows)) == pytest.approx(0.743, abs=0.0005)


def slow_alpha(answers: Triples) -> float:
    """Observed and expected disagreement by going over pairs of values, as the definition says."""
    units = [list(given.values()) for given in by_question(answers).values() if len(given) > 1]
    values = [value for unit in units for value in unit]
    n = len(values)
    observed = sum(sum(a != b for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units) / max(
        n, 1
    )
    expected = sum(a != b for a, b in permutations(values, 2)) / max(n * (n - 1), 1)
    return 1 - observed / expected if expected else float("nan")


@pytest.mark.slow
@given(ANSWERS)
def test_alpha_is_its_definition(answers: Triples) -> None:
    assert krippendorff_alpha(answers) == pytest.approx(slow_alpha(answers), nan_ok=True)


def slow_kappa(answers: Triples) -> float:
    total = weights = 0.0
    workers = {worker for _, worker, _ in answers}
    for first, second in combinations(workers, 2):
        common = [
            (given[first], given[second])
            for given in by_question(answers).values()
            if first in given and second in given
        ]
        if not common:
            continue
        n = len(common)
        observed = sum(a == b for a, b in common) / n
        labels = {a for pair in common for a in pair}
        chance = sum(
            (sum(a == x for a, _ in common) / n) * (sum(b == x for _, b in common) / n) for x in labels
        )
        if len(labels) > 1:
            total += n * (observed - chance) / (1 - chance)
            weights += n
    return total / weights if weights else float("nan")


@given(ANSWERS)
def test_mean_kappa_is_the_mean_over_pairs(answers: Triples) -> None:
    assert mean_pairwise_kappa(answers) == pytest.approx(slow_kappa(answers), nan_ok=True, abs=1e-12)


def test_kappa_of_cohens_own_table() -> None:
    """Cohen 1960, A coefficient of agreement for nominal scales, table 1: (.70 - .41) / (1 - .41)."""
    counts = zip(product("123", repeat=2), (44, 5, 1, 7, 20, 3, 9, 5, 6), strict=True)
    shares = dict(counts)
    assert cohen_kappa(Counter(shares)) == pytest.approx(0.29 / 0.59)


@pytest.mark.parametrize(
    "answers",
    [
        [],
        [(1, "x", "YES"), (2, "y", "NO")],  # nothing in common
        [(1, "x", "YES"), (1, "y", "YES"), (2, "x", "YES"), (2, "y", "YES")],  # one answer only
    ],
)
def test_what_is_not_defined_is_nan(answers: Triples) -> None:
    assert isnan(krippendorff_alpha(answers))
    assert isnan(mean_pairwise_kappa(answers))
    summary = agreement(answers)
    assert (summary.questions, summary.answers) == (len({q for q, _, _ in answers}), len(answers))
    assert isnan(summary.alpha)
    assert isnan(summary.kappa)
    assert isnan(summary.same)
