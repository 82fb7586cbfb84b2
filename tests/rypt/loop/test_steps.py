"""Commands run from inside."""

import pytest

from rypt.children import command_line
from rypt.loop.steps import read_result, run_step
from rypt.text import RyptError


def test_what_a_command_prints_comes_back(demo_campaign, capsys):
    said = run_step(["score", str(demo_campaign), "-b"])
    assert 0 < float(said) < 1
    assert capsys.readouterr().out == ""


def test_errors_are_one_line(tmp_path):
    with pytest.raises(RyptError, match=r"expected a campaign, a folder with rypt.toml"):
        run_step(["score", str(tmp_path)])
    with pytest.raises(RyptError, match=r"^rypt score --nothing: No such option"):
        run_step(["score", "--nothing"])
    with pytest.raises(RyptError, match=r"^rypt nothing: No such command 'nothing'"):
        run_step(["nothing"])


def test_a_result_that_is_no_json_is_told():
    assert read_result(["score"], '{"score": 1}') == {"score": 1}
    with pytest.raises(RyptError, match=r"^rypt score 'a b': expected JSON, found 'RYPT = 1'"):
        read_result(["score", "a b"], "RYPT = 1")
    assert command_line(["score", "a b"]) == "rypt score 'a b'"
