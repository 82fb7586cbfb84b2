"""``rypt status``."""

import json

import pytest

from rypt.cli import program as cli


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = 0
    try:
        cli.main([str(word) for word in words])
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_one_screen(capsys, demo_campaign):
    code, out, err = run(capsys, "status", demo_campaign)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) <= 24
    assert "segments    40 (1 without a parse)" in lines
    assert "candidates  800 in 1 list" in lines
    assert "labels      2,274 judgments of 758 keys: 2,274 SIMULATED" in lines
    assert "coverage    37.0% of constituents, 70.4% after percolation" in lines
    assert "cost        $0.00" in lines
    assert lines[-2] == f"next: rypt tune {demo_campaign} --metric rypt -o {demo_campaign}/rypt.weights"


def test_json(capsys, demo_campaign):
    code, out, _ = run(capsys, "status", demo_campaign, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["labels"]["sources"] == {"simulated": 2274}
    assert found["people"]["alpha"] is None  # simulated judgments are nobody's
    assert found["spent"]["total"] == "0.00"
    assert found["next"]["command"].startswith("rypt tune ")


def test_the_folder_one_is_in(capsys, demo_campaign, monkeypatch):
    monkeypatch.chdir(demo_campaign)
    _, out, _ = run(capsys, "status")
    assert "next: rypt tune . --metric rypt -o rypt.weights" in out


def test_no_campaign(capsys, tmp_path):
    code, out, _ = run(capsys, "status", tmp_path)
    assert code == 0
    assert out.startswith("next: rypt init ")
