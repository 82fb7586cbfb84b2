"""``rypt import`` as its users meet it, on the bundled campaign."""

import json
from pathlib import Path

import pytest
from commands import run

from rypt.campaign.folder import Campaign
from rypt.cli.imports import file_format
from rypt.demo.texts import open_demo

HEADER = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"
TSV = (
    HEADER
    + "A\td\t1\t7\tr1\tDas ist gut.\tThat is <v>god</v>.\tSpelling\tMajor\n"
    + "A\td\t2\t9\tr1\tJa!\tYes!\tNo-error\tNo-error\n"
    + "B\td\t1\t7\tr2\tDas ist gut.\tThis is good.\tNo-error\tNo-error\n"
    + "C\td\t1\t7\tr2\tDas ist gut.\tThat is good.\tNo-error\tNo-error\n"
    + "Human-A.0\td\t1\t7\tr2\tDas ist gut.\tThat's good.\tNo-error\tNo-error\n"
)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """The demo campaign without its simulated judgments."""
    folder = tmp_path / "campaign"
    open_demo(folder)
    opened = Campaign.open(folder)
    with opened.database(readonly=False) as db:
        db.db.execute("DELETE FROM judgment_rows")
        db.db.commit()
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


@pytest.mark.slow
def test_mqm(campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = mqm_file(campaign, tmp_path / "mqm.tsv")
    command = ["import", tmp_path / "mqm.tsv", "-C", campaign.folder]
    code, out, err = run(capsys, *command, "--scores", tmp_path / "none" / "s")
    assert (code, out, err) == (1, "", f"rypt: {tmp_path}/none/s: No such file or directory\n")
    code, out, err = run(capsys, *command, "--scores", tmp_path / "scores.jsonl")
    assert code == 0
    assert f"from {2 * count} of {2 * count} ratings (2 raters, {count} systems)" in out
    assert f"{2 * count} scores written" in err
    scores = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    lower = {("r1", 5.0, "lower"), ("r2", 0.0, "lower")}
    assert {(s["rater"], s["score"], s["better"]) for s in scores} == lower
    with campaign.database() as db:
        judgments = list(db.judgments())
    assert {j.label for j in judgments if j.worker == "r2"} == {"YES"}
    assert {j.label for j in judgments if j.worker == "r1"} == {"YES", "NO"}
    code, out, _ = run(capsys, *command, "--json")
    (facts,) = json.loads(out)
    assert (code, facts["added"], facts["already"]) == (0, 0, len(judgments))
    code, out, err = run(capsys, *command, "--severity", "critical")
    assert (code, out) == (1, "")
    assert "imported with other options" in err
    code, out, _ = run(capsys, *command, "--exclude-rater", "r2")
    assert f"{count} ratings not used: by raters left out" in out
    assert run(capsys, *command, "--rename", "a=b")[0] == 2


@pytest.mark.slow
def test_esa(campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment = campaign.segments[0]
    candidate = next(c for c in campaign.candidates if c.segment == segment.id)
    record = {"src": segment.text, "system": "A", "tgt": candidate.text, "esa_score": 61}
    spans = [{"start_i": 0, "end_i": 0, "severity": "major"}]
    (tmp_path / "esa.jsonl").write_text(json.dumps(record | {"esa_spans": spans}) + "\n", encoding="utf-8")
    command = ["import", tmp_path / "esa.jsonl", "-C", campaign.folder]
    code, out, _ = run(capsys, *command, "--scores", tmp_path / "s.jsonl")
    assert code == 0
    assert "from 1 of 1 rating (1 rater, 1 system)" in out
    score = json.loads((tmp_path / "s.jsonl").read_text())
    assert score == {"segment": segment.id, "system": "A", "rater": "esa", "score": 61, "better": "higher"}


def test_where_there_is_no_campaign_one_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my file.tsv").write_text(TSV.replace("<v>god</v>", "<v>god"), encoding="utf-8")
    command = ("import", "my file.tsv", "-C", "made", "--reference", "Human-A.0", "--repairs", "r.jsonl")
    code, out, err = run(capsys, *command, "--strict")
    assert (code, out, err) == (
        1,
        "",
        "rypt: my file.tsv:2: expected </v> after <v>, found the end of the text\n",
    )
    assert list(Path().iterdir()) == [Path("my file.tsv")]
    code, out, err = run(capsys, *command)
    assert code == 0, err
    assert "1 segment left out: without Human-A.0" in err
    assert "from 4 of 5 ratings (2 raters, 4 systems)" in out
    assert out.splitlines()[-1] == "  1 mark without an end, closed at the end of the text"
    (repair,) = (json.loads(line) for line in Path("r.jsonl").read_text(encoding="utf-8").splitlines())
    assert (repair["line"], repair["kind"]) == (2, "mark-not-closed")
    assert json.loads(run(capsys, *command, "--json")[1])[0]["repairs"] == {"mark-not-closed": 1}
    assert run(capsys, "compare", "scores", "made", "--splits", "1")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x.tsv", "--reference", "B"], "no rating is of 'B'"),
        (["y.csv", "--format", "mqm"], "y.csv:1: expected 10 fields between tabs"),
        (["y.csv", "--format", "esa"], "y.csv: Appraise's CSV has no texts; --batches names"),
        (["y.csv"], "y.csv:1: expected a column label"),
        (["e.jsonl", "--reference", "A"], "expected one language pair, found en-cs, en-de"),
        (["none", "--format", "mqm"], "none: No such file"),
    ],
)
def test_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.tsv").write_text(TSV.replace("B\t", "D\t"), encoding="utf-8")
    Path("y.csv").write_text("a,b\n")
    record = {"line_id": 7, "src": "Yes.", "tgt": "Ja.", "esa_spans": [], "esa_score": 9, "system": "A"}
    lines = [json.dumps(record | {"langs": pair}) + "\n" for pair in ("en-cs", "en-de")]
    Path("e.jsonl").write_text("".join(lines))
    code, out, err = run(capsys, "import", *arguments, "-C", "new")
    assert (code, out) == (1, "")
    assert message in err
    assert not Path("new/rypt.toml").exists()


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("segment,start,stop,phrase,label,worker", "judgments"),
        ('{"id": "0", "text": "das Haus"}', "judgments"),
        ("system\tseg_id\tj\tk\tphrase\tany\trater", "judgments"),  # columns to rename
        (HEADER.strip(), "mqm"),
        ("A\td\t1\t7\tr1\tJa.\tYes.\tNo-error\tNo-error\t{}", "mqm"),
        ("eng1,A,1,TGT,eng,deu,91,doc#1,False,[],1.0,2.0", "esa"),
        ('{"src": "Ja.", "tgt": "Yes.", "esa_spans": []}', "esa"),
        ('"HITId","AssignmentId","WorkerId","Answer.label_1"', "results"),
        ('{"assignment": "a1", "worker": "A1"}', "results"),
        ("", "judgments"),
    ],
)
def test_the_first_line_says_what_a_file_is(tmp_path: Path, line: str, form: str) -> None:
    (tmp_path / "file").write_text(line + "\n")
    assert file_format(str(tmp_path / "file")) == form


def test_files_of_two_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.tsv").write_text(TSV)
    (tmp_path / "b.csv").write_text("segment,label\n")
    assert run(capsys, "import", tmp_path / "a.tsv", tmp_path / "b.csv", "-C", tmp_path / "c")[0] == 2
    assert not (tmp_path / "c").exists()
