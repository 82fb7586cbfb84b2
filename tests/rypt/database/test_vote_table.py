"""Judgments as columns say what the judgments say."""

from collections import Counter
from dataclasses import replace
from math import isnan

from hypothesis import given
from hypothesis import strategies as st

from rypt.database.judgments import JudgmentDatabase
from rypt.database.vote_table import LABELS, VoteTable, read_vote_table
from rypt.records import Judgment, Label, Segment, Span

NAMES = st.sampled_from(["a", 'b "quoted"', "c\\", "d,e", "['f']", "Ü \u2028"])
JUDGMENTS = st.builds(
    Judgment,
    st.sampled_from(["1", "2"]),
    st.sampled_from([Span(0, 1), Span(0, 3)]),
    st.sampled_from(["x", 'y "z"']),
    st.sampled_from(Label),
    NAMES,
    NAMES,
    weight=st.sampled_from([1.0, 0.1, 1 / 3, 0.0]),
    severity=st.sampled_from([None, 0.1, 5.0]),
).map(lambda j: j if j.label is Label.NO else replace(j, severity=None))


def rows(table: VoteTable) -> Counter:
    labels = list(LABELS)
    return Counter(
        (
            *(
                *table.keys[key],
                table.workers[worker],
                table.origins[origin],
                labels[label],
                round(weight, 12),
            ),
            None if isnan(severity) else severity,
        )
        for key, worker, origin, label, weight, severity in zip(
            *(
                table.key,
                table.worker,
                table.origin,
                table.label,
                table.weight.tolist(),
                table.severity.tolist(),
            ),
            strict=True,
        )
    )


@given(st.lists(JUDGMENTS, max_size=30), st.booleans())
def test_the_columns_are_the_judgments_that_count(judgments, excluded):
    with JudgmentDatabase(":memory:") as db:
        db.add_segments([Segment(name, "a b c") for name in "12"])
        db.add(judgments)
        if excluded:
            db.exclude("a", "answers YES to everything")
        table = read_vote_table(db)
        every = list(db.judgments())
    assert rows(table) == Counter(
        (j.segment, *j.span, j.phrase, j.worker, j.origin, str(j.label), round(j.weight, 12), j.severity)
        for j in every
        if j.weight > 0 and not (excluded and j.worker == "a")
    )
    assert table.keys == sorted(set(table.keys))
    assert len(table) == len(table.weight)


def test_no_judgments():
    with JudgmentDatabase(":memory:") as db:
        assert len(read_vote_table(db)) == 0
    assert len(VoteTable.from_votes([])) == 0
