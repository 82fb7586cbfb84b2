"""``rypt import`` as its users meet it, on the bundled campaign."""

import json
from pathlib import Path

import pytest
from commands import run

from rypt.campaign import Campaign
from rypt.demo_campaign import open_demo

HEADER = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """The demo campaign without its simulated judgments."""
    folder = tmp_path / "campaign"
    open_demo(folder)
    opened = Campaign.open(folder)
    with opened.database(readonly=False) as db:
        db.db.execute("DELETE FROM judgments")
        db.db.conn.commit()
    return opened


def mqm_file(campaign: Campaign, path: Path) -> int:
    """Two raters of each candidate of the first segment: one marks the first word, one nothing."""
    segment = campaign.segments[0]
    own = [c for c in campaign.candidates if c.segment == segment.id]
    lines = []
    for i, candidate in enumerate(own):
        first, rest = candidate.tokens[0], " ".join(candidate.tokens[1:])
        begin = f"sys{i}\tdoc\t1\t{segment.id}"
        lines.append(f"{begin}\tr1\t{segment.text}\t<v>{first}</v> {rest}\tStyle\tMajor\n")
        lines.append(f"{begin}\tr2\t{segment.text}\t{candidate.text}\tNo-error\tNo-error\n")
    path.write_text(HEADER + "".join(lines), encoding="utf-8")
    return len(own)


def test_mqm(campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = mqm_file(campaign, tmp_path / "mqm.tsv")
    command = ["import", "mqm", tmp_path / "mqm.tsv", "-C", campaign.folder]
    code, out, err = run(capsys, *command, "--scores", tmp_path / "scores.jsonl")
    assert code == 0
    assert f"from {2 * count} of {2 * count} ratings (2 raters, {count} systems)" in out
    assert f"{2 * count} scores written" in err
    scores = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert {(s["rater"], s["score"], s["better"]) for s in scores} == {("r1", 5.0, "lower"), ("r2", 0.0, "lower")}
    with campaign.database() as db:
        given = list(db.judgments())
    assert {j.label for j in given if j.worker == "r2"} == {"YES"}
    assert {j.label for j in given if j.worker == "r1"} == {"YES", "NO"}
    assert {j.source for j in given} == {"import"}
    code, out, _ = run(capsys, *command, "--json")
    facts = json.loads(out)
    assert (code, facts["added"], facts["already"]) == (0, 0, len(given))


def test_raters_can_be_chosen(campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = mqm_file(campaign, tmp_path / "mqm.tsv")
    command = ["import", "mqm", tmp_path / "mqm.tsv", "-C", campaign.folder]
    code, out, _ = run(capsys, *command, "--rater", "r2")
    assert code == 0
    assert f"{count} ratings not used: by raters left out" in out
    with campaign.database() as db:
        assert {j.worker for j in db.judgments()} == {"r2"}
    code, _, err = run(capsys, *command, "--rater", "r2", "--exclude-rater", "r2")
    assert code == 1
    assert err.startswith("rypt: ")
    assert f"of {2 * count}, {2 * count} by raters left out" in err


def test_another_reading_is_refused(campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mqm_file(campaign, tmp_path / "mqm.tsv")
    command = ["import", "mqm", tmp_path / "mqm.tsv", "-C", campaign.folder]
    assert run(capsys, *command)[0] == 0
    code, out, err = run(capsys, *command, "--severity", "critical")
    assert (code, out) == (1, "")
    assert "imported with other options" in err
    assert run(capsys, *command, "--label", "dens", "--match", "containment")[0] == 2


def test_containment_says_what_it_leaves_open(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    segment = campaign.segments[0]
    candidate = next(c for c in campaign.candidates if c.segment == segment.id)
    row = f"A\td\t1\t1\tr\t{segment.text}\t<v>{candidate.text}</v>\tOther\tMinor\n"
    (tmp_path / "mqm.tsv").write_text(HEADER + row, encoding="utf-8")
    command = ["import", "mqm", tmp_path / "mqm.tsv", "-C", campaign.folder, "--match", "containment"]
    code, out, _ = run(capsys, *command)
    assert code == 0
    assert "constituents left open: an error is partly inside them" in out
    with campaign.database() as db:
        (judgment,) = db.judgments()
    assert (judgment.label, len(judgment.span)) == ("NO", len(segment.tokens))


def test_esa(campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment = campaign.segments[0]
    candidate = next(c for c in campaign.candidates if c.segment == segment.id)
    record = {
        "annotator": "w", "source_text": segment.text, "target_id": "A", "target_text": candidate.text, "score": 61,
        "mqm_annotations": [{"start_i": 0, "end_i": 0, "severity": "major"}],
    }  # fmt: skip
    (tmp_path / "esa.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    command = ["import", "esa", tmp_path / "esa.jsonl", "-C", campaign.folder]
    code, out, _ = run(capsys, *command, "--scores", tmp_path / "s.jsonl")
    assert code == 0
    assert "from 1 of 1 ratings (1 raters, 1 systems)" in out
    score = json.loads((tmp_path / "s.jsonl").read_text())
    assert score == {"segment": segment.id, "system": "A", "rater": "w", "score": 61, "better": "higher"}


def test_a_file_of_another_kind(campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_text("a,b\n")
    for kind, said in (("mqm", "expected 10 fields"), ("esa", "--batches")):
        code, out, err = run(capsys, "import", kind, tmp_path / "x", "-C", campaign.folder)
        assert (code, out) == (1, "")
        assert said in err
    assert run(capsys, "import", "mqm", tmp_path / "none", "-C", campaign.folder)[0] == 1
