"""Judgments divided by system and by worker, on made-up data with known answers."""

import numpy as np
import pytest
from four_systems import CANDIDATES, TEXTS, TREES, disjoint, votes_of

from rypt.analysis.heldout import DisjointSystems, DisjointWorkers, frontier_spans
from rypt.records import Span, Votes
from rypt.scoring.percolation import NO, UNKNOWN, YES
from rypt.text import RyptError


def test_own_labels_are_the_truth():
    own = disjoint().own
    assert own["s1"].tolist() == [YES] * 5
    assert own["s3"].tolist() == [NO, NO, NO, YES, YES]


def test_splits_never_score_a_judging_system():
    for (split,) in disjoint().splits(5, 3, np.random.default_rng(0)):
        assert len(split.observations) == 1
        assert len(split.truth) == 5


def test_systems_that_only_judge_are_never_scored():
    asked = []

    def remember(systems):
        asked.append(list(systems))
        return votes_of(systems)

    of_reference = DisjointSystems(TREES, CANDIDATES, remember, judged_only=["s1"])
    asked.clear()
    for (split,) in of_reference.splits(10, 1, np.random.default_rng(0)):
        assert len(split.observations) == 2  # s2, s3, s4 without the one that judges
    assert all("s1" in systems and len(systems) == 2 for systems in asked)


def test_frontier_spans():
    assert frontier_spans(TREES, 2) == {("1", Span(0, 2)), ("1", Span(2, 3))}


def test_workers_are_never_their_own_truth():
    """Ada says YES to everything, Bob NO: whoever judges, the truth is the other's."""
    said = {"ada": (1, 0), "bob": (0, 1)}
    keys = [("1", c.span, " ".join(TEXTS["s1"].split()[slice(*c.span)])) for c in TREES["1"].constituents]

    def of_workers(names):
        return [Votes(*key, *(sum(said[name][i] for name in names) for i in (0, 1))) for key in keys]

    division = DisjointWorkers(TREES, CANDIDATES["s1"], said, of_workers)
    seen = set()
    for everywhere, frontier in division.splits(10, 1, np.random.default_rng(0), [None, 2]):
        judged = everywhere.observations.labels()
        assert set(judged.tolist()) == {YES + NO - everywhere.truth[0]}
        assert len(set(everywhere.truth.tolist())) == 1
        assert (frontier.observations.labels() != UNKNOWN).tolist() == [False, True, False, False, True]
        seen.add(int(judged[0]))
    assert seen == {YES, NO}


@pytest.mark.parametrize("judging", [0, 4, 5])
def test_somebody_must_judge_and_somebody_be_judged(judging):
    with pytest.raises(RyptError, match="fewer than all 4"):
        next(disjoint().splits(1, judging, np.random.default_rng(0)))
