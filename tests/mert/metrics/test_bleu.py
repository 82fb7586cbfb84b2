"""BLEU number by number as sacrebleu has it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from mert.lists import arrange
from mert.metrics.bleu import Bleu
from rypt.records import RawCandidate
from rypt.text import RyptError

WORDS = st.lists(st.sampled_from(["the", "a", "cat", "sat", "mat", "on", "."]), max_size=9).map(" ".join)


def one_best(texts):
    return arrange([RawCandidate(str(i), text, None, {"f": 0.0}, None) for i, text in enumerate(texts)])


@settings(max_examples=150)
@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=5), st.sampled_from(["exp", "none"]))
def test_statistics_and_score_are_sacrebleus(rows, smooth):
    texts, first, second = zip(*rows, strict=True)
    metric = Bleu([list(first), list(second)], smooth_method=smooth)
    stats = metric.stats(one_best(texts))
    theirs = BLEU(tokenize="none", smooth_method=smooth, force=True)
    expected = theirs._extract_corpus_statistics(list(texts), [list(first), list(second)])
    assert stats.tolist() == expected
    score = theirs.corpus_score(list(texts), [list(first), list(second)]).score
    assert metric.score(stats.sum(axis=0, keepdims=True))[0] == pytest.approx(score, abs=1e-9)


@settings(max_examples=60)
@given(st.lists(WORDS, min_size=1, max_size=6), st.lists(WORDS, min_size=1, max_size=3))
def test_many_candidates_of_one_segment(texts, references):
    lists = arrange([RawCandidate("0", text, None, {"f": 0.0}, None) for text in texts])
    stats = Bleu([[reference] for reference in references]).stats(lists)
    theirs = BLEU(tokenize="none", force=True)
    for row, text in zip(stats.tolist(), texts, strict=True):
        assert [row] == theirs._extract_corpus_statistics([text], [[reference] for reference in references])


def test_other_tokenisers_are_sacrebleus():
    text, reference = "Hello, world (again)!", "Hello , world!"
    stats = Bleu([[reference]], tokenize="13a").stats(one_best([text]))
    assert stats.tolist() == BLEU(tokenize="13a")._extract_corpus_statistics([text], [[reference]])


def test_signature_is_sacrebleus():
    assert Bleu([["a"], ["b"]]).signature.startswith("BLEU|nrefs:2|case:mixed|eff:no|tok:none|smooth:exp|version:")


def test_a_segment_without_a_reference_is_named():
    with pytest.raises(RyptError, match="segment 1 of the list has no reference: there are 1, from 0"):
        Bleu([["a"]]).stats(one_best(["a", "b"]))
