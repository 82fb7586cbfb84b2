"""Judgments divided by system and by worker, and Figure 3, on made-up data with known answers."""

import numpy as np
from four_systems import TEXTS, held_out_systems, looked_up

from rypt.analysis.curve import HeldOut, JudgmentSplit, percolation_curve
from rypt.records import Judgment, Label, Span
from rypt.scoring.percolation import NO, UNKNOWN, YES


def test_a_system_judges_or_is_scored_and_others_always_judge():
    division = held_out_systems(judged_only="s1")
    assert division.groups == ["s2", "s3", "s4"]
    for split in division.splits(10, np.random.default_rng(0)):
        known = {division.votes.origins[i] for i in set(division.votes.origin[split.known].tolist())}
        assert "s1" in known
        scored = {division.groups[i] for i in split.candidates.tolist()}
        assert known & scored == set()
        assert (len(known), len(scored), len(split.truth)) == (3, 1, 5)


def test_workers_are_never_their_own_truth():
    """Ada says YES to everything, Bob NO: whoever judges, the truth is the other's."""
    places = [Span(0, 3), Span(0, 2), Span(0, 1), Span(1, 2), Span(2, 3)]
    keys = list(zip(places, ("x y z", "x y", "x", "y", "z"), strict=True))
    labels = {"ada": Label.YES, "bob": Label.NO}
    judgments = [Judgment("1", *key, label, worker) for key in keys for worker, label in labels.items()]
    votes, places = looked_up(judgments, [TEXTS["s1"]])
    seen = set()
    for split in HeldOut(votes, places).splits(10, np.random.default_rng(0)):
        known = places.observe(votes.counts(split.known)).labels()
        (truth,), (label,) = set(split.truth.tolist()), set(known.tolist())
        assert label == YES + NO - truth
        frontier = places.judged.counted(2)[votes.key]
        labels = places.observe(votes.counts(split.known & frontier)).labels()
        assert (labels != UNKNOWN).tolist() == [False, True, False, False, True]
        seen.add(truth)
    assert seen == {YES, NO}


class OneSplit:
    """A YES on the noun phrase "x y" and a NO on "z", and a truth that says the first "x" is wrong."""

    judgments = (
        Judgment("1", Span(0, 2), "x y", Label.YES, "w"),
        Judgment("1", Span(2, 3), "z", Label.NO, "w"),
    )
    votes, places = looked_up(judgments, ["x y z"])

    def splits(self, count, rng):
        for _ in range(count):  # constituents: S, NP, A, B, C
            known, truth = np.ones(2, np.bool_), np.array([NO, YES, NO, YES, NO], np.int8)
            yield JudgmentSplit(known, np.array([0]), truth)


def test_every_number_by_hand():
    (point,) = percolation_curve(OneSplit(), [2], splits=2, seed=1, table=False)
    assert (point.before, point.after) == (2 / 5, 1.0)
    assert (point.from_yes, point.from_no) == (2 / 5, 1 / 5)  # A and B from above, S from below
    assert (point.yes_right, point.no_right) == (1 / 2, 1.0)
    assert point.percolated.checked == point.unlabelled.checked == 6  # three constituents, two splits
    assert point.percolated.percolation == 2 / 3
    assert point.percolated.always_yes == 1 / 3
    assert np.isnan(point.percolated.table)
