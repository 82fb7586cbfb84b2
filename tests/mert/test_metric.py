"""BLEU bit by bit as sacrebleu has it; RYPT from a campaign."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from mert.lists import arrange
from mert.metric import Bleu, Rypt, read_references
from rypt.campaign import Campaign
from rypt.nbest import RawCandidate
from rypt.report import score_report
from rypt.text import InputError, RyptError

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


def test_signature_is_sacrebleus():
    assert Bleu([["a"], ["b"]]).signature.startswith("BLEU|nrefs:2|case:mixed|eff:no|tok:none|smooth:exp|version:")


def test_a_segment_without_a_reference_is_named():
    with pytest.raises(RyptError, match="segment 1 of the list has no reference: there are 1, from 0"):
        Bleu([["a"]]).stats(one_best(["a", "b"]))


def test_references_must_have_equal_lengths(tmp_path):
    (tmp_path / "ref.0").write_text("a\nb\n")
    (tmp_path / "ref.1").write_text("a\n")
    with pytest.raises(InputError, match=r"ref\.1:1: expected 2 lines"):
        read_references([tmp_path / "ref.0", tmp_path / "ref.1"])


def test_rypt_of_a_campaign_is_what_rypt_score_says(demo_campaign):
    campaign = Campaign.open(demo_campaign)
    metric = Rypt.from_campaign(demo_campaign)
    rows = [RawCandidate(c.segment, c.text, c.alignment, c.features, c.score) for c in campaign.candidates]
    lists = arrange(rows)
    stats = metric.stats(lists)
    first = lists.offsets[:-1]
    report = score_report(metric.scorer, campaign.candidates)
    assert metric.score(stats[first].sum(axis=0, keepdims=True))[0] == pytest.approx(report.score)
    with pytest.raises(RyptError, match="segment '99' of the list is not in the campaign"):
        metric.stats(arrange([RawCandidate("99", "x", "", {}, None)]))
    assert np.issubdtype(stats.dtype, np.integer)
