"""Options, how metrics are found, and the example of the documentation."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mert.metrics.chrf import ChrF
from mert.metrics.ter import Ter
from rypt.metrics.metric import (
    Resources,
    check_stats,
    counted,
    metric_names,
    rated,
    read_metric,
    stats_by_text,
)
from rypt.metrics.mix import Mix
from rypt.metrics.references import References
from rypt.options import Options
from rypt.records import RawCandidate
from rypt.text import RyptError

DOC = Path(__file__).resolve().parents[3] / "docs" / "metrics.md"
REFERENCES = References([["the cat sat", "a b c d"], ["the cat sat down", "A b"]])


def raw(segment, text):
    return RawCandidate(segment, text, None, {}, None)


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
    stats = metric.stats(
        [raw("0", "the cat sat on"), raw("1", "a c b"), raw("0", ""), raw("0", "cat the sat")]
    )
    assert stats.tolist() == [[1, 3], [2, 2], [3, 3], [2, 3]]
    assert metric.score(np.array([[3, 6], [0, 5], [2, 0]])).tolist() == [50.0, 0.0, 200.0]
    assert metric.signature == "WER|nrefs:2|case:mixed"
    lowercase = read_metric("wer:WordErrorRate(lowercase=yes)", Resources(REFERENCES))
    assert lowercase.stats([raw("1", "a B")]).tolist() == [[0, 2]]
    mix = read_metric("0.5*chrf - 0.5*wer:WordErrorRate", Resources(REFERENCES))
    rows = mix.stats([raw("0", "the cat")])
    assert mix.score(rows)[0] == pytest.approx(
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
    entry_point(wer, "other", "ter = wer:WordErrorRate")
    with pytest.raises(
        RyptError, match=r"more than one package offers the metric ter: write .*wer:WordErrorRate"
    ):
        read_metric("ter", Resources(REFERENCES))


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


def test_names_with_plus_signs():
    assert read_metric("chrf++", Resources(REFERENCES)).signature.startswith(
        "chrF2++|nrefs:2|case:mixed|eff:yes|nc:6|"
    )
    assert isinstance(read_metric("1*ter", Resources(REFERENCES)), Ter)
    assert isinstance(read_metric("0.5*chrf+++0.5*chrf", Resources(REFERENCES)), Mix)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("0*bleu", "the metric '0*bleu': expected weights other than 0, found 0*bleu"),
        (
            "bleu+model",
            "the metric 'bleu+model': model scores no candidate by itself, so nothing can be tuned to it",
        ),
        (
            "system",
            "the metric 'system': system scores no candidate by itself, so nothing can be tuned to it",
        ),
        (
            "blue",
            f"unknown metric 'blue', expected one of {', '.join(metric_names())}, or package.module:name",
        ),
        (
            "nosuch.mod:X",
            "the metric nosuch.mod:X cannot be imported: ModuleNotFoundError: No module named 'nosuch'",
        ),
        (
            "os:nothing",
            "the metric os:nothing cannot be imported: AttributeError: module 'os' has no attribute",
        ),
        ("os:path", "the metric os:path: expected something to call with resources and options"),
        (
            "rypt.metrics.metric:read_metric.x",
            "cannot be imported: AttributeError: 'function' object has no attribute 'x'",
        ),
        (
            "rypt.metrics.metric:metric_names",
            "expected something to call with resources and options: too many positional",
        ),
        (
            "rypt.options:Options",
            "the metric rypt.options:Options lacks maximize, scale, signature, stats, score, which",
        ),
        ("chrf(beta=two)", "the metric chrf: expected beta as a whole number of at least 0, found 'two'"),
        ("ter(normalized=1)", "the metric ter: expected normalized as true or false, found '1'"),
    ],
)
def test_metrics_that_cannot_be_made(spec, message):
    with pytest.raises(RyptError, match=re.escape(message)):
        read_metric(spec, Resources(REFERENCES))


def test_a_module_that_fails_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "broken_metric.py").write_text("raise ValueError('one\\ntwo')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RyptError, match=r"cannot be imported: ValueError: one two$"):
        read_metric("broken_metric:X", Resources())


@pytest.mark.parametrize("name", ["bleu", "chrf", "chrf++", "ter"])
def test_references_are_asked_for(name):
    with pytest.raises(RyptError, match=re.escape(f"the metric {name} needs --references")):
        read_metric(name, Resources())


def test_options_are_read_strictly():
    given = {"a": "x", "b": "NO", "c": "7", "d": "-0.5"}
    options = Options("m", given)
    assert options.choice("a", "y", ("x", "y")) == "x"
    assert options.choice("e", None, ("x", "y")) is None
    assert options.flag("b", True) is False
    assert options.flag("f", True) is True
    assert options.whole("c", 1, least=7) == 7
    assert options.whole("g", 1) == 1
    assert options.number("d", None) == -0.5
    assert options.number("h", None) is None
    assert options.text("i", "z") == "z"
    options.done()
    for refused, message in [
        (lambda: options.choice("a", "y", ("y", "z")), "the metric m: expected a as one of y, z, found 'x'"),
        (lambda: options.whole("c", 1, least=8), "expected c as a whole number of at least 8, found '7'"),
        (lambda: options.whole("d", 1), "expected d as a whole number of at least 0, found '-0.5'"),
        (lambda: options.number("d", 1.0, least=0), "expected d as a number of at least 0, found '-0.5'"),
        (lambda: options.number("a", 1.0), "expected a as a number, found 'x'"),
        (lambda: Options("m", {"a": "nan"}).number("a", 1.0), "expected a as a number, found 'nan'"),
        (Options("m", given).done, "the metric m has no option 'a', it has none"),
    ]:
        with pytest.raises(RyptError, match=re.escape(message)):
            refused()


TEXTS = st.sampled_from(["", "a", "b b", "c c c"])


@given(st.lists(st.tuples(st.sampled_from("012"), TEXTS)))
def test_each_text_of_a_segment_is_computed_once(pairs):
    seen = []

    def rows(segment, texts):
        seen.extend((segment, text) for text in texts)
        return [(int(segment), len(text)) for text in texts]

    stats = stats_by_text([raw(*pair) for pair in pairs], rows, columns=2)
    assert stats.tolist() == [[int(segment), len(text)] for segment, text in pairs]
    assert stats.shape == (len(pairs), 2)
    assert stats.dtype == np.int64
    assert sorted(seen) == sorted(set(pairs))


def test_stats_are_whole_numbers_in_rows():
    with pytest.raises(
        RyptError, match=r"expected whole numbers in \(1, columns\), found float64 in \(1, 1\)"
    ):
        stats_by_text([raw("0", "a")], lambda segment, texts: [[0.5]], columns=1)
    with pytest.raises(RyptError, match=r"the stats of m: .* found int64 in \(2,\)"):
        check_stats(np.array([1, 2]), 2, "m")
    assert check_stats(np.array([[1]], np.int32), 1).dtype == np.int64


class Careless:
    """A metric whose author made a mistake."""

    maximize, scale, signature = True, 1.0, "careless|v1"

    def __init__(self, stats=None, score=None):
        self.made, self.scored = stats, score

    def stats(self, candidates):
        return self.made(candidates)

    def score(self, sums):
        return self.scored(sums)


@pytest.mark.parametrize(
    ("stats", "message"),
    [
        (lambda candidates: 1 / 0, "the metric careless failed: ZeroDivisionError"),
        (lambda candidates: np.full((len(candidates), 2), 0.5), "careless"),
        (lambda candidates: np.zeros((1, 2), np.int64), "careless"),
    ],
)
def test_statistics_that_are_none_are_the_metric_s_mistake(stats, message):
    with pytest.raises(RyptError, match=message):
        counted(Careless(stats), [raw("0", "a"), raw("0", "b")])


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda sums: np.full(len(sums), np.nan), "the metric careless gave a score that is not a number"),
        (lambda sums: 1.0, "expected 3 scores, found an array"),
        (lambda sums: sums[:, 9], "the metric careless failed: IndexError"),
    ],
)
def test_scores_that_are_none_are_the_metric_s_mistake(score, message):
    with pytest.raises(RyptError, match=message):
        rated(Careless(score=score), np.ones((3, 2), np.int64))
