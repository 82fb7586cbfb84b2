"""``rypt tune`` on lists: what it prints and writes, and what it refuses with one line."""

import gzip
import json
import re
import sys

import numpy as np
import pytest
from commands import run

from mert.weights import read_weights

NAMES = ["LM0", "TM0_0", "TM0_1", "Distortion0"]
START = {"LM0": 0.5, "TM0_0": 0.25, "TM0_1": 0.25, "Distortion0": 0.5}


def test_help_groups_the_options(capsys):
    out = run(capsys, "tune", "--help")[1].partition("\n\nGoal")[2]
    titles = re.findall(r"^(\w.*):$", out, re.MULTILINE)
    assert titles == ["Input", "Limits", "Search", "Decoder", "Output", "Help"]
    assert len(re.findall(r"^  (?:-\w, )?--", out, re.MULTILINE)) <= 28 + 1  # with --help
    code, _, err = run(capsys, "tune", "--decoder", "x {weights} {nbest}")
    assert (code, "a decoder needs --weights to start with" in err) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["bleu", "rypt", "ter", "chrf", "0.5*bleu+0.5*rypt"])
def test_tuning_the_demo(capsys, demo_campaign, tmp_path, metric):
    arguments = [demo_campaign / "nbest.en", "--weights", demo_campaign / "weights.init", "--metric", metric]
    arguments += ["--references", demo_campaign / "reference.en"] if metric != "rypt" else []
    arguments += ["--campaign", demo_campaign] if "rypt" in metric else []
    arguments += ["--restarts", 3, "--json", "-q"]
    code, out, _ = run(capsys, "tune", *arguments, "-o", tmp_path / "weights")
    assert code == 0
    result = json.loads(out)
    gain = (result["score"] - result["start_score"]) * (-1 if metric == "ter" else 1)
    assert gain > 0
    assert result["gain"]["gain"] == pytest.approx(gain)
    assert "|mert|aim:unseen|restarts:3|seed:1|norm:l1|" in result["signature"]
    assert read_weights(tmp_path / "weights").values == result["weights"]
    again = json.loads(run(capsys, "tune", *arguments, "--threads", "2")[1])
    assert again["weights"] == result["weights"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A list of Moses' kind with references: one feature follows the right words, another is against them."""
    folder = tmp_path_factory.mktemp("small")
    rng = np.random.default_rng(0)
    lines, references = [], []
    for segment in range(12):
        reference = [f"w{i}" for i in rng.integers(50, size=12)]
        references.append(" ".join(reference) + "\n")
        for _ in range(8):
            wrong = int(rng.integers(0, 12))
            words = reference.copy()
            for i in rng.permutation(12)[:wrong]:
                words[i] = f"x{rng.integers(50)}"
            lm, tm, other, d = (
                rng.normal(-wrong / 2),
                rng.normal(wrong / 4),
                rng.normal(),
                rng.normal(-wrong / 8),
            )
            features = f"LM0= {lm:.4f} TM0= {tm:.4f} {other:.4f} Distortion0= {d:.4f}"
            lines.append(f"{segment} ||| {' '.join(words)} ||| {features} ||| -1\n")
    (folder / "list").write_text("".join(lines))
    (folder / "refs").write_text("".join(references))
    (folder / "weights").write_text("# start\nLM0= 0.5\nTM0= 0.25 0.25\nDistortion0= 0.5\n")
    return folder


def tune(capsys, small, *options, lists=None, weights=None):
    """What ``rypt tune`` prints; the weights are those of a file, or all 1 for False."""
    start = [] if weights is False else ["--weights", weights or small / "weights"]
    lists = lists or [small / "list"]
    restarts = [] if {"--algorithm", "--restarts"} & set(options) else ["--restarts", 2]
    return run(capsys, "tune", *lists, "--references", small / "refs", *start, *restarts, *options)


def tuned(capsys, small, *options, **more):
    code, out, err = tune(capsys, small, "--json", "-q", *options, **more)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_text_output_and_weights_that_come_alone(capsys, small, tmp_path):
    more = ["-o", tmp_path / "out", "--plot", tmp_path / "out.svg"]
    code, out, err = tune(capsys, small, "--fix", "LM0", "--replicates", "2", *more)
    assert code == 0
    assert "BLEU on the tuned list" in (tmp_path / "out.svg").read_text()
    assert "LM0                             0.500000\n" in out
    for part in ("→", "95 % of resamples", "2 replicates: mean", "BLEU|nrefs:1"):
        assert part in out
    assert "seconds: " in err
    assert (tmp_path / "out").read_text().startswith("# start\nLM0= 0.5\nTM0= ")
    code, out, err = tune(capsys, small, "-o", "-")
    assert code == 0
    assert len(out.splitlines()) == len((small / "weights").read_text().splitlines())
    assert "BLEU|" in err
    assert tune(capsys, small, "-o", "-", "--json")[0] == 2


def test_without_a_file_all_weights_start_at_1(capsys, small, tmp_path):
    plain = tuned(capsys, small, "-o", tmp_path / "out", weights=False)
    (tmp_path / "ones").write_text(json.dumps(dict.fromkeys(NAMES, 1)))
    assert tuned(capsys, small, weights=tmp_path / "ones")["weights"] == plain["weights"]
    assert [line.split("=")[0] for line in (tmp_path / "out").read_text().splitlines()] == [
        "LM0",
        "TM0",
        "Distortion0",
    ]
    held = tuned(capsys, small, "--tune", "LM0", weights=False)
    assert [held["weights"][name] for name in NAMES[1:]] == [1, 1, 1]


def test_merged_gzipped_and_piped_lists_are_the_same(capsys, monkeypatch, small, tmp_path):
    whole = tuned(capsys, small)
    lines = (small / "list").read_text().splitlines(keepends=True)
    (tmp_path / "a.gz").write_bytes(gzip.compress("".join(lines[:50]).encode()))
    (tmp_path / "b").write_text("".join(lines[30:]))
    found = tuned(capsys, small, lists=[tmp_path / "a.gz", tmp_path / "b"])
    assert found["weights"] == whole["weights"]
    with open(small / "list") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert tuned(capsys, small, lists=["-"])["weights"] == whole["weights"]


def test_constraints(capsys, small):
    fixed = tuned(capsys, small, "--fix", "TM0", "--fix", "LM0")["weights"]
    assert {name for name in NAMES if fixed[name] != START[name]} == {"Distortion0"}
    only = tuned(capsys, small, "--tune", "TM0")
    assert {name for name in NAMES if only["weights"][name] != START[name]} == {"TM0_0", "TM0_1"}
    assert "|norm:none|" in only["signature"]
    bounds = ["--bound", "TM0=0.1..0.3", "--bound", "LM0=..0.6", "--range", "LM0=0.4..0.5"]
    bound = tuned(capsys, small, *bounds, "--restarts", "5")["weights"]
    assert min(bound["TM0_0"], bound["TM0_1"]) >= 0.1
    assert max(bound["TM0_0"], bound["TM0_1"]) <= 0.3
    assert bound["LM0"] <= 0.6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("norm", "measure"),
    [
        ("l1", lambda w: sum(map(abs, w.values()))),
        ("l2", lambda w: sum(x * x for x in w.values())),
        ("max", lambda w: max(map(abs, w.values()))),
        ("TM0_1=2", lambda w: abs(w["TM0_1"]) / 2),
    ],
)
def test_normalizations(capsys, small, norm, measure):
    found = tuned(capsys, small, "--norm", norm)
    assert measure(found["weights"]) == pytest.approx(1)
    assert f"|norm:{norm}|" in found["signature"]


@pytest.mark.parametrize("algorithm", ["pro", "mira"])
def test_other_algorithms(capsys, small, tmp_path, algorithm):
    (tmp_path / "weights").write_text("LM0= -0.5\nTM0= 0.25 0.25\nDistortion0= 0.5\n")
    options = ["--algorithm", algorithm, "--fix", "Distortion0"]
    found = tuned(capsys, small, *options, weights=tmp_path / "weights")
    assert found["score"] > found["start_score"]
    assert f"|{algorithm}|seed:1|" in found["signature"]
    assert found["weights"]["Distortion0"] == 0.5


def test_replicates_seeds_and_threads(capsys, small):
    found = tuned(capsys, small, "--replicates", "3", "--restarts", "0")
    assert len(found["replicates"]["scores"]) == 3
    assert found["score"] == max(found["replicates"]["scores"])
    assert found["replicates"]["mean"] == pytest.approx(np.mean(found["replicates"]["scores"]))
    one, again, other = (tuned(capsys, small, "--seed", seed)["weights"] for seed in (1, 1, 2))
    assert one == again == tuned(capsys, small, "--threads", "3")["weights"]
    assert one != other


def test_sparse_features_are_held_until_they_are_named(capsys, small, tmp_path):
    lines = (small / "list").read_text().splitlines()
    sparse = [line.replace(" ||| -1", f" wt_a{i % 3}= 1 ||| -1") for i, line in enumerate(lines)]
    (tmp_path / "list").write_text("\n".join(sparse) + "\n")
    (tmp_path / "weights").write_text((small / "weights").read_text() + "wt_a0= 0.5\nwt_a1= 0.25\n")
    files = {"lists": [tmp_path / "list"], "weights": tmp_path / "weights"}
    code, out, err = tune(capsys, small, "--json", "-o", tmp_path / "out", **files)
    assert (code, list(json.loads(out)["weights"])) == (0, NAMES)
    assert "3 sparse features are held at the given weights, else at 0 (see --tune)" in err
    assert (tmp_path / "out").read_text().endswith("wt_a0= 0.5\nwt_a1= 0.25\n")
    named = ["--tune", "wt_a1", "--tune", "LM0", "-o", tmp_path / "out"]
    weights = tuned(capsys, small, *named, **files)["weights"]
    assert list(weights) == [*NAMES, "wt_a1"]
    assert (weights["TM0_0"], weights["wt_a1"] != 0.25) == (0.25, True)
    assert f"wt_a0= 0.5\nwt_a1= {weights['wt_a1']!r}\n" in (tmp_path / "out").read_text()
    code, out, err = tune(capsys, small, "--norm", "l1", **files)
    assert (code, out) == (1, "")
    assert "the normalization l1 cannot be had" in err


def test_features_without_names_take_those_of_a_parameter_file(capsys, small, tmp_path):
    lines = re.sub(r"(LM0|TM0|Distortion0)= ", "", (small / "list").read_text())
    (tmp_path / "list").write_text(lines)
    params = [f"{name} ||| 0.5 Opt 0 +Inf 0 1\n" for name in NAMES]
    (tmp_path / "params.txt").write_text("".join(params) + "normalization = maxabsval 1\n")
    files = {"lists": [tmp_path / "list"], "weights": tmp_path / "params.txt"}
    weights = tuned(capsys, small, "-o", tmp_path / "out", **files)["weights"]
    assert list(weights) == NAMES
    assert min(weights.values()) >= 0
    assert max(weights.values()) == pytest.approx(1)
    written = [f"{name} ||| {value!r} Opt 0 +Inf 0 1\n" for name, value in weights.items()]
    assert (tmp_path / "out").read_text() == "".join(written) + "normalization = maxabsval 1\n"


def test_references_without_candidates_are_mentioned(capsys, small, tmp_path):
    (tmp_path / "refs").write_text((small / "refs").read_text() + "one more\nand more\n")
    base = [small / "list", "--references", tmp_path / "refs", "--restarts", "0"]
    code, out, err = run(capsys, "tune", *base, "-o", tmp_path / "tuned")
    missing = f"2 of 14 segments of {tmp_path / 'refs'} have no candidates"
    assert (code, out) == (1, "")
    assert f"{missing}; --allow-missing tunes on the others" in err
    assert not (tmp_path / "tuned").exists()
    code, _, err = run(capsys, "tune", *base, "--allow-missing")
    assert code == 0
    assert missing in err
    assert "no weights are given: starting from 1 for each of the" in err
    assert "segments of" not in run(capsys, "tune", *base, "--allow-missing", "-q")[2]


GOOD = "0 ||| a b ||| LM0= -1 TM0= 1 2 Distortion0= 0 ||| -1\n"
BAD_LISTS = {
    "list:812: expected 4 features like line 1 of .*list, found 3: no TM0_0": (
        GOOD * 811 + "0 ||| a ||| LM0= -1 TM0= 1 Distortion0= 0 ||| -1\n"
    ).encode(),
    "list:2: expected .*number": (GOOD + GOOD.replace("TM0= 1", "TM0= nan")).encode(),
    "list:3: expected .*number": (GOOD + GOOD + GOOD.replace("LM0= -1", "LM0= -inf")).encode(),
    "list:2: expected a finite number, found 'best'": (GOOD + GOOD.replace("||| -1", "||| best")).encode(),
    "list:2: segment 1: expected one of the 1 segments of .*refs, from 0": (GOOD + "1" + GOOD[1:]).encode(),
    "list:2: segment x: expected one of the 1 segments of .*refs, from 0": (GOOD + "x" + GOOD[1:]).encode(),
    "list:2: segment ²: expected one of the 1 segments of .*refs, from 0": (GOOD + "²" + GOOD[1:]).encode(),
    "list:2: segment 00 is called 0 elsewhere": (GOOD + "0" + GOOD).encode(),
    "list:2: expected an id before": (GOOD + GOOD[1:]).encode(),
    "list: expected candidates, found an empty list": b"",
    "list:2: expected UTF-8, found byte 0xff": (GOOD + GOOD)
    .encode()
    .replace(b"a b", b"a \xff")
    .replace(b"\xff", b"b", 1),
    "list:2: expected text, found a NUL character": (GOOD + GOOD.replace("a b", "a\0b")).encode(),
    "list:1: expected id": b"no list at all\n",
    "list:1: expected JSON": b"{no list at all\n",
    "the lists have no features to tune": b"0 ||| a\n0 ||| b\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("message", BAD_LISTS)
def test_bad_lists_are_named_and_nothing_is_written(capsys, tmp_path, message):
    (tmp_path / "list").write_bytes(BAD_LISTS[message])
    (tmp_path / "refs").write_text("a b c\n")
    for metric in ("bleu", "0.5*bleu+0.5*chrf"):
        options = ["--references", tmp_path / "refs", "--metric", metric, "-o", tmp_path / "out"]
        code, out, err = run(capsys, "tune", tmp_path / "list", *options)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert re.search(message, err)
        assert not (tmp_path / "out").exists()


def test_a_truncated_gzip_file_is_named(capsys, small, tmp_path):
    (tmp_path / "list.gz").write_bytes(gzip.compress((small / "list").read_bytes())[:-200])
    code, out, err = tune(capsys, small, "-o", tmp_path / "out", lists=[tmp_path / "list.gz"])
    assert (code, out) == (1, "")
    assert "expected a whole gzip file" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            "LM0= 1\nTM0= 1 1\nDistortion0= 1\nOther0= 1\n",
            "weights:4: a weight of Other0, which is not a feature",
        ),
        ("LM0= 1\nTM0= 1 1 1\nDistortion0= 1\n", "weights:2: a weight of TM0_2, which is not a feature"),
        ("LM0= 1\nTM0= 1 1\n", "weights: expected weights of all features, missing Distortion0"),
        ("LM0= 1\nTM0= 1 nan\n", "weights:2: expected a finite number, found 'nan'"),
        ('{"LM0": 1,\n"Other": 2}', "weights:2: a weight of Other, which is not a feature"),
        (
            "".join(f"{n} ||| 2 Opt 0 1 0 1\n" for n in NAMES),
            "weights:1: the bounds 0..1 of LM0 exclude its start 2",
        ),
        ("", "weights: expected weights, found none"),
    ],
)
def test_bad_weights_are_named_and_nothing_is_written(capsys, small, tmp_path, weights, message):
    (tmp_path / "weights").write_text(weights)
    code, out, err = tune(capsys, small, "-o", tmp_path / "out", weights=tmp_path / "weights")
    assert (code, out) == (1, "")
    assert message in err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ([], 1, "the metric bleu needs --references"),
        (["--metric", "rypt"], 1, "the metric rypt needs --campaign"),
        (["--metric", "best"], 1, "unknown metric 'best'"),
        (
            ["REF", "--fix", "nothing"],
            1,
            "nothing is not a feature; expected one of LM0, TM0_0, TM0_1, Distortion0",
        ),
        (["REF", "--tune", "nothing"], 1, "the lists have no feature nothing"),
        (["REF", "--bound", "LM0=2..3"], 1, "the bounds 2..3 of LM0 exclude its start 1"),
        (["REF", "--bound", "LM0"], 1, "--bound LM0: expected FEATURE=LOW..HIGH"),
        (["REF", "--bound", "x=0..1"], 1, "x is not a feature"),
        (["REF", "--range", "LM0=0.."], 1, "the range of LM0 for random starts is empty or infinite"),
        (["REF", "--norm", "big"], 1, "norm big: expected none, l1, l2, max, or FEATURE=VALUE above 0"),
        (["REF", "--norm", "x=1"], 1, "x is not a feature"),
        (["REF", "--plot", "x.gif"], 1, "x.gif: expected a name ending in"),
        (["REF", "--patience", "2"], 2, "--patience needs --decoder, --replay or --zmert"),
        (["REF", "--algorithm", "pro", "--aim", "list"], 2, "--aim needs --algorithm mert"),
        (["REF", "--seed", "-5"], 2, "-5 is not in the range"),
        (["REF", "-", "--dask", "tcp://127.0.0.1:1"], 2, "--dask cannot read standard input"),
        (["REF", "--decoder", "x"], 2, "expected one of: n-best LISTS, --decoder"),
        (["REF", "--algorithm", "best"], 2, "'best' is not one of"),
        (["REF", "--weights", "missing"], 1, "missing: No such file"),
        (["--references", "missing"], 1, "missing: no such file"),
        (["REF", "more"], 1, "more: No such file"),
    ],
)
def test_bad_options(capsys, small, tmp_path, options, code, message):
    options = [x for o in options for x in (["--references", small / "refs"] if o == "REF" else [o])]
    found, out, err = run(capsys, "tune", small / "list", *options, "-o", tmp_path / "out")
    assert (found, out) == (code, "")
    assert message in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["-o", "--plot"])
def test_a_folder_that_is_not_there_is_noticed_before_the_work(capsys, small, tmp_path, option):
    decoder = ["--decoder", "touch {weights} {nbest} ran", "--weights", small / "weights"]
    place = tmp_path / "nowhere" / "out.svg"
    code, _, err = run(capsys, "tune", *decoder, "--references", small / "refs", option, place)
    assert (code, err) == (1, f"rypt: {place}: its folder does not exist\n")


def test_a_score_of_0_is_no_success(capsys, small, tmp_path):
    (tmp_path / "refs").write_text("\n" * len((small / "refs").read_text().splitlines()))
    options = ["--references", tmp_path / "refs", "--restarts", 0, "-o", tmp_path / "out"]
    code, _, err = run(capsys, "tune", small / "list", *options)
    assert (code, "the best score found is 0" in err.splitlines()[-1]) == (1, True)
    assert not (tmp_path / "out").exists()


def test_metrics_from_columns_and_files(capsys, tmp_path):
    rows = [
        {"id": i, "candidate": f"{word} {i}", "features": {"a": value, "b": -value * i}, "comet": 1 - value}
        for i in range(4)
        for word, value in (("one", 0.1), ("two", 0.5), ("three", 0.9))
    ]
    path = tmp_path / "list.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scores = tmp_path / "scores.txt"
    scores.write_text("".join(f"{row['comet']}\n" for row in rows))
    results = []
    for metric in ("column(comet)", f"scores({scores})", "0.5*column(comet) - 0.5*column(a,better=lower)"):
        code, out, err = run(capsys, "tune", path, "--metric", metric, "--json")
        assert code == 0, err
        results.append(json.loads(out))
        assert ("the feature a is what is tuned to: it gets no weight" in err) == ("column(a" in metric)
    assert results[0]["score"] == pytest.approx(0.9)
    assert results[0]["weights"] == results[1]["weights"]
    assert list(results[2]["weights"]) == ["b"]
