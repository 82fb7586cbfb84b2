"""``rypt import`` of results, ``export --results``, ``aggregate``: files in, files out, nothing half done."""

import csv
import json
import shutil

import pytest
from commands import run

HEADER = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime"]
ROW = ["H1", "X1", "A1", "Approved", "10", "30"]


@pytest.fixture
def campaign(demo_campaign, tmp_path):
    shutil.copytree(demo_campaign, tmp_path / "campaign")
    return tmp_path / "campaign"


def write(path, header, *rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def test_other_peoples_columns(capsys, campaign, tmp_path):
    names = {
        "Input.sent": "Input.segment",
        "Input.from": "Input.start",
        "Input.to": "Input.stop",
        "Input.cand": "Input.phrase_1",
        "Answer.q": "Answer.label_1",
    }
    path = write(tmp_path / "r.csv", [*HEADER, *names], [*ROW, "0", "0", "1", "=the house", "notsure"])
    code, out, err = run(capsys, "import", path, "-C", campaign)
    assert (code, out) == (1, "")
    assert "r.csv:2: " in err
    options = [part for theirs, ours in names.items() for part in ("--rename", f"{theirs}={ours}")]
    code, out, _ = run(capsys, "import", path, "-C", campaign, *options, "--json")
    assert (code, json.loads(out)[0]["judgments"]) == (0, 1)
    assert run(capsys, "import", path, "-C", campaign, "--rename", "x")[0] == 2
    assert run(capsys, "export", campaign, "--results", "-o", tmp_path / "out.csv")[0] == 0
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    assert row["Input.phrase_1"] == "'=the house"
    before = (tmp_path / "out.csv").read_bytes()
    again = run(capsys, "import", tmp_path / "out.csv", "-C", campaign, "--json")[1]
    assert json.loads(again)[0]["already"] == 1
    run(capsys, "export", campaign, "--results", "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == before


def test_a_batch_says_what_the_rows_mean(capsys, campaign, tmp_path):
    run(capsys, "hits", "make", campaign, "-o", tmp_path / "batch", "--limit", 2, "--controls", 0, "-q")
    with open(tmp_path / "batch" / "batch.csv", newline="", encoding="utf-8") as stream:
        item = next(csv.DictReader(stream))
    path = write(tmp_path / "r.csv", [*HEADER, "Input.item", "Answer.label_1"], [*ROW, item["item"], "YES"])
    assert "missing" not in run(capsys, "import", path, "-C", campaign)[2]  # but it cannot be understood
    code, out, err = run(capsys, "import", path, "-C", campaign, "--batch", tmp_path / "batch", "--json")
    assert code == 0, err
    assert json.loads(out)[0]["judgments"] == 1
    status = json.loads(
        run(capsys, "hits", "status", "-C", campaign, "--batch", tmp_path / "batch", "--json")[1]
    )
    assert (status["assignments"], status["yes"], status["fees"]) == (1, 1 / int(item["size"]), "0.00")


@pytest.mark.slow
def test_a_broken_file_is_one_line_and_stores_nothing(capsys, campaign, tmp_path):
    path = write(tmp_path / "bad.csv", [*HEADER, "Input.x", "Answer.y"], [*ROW, "x", "y"])
    code, out, err = run(capsys, "import", "--format", "results", path, "-C", campaign)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "bad.csv:2: " in err
    assert json.loads(run(capsys, "hits", "status", "-C", campaign, "--json")[1])["assignments"] == 0


@pytest.mark.slow
def test_aggregated_labels_score_and_tune(capsys, campaign, tmp_path):
    out = run(capsys, "hits", "aggregate", campaign, "--method", "dawid-skene")[1]
    first = json.loads(out.splitlines()[0])
    assert {"segment", "start", "stop", "phrase", "label", "posterior"} <= set(first)
    assert run(capsys, "hits", "aggregate", campaign, "-o", tmp_path / "labels.csv")[0] == 0
    assert (tmp_path / "labels.csv").read_text().startswith("segment,start,stop,phrase,label,posterior")
    for method in ("majority", "dawid-skene"):
        code, _, err = run(
            capsys, "hits", "aggregate", campaign, "--method", method, "-o", tmp_path / f"{method}.db"
        )
        assert code == 0, err
    own = json.loads(run(capsys, "score", campaign, "--json")[1])
    same = json.loads(run(capsys, "score", campaign, "--database", tmp_path / "majority.db", "--json")[1])
    other = json.loads(run(capsys, "score", campaign, "--database", tmp_path / "dawid-skene.db", "--json")[1])
    assert same["score"] == own["score"]
    assert 0 < other["score"] < 1
    assert run(capsys, "explain", "3", "-C", campaign, "--database", tmp_path / "majority.db")[0] == 0
    assert run(capsys, "hits", "aggregate", campaign, "-o", tmp_path / "majority.db")[0] == 1  # it is there
    assert run(capsys, "hits", "aggregate", campaign, "--format", "db")[0] == 2
    assert run(capsys, "hits", "aggregate", campaign, "-o", tmp_path / "x.txt")[0] == 1
    assert run(capsys, "score", campaign, "--database", tmp_path / "nothing.db")[0] == 1
