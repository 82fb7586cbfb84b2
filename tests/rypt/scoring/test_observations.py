"""Codes of votes, and observations of some candidates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import corpora, reference_label

from rypt.records import Span, Votes
from rypt.scoring.calibration import concatenate
from rypt.scoring.kernel import NOVEL, SILENT, UNALIGNED
from rypt.scoring.observations import CODES, label_states, vote_code, vote_codes
from rypt.scoring.percolation import NO, UNKNOWN, YES
from rypt.scoring.scorer import Scorer

STATES = {None: UNKNOWN, "YES": YES, "NO": NO}


@given(st.tuples(*[st.integers(0, 4)] * 3))
def test_the_state_of_a_code_is_the_majority(votes):
    state = label_states()[vote_code(*map(float, votes))]
    assert state == STATES[reference_label(Votes("1", Span(0, 1), "x", *map(float, votes)))]


@pytest.mark.parametrize(
    ("votes", "code"),
    [
        ((0, 0, 0), "novel"),
        ((0.4, 0, 0), "one YES"),
        ((0, 6, 2), "most NO"),
        ((0, 5, 3), "more NO"),
        ((2, 2, 2), "tie"),
    ],
)
def test_codes(votes, code):
    assert CODES[vote_code(*votes)] == code


@given(st.lists(st.tuples(*[st.sampled_from([0, 0.4, 0.75, 1, 1.5, 1.6, 2, 3, 6])] * 3)))
def test_many_codes_at_once(votes):
    found = vote_codes(*np.array(votes, float).reshape(-1, 3).T)
    assert found.tolist() == [vote_code(*row) for row in votes]


@settings(max_examples=60)
@given(corpora())
def test_rows_say_which_votes_a_constituent_has(corpus):
    trees, candidates, votes = corpus
    scorer = Scorer(trees, votes)
    places = scorer.judged.rows(candidates, "lower")
    observed = scorer.observe(candidates)
    assert places.offsets.tolist() == observed.offsets.tolist()
    codes = [
        vote_code(votes[row].yes, votes[row].no, votes[row].not_sure) if row >= 0 else -1 - row
        for row in places.rows.tolist()
    ]
    assert codes == observed.codes.tolist()
    assert set((-1 - places.rows[places.rows < 0]).tolist()) <= {UNALIGNED, SILENT, NOVEL}


@settings(max_examples=50)
@given(corpora(), st.data())
def test_taking_and_joining_candidates(corpus, data):
    trees, candidates, votes = corpus
    scorer = Scorer(trees, votes)
    chosen = np.array(
        data.draw(st.lists(st.integers(0, len(candidates) - 1)) if candidates else st.just([])), np.int64
    )
    observations = scorer.observe(candidates)
    taken = observations.take(chosen)
    direct = scorer.observe([candidates[i] for i in chosen])
    assert taken.codes.tolist() == direct.codes.tolist()
    assert taken.lengths.tolist() == direct.lengths.tolist()
    twice = concatenate([observations, taken])
    assert twice.codes.tolist() == [*observations.codes, *taken.codes]
    assert twice.nodes.tolist() == [*observations.nodes, *taken.nodes]
