"""Files of weights around Moses' mert."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mert.moses.weights import (
    format_best_point,
    format_weights,
    read_dense,
    read_rows,
    read_sparse_weights,
    read_starts,
)
from rypt.text import InputError, RyptError

BEST_POINT = re.compile(r"Best point:\s*([\s\d\.\-e]+?)\s*=> ([\-\d\.]+)")  # what mert-moses.pl looks for
floats = st.floats(allow_nan=False, allow_infinity=False)


def test_starting_points_of_several_iterations_and_their_box(tmp_path):
    for run, text in enumerate(["1 2\n0 3\n1 -3\n", "3 4\n7 7\n8 8\n", "5 6 \n\n"], start=1):
        (tmp_path / f"run{run}.init.opt").write_text(text)
    found = read_starts([tmp_path / f"run{run}.init.opt" for run in (1, 2, 3)], 2)
    assert found.points.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert (found.low.tolist(), found.high.tolist()) == ([0, -3], [1, 3])
    with pytest.raises(RyptError, match="expected a file with a starting point"):
        read_starts([])


@pytest.mark.parametrize(
    ("texts", "size", "message"),
    [
        (["1 2\n0 0\n"], None, "a0: expected three lines .start, low, high., found 2"),
        (["1 2\n0 0\n1 1\n2 2\n"], None, "a0: expected three lines .start, low, high., found 4"),
        (["1 2\n0 0\n1\n"], None, "a0:3: expected 2 weights, found 1"),
        (["1 2\n0 0\n1 1\n"], 3, "a0:1: expected 3 weights, found 2"),
        (["1 x\n0 0\n1 1\n"], 2, "a0:1: expected a finite number, found 'x'"),
        (["1 nan\n0 0\n1 1\n"], 2, "a0:1: expected a finite number, found 'nan'"),
        (["1 1_0\n0 0\n1 1\n"], 2, "a0:1: expected finite numbers, found '1 1_0'"),
        ([""], 2, "a0: expected a line of weights, found none"),
        (["1 2\n0 0\n1 1\n", "1\n"], None, "a1:1: expected 2 weights, found 1"),
        (["1 2\n0 0\n1 1\n", "1 2\n3 4\n"], None, "a1: expected one line or three"),
    ],
)
def test_starting_points_that_cannot_be_read(tmp_path, texts, size, message):
    for i, text in enumerate(texts):
        (tmp_path / f"a{i}").write_text(text)
    with pytest.raises(InputError, match=message):
        read_starts([tmp_path / f"a{i}" for i in range(len(texts))], size)


@given(st.lists(floats, min_size=1), floats.filter(lambda x: abs(x) < 1e6))
def test_mert_moses_finds_the_best_point(weights, score):
    line = format_best_point(np.array(weights), score)
    found = BEST_POINT.search(line)
    assert found is not None
    assert [float(word) for word in found[1].split()] == weights
    assert float(found[2]) == pytest.approx(score, abs=5e-7)


def test_weights_of_moses_and_of_ours(tmp_path):
    weights = np.array([1 / 3, -1e-39, 0.0, 5e22, 12.0])
    assert format_weights(weights) == "0.3333333333333333 -1e-39 0 5e22 12"
    (tmp_path / "w").write_text(f"{format_weights(weights)}\n0.0635829 0.1 -3.1e-05 0 0 \n")
    first, second = read_rows(tmp_path / "w", 5)
    assert first.tolist() == weights.tolist()
    assert second.tolist() == [0.0635829, 0.1, -3.1e-05, 0, 0]
    with pytest.raises(RyptError, match="expected finite weights, found nan"):
        format_weights(np.array([np.nan]))


def test_dense_weights(tmp_path):
    expected = {"LM0_0": 0.5, "TM0_0": 0.2, "TM0_1": 0.1, "Distortion0_0": -0.3}
    (tmp_path / "run2.dense").write_text("LM0= 0.5\nTM0= 0.2\nTM0= 0.1\nDistortion0= -0.3\n")
    assert read_dense(tmp_path / "run2.dense") == expected
    shown = "UnknownWordPenalty0 UNTUNEABLE\nLM0= 0.5\nTM0= 0.2 UNTUNEABLECOMPONENT 0.1\nDistortion0= -0.3\n"
    (tmp_path / "features.list").write_text(shown)
    assert read_dense(tmp_path / "features.list") == expected


@pytest.mark.parametrize("line", ["LM0 0.5", "LM0=", "= 0.5", "LM0= x", "LM0"])
def test_dense_weights_that_cannot_be_read(tmp_path, line):
    (tmp_path / "dense").write_text(f"TM0= 1\n{line}\n")
    with pytest.raises(InputError, match="dense:2: expected"):
        read_dense(tmp_path / "dense")


def test_sparse_weights(tmp_path):
    (tmp_path / "w").write_text("# a comment\ntgt_the 0.5\nsrc_a=b -1e-3\n")
    found = read_sparse_weights(tmp_path / "w")
    assert found == {"tgt_the": 0.5, "src_a=b": -0.001}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("b_a", "expected name and weight"),
        ("b_a 1 2", "expected name"),
        ("b_a x", "finite"),
        ("a_b 2", "given twice"),
    ],
)
def test_sparse_weights_that_cannot_be_read(tmp_path, line, message):
    (tmp_path / "w").write_text(f"a_b 1\n{line}\n")
    with pytest.raises(InputError, match=f"w:2: .*{message}"):
        read_sparse_weights(tmp_path / "w")
