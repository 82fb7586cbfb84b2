"""Votes by group: any set of groups is as good as a database of its own."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import corpora

from rypt.database.judgments import JudgmentDatabase
from rypt.database.vote_table import VoteTable, read_vote_table
from rypt.picks.grouped import GroupedVotes, SegmentJudges
from rypt.records import Candidate, Judgment, Label, Segment, Span, Votes
from rypt.scoring.frontier import frontier
from rypt.scoring.scorer import Scorer
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

GROUPS = ("x", "y", "z")
TREES = {"1": SourceTree.from_brackets("(S (NP (A a) (B b)) (C c))")}


def summed(votes, groups):
    """The votes of some groups as a database would give them."""
    total: dict[tuple[str, Span, str], np.ndarray] = {}
    for group, vote in votes:
        if group in groups:
            key = (vote.segment, vote.span, vote.phrase)
            total[key] = total.get(key, np.zeros(3)) + np.array([vote.yes, vote.no, vote.not_sure])
    return [Votes(*key, *counts.tolist()) for key, counts in total.items()]


@settings(max_examples=80)
@given(corpora(), st.data())
def test_groups_are_as_good_as_a_database_of_their_own(corpus, data):
    trees, candidates, votes = corpus
    counts = st.tuples(*[st.integers(0, 2)] * 3).filter(any)
    grouped = [
        (group, Votes(vote.segment, vote.span, vote.phrase, *map(float, data.draw(counts))))
        for vote in votes
        for group in data.draw(st.sets(st.sampled_from(GROUPS)))
    ]
    max_len = data.draw(st.sampled_from([None, 1, 2, 4]))
    chosen = data.draw(st.lists(st.integers(0, len(candidates) - 1)) if candidates else st.just([]))
    ours = GroupedVotes(trees, VoteTable.from_votes(grouped), candidates, max_len=max_len)
    groups = data.draw(st.sets(st.sampled_from(GROUPS)))
    counted = [
        vote
        for vote in summed(grouped, groups)
        if max_len is None
        or vote.span
        in [trees[vote.segment].constituents[i].span for i in frontier(trees[vote.segment], max_len)]
    ]
    theirs = Scorer(trees, counted).observe([candidates[i] for i in chosen])
    found = ours.observe(ours.counts(groups), np.array(chosen, np.int64))
    assert found.labels().tolist() == theirs.labels().tolist()
    assert found.offsets.tolist() == theirs.offsets.tolist()
    assert found.segments.tolist() == theirs.segments.tolist()
    labels = ours.labels(groups, np.array(chosen, np.int64), "no")
    assert labels.tolist() == theirs.labels("no").tolist()


def test_votes_of_no_constituent_and_of_unknown_segments_are_left_out():
    votes = [
        ("x", Votes("1", Span(1, 3), "y z", 1, 0)),
        ("x", Votes("7", Span(0, 1), "x", 1, 0)),
        ("y", Votes("1", Span(0, 2), "x y", 0, 1)),
    ]
    grouped = GroupedVotes(TREES, VoteTable.from_votes(votes), [Candidate("1", "x y z", "0-0 1-1 2-2")])
    assert (len(grouped), grouped.groups) == (1, ["y"])
    assert grouped.counts({"y"}).tolist() == [[0, 1, 0, 0, 0]]
    assert grouped.counts({"x"}).tolist() == [[0, 0, 0, 0, 0]]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 2)), max_size=60),
    st.integers(0, 99),
)
def test_the_control_keeps_the_verdicts_of_each_segment(judged, seed):
    trees = {str(i): TREES["1"] for i in range(4)}
    votes = {
        (str(i), f"w{word}"): Votes(str(i), Span(0, 1), f"w{word}", *np.eye(3)[label].tolist())
        for i, word, label in judged
    }
    silent = [("b", Votes("0", Span(0, 1), "only others", 1, 0))]
    table = VoteTable.from_votes([*silent, *(("a", vote) for vote in votes.values())])
    grouped = GroupedVotes(trees, table, [])
    counts = grouped.counts({"a"})
    mixed = grouped.permuted(counts, np.random.default_rng(seed))
    segments = np.array(["0", *(segment for segment, _ in votes)])
    for segment in set(segments):
        before, after = (Counter(map(tuple, rows[segments == segment].tolist())) for rows in (counts, mixed))
        assert before == after
    assert not mixed[0].any()  # nobody of these judged it, and so it stays


def test_the_control_mixes():
    trees = {"1": TREES["1"]}
    votes = [("a", Votes("1", Span(0, 1), f"w{i}", i % 2, 1 - i % 2)) for i in range(40)]
    grouped = GroupedVotes(trees, VoteTable.from_votes(votes), [])
    counts = grouped.counts({"a"})
    assert grouped.permuted(counts, np.random.default_rng(1)).tolist() != counts.tolist()


@pytest.mark.parametrize("votes", [[], [("a", Votes("1", Span(0, 1), "q", 1, 0))]])
def test_no_judgment_says_nothing(votes):
    grouped = GroupedVotes(TREES, VoteTable.from_votes(votes), [Candidate("1", "x y z", "0-0 1-1")])
    found = grouped.observe(grouped.counts(set()), np.array([0]))
    assert not found.labels().any()


@settings(max_examples=60)
@given(st.data())
def test_judges_of_each_segment_count_in_that_segment_only(data):
    trees = {str(i): TREES["1"] for i in range(3)}
    rows = st.tuples(
        st.sampled_from("012"),
        st.sampled_from("pq"),
        st.sampled_from(GROUPS),
        st.sampled_from("mn"),
        st.sampled_from(["YES", "NO", "NOT_SURE"]),
    )
    judgments = [
        Judgment(segment, Span(0, 2), phrase, Label(label), worker, origin)
        for segment, phrase, worker, origin, label in data.draw(st.sets(rows, max_size=25))
    ]
    with JudgmentDatabase(":memory:") as db:
        db.add_segments([Segment(name, "a b c") for name in trees])
        db.add(judgments)
        grouped = GroupedVotes(trees, read_vote_table(db), [], group="worker")
    names = [data.draw(st.sets(st.sampled_from(GROUPS))) for _ in trees]
    origins = data.draw(st.none() | st.sets(st.sampled_from("mn")))
    expected = Counter(
        (j.segment, j.phrase, str(j.label))
        for j in judgments
        if j.worker in names[int(j.segment)] and (origins is None or j.origin in origins)
    )
    keys = sorted({(j.segment, j.phrase) for j in judgments})
    found = grouped.counts(SegmentJudges(tuple(map(frozenset, names))), origins)
    assert found[:, :3].tolist() == [
        [expected[*key, label] for label in ("YES", "NO", "NOT_SURE")] for key in keys
    ]


def test_groups_are_workers_or_origins_that_count():
    judgments = [
        Judgment("1", Span(0, 2), "x", Label.YES, "anna", "JHU"),
        Judgment("1", Span(1, 3), "x", Label.YES, "ben", "UEDIN"),  # no constituent
        Judgment("1", Span(0, 2), "x", Label.YES, "carl", "UEDIN"),
    ]
    with JudgmentDatabase(":memory:") as db:
        db.add_segments([Segment("1", "a b c")])
        db.add(judgments)
        db.exclude("carl", "answers YES to everything")
        table = read_vote_table(db)
    by_worker, by_origin = (GroupedVotes(TREES, table, [], group=group) for group in ("worker", "origin"))
    assert (by_worker.groups, by_worker.origins) == (["anna"], ["JHU"])
    assert by_origin.groups == by_origin.origins == ["JHU"]
    with pytest.raises(RyptError, match="expected group as one of worker, origin"):
        GroupedVotes(TREES, table, [], group="segment")


def test_severities_of_the_chosen_groups_add_up():
    votes = [
        ("a", Votes("1", Span(0, 1), "x", 0, 2, 0, 18.0, 2.0)),
        ("b", Votes("1", Span(0, 1), "x", 1, 1, 0)),  # a NO without a severity
        ("c", Votes("1", Span(0, 1), "x", 0, 1, 0, 0.1, 1.0)),
    ]
    candidates = [Candidate("1", "x y z", "0-0 1-1 2-2")]
    grouped = GroupedVotes(TREES, VoteTable.from_votes(votes), candidates)
    assert grouped.counts({"a", "b"}).tolist() == [[1, 3, 0, 18, 2]]
    assert grouped.counts({"c"}).tolist() == [[0, 1, 0, 0.1, 1]]
