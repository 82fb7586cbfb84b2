"""Sentence scores are sacrebleu's."""

import pytest
import sacrebleu

from rypt.picks.sentence import SENTENCE_METRICS, sentence_scores
from rypt.text import RyptError

CANDIDATES = ["the old house is red .", "a house", "", "the old house is red ."]
REFERENCES = [["the old house was red .", "the house is red ."], ["the old house", "a house"], ["x", "y"], ["", "z"]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bleu", lambda c, r: sacrebleu.sentence_bleu(c, r).score / 100),
        ("chrf", lambda c, r: sacrebleu.sentence_chrf(c, r).score / 100),
        ("chrf++", lambda c, r: sacrebleu.sentence_chrf(c, r, word_order=2).score / 100),
        ("ter", lambda c, r: max(0.0, 1 - sacrebleu.sentence_ter(c, r).score / 100)),
    ],
)
def test_scores(name, expected):
    found, signature = sentence_scores(name, CANDIDATES, REFERENCES)
    assert found.tolist() == pytest.approx([expected(c, r) for c, r in zip(CANDIDATES, REFERENCES, strict=True)])
    assert signature.startswith(f"{name}|nrefs:2|")


def test_the_tokenizer_matters_and_is_in_the_signature():
    candidates, references = ["a,b c d e f"], [["a , b c d e f"]]
    plain, split = (sentence_scores("bleu", candidates, references, name) for name in ("none", "13a"))
    assert plain[0][0] < split[0][0] == pytest.approx(1)
    assert "tok:none" in plain[1]


@pytest.mark.parametrize(
    ("name", "tokenize", "message"),
    [
        ("meteor", "13a", "expected a metric bleu"),
        ("bleu", "sentences", "expected a tokenizer 13a, .* found 'sentences'"),
    ],
)
def test_what_is_not_there(name, tokenize, message):
    with pytest.raises(RyptError, match=message):
        sentence_scores(name, CANDIDATES, REFERENCES, tokenize)


@pytest.mark.parametrize("name", SENTENCE_METRICS)
def test_nothing_to_score(name):
    assert sentence_scores(name, [], [])[0].tolist() == []
