"""``rypt demo``: its options, what it prints, the small campaign."""

import json

import pytest
from commands import run

RESULTS = {
    "simulated": True,
    "labels": 186,
    "spent": "6.17",
    "sizes": {"tune": 120, "unseen": 180},
    "accepted": {"baseline": {"constituents": 0.7, "segments": 0.2}},
    "ranking": {"systems": [{"system": "baseline", "score": 0.37, "rank": 3}]},
    "conclusion": "no significant difference",
    "yours": 0,
}


@pytest.fixture
def plans(monkeypatch):
    """The plans of demos that are finished at once."""
    plans = []

    class Finished:
        def __init__(self, folder, plan, tell, *, invite=None):
            plans.append(plan)
            tell("1/7 making a campaign")

        def run(self):
            return {**RESULTS, "simulated": not plans[-1].people}

    monkeypatch.setattr("rypt.demo.story.Demo", Finished)
    monkeypatch.setattr("rypt.demo.report.write_report", lambda folder, results: folder / "report.html")
    return plans


def test_it_says_what_came_of_it_and_where_the_report_is(capsys, tmp_path, plans):
    code, out, err = run(capsys, "demo", tmp_path / "demo")
    assert code == 0
    lines = out.splitlines()
    assert lines[2].split() == ["baseline", "70.0", "20.0", "0.370", "3"]
    assert "by SIMULATED workers" in out
    assert lines[-2:] == [f"report: {tmp_path}/demo/report.html", "no significant difference"]
    assert err == "1/7 making a campaign\n"
    assert run(capsys, "demo", tmp_path / "demo", "-q")[2] == ""
    assert (plans[0].labels, plans[0].iterations, plans[0].people) == (200, 3, False)
    found = json.loads(run(capsys, "demo", tmp_path / "demo", "--json")[1])
    assert found == {**RESULTS, "report": f"{tmp_path}/demo/report.html"}


def test_a_person_is_asked_less(capsys, tmp_path, plans):
    out = run(capsys, "demo", tmp_path / "demo", "--serve", "--no-open")[1]
    assert (plans[0].people, plans[0].begun, plans[0].labels, plans[0].judges) == (True, 200, 10, 1)
    assert "by you" in out


@pytest.mark.parametrize("options", [["--small", "--serve"], ["--small", "--json"], ["--no-open"]])
def test_options_that_do_not_go_together(capsys, tmp_path, plans, options):
    assert run(capsys, "demo", tmp_path / "demo", *options)[0] == 2
    assert not plans


@pytest.mark.slow
def test_the_small_campaign(capsys, tmp_path):
    code, out, err = run(capsys, "demo", tmp_path / "demo", "--small")
    assert code == 0
    assert "RYPT = " in out
    assert "simulated: no person gave them" in err
    assert "compil" not in err  # so little data runs without
    assert (tmp_path / "demo/figure.svg").read_text(encoding="utf-8").startswith("<svg")
