"""``rypt import`` as its users meet it, on the bundled campaign."""

import json
import shlex
from pathlib import Path

import pytest
from commands import run

from rypt.campaign.folder import Campaign
from rypt.demo.campaign import open_demo
from rypt.tools import aligners, parsers

HEADER = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """The demo campaign without its simulated judgments."""
    folder = tmp_path / "campaign"
    open_demo(folder)
    opened = Campaign.open(folder)
    with opened.database(readonly=False) as db:
        db.db.execute("DELETE FROM judgments")
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


def test_mqm(campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = mqm_file(campaign, tmp_path / "mqm.tsv")
    command = ["import", "mqm", tmp_path / "mqm.tsv", "-C", campaign.folder]
    code, out, err = run(capsys, *command, "--scores", tmp_path / "scores.jsonl")
    assert code == 0
    assert f"from {2 * count} of {2 * count} ratings (2 raters, {count} systems)" in out
    assert f"{2 * count} scores written" in err
    scores = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert {(s["rater"], s["score"], s["better"]) for s in scores} == {
        ("r1", 5.0, "lower"),
        ("r2", 0.0, "lower"),
    }
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


def test_scores_that_cannot_be_written_stop_the_import(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mqm_file(campaign, tmp_path / "mqm.tsv")
    command = ["import", "mqm", tmp_path / "mqm.tsv", "-C", campaign.folder, "--scores"]
    code, out, err = run(capsys, *command, tmp_path / "none" / "s")
    assert (code, out, err) == (1, "", f"rypt: {tmp_path}/none/s: No such file or directory\n")
    with campaign.database() as db:
        assert db.count() == 0
    code, out, err = run(capsys, *command, "-")
    assert code == 0
    assert all(json.loads(line)["better"] == "lower" for line in out.splitlines())
    assert "judgments added" in err


def test_another_reading_is_refused(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    assert "left open: an error is partly inside" in out
    with campaign.database() as db:
        (judgment,) = db.judgments()
    assert (judgment.label, len(judgment.span)) == ("NO", len(segment.tokens))


def test_esa(campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment = campaign.segments[0]
    candidate = next(c for c in campaign.candidates if c.segment == segment.id)
    record = {
        "annotator": "w",
        "source_text": segment.text,
        "target_id": "A",
        "target_text": candidate.text,
        "score": 61,
        "mqm_annotations": [{"start_i": 0, "end_i": 0, "severity": "major"}],
    }
    (tmp_path / "esa.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    command = ["import", "esa", tmp_path / "esa.jsonl", "-C", campaign.folder]
    code, out, _ = run(capsys, *command, "--scores", tmp_path / "s.jsonl")
    assert code == 0
    assert "from 1 of 1 rating (1 rater, 1 system)" in out
    score = json.loads((tmp_path / "s.jsonl").read_text())
    assert score == {"segment": segment.id, "system": "A", "rater": "w", "score": 61, "better": "higher"}


TSV = (
    HEADER
    + "A\td\t1\t7\tr1\tDas ist gut.\tThat is <v>god</v>.\tSpelling\tMajor\n"
    + "A\td\t2\t9\tr1\tJa!\tYes!\tNo-error\tNo-error\n"
    + "B\td\t1\t7\tr2\tDas ist gut.\tThis is good.\tNo-error\tNo-error\n"
    + "C\td\t1\t7\tr2\tDas ist gut.\tThat is good.\tNo-error\tNo-error\n"
    + "Human-A.0\td\t1\t7\tr2\tDas ist gut.\tThat's good.\tNo-error\tNo-error\n"
)


LEFT_OUT = """made: 1 segment, 4 outputs of 4 systems
  1 segment left out: without Human-A.0
  human translations, to be judged and never picked: Human-A.0
"""


def test_the_commands_that_texts_names_lead_to_judgments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From one file to a campaign with judgments; only the aligner is replaced."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(aligners, "is_installed", lambda name: True)
    monkeypatch.setattr(aligners, "align", lambda pairs, **options: [((0, 0),) for _ in pairs])
    monkeypatch.setattr(parsers, "is_installed", lambda name: name == parsers.FALLBACK)
    Path("my file.tsv").write_text(TSV, encoding="utf-8")
    code, out, err = run(
        capsys, "import", "mqm", "my file.tsv", "--texts", "made", "--reference", "Human-A.0"
    )
    assert (code, out) == (0, LEFT_OUT)
    commands = [shlex.split(line)[1:] for line in err.removeprefix("next: ").splitlines()]
    assert [command[0] for command in commands] == ["init", "import", "compare"]
    for command in commands[:2]:
        code, out, err = run(capsys, *command)
        assert code == 0, err
    assert "from 4 of 5 ratings (2 raters, 4 systems)" in out
    assert run(capsys, *commands[2], "--splits", "1")[0] == 0
    with Campaign.open("made").database() as db:
        assert {j.origin for j in db.judgments()} == {"A", "B", "C", "Human-A.0"}


def test_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.tsv").write_text(TSV, encoding="utf-8")
    code, out, _ = run(capsys, "import", "mqm", "x.tsv", "--texts", "made", "-q")
    assert code == 0
    assert out.splitlines() == [
        "made: 2 segments, 5 outputs of 4 systems",
        "  human translations, to be judged and never picked: Human-A.0",
        "  no reference for BLEU: --reference Human-A.0 takes one of them, --references a file",
    ]
    before = Path("made/source.jsonl").read_bytes()
    code, out, err = run(capsys, "import", "mqm", "x.tsv", "--texts", "made")
    assert (code, out) == (1, "")
    assert err == "rypt: made: expected a new or empty folder, found one with files in it\n"
    assert Path("made/source.jsonl").read_bytes() == before
    code, out, _ = run(capsys, "import", "mqm", "x.tsv", "--texts", "again", "--json")
    assert json.loads(out)["systems"] == {"A": 2, "B": 1, "C": 1, "Human-A.0": 1}
    for option in (["-C", "c"], ["--label", "major"], ["--scores", "s"], ["--rater", "r1"]):
        code, _, err = run(capsys, "import", "mqm", "x.tsv", "--texts", "new", *option)
        assert code == 2
        assert "is for an import; --texts imports nothing" in err
    for option in (["--reference", "A"], ["--references", "x.tsv"], ["--human", "A"], ["--system", "A"]):
        assert run(capsys, "import", "mqm", "x.tsv", *option)[0] == 2
    assert not Path("new").exists()


def test_texts_of_one_language_pair(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    records = [
        {
            "langs": f"en-{code}",
            "line_id": 7,
            "src": "Yes.",
            "tgt": text,
            "esa_spans": [],
            "esa_score": 90,
            "system": "A",
        }
        for code, text in (("cs", "Ano."), ("de", "Ja."))
    ]
    Path("esa.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    code, _, err = run(capsys, "import", "esa", "esa.jsonl", "--texts", "made")
    assert (code, Path("made").exists()) == (1, False)
    assert "expected one language pair, found en-cs, en-de; --languages names one" in err
    code, out, err = run(capsys, "import", "esa", "esa.jsonl", "--texts", "made", "--languages", "en-de")
    assert (code, out) == (0, "made: 1 segment, 1 output of 1 system\n")
    assert "rypt import esa esa.jsonl --languages en-de -C made" in err
    assert json.loads(Path("made/systems/A.jsonl").read_text()) == {"id": "7", "candidate": "Ja ."}


def test_a_file_of_another_kind(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").write_text("a,b\n")
    for kind, said in (("mqm", "expected 10 fields"), ("esa", "--batches")):
        code, out, err = run(capsys, "import", kind, tmp_path / "x", "-C", campaign.folder)
        assert (code, out) == (1, "")
        assert said in err
    assert run(capsys, "import", "mqm", tmp_path / "none", "-C", campaign.folder)[0] == 1


def test_slips_are_mended_counted_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.tsv").write_text(TSV.replace("<v>god</v>", "<v>god"), encoding="utf-8")
    code, out, err = run(
        capsys, "import", "mqm", "x.tsv", "--texts", "made", "--strict", "--repairs", "r.jsonl"
    )
    assert (code, out, err) == (1, "", "rypt: x.tsv:2: expected </v> after <v>, found the end of the text\n")
    assert list(Path().iterdir()) == [Path("x.tsv")]
    code, out, _ = run(capsys, "import", "mqm", "x.tsv", "--texts", "made", "-q", "--repairs", "r.jsonl")
    assert code == 0
    assert out.splitlines()[-1] == "  1 mark without an end, closed at the end of the text"
    (repair,) = (json.loads(line) for line in Path("r.jsonl").read_text(encoding="utf-8").splitlines())
    assert (repair["line"], repair["kind"]) == (2, "mark-not-closed")
    code, out, _ = run(capsys, "import", "mqm", "x.tsv", "--texts", "again", "--json")
    assert json.loads(out)["repairs"] == {"mark-not-closed": 1}
    assert json.loads(Path("again/documents.jsonl").read_text().splitlines()[0]) == {
        "id": "7",
        "document": "d",
    }


def test_repairs_of_an_import(campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mqm_file(campaign, tmp_path / "mqm.tsv")
    path = tmp_path / "mqm.tsv"
    path.write_text(path.read_text(encoding="utf-8").replace("</v>", "</v></v>", 1), encoding="utf-8")
    command = ["import", "mqm", path, "-C", campaign.folder]
    code, out, err = run(capsys, *command, "--strict")
    assert (code, out) == (1, "")
    assert f"{path}:2: expected <v>…</v> in pairs, found </v>" in err
    with campaign.database() as db:
        assert db.count() == 0
    code, out, _ = run(capsys, *command)
    assert (code, out.splitlines()[-1]) == (0, "  1 end mark without a beginning, left out")
    assert json.loads(run(capsys, *command, "--json")[1])["repairs"] == {"mark-not-opened": 1}
