"""References by name and by prefix."""

import gzip

import pytest

from rypt.metrics.references import References, read_references, reference_files
from rypt.text import InputError, RyptError


def write(folder, *names, text="a\nb\n"):
    for name in names:
        with gzip.open(folder / name, "wt") if name.endswith(".gz") else open(folder / name, "w") as stream:
            stream.write(text)


def test_a_file_is_taken_before_a_prefix(tmp_path):
    write(tmp_path, "ref", "ref0", "ref1")
    assert reference_files(tmp_path / "ref") == [tmp_path / "ref"]


@pytest.mark.parametrize(
    "names",
    [
        ("ref0", "ref1", "ref2"),
        ("ref1", "ref2"),
        ("ref.0",),
        ("ref.1", "ref.2.gz"),
        ("ref.ref0", "ref.ref1"),
        tuple(f"ref.{i}" for i in range(12)),
    ],
)
def test_prefixes(tmp_path, names, monkeypatch):
    write(tmp_path, *names)
    write(tmp_path, "ref.txt", "other0", "xref0", "ref0.old")
    assert reference_files(tmp_path / "ref") == [str(tmp_path / name) for name in names]
    monkeypatch.chdir(tmp_path)
    assert reference_files("ref") == list(names)
    references = read_references(["ref"])
    assert references.paths == names
    assert references.documents == [["a", "b"]] * len(names)
    assert references.count == len(names)
    assert references["1"] == ["b"] * len(names)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("ref0", "ref2"), "numbered from 0 or from 1 without a gap, found 0, 2"),
        (("ref2019", "ref2020"), "numbered from 0 or from 1 without a gap, found 2019, 2020"),
        (("ref0", "ref.0"), r"expected numbered files of one kind, found ref\.0 and ref0"),
        (("ref0", "ref0.gz"), r"expected one file for each number, found ref0 and ref0\.gz"),
        ((), r"no such file, nor numbered ones such as ref0, ref\.0 or ref\.ref0"),
    ],
)
def test_prefixes_that_say_too_little(tmp_path, names, message):
    write(tmp_path, *names)
    with pytest.raises(InputError, match=message):
        read_references([tmp_path / "ref"])


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="nowhere/ref: no such file"):
        read_references([tmp_path / "nowhere" / "ref"])


def test_lines_must_be_equally_many(tmp_path):
    write(tmp_path, "ref.0")
    write(tmp_path, "ref.1", text="a\n")
    with pytest.raises(InputError, match=r"ref\.1:1: expected 2 lines like .*ref\.0, found 1"):
        read_references([tmp_path / "ref.0", tmp_path / "ref.1"])
    with pytest.raises(RyptError, match="equally many, found 1, 2"):
        References([["a"], ["a", "b"]])


def test_nothing_is_no_reference(tmp_path):
    write(tmp_path, "ref", text="")
    with pytest.raises(InputError, match="expected references, found an empty file"):
        read_references([tmp_path / "ref"])
    with pytest.raises(RyptError, match="at least one file of references"):
        read_references([])


def test_the_same_file_twice(tmp_path, monkeypatch):
    write(tmp_path, "ref.0", "ref.1")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"ref\.1: the same references are named twice"):
        read_references(["ref", "ref.1"])


def test_empty_lines_are_references(tmp_path):
    write(tmp_path, "ref", text="a\n\n c \n")
    references = read_references([tmp_path / "ref"])
    assert len(references) == 3
    assert references["1"] == [""]
    assert references["2"] == [" c "]


@pytest.mark.parametrize("segment", ["2", "-1", "news-1", "", "²", "99999999999999999999999"])
def test_a_segment_without_a_reference(segment):
    with pytest.raises(RyptError, match=r"segment .* has no reference: there are 2, for the segments from 0"):
        References([["a", "b"]])[segment]
