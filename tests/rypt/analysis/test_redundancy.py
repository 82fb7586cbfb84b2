"""How much labels are reused, by hand and against plain counting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.analysis.redundancy import redundancy
from rypt.records import Candidate, Span
from rypt.scoring.queries import QueryLimits, queries
from rypt.text import FormatError
from rypt.texts.trees import SourceTree

TREES = {"1": SourceTree.from_brackets("(S (NP (A a) (B b)) (C c))"), "2": None}
LINKS = "0-0 1-1 2-2"
NO_LIMITS = QueryLimits(100, 100, 100, 100, 100)


def test_counts_by_hand():
    first = [Candidate("1", "X y z", LINKS), Candidate("1", "x y w", LINKS), Candidate("2", "no tree", "")]
    second = [Candidate("1", "x y w", LINKS), Candidate("1", "x v z", "0-0 2-2")]
    judged = {("1", Span(0, 2), "x y")}
    found = redundancy(TREES, [("1.nbest", first), ("2.nbest", second)], max_len=2, judged=judged)
    one, two = found.lists
    assert (one.candidates, one.new, two.candidates, two.new) == (3, 3, 2, 1)
    assert (one.everywhere.occurrences, one.everywhere.unique) == (10, 7)  # two roots, x y, x, y, z, w
    assert (one.frontier.occurrences, one.frontier.unique, one.frontier.labelled) == (4, 3, 1)
    assert (two.everywhere.occurrences, two.everywhere.unique) == (
        9,
        2,
    )  # "x [GAP] z", and "x" as the noun phrase
    assert (two.frontier.occurrences, two.frontier.unique, two.frontier.labelled) == (4, 1, 0)
    assert (found.total.frontier.constituents, found.total.frontier.phrases_each) == (2, 2.0)
    assert found.total.frontier.served == 2.0
    assert found.total.everywhere.occurrences == 19


def test_case_is_the_databases():
    lists = [("1", [Candidate("1", "X y z", LINKS), Candidate("1", "x y z", LINKS)])]
    assert redundancy(TREES, lists, case="lower").total.everywhere.unique == 5
    assert redundancy(TREES, lists, case="keep").total.everywhere.unique == 8


def test_unknown_segments_are_refused():
    with pytest.raises(FormatError, match="'9' of a candidate is not known"):
        redundancy(TREES, [("1", [Candidate("9", "x", "")])])


def test_nothing_is_something():
    found = redundancy(TREES, [])
    assert found.total.candidates == 0
    assert found.total.frontier.served != found.total.frontier.served


texts = st.tuples(
    st.lists(st.sampled_from("xyz"), min_size=3, max_size=3).map(" ".join),
    st.sampled_from([LINKS, "0-0 1-2", "2-0", ""]),
)


@given(st.lists(st.lists(texts, max_size=6), max_size=4), st.integers(1, 3))
def test_frontier_phrases_are_what_queries_asks(lists, max_len):
    named = [(str(n), [Candidate("1", *candidate) for candidate in one]) for n, one in enumerate(lists)]
    found = redundancy(TREES, named, max_len=max_len).total.frontier
    asked = queries(TREES, [c for _, one in named for c in one], max_len=max_len, limits=NO_LIMITS)
    assert found.unique == len(asked)
    assert found.occurrences == sum(query.candidates for query in asked)
    assert found.constituents == len({query.span for query in asked})
