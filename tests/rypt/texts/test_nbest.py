"""Candidates with links: all kinds of alignments, in the list or in a file of their own."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rypt.records import Candidate, Segment
from rypt.text import InputError
from rypt.texts.alignment import Lexicon
from rypt.texts.nbest import read_candidates

SEGMENTS = {"0": Segment("0", "das alte Haus"), "1": Segment("1", "ja")}
GOOD = "1 ||| yes ||| ||| -1 ||| 0-0\n"


def read(folder: Path, text: str, alignments: str | None = None, **options: Any) -> list[Candidate]:
    (folder / "list").write_text(text, encoding="utf-8")
    if alignments is not None:
        (folder / "align").write_text(alignments, encoding="utf-8")
        options["alignments"] = folder / "align"
    return read_candidates(folder / "list", SEGMENTS, **options)


@pytest.mark.parametrize(
    ("line", "text", "links"),
    [
        ("0 ||| the old house ||| LM0= -1 ||| -4 ||| 0-0 1-1 2-2", "the old house", "0-0 1-1 2-2"),
        ("0 ||| the old house ||| LM0= -1 ||| -4 ||| 0=0 1-2=1-2 ||| 0-0", "the old house", "0-0"),
        ("0 ||| the old house ||| LM0= -1 ||| -4 ||| 0=0 1-2=1-2", "the old house", "0-0 1-1 1-2 2-1 2-2"),
        ("0 ||| the |0-0| old house |1-2| ||| lm=-1 ||| -4", "the old house", "0-0 1-1 1-2 2-1 2-2"),
        ("0 ||| the |0-0| old house |1-2| ||| lm=-1 ||| -4 ||| 0-0", "the old house", "0-0"),
        ("0 ||| (S{0-3} the (X{1-2} old) house) ||| lm=-1 ||| -4", "the old house", "0-0 0-2 1-1 2-0 2-2"),
        ("0 ||| house ||| lm=-1 ||| -4 ||| (S{0-3} (X{1-3} house))", "house", "1-0 2-0"),
        ("0 ||| house ||| LM0= -1 ||| -4 |||", "house", ""),
        (json.dumps({"id": 0, "candidate": "the house", "alignment": "0-0 2-1"}), "the house", "0-0 2-1"),
    ],
)
def test_every_kind_of_alignment_becomes_links(tmp_path: Path, line: str, text: str, links: str) -> None:
    (candidate,) = read(tmp_path, f"{line}\n")
    assert (candidate.segment, candidate.text, candidate.alignment) == ("0", text, links)


def test_a_lexicon_settles_words_inside_a_phrase_pair(tmp_path: Path) -> None:
    lexicon = Lexicon({("alte haus", "old house"): ((0, 0), (1, 1))})
    (candidate,) = read(tmp_path, "0 ||| the old house ||| ||| -1 ||| 0=0 1-2=1-2\n", lexicon=lexicon)
    assert candidate.alignment == "0-0 1-1 2-2"


def test_alignments_in_a_file_of_their_own(tmp_path: Path) -> None:
    first, second = read(tmp_path, "the old house\nyes\n", "0-0 1-1 2-2\n1 ||| 0-0\n")
    assert (first.alignment, second.segment, second.alignment) == ("0-0 1-1 2-2", "1", "0-0")


def test_gzip(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "list.gz", "wt") as file:
        file.write(GOOD)
    assert read_candidates(tmp_path / "list.gz", SEGMENTS)[0].text == "yes"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 ||| a house ||| ||| -1 ||| 0-0 2-2\n", "segment 0: link 2-2 is out of range: the candidate has 2"),
        ("0 ||| a house ||| ||| -1 ||| 0-0 5-1\n", "segment 0: link 5-1 is out of range: the source has 3"),
        ("0 ||| a house ||| ||| -1 ||| 0-0 1x1\n", "segment 0: expected alignment links like 3-5"),
        ("0 ||| a ||| ||| -1 ||| 0-0 9999999999-0\n", "segment 0: expected alignment links like 3-5"),
        ("7 ||| a house ||| ||| -1 ||| 0-0\n", "segment '7' is not in the source"),
        ("0 ||| a house ||| ||| -1\n", "expected an alignment"),
        ("0 ||| a |1-0| ||| ||| -1\n", "expected a source range from left to right"),
        ("0 ||| a ||| ||| -1 ||| (S{0-3} b)\n", "the derivation is of another candidate: it yields 'b', not 'a'"),
        ("0 ||| (S{0-3} the house ||| ||| -1\n", "unbalanced brackets in the derivation"),
    ],
)  # fmt: skip
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, GOOD + line)
    assert f"list:2: {message}" in str(error.value)


@pytest.mark.parametrize(
    ("alignments", "message"),
    [
        ("0-0\n", "list:2: expected an alignment for each candidate, found 1"),
        ("0-0\n0-0\n0-0\n", "align:3: expected 2 alignments"),
        ("0 ||| 0-0\n0 ||| 0-0\n", "list:2: the alignment on line 2 is for segment 0, not for segment 1"),
        ("0-0\n0-7\n", "align:2: segment 1: link 0-7 is out of range"),
    ],
)
def test_bad_alignment_files_are_named(tmp_path: Path, alignments: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, "0 ||| house ||| ||| -1\n1 ||| yes ||| ||| -1\n", alignments)


@pytest.mark.parametrize("with_links", [False, True])
def test_candidates_of_other_segments_are_left_out(tmp_path: Path, with_links: bool) -> None:
    links = "" if with_links else " ||| 0-0"
    text = f"0 ||| a ||| x=1 ||| 1{links}\n9 ||| nobody\n1 ||| b ||| x=1 ||| 1{links}\n"
    alignments = "0-0\n7-7\n0-0\n" if with_links else None
    assert [c.text for c in read(tmp_path, text, alignments, only={"0"})] == ["a"]
    assert [c.text for c in read(tmp_path, text, alignments, only={"1"})] == ["b"]
