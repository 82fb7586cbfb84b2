"""Metrics: expressions, how they are found and summed, scores of candidates, RYPT of a campaign, mistakes."""

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import run
from hypothesis import given, settings
from hypothesis import strategies as st

from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.metrics.campaign_rypt import Rypt
from rypt.metrics.candidate_scores import read_scores
from rypt.metrics.chrf import ChrF
from rypt.metrics.expression import Term, parse_spec
from rypt.metrics.metric import (
    Resources,
    WeightedSum,
    check_stats,
    counted,
    metric_names,
    rated,
    read_metric,
    single_scores,
    stats_by_text,
)
from rypt.metrics.ter import Ter
from rypt.records import Candidate
from rypt.scoring.learning import scorer_from_database
from rypt.scoring.report import score_report
from rypt.text import RyptError
from rypt.texts.lists import References

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


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["bleu", "chrf", "chrf++", "rypt", "ter"])
def test_the_documented_options_are_those_that_exist(metric, demo_campaign):
    with pytest.raises(RyptError, match="has no option 'nosuch'") as error:
        read_metric(f"{metric}(nosuch=1)", Resources(REFERENCES, demo_campaign))
    assert documented_options()[metric] == set(str(error.value).partition("one of ")[2].split(", "))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("blue", f"unknown metric 'blue', expected one of {', '.join(metric_names())}"),
        ("nosuch.mod:X", "the metric nosuch.mod:X cannot be imported: ModuleNotFoundError: No module named"),
        ("broken_metric:X", "cannot be imported: ValueError: one two"),
        ("rypt.options:Options", "lacks maximize, scale, signature, stats, score"),
        ("chrf(beta=two)", "the metric chrf: expected beta as a whole number of at least 0, found 'two'"),
        ("chrf+0.5*ter", "ter is better when lower: write -0.5*ter"),
        ("bleu+model", "nothing can be tuned to it"),
        ("", "expected a metric such as bleu or 0.5*bleu at character 1, found the end"),
        ("0.5*chrf++0.5*bleu", "expected +, - or the end at character 11, found '0.5*bleu'"),
        ("bleu(a=1", "expected +, - or the end at character 5, found '(a=1'"),
        ("1e999*bleu", "expected a finite weight, found inf"),
        ("column", "the metric column: expected the name of a column"),
        ("rypt", "the metric rypt needs --campaign"),
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


class Careless:
    """A metric whose author made a mistake."""

    maximize, scale, signature = True, 1.0, "careless|v1"

    def __init__(self, stats=None, score=None):
        self.stats, self.score = stats, score


def test_wrong_statistics_and_scores_are_the_metrics_mistake():
    for stats in (
        lambda candidates: 1 / 0,
        lambda candidates: np.full((len(candidates), 2), 0.5),
        lambda candidates: np.array([0 for _ in candidates]),
    ):
        with pytest.raises(RyptError, match="careless"):
            counted(Careless(stats), [raw("0", "a"), raw("0", "b")])
    assert check_stats(np.array([[1]], np.int32), 1).dtype == np.int64
    for score in (lambda sums: np.full(len(sums), np.nan), lambda sums: sums[:, 9]):
        with pytest.raises(RyptError, match="the metric careless"):
            rated(Careless(score=score), np.ones((3, 2), np.int64))


@pytest.mark.parametrize(
    ("spec", "terms"),
    [
        ("-.5 * ter + 5.e-1*chrf++ - ter", [Term(-0.5, "ter"), Term(0.5, "chrf++"), Term(-1.0, "ter")]),
        ("0.5*mine.mod:M(x=1)+1E1*a.b:C", [Term(0.5, "mine.mod:M", {"x": "1"}), Term(10.0, "a.b:C")]),
        ("chrf+++chrf+bleu", [Term(1.0, "chrf++"), Term(1.0, "chrf"), Term(1.0, "bleu")]),
        ("rypt(db=a-b/c+d.db, x = )", [Term(1.0, "rypt", {"db": "a-b/c+d.db", "x": ""})]),
        (
            "rypt:table + 0*rypt:no",
            [Term(1.0, "rypt", {"model": "table"}), Term(0.0, "rypt", {"unknown": "no"})],
        ),
        ("scores( a b.jsonl ,scale=2)", [Term(1.0, "scores", {"file": "a b.jsonl", "scale": "2"})]),
    ],
)
def test_expressions(spec, terms):
    assert parse_spec(spec) == terms


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


def test_labels_are_the_shortest_form():
    for text, label in (
        ("rypt(unknown=ignore)", "rypt:ignore"),
        ("chrf++(b=2, a=1)", "chrf++(a=1,b=2)"),
        ("2*scores( a b.jsonl )", "scores(a b.jsonl)"),
    ):
        assert parse_spec(text)[0].label == label


@pytest.mark.slow
def test_a_third_partys_metric_tunes_and_picks_also_in_a_sum(capsys, demo_campaign, wer):
    for metric in ("wer:WordErrorRate", "0.1*rypt:ignore-0.9*wer:WordErrorRate"):
        options = ["--metric", metric, "--restarts", "1", "--json", "-q"]
        code, out, err = run(capsys, "tune", demo_campaign, *options)
        assert code == 0, err
        assert "WER|nrefs:1" in json.loads(out)["signature"]
    assert "unknown:ignore" in json.loads(out)["signature"]
    metrics = "bleu-1e-9*wer:WordErrorRate,bleu"
    code, out, err = run(capsys, "compare", "picks", demo_campaign, "--metrics", metrics)
    assert (code, out.startswith("0 segments with different picks")) == (0, True), err


SCORED = [
    Candidate("0", "a house", None, {"lm": -2.0}, -1.0, {"comet": 0.5}),
    Candidate("0", "the house", None, {"lm": -1.0}, -2.0, {"comet": 0.75}),
    Candidate("1", "a cat", None, {"lm": -3.0}, -3.0, {"comet": 0.25}),
]
LISTS = [(raw.segment, raw.text) for raw in SCORED]
SOURCED = Resources(
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
    metric = read_metric(f"scores({score_file})", SOURCED)
    assert score_of(metric, SCORED[1:]) == 0.5
    assert single_scores(metric, SCORED)[0].tolist() == [0.5, 0.75, 0.25]
    assert re.fullmatch(rf"scores\({re.escape(str(score_file))}\)\|sha:[0-9a-f]{{8}}", metric.signature)
    other = Candidate("1", "no cat", None, {}, None)
    message = f"{score_file}: 1 of 2 candidates have no score, the first: segment 1, 'no cat'"
    with pytest.raises(RyptError, match=re.escape(message)):
        metric.stats([SCORED[0], other])


def test_lower_is_better_on_a_scale(score_file):
    metric = read_metric(f"scores({score_file}, better=lower, scale=25)", SOURCED)
    assert single_scores(metric, SCORED)[0].tolist() == [1 - 0.5 / 25, 1 - 0.75 / 25, 1 - 0.25 / 25]
    assert metric.signature.endswith("|better:lower|scale:25")
    mixed = read_metric(f"chrf - 0.5*scores({score_file},better=lower,scale=25)", SOURCED)
    chrf = score_of(read_metric("chrf", SOURCED), SCORED[:1])
    assert score_of(mixed, SCORED[:1]) == pytest.approx(chrf - 0.5 * 100 * 0.5 / 25)


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "scores: expected scores, found an empty file"),
        ("a house\n", "scores:1: expected a score: expected a finite number, found 'a house'"),
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
    assert score_of(read_metric("column(comet)", SOURCED), SCORED) == 0.5
    assert score_of(read_metric("column(lm)", SOURCED), SCORED) == -2.0
    assert score_of(read_metric("column(score)", SOURCED), SCORED) == -2.0
    message = "the metric column(bleurt): segment 0, 'a house' has no column bleurt, it has comet, lm, score"
    with pytest.raises(RyptError, match=re.escape(message)):
        read_metric("column(bleurt)", SOURCED).stats(SCORED)
    nan = Candidate("0", "x", None, {}, None, {"comet": float("nan")})
    with pytest.raises(RyptError, match="segment 0, 'x': expected a finite score of at most 1e"):
        read_metric("column(comet)", SOURCED).stats([nan])
    with pytest.raises(RyptError, match="the metric column: expected the name of a column"):
        read_metric("column", SOURCED)


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
    metric = read_metric("my_scores:words(per=4,better=lower)", SOURCED)
    assert metric.signature == "my_scores:words(per=4)|better:lower"
    assert score_of(metric, [*SCORED, *SCORED]) == 1.0
    metric.stats(SCORED)
    import my_scores

    assert len(my_scores.calls) == 3  # each text once
    assert my_scores.calls[0]["references"] == ["the house"]
    for name, message in (
        ("short", "expected 3 scores, one for each candidate, found 2"),
        ("words(size=3)", "got an unexpected keyword argument 'size'"),
    ):
        with pytest.raises(RyptError, match=message):
            single_scores(read_metric(f"my_scores:{name}", SOURCED), SCORED)


def test_rypt_of_a_campaign_is_what_rypt_score_says(demo_campaign):
    campaign = Campaign.open(demo_campaign)
    metric = read_metric("rypt", Resources(campaign=demo_campaign))
    stats = metric.stats(campaign.candidates)
    report = score_report(metric.scorer, campaign.candidates)
    segments = [c.segment for c in campaign.candidates]
    first = [segments.index(segment) for segment in dict.fromkeys(segments)]
    assert metric.score(stats[first].sum(axis=0, keepdims=True))[0] == pytest.approx(report.score)
    assert np.issubdtype(stats.dtype, np.integer)
    assert (metric.maximize, metric.scale) == (True, 1.0)
    assert metric.signature == Rypt.from_campaign(demo_campaign).signature
    assert metric.stats([]).shape == (0, stats.shape[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        ("rypt(unknown=ignore,ties=yes)", {"unknown": "ignore", "ties": "yes"}),
        ("rypt(model=percolation,ties=no)", {"ties": "no"}),
        ("rypt(model=table)", {"model": "table"}),
    ],
)
def test_options_take_the_place_of_the_campaigns_settings(demo_campaign, spec, settings):
    campaign = Campaign.open(demo_campaign)
    metric = read_metric(spec, Resources(campaign=demo_campaign))
    with campaign.database() as db:
        scorer = scorer_from_database(campaign.trees, db, campaign.candidates, **settings)
    assert metric.signature == scorer.signature
    assert metric.signature != Rypt.from_campaign(demo_campaign).signature
    stats = metric.stats(campaign.candidates)
    assert (stats == scorer.stats(campaign.candidates)).all()
    assert (metric.score(stats) == scorer.score(stats)).all()


def test_another_database(demo_campaign, tmp_path, monkeypatch):
    campaign = Campaign.open(demo_campaign)
    with JudgmentDatabase(tmp_path / "empty.db") as db:
        db.add_segments(campaign.segments)
    shutil.copy(campaign.path(campaign.files.database), tmp_path / "copy.db")
    monkeypatch.chdir(tmp_path)
    raw = campaign.candidates
    empty = read_metric("rypt(db=empty.db)", Resources(campaign=demo_campaign))
    assert (empty.score(empty.stats(raw)) == 0.5).all()
    own, copy = (
        read_metric(spec, Resources(campaign=demo_campaign)) for spec in ("rypt", "rypt(db=copy.db)")
    )
    assert (own.stats(raw) == copy.stats(raw)).all()
    with pytest.raises(RyptError, match=r"nowhere\.db"):
        read_metric("rypt(db=nowhere.db)", Resources(campaign=demo_campaign))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rypt(model=table,unknown=no)", "the option unknown is for model=percolation, the model is table"),
        ("rypt(x=1)", "the metric rypt has no option 'x', expected one of model, unknown, ties, db"),
    ],
)
def test_options_that_are_wrong(demo_campaign, spec, message):
    with pytest.raises(RyptError, match=message):
        read_metric(spec, Resources(campaign=demo_campaign))


def test_candidates_that_do_not_fit(demo_campaign):
    metric = Rypt.from_campaign(demo_campaign)
    with pytest.raises(RyptError, match="segment '99' of the list is not in the campaign"):
        metric.stats([Candidate("99", "x", "", {}, None)])
    with pytest.raises(RyptError, match="a candidate of segment 0: expected an alignment"):
        metric.stats([Candidate("0", "x", None, {}, None)])
    with pytest.raises(RyptError, match=r"segment 0: link .* is out of range"):
        metric.stats([Candidate("0", "x", "99-0", {}, None)])
    with pytest.raises(RyptError, match="the metric rypt needs --campaign"):
        read_metric("rypt", Resources())
