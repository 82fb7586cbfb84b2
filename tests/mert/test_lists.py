"""Lists as arrays."""

import pytest

from mert.lists import read_lists
from rypt.text import InputError


def read(tmp_path, *texts):
    paths = []
    for i, text in enumerate(texts):
        paths.append(tmp_path / f"list{i}")
        paths[-1].write_text(text, encoding="utf-8")
    return read_lists(paths)


def test_segments_are_sorted_and_absent_features_are_zero(tmp_path):
    lists = read(tmp_path, "10 ||| b ||| lm= -2 ||| -1\n2 ||| a ||| lm= -1 oov= 3 ||| -1\n2 ||| c ||| lm= -4 ||| -1\n")
    assert lists.segments == ["2", "10"]
    assert lists.offsets.tolist() == [0, 2, 3]
    assert lists.names == ("lm", "oov")
    assert lists.features.tolist() == [[-1, 3], [-4, 0], [-2, 0]]
    assert lists.segment_of().tolist() == [0, 0, 1]


def test_lists_merge_without_duplicates(tmp_path):
    line = "0 ||| a ||| lm= -1 ||| -1\n"
    lists = read(tmp_path, line + line, line + "0 ||| a ||| lm= -2 ||| -1\n")
    assert [raw.features["lm"] for raw in lists.candidates] == [-1, -2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "list0: expected candidates, found an empty list"),
        ("just text\n", "list0:1: expected id"),
        ("0 ||| a ||| lm= nan ||| -1\n", "list0:1: expected a finite number, found 'nan'"),
        ("0 ||| a ||| lm= -1 ||| -1\n0 ||| a ||| lm= x ||| -1\n", "list0:2: expected a finite number"),
    ],
)
def test_bad_lists_are_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_the_first_of_equal_candidates_wins(tmp_path):
    lists = read(
        tmp_path, "0 ||| a ||| x= 1 ||| 0\n0 ||| b ||| x= 1 ||| 0\n1 ||| c ||| x= 0 ||| 0\n1 ||| d ||| x= 2 ||| 0\n"
    )
    assert [lists.candidates[i].text for i in lists.best([1.0])] == ["a", "d"]
