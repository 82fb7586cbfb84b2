"""Reading lines and writing files whole or not at all."""

import gzip
import os
import pickle
import stat
import sys
from contextlib import suppress

import pytest

from rypt.text import (
    InputError,
    new_folder,
    open_binary_input,
    open_binary_output,
    open_output,
    read_bytes,
    read_lines,
    tokenize,
)


def test_lines_end_at_lf_only_and_lose_their_ends(tmp_path):
    path = tmp_path / "x"
    path.write_bytes("\ufeffa\r\nb\u2028c\x0bd\n\ne".encode())
    assert list(read_lines(path)) == [(1, "a"), (2, "b\u2028c\x0bd"), (3, ""), (4, "e")]


def test_gzip_and_a_missing_file(tmp_path):
    with gzip.open(tmp_path / "x.gz", "wt") as file:
        file.write("a\nb\n")
    assert [line for _, line in read_lines(tmp_path / "x.gz")] == ["a", "b"]
    with pytest.raises(InputError, match="nowhere: No such file or directory"):
        list(read_lines(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x", b"a\nb\xff\n", ":2: expected UTF-8, found byte 0xff"),
        ("x.gz", gzip.compress(b"a\n" * 50_000, mtime=0)[:-20], "expected a whole gzip file"),
        ("x.gz", b"not gzip at all", "expected a whole gzip file"),
        ("x.gz", b"", "expected a whole gzip file, found an empty one"),
    ],
)
def test_bad_bytes_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(read_lines(tmp_path / name))


@pytest.mark.parametrize("name", ["x", "x.gz"])
def test_a_whole_file_is_its_bytes_without_the_mark_at_its_beginning(tmp_path, name):
    text = "\ufeffa\r\n\u2028\x0b \ufeff\n\n\U0001f600"
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    assert read_bytes(tmp_path / name) == text[1:].encode()
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith(".gz") else b"")
    assert read_bytes(tmp_path / name) == b""


def test_a_whole_file_can_be_standard_input(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(b"a\nb")
    with open(tmp_path / "x") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert read_bytes("-") == b"a\nb"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x", b"a\nb\xff\n", r"x:2: expected UTF-8, found byte 0xff"),
        ("x", b"a\n\nb\0", r"x:3: expected text, found a NUL character"),
        ("x", b"\xed\xa0\x80", r"x:1: expected UTF-8, found byte 0xed"),
        ("x.gz", gzip.compress(b"a\n" * 50_000, mtime=0)[:-20], r"x\.gz:\d+: expected a whole gzip file"),
        ("x.gz", gzip.compress(b"a\n", mtime=0)[:-4] + b"abcd", r"x\.gz:\d+: expected a whole gzip file"),
        ("x.gz", b"not gzip at all", r"x\.gz:1: expected a whole gzip file"),
        ("x.gz", b"", r"x\.gz: expected a whole gzip file, found an empty one"),
    ],
)
def test_bad_bytes_of_a_whole_file_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_bytes(tmp_path / name)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match="Is a directory"):
        read_bytes(tmp_path)


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_a_failed_writer_leaves_the_old_file(tmp_path, name):
    path = tmp_path / name
    with open_output(path) as stream:
        stream.write("old\n")
    before = path.read_bytes()
    with suppress(KeyError), open_output(path) as stream:
        stream.write("new\n" * 100_000)
        raise KeyError
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [name]
    assert [line for _, line in read_lines(path)] == ["old"]


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_bytes_are_written_whole_or_not_at_all(tmp_path, name):
    path = tmp_path / name
    with open_binary_output(path) as stream:
        stream.write(b"\xff\x00\n\r\n")
    with open_binary_input(path) as stream:
        assert stream.read() == b"\xff\x00\n\r\n"
    before = path.read_bytes()
    assert before.startswith(b"\x1f\x8b") == name.endswith(".gz")
    with suppress(KeyError), open_binary_output(path) as stream:
        stream.write(b"new" * 100_000)
        raise KeyError
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [name]
    with pytest.raises(InputError, match="Is a directory"), open_binary_output(tmp_path) as stream:
        stream.write(b"x")


def test_bytes_go_to_standard_output_after_the_text(capfdbinary):
    sys.stdout.write("text ")
    with open_binary_output("-") as stream:
        stream.write(b"\xff")
        stream.flush()
    assert capfdbinary.readouterr().out == b"text \xff"


def test_a_broken_gzip_file_is_named_when_its_bytes_are_read(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(os.urandom(50_000))[:-20])
    with (
        pytest.raises(InputError, match=r"x\.gz: expected a whole gzip file"),
        open_binary_input(path) as stream,
    ):
        stream.read()


def test_the_new_file_appears_at_once(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    with open_output(path) as stream:
        stream.write("new")
        stream.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_links_pipes_and_permissions_stay_what_they_are(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    with open_output(link) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with open_output("/dev/null") as stream:
        stream.write("x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_folder_is_no_output(tmp_path):
    with pytest.raises(InputError, match="Is a directory"), open_output(tmp_path) as stream:
        stream.write("x")
    with pytest.raises(InputError, match="No such file"), open_output(tmp_path / "no" / "x") as stream:
        stream.write("x")


def test_a_no_break_space_is_part_of_a_token():
    assert tokenize("a\u00a0b  c\td ") == ["a\u00a0b", "c", "d"]


def test_a_new_folder_appears_whole_or_not_at_all(tmp_path):
    with new_folder(tmp_path / "a" / "b") as building:
        (building / "x").write_text("1")
        assert not (tmp_path / "a" / "b").exists()
    assert (tmp_path / "a" / "b" / "x").read_text() == "1"
    (tmp_path / "plain").mkdir()
    assert (tmp_path / "a" / "b").stat().st_mode == (tmp_path / "plain").stat().st_mode
    with suppress(KeyboardInterrupt), new_folder(tmp_path / "c") as building:
        (building / "x").write_text("1")
        raise KeyboardInterrupt
    assert sorted(os.listdir(tmp_path)) == ["a", "plain"]


def test_a_folder_that_another_process_made_meanwhile_stays(tmp_path):
    making = new_folder(tmp_path / "new")
    (making.__enter__() / "x").write_text("ours")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "x").write_text("theirs")
    with pytest.raises(InputError, match="new: "):
        making.__exit__(None, None, None)
    assert (tmp_path / "new" / "x").read_text() == "theirs"
    assert os.listdir(tmp_path) == ["new"]


def test_an_error_reaches_another_process():
    error = pickle.loads(pickle.dumps(InputError("list", 3, "expected a number")))
    assert (type(error), str(error)) == (InputError, "list:3: expected a number")
