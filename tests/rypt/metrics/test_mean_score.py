"""Scores of candidates as a metric: from files, columns, programs and functions."""

import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.metrics.expression import parse_spec
from rypt.metrics.mean_score import MeanScore
from rypt.metrics.metric import Resources, make_metric, rated, read_metric, single_scores
from rypt.metrics.references import References
from rypt.records import RawCandidate
from rypt.text import RyptError

CANDIDATES = [
    RawCandidate("0", "a house", None, {"lm": -2.0}, -1.0, {"comet": 0.5}),
    RawCandidate("0", "the house", None, {"lm": -1.0}, -2.0, {"comet": 0.75}),
    RawCandidate("1", "a cat", None, {"lm": -3.0}, -3.0, {"comet": 0.25}),
]
RESOURCES = Resources(
    References([["the house", "the cat"]]),
    sources=lambda: {"0": "das Haus", "1": "die Katze"},
    lists=lambda: ((raw.segment, raw.text) for raw in CANDIDATES),
)


def score_of(metric, candidates):
    return float(rated(metric, metric.stats(candidates).sum(axis=0, keepdims=True))[0])


@pytest.fixture
def score_file(tmp_path):
    path = tmp_path / "comet.txt"
    path.write_text("0.5\n0.75\n0.25\n")
    return path


def test_a_file_of_scores_is_a_mean(score_file):
    metric = read_metric(f"scores({score_file})", RESOURCES)
    assert score_of(metric, CANDIDATES[1:]) == 0.5
    assert single_scores(metric, CANDIDATES)[0].tolist() == [0.5, 0.75, 0.25]
    assert re.fullmatch(rf"scores\({re.escape(str(score_file))}\)\|sha:[0-9a-f]{{8}}", metric.signature)


def test_lower_is_better_on_a_scale(score_file):
    metric = read_metric(f"scores({score_file}, better=lower, scale=25)", RESOURCES)
    assert not metric.maximize
    assert single_scores(metric, CANDIDATES)[0].tolist() == [1 - 0.5 / 25, 1 - 0.75 / 25, 1 - 0.25 / 25]
    assert metric.signature.endswith("|better:lower|scale:25")
    mixed = read_metric(f"chrf - 0.5*scores({score_file},better=lower,scale=25)", RESOURCES)
    chrf = score_of(read_metric("chrf", RESOURCES), CANDIDATES[:1])
    assert score_of(mixed, CANDIDATES[:1]) == pytest.approx(chrf - 0.5 * 100 * 0.5 / 25)
    with pytest.raises(RyptError, match=re.escape("scores is better when lower: write -1*scores")):
        read_metric(f"chrf + scores({score_file},better=lower)", RESOURCES)


def test_a_candidate_without_a_score(score_file):
    metric = read_metric(f"scores({score_file})", RESOURCES)
    other = RawCandidate("1", "no cat", None, {}, None)
    message = f"{score_file}: 1 of 2 candidates have no score, the first: segment 1, 'no cat'"
    with pytest.raises(RyptError, match=re.escape(message)):
        metric.stats([CANDIDATES[0], other])


def test_columns(score_file):
    assert score_of(read_metric("column(comet)", RESOURCES), CANDIDATES) == 0.5
    assert score_of(read_metric("column(lm)", RESOURCES), CANDIDATES) == -2.0
    assert score_of(read_metric("column(score)", RESOURCES), CANDIDATES) == -2.0
    message = "the metric column(bleurt): segment 0, 'a house' has no column bleurt, it has comet, lm, score"
    with pytest.raises(RyptError, match=re.escape(message)):
        read_metric("column(bleurt)", RESOURCES).stats(CANDIDATES)
    nan = RawCandidate("0", "x", None, {}, None, {"comet": float("nan")})
    with pytest.raises(RyptError, match="segment 0, 'x': expected a finite score of at most 1e"):
        read_metric("column(comet)", RESOURCES).stats([nan])


def test_names_of_terms():
    labels = [
        parse_spec(spec)[0].label
        for spec in ("2*scores( a b.jsonl )", "scores(file=x,scale=2)", "column(name=y)")
    ]
    assert labels == ["scores(a b.jsonl)", "scores(x,scale=2)", "column(y)"]
    with pytest.raises(RyptError, match="expected option=value"):
        parse_spec("bleu(13a)")
    for name in ("scores", "column", "command"):
        with pytest.raises(RyptError, match=f"the metric {name}: expected "):
            read_metric(name, RESOURCES)
    with pytest.raises(
        RyptError, match="the metric column has no option 'file', expected one of name, better, scale"
    ):
        read_metric("column(x,file=y)", RESOURCES)


def test_a_program_rates_each_text_once(tmp_path):
    log = tmp_path / "log"
    program = tmp_path / "rate.py"
    program.write_text(
        "import json, sys\n"
        f"log = open({str(log)!r}, 'a')\n"
        "for line in sys.stdin:\n"
        "    item = json.loads(line)\n"
        "    log.write(line)\n"
        "    print(len(item['source']) + len(item['references'][0]) + len(item['candidate']))\n"
    )
    metric = read_metric(f"command({sys.executable} {program})", RESOURCES)
    assert score_of(metric, [*CANDIDATES, CANDIDATES[0]]) == (24 + 26 + 21 + 24) / 4
    metric.stats(CANDIDATES)
    assert len(log.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("exit 3", "command(exit 3) failed with exit code 3: it said nothing"),
        ("echo too bad >&2; false", "failed with exit code 1: too bad"),
        ("echo 1", "command(echo 1): expected 3 scores, one per line, found 1"),
        ("yes nan | head -3", "line 1 of its output: expected a finite number, found 'nan'"),
    ],
)
def test_a_program_that_fails(command, message):
    with pytest.raises(RyptError, match=re.escape(message)):
        read_metric(f"command({command})", RESOURCES).stats(CANDIDATES)


def test_functions(tmp_path, monkeypatch):
    (tmp_path / "my_scores.py").write_text(
        "def words(items, per=1):\n"
        "    return [len(item['candidate'].split()) / int(per) for item in items]\n"
        "def broken(items):\n"
        "    return [1 / 0]\n"
        "def short(items):\n"
        "    return items[1:]\n"
        "def nan(items):\n"
        "    return [float('nan') for item in items]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert score_of(read_metric("my_scores:words", RESOURCES), CANDIDATES) == 2.0
    metric = read_metric("my_scores:words(per=4,better=lower)", RESOURCES)
    assert metric.signature == "my_scores:words(per=4)|better:lower"
    assert score_of(metric, CANDIDATES) == 0.5
    (term,) = parse_spec("my_scores:broken")
    with pytest.raises(RyptError, match="the metric my_scores:broken failed: ZeroDivisionError"):
        single_scores(make_metric(term, RESOURCES), CANDIDATES)
    with pytest.raises(RyptError, match="expected 3 scores, one for each candidate, found 2"):
        read_metric("my_scores:short", RESOURCES).stats(CANDIDATES)
    with pytest.raises(RyptError, match="segment 0, 'a house': expected a finite score, found nan"):
        read_metric("my_scores:nan", RESOURCES).stats(CANDIDATES)
    with pytest.raises(
        RyptError, match="the metric my_scores:words: got an unexpected keyword argument 'size'"
    ):
        read_metric("my_scores:words(size=3)", RESOURCES)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_sums_keep_nine_decimals(values):
    raws = [RawCandidate(str(i), "x", None, {}, None) for i in range(len(values))]
    metric = MeanScore("x", lambda candidates: values)
    assert abs(score_of(metric, raws) - np.mean(values)) <= 1e-9 + 1e-12 * np.abs(values).max()
    assert metric.stats([]).shape == (0, 2)
