"""References in files of their own, and names of people."""

from pathlib import Path

import pytest

from rypt.ratings.references import human_systems, is_human, read_references
from rypt.text import InputError


@pytest.mark.parametrize(
    "name", ["ref", "Ref.A", "refA", "ref-C", "reference", "Human-A.0", "Human-P.0", "wmt23.refA"]
)
def test_people(name: str) -> None:
    assert is_human(name)


@pytest.mark.parametrize("name", ["Refine", "humanoid-1", "prefA", "Online-A", "reframe.2", "HumanMT", "A"])
def test_systems(name: str) -> None:
    assert not is_human(name)


def test_names_can_be_put_right() -> None:
    assert human_systems(["A", "ref", "ref.B"], ["A"], ["ref.B"]) == ("A", "ref")


@pytest.mark.parametrize(
    ("text", "segments", "found"),
    [
        ("eins\nzwei\n", ["a", "b"], {"a": "eins", "b": "zwei"}),
        ("eins\nzwei\n", ["10", "9"], {"9": "eins", "10": "zwei"}),
        ("eins\n\n", ["a", "b"], {"a": "eins"}),
        ("eins\nzwei\ndrei\n", ["3", "1"], {"3": "drei", "1": "eins"}),
        ("eins\nzwei\ndrei\n", ["0", "2"], {"0": "eins", "2": "drei"}),
        ("b\tzwei\na\teins\nx\tdrei\n", ["a", "b"], {"a": "eins", "b": "zwei"}),
        ('{"id": 7, "text": "sieben"}\n', ["7", "8"], {"7": "sieben"}),
        ('{"id": "8", "reference": "acht"}\n', ["7", "8"], {"8": "acht"}),
    ],
)
def test_forms(tmp_path: Path, text: str, segments: list[str], found: dict[str, str]) -> None:
    (tmp_path / "ref").write_text(text, encoding="utf-8")
    assert read_references(tmp_path / "ref", segments) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ref: expected references, found an empty file"),
        ("eins\nzwei\n", "ref: expected 3 lines, one for each segment in the order of the ids, or TSV or"),
        ('{"id": 7}\n', "ref:1: expected a JSON object with id and text"),
        ('{"id": 7, "text": 3}\n', "ref:1: expected a JSON object with id and text"),
        ('{"id": 7, "text": "x"}\n', "ref: expected references of the rated segments, such as a, found none"),
    ],
)
def test_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "ref").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_references(tmp_path / "ref", ["a", "b", "c"])
    assert message in str(error.value)
