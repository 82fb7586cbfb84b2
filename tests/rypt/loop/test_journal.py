"""The journal of a loop."""

import os

import pytest

from rypt.loop.journal import Entry, Journal
from rypt.text import InputError, RyptError

FIRST, SECOND = Entry(1, "decode", 10, {"new": 3}), Entry(1, "make", 11, {"cost": "0.50"})


def test_what_is_written_is_read_again(tmp_path):
    path = tmp_path / "loop.jsonl"
    with Journal(path).opened() as journal:
        journal.add(FIRST)
        journal.add(SECOND)
    again = Journal(path)
    assert again.entries == [FIRST, SECOND]
    assert again.result(1, "make") == {"cost": "0.50"}
    assert again.result(2, "make") is None
    assert again.results("decode") == {1: {"new": 3}}


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
    assert Journal(path).entries == [FIRST, SECOND]


def test_it_is_on_the_disk_before_the_next_step(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with Journal(tmp_path / "loop.jsonl").opened() as journal:
        journal.add(FIRST)
        assert len(synced) == 1


def test_a_second_process_is_refused(tmp_path):
    first, second = Journal(tmp_path / "loop.jsonl"), Journal(tmp_path / "loop.jsonl")
    with first.opened(), pytest.raises(RyptError, match="another loop is at work"), second.opened():
        pass
    with second.opened():
        second.add(FIRST)


@pytest.mark.parametrize("line", ["{", "[]", '{"iteration": "1", "step": "make", "time": 1, "result": {}}'])
def test_what_is_no_step_is_refused(tmp_path, line):
    (tmp_path / "loop.jsonl").write_text(f"{line}\n")
    with pytest.raises(InputError, match=r"loop\.jsonl:1: expected a step"):
        Journal(tmp_path / "loop.jsonl")


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    with Journal(tmp_path / "loop.jsonl").opened() as journal:
        monkeypatch.setattr(
            os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
        )
        with pytest.raises(InputError, match="No space left"):
            journal.add(FIRST)
        assert journal.entries == []
