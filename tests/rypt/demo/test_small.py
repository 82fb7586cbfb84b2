"""The bundled demo."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rypt.campaign.folder import Campaign
from rypt.demo.texts import open_demo
from rypt.text import InputError

ROOT = Path(__file__).resolve().parents[3]


def test_the_data_is_as_large_as_promised(demo_campaign):
    campaign = Campaign.open(demo_campaign)
    assert sum(tree is not None for tree in campaign.trees.values()) >= 30
    counts = {}
    for candidate in campaign.candidates:
        counts[candidate.segment] = counts.get(candidate.segment, 0) + 1
        assert len(candidate.features) == 6
    assert set(counts.values()) == {20}
    assert len(campaign.references[0]) == len(campaign.segments)


def test_judgments_are_plainly_simulated(demo_campaign):
    with Campaign.open(demo_campaign).database() as db:
        judgments = list(db.judgments())
    assert judgments
    assert all(j.source == "simulation" and j.worker.startswith("simulated-") for j in judgments)


def test_a_second_run_uses_what_is_there(tmp_path):
    first = open_demo(tmp_path / "demo")
    with first.database() as db:
        before = list(db.judgments())
    with open_demo(tmp_path / "demo").database() as db:
        assert list(db.judgments()) == before


def test_another_campaign_is_left_alone(tmp_path):
    (tmp_path / "rypt.toml").write_text('[files]\nsource = "mine"\n')
    with pytest.raises(InputError, match="is a campaign, but not the demo's"):
        open_demo(tmp_path)


def test_an_interrupted_demo_goes_on(tmp_path):
    (tmp_path / "source.de").write_text("half")
    campaign = open_demo(tmp_path)
    assert len(campaign.segments) == 40


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="expected a new or empty folder"):
        open_demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("script", ["make_candidates.py", "make_judgments.py"])
def test_the_data_is_what_its_scripts_make(tmp_path, script):
    """Run the generators on a copy of the tree: the same bytes come out."""
    for folder in ("examples/demo", "rypt/demo/data"):
        (tmp_path / folder).mkdir(parents=True)
        for path in (ROOT / folder).iterdir():
            if path.is_file():
                (tmp_path / folder / path.name).write_bytes(path.read_bytes())
    made = ["nbest.en", "trees.de", "source.de"] if script == "make_candidates.py" else ["judgments.jsonl"]
    for name in made:
        (tmp_path / "rypt/demo/data" / name).write_bytes(
            b"" if script == "make_candidates.py" else (ROOT / "rypt/demo/data" / name).read_bytes()[:100]
        )
    command = [sys.executable, str(tmp_path / "examples/demo" / script)]
    subprocess.run(command, check=True, capture_output=True, timeout=300, cwd=ROOT)
    for name in made:
        assert (tmp_path / "rypt/demo/data" / name).read_bytes() == (
            ROOT / "rypt/demo/data" / name
        ).read_bytes()


def test_error_marks_belong_to_the_candidates():
    errors = [json.loads(line) for line in (ROOT / "examples/demo/errors.jsonl").read_text().splitlines()]
    candidates = (ROOT / "rypt/demo/data/nbest.en").read_text(encoding="utf-8").splitlines()
    assert len(errors) == len(candidates)
    for error, line in zip(errors, candidates, strict=True):
        segment, text = [field.strip() for field in line.split("|||")[:2]]
        assert error["segment"] == segment
        assert all(0 <= i < len(text.split()) for i in error["wrong"])
