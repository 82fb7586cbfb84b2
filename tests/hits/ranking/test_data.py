"""Comparisons as arrays: counting, choosing, joining."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.ranking.data import Comparisons, comparisons_of, from_counts, merge
from rypt.text import RyptError

SYSTEMS = ("ann", "bob", "cid", "dan")
RECORDS = st.lists(
    st.tuples(
        st.sampled_from(["s1", "s2", "s3"]),
        st.sampled_from(SYSTEMS),
        st.sampled_from(SYSTEMS),
        st.sampled_from([1, 0, -1]),
        st.sampled_from(["w1", "w2"]),
    ).filter(lambda record: record[1] != record[2]),
    min_size=1,
)


ONE = np.zeros(1, np.int32)


def counted(records):
    wins, ties = {}, {}
    for _, a, b, outcome, _ in records:
        if outcome == 0:
            ties[a, b] = ties.get((a, b), 0) + 1
            ties[b, a] = ties.get((b, a), 0) + 1
        else:
            pair = (a, b) if outcome > 0 else (b, a)
            wins[pair] = wins.get(pair, 0) + 1
    return wins, ties


@given(RECORDS)
def test_counts_are_what_a_plain_loop_counts_and_from_counts_is_their_inverse(records) -> None:
    found = comparisons_of(records, SYSTEMS)
    wins, ties = found.counts()
    expected_wins, expected_ties = counted(records)
    for i, a in enumerate(SYSTEMS):
        for j, b in enumerate(SYSTEMS):
            assert wins[i, j] == expected_wins.get((a, b), 0)
            assert ties[i, j] == expected_ties.get((a, b), 0)
    again = from_counts(SYSTEMS, wins, ties)
    assert len(set(again.row.tolist())) == len(again) == len(found)
    assert (np.array(again.counts()) == np.array(found.counts())).all()


@given(RECORDS, st.sampled_from(SYSTEMS))
def test_without_a_system_its_comparisons_are_gone(records, gone) -> None:
    found = comparisons_of(records, SYSTEMS).without(gone)
    kept = [record for record in records if gone not in record[1:3]]
    assert gone not in found.systems
    names = [(found.systems[a], found.systems[b]) for a, b in zip(found.a, found.b, strict=True)]
    assert names == [(a, b) for _, a, b, _, _ in kept]
    assert [found.segments[i] for i in found.segment] == [record[0] for record in kept]


@pytest.mark.slow
@given(RECORDS, RECORDS)
def test_merged_sets_count_together_and_share_no_row(first, second) -> None:
    joined = merge([comparisons_of(first), comparisons_of(second)])
    both = comparisons_of([*first, *second], joined.systems)
    assert (joined.counts()[0] == both.counts()[0]).all()
    assert (joined.counts()[1] == both.counts()[1]).all()
    assert [joined.workers[i] for i in joined.worker] == [record[4] for record in (*first, *second)]
    assert not set(joined.row[: len(first)].tolist()) & set(joined.row[len(first) :].tolist())


@given(RECORDS)
def test_components_are_the_reachable_systems(records) -> None:
    found = comparisons_of(records, SYSTEMS)
    reach = np.eye(4, dtype=bool)
    reach[found.a, found.b] = reach[found.b, found.a] = True
    for _ in range(4):
        reach = reach @ reach
    groups = found.components()
    assert sorted(i for group in groups for i in group) == [0, 1, 2, 3]
    for group in groups:
        for i in group:
            assert set(np.flatnonzero(reach[i]).tolist()) == set(group)
    assert [len(group) for group in groups] == sorted((len(group) for group in groups), reverse=True)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: comparisons_of([("s", "a", "a", 1, "")]), "compared with itself"),
        (lambda: from_counts(("a", "b"), np.array([[1, 0], [0, 0]]), np.zeros((2, 2))), "with itself"),
        (lambda: comparisons_of([("s", "a", "b", 2, "")]), "found 2"),
        (lambda: comparisons_of([("s", "a", "c", 1, "")], ("a", "b")), "found 'c'"),
        (lambda: comparisons_of([("s", "a", "b", 1, "")]).without("x"), "found 'x'"),
        (lambda: from_counts(("a", "b"), np.zeros((2, 2)), np.array([[0, 1], [0, 0]])), "ties"),
        (lambda: Comparisons(("a", "b"), ONE, ONE + 1, np.zeros(2, np.int8), ONE, ONE, ONE), "one length"),
    ],
)
def test_what_cannot_be_is_refused(make, reason: str) -> None:
    with pytest.raises((RyptError, ValueError), match=reason):
        make()
