"""A folder of lists stands for its files, each with the links named like it."""

from pathlib import Path

import pytest

from rypt.text import InputError
from rypt.texts.lists import expand_lists, list_system


def touch(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).touch()
    return folder


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    lists = touch(tmp_path / "lists", "b.jsonl", "A.0.jsonl.gz", ".hidden")
    links = touch(tmp_path / "links", "A.0.align", "b.links", "more.links")
    (lists / "inner").mkdir()
    assert expand_lists([lists])[0] == [lists / "A.0.jsonl.gz", lists / "b.jsonl"]
    assert expand_lists(["x", lists, "y"], ["x.a", links, "y.a"]) == (
        ["x", lists / "A.0.jsonl.gz", lists / "b.jsonl", "y"],
        ["x.a", links / "A.0.align", links / "b.links", "y.a"],
    )
    assert expand_lists(["x"], ["a", "b"]) == (["x"], ["a", "b"])  # too many: said by whoever counts them


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    lists = touch(tmp_path / "lists", "a.jsonl", "b.jsonl")
    with pytest.raises(InputError, match=r"links: expected alignments of .*b\.jsonl, such as b\.links"):
        expand_lists([lists], [touch(tmp_path / "links", "a.links")])
    with pytest.raises(InputError, match=r"a\.jsonl: expected a folder of alignments"):
        expand_lists([lists], [lists / "a.jsonl"])
    with pytest.raises(InputError, match="expected lists of candidates in the folder, found no file"):
        expand_lists([touch(tmp_path / "empty")])
    with pytest.raises(InputError, match=r"found a\.jsonl and a\.txt"):
        expand_lists([touch(tmp_path / "twice", "a.jsonl", "a.txt")])


def test_the_longest_name_that_fits_is_the_system() -> None:
    systems = ["A", "A.2", "", "B"]
    assert list_system("out/A.2.jsonl", systems) == "A.2"
    assert list_system("out/A.jsonl", systems) == "A"
    assert list_system("AB.jsonl", systems) is None
