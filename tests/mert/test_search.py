"""The line search against trying every interval."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mert.search import best_step

RATIO_COLUMNS = 2


def ratio(sums):
    """A metric that is not linear: a share, as RYPT is one."""
    return sums[:, 0] / np.maximum(sums[:, 1], 1)


@st.composite
def problems(draw):
    """A few segments; small whole numbers make parallel, equal and concurrent lines common."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    count = sum(sizes)
    numbers = st.integers(-3, 3).map(float)
    slopes, intercepts = (np.array(draw(st.lists(numbers, min_size=count, max_size=count))) for _ in range(2))
    whole = st.lists(st.integers(0, 9), min_size=RATIO_COLUMNS, max_size=RATIO_COLUMNS)
    stats = np.array(draw(st.lists(whole, min_size=count, max_size=count)), np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return offsets, slopes, intercepts, stats


def search(offsets, slopes, intercepts, stats, low=-np.inf, high=np.inf):
    return best_step(offsets, slopes, intercepts, stats, ratio, low, high)


def score_at(offsets, slopes, intercepts, stats, t):
    """The score of the winners at one place; the first of equals wins."""
    values = slopes * t + intercepts
    chosen = [a + int(np.argmax(values[a:b])) for a, b in itertools.pairwise(offsets)]
    return float(ratio(stats[chosen].sum(axis=0, keepdims=True))[0])


def places(offsets, slopes, intercepts, low=-np.inf, high=np.inf):
    """A point inside every interval between crossings of any two lines of a segment."""
    crossings = set()
    for a, b in itertools.pairwise(offsets):
        for i in range(a, b):
            for j in range(a, i):
                if slopes[i] != slopes[j]:
                    crossings.add((intercepts[j] - intercepts[i]) / (slopes[i] - slopes[j]))
    inside = sorted(x for x in crossings if low < x < high)
    left = low if np.isfinite(low) else (inside[0] - 2 if inside else -1.0)
    right = high if np.isfinite(high) else (inside[-1] + 2 if inside else 1.0)
    ends = [left, *inside, right]
    return [(x + y) / 2 for x, y in itertools.pairwise(ends)]


@settings(max_examples=400)
@given(problems())
def test_equals_brute_force(problem):
    offsets, slopes, intercepts, _stats = problem
    step = search(*problem)
    best = max(score_at(*problem, t) for t in places(offsets, slopes, intercepts))
    assert step.score == pytest.approx(best, abs=1e-12)
    assert score_at(*problem, step.length) == pytest.approx(best, abs=1e-12)


@settings(max_examples=150)
@given(problems(), st.integers(-13, 1).map(lambda n: n / 4 + 0.1), st.integers(1, 12).map(lambda n: n / 4))
def test_bounds_are_kept_and_the_best_within_them_is_found(problem, low, width):
    offsets, slopes, intercepts, _stats = problem
    step = search(*problem, low, low + width)
    assert low <= step.length <= low + width or step.length == 0.0
    best = max(score_at(*problem, t) for t in places(offsets, slopes, intercepts, low, low + width))
    assert step.score == pytest.approx(best, abs=1e-12)


@settings(max_examples=150)
@given(problems(), st.randoms(use_true_random=False))
def test_order_of_candidates_does_not_matter(problem, random):
    offsets, slopes, intercepts, stats = problem
    distinct = len(set(zip(slopes, intercepts, strict=True))) == len(slopes)
    order = []
    for a, b in itertools.pairwise(offsets):
        block = list(range(a, b))
        random.shuffle(block)
        order += block
    if distinct:  # of lines that coincide the first wins, which depends on the order by definition
        assert search(offsets, slopes[order], intercepts[order], stats[order]) == search(*problem)


@settings(max_examples=100)
@given(problems())
def test_a_dominated_candidate_changes_nothing(problem):
    offsets, slopes, intercepts, stats = problem
    more = np.concatenate([offsets[:-1], [offsets[-1] + 1]])
    last = offsets[-2]
    dominated = search(
        more,
        np.append(slopes, slopes[last]),
        np.append(intercepts, intercepts[last] - 1),
        np.vstack([stats, [[99, 1]]]),
    )
    assert dominated == search(*problem)


@given(problems(), st.sampled_from([0.25, 4.0, 64.0]))
def test_scaling_the_direction_scales_the_step(problem, factor):
    offsets, slopes, intercepts, stats = problem
    plain, scaled = search(*problem), search(offsets, slopes * factor, intercepts, stats)
    assert scaled.score == plain.score
    assert score_at(*problem, scaled.length * factor) == pytest.approx(plain.score)


def test_a_feature_that_never_differs_gives_no_step():
    offsets = np.array([0, 2], np.int64)
    step = search(offsets, np.ones(2), np.array([1.0, 2.0]), np.array([[1, 2], [2, 2]], np.int64))
    assert (step.length, step.score) == (0.0, 1.0)


def test_of_equal_intervals_no_step_is_taken_when_none_is_needed():
    offsets = np.array([0, 2], np.int64)
    step = search(offsets, np.array([0.0, 1.0]), np.array([0.0, -5.0]), np.array([[1, 2], [1, 2]], np.int64))
    assert step.length == 0.0
