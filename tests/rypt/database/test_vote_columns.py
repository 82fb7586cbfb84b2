"""Votes as columns are the votes of the view."""

from hypothesis import given
from hypothesis import strategies as st

from rypt.database.judgments import JudgmentDatabase
from rypt.metric.observations import Forest, JudgedPhrases
from rypt.records import Judgment, Label, Segment, Span
from rypt.texts.trees import SourceTree

SEGMENTS = [Segment("t", "c d e"), Segment("s", "a b c")]
JUDGMENTS = st.lists(
    st.builds(
        Judgment, st.sampled_from(["s", "t"]), st.sampled_from([Span(0, 1), Span(1, 3), Span(0, 3)]),
        st.sampled_from(["b", "a", "\u00fc"]), st.sampled_from(Label), st.sampled_from(["v", "w", "x"]),
        st.sampled_from(["", "h"]), st.sampled_from(["hit", "import"]), st.sampled_from([None, 3, 5]),
        st.sampled_from([1.0, 0.1, 0.2, 0.0]),
    ),
    max_size=40,
)  # fmt: skip


@given(JUDGMENTS, st.sampled_from([None, "v"]))
def test_columns_are_the_votes_of_the_view_in_its_order(judgments: list[Judgment], excluded: str | None) -> None:
    with JudgmentDatabase(":memory:") as db:
        db.add_segments(SEGMENTS)
        db.add(judgments)
        if excluded is not None:
            db.exclude(excluded, "test")
        columns, votes = db.vote_columns(), db.votes()
        assert list(columns) == votes
        assert len(columns) == len(votes)
        trees = {"s": SourceTree.from_brackets("(S (A a) (B (C b) (D c)))"), "u": None}
        taken, each = JudgedPhrases(Forest(trees), columns), JudgedPhrases(Forest(trees), votes)
        assert taken.unused == each.unused
        assert taken.codes.tolist() == each.codes.tolist()
        assert taken.grades.penalties.tolist() == each.grades.penalties.tolist()
        assert taken.arrays.ids.tolist() == each.arrays.ids.tolist()
        assert taken.arrays.nodes.tolist() == each.arrays.nodes.tolist()
