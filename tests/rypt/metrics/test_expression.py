"""Metrics as people write them: one language for tuning and for picks."""

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
        ("bleu", [Term(1.0, "bleu", {})]),
        (" bleu ( ) ", [Term(1.0, "bleu", {})]),
        (
            "bleu(tokenize=13a, smooth = floor ,smooth_value=0.1)",
            [Term(1.0, "bleu", {"tokenize": "13a", "smooth": "floor", "smooth_value": "0.1"})],
        ),
        ("0.7*bleu+0.3*rypt", [Term(0.7, "bleu", {}), Term(0.3, "rypt", {})]),
        (
            "-.5 * ter + 5.e-1*chrf++ - ter",
            [Term(-0.5, "ter", {}), Term(0.5, "chrf++", {}), Term(-1.0, "ter", {})],
        ),
        (
            "0.5*mine.mod:M(x=1)+1E1*a.b:C.make",
            [Term(0.5, "mine.mod:M", {"x": "1"}), Term(10.0, "a.b:C.make", {})],
        ),
        ("chrf+++chrf+bleu", [Term(1.0, "chrf++", {}), Term(1.0, "chrf", {}), Term(1.0, "bleu", {})]),
        ("rypt(db=a-b/c+d.db,x=)", [Term(1.0, "rypt", {"db": "a-b/c+d.db", "x": ""})]),
        (
            "rypt:table + 0*rypt:no",
            [Term(1.0, "rypt", {"model": "table"}), Term(0.0, "rypt", {"unknown": "no"})],
        ),
        ("rypt:tree(ties=no)", [Term(1.0, "rypt", {"model": "tree", "ties": "no"})]),
        ("model+2*system", [Term(1.0, "model"), Term(2.0, "system")]),
    ],
)
def test_specs(spec, terms):
    assert parse_spec(spec) == terms


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "expected a metric such as bleu or 0.5*bleu at character 1, found the end"),
        ("bleu+", "expected a metric such as bleu or 0.5*bleu at character 6, found the end"),
        ("0.5bleu", "expected a metric such as bleu or 0.5*bleu at character 1, found '0.5bleu'"),
        ("0.5*chrf++0.5*bleu", "expected +, - or the end at character 11, found '0.5*bleu'"),
        ("bleu rypt", "expected +, - or the end at character 6, found 'rypt'"),
        ("bleu)", "expected +, - or the end at character 5, found ')'"),
        ("bleu(13a)", "expected option=value, then a comma or ), at character 6, found '13a)'"),
        ("bleu(a=1", "expected option=value, then a comma or ), at character 6, found 'a=1'"),
        ("bleu(a=1,)", "expected option=value, then a comma or ), at character 10, found ')'"),
        ("bleu(a=1,a=2)", "the option a is given twice"),
        ("1e999*bleu", "expected a finite weight, found inf"),
        ("rypt:coin", "expected rypt:percolation, rypt:table, rypt:tree, rypt:severity, rypt:half, "),
        ("rypt:table(model=tree)", "the option model is given twice"),
    ],
)
def test_malformed_specs_say_where(spec, message):
    with pytest.raises(RyptError, match=re.escape(f"the metric {spec!r}: {message}")):
        parse_spec(spec)


@given(st.text(alphabet="bleu chrf+-*().,=:e015", max_size=12))
def test_any_spec_is_refused_or_read_and_can_be_written_again(spec):
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
        ("3*bleu", "bleu"),
        ("rypt()", "rypt"),
        ("rypt(unknown=ignore)", "rypt:ignore"),
        ("rypt(ties=no)", "rypt(ties=no)"),
        ("rypt(model=half)", "rypt(model=half)"),
        ("chrf++(b=2, a=1)", "chrf++(a=1,b=2)"),
    ],
)
def test_labels_are_the_shortest_form(text, label):
    (term,) = parse_spec(text)
    assert term.label == label


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("rypt,bleu", ["rypt", "bleu"]),
        ("a(x=1,y=2),b", ["a(x=1,y=2)", "b"]),
        ("", [""]),
        ("a,,b)", ["a", "", "b)"]),
        ("a),b", ["a)", "b"]),
        ("a(,b", ["a(,b"]),
    ],
)
def test_lists_are_split_outside_parentheses(text, specs):
    assert split_specs(text) == specs


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


@pytest.mark.parametrize("name", ["longest", "longest_metric:Longest", "longest(least=1)"])
def test_a_third_partys_metric_works_in_both_commands_also_in_a_sum(capsys, demo_campaign, longest, name):
    tuned = {}
    for metric in (name, f"0.5*{name}+0.5*bleu", f"0.9*{name}+0.1*rypt:ignore"):
        code, out, err = run(
            capsys, "tune", demo_campaign, "--metric", metric, "--restarts", "1", "--json", "-q"
        )
        assert code == 0, err
        tuned[metric] = json.loads(out)
        assert "LONGEST|v1" in tuned[metric]["signature"]
    assert tuned[name]["score"] > tuned[name]["start_score"]
    assert "unknown:ignore" in tuned[f"0.9*{name}+0.1*rypt:ignore"]["signature"]

    code, out, err = run(capsys, "compare", demo_campaign, "--metrics", f"{name},bleu", "--show")
    assert code == 0, err
    assert out.startswith("segment")
    for block in out.split("\n\n")[:-1]:
        _, _, _, first, second = (
            line.removeprefix("  ").split("  ", 1)[-1].split() for line in block.splitlines()
        )
        assert len(first) >= len(second)
    same = run(capsys, "compare", demo_campaign, "--metrics", f"bleu+1e-9*{name},bleu", "--show")[1]
    assert same.startswith("0 segments with different picks")
    mixed = run(capsys, "compare", demo_campaign, "--metrics", f"bleu+9*{name},bleu", "--show")[1]
    assert mixed.startswith("segment")


def test_the_same_words_mean_the_same_in_both_commands(capsys, demo_campaign):
    for words, expected in (
        ("rypt:no", "unknown:no"),
        ("rypt(unknown=no)", "unknown:no"),
        ("rypt:table", "model:table"),
    ):
        code, out, err = run(
            capsys, "tune", demo_campaign, "--metric", words, "--restarts", "0", "--json", "-q"
        )
        assert code == 0, err
        assert expected in json.loads(out)["signature"]
    code, out, err = run(capsys, "compare", demo_campaign, "--metrics", "rypt:no,rypt(unknown=no)", "--show")
    assert (code, err) == (0, "")
    assert out.startswith("0 segments with different picks")
    for words in ("model", "bleu+0.1*model", "rypt+2*system"):
        code, out, err = run(capsys, "tune", demo_campaign, "--metric", words, "--json", "-q")
        assert (code, out, len(err.splitlines())) == (1, "", 1)
        assert "so nothing can be tuned to it; it is a term of 'rypt compare --metrics'" in err
