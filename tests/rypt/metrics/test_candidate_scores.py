"""Scores of candidates as a metric: from files, columns and functions."""

import gzip
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.metrics.candidate_scores import MeanScore, read_scores
from rypt.metrics.metric import Resources, rated, read_metric, single_scores
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.references import References

CANDIDATES = [
    Candidate("0", "a house", None, {"lm": -2.0}, -1.0, {"comet": 0.5}),
    Candidate("0", "the house", None, {"lm": -1.0}, -2.0, {"comet": 0.75}),
    Candidate("1", "a cat", None, {"lm": -3.0}, -3.0, {"comet": 0.25}),
]
LISTS = [(raw.segment, raw.text) for raw in CANDIDATES]
RESOURCES = Resources(
    References([["the house", "the cat"]]),
    sources=lambda: {"0": "das Haus", "1": "die Katze"},
    lists=lambda: LISTS,
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
    other = Candidate("1", "no cat", None, {}, None)
    message = f"{score_file}: 1 of 2 candidates have no score, the first: segment 1, 'no cat'"
    with pytest.raises(RyptError, match=re.escape(message)):
        metric.stats([CANDIDATES[0], other])


def test_lower_is_better_on_a_scale(score_file):
    metric = read_metric(f"scores({score_file}, better=lower, scale=25)", RESOURCES)
    assert single_scores(metric, CANDIDATES)[0].tolist() == [1 - 0.5 / 25, 1 - 0.75 / 25, 1 - 0.25 / 25]
    assert metric.signature.endswith("|better:lower|scale:25")
    mixed = read_metric(f"chrf - 0.5*scores({score_file},better=lower,scale=25)", RESOURCES)
    chrf = score_of(read_metric("chrf", RESOURCES), CANDIDATES[:1])
    assert score_of(mixed, CANDIDATES[:1]) == pytest.approx(chrf - 0.5 * 100 * 0.5 / 25)


@pytest.mark.parametrize(
    "text",
    [
        '{"segment": 0, "candidate": "a  house", "score": 0.5}\n'
        '{"segment": "0", "candidate": "the house", "score": 1}\n'
        '{"segment": 1, "candidate": "a cat", "score": -2e-1, "other": [1]}\n',
        '{"id": "0", "hypothesis": "a house", "prediction": 0.5}\n'
        '{"segment": 0, "mt": "the house", "prediction": 1}\n'
        '{"segment": 1, "hypothesis": "a cat", "prediction": -0.2}\n',
        "0.5\n1\n-0.2\n",
        '{"prediction": 0.5}\n{"prediction": 1}\n{"prediction": -0.2}\n',
    ],
    ids=["jsonl", "metricx", "lines", "jsonl-lines"],
)
def test_all_forms_of_a_file_mean_the_same(tmp_path, text):
    (tmp_path / "scores").write_text(text, encoding="utf-8")
    assert read_scores(tmp_path / "scores", lists=lambda: LISTS) == dict(
        zip(LISTS, [0.5, 1.0, -0.2], strict=True)
    )


def test_a_field_of_another_name_and_gzip(tmp_path):
    path = tmp_path / "scores.gz"
    path.write_bytes(gzip.compress(b'{"segment": 0, "candidate": "a", "COMET": 0.25, "score": 7}\n'))
    assert read_scores(path, "COMET") == {("0", "a"): 0.25}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "scores: expected scores, found an empty file"),
        ("a house\n", "scores:1: expected a score: expected a finite number, found 'a house'"),
        (
            '{"segment": 0, "candidate": "a", "score": NaN}',
            "scores:1: expected a score: expected a finite number",
        ),
        (
            '{"segment": 0, "candidate": "a"}',
            "scores:1: expected a score: expected a number as score, found None",
        ),
        (
            '{"segment": 0, "candidate": 1, "score": 1}',
            "expected the text of the candidate beside the segment",
        ),
        ('{"segment"', "scores:1: expected a score: "),
        ("0.5\n1\n", "scores:2: expected 3 scores, one for each candidate of the lists, found 2"),
        (
            '0.5\n{"segment": 0, "candidate": "a", "score": 1}\n',
            "scores:1: expected a segment and a candidate",
        ),
        (
            '{"segment": 0, "candidate": "a", "score": 1}\n{"segment": 0, "candidate": " a", "score": 2}\n',
            "scores:2: segment 0, 'a': the score is 2 here, 1 above",
        ),
    ],
)
def test_files_with_mistakes(tmp_path, text, message):
    (tmp_path / "scores").write_text(text, encoding="utf-8")
    with pytest.raises(RyptError, match=re.escape(message)):
        read_scores(tmp_path / "scores", lists=lambda: LISTS)


def test_columns():
    assert score_of(read_metric("column(comet)", RESOURCES), CANDIDATES) == 0.5
    assert score_of(read_metric("column(lm)", RESOURCES), CANDIDATES) == -2.0
    assert score_of(read_metric("column(score)", RESOURCES), CANDIDATES) == -2.0
    message = "the metric column(bleurt): segment 0, 'a house' has no column bleurt, it has comet, lm, score"
    with pytest.raises(RyptError, match=re.escape(message)):
        read_metric("column(bleurt)", RESOURCES).stats(CANDIDATES)
    nan = Candidate("0", "x", None, {}, None, {"comet": float("nan")})
    with pytest.raises(RyptError, match="segment 0, 'x': expected a finite score of at most 1e"):
        read_metric("column(comet)", RESOURCES).stats([nan])
    with pytest.raises(RyptError, match="the metric column: expected the name of a column"):
        read_metric("column", RESOURCES)


FUNCTIONS = """
calls = []
def words(items, per=1):
    calls.extend(items)
    return [len((item["candidate"] + " " + item["source"]).split()) / int(per) for item in items]
def broken(items):
    return [1 / 0]
def short(items):
    return items[1:]
"""


def test_functions(tmp_path, monkeypatch):
    (tmp_path / "my_scores.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(tmp_path)
    metric = read_metric("my_scores:words(per=4,better=lower)", RESOURCES)
    assert metric.signature == "my_scores:words(per=4)|better:lower"
    assert score_of(metric, [*CANDIDATES, *CANDIDATES]) == 1.0
    metric.stats(CANDIDATES)
    import my_scores

    assert len(my_scores.calls) == 3  # each text once
    assert my_scores.calls[0]["references"] == ["the house"]
    for name, message in (
        ("broken", "the metric my_scores:broken failed: ZeroDivisionError"),
        ("short", "expected 3 scores, one for each candidate, found 2"),
        ("words(size=3)", "got an unexpected keyword argument 'size'"),
    ):
        with pytest.raises(RyptError, match=message):
            single_scores(read_metric(f"my_scores:{name}", RESOURCES), CANDIDATES)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_sums_keep_nine_decimals(values):
    raws = [Candidate(str(i), "x", None, {}, None) for i in range(len(values))]
    metric = MeanScore("x", lambda candidates: values)
    assert abs(score_of(metric, raws) - np.mean(values)) <= 1e-9 + 1e-12 * np.abs(values).max()
    assert metric.stats([]).shape == (0, 2)
