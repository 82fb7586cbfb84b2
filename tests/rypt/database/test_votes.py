"""Votes as arrays, against sums in pure Python."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rypt.database.judgments import JudgmentDatabase
from rypt.database.votes import NO, YES, read_votes
from rypt.records import Judgment, Label, Segment, Span

LABELS = st.tuples(st.just(Label.NO), st.none() | st.sampled_from([0.0, 0.1, 1.0, 5.0])) | st.tuples(
    st.sampled_from(Label), st.none()
)
JUDGMENTS = st.builds(
    lambda segment, start, phrase, worker, origin, graded, weight: Judgment(
        segment, Span(start, start + 1), phrase, graded[0], worker, origin, weight=weight, severity=graded[1]
    ),
    st.sampled_from(["10", "9"]),
    st.integers(0, 2),
    st.sampled_from(["b", "a"]),
    st.sampled_from(["Zoe", "Ada", "both"]),
    st.sampled_from(["", "JHU", "both"]),
    LABELS,
    st.sampled_from([0.0, 0.1, 0.2, 1.0]),
)


def key_of(judgment: Judgment) -> tuple[str, int, int, str]:
    return judgment.segment, *judgment.span, judgment.phrase


def sums(judgments: Sequence[Judgment]) -> Counter[tuple[tuple[str, int, int, str], str]]:
    """Exact sums in tenths, which are all that occurs here."""
    total: Counter[tuple[tuple[str, int, int, str], str]] = Counter()
    for j in judgments:
        weight = Fraction(round(j.weight * 10), 10)
        total[key_of(j), j.label] += weight
        if j.severity is not None:
            total[key_of(j), "penalty"] += weight * Fraction(round(j.severity * 10), 10)
            total[key_of(j), "graded"] += weight
    return total


@given(st.lists(JUDGMENTS, max_size=12))
def test_counts_are_the_sums_of_what_counts(judgments: list[Judgment]) -> None:
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("9", "a b c"), Segment("10", "a b c")])
    db.add(judgments)
    db.exclude("Zoe", "a bot")
    stored = [j for j in db.judgments() if j.weight > 0 and j.worker != "Zoe"]
    votes = read_votes(db)
    assert votes.keys == sorted({key_of(j) for j in stored})
    assert sorted(
        (votes.keys[k], votes.workers[w], votes.origins[o], weight)
        for k, w, o, weight in zip(votes.key, votes.worker, votes.origin, votes.weight, strict=True)
    ) == sorted((key_of(j), j.worker, j.origin, j.weight) for j in stored)
    assert np.isnan(votes.severity[votes.label != NO]).all()
    of_ada = np.array([votes.workers[w] == "Ada" for w in votes.worker], np.bool_)
    for mask, chosen in ((None, stored), (of_ada, [j for j in stored if j.worker == "Ada"])):
        expected = sums(chosen)
        names = ("YES", "NO", "NOT_SURE", "penalty", "graded")
        assert votes.counts(mask).tolist() == [
            [float(expected[key, name]) for name in names] for key in votes.keys
        ]


def test_sums_of_tenths_tie() -> None:
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("9", "a b c")])
    weights = {("Ada", Label.YES): 0.1, ("Bob", Label.YES): 0.2, ("Cem", Label.NO): 0.3}
    db.add([Judgment("9", Span(0, 1), "a", label, name, weight=w) for (name, label), w in weights.items()])
    votes = read_votes(db)
    yes, no = votes.counts()[0, :2]
    assert yes == no == 0.3
    assert votes.label.tolist() == [YES, YES, NO]
