"""Metric expressions: one language for tuning and for picks."""

import json
import re
import sys

import pytest
from commands import run
from hypothesis import given
from hypothesis import strategies as st

from rypt.metrics.expression import Term, parse_spec, split_specs
from rypt.text import RyptError


@pytest.mark.parametrize(
    ("spec", "terms"),
    [
        (" bleu ( ) ", [Term(1.0, "bleu", {})]),
        ("0.7*bleu+0.3*rypt", [Term(0.7, "bleu", {}), Term(0.3, "rypt", {})]),
        ("-.5 * ter + 5.e-1*chrf++ - ter", [Term(-0.5, "ter"), Term(0.5, "chrf++"), Term(-1.0, "ter")]),
        ("0.5*mine.mod:M(x=1)+1E1*a.b:C", [Term(0.5, "mine.mod:M", {"x": "1"}), Term(10.0, "a.b:C")]),
        ("chrf+++chrf+bleu", [Term(1.0, "chrf++"), Term(1.0, "chrf"), Term(1.0, "bleu")]),
        ("rypt(db=a-b/c+d.db, x = )", [Term(1.0, "rypt", {"db": "a-b/c+d.db", "x": ""})]),
        (
            "rypt:table + 0*rypt:no",
            [Term(1.0, "rypt", {"model": "table"}), Term(0.0, "rypt", {"unknown": "no"})],
        ),
        ("scores( a b.jsonl ,scale=2)", [Term(1.0, "scores", {"file": "a b.jsonl", "scale": "2"})]),
        ("model+2*system(chrf)", [Term(1.0, "model"), Term(2.0, "system", {"of": "chrf"})]),
    ],
)
def test_expressions(spec, terms):
    assert parse_spec(spec) == terms


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "expected a metric such as bleu or 0.5*bleu at character 1, found the end"),
        ("0.5*chrf++0.5*bleu", "expected +, - or the end at character 11, found '0.5*bleu'"),
        ("bleu(13a)", "expected option=value between commas, found '13a'"),
        ("bleu(a=1", "expected +, - or the end at character 5, found '(a=1'"),
        ("bleu(a=1,)", "expected option=value between commas, found ''"),
        ("1e999*bleu", "expected a finite weight, found inf"),
        ("rypt:coin", "expected rypt:percolation, rypt:table, "),
        ("rypt:table(model=table)", "the option model is given twice"),
    ],
)
def test_malformed_expressions_say_where(spec, message):
    with pytest.raises(RyptError, match=re.escape(f"the metric {spec!r}: {message}")):
        parse_spec(spec)


@given(st.text(alphabet="bleu chrf+-*().,=:e015", max_size=12))
def test_what_is_read_can_be_written_again(spec):
    try:
        terms = parse_spec(spec)
    except RyptError:
        return
    again = "".join(
        f"{t.weight:+.17g}*{t.name}({','.join(f'{k}={v}' for k, v in t.options.items())})" for t in terms
    )
    assert parse_spec(again) == terms


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("3*bleu()", "bleu"),
        ("rypt(unknown=ignore)", "rypt:ignore"),
        ("rypt(model=half)", "rypt(model=half)"),
        ("chrf++(b=2, a=1)", "chrf++(a=1,b=2)"),
        ("2*scores( a b.jsonl )", "scores(a b.jsonl)"),
        ("column(name=y)", "column(y)"),
    ],
)
def test_labels_are_the_shortest_form(text, label):
    (term,) = parse_spec(text)
    assert term.label == label


def test_lists_are_split_outside_parentheses():
    assert split_specs("a(x=1,y=2),b,") == ["a(x=1,y=2)", "b", ""]


METRIC = """
import numpy as np

class Longest:
    maximize, scale, signature = True, 10.0, "LONGEST|v1"

    def __init__(self, resources, options):
        self.least = int(options.get("least", 0))

    def stats(self, candidates):
        rows = [(max(self.least, len(c.text.split())), 1) for c in candidates]
        return np.array(rows, np.int64).reshape(-1, 2)

    def score(self, sums):
        return 10 * sums[:, 0] / np.maximum(1, sums[:, 0] + 10 * sums[:, 1])
"""


@pytest.fixture
def longest(tmp_path, monkeypatch):
    """A metric of a third party, by the name of its class and by an entry point."""
    (tmp_path / "longest_metric.py").write_text(METRIC, encoding="utf-8")
    info = tmp_path / "longest-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: longest\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rypt.metrics]\nlongest = longest_metric:Longest\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "longest_metric", raising=False)


@pytest.mark.parametrize("name", ["longest", "longest_metric:Longest(least=1)"])
def test_a_third_partys_metric_tunes_and_picks_also_in_a_sum(capsys, demo_campaign, longest, name):
    for metric in (name, f"0.9*{name}+0.1*rypt:ignore"):
        options = ["--metric", metric, "--restarts", "1", "--json", "-q"]
        code, out, err = run(capsys, "tune", demo_campaign, *options)
        assert code == 0, err
        assert "LONGEST|v1" in json.loads(out)["signature"]
    assert "unknown:ignore" in json.loads(out)["signature"]
    code, out, err = run(capsys, "compare", "picks", demo_campaign, "--metrics", f"{name},bleu")
    assert code == 0, err
    for block in out.split("\n\n")[:-1]:
        first, second = (line.split()[1:] for line in block.splitlines()[3:])
        assert len(first) >= len(second)
    same = run(capsys, "compare", "picks", demo_campaign, "--metrics", f"bleu+1e-9*{name},bleu")[1]
    assert same.startswith("0 segments with different picks")


def test_an_expression_means_the_same_in_both_commands(capsys, demo_campaign):
    code, out, err = run(
        capsys, "tune", demo_campaign, "--metric", "rypt:no", "--restarts", "0", "--json", "-q"
    )
    assert code == 0, err
    assert "unknown:no" in json.loads(out)["signature"]
    code, out, err = run(capsys, "compare", "picks", demo_campaign, "--metrics", "rypt:no,rypt(unknown=no)")
    assert (code, err) == (0, "")
    assert out.startswith("0 segments with different picks")
    code, out, err = run(capsys, "tune", demo_campaign, "--metric", "bleu+0.1*model", "--json", "-q")
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert "nothing can be tuned to it" in err
