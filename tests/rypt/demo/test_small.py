"""The small bundled campaign."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rypt.campaign.folder import Campaign
from rypt.demo.texts import open_demo
from rypt.text import InputError

ROOT = Path(__file__).resolve().parents[3]


def test_the_data_is_as_large_as_promised_and_its_judgments_are_simulated(demo_campaign):
    campaign = Campaign.open(demo_campaign)
    assert sum(tree is not None for tree in campaign.trees.values()) >= 30
    assert set(Counter(candidate.segment for candidate in campaign.candidates).values()) == {20}
    assert {len(candidate.features) for candidate in campaign.candidates} == {6}
    with campaign.database() as db:
        assert {(j.source, j.worker.startswith("simulated-")) for j in db.judgments()} == {
            ("simulation", True)
        }


def test_an_interrupted_demo_is_resumed_and_another_run_changes_nothing(tmp_path):
    (tmp_path / "source.de").write_text("half")
    for _ in range(2):
        campaign = open_demo(tmp_path)
        assert len(campaign.segments) == 40
        with campaign.database() as db:
            assert db.count() == 2274


@pytest.mark.parametrize(
    ("name", "message"),
    [("rypt.toml", "is a campaign, but not the demo's"), ("x.tex", "a new or empty folder")],
)
def test_a_folder_with_other_things_is_left_alone(tmp_path, name, message):
    (tmp_path / name).write_text('[files]\nsource = "mine"\n')
    with pytest.raises(InputError, match=message):
        open_demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "made"),
    [
        ("make_candidates.py", ["nbest.en", "trees.de", "source.de"]),
        ("make_judgments.py", ["judgments.jsonl"]),
    ],
)
def test_the_data_is_what_its_scripts_make(tmp_path, script, made):
    """Run the generators on a copy of the tree: the same bytes come out."""
    for folder in ("examples/demo", "rypt/demo/data"):
        (tmp_path / folder).mkdir(parents=True)
        for path in (ROOT / folder).iterdir():
            if path.is_file():
                (tmp_path / folder / path.name).write_bytes(path.read_bytes())
    for name in made:
        (tmp_path / "rypt/demo/data" / name).write_bytes(b"")
    command = [sys.executable, str(tmp_path / "examples/demo" / script)]
    subprocess.run(command, check=True, capture_output=True, timeout=300, cwd=ROOT)
    for name in made:
        path = Path("rypt/demo/data", name)
        assert (tmp_path / path).read_bytes() == (ROOT / path).read_bytes()
    errors = [json.loads(line) for line in (ROOT / "examples/demo/errors.jsonl").read_text().splitlines()]
    candidates = (ROOT / "rypt/demo/data/nbest.en").read_text(encoding="utf-8").splitlines()
    for error, line in zip(errors, candidates, strict=True):
        segment, text = [field.strip() for field in line.split("|||")[:2]]
        assert error["segment"] == segment
        assert all(0 <= i < len(text.split()) for i in error["wrong"])
