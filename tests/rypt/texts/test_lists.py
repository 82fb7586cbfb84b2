"""Lists of candidates in every format that is read, their links, folders of them, and references."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.records import Candidate, Segment
from rypt.text import FormatError, InputError
from rypt.texts.formats import finite, read_bars
from rypt.texts.lists import expand_lists, read_references, reference_files
from rypt.texts.nbest import read_candidates, read_list

TWO = [["the house", "a house"], ["yes", "yes !"]]
FLAT = [(str(i), text) for i, texts in enumerate(TWO) for text in texts]
FAIRSEQ = """\
2024-01-01 10:00:00 | INFO | fairseq.tasks | [de] dictionary: 8848 types
S-1\tdas Haus
H-1\t-0.25\tthe house
D-1\t-0.25\tThe house.
P-1\t-0.125 -0.25 -0.375
A-1\t0-0 1-1
H-1\t-0.5\ta\u00a0house
P-1\t-1.5 -0.5
P-0\t-9 -9
H-0\t-1e-3\tyes ||| no
P-0\t-0.5
A-0\t0-0
Generate test: BLEU4 = 1
"""


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., list[Candidate]]:
    def read_text(text: str, order: tuple[str, ...] | None = ("0", "1")) -> list[Candidate]:
        (tmp_path / "list").write_text(text, encoding="utf-8")
        return [candidate for _, candidate in read_list(tmp_path / "list", order)]

    return read_text


def texts_of(candidates: list[Candidate]) -> list[tuple[str, str]]:
    return [(candidate.segment, candidate.text) for candidate in candidates]


@pytest.mark.parametrize(
    ("line", "candidate"),
    [
        ("7 ||| a  b ||| LM= -1 TM= 2 3 ||| -4 ||| 0-0", Candidate("7", "a  b", "0-0", {"LM": -1, "TM_0": 2, "TM_1": 3}, -4)),
        ("7 ||| a ||| x=1 ||| -4 ||| 0=0-1 ||| 0-0 0-1\r", Candidate("7", "a", "0-0 0-1", {"x": 1}, -4)),
        ("7 ||| a", Candidate("7", "a", None)),
        ("7 ||| a ||| 0-0 1-1 ||| WordScores= -1 -2 ||| F0= -1 ||| -4", Candidate("7", "a", "0-0 1-1", {"F0": -1}, -4)),
        ("7 ||| (S{0-1} a) ||| x=1 ||| -4", Candidate("7", "(S{0-1} a)", None, {"x": 1}, -4)),
    ],
)  # fmt: skip
def test_lines_with_bars(line: str, candidate: Candidate) -> None:
    assert list(read_bars("x", [(1, line)])) == [(1, candidate)]


@given(st.text("0123456789.+-eE_ nainf\u0663\x0b", max_size=12))
def test_a_number_is_what_python_reads_without_its_liberties(text: str) -> None:
    try:
        value = finite(text)
    except FormatError:
        return
    assert value == float(text)
    assert set(text) <= set("0123456789.+-eE ")


@pytest.mark.parametrize(("name", "key"), [("candidate", "id"), ("mt", "segment"), ("text", "id")])
def test_json_with_a_candidate_a_line(read: Callable[..., list[Candidate]], name: str, key: str) -> None:
    records = [{key: int(segment), name: text, "comet": 0.5} for segment, text in FLAT]
    candidates = read("\n".join(map(json.dumps, records)), None)
    assert texts_of(candidates) == FLAT
    assert [candidate.columns for candidate in candidates] == [{"comet": 0.5}] * 4


@pytest.mark.parametrize(
    "records",
    [
        [{"candidates": texts} for texts in TWO],
        [{"id": i, "hypotheses": [{"text": text} for text in texts]} for i, texts in enumerate(TWO)],
        [
            {"hypotheses": [[f"▁{w}" for w in text.split()] for text in texts], "scores": [-1, -2]}
            for texts in TWO
        ],
    ],
)
def test_json_with_a_segment_a_line(read: Callable[..., list[Candidate]], records: list[Any]) -> None:
    lines = "\n".join(map(json.dumps, records))
    assert texts_of(read(lines)) == texts_of(read(lines, None)) == FLAT
    named = read(lines, ("a", "b"))
    assert [candidate.segment for candidate in named] in (list("aabb"), list("0011"))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fairseq_behind_a_log(read: Callable[..., list[Candidate]], end: str) -> None:
    assert read(FAIRSEQ.replace("\n", end)) == [
        Candidate("1", "the house", "0-0 1-1", {"score": -0.25, "logprob": -0.75, "length": 3.0}, -0.25),
        Candidate("1", "a\u00a0house", None, {"score": -0.5, "logprob": -2.0, "length": 2.0}, -0.5),
        Candidate("0", "yes ||| no", "0-0", {"score": -0.001, "logprob": -0.5, "length": 1.0}, -0.001),
    ]
    assert read("H-0\tyes\nH-0\t\n") == [Candidate("0", "yes", None), Candidate("0", "", None)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb\nc\n", "list:3: expected 2 lines, one per segment, found more"),
        ("a\0\nb\n", "list:1: expected text, found a NUL character"),
        ("0 ||| a\nb\n", "list:2: expected id ||| candidate"),
        ("0 ||| a\n ||| b\n", "list:2: expected an id before |||"),
        ("0 ||| a\n0 ||| b ||| x=1_0\n", "list:2: expected a finite number, found '1_0'"),
        ("0 ||| a\n0 ||| b ||| =1\n", "list:2: expected the name of a feature"),
        ("0 ||| a\n0 ||| b ||| b=1 b_0=1 b=2\n", "list:2: the feature b_0 is there twice"),
        ("0 ||| a\n0 ||| a ||| x=1 ||| many\n", "list:2: expected a finite number, found 'many'"),
        ('{"mt": "a"}\n{not json}\n', "list:2: expected JSON with id and candidate"),
        ('{"mt": "a"}\n' * 3, "list:3: expected 2 segments, found more: give each line an id"),
        ('{"id": 0, "mt": "a"}\n{"mt": "b"}\n', "list:2: expected an id on every line or on none"),
        ('{"id": 0, "candidates": "a"}\n', "list:1: expected candidates as a list of candidates, found 'a'"),
        ('{"id": 0, "mt": "a\\nb"}\n', "list:1: expected the candidate as one line of text"),
        ("S-0\tja\nH-0\t-1\n", "list:2: expected H-0<TAB>score<TAB>candidate"),
        ("H-0\t-1\ta\nP-0\t-1\nH-1\t-2\tb\n", "list:3: expected scores of all candidates and tokens or of none"),
    ],
)  # fmt: skip
def test_mistakes_are_named(read: Callable[..., list[Candidate]], text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        [len(candidate.features) for candidate in read(text)]
    assert message in str(error.value)


SEGMENTS = {"0": Segment("0", "das alte Haus"), "1": Segment("1", "ja")}
GOOD = "1 ||| yes ||| ||| -1 ||| 0-0\n"


def read_linked(folder: Path, text: str, alignments: str | None = None, **options: Any) -> list[Candidate]:
    (folder / "list").write_text(text, encoding="utf-8")
    if alignments is not None:
        (folder / "align").write_text(alignments, encoding="utf-8")
        options["alignments"] = folder / "align"
    return read_candidates(folder / "list", SEGMENTS, **options)


@pytest.mark.parametrize(
    ("line", "text", "links"),
    [
        ("0 ||| the old house ||| LM0= -1 ||| -4 ||| 0-0 1-1 2-2", "the old house", "0-0 1-1 2-2"),
        ("0 ||| the old house ||| LM0= -1 ||| -4 ||| 0=0 1-2=1-2", "the old house", "0-0 1-1 1-2 2-1 2-2"),
        ("0 ||| the |0-0| old house |1-2| ||| lm=-1 ||| -4", "the old house", "0-0 1-1 1-2 2-1 2-2"),
        ("0 ||| (S{0-3} the (X{1-2} old) house) ||| lm=-1 ||| -4", "the old house", "0-0 0-2 1-1 2-0 2-2"),
        ("0 ||| house ||| lm=-1 ||| -4 ||| (S{0-3} (X{1-3} house))", "house", "1-0 2-0"),
        (json.dumps({"id": 0, "candidate": "the house", "alignment": "0-0 2-1"}), "the house", "0-0 2-1"),
    ],
)
def test_every_kind_of_alignment_becomes_links(tmp_path: Path, line: str, text: str, links: str) -> None:
    (candidate,) = read_linked(tmp_path, f"{line}\n")
    assert (candidate.segment, candidate.text, candidate.alignment) == ("0", text, links)
    first, second = read_linked(tmp_path, f"{text}\nyes\n", f"{links}\n1 ||| 0-0\n")  # in a file of their own
    assert (first, second.alignment) == (Candidate("0", text, links), "0-0")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 ||| a house ||| ||| -1 ||| 0-0 2-2\n", "segment 0: link 2-2 is out of range: the candidate has 2"),
        ("7 ||| a house ||| ||| -1 ||| 0-0\n", "segment '7' is not in the source"),
        ("0 ||| a house ||| ||| -1\n", "expected an alignment"),
        ("0 ||| a |1-0| ||| ||| -1\n", "expected a source range from left to right"),
        ("0 ||| a ||| ||| -1 ||| (S{0-3} b)\n", "the derivation is of another candidate: it yields 'b', not 'a'"),
    ],
)  # fmt: skip
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_linked(tmp_path, GOOD + line)
    assert f"list:2: {message}" in str(error.value)


@pytest.mark.parametrize(
    ("alignments", "message"),
    [
        ("0-0\n", "list:2: expected an alignment for each candidate, found 1"),
        ("0-0\n0-0\n0-0\n", "align:3: expected 2 alignments"),
        ("0 ||| 0-0\n0 ||| 0-0\n", "list:2: the alignment on line 2 is for segment 0, not for segment 1"),
    ],
)
def test_bad_alignment_files_are_named(tmp_path: Path, alignments: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_linked(tmp_path, "0 ||| house ||| ||| -1\n1 ||| yes ||| ||| -1\n", alignments)


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
        (("ref2019", "ref2020"), "from 0 or 1 without a gap, found ref2019, ref2020"),
        (("ref0", "ref0.gz"), r"expected one file for each number, .* found ref0, ref0\.gz"),
        ((), r"no such file, nor numbered ones such as ref0, ref\.0 or ref\.ref0"),
    ],
)
def test_prefixes_that_would_leave_references_out(tmp_path, names, message):
    write(tmp_path, *names)
    with pytest.raises(InputError, match=message):
        read_references([tmp_path / "ref"])
