"""Moses' files of features and statistics, byte by byte, and those of several iterations put together."""

import gzip
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mert.moses.files import (
    FEATURES,
    SCORES,
    Block,
    Pair,
    format_floats,
    merge_pairs,
    read_blocks,
    read_pairs,
    write_blocks,
)
from rypt.text import InputError, RyptError, open_binary_output

TEXT = (
    b"FEATURES_TXT_BEGIN_0 0 2 3 LM0_0 TM0_0 TM0_1 \n"
    b"-76.2115 1e-05 -0.5 \n"
    b"12 0 -1.5e+07 sp_a=0.25 w=x_y=-3 \n"
    b"FEATURES_TXT_END_0\n"
    b"FEATURES_TXT_BEGIN_0 7 1 3 LM0_0 TM0_0 TM0_1 \n"
    b"1 2 3 \n"
    b"FEATURES_TXT_END_0\n"
)
STATS = (
    b"SCORES_TXT_BEGIN_0 0 2 9 BLEU\n"
    b"3 4 1 3 0 2 0 1 5 \n"
    b"1 4 0 3 0 2 0 1 5 \n"
    b"SCORES_TXT_END_0\n"
    b"SCORES_TXT_BEGIN_0 7 1 9 BLEU\n"
    b"0 0 0 0 0 0 0 0 8 \n"
    b"SCORES_TXT_END_0\n"
)
NAMES = ("LM0_0", "TM0_0")


def write(path, kind, blocks, *, binary=False):
    with open_binary_output(path) as stream:
        write_blocks(stream, kind, blocks, binary=binary)


def block(segment, values, names=NAMES, sparse=None):
    return Block(segment, names, np.array(values, np.float64).reshape(-1, len(names)), sparse)


def scores(segment, stats, metric="BLEU"):
    stats = np.array(stats, np.int64)
    return Block(segment, (metric,), stats.reshape(-1, stats.shape[-1]))


def test_files_of_moses_are_read_and_written_again_byte_by_byte(tmp_path):
    (tmp_path / "f").write_bytes(TEXT)
    (tmp_path / "s.gz").write_bytes(gzip.compress(STATS))
    first, second = read_blocks(tmp_path / "f", FEATURES)
    assert (first.segment, first.names) == ("0", ("LM0_0", "TM0_0", "TM0_1"))
    expected = np.array([[-76.2115, 1e-05, -0.5], [12, 0, -1.5e7]], dtype=np.float32)
    np.testing.assert_array_equal(first.values, expected)
    assert first.sparse == [{}, {"sp_a": 0.25, "w=x_y": -3.0}]
    assert (second.segment, second.values.tolist(), second.sparse) == ("7", [[1.0, 2.0, 3.0]], None)
    counts = list(read_blocks(tmp_path / "s.gz", SCORES))
    assert [each.values.tolist() for each in counts] == [
        [[3, 4, 1, 3, 0, 2, 0, 1, 5], [1, 4, 0, 3, 0, 2, 0, 1, 5]],
        [[0, 0, 0, 0, 0, 0, 0, 0, 8]],
    ]
    write(tmp_path / "f2", FEATURES, [first, second])
    write(tmp_path / "s2", SCORES, counts)
    assert (tmp_path / "f2").read_bytes() == TEXT
    assert (tmp_path / "s2").read_bytes() == STATS


def test_binary_files_byte_by_byte(tmp_path):
    odd = struct.unpack("<2f", b"\n\n\n\nSCO=")  # numbers may look like line ends and letters
    blocks = [block("3", [[0.5, -1.25], [10, 0]]), block("4", [odd])]
    write(tmp_path / "f", FEATURES, blocks, binary=True)
    assert (tmp_path / "f").read_bytes() == (
        b"FEATURES_BIN_BEGIN_0 3 2 2 LM0_0 TM0_0 \n"
        + struct.pack("<4f", 0.5, -1.25, 10.0, 0.0)
        + b"FEATURES_BIN_END_0\n"
        + b"FEATURES_BIN_BEGIN_0 4 1 2 LM0_0 TM0_0 \n\n\n\n\nSCO=FEATURES_BIN_END_0\n"
    )
    write(tmp_path / "s", SCORES, [scores("3", [[100, 2500], [0, 8_000_000]], "TER")], binary=True)
    expected = struct.pack("<4f", 100, 2500, 0, 8_000_000)
    assert (
        tmp_path / "s"
    ).read_bytes() == b"SCORES_BIN_BEGIN_0 3 2 2 TER\n" + expected + b"SCORES_BIN_END_0\n"
    (found,) = read_blocks(tmp_path / "s", SCORES)
    assert found.values.tolist() == [[100, 2500], [0, 8_000_000]]
    write(tmp_path / "t", FEATURES, [block("1", [[3, 4]])])
    both = (tmp_path / "f").read_bytes() + b"\n" + (tmp_path / "t").read_bytes()
    (tmp_path / "both").write_bytes(both)
    assert [each.segment for each in read_blocks(tmp_path / "both", FEATURES)] == ["3", "4", "1"]


float32s = st.floats(width=32, allow_nan=False, allow_infinity=False)
word = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Z", "C"]), min_size=1
)


@st.composite
def feature_blocks(draw):
    names = tuple(draw(st.lists(word.filter(lambda name: "=" not in name), min_size=1, max_size=3)))
    blocks = []
    for segment in draw(st.lists(st.integers(0, 10**9), max_size=3)):
        count = draw(st.integers(1, 4))
        row = st.lists(float32s, min_size=len(names), max_size=len(names))
        values = draw(st.lists(row, min_size=count, max_size=count))
        sparse = draw(st.none() | st.lists(st.dictionaries(word, float32s), min_size=count, max_size=count))
        blocks.append(block(str(segment), values, names, sparse))
    return blocks


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(feature_blocks(), st.booleans(), st.sampled_from(["f", "f.gz"]))
def test_features_come_back(tmp_path, blocks, binary, name):
    if binary:
        blocks = [each._replace(sparse=None) for each in blocks]
    write(tmp_path / name, FEATURES, blocks, binary=binary)
    found = list(read_blocks(tmp_path / name, FEATURES))
    assert [(each.segment, each.names) for each in found] == [(each.segment, each.names) for each in blocks]
    for one, other in zip(found, blocks, strict=True):
        np.testing.assert_array_equal(one.values, other.values.astype(np.float32))
        rows = [{k: v for k, v in row.items() if v} for row in other.sparse or [{}] * len(other.values)]
        assert (one.sparse or [{}] * len(one.values)) == rows


@given(st.lists(float32s, max_size=20))
def test_numbers_are_printed_in_the_fewest_digits_from_six_on(numbers):
    values = np.array(numbers, dtype=np.float32)
    for text, value in zip(format_floats(values), values, strict=True):
        assert np.float32(text) == value
        enough = next(d for d in (6, 7, 8, 9) if np.float32(f"{value:.{d}g}") == value)
        assert text == f"{value:.{enough}g}"


def test_statistics_are_whole_numbers(tmp_path):
    write(tmp_path / "s", SCORES, [scores("0", [[1_000_000]])])
    assert b"\n1000000 \n" in (tmp_path / "s").read_bytes()  # not 1e+06, of which Moses would read the 1
    (tmp_path / "s").write_bytes(b"SCORES_TXT_BEGIN_0 0 1 1 BLEU\n1e+06 \nSCORES_TXT_END_0\n")
    assert next(read_blocks(tmp_path / "s", SCORES)).values.tolist() == [[1_000_000]]


HEAD = b"FEATURES_TXT_BEGIN_0 5 2 2 a_0 b_0 \n"
END = b"FEATURES_TXT_END_0\n"
BIN = b"FEATURES_BIN_BEGIN_0 5 2 2 a_0 b_0 \n"
GOOD = b"FEATURES_BIN_BEGIN_0 4 1 2 a_0 b_0 \n" + bytes(8) + b"FEATURES_BIN_END_0\n"
NUMBERS = struct.pack("<4f", 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        (FEATURES, b"hello\n", ":1: .*FEATURES_BIN_BEGIN_0, found 'hello'"),
        (FEATURES, STATS, ":1: expected FEATURES_TXT_BEGIN_0 or .*found 'SCORES_TXT_BEGIN_0"),
        (FEATURES, b"FEATURES_TXT_BEGIN_0 5 2\n", ":1: .*whole numbers"),
        (FEATURES, b"FEATURES_TXT_BEGIN_0 5 -2 2 a b\n", ":1: .*whole numbers"),
        (FEATURES, b"FEATURES_TXT_BEGIN_0 5 0 2 a b\n", ":1: expected candidates of segment 5, found 0"),
        (FEATURES, b"FEATURES_TXT_BEGIN_0 5 1 2 a\n", ":1: expected 2 names of features, found 1"),
        (FEATURES, b"FEATURES_TXT_BEGIN_0 5 1 1 \xff\n", ":1: expected UTF-8"),
        (FEATURES, HEAD, ":1: expected 2 candidates of segment 5, found 0"),
        (FEATURES, HEAD + b"1 2\n" + END, ":3: expected 2 candidates of segment 5, found 1"),
        (FEATURES, HEAD + b"1 2\n3 4\n", ":3: expected FEATURES_TXT_END_0 .*found the end of the file"),
        (FEATURES, HEAD + b"1 2\n3 4\n5 6\n" + END, ":4: expected FEATURES_TXT_END_0 .*found '5 6'"),
        (FEATURES, HEAD + b"1 2 3\n4\n" + END, ":2: expected 2 features, found 3"),
        (FEATURES, HEAD + b"1 2\n3 nan\n" + END, ":3: expected finite numbers, found 'nan'"),
        (FEATURES, HEAD + b"1 2\n3 1e39\n" + END, ":3: expected finite numbers, found inf"),
        (FEATURES, HEAD + b"1 2\n3 1_0\n" + END, ":3: expected finite numbers, found '1_0'"),
        (FEATURES, HEAD + b"1 two\n3 4\n" + END, ":2: expected finite numbers, found 'two'"),
        (FEATURES, HEAD + b"1 2\n3 4 s_a= 1\n" + END, ":3: expected finite numbers, found 's_a='"),
        (FEATURES, HEAD + b"1 2 s_a=1\n3 4 =1\n" + END, ":3: expected finite numbers, found '=1'"),
        (FEATURES, HEAD + b"1 2 s_a=1e39\n3 4\n" + END, ":2: expected finite numbers, found 's_a=1e39'"),
        (FEATURES, HEAD + b"1 2\n3 4 \xff=1\n" + END, ":3: expected UTF-8"),
        (FEATURES, BIN + NUMBERS[:-1], ": block 1: expected 16 bytes of segment 5, found 15"),
        (FEATURES, GOOD + BIN + NUMBERS, ": block 2: expected FEATURES_BIN_END_0 .*the end of the file"),
        (FEATURES, GOOD + b"\x80\xff\n", ": block 2: expected FEATURES_TXT_BEGIN_0"),
        (FEATURES, BIN + NUMBERS[:12] + struct.pack("<f", np.nan), ": block 1: .*found nan in candidate 1"),
        (
            FEATURES,
            b"FEATURES_BIN_BEGIN_0 5 99999999999999 2 a b \n",
            ": block 1: expected 799999999999992 b",
        ),
        (SCORES, TEXT, ":1: expected SCORES_TXT_BEGIN_0 or SCORES_BIN_BEGIN_0"),
        (SCORES, b"SCORES_TXT_BEGIN_0 0 1 1\n1\n", ":1: expected the name of one metric"),
        (SCORES, STATS.replace(b"1 4 0", b"1 4.5 0"), ":3: expected integers as statistics, found 4.5"),
        (SCORES, STATS.replace(b"1 4 0", b"1 4=0"), ":3: expected finite numbers, found '4=0'"),
        (SCORES, STATS.replace(b"1 4 0", b"1 4"), ":3: expected 9 statistics, found 8"),
        (
            SCORES,
            b"SCORES_BIN_BEGIN_0 0 1 2 METEOR\n" + struct.pack("<2f", 1, 0.5),
            ": block 1: expected integers as statistics, found 0.5",
        ),
    ],
)
def test_files_that_cannot_be_read(tmp_path, kind, content, message):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(InputError, match=r"/f" + message):
        list(read_blocks(tmp_path / "f", kind))


@pytest.mark.parametrize(
    ("kind", "bad", "binary", "message"),
    [
        (FEATURES, block("x", [[1, 2]]), False, "expected a number, found 'x'"),
        (FEATURES, block("1", [[1e39, 0]]), False, "no finite float32"),
        (FEATURES, block("1", [[1, 2]], sparse=[{"s_a": np.inf}]), False, "no finite float32"),
        (FEATURES, block("1", [[1]], ("a b",)), False, "called 'a b' cannot be written"),
        (FEATURES, block("1", [[1, 2]], sparse=[{"": 1}]), False, "called '' cannot be written"),
        (FEATURES, block("1", [[1, 2]], sparse=[{"s_a": 1.0}]), True, "has sparse features"),
        (SCORES, scores("1", [[2**24 + 1]]), True, "statistics over 16777216"),
        (SCORES, scores("1", [[1]], "my metric"), False, "called 'my metric' cannot be written"),
    ],
)
def test_what_cannot_be_written_leaves_the_old_file(tmp_path, kind, bad, binary, message):
    (tmp_path / "f").write_bytes(b"old")
    with pytest.raises(RyptError, match=message):
        write(tmp_path / "f", kind, [bad], binary=binary)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def pair(segment, values, stats, sparse=None, names=NAMES, metric="BLEU"):
    return Pair("here", block(segment, values, names, sparse), scores(segment, stats, metric))


def written(folder, run, pairs, binary=False):
    paths = folder / f"run{run}.features.dat", folder / f"run{run}.scores.dat.gz"
    write(paths[0], FEATURES, [each.features for each in pairs], binary=binary)
    write(paths[1], SCORES, [each.scores for each in pairs], binary=binary)
    return paths


def test_iterations_are_merged_and_written(tmp_path):
    first = written(tmp_path, 1, [pair("0", [[1, 2], [3, 4]], [[5], [6]]), pair("2", [[1, 2]], [[5]])])
    second = written(
        tmp_path,
        2,
        [pair("0", [[1, 2], [1, 2], [7, 8], [7, 8]], [[5], [9], [1], [1]]), pair("1", [[0.1, -0.0]], [[3]])],
        binary=True,
    )
    found = read_pairs(*zip(first, second, strict=True))
    assert found.segments == ["0", "2", "1"]
    assert found.offsets.tolist() == [0, 4, 5, 6]
    assert found.features[:5].tolist() == [[1, 2], [3, 4], [1, 2], [7, 8], [1, 2]]
    assert found.features[5, 0] == np.float32(0.1)
    assert found.stats.tolist() == [[5], [6], [9], [1], [5], [3]]
    assert (found.names, found.metric, found.sparse) == (NAMES, "BLEU", None)
    assert read_pairs(*zip(first, second, strict=True), duplicates=True).offsets.tolist() == [0, 6, 7, 8]
    found.write(tmp_path / "f", tmp_path / "s", binary=False)
    for left, right in ((tmp_path / "f", tmp_path / "s"), second):  # text and binary numbers are the same
        again = read_pairs([left, tmp_path / "f"], [right, tmp_path / "s"])
        assert len(again.features) == 6


def test_sparse_features_make_a_difference_and_become_one():
    rows = [{"s_a": 1.0}, {"s_a": 1.0, "s_b": 0.0}, {}, {"s_b": 2.0, "s_c": 9.0}]
    found = merge_pairs([pair("0", [[1, 2]] * 4, [[5]] * 4, rows), pair("0", [[1, 2]], [[5]])])
    assert found.sparse == [{"s_a": 1.0}, {}, {"s_b": 2.0, "s_c": 9.0}]
    merged = found.with_sparse_weights({"s_a": 0.1, "s_b": -1.0, "s_x": 4.0})
    assert (merged.names, merged.sparse) == ((*NAMES, "sparse"), None)
    assert merged.features.tolist() == [[1, 2, float(np.float32(0.1))], [1, 2, 0], [1, 2, -2]]
    with pytest.raises(RyptError, match="expected no feature called sparse"):
        merged.with_sparse_weights({})


def removed_by_moses(rows):
    """Moses' way: compare each with all kept before; put the last in the place of one that goes."""
    rows = list(rows)
    k, end = 0, len(rows)
    while k < end:
        if rows[k] in rows[:k]:
            end -= 1
            rows[k], rows[end] = rows[end], rows[k]
        else:
            k += 1
    return rows[:end]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("01"), st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), min_size=1
    )
)
def test_the_same_candidates_remain_as_with_moses(rows):
    found = merge_pairs(pair(s, [[a, b]], [[c]]) for s, a, b, c in rows)
    for i, segment in enumerate(found.segments):
        span = slice(found.offsets[i], found.offsets[i + 1])
        table = np.column_stack([found.features[span], found.stats[span]])
        ours = [(segment, *row) for row in table.tolist()]
        assert sorted(ours) == sorted(removed_by_moses([row for row in rows if row[0] == segment]))
        assert ours == list(dict.fromkeys(row for row in rows if row[0] == segment))


@pytest.mark.parametrize(
    ("features", "stats", "message"),
    [
        ([("0", 2), ("1", 1)], [("0", 2)], r"run1\.scores\.dat\.gz: expected as many segments .*, found 1"),
        ([("0", 2)], [("0", 2), ("1", 1)], r"run1\.features\.dat: expected as many segments .*, found 1"),
        ([("0", 1), ("1", 1)], [("0", 1), ("2", 1)], r"block 2: expected 1 cand.* segment 1 .* segment 2"),
        ([("0", 2)], [("0", 3)], "block 1: expected 2 candidates of segment 0 .*, found 3"),
    ],
)
def test_files_that_do_not_belong_together(tmp_path, features, stats, message):
    paths = tmp_path / "run1.features.dat", tmp_path / "run1.scores.dat.gz"
    write(paths[0], FEATURES, [block(segment, np.ones((n, 2))) for segment, n in features])
    write(paths[1], SCORES, [scores(segment, np.ones((n, 9))) for segment, n in stats])
    with pytest.raises(InputError, match=message):
        read_pairs([paths[0]], [paths[1]])
    with pytest.raises(RyptError, match="found 1 for 2"):
        read_pairs([paths[0], paths[0]], [paths[1]])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (pair("0", [[1, 2]], [[5]], names=("LM0_0", "W")), "the features LM0_0 TM0_0, found .* W"),
        (pair("0", [[1, 2]], [[5]], metric="TER"), "1 statistics of BLEU, found 1 statistics of TER"),
        (pair("0", [[1, 2]], [[5, 6]]), "1 statistics of BLEU, found 2 statistics of BLEU"),
    ],
)
def test_iterations_that_do_not_belong_together(tmp_path, other, message):
    first, second = written(tmp_path, 1, [pair("0", [[1, 2]], [[5]])]), written(tmp_path, 2, [other])
    with pytest.raises(RyptError, match=r"run2\.features\.dat: block 1: expected " + message):
        read_pairs(*zip(first, second, strict=True))
