"""The aligner of our own against its definition, and what it must find."""

import math
import random
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rypt.tools import diagonal_aligner
from rypt.tools.aligners import align
from rypt.tools.diagonal_aligner import ALPHA, NOWHERE, ROUNDS, TENSION, diagonal_links

words = st.sampled_from(["a", "B", "b", "c", "d"])
sides = st.lists(words, max_size=5).map(tuple)


def digamma(x):
    """By the derivative of the logarithm of the gamma function."""
    step = 1e-5 * x
    return (math.lgamma(x + step) - math.lgamma(x - step)) / (2 * step)


def reference_links(pairs):
    """The model of Dyer et al. written with dictionaries, for one direction."""
    pairs = [tuple([word.lower() for word in side] for side in pair) for pair in pairs]
    together = defaultdict(set)
    for source, target in pairs:
        for word in target:
            together[None].add(word)
            for other in source:
                together[other].add(word)
    size = len(together[None])
    t = {(s, w): 1 / max(1, size) for s, ws in together.items() for w in ws}

    def shares(source, target, j):
        near = [
            math.exp(-TENSION * abs((i + 0.5) / len(source) - (j + 0.5) / len(target)))
            for i in range(len(source))
        ]
        with_words = [
            (1 - NOWHERE) * p / sum(near) * t[word, target[j]] for p, word in zip(near, source, strict=True)
        ]
        return [*with_words, NOWHERE * t[None, target[j]]]

    for _ in range(ROUNDS if size else 0):
        counts = defaultdict(float)
        for source, target in pairs:
            for j in range(len(target)):
                each = shares(source, target, j)
                for word, share in zip([*source, None], each, strict=True):
                    counts[word, target[j]] += share / sum(each)
        for word, others in together.items():
            whole = digamma(sum(counts[word, other] + ALPHA for other in others))
            for other in others:
                t[word, other] = math.exp(digamma(counts[word, other] + ALPHA) - whole)
    return [[shares(source, target, j) for j in range(len(target))] for source, target in pairs]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(sides, sides), max_size=6), st.integers(1, 40))
def test_links_are_the_most_likely_ones(pairs, cells):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diagonal_aligner, "CELLS", cells)
        forward, backward = diagonal_links(pairs)
    turned = [(target, source) for source, target in pairs]
    for links, all_pairs, flip in ((forward, pairs, False), (backward, turned, True)):
        for linked, shares in zip(links, reference_links(all_pairs), strict=True):
            chosen = {(i if flip else j): (j if flip else i) for i, j in linked}
            assert len(chosen) == len(linked)
            for j, each in enumerate(shares):
                at = chosen.get(j, len(each) - 1)
                assert each[at] == pytest.approx(max(each), rel=1e-3)


def test_words_of_a_made_up_language_are_found():
    """Words are translated one by one and in another order; every link is right."""
    rng = random.Random(1)
    pairs, truth = [], []
    for _ in range(300):
        source = tuple(f"w{rng.randrange(40)}" for _ in range(6))
        order = [0, 1, 3, 2, 4, 5]
        pairs.append((source, tuple(source[i].upper().replace("W", "X") for i in order)))
        truth.append({(i, j) for j, i in enumerate(order)})
    links = align(pairs, aligner="diagonal")
    right = sum(len(set(linked) & wanted) for linked, wanted in zip(links, truth, strict=True))
    assert right / sum(map(len, truth)) > 0.97
    assert align(pairs, aligner="diagonal") == links
