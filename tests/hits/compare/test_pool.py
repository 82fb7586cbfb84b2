"""Results of several sets in one line."""

import gzip
import json

import numpy as np
import pytest
from systems_world import make

from hits.compare.pool import pool_outcomes, read_result
from hits.compare.scores import HeldOutScores, compare_by_scores
from rypt.text import InputError, RyptError


def result(name, folder, nets, *, metric="rypt", documents=None, **changes):
    """A file of one pair, with these nets of its segments."""
    outcomes = {
        "metric": metric,
        "baseline": "bleu",
        "segments": list(range(len(nets))),
        "wins": [max(0.0, net) for net in nets],
        "losses": [max(0.0, -net) for net in nets],
        **changes,
    }
    segments = {"ids": [str(i) for i in range(len(nets))], "documents": documents, "outcomes": [outcomes]}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"signature": f"compare|{name}", "segments": segments}))
    return path


def test_what_compare_writes_is_pooled(tmp_path):
    paths, reports = [], []
    for seed in (1, 2):
        campaign = make(tmp_path / str(seed), systems=5, segments=15, seed=seed)
        report = compare_by_scores(
            campaign,
            HeldOutScores(campaign.folder / "scores.jsonl", splits=4, controls=True),
            "rypt,bleu,chrf",
        )
        paths.append(tmp_path / f"set{seed}.json")
        report.write(paths[-1])
        reports.append(report)
    report = pool_outcomes(paths)
    pairs = [(pair.pooled.metric, pair.pooled.baseline) for pair in report.pairs]
    assert pairs == [(o.metric, o.baseline) for o in reports[0].comparison.outcomes]
    for number, pair in enumerate(report.pairs):
        own = [r.comparison.outcomes[number] for r in reports]
        assert list(pair.sets.values()) == own  # on one set as without a pool, its interval and p included
        assert pair.pooled.net == pytest.approx(np.mean([o.net for o in own]))
        assert pair.pooled.segments == 30
    assert report.signature.startswith("compare|pool:2|unit:segment|segments:30|seed:1|v:")
    assert [line.split(":")[0] for line in report.signatures] == ["set1", "set2"]
    assert json.loads(json.dumps(report.as_dict()))["pairs"][0]["pooled"]["net"] == report.pairs[0].pooled.net
    rows = [line.split() for line in report.text().splitlines()[4:7]]
    sets = (("set1", "15"), ("set2", "15"), ("all", "30"))
    assert [row[:4] for row in rows] == [["rypt", "bleu", *line] for line in sets]
    assert r"\begin{tabular}" in report.text(latex=True)
    report.plot(tmp_path / "p.svg")
    assert "<svg" in (tmp_path / "p.svg").read_text()
    assert repr(report).startswith("PoolReport(rypt - bleu: ")


def test_segments_are_resampled_within_their_sets(tmp_path):
    """A set all of whose segments are alike adds nothing to the interval, however far it is from the other."""
    rng = np.random.default_rng(1)
    noisy = rng.choice([-1.0, 0.0, 1.0], 300)
    paths = [result("same", tmp_path, [1.0] * 300), result("noisy", tmp_path, noisy.tolist())]
    pooled = pool_outcomes(paths).pairs[0].pooled
    assert pooled.net == pytest.approx((1 + noisy.mean()) / 2)
    wide = 2 * 1.96 * noisy.std() / np.sqrt(300) / 2
    assert pooled.high - pooled.low == pytest.approx(wide, rel=0.1)


def test_documents_are_resampled_as_wholes(tmp_path):
    """Ten copies of each of 40 nets as one document: the interval is that of 40, not of 400."""
    nets = np.random.default_rng(2).uniform(-0.8, 1, 40)
    documents = [str(i) for i in range(40) for _ in range(10)]
    wide = [result("wide", tmp_path, np.repeat(nets, 10).tolist(), documents=documents)]
    few = [result("few", tmp_path, nets.tolist())]
    by_document, alone = (
        pool_outcomes(wide, unit="document").pairs[0].pooled,
        pool_outcomes(few).pairs[0].pooled,
    )
    assert (by_document.low, by_document.high) == pytest.approx((alone.low, alone.high), abs=0.02)
    assert by_document.p == pytest.approx(alone.p, abs=0.02)
    by_segment = pool_outcomes(wide).pairs[0].pooled
    assert by_segment.high - by_segment.low < 0.5 * (alone.high - alone.low)
    with pytest.raises(RyptError, match="few: the result does not say which documents"):
        pool_outcomes(few, unit="document")


def test_only_pairs_that_all_have(tmp_path):
    one, two = result("a", tmp_path, [1.0, 0.0]), result("b", tmp_path, [0.5], metric="rypt:table")
    with pytest.raises(RyptError, match="no two metrics are compared in all of"):
        pool_outcomes([one, two])
    both = json.loads(one.read_text())
    both["segments"]["outcomes"] += [{**both["segments"]["outcomes"][0], "metric": "rypt:table"}]
    with gzip.open(tmp_path / "both.json.gz", "wt") as stream:
        stream.write(json.dumps(both))
    report = pool_outcomes([two, tmp_path / "both.json.gz"])
    assert [pair.pooled.metric for pair in report.pairs] == ["rypt:table"]
    assert report.notes == ["1 pairs of metrics are not in all results, and left out"]
    assert list(report.pairs[0].sets) == ["b", "both"]
    with pytest.raises(RyptError, match="found two called a"):
        pool_outcomes([one, one])


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "null", '{"signature": "x"}', '{"signature": "x", "segments": []}']
)
def test_files_that_are_no_results(tmp_path, text):
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(
        InputError, match=r"r.json: expected a result with what happened in each segment, as rypt"
    ):
        read_result(tmp_path / "r.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"wins": [0.5]},
        {"wins": [0.5, "x"]},
        {"wins": [0.5, float("nan")]},
        {"wins": [0.5, 2]},
        {"wins": None},
        {"segments": [0, 2]},
        {"segments": [0, 0]},
        {"segments": [0, -1]},
        {"losses": [0, 0, 0]},
        {"segments": [], "wins": [], "losses": []},
        {"documents": ["a"]},
    ],
)
def test_numbers_that_cannot_be(tmp_path, changes):
    documents = changes.pop("documents", None)
    path = result("r", tmp_path, [1.0, 0.0], documents=documents, **changes)
    with pytest.raises(InputError, match=r"r\.json: expected a result"):
        read_result(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        pool_outcomes([tmp_path / "nothing.json"])
