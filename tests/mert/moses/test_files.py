"""Moses' files of features and statistics, byte by byte."""

import gzip
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mert.moses.files import (
    FeatureBlock,
    ScoreBlock,
    format_floats,
    read_features,
    read_scores,
    write_features,
    write_scores,
)
from rypt.text import InputError, RyptError

FEATURES = (
    b"FEATURES_TXT_BEGIN_0 0 2 3 LM0_0 TM0_0 TM0_1 \n"
    b"-76.2115 1e-05 -0.5 \n"
    b"12 0 -1.5e+07 sp_a=0.25 w=x_y=-3 \n"
    b"FEATURES_TXT_END_0\n"
    b"FEATURES_TXT_BEGIN_0 7 1 3 LM0_0 TM0_0 TM0_1 \n"
    b"1 2 3 \n"
    b"FEATURES_TXT_END_0\n"
)
SCORES = (
    b"SCORES_TXT_BEGIN_0 0 2 9 BLEU\n"
    b"3 4 1 3 0 2 0 1 5 \n"
    b"1 4 0 3 0 2 0 1 5 \n"
    b"SCORES_TXT_END_0\n"
    b"SCORES_TXT_BEGIN_0 7 1 9 BLEU\n"
    b"0 0 0 0 0 0 0 0 8 \n"
    b"SCORES_TXT_END_0\n"
)


def block(segment, values, names=None, sparse=None):
    values = np.array(values, dtype=np.float64)
    return FeatureBlock(segment, names or tuple(f"F_{i}" for i in range(values.shape[1])), values, sparse)


def same(found, expected):
    assert [(b.segment, b.names) for b in found] == [(b.segment, b.names) for b in expected]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a.values, b.values.astype(np.float32))


def binary_blocks(data, kind, code):
    """An independent reader of binary files: header lines and numbers by struct, no checks."""
    blocks, at = [], 0
    while at < len(data):
        end = data.index(b"\n", at)
        marker, segment, rows, columns, *words = data[at:end].split(b" ")
        assert marker == kind + b"_BIN_BEGIN_0"
        size = int(rows) * int(columns)
        numbers = struct.unpack_from(f"<{size}{code}", data, end + 1)
        at = end + 1 + 4 * size
        footer = kind + b"_BIN_END_0\n"
        assert data[at : at + len(footer)] == footer
        at += len(footer)
        blocks.append((int(segment), int(rows), words, numbers))
    return blocks


def test_features_in_text(tmp_path):
    path = tmp_path / "run1.features.dat"
    path.write_bytes(FEATURES)
    first, second = read_features(path)
    assert (first.segment, first.names) == ("0", ("LM0_0", "TM0_0", "TM0_1"))
    expected = np.array([[-76.2115, 1e-05, -0.5], [12, 0, -1.5e7]], dtype=np.float32)
    np.testing.assert_array_equal(first.values, expected)
    assert first.values.dtype == np.float64
    assert first.sparse == [{}, {"sp_a": 0.25, "w=x_y": -3.0}]
    assert (second.segment, second.values.tolist(), second.sparse) == ("7", [[1.0, 2.0, 3.0]], None)


def test_a_file_of_moses_is_written_again_byte_by_byte(tmp_path):
    (tmp_path / "f").write_bytes(FEATURES)
    (tmp_path / "s").write_bytes(SCORES)
    write_features(tmp_path / "f2", read_features(tmp_path / "f"))
    write_scores(tmp_path / "s2", read_scores(tmp_path / "s"))
    assert (tmp_path / "f2").read_bytes() == FEATURES
    assert (tmp_path / "s2").read_bytes() == SCORES


def test_scores_in_text(tmp_path):
    path = tmp_path / "run1.scores.dat.gz"
    path.write_bytes(gzip.compress(SCORES))
    first, second = read_scores(path)
    assert (first.segment, first.name) == ("0", "BLEU")
    assert first.stats.tolist() == [[3, 4, 1, 3, 0, 2, 0, 1, 5], [1, 4, 0, 3, 0, 2, 0, 1, 5]]
    assert first.stats.dtype == np.int64
    assert second.segment == "7"


def test_binary_features_byte_by_byte(tmp_path):
    expected = (
        b"FEATURES_BIN_BEGIN_0 3 2 2 LM0_0 TM0_0 \n"
        + struct.pack("<4f", 0.5, -1.25, 10.0, 0.0)
        + b"FEATURES_BIN_END_0\n"
        + b"FEATURES_BIN_BEGIN_0 4 1 2 LM0_0 TM0_0 \n"
        + b"\n\n\n\nSCO="  # numbers may look like line ends and letters
        + b"FEATURES_BIN_END_0\n"
    )
    odd = struct.unpack("<2f", b"\n\n\n\nSCO=")
    blocks = [block("3", [[0.5, -1.25], [10, 0]], ("LM0_0", "TM0_0")), block("4", [odd], ("LM0_0", "TM0_0"))]
    write_features(tmp_path / "f", blocks, binary=True)
    assert (tmp_path / "f").read_bytes() == expected
    same(list(read_features(tmp_path / "f")), blocks)


def test_binary_scores_byte_by_byte(tmp_path):
    expected = (
        b"SCORES_BIN_BEGIN_0 3 2 2 TER\n" + struct.pack("<4f", 100, 2500, 0, 2600) + b"SCORES_BIN_END_0\n"
    )
    write_scores(tmp_path / "s", [ScoreBlock("3", "TER", np.array([[100, 2500], [0, 2600]]))], binary=True)
    assert (tmp_path / "s").read_bytes() == expected


def test_binary_scores_are_read(tmp_path):
    data = struct.pack("<4f", 3, 0, 0, 8_000_000)
    (tmp_path / "s").write_bytes(b"SCORES_BIN_BEGIN_0 3 2 2 TER\n" + data + b"SCORES_BIN_END_0\n")
    (found,) = read_scores(tmp_path / "s")
    assert found.stats.tolist() == [[3, 0], [0, 8_000_000]]


def test_text_and_binary_blocks_may_follow_each_other(tmp_path):
    write_features(tmp_path / "a", [block("0", [[1.5, 2]])], binary=True)
    write_features(tmp_path / "b", [block("1", [[3, 4]])])
    both = (tmp_path / "a").read_bytes() + b"\n" + (tmp_path / "b").read_bytes()
    (tmp_path / "c").write_bytes(both + (tmp_path / "a").read_bytes())
    assert [b.segment for b in read_features(tmp_path / "c")] == ["0", "1", "0"]


float32s = st.floats(width=32, allow_nan=False, allow_infinity=False)
word = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Z", "C"]), min_size=1
)


@st.composite
def feature_blocks(draw):
    names = tuple(draw(st.lists(word, max_size=3)))
    blocks = []
    for segment in draw(st.lists(st.integers(0, 10**9), max_size=3)):
        count = draw(st.integers(1, 4))
        row = st.lists(float32s, min_size=len(names), max_size=len(names))
        values = np.array(draw(st.lists(row, min_size=count, max_size=count)), dtype=np.float64)
        sparse = draw(st.none() | st.lists(st.dictionaries(word, float32s), min_size=count, max_size=count))
        blocks.append(FeatureBlock(str(segment), names, values.reshape(count, len(names)), sparse))
    return blocks


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(feature_blocks(), st.booleans(), st.sampled_from(["f", "f.gz"]))
def test_features_come_back(tmp_path, blocks, binary, name):
    if binary:
        blocks = [FeatureBlock(b.segment, b.names, b.values) for b in blocks]
    write_features(tmp_path / name, blocks, binary=binary)
    found = list(read_features(tmp_path / name))
    same(found, blocks)
    for a, b in zip(found, blocks, strict=True):
        expected = [{k: v for k, v in row.items() if v} for row in b.sparse or [{}] * len(b.values)]
        assert (a.sparse or [{}] * len(a.values)) == expected
    if binary and name == "f":
        seen = binary_blocks((tmp_path / name).read_bytes(), b"FEATURES", "f")
        assert [(str(s), n) for s, n, _, _ in seen] == [(b.segment, len(b.values)) for b in blocks]
        assert [list(v) for *_, v in seen] == [b.values.ravel().tolist() for b in blocks]


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 4)), max_size=3),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from(["s", "s.gz"]),
    st.data(),
)
def test_scores_come_back(tmp_path, segments, columns, binary, name, data):
    limit = 2**24 if binary else 2**53 - 1
    row = st.lists(st.integers(-limit, limit), min_size=columns, max_size=columns)
    blocks = []
    for segment, count in segments:
        stats = np.array(data.draw(st.lists(row, min_size=count, max_size=count)), dtype=np.int64)
        blocks.append(ScoreBlock(str(segment), "CDER,PER", stats.reshape(count, columns)))
    write_scores(tmp_path / name, blocks, binary=binary)
    found = list(read_scores(tmp_path / name))
    assert [(b.segment, b.name, b.stats.tolist()) for b in found] == [
        (b.segment, b.name, b.stats.tolist()) for b in blocks
    ]


@given(st.lists(float32s, max_size=20))
def test_numbers_are_printed_in_the_fewest_digits_from_six_on(numbers):
    values = np.array(numbers, dtype=np.float32)
    for text, value in zip(format_floats(values), values, strict=True):
        assert np.float32(text) == value
        enough = next(d for d in (6, 7, 8, 9) if np.float32(f"{value:.{d}g}") == value)
        assert text == f"{value:.{enough}g}"


@given(st.integers(-999_999, 999_999), st.integers(-20, 1))
def test_what_moses_prints_is_printed_again(digits, exponent):
    printed = f"{float(np.float32(f'{digits}e{exponent}')):g}"
    assert format_floats(np.array([printed], dtype=np.float32)) == [printed]


def test_a_million_is_printed_whole_as_a_statistic(tmp_path):
    write_scores(tmp_path / "s", [ScoreBlock("0", "BLEU", np.array([[1_000_000]]))])
    assert b"\n1000000 \n" in (tmp_path / "s").read_bytes()
    (tmp_path / "s").write_bytes(b"SCORES_TXT_BEGIN_0 0 1 1 BLEU\n1e+06 \nSCORES_TXT_END_0\n")
    assert next(read_scores(tmp_path / "s")).stats.tolist() == [[1_000_000]]


def test_segments_without_candidates_are_left_out(tmp_path):
    write_features(tmp_path / "f", [block("0", np.zeros((0, 2))), block("1", [[1, 2]])])
    write_scores(tmp_path / "s", [ScoreBlock("0", "BLEU", np.zeros((0, 9), np.int64))])
    assert [b.segment for b in read_features(tmp_path / "f")] == ["1"]
    assert (tmp_path / "s").read_bytes() == b""


HEAD = b"FEATURES_TXT_BEGIN_0 5 2 2 a_0 b_0 \n"
BIN = b"FEATURES_BIN_BEGIN_0 5 2 2 a_0 b_0 \n"
GOOD = b"FEATURES_BIN_BEGIN_0 4 1 2 a_0 b_0 \n" + bytes(8) + b"FEATURES_BIN_END_0\n"
NUMBERS = struct.pack("<4f", 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello\n", ":1: expected FEATURES_TXT_BEGIN_0 or FEATURES_BIN_BEGIN_0, found 'hello'"),
        (
            SCORES,
            ":1: expected FEATURES_TXT_BEGIN_0 or FEATURES_BIN_BEGIN_0, found 'SCORES_TXT_BEGIN_0 0 2 9 BLEU'",
        ),
        (b"FEATURES_TXT_BEGIN_0 5 2\n", ":1: expected segment, candidates and columns as whole numbers"),
        (
            b"FEATURES_TXT_BEGIN_0 5 -2 2 a b\n",
            ":1: expected segment, candidates and columns as whole numbers",
        ),
        (b"FEATURES_TXT_BEGIN_0 5 0 2 a b\n", ":1: expected candidates of segment 5, found 0"),
        (b"FEATURES_TXT_BEGIN_0 5 1 2 a\n", ":1: expected 2 names of features, found 1"),
        (b"FEATURES_TXT_BEGIN_0 5 1 1 \xff\n", ":1: expected UTF-8"),
        (HEAD, ":1: expected 2 candidates of segment 5, found 0"),
        (HEAD + b"1 2\n", ":2: expected 2 candidates of segment 5, found 1"),
        (HEAD + b"1 2\n3 4\n", ":4: expected FEATURES_TXT_END_0 of segment 5, found the end of the file"),
        (HEAD + b"1 2\nFEATURES_TXT_END_0\n", ":3: expected 2 candidates of segment 5, found 1"),
        (
            HEAD.replace(b"5 2", b"5 9") + b"1 2\nFEATURES_TXT_END_0\n",
            ":3: expected 9 candidates of segment 5, found 1",
        ),
        (
            HEAD + b"1 2\n3 4\n5 6\nFEATURES_TXT_END_0\n",
            ":4: expected FEATURES_TXT_END_0 of segment 5, found '5 6'",
        ),
        (
            HEAD + b"1 2\n3 4\nFEATURES_BIN_END_0\n",
            ":4: expected FEATURES_TXT_END_0 of segment 5, found 'FEATURES_BIN",
        ),
        (HEAD + b"1 2 3\n4\nFEATURES_TXT_END_0\n", ":2: expected 2 features, found 3"),
        (HEAD + b"1 2\n3\nFEATURES_TXT_END_0\n", ":3: expected 2 features, found 1"),
        (HEAD + b"1 2\n3 nan\nFEATURES_TXT_END_0\n", ":3: expected finite numbers, found 'nan'"),
        (HEAD + b"1 2\n-inf 4\nFEATURES_TXT_END_0\n", ":3: expected finite numbers, found '-inf'"),
        (HEAD + b"1 2\n3 1e39\nFEATURES_TXT_END_0\n", ":3: expected finite numbers, found '1e39'"),
        (HEAD + b"1 2\n3 1_0\nFEATURES_TXT_END_0\n", ":3: expected finite numbers, found '1_0'"),
        (HEAD + b"1 two\n3 4\nFEATURES_TXT_END_0\n", ":2: expected finite numbers, found 'two'"),
        (HEAD + b"1 2\n3 4 s_a=x\nFEATURES_TXT_END_0\n", ":3: expected finite numbers, found 's_a=x'"),
        (HEAD + b"1 2\n3 4 s_a= 1\nFEATURES_TXT_END_0\n", ":3: expected finite numbers, found 's_a='"),
        (HEAD + b"1 2 s_a=1\n3 4 =1\nFEATURES_TXT_END_0\n", ":3: expected finite numbers, found '=1'"),
        (HEAD + b"1 2 s_a=1_0\n3 4\nFEATURES_TXT_END_0\n", ":2: expected finite numbers, found 's_a=1_0'"),
        (HEAD + b"1 2 s_a=nan\n3 4\nFEATURES_TXT_END_0\n", ":2: expected finite numbers, found 's_a=nan'"),
        (HEAD + b"1 2\n3 4 \xff=1\nFEATURES_TXT_END_0\n", ":3: expected finite numbers, found"),
        (HEAD + b"1 2 s_a=1\n3 4 5\nFEATURES_TXT_END_0\n", ":3: expected 2 features, found 3"),
        (BIN + NUMBERS[:-1], ": block 1: expected 16 bytes of segment 5, found 15"),
        (
            GOOD + BIN + NUMBERS,
            ": block 2: expected FEATURES_BIN_END_0 of segment 5, found the end of the file",
        ),
        (
            GOOD + BIN + NUMBERS + b"FEATURES_TXT_END_0\n",
            ": block 2: expected FEATURES_BIN_END_0 of segment 5, found",
        ),
        (GOOD + BIN + bytes(4) + NUMBERS + b"FEATURES_BIN_END_0\n", ": block 2: expected FEATURES_BIN_END_0"),
        (GOOD + b"\x80\xff\n", ": block 2: expected FEATURES_TXT_BEGIN_0 or FEATURES_BIN_BEGIN_0, found"),
        (
            BIN + struct.pack("<4f", 1, 2, 3, np.nan) + b"FEATURES_BIN_END_0\n",
            ": block 1: .* found .* in candidate 1",
        ),
        (b"FEATURES_BIN_BEGIN_0 5 99999999999999 2 a b \n", ": block 1: expected 799999999999992 bytes"),
        (
            b"FEATURES_TXT_BEGIN_0 5 99999999999999 2 a b \n1 2\n",
            ":2: expected 99999999999999 candidates of segment 5",
        ),
    ],
)
def test_features_that_cannot_be_read(tmp_path, content, message):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(InputError, match=r"/f" + message):
        list(read_features(tmp_path / "f"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (FEATURES, ":1: expected SCORES_TXT_BEGIN_0 or SCORES_BIN_BEGIN_0"),
        (b"SCORES_TXT_BEGIN_0 0 1 1\n1\nSCORES_TXT_END_0\n", ":1: expected the name of one metric, found ''"),
        (SCORES.replace(b"1 4 0", b"1 4.5 0"), ":3: expected integers as statistics of BLEU, found 4.5"),
        (SCORES.replace(b"1 4 0", b"1 nan 0"), ":3: expected integers as statistics of BLEU, found nan"),
        (SCORES.replace(b"1 4 0", b"1 4=0"), ":3: expected finite numbers, found '4=0'"),
        (SCORES.replace(b"1 4 0", b"1 4"), ":3: expected 9 statistics, found 8"),
        (SCORES.replace(b"1 4 0", b"1 4_4 0"), ":3: expected finite numbers, found '4_4'"),
        (
            SCORES[: SCORES.index(b"SCORES_TXT_END")],
            ":4: expected SCORES_TXT_END_0 of segment 0, found the end",
        ),
        (
            b"SCORES_BIN_BEGIN_0 0 1 2 METEOR\n" + struct.pack("<2f", 1, 0.5) + b"SCORES_BIN_END_0\n",
            ": block 1: expected integers as statistics of METEOR, found 0.5",
        ),
        (b"SCORES_BIN_BEGIN_0 0 1 2 BLEU\n1234567", ": block 1: expected 8 bytes of segment 0, found 7"),
    ],
)
def test_scores_that_cannot_be_read(tmp_path, content, message):
    (tmp_path / "s").write_bytes(content)
    with pytest.raises(InputError, match=r"/s" + message):
        list(read_scores(tmp_path / "s"))


def test_a_cut_gzip_file_is_named(tmp_path):
    content = gzip.compress(FEATURES * 2000)
    (tmp_path / "f.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"f\.gz: expected a whole gzip file"):
        list(read_features(tmp_path / "f.gz"))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (block("news-1", [[1]]), "expected a number, found 'news-1'"),
        (block("1", [[np.nan]]), "no finite float32"),
        (block("1", [[1e39]]), "no finite float32"),
        (block("1", [[1]], sparse=[{"s_a": np.inf}]), "no finite float32"),
        (block("1", [[1]], ("a", "b")), "2 names for features of shape"),
        (block("1", [[1]], ("a b",)), "a feature called 'a b'"),
        (block("1", [[1]], sparse=[{"a\nb": 1}]), r"a feature called 'a\\nb'"),
        (block("1", [[1]], sparse=[{"": 1}]), "a feature called ''"),
        (block("1", [[1]], sparse=[]), "sparse features of 0 of 1 candidates"),
    ],
)
def test_features_that_cannot_be_written_leave_the_old_file(tmp_path, bad, message):
    (tmp_path / "f").write_bytes(b"old")
    with pytest.raises(RyptError, match=message):
        write_features(tmp_path / "f", [block("0", [[1]]), bad])
    assert (tmp_path / "f").read_bytes() == b"old"


def test_binary_refuses_what_it_would_lose(tmp_path):
    with pytest.raises(RyptError, match="segment 1 has sparse features"):
        write_features(tmp_path / "f", [block("1", [[1]], sparse=[{"s_a": 1.0}])], binary=True)
    with pytest.raises(RyptError, match="statistics over 16777216"):
        write_scores(tmp_path / "s", [ScoreBlock("1", "BLEU", np.array([[2**24 + 1]]))], binary=True)
    with pytest.raises(RyptError, match="expected a number"):
        write_scores(tmp_path / "s", [ScoreBlock("x", "BLEU", np.array([[1]]))])
    with pytest.raises(RyptError, match="cannot write"):
        write_scores(tmp_path / "s", [ScoreBlock("1", "my metric", np.array([[1]]))])
    assert not list(tmp_path.iterdir())
