"""What goes wrong in Z-MERT, and must not here."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
import zmert_set
from hypothesis import given, settings
from hypothesis import strategies as st
from zmert_set import best_of, bleu_of, go, write_config

from mert.linesearch import changes_along, line_search


@pytest.fixture
def folder(tmp_path):
    return zmert_set.write_set(tmp_path / "set")


def derivations(seed):
    """Lists in which every text has several derivations, of which the later ones have other features."""
    rng = random.Random(seed)
    _, pool = zmert_set.make_pool()
    lines = []
    for segment, rows in enumerate(pool):
        for text, features in rows[:6]:
            for _ in range(4):
                shifted = [round(value + rng.gauss(0, 2), 4) for value in features]
                lines.append(f"{segment} ||| {text} ||| {' '.join(map(str, shifted))}")
    return lines


def first_of_each_text(lines):
    found = {}
    for line in lines:
        found.setdefault(tuple(line.split("|||")[:2]), line)
    return list(found.values())


def test_all_derivations_of_a_text_are_kept_and_the_score_is_what_the_decoder_gets(folder):
    told_otherwise = 0
    for seed in range(4):
        lines = derivations(seed)
        (folder / "list1").write_text("".join(line + "\n" for line in lines))
        _, run = go(write_config(folder, "-fake list", N=24))
        assert run.iterations[0].candidates == len(set(lines)) > 3 * len(first_of_each_text(lines))
        assert run.score == pytest.approx(bleu_of(best_of(lines, run.weights), folder), abs=1e-9)
        by_text = bleu_of(best_of(first_of_each_text(lines), run.weights), folder)
        told_otherwise += abs(by_text - run.score) > 0.5
    assert told_otherwise  # what Z-MERT would have reported for these weights


def test_statistics_in_memory_tell_the_score_of_the_merged_lists(folder):
    _, run = go(write_config(folder))
    assert len(run.iterations) > 2
    merged = []
    for iteration in run.iterations:
        merged += (folder / f"output.nbest.ZMERT.it{iteration.number}").read_text().splitlines()
        for weights, told in ((iteration.used, iteration.before), (iteration.weights, iteration.after)):
            assert told == pytest.approx(bleu_of(best_of(merged, weights), folder), abs=1e-9)


@st.composite
def near_parallel(draw):
    """Lines whose slopes differ by a few times 2^-44, or not at all; all numbers and their differences are exact."""
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    count = sum(sizes)
    steps = draw(st.lists(st.integers(-4, 4), min_size=count, max_size=count))
    heights = draw(st.lists(st.integers(-6, 6), min_size=count, max_size=count))
    shift = draw(st.sampled_from([0.0, 1.0, -0.75]))
    fine = draw(st.sampled_from([2.0**-44, 2.0**-30]))
    slopes = np.array([shift + step * fine for step in steps])
    intercepts = np.array([height * 2.0**-20 for height in heights])
    stats = np.array(
        draw(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=count, max_size=count))
    )
    return (
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        slopes,
        intercepts,
        stats.astype(np.int64),
    )


def ratio(sums):
    return sums[:, 0] / sums[:, 1]


def exact_score(offsets, slopes, intercepts, stats, t):
    """The score at one place, in whole fractions; the first of equals wins."""
    values = [Fraction(float(s)) * t + Fraction(float(h)) for s, h in zip(slopes, intercepts, strict=True)]
    chosen = [max(range(a, b), key=lambda i: (values[i], -i)) for a, b in itertools.pairwise(offsets)]
    return float(ratio(stats[chosen].sum(axis=0, keepdims=True))[0])


def exact_places(offsets, slopes, intercepts):
    crossings = set()
    for a, b in itertools.pairwise(offsets):
        for i, j in itertools.combinations(range(a, b), 2):
            if slopes[i] != slopes[j]:
                rise = Fraction(float(slopes[i])) - Fraction(float(slopes[j]))
                crossings.add((Fraction(float(intercepts[j])) - Fraction(float(intercepts[i]))) / rise)
    ordered = sorted(crossings)
    ends = [ordered[0] - 1, *ordered, ordered[-1] + 1] if ordered else [Fraction(-1), Fraction(1)]
    return [(x + y) / 2 for x, y in itertools.pairwise(ends)]


@settings(max_examples=120)
@given(near_parallel())
def test_nearly_parallel_lines_are_searched_exactly(problem):
    offsets, slopes, intercepts, stats = problem
    step = line_search([changes_along(offsets, slopes, intercepts, stats)], ratio)
    best = max(exact_score(*problem, t) for t in exact_places(offsets, slopes, intercepts))
    assert step.score == pytest.approx(best, abs=1e-12)
    assert exact_score(*problem, Fraction(step.length)) == pytest.approx(best, abs=1e-12)


@settings(max_examples=120)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 9)), min_size=1, max_size=12),
    st.sampled_from([1.0, 1e-3, 0.1, 1e16]),
    st.sampled_from([1.0, 1e8, 1e-300]),
)
def test_lines_that_differ_by_the_last_bits_end_the_search_inside_the_list(rows, slope, height):
    """Slopes a few rounding steps apart: crossings overflow or coincide, and one of the candidates still wins."""
    slopes = np.array([slope + step * np.spacing(slope) for step, _, _ in rows])
    intercepts = np.array([height + step * np.spacing(height) for _, step, _ in rows])
    stats = np.array([[good, 10] for _, _, good in rows], np.int64)
    step = line_search([changes_along(np.array([0, len(rows)], np.int64), slopes, intercepts, stats)], ratio)
    assert np.isfinite(step.length)
    assert step.score in {good / 10 for _, _, good in rows}
