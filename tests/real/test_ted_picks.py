"""RYPT's picks against BLEU's by public human judgments (MQM of TED talks) that the labels did not come from.

A replication by other code found net wins of .032 at maxLen 4 (200 splits, ties NO) and controls that win nothing.
"""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from commands import run

pytestmark = pytest.mark.real


def test_rypt_beats_bleu_and_labels_that_say_nothing_do_not(
    capsys: pytest.CaptureFixture[str], ted: Path
) -> None:
    options = ["--scores", ted / "scores.jsonl", "--judging", 7, "--judged-only", "ref", "--max-len", 4]
    options += ["--metrics", "rypt,bleu"]
    code, out, err = run(capsys, "compare", ted, *options, "--splits", 40, "--with-controls", "--json", "-q")
    assert code == 0, err
    found = json.loads(out)
    ours, *controls = found["outcomes"]
    assert 0.015 < ours["net"] < 0.05
    assert ours["low"] > 0
    assert ours["p"] < 0.05
    assert ours["segments"] == 529
    assert [control["metric"] for control in controls] == ["rypt, coverage", "rypt, permuted"]
    for control in controls:
        assert control["low"] < 0
        assert control["net"] < 0.005
    mqm = {name: -value for name, value in found["quality"].items()}
    assert mqm["rypt"] == pytest.approx(1.292, abs=0.03)
    assert mqm["bleu"] == pytest.approx(1.437, abs=0.03)
    assert mqm["random"] == pytest.approx(1.584, abs=0.03)
    assert mqm["best"] == pytest.approx(0.079, abs=0.02)


def test_half_of_the_labels_are_enough_when_the_valuable_are_bought_first(
    ted: Path, bench: Callable[[str], ModuleType]
) -> None:
    replay = bench("replay")
    evidence = replay.read_evidence(replay.Campaign.open(ted), ted / "scores.jsonl", [replay.BLEU], max_len=4)
    split = evidence.splits("system", 1, 1, judging=7, judged_only=["ref"]).splits[0]
    world = replay.World(evidence.data, split)
    curves = {name: replay.replay(world, name, 4, 1).mean(axis=2) for name in ("frontier", "served", "value")}
    full = curves["frontier"][-1]
    for curve in curves.values():
        assert curve[-1] == pytest.approx(full)
        assert curve[0] == pytest.approx(curves["frontier"][0])
    half = {name: curve[2, 1] for name, curve in curves.items()}  # the MQM of the pick
    assert half["value"] < half["frontier"] < half["served"]
    assert half["value"] < full[1] + 0.05
