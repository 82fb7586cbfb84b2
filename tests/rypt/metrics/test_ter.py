"""TER as sacrebleu has it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.ter import TER

from rypt.metrics.metric import Resources, read_metric
from rypt.metrics.ter import Ter
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.references import References

WORDS = st.lists(
    st.sampled_from(["the", "a", "cat", "Cat", "sat,", "(mat)", "on", ".", "猫。", "é"]), max_size=9
)
TEXTS = st.one_of(WORDS.map(" ".join), st.text(max_size=12))
NAMES = ("normalized", "no_punct", "asian_support", "case_sensitive")
OPTIONS = st.fixed_dictionaries({name: st.booleans() for name in NAMES})


def candidates(texts):
    return [Candidate(str(i), text, None, {}, None) for i, text in enumerate(texts)]


@settings(max_examples=80)
@given(st.integers(1, 4), st.data(), OPTIONS)
def test_statistics_and_score_are_sacrebleus(count, data, options):
    rows = data.draw(
        st.lists(st.lists(TEXTS, min_size=count + 1, max_size=count + 1), min_size=1, max_size=5)
    )
    texts, *documents = map(list, zip(*rows, strict=True))
    metric, theirs = Ter(References(documents), **options), TER(**options)
    stats = metric.stats(candidates(texts))
    expected = theirs._extract_corpus_statistics(texts, documents)
    assert [[edits, lengths / count] for edits, lengths in stats.tolist()] == expected
    score = theirs.corpus_score(texts, documents).score
    ours = metric.score(stats.sum(axis=0, keepdims=True)).tolist()
    assert ours == ([pytest.approx(score, rel=1e-14)] if count == 3 else [score])


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 3) | st.integers(0, 10**6)), min_size=1))
def test_scores_of_many_sums_are_sacrebleus(rows):
    for count in (1, 2, 4):
        metric = Ter(References([["x"]] * count))
        expected = [TER()._compute_score_from_stats([edits, length / count]).score for edits, length in rows]
        assert metric.score(np.array(rows)).tolist() == expected


@settings(max_examples=30)
@given(st.lists(TEXTS, min_size=1, max_size=6), st.lists(TEXTS, min_size=1, max_size=2))
def test_repeated_texts_of_one_segment(texts, references):
    texts = texts + texts[::-1]
    raw = [Candidate("0", text, None, {}, None) for text in texts]
    documents = [[reference] for reference in references]
    stats = Ter(References(documents)).stats(raw)
    for (edits, lengths), text in zip(stats.tolist(), texts, strict=True):
        assert [[edits, lengths / len(references)]] == TER()._extract_corpus_statistics([text], documents)


def test_a_shift_is_one_edit():
    metric = Ter(References([["a b c d e f"], ["x y"]]))
    stats = metric.stats(candidates(["d e f a b c"]))
    assert stats.tolist() == [[1, 8]]
    assert metric.score(stats).tolist() == [25.0]


def test_named_as_sacrebleu_names_it():
    resources = Resources(References([["a"], ["b"]]))
    metric = read_metric(
        "ter(normalized=true,no_punct=yes,asian_support=true,case_sensitive=true)", resources
    )
    theirs = TER(True, True, True, True, references=[["a"], ["b"]])
    assert metric.signature == f"TER|{theirs.get_signature()}"
    plain = read_metric("ter(case_sensitive=no)", resources)
    assert plain.signature == f"TER|{TER(references=[['a'], ['b']]).get_signature()}"
    assert not metric.maximize


def test_no_candidates_and_no_rows():
    metric = Ter(References([["a"]]))
    assert metric.stats([]).shape == (0, 2)
    assert metric.score(metric.stats([])).shape == (0,)


def test_a_segment_without_a_reference():
    with pytest.raises(RyptError, match="segment '1' has no reference"):
        Ter(References([["a"]])).stats(candidates(["a", "b"]))
