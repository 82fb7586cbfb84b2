"""BLEU number by number as sacrebleu has it."""

import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from mert.lists.arrays import arrange, read_lists
from rypt.metrics.bleu import Bleu
from rypt.metrics.metric import Resources, read_metric
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.references import References

SPACES = [
    " ",
    "  ",
    "\t",
    "\u00a0",
    "\u2003",
    "\u3000",
    "\u2028",
    "\u0085",
    "\x1c",
    "\x1f",
    "\x0b",
    "\u1680",
    "\u205f",
    "\u202f",
]
LOOKALIKES = [
    "\u200b",
    "\u2060",
    "\u0084",
    "\u180e",
    "\u3001",
    "\u200d",
    "\x08",
    "\x7f",
    "\u203f",
    "\ufeff",
]  # no spaces
WORDS = [
    "the",
    "a",
    "cat",
    "sat",
    "mat",
    "on",
    ".",
    "The",
    "ä",
    "日本",
    "1,000",
    "don't",
    "(x)",
    "&quot;",
    *LOOKALIKES,
]
SMOOTHINGS = [
    ("exp", None),
    ("none", None),
    ("floor", None),
    ("floor", 0.5),
    ("floor", 0.0),
    ("add-k", None),
    ("add-k", 2.5),
]


@st.composite
def texts(draw):
    """Words between white space of all kinds."""
    words = draw(st.lists(st.sampled_from(WORDS), max_size=9))
    return "".join(word + draw(st.sampled_from(SPACES)) for word in words)


@st.composite
def documents(draw):
    """Candidates with one to four references each."""
    count = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(texts(), min_size=count + 1, max_size=count + 1), min_size=1, max_size=4))
    candidates, *references = zip(*rows, strict=True)
    return list(candidates), [list(document) for document in references]


def one_best(candidates):
    return arrange(
        [Candidate(str(i), text, None, {"f": 0.0}, None) for i, text in enumerate(candidates)]
    ).candidates


@settings(max_examples=100)
@given(documents())
@example((["a"], [["b"], ["c"], ["d"], ["e"]]))  # tokens of one byte side by side
@example((list("abcdefgh"), [list("ijklmnop")]))
@example(([""], [[""]]))
@example((["", "a b c d e"], [["", ""], ["x", "a b c d e"]]))
def test_statistics_are_sacrebleus(document):
    candidates, references = document
    stats = Bleu(References(references)).stats(one_best(candidates))
    theirs = BLEU(tokenize="none", force=True)
    assert stats.tolist() == theirs._extract_corpus_statistics(candidates, references)


@settings(max_examples=40)
@given(documents(), st.sampled_from(["13a", "intl", "char", "zh", "none"]), st.booleans())
def test_statistics_with_other_tokenisers_are_sacrebleus(document, tokenize, lowercase):
    candidates, references = document
    stats = Bleu(References(references), tokenize=tokenize, lowercase=lowercase).stats(one_best(candidates))
    theirs = BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
    assert stats.tolist() == theirs._extract_corpus_statistics(candidates, references)


@settings(max_examples=60)
@given(documents(), st.sampled_from(SMOOTHINGS))
def test_the_score_of_one_sum_is_sacrebleus_own(document, smoothing):
    candidates, references = document
    method, value = smoothing
    metric = Bleu(References(references), smooth_method=method, smooth_value=value)
    theirs = BLEU(tokenize="none", smooth_method=method, smooth_value=value, force=True)
    sums = metric.stats(one_best(candidates)).sum(axis=0, keepdims=True)
    assert metric.score(sums)[0] == theirs.corpus_score(candidates, references).score


@st.composite
def summed(draw):
    """Sums of statistics: matches are at most totals, and fall with the order."""
    length, reference = draw(st.integers(0, 60)), draw(st.integers(0, 60))
    factor = draw(st.sampled_from([1, 1, 997]))
    totals = [max(0, length - n) for n in range(4)]
    matches, most = [], totals[0]
    for total in totals:
        most = draw(st.integers(0, min(most, total)))
        matches.append(most)
    return [factor * x for x in (length, reference, *matches, *totals)]


@settings(max_examples=100)
@given(st.lists(summed(), min_size=2, max_size=8), st.sampled_from(SMOOTHINGS))
@example([[4, 4, 0, 0, 0, 0, 4, 3, 2, 1], [0] * 10], ("exp", None))
@example([[3, 9, 3, 2, 1, 0, 3, 2, 1, 0], [1, 1, 1, 0, 0, 0, 1, 0, 0, 0]], ("add-k", None))
def test_scores_of_many_sums_are_sacrebleus_to_twelve_digits(sums, smoothing):
    method, value = smoothing
    metric = Bleu(References([["a"]]), smooth_method=method, smooth_value=value)
    theirs = BLEU(tokenize="none", smooth_method=method, smooth_value=value, force=True)
    expected = [theirs._compute_score_from_stats(list(row)).score for row in sums]
    assert metric.score(np.array(sums, np.int64)).tolist() == pytest.approx(expected, rel=1e-12, abs=1e-13)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from("012"), texts()), min_size=1, max_size=8),
    st.lists(st.lists(texts(), min_size=3, max_size=3), min_size=1, max_size=3),
)
def test_lists_in_any_order_have_the_statistics_of_their_texts(tmp_path_factory, rows, references):
    folder = tmp_path_factory.mktemp("bleu")
    rows = [(segment, text.strip(" \t")) for segment, text in rows]
    lines = [f"{segment} ||| {text} ||| x= {i} ||| 0\n" for i, (segment, text) in enumerate(rows)]
    (folder / "list").write_text("".join(lines), encoding="utf-8", newline="\n")
    lists = read_lists([folder / "list"])
    metric = Bleu(References(references))
    stats = metric.stats(lists.candidates)
    theirs = BLEU(tokenize="none", force=True)
    for i, raw in enumerate(lists.candidates):
        of_segment = [[document[int(raw.segment)]] for document in references]
        assert stats[i : i + 1].tolist() == theirs._extract_corpus_statistics([raw.text], of_segment)
    assert metric.stats(list(lists.candidates)).tolist() == stats.tolist()


def test_no_candidates_have_no_statistics():
    assert Bleu(References([["a"]])).stats([]).shape == (0, 10)


def test_signature_is_sacrebleus():
    signature = Bleu(
        References([["a"], ["b"]]), smooth_method="floor", lowercase=True, tokenize="13a"
    ).signature
    assert signature.startswith("BLEU|nrefs:2|case:lc|eff:no|tok:13a|smooth:floor[0.10]|version:")


def test_options_by_name():
    resources = Resources(References([["A b"]]))
    metric = read_metric("bleu(tokenize=char,smooth=add-k,smooth_value=2,lowercase=yes)", resources)
    theirs = BLEU(tokenize="char", smooth_method="add-k", smooth_value=2, lowercase=True, force=True)
    stats = metric.stats([Candidate("0", "a C", None, {}, None)])
    assert metric.score(stats)[0] == theirs.corpus_score(["a C"], [["A b"]]).score
    for spec, message in (
        ("bleu(tokenize=best)", "expected tokenize as one of"),
        ("bleu(smooth=all)", "expected smooth as one of none, exp, floor, add-k"),
        ("bleu(smooth_value=-1)", "expected smooth_value as a number of at least 0"),
        ("bleu(order=3)", "has no option 'order'"),
    ):
        with pytest.raises(RyptError, match=message):
            read_metric(spec, resources)


@pytest.mark.parametrize("tokenize", ["none", "13a", "intl", "char", "zh"])
def test_it_can_be_sent_to_another_process(tokenize):
    metric = Bleu(References([["a b c d"]]), tokenize=tokenize)
    there = pickle.loads(pickle.dumps(metric))
    candidates = one_best(["a b c d e"])
    assert there.stats(candidates).tolist() == metric.stats(candidates).tolist()
    assert there.signature == metric.signature


def test_a_segment_without_a_reference_is_named():
    with pytest.raises(RyptError, match="segment '1' has no reference: there are 1, for the segments from 0"):
        Bleu(References([["a"]])).stats(one_best(["a", "b"]))
