"""The command: what it prints where, and how it fails."""

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from commands import run

from rypt.cli import program as cli

pytestmark = pytest.mark.slow

RYPT = str(Path(sys.executable).parent / "rypt")


def test_help_lists_every_command(capsys):
    code, out, _ = run(capsys, "--help")
    assert (code, run(capsys, "score", "--nonsense")[0], run(capsys, "dance")[0]) == (0, 2, 2)
    for name in ("check", "demo", "export", "explain", "init", "queries", "score"):
        assert f"\n  {name} " in out
    assert run(capsys, "--version")[1].startswith("rypt, version ")


def test_score(capsys, demo_campaign):
    code, out, err = run(capsys, "score", demo_campaign)
    assert (code, err) == (0, "")
    assert out.startswith("RYPT = 0.")
    assert "RYPT|nodes:spans|" in out.splitlines()[-1]
    number = run(capsys, "score", demo_campaign, "-b")[1]
    assert float(number) == pytest.approx(float(out.split()[2]))
    report = json.loads(run(capsys, "score", demo_campaign, "--json", "--segments")[1])
    assert report["coverage"]["before"] < report["coverage"]["after"] <= 1
    assert (len(report["segments"]), report["without_parse"]) == (39, 1)
    best = json.loads(run(capsys, "score", demo_campaign, "--json", "--pick", "best")[1])
    assert best["score"] == pytest.approx(report["best"])
    assert best["score"] >= report["score"]


@pytest.mark.parametrize(
    "options", [("--model", "table"), ("--unknown", "ignore"), ("--ties", "no"), ("--pick", "best")]
)
def test_every_choice_is_in_the_signature(capsys, demo_campaign, options):
    report = json.loads(run(capsys, "score", demo_campaign, "--json", *options)[1])
    assert f"{options[0].lstrip('-')}:{options[1]}" in report["signature"].split("|")


def test_score_of_plain_output(capsys, demo_campaign):
    """The references, with their alignments, as the output of a system."""
    files = [demo_campaign / "reference.en", "--alignments", demo_campaign / "reference.align"]
    report = json.loads(run(capsys, "score", demo_campaign, "--json", "--candidates", *files)[1])
    first = json.loads(run(capsys, "score", demo_campaign, "--json")[1])
    assert report["score"] > first["score"]


def test_explain_writes_a_picture(capsys, demo_campaign, tmp_path):
    picture = tmp_path / "tree.svg"
    code, out, err = run(capsys, "explain", "7", "3", "-C", demo_campaign, "-o", picture)
    assert (code, err) == (0, f"{picture}: the picture was written\n")
    assert out.startswith("segment 7, candidate 3: RYPT ")
    assert "<svg" in picture.read_text(encoding="utf-8")


def test_init_then_score(capsys, demo_campaign, tmp_path):
    arguments = ["--source", demo_campaign / "source.de", "--trees", demo_campaign / "trees.de"]
    arguments += ["--nbest", demo_campaign / "nbest.en", "--languages", "de-en"]
    code, out, err = run(capsys, "init", tmp_path / "campaign", *arguments)
    assert (code, out) == (0, "")
    assert "40 segments, 800 candidates" in err
    assert "1 segment without a parse, left out of scores and queries" in err
    assert run(capsys, "score", tmp_path / "campaign", "-b")[1] == "0.5000\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["explain", "99", "-C", "CAMPAIGN"], 1, "segment '99' is not in the campaign"),
        (["score", "/dev"], 1, "/dev: expected a campaign, a folder with rypt.toml; `rypt init FOLDER"),
        (["score", "CAMPAIGN", "--model", "table", "--unknown", "no"], 2, "unknown is an option of"),
        (["score", "CAMPAIGN", "--alignments", "x"], 2, "expected candidates, too"),
        (
            ["init", "x", "--source", "s", "--nbest", "n", "--languages", "deutsch"],
            2,
            "expected a language pair",
        ),
    ],
)
def test_failures_are_one_line(capsys, demo_campaign, arguments, code, message):
    arguments = [str(demo_campaign) if argument == "CAMPAIGN" else argument for argument in arguments]
    ended, out, err = run(capsys, *arguments)
    assert (ended, out, err.count("\n")) == (code, "", 1)
    assert err.startswith("rypt: ")
    assert message in err


def test_an_output_that_cannot_show_a_character(demo_campaign):
    environment = os.environ | {"PYTHONIOENCODING": "latin1"}
    command = [RYPT, "explain", "3", "-C", str(demo_campaign)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "set PYTHONIOENCODING=utf-8" in done.stderr


def test_a_broken_command_does_not_break_the_others(capsys, monkeypatch):
    broken = EntryPoint("broken", "no_such_module:command", cli.GROUP)
    working = EntryPoint("score", "rypt.cli.campaign:score", cli.GROUP)
    monkeypatch.setattr(cli, "entry_points", lambda group: [broken, working])
    code, out, _ = run(capsys, "--help")
    assert (code, "score" in out) == (0, True)
    code, _, err = run(capsys, "broken")
    assert (code, "cannot be loaded" in err) == (1, True)


def test_a_closed_pipe_is_no_traceback(demo_campaign):
    command = f"{RYPT} queries {demo_campaign} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize("text", ["x" * 5_000_000, "\x1b[2J" * 1000], ids=["long", "control"])
def test_a_message_shows_little_of_the_input_and_no_control_characters(capsys, tmp_path, text):
    (tmp_path / "x.jsonl").write_text(text)
    code, out, err = run(capsys, "rank", tmp_path / "x.jsonl")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert len(err) < 1200
    assert "\x1b" not in err
