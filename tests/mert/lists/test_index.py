"""Lists read in parts: the same candidates as in one piece, and mistakes with their lines."""

import gzip
import re

import numpy as np
import pytest

from mert.lists import index as index_module
from mert.lists.arrays import read_lists
from mert.lists.index import first_line, index_range, merge, ranges_of, read_pieces
from rypt.text import InputError


def line(segment, text, *values, more=""):
    return f"{segment} ||| {text} ||| x= {' '.join(map(str, values))}{more} ||| 0\n"


ONE = "".join(line(i // 3, f"text {i}", i, i * i) for i in range(30))
TWO = "".join(line(i % 10, f"text {i}", i, -i) for i in range(30))


def indexed(paths, scratch, size, tune=None):
    parts = [part for path in paths for part in ranges_of(path, size)]
    head = paths[0], first_line(paths[0], scratch)
    return merge([(part, index_range(part, head, scratch)) for part in parts], tune)


def written(folder, *texts):
    paths = []
    for i, text in enumerate(texts):
        paths.append(folder / f"list{i}")
        paths[-1].write_bytes(text.encode() if isinstance(text, str) else text)
    return paths


def check_same(paths, folder, size, shares, tune=None):
    whole = read_lists(paths, tune=tune)
    index = indexed(paths, folder / "scratch", size, tune)
    assert index.segments == whole.segments
    assert index.plan.names == whole.names
    assert index.plan.open_ended == whole.open_ended
    slices = index.divide(1 << 30, shares)
    assert len(slices) == shares
    features, sparse = [], []
    for part, each in enumerate(slices):
        lists = read_pieces(index.pieces_of(each), index.plan, folder / "scratch")
        assert lists.segments == whole.segments[each], part
        begin, end = whole.offsets[each.start], whole.offsets[each.stop]
        texts = [whole.candidates.text(i) for i in range(begin, end)]
        assert [lists.candidates.text(i) for i in range(len(lists.candidates))] == texts
        assert lists.places(0) == whole.places(int(begin))
        features.append(lists.features)
        sparse.append(lists.sparse)
    assert (np.concatenate(features) == whole.features).all()
    if whole.sparse:
        weights = np.arange(1.0, len(whole.sparse.names) + 1)
        assert sparse[0].names == whole.sparse.names
        assert (np.concatenate([each.dot(weights) for each in sparse]) == whole.sparse.dot(weights)).all()


@pytest.mark.parametrize("shares", [1, 2, 3, 10])
@pytest.mark.parametrize("size", [50, 400, 1 << 20])
def test_parts_are_what_the_whole_is(tmp_path, size, shares, monkeypatch):
    """Two lists, the segments of the second in turn, read in blocks smaller than a segment."""
    monkeypatch.setattr(index_module, "BLOCK", 64)
    check_same(written(tmp_path, ONE, TWO), tmp_path, size, shares)


def test_a_mark_no_last_newline_and_windows(tmp_path):
    check_same(
        written(tmp_path, b"\xef\xbb\xbf" + ONE.encode()[:-1], TWO.replace("\n", "\r\n")), tmp_path, 100, 4
    )


def test_gzip_is_unpacked_once(tmp_path):
    path = tmp_path / "list.gz"
    with gzip.open(path, "wt") as stream:
        stream.write(ONE)
    check_same([path], tmp_path, 100, 3)
    assert len(list((tmp_path / "scratch").iterdir())) == 1


def test_features_that_begin_late_have_the_columns_of_the_whole(tmp_path):
    glued = "".join(f"{i} ||| text ||| a=1{f' b{i}=2 a=3' if i > 3 else ' a=0'} ||| 0\n" for i in range(9))
    check_same(written(tmp_path, glued), tmp_path, 30, 3)
    sparse = "".join(
        line(i, "text", 1, 2, more=f" s_{i % 3}= {i} s_{9 - i}= 0.5" if i != 3 else "") for i in range(9)
    )
    check_same(written(tmp_path, sparse), tmp_path, 30, 4)
    check_same(written(tmp_path, sparse), tmp_path, 30, 4, tune=["s_1"])


@pytest.mark.parametrize(
    "texts",
    [
        [ONE + "9 ||| a\n"],
        [ONE + line(9, "a", 1)],
        [ONE, TWO.replace("x= 29", "x= nine")],
        [ONE + line("05", "a", 1, 2)],
        [ONE, ""],
        [ONE.encode() + b"9 ||| \xff ||| x= 1 1\n"],
        [ONE + "9 ||| \0 ||| x= 1 1\n"],
        ["0 ||| a ||| x= 1 a_= 1\n" * 9, "1 ||| a ||| x= 1 a_= 1 2\n"],
        ["0 ||| a ||| x= 1 2 \n" * 9 + "1 ||| a ||| x= 1 2 x_0=3\n"],
    ],
)
def test_mistakes_are_reported_as_in_one_piece(tmp_path, texts):
    paths = written(tmp_path, *texts)
    with pytest.raises(InputError) as expected:
        read_lists(paths)
    for size in (60, 1 << 20):
        with pytest.raises(InputError, match=f"^{re.escape(str(expected.value))}$"):
            read_all(indexed(paths, tmp_path, size), tmp_path)


def read_all(index, scratch):
    return read_pieces(index.pieces_of(slice(0, len(index.segments))), index.plan, scratch)


def test_a_label_with_other_values_in_another_part(tmp_path):
    paths = written(
        tmp_path, "0 ||| a ||| x= 1\n" * 9 + "1 ||| a ||| x= 1 a_= 1\n" + "2 ||| a ||| x= 1 a_= 1 2\n"
    )
    for size in (20, 40):
        with pytest.raises(
            InputError, match=r"list0:11: expected 1 values of a_ as in line 10 of .*list0, found 2"
        ):
            indexed(paths, tmp_path, size)


def test_a_list_that_changes_meanwhile_is_refused(tmp_path):
    (path,) = written(tmp_path, ONE)
    index = indexed([path], tmp_path, 100)
    path.write_text(ONE[:-40])
    with pytest.raises(InputError, match="list0: the list was changed while it was read"):
        read_all(index, tmp_path)
    path.write_text(ONE.replace("x= ", "y= "))
    with pytest.raises(InputError, match="list0: the list was changed while it was read"):
        read_all(index, tmp_path)


def test_shares_are_about_equally_large(tmp_path):
    paths = written(tmp_path, "".join(line(i, "a " * (i % 7), 1, 2) for i in range(1000)))
    index = indexed(paths, tmp_path, 1 << 20)
    slices = index.divide(4000)
    sizes = [sum(piece.stop - piece.start for piece in index.pieces_of(each)) for each in slices]
    assert max(sizes) < 4100
    assert sum(sizes) == paths[0].stat().st_size
    assert [each.start for each in slices[1:]] == [each.stop for each in slices[:-1]]
