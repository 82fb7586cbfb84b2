"""Metrics by the names and settings of Moses' programs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from mert.moses.metrics import MAKERS, read_file_metric
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.lists import References

WORDS = st.lists(st.sampled_from(["the", "The", "cat", "sat", "mat"]), min_size=1, max_size=8).map(" ".join)


def raws(texts):
    return [Candidate(str(i), text, None, {}, None) for i, text in enumerate(texts)]


def moses_bleu(row):
    """BLEU from Moses' row, as its papers have it."""
    if not all(row[:8:2]):
        return 0.0
    logs = sum(math.log(row[2 * n] / row[2 * n + 1]) for n in range(4)) / 4
    return math.exp(logs + min(0.0, 1 - row[8] / row[1]))


@settings(max_examples=60)
@given(st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=1, max_size=4), st.booleans())
def test_bleu_is_sacrebleus_and_has_moses_rows(rows, case):
    texts, *documents = map(list, zip(*rows, strict=True))
    metric = read_file_metric("BLEU", f"case:{str(case).lower()}")
    sums = metric.measure(References(documents), raws(texts)).sum(axis=0, keepdims=True)
    theirs = BLEU(tokenize="none", smooth_method="none", lowercase=not case, force=True).corpus_score(
        texts, documents
    )
    assert metric.score(sums)[0] == pytest.approx(theirs.score / 100, abs=1e-12)
    assert moses_bleu(sums[0].tolist()) == pytest.approx(theirs.score / 100, abs=1e-12)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=1, max_size=4))
def test_reference_lengths(rows):
    texts, *documents = map(list, zip(*rows, strict=True))
    references = References(documents)
    lengths = [[len(document[i].split()) for document in documents] for i in range(len(texts))]
    closest = read_file_metric("BLEU").measure(references, raws(texts))
    shortest = read_file_metric("BLEU", "reflen:shortest").measure(references, raws(texts))
    average = read_file_metric("BLEU", "reflen:average").measure(references, raws(texts))
    assert (shortest[:, :8] == closest[:, :8]).all()
    assert shortest[:, 8].tolist() == [min(found) for found in lengths]
    assert (average[:, :8] == 3 * closest[:, :8]).all()
    mean = [*closest[:, :8].sum(axis=0), sum(sum(found) / 3 for found in lengths)]
    score = read_file_metric("BLEU", "reflen:average").score(average.sum(axis=0, keepdims=True))[0]
    assert score == pytest.approx(moses_bleu(mean), abs=1e-12)


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "RYPT"])
def test_a_perfect_translation_scores_one(name):
    texts = ["the cat sat on the mat", "a b c d e"]
    metric = read_file_metric(name, "case:true")
    stats = metric.measure(References([texts]), raws(texts))
    assert stats.shape == (2, metric.columns)
    assert metric.score(stats.sum(axis=0, keepdims=True)).tolist() == [1.0]
    assert (metric.name, metric.measure(References([texts]), []).shape) == (name, (0, metric.columns))


def test_a_mix_is_the_weighted_mean():
    texts, references = ["the cat sat on mat", "a b c"], References([["the cat sat on the mat", "a b c d"]])
    parts = [read_file_metric(name) for name in ("BLEU", "TER", "CHRF")]
    scores = [
        part.score(part.measure(references, raws(texts)).sum(axis=0, keepdims=True))[0] for part in parts
    ]
    for config, weights in (("", [1 / 3] * 3), ("weights:1+2+5", [1 / 8, 2 / 8, 5 / 8])):
        mixed = read_file_metric("BLEU,TER,CHRF", config)
        sums = mixed.measure(references, raws(texts)).sum(axis=0, keepdims=True)
        assert mixed.score(sums)[0] == pytest.approx(np.dot(weights, scores))
        assert (mixed.name, mixed.columns) == ("BLEU,TER,CHRF", 30)


@pytest.mark.parametrize(
    ("sctype", "config", "message"),
    [
        ("NIST", "", "'NIST' is not supported, expected some of BLEU, TER, CHRF, RYPT"),
        ("TER", "reflen:closest", "TER has no option 'reflen', expected one of case"),
        ("BLEU", "weights:1", "no option 'weights'"),
        ("BLEU,TER", "weights:1+0", "expected 2 numbers above 0"),
        ("BLEU", "case:maybe", "expected case as true or false"),
        ("BLEU", "case:true,case:true", "case is given twice"),
        ("CHRF", "beta:0", "expected beta as a whole number of at least 1"),
        ("RYPT", "campaign:nowhere", "nowhere"),
    ],
)
def test_what_is_refused(sctype, config, message):
    with pytest.raises(RyptError, match=message):
        read_file_metric(sctype, config)


@pytest.mark.parametrize(
    ("alignment", "message"), [(None, "expected an alignment"), ("99-0", "99"), ("x-y", "x-y")]
)
def test_rypt_needs_alignments_that_fit(demo_campaign, alignment, message):
    metric = read_file_metric("RYPT", f"campaign:{demo_campaign}")
    with pytest.raises(RyptError, match=message):
        metric.measure(None, [Candidate("0", "the children", alignment, {}, None)])
    with pytest.raises(RyptError, match="segment 'x' of the list is not in"):
        metric.measure(None, [Candidate("x", "the children", "0-0", {}, None)])
