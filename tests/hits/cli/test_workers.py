"""``rypt hits workers``: who can be excluded, and taken back."""

import json
import shutil

import pytest
from commands import run

from hits.records import Answer
from hits.results.answers import Results
from hits.results.content import Assignment
from rypt.campaign.folder import Campaign


@pytest.fixture
def campaign(demo_campaign, tmp_path):
    shutil.copytree(demo_campaign, tmp_path / "campaign")
    item = {"item": "i", "segment": "0", "start": "0", "stop": "1", "phrase_1": "a"}
    with Campaign.open(tmp_path / "campaign").database(readonly=False) as db:
        answer = Answer("b", "i", "H1", "X1", "A1", {"label_1": "YES"}, 0, 9)
        Results(db).add([Assignment(answer, item)])
    return tmp_path / "campaign"


@pytest.mark.parametrize("option", ["--exclude", "--block", "--include"])
def test_a_worker_whom_nobody_knows_is_refused(capsys, campaign, option):
    code, out, err = run(capsys, "hits", "workers", "-C", campaign, "--exclude", "A1", option, "NOSUCH")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "worker 'NOSUCH'" in err
    (report,) = json.loads(run(capsys, "hits", "workers", "-C", campaign, "--json")[1])
    assert (report["worker"], report["excluded"]) == ("A1", False)  # nothing was done


def test_excluded_and_taken_back(capsys, campaign):
    for option, excluded in (("--exclude", True), ("--exclude", True), ("--include", False)):
        code, out, err = run(capsys, "hits", "workers", "-C", campaign, option, "A1", "--json")
        assert code == 0, err
        assert [report["excluded"] for report in json.loads(out)] == [excluded]
    assert run(capsys, "hits", "workers", "-C", campaign, "--include", "A1")[0] == 1
