"""``rypt tune``."""

import json

import pytest
from commands import run


@pytest.fixture
def demo(demo_campaign):
    nbest, weights = demo_campaign / "nbest.en", demo_campaign / "weights.init"
    return [nbest, "--weights", weights, "--restarts", "3", "--json", "-q"], demo_campaign


@pytest.mark.parametrize("metric", ["bleu", "rypt"])
def test_tuning_the_demo(capsys, demo, tmp_path, metric):
    arguments, folder = demo
    source = ["--references", folder / "reference.en"] if metric == "bleu" else ["--campaign", folder]
    output = tmp_path / "weights"
    code, out, _ = run(capsys, "tune", *arguments, "--metric", metric, *source, "-o", output)
    assert code == 0
    result = json.loads(out)
    assert result["score"] > result["start_score"]
    assert set(result["seconds"]) == {"read", "stats", "optimize"}
    assert result["signature"].startswith(metric.upper())
    assert output.read_text().startswith("Distortion0= ")
    assert (
        json.loads(run(capsys, "tune", *arguments, "--metric", metric, *source, "--threads", "2")[1])["weights"]
        == (result["weights"])
    )


def test_text_output(capsys, demo):
    arguments, folder = demo
    plain = [a for a in arguments if a not in ("--json", "-q")]
    code, out, err = run(capsys, "tune", *plain, "--references", folder / "reference.en", "--fix", "LM0")
    assert code == 0
    assert "LM0                             0.060000" in out
    assert "→" in out
    assert "next best starts" in err


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ([], 2, "--metric bleu needs --references"),
        (["--metric", "rypt"], 2, "--metric rypt needs --campaign"),
        (["--references", "REF", "--fix", "nothing"], 1, "the lists have the features Distortion0"),
        (["--references", "missing"], 1, "missing: No such file"),
    ],
)
def test_failures(capsys, demo, options, code, message):
    arguments, folder = demo
    options = [folder / "reference.en" if o == "REF" else o for o in options]
    found, out, err = run(capsys, "tune", *arguments, *options)
    assert (found, out) == (code, "")
    assert message in err
