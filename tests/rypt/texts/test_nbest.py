"""Candidates in all the forms decoders write them."""

import gzip
import json

import pytest

from rypt.records import Segment
from rypt.text import InputError
from rypt.texts.alignment import Lexicon
from rypt.texts.nbest import read_candidates

SEGMENTS = {"0": Segment("0", "das alte Haus"), "1": Segment("1", "ja")}


def read(tmp_path, text, alignments=None, **options):
    path = tmp_path / "list"
    path.write_text(text, encoding="utf-8")
    if alignments is not None:
        (tmp_path / "align").write_text(alignments, encoding="utf-8")
        options["alignments"] = tmp_path / "align"
    return read_candidates(path, SEGMENTS, **options)


@pytest.mark.parametrize(
    ("line", "text", "links"),
    [
        (
            "0 ||| the old house ||| LM0= -1 TM0= -2 -3 ||| -4.5 ||| 0-0 1-1 2-2",
            "the old house",
            "0-0 1-1 2-2",
        ),
        (
            "0 ||| the old house ||| LM0= -1 ||| -4.5 ||| 0=0 1-2=1-2 ||| 0-0 1-1 2-2",
            "the old house",
            "0-0 1-1 2-2",
        ),
        ("0 ||| the old house ||| LM0= -1 ||| -4.5 ||| 0=0 1-2=1-2", "the old house", "0-0 1-1 1-2 2-1 2-2"),
        ("0 ||| the |0-0| old house |1-2| ||| lm=-1 ||| -4.5", "the old house", "0-0 1-1 1-2 2-1 2-2"),
        ("0 ||| (S{0-3} the (X{1-2} old) house) ||| lm=-1 ||| -4.5", "the old house", "0-0 0-2 1-1 2-0 2-2"),
        (
            "0 ||| the |0-0| old house |1-2| ||| lm=-1 ||| -4.5 ||| 0-0 1-1 2-2",
            "the old house",
            "0-0 1-1 2-2",
        ),
        (
            "0 ||| the house ||| lm=-1 ||| -4.5 ||| (S{0-3} (X{0-1} the) (X{1-3} house))",
            "the house",
            "0-0 1-1 2-1",
        ),
        ("0 ||| house ||| LM0= -1 ||| -4.5 |||", "house", ""),
        (
            json.dumps({"id": 0, "candidate": "the house", "alignment": "0-0 2-1", "score": -4.5}),
            "the house",
            "0-0 2-1",
        ),
    ],
)
def test_dialects(tmp_path, line, text, links):
    (candidate,) = read(tmp_path, line + "\n")
    assert (candidate.segment, candidate.text, candidate.alignment, candidate.score) == (
        "0",
        text,
        links,
        -4.5,
    )


def test_features_are_kept(tmp_path):
    (candidate,) = read(tmp_path, "0 ||| x ||| LM0= -1.5 TM0= -2 -3 oov=1 ||| -4 ||| 0-0\n")
    assert candidate.features == {"LM0": -1.5, "TM0_0": -2, "TM0_1": -3, "oov": 1}
    (candidate,) = read(tmp_path, "0 ||| x ||| lm= -1 lm= -2 d: 0.5 0.25 7 ||| -4 ||| 0-0\n")
    assert candidate.features == {"lm_0": -1, "lm_1": -2, "d_0": 0.5, "d_1": 0.25, "d_2": 7}
    (candidate,) = read(tmp_path, "0 ||| x ||| 1 2 ||| -4 ||| 0-0\n")
    assert candidate.features == {"F_0": 1, "F_1": 2}


def test_plain_output_with_alignments(tmp_path):
    first, second = read(tmp_path, "the old house\nyes\n", "0-0 1-1 2-2\n0-0\n")
    assert (first.segment, second.segment, second.alignment) == ("0", "1", "0-0")


def test_alignments_in_a_file_of_their_own(tmp_path):
    candidates = read(
        tmp_path, "0 ||| a house ||| ||| -1\n0 ||| house ||| ||| -2\n", "0 ||| 0-0 2-1\n0 ||| 2-0\n"
    )
    assert [c.alignment for c in candidates] == ["0-0 2-1", "2-0"]


def test_a_lexicon_settles_words_inside_a_phrase_pair(tmp_path):
    lexicon = Lexicon({("alte haus", "old house"): ((0, 0), (1, 1))})
    (candidate,) = read(tmp_path, "0 ||| the old house ||| ||| -1 ||| 0=0 1-2=1-2\n", lexicon=lexicon)
    assert candidate.alignment == "0-0 1-1 2-2"


def test_gzip(tmp_path):
    with gzip.open(tmp_path / "list.gz", "wt") as file:
        file.write("1 ||| yes ||| ||| -1 ||| 0-0\n")
    assert read_candidates(tmp_path / "list.gz", SEGMENTS)[0].text == "yes"


GOOD = "1 ||| yes ||| ||| -1 ||| 0-0\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "0 ||| the house ||| ||| -1 ||| 0-0 2-2\n",
            "list:2: segment 0: link 2-2 is out of range: the candidate has 2",
        ),
        (
            "0 ||| the house ||| ||| -1 ||| 0-0 5-1\n",
            "list:2: segment 0: link 5-1 is out of range: the source has 3",
        ),
        ("0 ||| the house ||| ||| -1 ||| 0-0 1x1\n", "list:2: segment 0: expected alignment links like 3-5"),
        ("7 ||| the house ||| ||| -1 ||| 0-0\n", "list:2: segment '7' is not in the source"),
        ("0 ||| the house ||| ||| -1\n", "list:2: expected an alignment"),
        ("0 ||| the house ||| LM0= x ||| -1 ||| 0-0\n", "list:2: expected a finite number, found 'x'"),
        ("0 ||| the house ||| ||| many ||| 0-0\n", "list:2: expected a finite number, found 'many'"),
        ('{"id": 0, "alignment": ""}\n', "list:2: expected a field candidate"),
        ("{not json}\n", "list:2: expected a JSON object"),
        ("0 ||| x ||| LM0= nan ||| -1 ||| 0-0\n", "list:2: expected a finite number, found 'nan'"),
        ("0 ||| a\0b ||| ||| -1 ||| 0-0\n", "list:2: expected text, found a NUL character"),
        ("0 ||| a |1-0| ||| ||| -1\n", "list:2: expected a source range from left to right"),
        (
            '{"id": 0, "candidate": null, "alignment": ""}\n',
            "list:2: expected the candidate as one line of text",
        ),
        (
            '{"id": 0, "candidate": "a\\nb", "alignment": ""}\n',
            "list:2: expected the candidate as one line of text",
        ),
        (
            '{"id": 0, "candidate": "a", "alignment": [0]}\n',
            "list:2: expected the alignment as one line of text",
        ),
        ('{"id": 0, "candidate": "a", "alignment": "", "score": "x"}\n', "list:2: expected a finite number"),
        ("0 ||| |0-9999999999| x ||| ||| -1 ||| 0-0 9-0\n", "list:2: segment 0: link "),
        (
            json.dumps({"id": 0, "candidate": "a house", "alignment": "(S{0-3} the house)"}) + "\n",
            "list:2: the derivation is of another candidate: it yields 'the house', not 'a house'",
        ),
        ("0 ||| (S{0-3} the house ||| ||| -1\n", "list:2: unbalanced brackets in the derivation"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(").replace("{", r"\{")):
        read(tmp_path, GOOD + line)


@pytest.mark.parametrize(
    ("alignments", "message"),
    [
        ("0-0\n", "align:1: expected an alignment for each candidate of .*list, found 1"),
        ("0-0\n0-0\n0-0\n", "align:3: expected 2 alignments"),
        ("0 ||| 0-0\n0 ||| 0-0\n", "list:2: the alignment on line 2 is for segment 0, not for segment 1"),
        ("0-0\n0-7\n", "align:2: segment 1: link 0-7 is out of range"),
    ],
)
def test_bad_alignment_files_are_named(tmp_path, alignments, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, "0 ||| house ||| ||| -1\n1 ||| yes ||| ||| -1\n", alignments)


def test_more_lines_than_segments(tmp_path):
    with pytest.raises(InputError, match="list:3: expected 2 lines, one per segment, found more"):
        read(tmp_path, "a\nb\nc\n", "\n\n\n")


@pytest.mark.parametrize("with_links", [False, True])
def test_lines_of_other_segments_are_left_out(tmp_path, with_links):
    links = "" if with_links else " ||| 0-0"
    lines = [
        f"0 ||| a ||| LM0= 1 ||| 1{links}",
        "9 ||| nobody ||| LM0= 1 ||| 1",
        f"1 ||| b ||| LM0= 1 ||| 1{links}",
    ]
    pairs = ["0-0", "7-7", "0-0"]
    text, alignments = "\n".join([*lines, lines[0]]), "\n".join([*pairs, pairs[0]]) if with_links else None
    assert [c.text for c in read(tmp_path, text, alignments, only={"0"})] == ["a", "a"]
    assert [c.text for c in read(tmp_path, text, alignments, only={"1"})] == ["b"]
    records = [json.dumps({"id": i, "candidate": "x", "alignment": "0-0"}) for i in (0, 1, 0)]
    assert [c.segment for c in read(tmp_path, "\n".join(records), only={"0"})] == ["0", "0"]
