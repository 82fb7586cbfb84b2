"""The line search against trying every interval."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mert.lists.arrays import winners
from mert.search.lines import Window, best_step, choose
from rypt.metrics.bleu import Bleu
from rypt.texts.references import References

RATIO_COLUMNS = 2


def ratio(sums):
    """A metric that is not linear: a share, as RYPT is one."""
    return sums[:, 0] / np.maximum(sums[:, 1], 1)


BLEU = {smooth: Bleu(References([["a"]]), smooth_method=smooth).score for smooth in ("exp", "none")}


@st.composite
def bleu_stats(draw):
    """The statistics of one candidate: lengths, falling matches, totals."""
    length, reference = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    matches = sorted((draw(st.integers(0, max(0, length - n))) for n in range(4)), reverse=True)
    totals = [max(0, length - n) for n in range(4)]
    return [length, reference, *(min(m, t) for m, t in zip(matches, totals, strict=True)), *totals]


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


@st.composite
def bleu_problems(draw):
    """The same lines with the statistics of BLEU."""
    offsets, slopes, intercepts, _ = draw(problems())
    size = len(slopes)
    return (
        offsets,
        slopes,
        intercepts,
        np.array(draw(st.lists(bleu_stats(), min_size=size, max_size=size)), np.int64),
    )


def search(offsets, slopes, intercepts, stats, low=-np.inf, high=np.inf, *, metric=ratio, window=None):
    return best_step(offsets, slopes, intercepts, stats, metric, low, high, window)


def score_at(offsets, slopes, intercepts, stats, t, metric=ratio):
    """The score of the winners at one place; the first of equals wins."""
    values = slopes * t + intercepts
    chosen = [a + int(np.argmax(values[a:b])) for a, b in itertools.pairwise(offsets)]
    return float(metric(stats[chosen].sum(axis=0, keepdims=True))[0])


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


@settings(max_examples=120)
@given(problems())
def test_equals_brute_force(problem):
    offsets, slopes, intercepts, _stats = problem
    step = search(*problem)
    best = max(score_at(*problem, t) for t in places(offsets, slopes, intercepts))
    assert step.score == pytest.approx(best, abs=1e-12)
    assert score_at(*problem, step.length) == pytest.approx(best, abs=1e-12)


@settings(max_examples=100)
@given(bleu_problems(), st.sampled_from(list(BLEU)))
def test_equals_brute_force_for_bleu(problem, smooth):
    offsets, slopes, intercepts, _stats = problem
    step = search(*problem, metric=BLEU[smooth])
    best = max(score_at(*problem, t, BLEU[smooth]) for t in places(offsets, slopes, intercepts))
    assert step.score == pytest.approx(best, rel=1e-12)
    assert score_at(*problem, step.length, BLEU[smooth]) == pytest.approx(best, rel=1e-12)


@settings(max_examples=80)
@given(problems())
def test_the_score_here_is_that_right_of_no_step(problem):
    offsets, slopes, intercepts, _stats = problem
    right = next(t for t in places(offsets, slopes, intercepts, 0.0))
    assert search(*problem).here == pytest.approx(score_at(*problem, right), abs=1e-12)


@settings(max_examples=80)
@given(
    problems(),
    st.integers(-13, 1).map(lambda n: n / 4 + math.pi / 50),
    st.integers(1, 12).map(lambda n: n / 4),
)
def test_bounds_are_kept_and_the_best_within_them_is_found(problem, low, width):
    offsets, slopes, intercepts, _stats = problem
    step = search(*problem, low, low + width)
    assert low <= step.length <= low + width or step.length == 0.0
    best = max(score_at(*problem, t) for t in places(offsets, slopes, intercepts, low, low + width))
    assert step.score == pytest.approx(best, abs=1e-12)


@settings(max_examples=80)
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


@settings(max_examples=60)
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


def smoothed(scores, window):
    """Window by window, in plain words."""
    reach = [scores[max(0, i - window.size) : i + window.size + 1] for i in range(len(scores))]
    return [min(part) if window.kind == "min" else sum(part) / len(part) for part in reach]


windows = st.builds(Window, st.sampled_from(["min", "average"]), st.integers(1, 3))


@settings(max_examples=100)
@given(problems(), windows)
def test_a_window_smooths_over_intervals_with_a_width(problem, window):
    step = search(*problem, window=window)
    inside, kept = changes(*problem)
    scores = smoothed([score_at(*problem, t) for t in kept], window)
    assert step.score == pytest.approx(max(scores), abs=1e-12)
    taken = int(np.searchsorted(inside, step.length, "right"))
    assert step.length not in inside
    assert scores[taken] == pytest.approx(max(scores), abs=1e-12)
    assert step.here == pytest.approx(scores[int(np.searchsorted(inside, 0.0, "right"))], abs=1e-12)


def changes(offsets, slopes, intercepts, stats):
    """Where any winner changes, found by comparing the winners of neighbouring places; and a place in each interval."""

    def lines(t):
        values = slopes * t + intercepts
        found = [a + int(np.argmax(values[a:b])) for a, b in itertools.pairwise(offsets)]
        return [(slopes[i], intercepts[i]) for i in found]

    tried = places(offsets, slopes, intercepts)
    crossings = set()
    for a, b in itertools.pairwise(offsets):
        for i, j in itertools.combinations(range(a, b), 2):
            if slopes[i] != slopes[j]:
                crossings.add((intercepts[j] - intercepts[i]) / (slopes[i] - slopes[j]))
    points, kept = [], [tried[0]]
    for (left, right), point in zip(itertools.pairwise(tried), sorted(crossings), strict=True):
        if lines(left) != lines(right):
            points.append(point)
            kept.append(right)
    return points, kept


def test_a_window_prefers_a_plateau_to_a_spike():
    offsets = np.array([0, 5], np.int64)
    slopes, intercepts = np.arange(5.0), -np.array([0.0, 1.0, 3.0, 6.0, 10.0])  # winners change at 1, 2, 3, 4
    stats = np.array([[1, 10], [9, 10], [2, 10], [6, 10], [6, 10]], np.int64)
    problem = (offsets, slopes, intercepts, stats)
    assert search(*problem).length == 1.5
    step = search(*problem, window=Window("min", 1))
    assert (step.score, step.length > 4) == (0.6, True)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=9), windows)
def test_smoothing_is_what_it_says(scores, window):
    assert window.smooth(np.array(scores)).tolist() == pytest.approx(smoothed(scores, window), abs=1e-12)


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
    ends = [-np.inf, *points, np.inf]
    cut = [(max(a, low), min(b, high)) for a, b in itertools.pairwise(ends)]
    open_ones = [i for i, (a, b) in enumerate(cut) if a < b]
    chosen, length = choose(np.array(points), np.array(scores), low, high)
    best = max(scores[i] for i in open_ones)
    equal = [i for i in open_ones if scores[i] == best]
    assert chosen in equal
    a, b = cut[chosen]
    assert a < length < b
    around = [i for i in equal if cut[i][0] < 0 < cut[i][1]]
    if around:
        assert (chosen, length) == (around[0], 0.0)
        return
    widths = [cut[i][1] - cut[i][0] for i in equal]
    assert b - a == max(widths)
    assert chosen == equal[int(np.argmax(widths))]
    if np.isfinite(b - a):
        assert length == (a + b) / 2


def test_bounds_that_leave_nothing_give_no_step():
    assert choose(np.array([1.0]), np.array([0.0, 1.0]), 2.0, 2.0)[0] == -1
    offsets = np.array([0, 2], np.int64)
    step = search(offsets, np.array([0.0, 1.0]), np.zeros(2), np.array([[1, 2], [2, 2]], np.int64), 3.0, 3.0)
    assert (step.length, step.score) == (0.0, -np.inf)


@given(problems())
def test_winners_are_the_first_of_the_highest(problem):
    offsets, slopes, _, _ = problem
    chosen = np.empty(len(offsets) - 1, np.int64)
    winners(offsets, slopes, chosen)
    assert chosen.tolist() == [a + int(np.argmax(slopes[a:b])) for a, b in itertools.pairwise(offsets)]


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 30))
def test_arbitrary_numbers_equal_brute_force(seed, segments, candidates):
    """Lines as features make them, with all 53 bits."""
    rng = np.random.default_rng(seed)
    size = segments * candidates
    offsets = np.arange(0, size + 1, candidates).astype(np.int64)
    problem = (offsets, rng.normal(size=size), rng.normal(size=size), rng.integers(0, 9, size=(size, 2)))
    best = max(score_at(*problem, t) for t in places(*problem[:3]))
    assert search(*problem).score == pytest.approx(best, abs=1e-12)
