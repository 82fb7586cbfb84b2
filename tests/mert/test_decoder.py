"""Decoders: commands, replays, functions."""

import gzip
import os
import time

import pytest

from mert.decoder import CommandDecoder, NoMoreListsError, ReplayDecoder, read_decoder
from rypt.text import InputError, RyptError


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("moses -f {config}", "expected {nbest} in the command"),
        ("moses > {nbest}", "expected {weights} or {config} in the command"),
        ("moses {weigths} {nbest}", "expected {weights} or {config} in the command"),
    ],
)
def test_templates_are_checked(template, message):
    with pytest.raises(RyptError) as caught:
        CommandDecoder(template)
    assert message in str(caught.value)


def test_braces_of_the_shell_are_left_alone(tmp_path):
    decoder = CommandDecoder("awk '{print}' {weights} > {nbest}; echo ${HOME}")
    assert decoder.command(1, tmp_path / "w", tmp_path / "n").startswith("awk '{print}' ")
    assert decoder.command(1, tmp_path / "w", tmp_path / "n").endswith("echo ${HOME}")


def test_a_command_runs_in_a_shell_with_quoted_paths(tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "w").write_text("weights\n")
    CommandDecoder("cat {weights} > {nbest}; echo {iteration} said")(4, folder / "w", folder / "n")
    assert (folder / "n").read_text() == "weights\n"
    assert (folder / "w.log").read_text() == "4 said\n"


def test_a_command_that_a_signal_ends(tmp_path):
    with pytest.raises(
        RyptError, match=r"was killed by signal 9 in iteration 1; it said nothing \(see .*w.log\)"
    ):
        CommandDecoder(": {weights} {nbest}; kill -9 $$")(1, tmp_path / "w", tmp_path / "n")


@pytest.mark.slow
def test_what_a_command_started_ends_with_it(tmp_path):
    command = CommandDecoder(
        "(while :; do :; done) & echo $! > {folder}/pid; : {weights} {nbest}; wait", timeout=1
    )
    with pytest.raises(RyptError, match="did not finish in 1 seconds"):
        command(1, tmp_path / "w", tmp_path / "n")
    pid = (tmp_path / "pid").read_text().strip()
    until = time.monotonic() + 180
    while (state := _state(pid)) not in ("Z", "gone") and time.monotonic() < until:
        os.sched_yield()
    assert state in ("Z", "gone")


def _state(pid):
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


def test_functions_by_name(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "def decode(iteration, weights, nbest):\n    nbest.write_text(weights.name)\n"
    )
    monkeypatch.chdir(tmp_path)
    read_decoder("mine:decode")(1, tmp_path / "w", tmp_path / "n")
    assert (tmp_path / "n").read_text() == "w"
    with pytest.raises(RyptError, match="has no attribute 'nothing'"):
        read_decoder("mine:nothing")
    with pytest.raises(RyptError, match="No module named 'not_there'"):
        read_decoder("not_there:decode")


def test_a_function_that_fails(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("def decode(iteration, weights, nbest):\n    return 1 / 0\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RyptError, match="the decoder failed in iteration 3: ZeroDivisionError"):
        read_decoder("broken:decode")(3, tmp_path / "w", tmp_path / "n")


def test_replay(tmp_path):
    with gzip.open(tmp_path / "old.gz", "wt") as stream:
        stream.write("0 ||| a ||| x= 1 ||| 0\n")
    replay = ReplayDecoder([tmp_path / "old.gz"])
    replay(1, tmp_path / "w", tmp_path / "n")
    assert (tmp_path / "n").read_text() == "0 ||| a ||| x= 1 ||| 0\n"
    with pytest.raises(NoMoreListsError):
        replay(2, tmp_path / "w", tmp_path / "n")
    with pytest.raises(InputError, match="missing: No such file"):
        ReplayDecoder([tmp_path / "missing"])
