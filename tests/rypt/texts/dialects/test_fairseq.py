"""The output of fairseq-generate."""

from pathlib import Path

import pytest

from mert.lists.arrays import read_lists
from rypt.records import Candidate, Segment
from rypt.text import InputError
from rypt.texts.dialects.fairseq import is_fairseq, read_fairseq
from rypt.texts.nbest import read_candidates, read_raw

OUTPUT = """\
2024-01-01 10:00:00 | INFO | fairseq.tasks | [de] dictionary: 8848 types
S-1\tdas Haus
T-1\tthe house
H-1\t-0.25\tthe house
D-1\t-0.25\tThe house.
P-1\t-0.125 -0.25 -0.375
A-1\t0-0 1-1
H-1\t-0.5\ta\u00a0house
P-1\t-1.5 -0.5
S-0\tja
H-0\t-1e-3\tyes
P-0\t-0.5
A-0\t0-0
2024-01-01 10:00:01 | INFO | fairseq_cli.generate | Translated 2 sentences
"""


def numbered(text):
    return list(enumerate(text.split("\n"), start=1))


def test_candidates_have_the_scores_of_their_tokens_and_their_alignments():
    assert list(read_fairseq("gen.out", numbered(OUTPUT))) == [
        (4, Candidate("1", "the house", "0-0 1-1", {"score": -0.25, "logprob": -0.75, "length": 3.0}, -0.25)),
        (8, Candidate("1", "a\u00a0house", None, {"score": -0.5, "logprob": -2.0, "length": 2.0}, -0.5)),
        (11, Candidate("0", "yes", "0-0", {"score": -0.001, "logprob": -0.5, "length": 1.0}, -0.001)),
    ]


def test_without_scores_of_tokens_there_is_one_feature():
    lines = "\n".join(line for line in OUTPUT.split("\n") if line.startswith("H-"))
    assert [raw.features for _, raw in read_fairseq("x", numbered(lines))] == [
        {"score": -0.25},
        {"score": -0.5},
        {"score": -0.001},
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("from_bytes", [True, False])
def test_files_are_known_by_their_lines_even_behind_a_log(tmp_path, end, from_bytes):
    data = OUTPUT.replace("\n", end).encode()
    (tmp_path / "gen.out").write_bytes(data)
    found = list(read_raw(tmp_path / "gen.out", data=data if from_bytes else None))
    assert found == list(read_fairseq("x", numbered(OUTPUT)))


def test_rypt_reads_it_with_its_alignments(tmp_path):
    lines = OUTPUT.replace("P-1\t-1.5 -0.5", "P-1\t-1.5 -0.5\nA-1\t0-0 1-0").split("\n")[1:]
    (tmp_path / "gen.out").write_text("\n".join(lines))
    found = read_candidates(tmp_path / "gen.out", {"0": Segment("0", "ja"), "1": Segment("1", "das Haus")})
    assert [(c.segment, c.alignment) for c in found] == [("1", "0-0 1-1"), ("1", "0-0 1-0"), ("0", "0-0")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S-0\tja\n", "gen: expected lines H-id<TAB>score<TAB>candidate, found none"),
        ("S-0\tja\nH-0\t-1\n", "gen:2: expected H-0<TAB>score<TAB>candidate"),
        ("H-0\tx\tyes\n", "gen:1: expected a finite number, found 'x'"),
        ("H-0\tnan\tyes\n", "gen:1: expected a finite number, found 'nan'"),
        ("H-0\t-1\tyes\nP-0\t-1 -inf\n", "gen:2: expected a finite number, found '-inf'"),
        ("H-0\t-1\ta\0b\n", "gen:1: expected text, found a NUL character"),
        (
            "H-0\t-1\ta\nP-0\t-1\nH-1\t-2\tb\n",
            "gen:3: expected .* or of none: H-1 has no line P-1, .* have one",
        ),
        (
            "H-0\t-1\ta\nH-1\t-2\tb\nP-1\t-1\nH-2\t-1\tc\n",
            "gen:2: expected .*: H-1 has a line P-1, .* have none",
        ),
    ],
)
def test_bad_output_is_named(text, message):
    with pytest.raises(InputError, match=message):
        list(read_fairseq("gen", numbered(text)))


@pytest.mark.parametrize(
    "line", ["H-0 -1 text", "h-0\tx", "H-\tx", "HH-0\tx", "0 ||| a", "", "Generate test: BLEU4 = 1"]
)
def test_other_lines_are_not_fairseqs(line):
    assert not is_fairseq(line)


def test_scores_of_another_segment_are_not_taken():
    (found,) = read_fairseq("x", numbered("H-0\t-1\ta\nP-1\t-5 -5\nA-1\t0-0"))
    assert found == (1, Candidate("0", "a", None, {"score": -1.0}, -1.0))


def test_bars_in_a_text_are_words_for_the_tuner_too(tmp_path):
    (tmp_path / "gen.out").write_text("H-0\t-0.5\ta ||| b\nH-0\t-1.5\tc\n")
    lists = read_lists([tmp_path / "gen.out"])
    assert [raw.text for raw in lists.candidates] == ["a ||| b", "c"]
    assert (lists.names, lists.features.tolist()) == (("score",), [[-0.5], [-1.5]])


def test_a_log_before_the_list_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "gen.out"
    path.write_text(
        "2024-01-01 | INFO | loading\n" * 3 + "S-0\tja\nH-0\t-0.5\tyes\nH-1\t-1\tno\nGenerate: BLEU4\n"
    )
    assert [(raw.segment, raw.text) for _, raw in read_raw(path, ("0", "1"))] == [("0", "yes"), ("1", "no")]


def test_lines_whose_scores_were_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "gen.out"
    path.write_text("H-0\tyes\nH-0\t\nH-1\tno\n")
    assert [(raw.text, raw.features, raw.score) for _, raw in read_raw(path)] == [
        ("yes", {}, None),
        ("", {}, None),
        ("no", {}, None),
    ]
    path.write_text("H-0\tyes\nH-0\t-1\tno\n")
    with pytest.raises(
        InputError, match=r"gen.out:2: expected H-id<TAB>score<TAB>candidate on all lines or on none"
    ):
        list(read_raw(path))
