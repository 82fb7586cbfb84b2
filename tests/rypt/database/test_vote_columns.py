"""Votes as columns are the votes of the view."""

from dataclasses import replace
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from rypt.database import vote_columns
from rypt.database.judgments import JudgmentDatabase
from rypt.database.vote_columns import read_key_numbers
from rypt.records import Judgment, Label, Segment, Span
from rypt.scoring.observations import Forest, JudgedPhrases
from rypt.texts.trees import SourceTree

SEGMENTS = [Segment("t", "c d e"), Segment("s", "a b c")]
JUDGMENTS = st.lists(
    st.builds(
        Judgment,
        st.sampled_from(["s", "t"]),
        st.sampled_from([Span(0, 1), Span(1, 3), Span(0, 3)]),
        st.sampled_from(["b", "a", "\u00fc"]),
        st.sampled_from(Label),
        st.sampled_from(["v", "w", "x"]),
        st.sampled_from(["", "h"]),
        st.sampled_from(["hit", "import"]),
        st.sampled_from([None, 3, 5]),
        st.sampled_from([1.0, 0.1, 0.2, 0.0]),
    ),
    max_size=40,
).map(
    lambda judgments: [
        replace(j, severity=[None, 1.0, 2.5][i % 3] if j.label is Label.NO else None)
        for i, j in enumerate(judgments)
    ]
)


@given(JUDGMENTS, st.sampled_from([None, "v"]), st.sampled_from([1, 3, 1000]))
def test_columns_are_the_votes_of_the_view_in_its_order(
    judgments: list[Judgment], excluded: str | None, step: int
) -> None:
    limits = {"SPANS": step, "PHRASES": step}  # how many are read at once
    with JudgmentDatabase(":memory:") as db, patch.multiple(vote_columns, **limits):
        db.add_segments(SEGMENTS)
        db.add(judgments)
        if excluded is not None:
            db.exclude(excluded, "test")
        columns, votes = db.vote_columns(), db.votes()
        assert list(columns) == votes
        assert len(columns) == len(votes)
        keys = db.judged_keys()
        assert [(*keys.spans[i], text) for i, text in zip(keys.span.tolist(), keys.phrases, strict=True)] == [
            (vote.segment, vote.span, vote.phrase) for vote in votes
        ]
        assert sorted(map(tuple, read_key_numbers(db.db).tolist())) == sorted(
            db.db.execute("SELECT span, id FROM phrases").fetchall()
        )
        trees = {"s": SourceTree.from_brackets("(S (A a) (B (C b) (D c)))"), "u": None}
        taken, each = JudgedPhrases(Forest(trees), columns), JudgedPhrases(Forest(trees), votes)
        assert taken.unused == each.unused
        assert taken.codes.tolist() == each.codes.tolist()
        assert taken.grades.penalties.tolist() == each.grades.penalties.tolist()
        assert taken.arrays.ids.tolist() == each.arrays.ids.tolist()
        assert taken.arrays.nodes.tolist() == each.arrays.nodes.tolist()


def test_a_phrase_with_a_line_break_that_another_program_wrote_is_read() -> None:
    with JudgmentDatabase(":memory:") as db:
        db.add_segments(SEGMENTS)
        db.add([Judgment("s", Span(0, 1), phrase, Label.YES, "w") for phrase in ("a", "b", "c")])
        db.db.execute("UPDATE phrases SET phrase = 'b' || char(10) || 'b' WHERE phrase = 'b'")
        assert db.judged_keys().phrases == ["a", "b\nb", "c"]
        assert [vote.phrase for vote in db.vote_columns()] == ["a", "b\nb", "c"]
