"""``rypt demo``: its options, what it prints, the small campaign."""

import json
from pathlib import Path

import pytest
from commands import run
from made_facts import made_facts


@pytest.fixture
def story(monkeypatch):
    """A story that is told at once; it remembers its plan."""

    class Told:
        plan = None

        def __init__(self, folder, plan, tell, *, port=0, invite=None):
            Told.plan = plan
            folder.mkdir(exist_ok=True)
            tell("1/7 training")

        def run(self):
            return made_facts(simulated=not Told.plan.people)

    monkeypatch.setattr("rypt.demo.story.Story", Told)
    return Told


def test_it_says_what_came_of_it_and_where_the_report_is(capsys, tmp_path, story):
    code, out, err = run(capsys, "demo", tmp_path / "demo")
    assert code == 0
    lines = out.splitlines()
    assert lines[2].split() == ["baseline", "70.0", "20.0", "0.370", "3"]
    assert "by SIMULATED workers" in out
    assert lines[-1] == f"report: {tmp_path}/demo/report.html"
    assert (tmp_path / "demo/report.html").exists()
    assert "the first run compiles" in err
    assert "1/7 training" in err
    assert run(capsys, "demo", tmp_path / "demo", "-q")[2] == ""
    assert (story.plan.labels, story.plan.iterations, story.plan.people) == (200, 3, False)


def test_json(capsys, tmp_path, story):
    found = json.loads(
        run(capsys, "demo", tmp_path / "demo", "--json", "--labels", "9", "--iterations", "2")[1]
    )
    assert (found["simulated"], found["labels"], found["spent"]) == (True, 186, "6.17")
    assert found["report"] == f"{tmp_path}/demo/report.html"
    assert (story.plan.labels, story.plan.iterations) == (9, 2)


def test_a_person_is_asked_less(capsys, tmp_path, story):
    out = run(capsys, "demo", tmp_path / "demo", "--serve")[1]
    assert (story.plan.people, story.plan.begun, story.plan.labels, story.plan.judges) == (True, 200, 10, 1)
    assert "by you" in out
    run(capsys, "demo", tmp_path / "demo", "--serve", "--labels", "7")
    assert story.plan.labels == 7


@pytest.mark.parametrize(
    "options", [["--small", "--serve"], ["--small", "--labels", "3"], ["--port", "80"], ["--no-open"]]
)
def test_options_that_do_not_go_together(capsys, tmp_path, story, options):
    assert run(capsys, "demo", tmp_path / "demo", *options)[0] == 2
    assert not (tmp_path / "demo").exists()


def test_the_small_campaign(capsys, tmp_path):
    code, out, err = run(capsys, "demo", tmp_path / "demo", "--small")
    assert code == 0
    assert "RYPT = " in out
    assert "simulated: no person gave them" in err
    assert Path(tmp_path / "demo/figure.svg").read_text(encoding="utf-8").startswith("<svg")
