"""Disjoint systems on made-up data with known answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.analysis import DisjointSystems, area_under_curve, frontier_spans, quality
from rypt.records import Candidate, Span, Votes
from rypt.trees import SourceTree

TREES = {"1": SourceTree.from_brackets("(S (NP (A a) (B b)) (C c))")}
LINKS = "0-0 1-1 2-2"
LABELS = {"x": (1, 0), "bad": (0, 1), "y": (1, 0), "z": (1, 0)}
TEXTS = {"s1": "x y z", "s2": "x y z", "s3": "bad y z", "s4": "bad y z"}


def votes_of(systems):
    """Every constituent of every system is judged: NO when it holds "bad"."""
    counts: dict[tuple[Span, str], list[int]] = {}
    for system in systems:
        words = TEXTS[system].split()
        for constituent in TREES["1"].constituents:
            phrase = " ".join(words[slice(*constituent.span)])
            counts.setdefault((constituent.span, phrase), [0, 0])["bad" in phrase] += 1
    return [Votes("1", span, phrase, *c) for (span, phrase), c in counts.items()]


def disjoint():
    return DisjointSystems(TREES, {s: [Candidate("1", t, LINKS)] for s, t in TEXTS.items()}, votes_of)


def test_own_labels_are_the_truth():
    own = disjoint().own
    assert own["s1"].tolist() == [1, 1, 1, 1, 1]
    assert own["s3"].tolist() == [0, 0, 0, 1, 1]


def test_curve_counts_what_percolation_adds_and_how_much_of_it_is_right():
    (point,) = disjoint().curve([1], splits=20, judging=3, seed=1)
    assert point.max_len == 1
    assert point.before <= point.after <= 1
    assert point.accuracy == 1.0  # a NO word spoils all above it, here always rightly
    assert point.no_right == 1.0
    assert np.isnan(point.yes_right)
    assert point.always_yes == 0.0


def test_splits_never_score_a_judging_system():
    for (split,) in disjoint().splits(5, 3, np.random.default_rng(0)):
        assert len(split.observations) == 1
        assert len(split.truth) == 5


def test_systems_that_only_judge_are_never_scored():
    asked = []

    def remember(systems):
        asked.append(list(systems))
        return votes_of(systems)

    candidates = {s: [Candidate("1", t, LINKS)] for s, t in TEXTS.items()}
    of_reference = DisjointSystems(TREES, candidates, remember, judged_only=["s1"])
    asked.clear()
    for (split,) in of_reference.splits(10, 1, np.random.default_rng(0)):
        assert len(split.observations) == 2  # s2, s3, s4 without the one that judges
    assert all("s1" in systems and len(systems) == 2 for systems in asked)


def test_models_are_compared():
    measured = disjoint().compare_models(splits=3, judging=3, seed=1, max_len=1, folds=2)
    assert set(measured) >= {"length prior", "calibrated table", "tree model + novelty, tempered"}
    assert measured["hard percolation, unknown = 0.5"].accuracy == 1.0
    assert measured["calibrated table"].log_loss < measured["hard percolation, unknown = 0.5"].log_loss + 1
    assert measured["tree model + novelty, tempered"].auc > 0.7


def test_frontier_spans():
    assert frontier_spans(TREES, 2) == {("1", Span(0, 2)), ("1", Span(2, 3))}


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=30))
def test_area_under_curve_equals_counting_pairs(pairs):
    p = np.array([value / 4 for value, _ in pairs])
    labels = np.array([label for _, label in pairs], np.int8)
    ups, downs = p[labels == 1], p[labels == 0]
    if not len(ups) or not len(downs):
        assert np.isnan(area_under_curve(p, labels))
        return
    wins = sum((u > d) + 0.5 * (u == d) for u in ups for d in downs)
    assert area_under_curve(p, labels) == pytest.approx(wins / (len(ups) * len(downs)))


def test_quality():
    measured = quality(np.array([0.9, 0.2, 0.7, 0.5]), np.array([1, 0, 0, -1], np.int8))
    assert measured.accuracy == pytest.approx(2 / 3)
    assert measured.auc == 1.0
