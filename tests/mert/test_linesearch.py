"""The line search against trying every interval."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mert.linesearch import Step, best_interval, changes_along, line_search
from mert.problem import winners
from rypt.metrics.bleu import Bleu
from rypt.texts.lists import References


def ratio(sums):
    """A metric that is not linear: a share, as RYPT is one."""
    return sums[:, 0] / np.maximum(sums[:, 1], 1)


SCORES = {
    "ratio": ratio,
    "bleu": Bleu(References([["a"]]), smooth_method="exp").score,
    "unsmoothed": Bleu(References([["a"]]), smooth_method="none").score,
}


@st.composite
def stats_rows(draw, metric):
    """The statistics of one candidate; those of BLEU are lengths, falling matches, totals."""
    if metric == "ratio":
        return [draw(st.integers(0, 9)), draw(st.integers(0, 9))]
    length, reference = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    totals = [max(0, length - n) for n in range(4)]
    matches = sorted((draw(st.integers(0, total)) for total in totals), reverse=True)
    return [length, reference, *map(min, matches, totals), *totals]


@st.composite
def problems(draw, metric="ratio"):
    """A few segments; small whole numbers make parallel, equal and concurrent lines common."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    count = sum(sizes)
    numbers = st.integers(-3, 3).map(float)
    slopes, heights = (np.array(draw(st.lists(numbers, min_size=count, max_size=count))) for _ in range(2))
    stats = draw(st.lists(stats_rows(metric), min_size=count, max_size=count))
    return np.cumsum([0, *sizes]).astype(np.int64), slopes, heights, np.array(stats, np.int64)


def search(offsets, slopes, heights, stats, low=-np.inf, high=np.inf, score=ratio):
    return line_search([changes_along(offsets, slopes, heights, stats, low, high)], score, low, high)


def score_at(offsets, slopes, heights, stats, t, score=ratio):
    """The score of the winners at one place; the first of equals wins."""
    values = slopes * t + heights
    chosen = [a + int(np.argmax(values[a:b])) for a, b in itertools.pairwise(offsets)]
    return float(score(stats[chosen].sum(axis=0, keepdims=True))[0])


def places(offsets, slopes, heights, low=-np.inf, high=np.inf):
    """A point inside every interval between crossings of any two lines of a segment."""
    crossings = set()
    for a, b in itertools.pairwise(offsets):
        for i, j in itertools.combinations(range(a, b), 2):
            if slopes[i] != slopes[j]:
                crossings.add((heights[j] - heights[i]) / (slopes[i] - slopes[j]))
    inside = sorted(x for x in crossings if low < x < high)
    left = low if np.isfinite(low) else (inside[0] - 2 if inside else -1.0)
    right = high if np.isfinite(high) else (inside[-1] + 2 if inside else 1.0)
    return [(x + y) / 2 for x, y in itertools.pairwise([left, *inside, right])]


@pytest.mark.slow
@settings(max_examples=250)
@given(st.data(), st.sampled_from(list(SCORES)))
def test_the_step_is_the_best_of_all_intervals(data, metric):
    problem, score = data.draw(problems(metric)), SCORES[metric]
    step = search(*problem, score=score)
    best = max(score_at(*problem, t, score) for t in places(*problem[:3]))
    assert step.score == pytest.approx(best, rel=1e-12, abs=1e-12)
    assert score_at(*problem, step.length, score) == pytest.approx(best, rel=1e-12, abs=1e-12)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 30))
def test_lines_with_all_53_bits(seed, segments, candidates):
    rng = np.random.default_rng(seed)
    size = segments * candidates
    offsets = np.arange(0, size + 1, candidates).astype(np.int64)
    problem = (offsets, rng.normal(size=size), rng.normal(size=size), rng.integers(0, 9, size=(size, 2)))
    best = max(score_at(*problem, t) for t in places(*problem[:3]))
    assert search(*problem).score == pytest.approx(best, abs=1e-12)


@settings(max_examples=80)
@given(
    problems(),
    st.integers(-13, 1).map(lambda n: n / 4 + math.pi / 50),
    st.integers(1, 12).map(lambda n: n / 4),
)
def test_bounds_are_kept_and_the_best_within_them_is_found(problem, low, width):
    step = search(*problem, low, low + width)
    assert low <= step.length <= low + width or step.length == 0.0
    best = max(score_at(*problem, t) for t in places(*problem[:3], low, low + width))
    assert step.score == pytest.approx(best, abs=1e-12)


@settings(max_examples=60)
@given(problems(), st.integers(0, 5))
def test_segments_can_be_searched_in_parts(problem, cut):
    offsets, slopes, heights, stats = problem
    middle = min(cut, len(offsets) - 2) or len(offsets) - 1
    parts = []
    for first, last in ((0, middle), (middle, len(offsets) - 1)):
        rows = slice(offsets[first], offsets[last])
        begin = offsets[first : last + 1] - offsets[first]
        parts.append(changes_along(begin, slopes[rows], heights[rows], stats[rows]))
    assert line_search(parts, ratio) == search(*problem)


@given(problems(), st.sampled_from([0.25, 4.0, 64.0]))
def test_scaling_the_direction_scales_the_step(problem, factor):
    offsets, slopes, heights, stats = problem
    plain, scaled = search(*problem), search(offsets, slopes * factor, heights, stats)
    assert scaled.score == plain.score
    assert score_at(*problem, scaled.length * factor) == pytest.approx(plain.score)


@settings(max_examples=60)
@given(problems())
def test_a_dominated_candidate_changes_nothing(problem):
    offsets, slopes, heights, stats = problem
    more, last = np.append(offsets[:-1], offsets[-1] + 1), offsets[-2]
    below = (
        np.append(slopes, slopes[last]),
        np.append(heights, heights[last] - 1),
        np.vstack([stats, [[99, 1]]]),
    )
    assert search(more, *below) == search(*problem)


@settings(max_examples=120)
@given(
    st.lists(st.integers(-4, 4).map(float), max_size=6).map(sorted),
    st.data(),
    st.sampled_from([-np.inf, -3.5, -2.0, 0.0]),
    st.sampled_from([np.inf, 3.5, 2.0, 0.25]),
)
def test_the_interval_that_is_chosen(points, data, low, high):
    size = len(points) + 1
    scores = data.draw(st.lists(st.integers(0, 2).map(float), min_size=size, max_size=size))
    cut = [(max(a, low), min(b, high)) for a, b in itertools.pairwise([-np.inf, *points, np.inf])]
    open_ones = [i for i, (a, b) in enumerate(cut) if a < b]
    step = Step(*best_interval(np.array(points), np.array(scores), low, high))
    assert step.score == max(scores[i] for i in open_ones)
    equal = [cut[i] for i in open_ones if scores[i] == step.score]
    if any(a < 0 < b for a, b in equal):
        assert step.length == 0.0
        return
    a, b = max(equal, key=lambda ends: ends[1] - ends[0])
    assert a < step.length < b
    if np.isfinite(b - a):
        assert step.length == (a + b) / 2


def test_no_step_where_nothing_differs_or_may_be_searched():
    offsets, stats = np.array([0, 2], np.int64), np.array([[1, 2], [2, 2]], np.int64)
    assert search(offsets, np.ones(2), np.array([1.0, 2.0]), stats) == (0.0, 1.0)
    assert search(offsets, np.array([0.0, 1.0]), np.zeros(2), stats, 3.0, 3.0) == (0.0, -np.inf)


@given(problems())
def test_winners_are_the_first_of_the_highest(problem):
    offsets, slopes, _, _ = problem
    expected = [a + int(np.argmax(slopes[a:b])) for a, b in itertools.pairwise(offsets)]
    assert winners(offsets, slopes).tolist() == expected
