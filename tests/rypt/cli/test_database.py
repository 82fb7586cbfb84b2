"""``rypt export``, ``check`` and ``import``: results on stdout, one line on stderr for a failure, exit codes."""

import gzip
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rypt.cli.program import main
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Judgment, Label, Segment, Span

RYPT = [sys.executable, "-c", "from rypt.cli import main; main()"]
TREE = "(S (NP (ART der) (NN Patient)) (VAFIN wurde) (VP (VVPP isoliert)))"
SEGMENT = Segment("s", "der Patient wurde isoliert", TREE)
HEADER = "segment,start,stop,phrase,label,worker\n"


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


def command(verb: str, *arguments: Any) -> list[Any]:
    """``rypt VERB``; an import is of judgments, into the first of the arguments."""
    return ["import", "-C", *arguments] if verb == "import" else [verb, *arguments]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command on a database in the folder of the test, in this process."""
    monkeypatch.chdir(tmp_path)

    def run_here(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = 0
        try:
            main(command(*arguments))
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        return Outcome(code, *capsys.readouterr())

    return run_here


def run_process(folder: Path, *arguments: str | bytes, **options: Any) -> Outcome:
    done = subprocess.run(
        [*RYPT, *command(*arguments)], cwd=folder, capture_output=True, text=True, **options
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def failed(outcome: Outcome) -> str:
    """The one line of a failure."""
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("rypt: ")
    assert outcome.err.index("\n") == len(outcome.err) - 1
    return outcome.err.removeprefix("rypt: ").strip()


def database(path, *rows, segment=SEGMENT, case=None):
    with JudgmentDatabase(path, case=case) as db:
        db.add_segments([segment])
        db.add([Judgment("s", Span(0, 2), "the patient", label, worker, time=0) for label, worker in rows])


@pytest.fixture
def one(tmp_path: Path) -> Path:
    """A database of one segment and one judgment, ``j.db``."""
    database(tmp_path / "j.db", (Label.YES, "w"))
    return tmp_path / "j.db"


def content(path: Path) -> list[Judgment]:
    with JudgmentDatabase(path, readonly=True) as db:
        return list(db.judgments())


def test_import_says_what_became_of_the_lines(run: Run, one: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "\ufeff" + HEADER + "s,0,2,the patient,YES,w\ns,0,2,the patient,NO,v\ns,0,2,x,maybe,v\n"
    )
    assert failed(run("import", "j.db", "a.csv")).startswith("a.csv:4: expected a label")
    assert len(content(one)) == 1
    done = run("import", "j.db", "a.csv", "--skip-refused")
    assert "1 judgment added, 1 already there, 0 unanswered, 1 refused" in done.out
    assert done.err.startswith("a.csv:4: refused: expected a label")
    (counts,) = json.loads(run("import", "j.db", "a.csv", "--skip-refused", "--json").out)
    assert (counts["added"], counts["already"], [line for line, _ in counts["refusals"]]) == (0, 2, [4])


@pytest.mark.slow
def test_import_reads_stdin_and_makes_a_database_that_keeps_case(run: Run, tmp_path: Path) -> None:
    lines = json.dumps({"id": "s", "text": "der Patient"}) + "\n"
    lines += json.dumps({"Seg": "s", "first": 0, "last": 1, "phrase": "The patient", "label": "NO"}) + "\n"
    options = ["--rename", "Seg=segment", "--set", "worker=v", "--set", "source=hit", "--case", "keep"]
    assert run_process(tmp_path, "import", "new.db", "-", *options, input=lines).code == 0
    judged = Judgment("s", Span(0, 2), "The patient", Label.NO, "v", source="hit")
    assert content(tmp_path / "new.db") == [judged]
    assert "<stdin>:1: expected a JSON" in failed(run_process(tmp_path, "import", "new.db", "-", input="{\n"))
    assert "new.db: compares phrases with case:keep" in failed(
        run("import", "new.db", "x", "--case", "lower")
    )


def test_a_table_with_renamed_columns_is_one_of_judgments(run: Run, one: Path, tmp_path: Path) -> None:
    """Its columns are named as those of MQM ratings are."""
    names = ["seg_id", "start", "stop", "phrase", "any", "system", "rater", "x", "y", "z"]
    cells = ["s", "0", "2", "the patient", "NO", "JHU", "r1", "", "", ""]
    (tmp_path / "a.tsv").write_text("\t".join(names) + "\n" + "\t".join(cells) + "\n")
    renamed = ["seg_id=segment", "any=label", "system=origin", "rater=worker"]
    done = run("import", "j.db", "a.tsv", *(word for name in renamed for word in ("--rename", name)))
    assert (done.code, len(content(one))) == (0, 2), done.err


def test_export_goes_to_stdout_and_to_files_and_comes_back(run: Run, one: Path, tmp_path: Path) -> None:
    lines = run("export", "j.db")
    assert (lines.code, lines.err, len(lines.out.splitlines())) == (0, "", 2)
    assert run("export", "j.db", "-o", "out.jsonl.gz") == (0, "", "2 records written\n")
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()).decode() == lines.out
    assert run("export", "j.db", "-o", "out.csv.gz") == (0, "", "1 record written\n")
    table = run("export", "j.db", "--format", "csv").out
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()).decode() == table
    assert run("export", "j.db", "-o", "s.csv", "--segments").err == "1 record written\n"
    assert run("import", "copy.db", "s.csv", "out.csv.gz").code == 0
    assert run("export", "copy.db").out == lines.out
    assert failed(run("export", "j.db", "-o", "j.db", "--format", "csv")) == "j.db: is the database itself"


def test_another_database_is_merged_or_refused(run: Run, one: Path, tmp_path: Path) -> None:
    database(tmp_path / "b.db", (Label.YES, "w"), (Label.NO, "w"), (Label.NO, "v"))
    conflict = "segment s 0-2 'the patient': worker w said YES and NO"
    (first,) = json.loads(run("import", "j.db", "b.db", "--json").out)
    assert (first["added"], first["already"], first["conflicts"]) == (2, 1, [conflict])
    assert f"b.db: conflict: {conflict}\n" in run("import", "j.db", "b.db").err
    before = run("export", "j.db").out
    database(tmp_path / "text.db", (Label.NO, "v"), segment=Segment("s", "die Patientin"))
    database(tmp_path / "tree.db", (Label.NO, "v"), segment=Segment("s", SEGMENT.text, "(S x)"))
    database(tmp_path / "case.db", (Label.NO, "v"), case="keep")
    for name, message in (("text", "another text"), ("tree", "another tree"), ("case", "case:keep")):
        assert message in failed(run("import", "j.db", f"{name}.db"))
    assert run("export", "j.db").out == before
    assert run("import", "j.db", "tree.db", "--replace-trees").code == 0
    assert '"(S x)"' in run("export", "j.db").out


def test_check_exits_1_when_something_is_wrong(run: Run, one: Path, tmp_path: Path) -> None:
    fine = run("check", "j.db", "--json")
    facts = json.loads(fine.out)
    assert (fine.code, fine.err, facts["labels"], facts["problems"]) == (0, "", {"YES": 1}, [])
    lines = run("check", "j.db").out.splitlines()
    assert lines[-1] == "no problems found"
    assert ["labels", "YES 1"] in [line.split(maxsplit=1) for line in lines]
    (tmp_path / "now.jsonl").write_text(json.dumps({"id": "s", "text": "die Patientin"}))
    changed = run("check", "j.db", "--source", "now.jsonl", "--json")
    assert (changed.code, changed.err) == (1, "rypt: j.db: 1 problem found\n")
    assert [problem["kind"] for problem in json.loads(changed.out)["problems"]] == ["segment text changed"]


def test_the_folder_of_a_campaign_means_its_database(run: Run, one: Path, tmp_path: Path) -> None:
    (tmp_path / "rypt.toml").write_text('[files]\nsource = "source.jsonl"\ndatabase = "j.db"\n')
    (tmp_path / "source.jsonl").write_text(json.dumps({"id": "s", "text": SEGMENT.text}))
    assert run("check").out.endswith("no problems found\n")
    (tmp_path / "a.csv").write_text(f"{HEADER}s,0,2,x,NO,v\n")
    assert run("import", ".", "a.csv").code == 0
    assert run("export").out == run("export", "j.db").out
    assert "2 judgments added" in run("import", "other.db", ".").out


@pytest.mark.parametrize(
    "arguments",
    [
        ["import", "j.db", "x", "--rename", "theirs"],
        ["export", "j.db", "--segments"],
        ["export", "j.db", "--batch", "b"],
        ["export", "j.db", "-o", "x.tsv"],
    ],
)
def test_wrong_usage_exits_2(run: Run, one: Path, arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Error: " in done.err


# Wrong files


def newer(path: Path) -> None:
    with JudgmentDatabase(path) as db:
        db.db.execute("PRAGMA user_version = 999")


READING = [["check", "x.db"], ["export", "x.db"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("segment,label\n"), "found a file that is not SQLite"),
        (newer, "was made by another version of rypt (tables of version 999, not 1)"),
        (Path.mkdir, "expected a campaign, a folder with rypt.toml"),
    ],
)
def test_a_wrong_file_is_named_and_left_alone(run, one, tmp_path, make, message):
    path = tmp_path / "x.db"
    make(path)
    before = path.read_bytes() if path.is_file() else os.listdir(path)
    (tmp_path / "a.csv").write_text(HEADER)
    for arguments in [*READING, ["import", "x.db", "a.csv"], ["import", "x.db", "j.db"]]:
        line = failed(run(*arguments))
        assert line.startswith("x.db: ")
        assert message in line
    assert (path.read_bytes() if path.is_file() else os.listdir(path)) == before


def test_a_missing_or_empty_file_cannot_be_read(run, one, tmp_path):
    assert failed(run("check", "x.db")) == "x.db: No such file or directory"
    (tmp_path / "x.db").touch()
    for arguments in READING:
        assert failed(run(*arguments)).startswith("x.db: expected a judgment database")
    assert (tmp_path / "x.db").stat().st_size == 0


def test_files_imported_before_one_that_fails_stay(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"id": "s", "text": "das Haus"}\n')
    (tmp_path / "good.csv").write_text(f"{HEADER}s,0,2,the house,YES,v\n")
    (tmp_path / "bad.csv").write_text(f"{HEADER}s,0,2,a house,maybe,v\n")
    assert "segment 's' is not in the database" in failed(run("import", "x.db", "good.csv"))
    assert not (tmp_path / "x.db").exists()  # an import that fails makes no database
    outcome = run("import", "x.db", "s.jsonl", "good.csv", "bad.csv")
    assert outcome.code == 1
    assert "good.csv: 1 judgment added" in outcome.out
    assert outcome.err.startswith("rypt: bad.csv:2: ")
    assert [j.phrase for j in content(tmp_path / "x.db")] == ["the house"]


# A full disk


def big_file(folder: Path) -> str:
    (folder / "big.csv").write_text(HEADER + "".join(f"s,0,2,phrase {i},YES,v\n" for i in range(20_000)))
    return str(folder / "big.csv")


@pytest.mark.slow
def test_an_import_without_room_for_more_pages_changes_nothing(run, one, tmp_path, monkeypatch):
    connect = sqlite3.connect

    def connect_small(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.execute("PRAGMA max_page_count = 40")
        return connection

    before = content(one)
    monkeypatch.setattr(sqlite3, "connect", connect_small)
    line = failed(run("import", "j.db", big_file(tmp_path)))
    assert line == "j.db: database or disk is full (nothing was changed)"
    assert content(one) == before
    (tmp_path / "small.csv").write_text(f"{HEADER}s,0,2,x,NO,v\n")
    assert run("import", "j.db", "small.csv").code == 0
