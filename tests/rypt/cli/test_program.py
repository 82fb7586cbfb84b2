"""The command: what it prints where, how it fails, and that it starts quickly."""

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from commands import run

from rypt.cli import program as cli


def test_help_lists_every_command(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for name in ("completion", "db", "demo", "explain", "init", "queries", "score"):
        assert f"\n  {name} " in out


def test_version(capsys):
    assert run(capsys, "--version")[1].startswith("rypt, version ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(capsys, shell):
    code, out, _ = run(capsys, "completion", shell)
    assert code == 0
    assert "_RYPT_COMPLETE" in out


def test_completion_completes():
    environment = os.environ | {"_RYPT_COMPLETE": "bash_complete", "COMP_WORDS": "rypt sc", "COMP_CWORD": "1"}
    out = subprocess.run(
        [rypt_command()], env=environment, capture_output=True, text=True, timeout=180
    ).stdout
    assert "score" in out


def rypt_command():
    return str(Path(sys.executable).parent / "rypt")


def test_usage_errors_exit_2(capsys):
    assert run(capsys, "score", "--nonsense")[0] == 2
    assert run(capsys, "dance")[0] == 2


def test_score(capsys, demo_campaign):
    code, out, err = run(capsys, "score", demo_campaign)
    assert (code, err) == (0, "")
    assert out.startswith("RYPT = 0.")
    assert "after percolation" in out
    assert "RYPT|nodes:spans|" in out.splitlines()[-1]
    number = run(capsys, "score", demo_campaign, "-b")[1]
    assert float(number) == pytest.approx(float(out.split()[2]))


def test_score_json_and_segments(capsys, demo_campaign):
    report = json.loads(run(capsys, "score", demo_campaign, "--json", "--segments")[1])
    assert report["coverage"]["before"] < report["coverage"]["after"] <= 1
    assert len(report["segments"]) == 39
    assert report["without_parse"] == 1
    assert report["best"] >= report["score"]
    best = json.loads(run(capsys, "score", demo_campaign, "--json", "--pick", "best")[1])
    assert best["score"] == pytest.approx(report["best"])
    assert best["signature"].endswith("|n:39")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--pick", "best"], ["pick:best"]),
        (["--model", "table", "--ties", "no"], ["model:table", "ties:no", "trained:held-out-worker"]),
    ],
)
def test_every_choice_is_in_the_signature(capsys, demo_campaign, options, parts):
    signature = json.loads(run(capsys, "score", demo_campaign, "--json", *options)[1])["signature"]
    assert all(part in signature.split("|") for part in parts)


@pytest.mark.parametrize(
    "options", [("--model", "table"), ("--model", "severity"), ("--unknown", "ignore"), ("--ties", "no")]
)
def test_scoring_options_are_in_the_signature(capsys, demo_campaign, options):
    report = json.loads(run(capsys, "score", demo_campaign, "--json", *options)[1])
    assert f"{options[0].lstrip('-')}:{options[1]}" in report["signature"]


def test_score_of_plain_output(capsys, demo_campaign):
    """The references, with their alignments, as the output of a system."""
    files = [demo_campaign / "reference.en", "--alignments", demo_campaign / "reference.align"]
    report = json.loads(run(capsys, "score", demo_campaign, "--json", "--candidates", *files)[1])
    first = json.loads(run(capsys, "score", demo_campaign, "--json")[1])
    assert report["score"] > first["score"]


def test_queries_are_what_is_not_judged(capsys, demo_campaign, tmp_path):
    code, out, err = run(capsys, "queries", demo_campaign)
    assert code == 0
    records = [json.loads(line) for line in out.splitlines()]
    assert f"{len(records)} queries" in err
    target = tmp_path / "queries.jsonl"
    run(capsys, "queries", demo_campaign, "-o", target, "-q")
    assert target.read_text(encoding="utf-8") == out


def test_explain_writes_pictures(capsys, demo_campaign, tmp_path):
    for name in ("tree.svg", "tree.html"):
        code, out, err = run(capsys, "explain", "7", "3", "-C", demo_campaign, "-o", tmp_path / name)
        assert (code, err) == (0, f"{tmp_path / name}: the picture was written\n")
        assert out.startswith("segment 7, candidate 3: RYPT ")
        assert "<svg" in (tmp_path / name).read_text(encoding="utf-8")


def test_init_then_demo_commands_work_on_it(capsys, demo_campaign, tmp_path):
    arguments = ["--source", demo_campaign / "source.de", "--trees", demo_campaign / "trees.de"]
    arguments += ["--nbest", demo_campaign / "nbest.en", "--languages", "de-en"]
    code, out, err = run(capsys, "init", tmp_path / "campaign", *arguments)
    assert (code, out) == (0, "")
    assert "40 segments, 800 candidates" in err
    assert "1 segment without a parse, left out of scores and queries" in err
    assert run(capsys, "score", tmp_path / "campaign", "-b")[1] == "0.5000\n"


FAILURES = [
    (["explain", "99"], "segment '99' is not in the campaign"),
    (["explain", "0", "20"], "segment 0 has 20 candidates, numbered from 0 to 19; there is no candidate 20"),
    (["explain", "30"], "segment 30 has no parse"),
    (["explain", "0", "moses"], "best or the name of a list, found 'moses'; lists: nbest"),
]


@pytest.mark.parametrize(("arguments", "message"), FAILURES)
def test_failures_are_one_line_and_exit_1(capsys, demo_campaign, arguments, message):
    code, out, err = run(capsys, *arguments, "-C", demo_campaign)
    assert (code, out) == (1, "")
    assert err.startswith("rypt: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["score", "CAMPAIGN", "--model", "table", "--unknown", "no"],
        ["score", "CAMPAIGN", "--alignments", "x"],
        ["explain", "0", "-C", "CAMPAIGN", "-o", "x.gif"],
        ["init", "x", "--source", "s", "--nbest", "n", "--languages", "deutsch"],
    ],
)
def test_options_that_cannot_work_are_wrong_usage(capsys, demo_campaign, arguments):
    code, out, err = run(capsys, *[str(demo_campaign) if a == "CAMPAIGN" else a for a in arguments])
    assert (code, out) == (2, "")
    assert err.startswith("rypt: ")
    assert err.count("\n") == 1


def test_an_output_that_cannot_show_a_character(demo_campaign):
    environment = os.environ | {"PYTHONIOENCODING": "latin1"}
    command = [rypt_command(), "explain", "3", "-C", str(demo_campaign)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)
    assert result.returncode == 1
    assert "set PYTHONIOENCODING=utf-8" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_status_of_no_campaign_is_how_to_make_one(capsys, tmp_path):
    code, out, err = run(capsys, "status", tmp_path / "c")
    assert (code, err) == (0, "")
    assert out.startswith(
        f"next: rypt init {tmp_path / 'c'} --source SOURCE --nbest LIST --languages SRC-TGT\n"
    )
    assert not (tmp_path / "c").exists()


def test_a_missing_campaign(capsys, tmp_path):
    code, _, err = run(capsys, "score", tmp_path)
    assert code == 1
    command = "rypt init FOLDER --source SOURCE --nbest LIST --languages SRC-TGT"
    assert err == f"rypt: {tmp_path}: expected a campaign, a folder with rypt.toml; `{command}` makes one\n"


def test_a_broken_command_does_not_break_the_others(capsys, monkeypatch):
    broken = EntryPoint("broken", "no_such_module:command", cli.GROUP)
    working = EntryPoint("score", "rypt.cli.campaign:score", cli.GROUP)
    monkeypatch.setattr(cli, "entry_points", lambda group: [broken, working])
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert "score" in out
    code, _, err = run(capsys, "broken")
    assert code == 1
    assert "cannot be loaded" in err


def test_a_closed_pipe_is_no_traceback(demo_campaign):
    command = f"{rypt_command()} queries {demo_campaign} | head -1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)
    assert "Traceback" not in result.stderr
    assert len(result.stdout.splitlines()) == 1


def test_a_message_shows_little_of_the_input_and_no_control_characters(capsys, tmp_path):
    path = tmp_path / "x.jsonl"
    for text in ("x" * 5_000_000, "\x1b[2J" * 1000):
        path.write_text(text)
        code, out, err = run(capsys, "rank", path)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert len(err) < 1200
        assert "\x1b" not in err


def test_a_deeply_nested_file_is_named(capsys, tmp_path):
    (tmp_path / "rypt.toml").write_text("x = " + "[" * 100_000)
    code, _, err = run(capsys, "status", tmp_path)
    assert (code, err) == (1, f"rypt: {tmp_path}/rypt.toml: expected TOML: too deeply nested\n")
