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
    assert tokenize("a\u00a0b  c\td ") == ["a\u00a0b", "c", "d"]


@pytest.mark.parametrize("name", ["x", "x.gz"])
def test_a_whole_file_is_its_bytes_without_the_mark_at_its_beginning(tmp_path, name, monkeypatch):
    text = "\ufeffa\r\n\u2028\x0b \ufeff\n\n\U0001f600"
    for content in (text.encode(), b""):
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        assert read_bytes(tmp_path / name) == content[3:]
    (tmp_path / "in").write_bytes(b"a\nb")
    with open(tmp_path / "in") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert read_bytes("-") == b"a\nb"


CUT = gzip.compress(os.urandom(50_000), mtime=0)[:-20]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x", b"a\nb\xff\n", r"x:2: expected UTF-8, found byte 0xff"),
        ("x", b"\xed\xa0\x80", r"x:1: expected UTF-8, found byte 0xed"),
        ("x.gz", gzip.compress(b"a\n", mtime=0)[:-4] + b"abcd", r"x\.gz(:\d+)?: expected a whole gzip file"),
        ("x.gz", gzip.compress(b"a\n" * 50_000, mtime=0)[:-20], r"x\.gz(:\d+)?: expected a whole gzip file"),
        ("x.gz", b"not gzip at all", r"x\.gz(:1)?: expected a whole gzip file"),
        ("x.gz", b"", r"x\.gz: expected a whole gzip file, found an empty one"),
        ("nowhere", None, "nowhere: No such file or directory"),
    ],
)
def test_bad_bytes_are_named(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    for read in (read_bytes, lambda path: list(read_lines(path))):
        with pytest.raises(InputError, match=message):
            read(tmp_path / name)


def test_what_is_no_text_or_no_file(tmp_path):
    (tmp_path / "x").write_bytes(b"a\n\nb\0")
    with pytest.raises(InputError, match="x:3: expected text, found a NUL character"):
        read_bytes(tmp_path / "x")
    (tmp_path / "x.gz").write_bytes(CUT)
    with (
        pytest.raises(InputError, match=r"x\.gz: expected a whole"),
        open_binary_input(tmp_path / "x.gz") as stream,
    ):
        stream.read()
    for path, message in ((tmp_path, "Is a directory"), (tmp_path / "no" / "x", "No such file")):
        with pytest.raises(InputError, match=message):
            read_bytes(path)
        for opened in (open_output, open_binary_output):
            with pytest.raises(InputError, match=message), opened(path):
                pass


@pytest.mark.parametrize("opened", [open_output, open_binary_output])
@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_files_are_written_whole_or_not_at_all(tmp_path, name, opened):
    path, text = tmp_path / name, ("old\r\n" if opened is open_output else b"old\xff\0\r\n")
    with opened(path) as stream:
        stream.write(text)
        stream.flush()
        assert not path.exists()
    before = path.read_bytes()
    assert before.startswith(b"\x1f\x8b") == name.endswith(".gz")
    with suppress(KeyError), opened(path) as stream:
        stream.write(text * 100_000)
        raise KeyError
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [name]
    with open_binary_input(path) as stream:
        assert stream.read() == (text.encode() if isinstance(text, str) else text)


def test_bytes_go_to_standard_output_after_the_text(capfdbinary):
    sys.stdout.write("text ")
    with open_binary_output("-") as stream:
        stream.write(b"\xff")
        stream.flush()
    assert capfdbinary.readouterr().out == b"text \xff"


def test_links_pipes_and_permissions_stay_what_they_are(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    with open_output(link) as stream:
        stream.write("new")
    assert (link.is_symlink(), target.read_text()) == (True, "new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with open_output("/dev/null") as stream:
        stream.write("x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


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
    making = new_folder(tmp_path / "new")
    (making.__enter__() / "x").write_text("ours")
    (tmp_path / "new").mkdir()  # by another process meanwhile
    (tmp_path / "new" / "x").write_text("theirs")
    with pytest.raises(InputError, match="new: "):
        making.__exit__(None, None, None)
    assert (tmp_path / "new" / "x").read_text() == "theirs"
    assert sorted(os.listdir(tmp_path)) == ["a", "new", "plain"]


def test_an_error_reaches_another_process():
    error = pickle.loads(pickle.dumps(InputError("list", 3, "expected a number")))
    assert (type(error), str(error)) == (InputError, "list:3: expected a number")
