"""BLEU, chrF and TER number by number as sacrebleu has them."""

import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from mert.lists import read_lists
from rypt.metrics.bleu import Bleu
from rypt.metrics.chrf import ChrF
from rypt.metrics.metric import Resources, read_metric
from rypt.metrics.ter import Ter
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.lists import References

SPACES = ["  ", *" \t\u00a0\u2003\u3000\u2028\u0085\x1c\x1f\x0b\u1680\u205f\u202f"]
LOOKALIKES = list("\u200b\u2060\u0084\u180e\u3001\u200d\x08\x7f\u203f\ufeff")  # no spaces
WORDS = [
    *["the", "a", "cat", "sat,", "on", ".", "The", "ä", "日本", "猫。", "1,000", "don't", "(mat)", "&quot;"],
    *LOOKALIKES,
]
SPACED = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(SPACES)), max_size=9).map(
    lambda words: "".join(word + space for word, space in words)
)
TEXTS = SPACED | st.text(max_size=12)
SMOOTHINGS = st.sampled_from(
    [("exp", None), ("none", None), ("floor", None), ("floor", 0.0), ("add-k", None), ("add-k", 2.5)]
)
CHRF_OPTIONS = st.fixed_dictionaries(
    {
        "char_order": st.integers(1, 6),
        "word_order": st.integers(0, 2),
        "beta": st.integers(0, 3),
        "lowercase": st.booleans(),
        "whitespace": st.booleans(),
        "eps_smoothing": st.booleans(),
    }
)
TER_NAMES = ("normalized", "no_punct", "asian_support", "case_sensitive")
TER_OPTIONS = st.fixed_dictionaries({name: st.booleans() for name in TER_NAMES})


@st.composite
def documents(draw, texts=TEXTS):
    """Candidates with one to four references each."""
    count = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(texts, min_size=count + 1, max_size=count + 1), min_size=1, max_size=4))
    candidates, *references = map(list, zip(*rows, strict=True))
    return candidates, references


def as_candidates(texts):
    return [Candidate(str(i), text, None, {}, None) for i, text in enumerate(texts)]


def total(stats):
    return stats.sum(axis=0, keepdims=True)


@pytest.mark.slow
@settings(max_examples=150)
@given(
    documents(SPACED),
    st.sampled_from(["none", "none", "13a", "intl", "char", "zh"]),
    st.booleans(),
    SMOOTHINGS,
)
@example((["a"], [["b"], ["c"], ["d"], ["e"]]), "none", False, ("exp", None))  # tokens of one byte
@example(([""], [[""]]), "none", False, ("exp", None))
@example((["", "a b c d e"], [["", ""], ["x", "a b c d e"]]), "none", False, ("add-k", 2.5))
def test_bleu(document, tokenize, lowercase, smoothing):
    candidates, references = document
    options = {"tokenize": tokenize, "lowercase": lowercase}
    options |= {"smooth_method": smoothing[0], "smooth_value": smoothing[1]}
    metric, theirs = Bleu(References(references), **options), BLEU(**options, force=True)
    stats = metric.stats(as_candidates(candidates))
    assert stats.tolist() == theirs._extract_corpus_statistics(candidates, references)
    assert metric.score(total(stats))[0] == theirs.corpus_score(candidates, references).score


@st.composite
def summed(draw):
    """Sums of statistics: matches are at most totals, and fall with the order."""
    length, reference = draw(st.integers(0, 60)), draw(st.integers(0, 60))
    totals = [max(0, length - n) for n in range(4)]
    matches, most = [], totals[0]
    for each in totals:
        most = draw(st.integers(0, min(most, each)))
        matches.append(most)
    return [draw(st.sampled_from([1, 997])) * x for x in (length, reference, *matches, *totals)]


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(summed(), min_size=2, max_size=8), SMOOTHINGS)
@example([[4, 4, 0, 0, 0, 0, 4, 3, 2, 1], [0] * 10], ("exp", None))
def test_bleu_of_many_sums_to_twelve_digits(sums, smoothing):
    options = {"smooth_method": smoothing[0], "smooth_value": smoothing[1]}
    theirs = BLEU(tokenize="none", force=True, **options)
    expected = [theirs._compute_score_from_stats(list(row)).score for row in sums]
    found = Bleu(References([["a"]]), **options).score(np.array(sums, np.int64))
    assert found.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-13)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from("012"), SPACED), min_size=1, max_size=8),
    st.lists(st.lists(SPACED, min_size=3, max_size=3), min_size=1, max_size=3),
)
def test_lists_in_any_order_have_the_statistics_of_their_texts(tmp_path_factory, rows, references):
    path = tmp_path_factory.mktemp("bleu") / "list"
    lines = [f"{segment} ||| {text.strip(' ')} ||| x= {i} ||| 0\n" for i, (segment, text) in enumerate(rows)]
    path.write_text("".join(lines), encoding="utf-8", newline="\n")
    lists = read_lists([path])
    for name, theirs in (("bleu", BLEU(tokenize="none", force=True)), ("chrf++", CHRF(word_order=2))):
        metric = read_metric(name, Resources(References(references)))
        stats = metric.stats(lists.candidates)
        for row, raw in zip(stats.tolist(), lists.candidates, strict=True):
            of_segment = [[document[int(raw.segment)]] for document in references]
            assert [row] == theirs._extract_corpus_statistics([raw.text], of_segment)
        assert metric.stats(list(lists.candidates)).tolist() == stats.tolist()


@pytest.mark.slow
@settings(max_examples=100)
@given(documents(), CHRF_OPTIONS)
def test_chrf(document, options):
    texts, references = document
    metric, theirs = ChrF(References(references), **options), CHRF(**options)
    stats = metric.stats(as_candidates(texts))
    assert stats.tolist() == theirs._extract_corpus_statistics(texts, references)
    assert metric.score(total(stats)).tolist() == [theirs.corpus_score(texts, references).score]


@settings(max_examples=60)
@given(st.data(), CHRF_OPTIONS)
def test_chrf_of_many_sums(data, options):
    metric, theirs = ChrF(References([["x"]]), **options), CHRF(**options)
    counts = st.integers(0, 4) | st.integers(0, 10**7)
    triples = st.tuples(counts, counts, counts).map(lambda t: [t[0], t[1], min(t)])
    order = options["char_order"] + options["word_order"]
    row = st.lists(triples, min_size=order, max_size=order).map(lambda some: [n for t in some for n in t])
    rows = data.draw(st.lists(row, min_size=1, max_size=8))
    assert metric.score(np.array(rows)).tolist() == [theirs._compute_f_score(row) for row in rows]


@settings(max_examples=80)
@given(documents(), TER_OPTIONS)
@example((["d e f a b c"], [["a b c d e f"], ["x y"]]), {})  # a shift is one edit
def test_ter(document, options):
    texts, references = document
    metric, theirs = Ter(References(references), **options), TER(**options)
    stats = metric.stats(as_candidates(texts))
    expected = theirs._extract_corpus_statistics(texts, references)
    assert [[edits, lengths / len(references)] for edits, lengths in stats.tolist()] == expected
    score = theirs.corpus_score(texts, references).score
    assert metric.score(total(stats)).tolist() == [pytest.approx(score, rel=1e-14)]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 3) | st.integers(0, 10**6)), min_size=1))
def test_ter_of_many_sums(rows):
    for count in (1, 2, 4):
        metric = Ter(References([["x"]] * count))
        expected = [TER()._compute_score_from_stats([edits, length / count]).score for edits, length in rows]
        assert metric.score(np.array(rows)).tolist() == expected


def test_named_as_sacrebleu_names_them():
    references = [["a"], ["b"]]
    for spec, signature in (
        ("chrf(char_order=4,word_order=1,beta=3,lowercase=true,whitespace=yes,eps_smoothing=true)",
         f"chrF3+|{_signed(CHRF(4, 1, 3, True, True, True, references=references))}"),
        ("chrf++", f"chrF2++|{_signed(CHRF(word_order=2, references=references))}"),
        ("ter(normalized=true,no_punct=yes,asian_support=true,case_sensitive=true)",
         f"TER|{_signed(TER(True, True, True, True, references=references))}"),
        ("ter(case_sensitive=no)", f"TER|{_signed(TER(references=references))}"),
        ("bleu(smooth=floor,lowercase=yes,tokenize=13a)",
         "BLEU|nrefs:2|case:lc|eff:no|tok:13a|smooth:floor[0.10]|version:"),
    ):  # fmt: skip
        metric = read_metric(spec, Resources(References(references)))
        assert metric.signature.startswith(signature)
        assert metric.maximize == (not spec.startswith("ter"))


def _signed(metric):
    return str(metric.get_signature())


def test_mistakes_are_named():
    resources = Resources(References([["a"]]))
    for spec, message in (
        ("bleu(tokenize=best)", "expected tokenize as one of"),
        ("bleu(smooth=all)", "expected smooth as one of none, exp, floor, add-k"),
        ("bleu(order=3)", "has no option 'order'"),
        ("chrf(char_order=0)", "char_order and word_order not both 0"),
    ):
        with pytest.raises(RyptError, match=message):
            read_metric(spec, resources)
    for name in ("bleu", "chrf", "ter"):
        metric = read_metric(name, resources)
        with pytest.raises(
            RyptError, match="segment '1' has no reference: there are 1, for the segments from 0"
        ):
            metric.stats(as_candidates(["a", "b"]))
        nothing = metric.stats([])
        assert len(nothing) == len(metric.score(nothing)) == 0


@pytest.mark.parametrize("tokenize", ["none", "13a"])
def test_bleu_can_be_sent_to_another_process(tokenize):
    metric = Bleu(References([["a b c d"]]), tokenize=tokenize)
    there = pickle.loads(pickle.dumps(metric))
    candidates = as_candidates(["a b c d e"])
    assert there.stats(candidates).tolist() == metric.stats(candidates).tolist()
    assert there.signature == metric.signature
