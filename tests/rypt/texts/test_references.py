"""References by name and by prefix."""

import gzip

import pytest

from rypt.text import InputError, RyptError
from rypt.texts.references import References, read_references, reference_files


def write(folder, *names, text="a\nb\n"):
    for name in names:
        with gzip.open(folder / name, "wt") if name.endswith(".gz") else open(folder / name, "w") as stream:
            stream.write(text)


@pytest.mark.parametrize(
    "names",
    [
        ("ref0", "ref1", "ref2"),
        ("ref.1", "ref.2.gz"),
        ("ref.ref0", "ref.ref1"),
        tuple(f"ref.{i}" for i in range(12)),
    ],
)
def test_prefixes(tmp_path, names, monkeypatch):
    write(tmp_path, *names)
    write(tmp_path, "ref.txt", "other0", "xref0", "ref0.old", text="c\n")
    assert reference_files(tmp_path / "ref") == [str(tmp_path / name) for name in names]
    monkeypatch.chdir(tmp_path)
    references = read_references(["ref"])
    assert references.paths == names
    assert references["1"] == ["b"] * len(names)
    write(tmp_path, "ref")
    assert read_references(["ref"]).count == 1  # a file is taken before a prefix


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("ref0", "ref2"), "from 0 or 1 without a gap, found ref0, ref2"),
        (("ref2019", "ref2020"), "from 0 or 1 without a gap, found ref2019, ref2020"),
        (("ref0", "ref0.gz"), r"expected one file for each number, .* found ref0, ref0\.gz"),
        (("ref0", "ref.0"), r"expected numbered files of one kind, found ref0 and ref\.0"),
        ((), r"no such file, nor numbered ones such as ref0, ref\.0 or ref\.ref0"),
    ],
)
def test_prefixes_that_would_leave_references_out(tmp_path, names, message):
    write(tmp_path, *names)
    with pytest.raises(InputError, match=message):
        read_references([tmp_path / "ref"])


def test_files_that_do_not_fit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "ref.0", "same.0", "same.1")
    write(tmp_path, "ref.1", text="a\n")
    write(tmp_path, "empty", text="")
    for names, message in (
        (["ref"], r"ref\.1:1: expected 2 lines, one per segment, found 1"),
        (["empty"], "empty: expected references, found an empty file"),
        (["same", "same.1"], r"same\.1: the same references are named twice"),
        (["nowhere/ref"], "nowhere/ref: no such file"),
        ([], "at least one file of references"),
    ):
        with pytest.raises(RyptError, match=message):
            read_references(names)


def test_empty_lines_are_references(tmp_path):
    write(tmp_path, "ref", text="a\n\n c \n")
    references = read_references([tmp_path / "ref"])
    assert [references[segment] for segment in "012"] == [["a"], [""], [" c "]]


@pytest.mark.parametrize("segment", ["2", "-1", "news-1", "", "²", "99999999999999999999999"])
def test_a_segment_without_a_reference(segment):
    with pytest.raises(RyptError, match=r"segment .* has no reference: there are 2, for the segments from 0"):
        References([["a", "b"]])[segment]
