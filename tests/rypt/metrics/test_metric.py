"""How metrics are found and summed, mistakes of their authors, and the example of the documentation."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rypt.metrics.chrf import ChrF
from rypt.metrics.metric import (
    Resources,
    WeightedSum,
    check_stats,
    counted,
    metric_names,
    rated,
    read_metric,
    stats_by_text,
)
from rypt.metrics.ter import Ter
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.references import References

DOC = Path(__file__).resolve().parents[3] / "docs" / "metrics.md"
REFERENCES = References([["the cat sat", "a b c d"], ["the cat sat down", "A b"]])
WORDS = st.lists(st.sampled_from(["the", "cat", "mat", "a", "b"]), max_size=6).map(" ".join)


def raw(segment, text):
    return Candidate(segment, text, None, {}, None)


@pytest.fixture
def wer(tmp_path, monkeypatch):
    """The documented metric as a module that can be imported."""
    (source,) = re.findall(r"```python\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "wer.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wer", raising=False)
    yield tmp_path
    sys.modules.pop("wer", None)


def test_the_documented_metric(wer):
    metric = read_metric("wer:WordErrorRate", Resources(REFERENCES))
    candidates = [raw("0", "the cat sat on"), raw("1", "a c b"), raw("0", ""), raw("0", "cat the sat")]
    assert metric.stats(candidates).tolist() == [[1, 3], [2, 2], [3, 3], [2, 3]]
    assert metric.score(np.array([[3, 6], [0, 5], [2, 0]])).tolist() == [50.0, 0.0, 200.0]
    assert metric.signature == "WER|nrefs:2|case:mixed"
    total = read_metric("0.5*chrf - 0.5*wer:WordErrorRate(lowercase=yes)", Resources(REFERENCES))
    rows = total.stats([raw("0", "The cat")])
    assert total.score(rows)[0] == pytest.approx(
        0.5 * ChrF(REFERENCES).score(rows[:, :-2])[0] - 0.5 * 100 / 3, rel=1e-12
    )
    with pytest.raises(RyptError, match="the metric wer has no option 'case', expected one of lowercase"):
        read_metric("wer:WordErrorRate(case=no)", Resources(REFERENCES))
    with pytest.raises(RyptError, match="the metric wer needs --references"):
        read_metric("wer:WordErrorRate", Resources())


def entry_point(folder, package, line):
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[rypt.metrics]\n{line}\n")


def test_other_packages_add_metrics(wer, monkeypatch):
    entry_point(wer, "wer", "otherwer = wer:WordErrorRate")
    monkeypatch.syspath_prepend(wer)
    assert {"bleu", "chrf", "chrf++", "rypt", "ter", "otherwer"} <= set(metric_names())
    assert read_metric("otherwer", Resources(REFERENCES)).signature == "WER|nrefs:2|case:mixed"
    entry_point(wer, "third", "otherwer = wer:Other")
    with pytest.raises(RyptError, match="more than one package offers the metric otherwer"):
        read_metric("otherwer", Resources(REFERENCES))
    entry_point(wer, "fourth", "ter = wer:WordErrorRate")
    assert isinstance(read_metric("ter", Resources(REFERENCES)), Ter)


def documented_options():
    """The options in the table of the documentation, by metric."""
    table = DOC.read_text(encoding="utf-8").partition("## Options")[2].partition("## ")[0]
    options, metrics = {}, []
    for line in re.findall(r"^\| ?`.*|^\| \| `.*", table, re.MULTILINE):
        _, first, second, *_ = line.split("|")
        metrics = re.findall(r"`(.*?)`", first) or metrics
        for metric in metrics:
            options.setdefault(metric, set()).update(re.findall(r"`(\w+)`", second))
    return options


@pytest.mark.parametrize("metric", ["bleu", "chrf", "chrf++", "rypt", "ter"])
def test_the_documented_options_are_those_that_exist(metric, demo_campaign):
    with pytest.raises(RyptError, match="has no option 'nosuch'") as error:
        read_metric(f"{metric}(nosuch=1)", Resources(REFERENCES, demo_campaign))
    assert documented_options()[metric] == set(str(error.value).partition("one of ")[2].split(", "))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("0*bleu", "the metric '0*bleu': expected weights other than 0, found 0*bleu"),
        ("bleu+model", "the metric 'bleu+model': model scores no candidate by itself"),
        (
            "blue",
            f"unknown metric 'blue', expected one of {', '.join(metric_names())}, or package.module:name",
        ),
        ("nosuch.mod:X", "the metric nosuch.mod:X cannot be imported: ModuleNotFoundError: No module named"),
        ("os:path", "the metric os:path: expected a class or a function"),
        ("broken_metric:X", "cannot be imported: ValueError: one two"),
        (
            "rypt.options:Options",
            "the metric rypt.options:Options lacks maximize, scale, signature, stats, score",
        ),
        ("chrf(beta=two)", "the metric chrf: expected beta as a whole number of at least 0, found 'two'"),
        ("chrf+0.5*ter", "ter is better when lower: write -0.5*ter"),
        ("-ter-2*chrf", "chrf is better when higher: write 2*chrf"),
    ],
)
def test_metrics_that_cannot_be_made(spec, message, tmp_path, monkeypatch):
    (tmp_path / "broken_metric.py").write_text("raise ValueError('one\\ntwo')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RyptError, match=re.escape(message)):
        read_metric(spec, Resources(REFERENCES))


@given(st.lists(st.tuples(st.sampled_from("012"), WORDS)))
def test_each_text_of_a_segment_is_computed_once(pairs):
    seen = []

    def rows(segment, texts):
        seen.extend((segment, text) for text in texts)
        return [(int(segment), len(text)) for text in texts]

    stats = stats_by_text([raw(*pair) for pair in pairs], rows, columns=2)
    assert stats.tolist() == [[int(segment), len(text)] for segment, text in pairs]
    assert (stats.shape, stats.dtype) == ((len(pairs), 2), np.int64)
    assert sorted(seen) == sorted(set(pairs))


class Share:
    """Words and words that are "a"; the score is a share, from 0 to 1."""

    maximize, scale, signature = True, 1.0, "SHARE"

    def stats(self, candidates):
        rows = [(len(raw.text.split()), raw.text.split().count("a")) for raw in candidates]
        return np.array(rows, np.int64).reshape(len(rows), 2)

    def score(self, sums):
        return sums[:, 1] / np.maximum(sums[:, 0], 1)


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from("01"), WORDS), min_size=1, max_size=6),
    st.floats(0.01, 2),
    st.floats(0.01, 2),
)
def test_a_sum_on_one_scale(pairs, first, second):
    candidates = [raw(segment, text) for segment, text in pairs]
    terms = [(first, ChrF(REFERENCES)), (second, Share()), (-0.5, Ter(REFERENCES))]
    total = WeightedSum(terms, ["chrf", "share", "ter"])
    parts = [metric.score(np.cumsum(metric.stats(candidates), axis=0)) for _, metric in terms]
    expected = first * parts[0] + second * 100 * parts[1] - 0.5 * parts[2]
    assert total.score(np.cumsum(total.stats(candidates), axis=0)) == pytest.approx(expected, rel=1e-12)
    assert total.score(total.stats([])).shape == (0,)


def test_the_signature_of_a_sum_names_weights_and_metrics():
    chrf, ter = ChrF(REFERENCES).signature, Ter(REFERENCES).signature
    assert read_metric("0.7*chrf-0.1*ter", Resources(REFERENCES)).signature == f"0.7*[{chrf}]-0.1*[{ter}]"
    assert read_metric("1*ter", Resources(REFERENCES)).signature == ter


class Careless:
    """A metric whose author made a mistake."""

    maximize, scale, signature = True, 1.0, "careless|v1"

    def __init__(self, stats=None, score=None):
        self.stats, self.score = stats, score


@pytest.mark.parametrize(
    "stats",
    [
        lambda candidates: 1 / 0,
        lambda candidates: np.full((len(candidates), 2), 0.5),
        lambda candidates: np.zeros((1, 2), np.int64),
        lambda candidates: np.array([0 for _ in candidates]),
    ],
)
def test_wrong_statistics_are_the_metrics_mistake(stats):
    with pytest.raises(RyptError, match="careless"):
        counted(Careless(stats), [raw("0", "a"), raw("0", "b")])
    assert check_stats(np.array([[1]], np.int32), 1).dtype == np.int64


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda sums: np.full(len(sums), np.nan), "the metric careless gave a score that is not a number"),
        (lambda sums: 1.0, "expected 3 scores, found an array"),
        (lambda sums: sums[:, 9], "the metric careless failed: IndexError"),
    ],
)
def test_wrong_scores_are_the_metrics_mistake(score, message):
    with pytest.raises(RyptError, match=message):
        rated(Careless(score=score), np.ones((3, 2), np.int64))
