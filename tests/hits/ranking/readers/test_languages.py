"""Language pairs in files and their names; files of different pairs are apart."""

from pathlib import Path

import pytest

from hits.ranking.readers.files import Filters, read_comparisons, read_parts
from rypt.text import InputError


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = []
    for name in ("wmt14.Urdu-English", "wmt14.Czech-English", "wmt13.cs-en.txt"):
        (tmp_path / name).write_text("online-A jhu 3 1 2\n", encoding="utf-8")
        paths.append(tmp_path / name)
    return paths


def test_files_of_different_pairs_are_apart(files: list[Path]) -> None:
    parts = read_parts(files)
    assert [(part.languages, len(part.data)) for part in parts] == [
        ("Urdu-English", 6),
        ("Czech-English", 12),
    ]
    (merged,) = read_parts(files, together=True)
    assert len(merged.data) == 18
    with pytest.raises(
        InputError, match="expected one pair of languages, found Czech-English, Urdu-English: choose"
    ):
        read_comparisons(files)
    assert len(read_comparisons(files[1:], filters=Filters(languages="ces-eng"))) == 12
    with pytest.raises(InputError, match=r"wmt14\.Urdu-English: expected rows of cs-en, found Urdu-English"):
        read_comparisons(files, filters=Filters(languages="cs-en"))


def test_files_without_a_pair_are_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("online-A jhu 3 1 2\n", encoding="utf-8")
    (part,) = read_parts([tmp_path / "one", tmp_path / "two"])
    assert (part.languages, len(part.data)) == ("", 12)


def test_excluded_systems_need_not_be_in_all_parts(files: list[Path]) -> None:
    files[0].write_text("online-A jhu 3 1 2\nonline-A _ref 0 0 2\n", encoding="utf-8")
    parts = read_parts(files[:2], filters=Filters(exclude=("_ref",)))
    assert [part.data.systems for part in parts] == [("jhu", "online-A")] * 2
