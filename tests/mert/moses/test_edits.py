"""Edits as Moses counts them, against searches that are plainly right."""

import heapq
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mert.moses.edits import accuracy, edit_distance, edit_stats, position_free_accuracy, position_free_stats
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.references import References

IDS = st.lists(st.integers(0, 3), max_size=6).map(tuple)
TEXTS = st.lists(st.sampled_from(["a", "b", "B", "c"]), max_size=6).map(" ".join)


def raw(text):
    return Candidate("0", text, None, {}, None)


def levenshtein(a, b):
    @cache
    def cost(i, j):
        if not i or not j:
            return i + j
        return min(cost(i - 1, j) + 1, cost(i, j - 1) + 1, cost(i - 1, j - 1) + (a[i - 1] != b[j - 1]))

    return cost(len(a), len(b))


def with_jumps(candidate, reference):
    """Dijkstra's shortest path over (place in candidate, words of the reference done)."""
    done, queue = {}, [(0, 0, 0)]
    while queue:
        cost, i, j = heapq.heappop(queue)
        if (i, j) in done:
            continue
        done[i, j] = cost
        moves = [(cost + 1, k, j) for k in range(len(candidate) + 1)]
        if j < len(reference):
            moves.append((cost + 1, i, j + 1))
            if i < len(candidate):
                moves.append((cost + (candidate[i] != reference[j]), i + 1, j + 1))
        for move in moves:
            heapq.heappush(queue, move)
    return done[len(candidate), len(reference)]


@given(IDS, IDS)
def test_distances(candidate, reference):
    arrays = [np.array(ids, np.int32) for ids in (candidate, reference)]
    assert edit_distance(*arrays, False) == levenshtein(candidate, reference)
    assert edit_distance(*arrays, True) == with_jumps(candidate, reference)


def test_a_moved_block_costs_jumps_not_words():
    texts, references = [raw("d e f a b c")], References([["a b c d e f"]])
    assert edit_stats(references, texts, jumps=True, lowercase=False).tolist() == [[3, 6]]
    assert edit_stats(references, texts, jumps=False, lowercase=False).tolist() == [[6, 6]]


@given(st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS, min_size=1, max_size=3), st.booleans())
def test_the_reference_with_the_lowest_rate_counts(texts, references, lowercase):
    documents = References([[reference] for reference in references])
    rows = edit_stats(documents, [raw(text) for text in texts], jumps=False, lowercase=lowercase)
    for text, row in zip(texts, rows, strict=True):
        words = (text.lower() if lowercase else text).split()
        rates = []
        for reference in references:
            other = (reference.lower() if lowercase else reference).split()
            edits = levenshtein(tuple(words), tuple(other))
            rates.append(1 - (edits / len(other) if other else float(edits > 0)))
        assert accuracy(row[np.newaxis])[0] == pytest.approx(max(rates))


@given(TEXTS, TEXTS)
def test_position_free(text, reference):
    rows = position_free_stats(References([[reference]]), [raw(text)], lowercase=False)
    ours, theirs = text.split(), reference.split()
    common = sum(min(Counter(ours)[word], Counter(theirs)[word]) for word in set(ours))
    assert rows.tolist() == [[common, len(ours), len(theirs)]]
    expected = (common - max(0, len(ours) - len(theirs))) / len(theirs) if theirs else 0
    assert position_free_accuracy(rows)[0] == pytest.approx(expected)


def test_position_free_has_one_reference():
    with pytest.raises(RyptError, match="one reference, found 2"):
        position_free_stats(References([["a"], ["b"]]), [raw("a")], lowercase=False)
