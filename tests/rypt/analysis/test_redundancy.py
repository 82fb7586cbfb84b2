"""How much labels are reused, by hand and against the questions that would be asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.analysis.redundancy import redundancy
from rypt.records import Candidate
from rypt.scoring.forest import Forest
from rypt.scoring.observations import JudgedPhrases
from rypt.scoring.queries import QueryLimits, queries
from rypt.texts.trees import SourceTree

TREES = {"1": SourceTree.from_brackets("(S (NP (A a) (B b)) (C c))"), "2": None}
LINKS = "0-0 1-1 2-2"
NO_LIMITS = QueryLimits(100, 100, 100, 100, 100)


def counted(lists, max_len=4, judged=(), case="lower"):
    candidates = [candidate for _, some in lists for candidate in some]
    return redundancy(lists, JudgedPhrases(Forest(TREES), judged).look_up(candidates, case), max_len)


def test_counts_by_hand():
    first = [Candidate("1", "X y z", LINKS), Candidate("1", "x y w", LINKS), Candidate("2", "no tree", "")]
    second = [Candidate("1", "x y w", LINKS), Candidate("1", "x v z", "0-0 2-2")]
    found = counted([("1.nbest", first), ("2.nbest", second)], 2, [("1", 0, 2, "x y")])
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
    assert found.as_dict()["total"]["frontier"]["served"] == 2.0


def test_case_is_the_databases():
    lists = [("1", [Candidate("1", "X y z", LINKS), Candidate("1", "x y z", LINKS)])]
    assert counted(lists, case="lower").total.everywhere.unique == 5
    assert counted(lists, case="keep").total.everywhere.unique == 8
    assert counted([]).total.candidates == 0


texts = st.tuples(
    st.lists(st.sampled_from("xyz"), min_size=3, max_size=3).map(" ".join),
    st.sampled_from([LINKS, "0-0 1-2", "2-0", ""]),
)


@pytest.mark.slow
@given(st.lists(st.lists(texts, max_size=6), max_size=4), st.integers(1, 3))
def test_frontier_phrases_are_what_queries_asks(lists, max_len):
    named = [(str(n), [Candidate("1", *candidate) for candidate in one]) for n, one in enumerate(lists)]
    found = counted(named, max_len).total.frontier
    asked = queries(TREES, [c for _, one in named for c in one], max_len=max_len, limits=NO_LIMITS)
    assert found.unique == len(asked)
    assert found.occurrences == sum(query.candidates for query in asked)
    assert found.constituents == len({query.span for query in asked})
