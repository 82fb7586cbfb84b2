"""``rypt analyze``."""

import json

import pytest
from commands import run


@pytest.mark.slow
def test_tables_and_picture(capsys, demo_campaign, tmp_path):
    picture = tmp_path / "a.svg"
    code, out, err = run(
        capsys, "analyze", demo_campaign, "--splits", "2", "--longest", "3", "--plot", picture
    )
    assert code == 0, err
    assert "5,996 phrases, 855 different (14.3%), 2.77 a constituent" in out
    assert "judgments of 2 of 3 workers" in out
    assert "agreement: 2,274 answers of workers about 758 keys; alpha 0.548" in out
    assert "SIMULATED" in out
    assert out.splitlines()[-1].startswith("analysis|max_len:4|hold_out:worker|judging:2of3|splits:2|seed:1|")
    assert "SIMULATED: 2,274 of 2,274" in picture.read_text()


def test_json(capsys, demo_campaign):
    code, out, _ = run(capsys, "analyze", demo_campaign, "--splits", "1", "--longest", "2", "--json", "-q")
    found = json.loads(out)
    assert code == 0
    assert found["redundancy"]["max_len"] == 4
    assert [point["max_len"] for point in found["curve"]] == [1, 2]
    assert found["curve"][1]["unlabelled"]["table"] > 0


def test_biased_ways_are_refused_with_the_reason(capsys, demo_campaign):
    code, out, err = run(capsys, "analyze", demo_campaign, "--hold-out", "judgment")
    assert (code, out) == (1, "")
    assert "biased" in err
    assert len(err.splitlines()) == 1


def test_nothing_is_computed_for_a_picture_that_cannot_be_drawn(capsys, tmp_path):
    code, _, err = run(capsys, "analyze", tmp_path / "no campaign", "--plot", "a.gif")
    assert code == 1
    assert "a.gif: expected a name ending in" in err
