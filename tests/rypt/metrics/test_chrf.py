"""chrF and chrF++ bit by bit as sacrebleu has them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from rypt.metrics.chrf import ChrF
from rypt.metrics.metric import Resources, read_metric
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.references import References

WORDS = st.lists(
    st.sampled_from(["the", "a", "cat", "sat,", "(mat)", "on", ".", "Katze", "猫", "é"]), max_size=9
)
TEXTS = st.one_of(WORDS.map(" ".join), st.text(max_size=12))
OPTIONS = st.fixed_dictionaries(
    {
        "char_order": st.integers(1, 6),
        "word_order": st.integers(0, 2),
        "beta": st.integers(0, 3),
        "lowercase": st.booleans(),
        "whitespace": st.booleans(),
        "eps_smoothing": st.booleans(),
    }
)


def candidates(texts):
    return [Candidate(str(i), text, None, {}, None) for i, text in enumerate(texts)]


@settings(max_examples=100)
@given(st.integers(1, 3), st.data(), OPTIONS)
def test_statistics_and_score_are_sacrebleus(count, data, options):
    rows = data.draw(
        st.lists(st.lists(TEXTS, min_size=count + 1, max_size=count + 1), min_size=1, max_size=5)
    )
    texts, *documents = map(list, zip(*rows, strict=True))
    metric, theirs = ChrF(References(documents), **options), CHRF(**options)
    stats = metric.stats(candidates(texts))
    assert stats.tolist() == theirs._extract_corpus_statistics(texts, documents)
    score = theirs.corpus_score(texts, documents).score
    assert metric.score(stats.sum(axis=0, keepdims=True)).tolist() == [score]


@settings(max_examples=60)
@given(st.data(), OPTIONS)
def test_scores_of_many_sums_are_sacrebleus(data, options):
    metric, theirs = ChrF(References([["x"]]), **options), CHRF(**options)
    counts = st.integers(0, 4) | st.integers(0, 10**7)
    triples = st.tuples(counts, counts, counts).map(lambda t: [t[0], t[1], min(t)])
    order = options["char_order"] + options["word_order"]
    row = st.lists(triples, min_size=order, max_size=order).map(
        lambda triples: [n for triple in triples for n in triple]
    )
    rows = data.draw(st.lists(row, min_size=1, max_size=8))
    assert metric.score(np.array(rows)).tolist() == [theirs._compute_f_score(row) for row in rows]


@settings(max_examples=50)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.lists(TEXTS, min_size=1, max_size=3))
def test_repeated_texts_of_one_segment(texts, references):
    texts = texts + texts[::-1]
    raw = [Candidate("0", text, None, {}, None) for text in texts]
    documents = [[reference] for reference in references]
    stats = ChrF(References(documents), word_order=2).stats(raw)
    for row, text in zip(stats.tolist(), texts, strict=True):
        assert [row] == CHRF(word_order=2)._extract_corpus_statistics([text], documents)


def test_named_as_sacrebleu_names_it():
    resources = Resources(References([["a"], ["b"]]))
    given = "chrf(char_order=4,word_order=1,beta=3,lowercase=true,whitespace=yes,eps_smoothing=true)"
    theirs = CHRF(4, 1, 3, True, True, True, references=[["a"], ["b"]])
    assert read_metric(given, resources).signature == f"chrF3+|{theirs.get_signature()}"
    plus = CHRF(word_order=2, references=[["a"], ["b"]])
    assert read_metric("chrf++", resources).signature == f"chrF2++|{plus.get_signature()}"
    assert read_metric("chrf", resources).maximize


def test_no_candidates_and_no_rows():
    metric = ChrF(References([["a"]]), word_order=2)
    assert metric.stats([]).shape == (0, 24)
    assert metric.score(metric.stats([])).shape == (0,)


def test_mistakes():
    with pytest.raises(RyptError, match="char_order and word_order not both 0"):
        ChrF(References([["a"]]), char_order=0)
    with pytest.raises(RyptError, match="segment '1' has no reference"):
        ChrF(References([["a"]])).stats(candidates(["a", "b"]))
