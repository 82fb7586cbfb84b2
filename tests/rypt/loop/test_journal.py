"""The journal of a loop."""

import pytest

from rypt.loop.journal import Entry, Journal
from rypt.text import InputError

FIRST, SECOND = Entry(1, "decode", 10, {"new": 3}), Entry(1, "make", 11, {"cost": "0.50"})


@pytest.mark.parametrize("size", [1, 20, -1])
def test_what_a_crash_left_of_a_line_is_cut_off(tmp_path, size):
    path = tmp_path / "loop.jsonl"
    with Journal(path).opened() as journal:
        journal.add(FIRST)
        whole = path.read_bytes()
        journal.add(SECOND)
    path.write_bytes(whole + path.read_bytes()[len(whole) :][:size])
    assert Journal(path).entries == [FIRST]
    with Journal(path).opened() as journal:
        assert journal.entries == [FIRST]
        journal.add(SECOND)
    again = Journal(path)
    assert again.entries == [FIRST, SECOND]
    assert again.result(1, "make") == {"cost": "0.50"}
    assert again.results("decode") == {1: {"new": 3}}


@pytest.mark.parametrize("line", ["{", "[]", '{"iteration": "1", "step": "make", "time": 1, "result": {}}'])
def test_what_is_no_step_is_refused(tmp_path, line):
    (tmp_path / "loop.jsonl").write_text(f"{line}\n")
    with pytest.raises(InputError, match=r"loop\.jsonl:1: expected a step"):
        Journal(tmp_path / "loop.jsonl")
