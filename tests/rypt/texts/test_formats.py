"""Lists of candidates in every format that is read, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mert.lists.arrays import read_lists
from rypt.records import Candidate
from rypt.text import FormatError, InputError
from rypt.texts.features import finite, read_features
from rypt.texts.formats import read_bars, read_fairseq, read_json, reader_of
from rypt.texts.nbest import read_list

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


def test_the_first_line_tells_the_format() -> None:
    lines = [
        "0 ||| x",
        '{"mt": "a ||| b"}',
        '[{"mt": "a"}]',
        "H-0\t-1\ta ||| b",
        "the house",
        "[Applause]",
        "H-0 x",
    ]
    assert list(map(reader_of, lines)) == [read_bars, read_json, read_json, read_fairseq, None, None, None]


@pytest.mark.parametrize(
    ("line", "candidate"),
    [
        ("7 ||| a  b ||| LM= -1 TM= 2 3 ||| -4 ||| 0-0", Candidate("7", "a  b", "0-0", {"LM": -1, "TM_0": 2, "TM_1": 3}, -4)),
        ("7 ||| a ||| x=1 ||| -4 ||| 0=0-1 ||| 0-0 0-1\r", Candidate("7", "a", "0-0 0-1", {"x": 1}, -4)),
        ("7|||a|||x=1|||-4 -5|||", Candidate("7", "a", "", {"x": 1}, -4)),
        ("7 ||| a", Candidate("7", "a", None)),
        ("7 ||| a ||| 0-0 1-1 ||| WordScores= -1 -2 ||| F0= -1 ||| -4", Candidate("7", "a", "0-0 1-1", {"F0": -1}, -4)),
        ("7 ||| a ||| ||| F0= -1 ||| -4", Candidate("7", "a", "", {"F0": -1}, -4)),
        ("7 ||| (S{0-1} a) ||| x=1 ||| -4", Candidate("7", "(S{0-1} a)", None, {"x": 1}, -4)),
    ],
)  # fmt: skip
def test_lines_with_bars(line: str, candidate: Candidate) -> None:
    assert list(read_bars("x", [(1, line)])) == [(1, candidate)]


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("LM0= -1.5 TM0= -2 -3 oov=1", {"LM0": -1.5, "TM0_0": -2, "TM0_1": -3, "oov": 1}),
        ("lm= -1 lm= -2 a=b=3", {"lm_0": -1, "lm_1": -2, "a=b": 3}),
        ("d: 0.5 0.25", {"d_0": 0.5, "d_1": 0.25}),
        ("1 2", {"F_0": 1, "F_1": 2}),
        ("7", {"F": 7}),
        ("", {}),
    ],
)
def test_features(text: str, features: dict[str, float]) -> None:
    assert read_features(text) == features


@pytest.mark.parametrize(
    "bad", ["nan", "x", "1e999", "1_0", "１", "1\u00a02", "1\x0b", "=1", ": 1", "b=1 b_0=1 b=2"]
)
def test_bad_features_are_refused(bad: str) -> None:
    with pytest.raises(FormatError, match=r"expected a finite number|the name of a feature|is there twice"):
        read_features(f"LM0= 1 {bad}")


@given(st.text("0123456789.+-eE_ nainf\u0663\x0b", max_size=12))
def test_a_number_is_what_python_reads_without_its_liberties(text: str) -> None:
    try:
        value = finite(text)
    except FormatError:
        return
    assert value == float(text)
    assert set(text) <= set("0123456789.+-eE ")


@pytest.mark.parametrize("name", ["candidate", "hypothesis", "translation", "translation_text", "mt", "text"])
@pytest.mark.parametrize("key", ["id", "segment", "index"])
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
        [{"src": f"source {i}", "mt": text} for i, texts in enumerate(TWO) for text in texts],
        [[{"translation_text": text} for text in texts] for texts in TWO],
        TWO,
    ],
)
def test_json_with_a_segment_a_line(read: Callable[..., list[Candidate]], records: list[Any]) -> None:
    lines = "\n".join(map(json.dumps, records))
    for text in (lines, json.dumps(records), json.dumps(records, indent=2)):
        assert texts_of(read(text)) == texts_of(read(text, None)) == FLAT
        named = read(text, ("a", "b"))
        assert [candidate.segment for candidate in named] in (list("aabb"), list("0011"))


def test_features_and_scores_in_json(read: Callable[..., list[Candidate]]) -> None:
    record = {"id": "a", "candidate": "x", "alignment": "0-0", "features": {"lm": -1}, "score": -2}
    (candidate,) = read(json.dumps(record))
    assert candidate == Candidate("a", "x", "0-0", {"lm": -1}, -2)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fairseq_behind_a_log(read: Callable[..., list[Candidate]], end: str) -> None:
    assert read(FAIRSEQ.replace("\n", end)) == [
        Candidate("1", "the house", "0-0 1-1", {"score": -0.25, "logprob": -0.75, "length": 3.0}, -0.25),
        Candidate("1", "a\u00a0house", None, {"score": -0.5, "logprob": -2.0, "length": 2.0}, -0.5),
        Candidate("0", "yes ||| no", "0-0", {"score": -0.001, "logprob": -0.5, "length": 1.0}, -0.001),
    ]
    assert read("H-0\tyes\nH-0\t\n") == [Candidate("0", "yes", None), Candidate("0", "", None)]


def test_plain_output(read: Callable[..., list[Candidate]]) -> None:
    assert texts_of(read("[Applause]\n 0 ||| {laughs}\t\n")) == [("0", "[Applause]"), ("1", "0 ||| {laughs}")]


def test_the_tuner_reads_the_same_candidates(tmp_path: Path, read: Callable[..., list[Candidate]]) -> None:
    candidates = read(FAIRSEQ, None)
    lists = read_lists([tmp_path / "list"])
    assert sorted(map(repr, lists.candidates)) == sorted(map(repr, candidates))
    assert set(lists.names) == {"score", "logprob", "length"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb\nc\n", "list:3: expected 2 lines, one per segment, found more"),
        ("a\n", "list:1: expected 2 lines, one per segment, found 1"),
        ("a\0\nb\n", "list:1: expected text, found a NUL character"),
        ("0 ||| a\nb\n", "list:2: expected id ||| candidate"),
        ("0 ||| a\n ||| b\n", "list:2: expected an id before |||"),
        ("0 ||| a\n0 ||| a ||| x=1 ||| many\n", "list:2: expected a finite number, found 'many'"),
        ("0 ||| a\0\n", "list:1: expected text, found a NUL character"),
        ('{"mt": "a"}\n{not json}\n', "list:2: expected JSON with id and candidate"),
        ('{"mt": "a"}\n', "list:1: expected 2 segments, found 1: give each line an id"),
        ('{"mt": "a"}\n' * 3, "list:3: expected 2 segments, found more: give each line an id"),
        ('{"id": 0, "mt": "a"}\n{"mt": "b"}\n', "list:2: expected an id on every line or on none"),
        ('{"id": 0, "wort": "a"}\n', "list:1: expected a field candidate (or hypothesis"),
        ('{"id": 0, "candidates": "a"}\n', "list:1: expected candidates as a list of candidates, found 'a'"),
        ('{"id": 0, "nbest": ["a"], "scores": [1, 2]}\n', "list:1: expected a list of 1 scores"),
        ('{"id": 0, "mt": {"en": "a"}}\n', "list:1: expected the candidate as one line of text, found {'en'"),
        ('{"id": 0, "mt": "a\\nb"}\n', "list:1: expected the candidate as one line of text"),
        ('{"id": 0, "mt": "a", "alignment": [0]}\n', "list:1: expected the alignment as one line of text"),
        ('{"id": 0, "mt": "a", "features": {"x y": 1}}\n', "list:1: expected one word as the name of a feature"),
        ('{"id": 0, "mt": "a", "score": "x"}\n', "list:1: expected a finite number, found 'x'"),
        ('{"id": true, "mt": "a"}\n', "list:1: expected the id as one line of text"),
        ("[" * 100_000 + "\n", "list:1: expected JSON"),
        ("S-0\tja\n", "list: expected lines H-id<TAB>score<TAB>candidate, found none"),
        ("S-0\tja\nH-0\t-1\n", "list:2: expected H-0<TAB>score<TAB>candidate"),
        ("H-0\tnan\tyes\n", "list:1: expected a finite number, found 'nan'"),
        ("H-0\t-1\ta\nP-0\t-1\nH-1\t-2\tb\n", "list:3: expected scores of all candidates and tokens or of none"),
    ],
)  # fmt: skip
def test_mistakes_are_named(read: Callable[..., list[Candidate]], text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(text)
    assert message in str(error.value)


def test_plain_output_needs_the_segments(read: Callable[..., list[Candidate]]) -> None:
    with pytest.raises(InputError, match=r"list:1: expected id \|\|\| candidate"):
        read("the house\n", None)
