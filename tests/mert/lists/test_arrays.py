"""Lists as arrays: merging, order, sparse features, all dialects, and what is refused."""

import gzip
import json
import os
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mert.lists import columns
from mert.lists.arrays import arrange, read_lists, segment_number
from rypt.records import Candidate
from rypt.text import InputError, RyptError


def written(tmp_path, *texts):
    paths = []
    for i, text in enumerate(texts):
        paths.append(tmp_path / f"list{i}")
        paths[-1].write_text(text, encoding="utf-8")
    return paths


def read(tmp_path, *texts, **options):
    return read_lists(written(tmp_path, *texts), **options)


def as_rows(lists):
    """What lists hold, in order."""
    return [
        (raw.segment, lists.candidates.text(i), lists.features[i].tolist())
        for i, raw in enumerate(lists.candidates)
    ]


def test_segments_are_sorted_by_number_and_candidates_stay_in_order(tmp_path):
    text = "10 ||| b ||| lm= -2\n2 ||| z ||| lm= -1\n10 ||| a ||| lm= -3\nx ||| q ||| lm= 0\n2 ||| c ||| lm= -4\n"
    lists = read(tmp_path, text)
    assert lists.segments == ["2", "10", "x"]
    assert lists.offsets.tolist() == [0, 2, 4, 5]
    assert lists.names == ("lm",)
    assert as_rows(lists) == [
        ("2", "z", [-1]),
        ("2", "c", [-4]),
        ("10", "b", [-2]),
        ("10", "a", [-3]),
        ("x", "q", [0]),
    ]
    assert lists.candidates.segments.tolist() == [0, 0, 1, 1, 2]
    assert [lists.places(i)[1] for i in range(5)] == [2, 5, 1, 3, 4]


def test_lists_merge_without_duplicates_but_keep_derivations(tmp_path):
    line = "0 ||| a ||| lm= -1 tm=1 tm=2 s_x= 1 s_y= 2 ||| -1\n"
    other_order = "0 ||| a ||| tm=1 tm=2 s_y= 2 lm= -1.0 s_x= 1 ||| -7\n"
    derivation = "0 ||| a ||| lm= -2 tm=1 tm=2 s_x= 1 s_y= 2 ||| -1\n"
    sparse_differs = "0 ||| a ||| lm= -1 tm=1 tm=2 s_x= 1 s_y= 3 ||| -1\n"
    fewer = "0 ||| a ||| lm= -1 tm=1 tm=2 s_x= 1 ||| -1\n"
    lists = read(tmp_path, line + line + fewer, other_order + derivation + sparse_differs + fewer)
    assert [(raw.features["lm"], raw.features.get("s_y")) for raw in lists.candidates] == [
        (-1, 2),
        (-1, None),
        (-2, 2),
        (-1, 3),
    ]
    assert lists.candidates.equals.tolist() == [0, 0, 0, 0]


def test_one_text_in_two_segments_is_two_candidates(tmp_path):
    lists = read(tmp_path, "0 ||| a ||| x= 1\n1 ||| a ||| x= 1\n0 ||| b ||| x= 1\n0 ||| a ||| x= 2\n")
    assert as_rows(lists) == [("0", "a", [1]), ("0", "b", [1]), ("0", "a", [2]), ("1", "a", [1])]
    assert lists.candidates.equals.tolist() == [0, 1, 0, 3]


rows = st.lists(
    st.tuples(
        st.sampled_from("210"), st.sampled_from(["a", "b", "", "ä ö"]), st.integers(0, 2), st.integers(0, 1)
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60)
@given(st.lists(rows, min_size=1, max_size=3))
def test_merging_equals_a_plain_merge(tmp_path_factory, files):
    folder = tmp_path_factory.mktemp("lists")
    texts = ["".join(f"{s} ||| {t} ||| x= {v} w={w}\n" for s, t, v, w in file) for file in files]
    jsonl = [
        "".join(
            json.dumps({"id": s, "candidate": t, "features": {"x": v, "w": w}}) + "\n" for s, t, v, w in file
        )
        for file in files
    ]
    merged = list(dict.fromkeys((s, t, v, w) for file in files for s, t, v, w in file))
    expected = [(s, t, [v, w]) for s, t, v, w in sorted(merged, key=lambda row: int(row[0]))]
    mixed = [jsonl[0], *texts[1:]]
    for made in (texts, jsonl, mixed):
        lists = read(folder, *made)
        assert as_rows(lists) == expected
        firsts = [next(j for j, other in enumerate(expected) if other[:2] == row[:2]) for row in expected]
        assert lists.candidates.equals.tolist() == firsts
        assert [lists.segments[i] for i in lists.candidates.segments] == [row[0] for row in expected]


def test_places_name_the_file_and_line_of_each_candidate(tmp_path):
    one, two = written(tmp_path, "1 ||| a ||| x= 1\n0 ||| b ||| x= 1\n", "0 ||| c ||| x= 1\n1 ||| d ||| x= 1")
    lists = read_lists([one, two])
    assert [lists.places(i) for i in range(4)] == [(one, 2), (two, 1), (one, 1), (two, 2)]
    with pytest.raises(
        InputError, match="list0:1: segment 1: expected one of the 1 segments of refs, from 0"
    ):
        lists.check_segments(1, "refs")
    assert lists.check_segments(2, "refs") == []
    assert lists.check_segments(5, "refs") == ["3 of 5 segments of refs have no candidates"]


def test_the_first_of_equal_candidates_wins(tmp_path):
    lists = read(
        tmp_path,
        "0 ||| a ||| x= 1 ||| 0\n0 ||| b ||| x= 1 ||| 0\n1 ||| c ||| x= 0 ||| 0\n1 ||| d ||| x= 2 ||| 0\n",
    )
    assert [lists.candidates[int(i)].text for i in lists.best(np.array([1.0]))] == ["a", "d"]
    assert [raw.text for raw in lists.candidates[1:3]] == ["b", "c"]
    assert lists.candidates[-1].text == "d"


SPARSE = (
    "0 ||| a ||| lm= -1 wt_der~the= 1 ||| -1\n"
    "0 ||| b ||| lm= -2 wt_das~the= 2 wt_der~the= -1 ||| -1\n"
    "1 ||| c ||| lm= -3 ||| -1\n"
)


def test_sparse_features_are_held_unless_named(tmp_path):
    lists = read(tmp_path, SPARSE)
    assert lists.names == ("lm",)
    assert lists.sparse.names == ("wt_der~the", "wt_das~the")
    assert lists.sparse.rows.tolist() == [0, 1, 3, 3]
    assert lists.sparse_dot(np.array([10.0, 1.0])).tolist() == [10, -8, 0]
    named = read(tmp_path, SPARSE, tune=["wt_das~the"])
    assert named.names == ("lm", "wt_das~the")
    assert named.features.tolist() == [[-1, 0], [-2, 2], [-3, 0]]
    assert named.sparse.names == ("wt_der~the",)
    everything = read(tmp_path, SPARSE, tune=["wt_das~the", "wt_der~the"])
    assert everything.sparse is None
    assert everything.sparse_dot(np.zeros(0)) is None


def test_sparse_features_follow_their_candidates_when_lists_merge(tmp_path):
    late = "1 ||| d ||| lm= 0 wt_x= 5 wt_der~the= 7\n0 ||| a ||| wt_der~the= 1 lm= -1 ||| -9\n"
    lists = read(tmp_path, SPARSE, late)
    assert [raw.text for raw in lists.candidates] == ["a", "b", "c", "d"]
    for i, raw in enumerate(lists.candidates):
        a, b = lists.sparse.rows[i : i + 2]
        found = zip(
            (lists.sparse.names[c] for c in lists.sparse.columns[a:b]), lists.sparse.values[a:b], strict=True
        )
        assert dict(found) == {name: value for name, value in raw.features.items() if name != "lm"}


@pytest.mark.parametrize("tune", [["TM0"], ["TM0_1"], ["LM0"], None])
def test_naming_dense_features_hides_no_other(tmp_path, tune):
    """Those that are not named are held at their weights, so they must keep their columns."""
    lists = read(tmp_path, "0 ||| a ||| LM0= 1 TM0= 2 3 oov=1\n", tune=tune)
    assert lists.names == ("LM0", "TM0_0", "TM0_1", "oov")
    assert lists.sparse is None


def test_a_glued_feature_may_be_absent_and_is_zero(tmp_path):
    lists = read(tmp_path, "0 ||| a ||| lm_0=-1\n0 ||| b ||| lm_0=-2 oov_1=3\n1 ||| c ||| oov_1=4\n")
    assert lists.names == ("lm_0", "oov_1")
    assert lists.features.tolist() == [[-1, 0], [-2, 3], [0, 4]]


@pytest.mark.parametrize("form", ["bars", "json"])
def test_too_many_features_must_be_named(tmp_path, monkeypatch, form):
    monkeypatch.setattr(columns, "MAX_DENSE", 3)
    features = {"a": 1.0, "b_0": 2.0, "b_1": 3.0, "c": 4.0}
    text = f"0 ||| x ||| {' '.join(f'{k}={v}' for k, v in features.items())}\n"
    if form == "json":
        text = json.dumps({"id": 0, "candidate": "x", "features": features}) + "\n"
    with pytest.raises(RyptError, match="the lists have 4 features: name those to tune with --tune"):
        read(tmp_path, text)
    lists = read(tmp_path, text, tune=["c", "b_1"])
    assert set(lists.names) == {"c", "b_1"}
    assert dict(zip(lists.sparse.names, lists.sparse.values.tolist(), strict=True)) == {"a": 1, "b_0": 2}
    with pytest.raises(RyptError, match=r"the lists have no feature nothing$"):
        read(tmp_path, text, tune=["c", "nothing"])


def test_labels_that_are_one_name_are_refused(tmp_path):
    with pytest.raises(InputError, match="list0:2: the feature a_1 is there twice"):
        read(tmp_path, "0 ||| x ||| a= 1 2\n0 ||| y ||| a= 1 2 a_1=3\n")
    with pytest.raises(InputError, match="list0:2: the feature a_1 is there twice"):  # never in one line
        read(tmp_path, "0 ||| x ||| a=1 a=2\n0 ||| y ||| a_1=3\n")


OTHER_LINES = [
    ("0 ||| b ||| lm= -1 ||| -1", "expected 3 features like line 1 of .*list0, with 2 values of tm, found 1"),
    (
        "0 ||| b ||| lm= -1 tm= 1 ||| -1",
        "expected 3 features like line 1 of .*list0, with 2 values of tm, found 2",
    ),
    ("0 ||| b ||| lm= -1 tm= 1 2 3 ||| -1", "with 2 values of tm, found 4"),
    ("0 ||| b ||| lm= -1 tm= 1 2 d: 3 ||| -1", "with no feature d, found 4"),
    ("0 ||| b ||| 7 lm= -1 tm= 1 2 ||| -1", "with no numbers without a name, found 4"),
    ("0 ||| b", "with 1 value of lm, found 0"),
    ("0 ||| b ||| lm= x ||| -1", "expected a finite number, found 'x'"),
    ("0 ||| b ||| lm= nan tm= 1 2 ||| -1", "expected a finite number, found 'nan'"),
    ("0 ||| b ||| lm= 1 tm= inf 2 ||| -1", "expected a finite number, found 'inf'"),
    ("just text", "expected id"),
    ('{"id": 0, "candidate": "b"}', "expected id"),
    ("", "expected id"),
]


@pytest.mark.parametrize(("line", "message"), OTHER_LINES)
def test_a_line_unlike_the_others_is_named(tmp_path, line, message):
    good = "0 ||| a{} ||| lm= -1 tm= 1 2 ||| -1\n"
    text = "".join(good.format(i) for i in range(811)) + line + "\n" + good
    with pytest.raises(InputError, match=f"list0:812: .*{message}"):
        read(tmp_path, text)
    with pytest.raises(InputError, match=r"list1:2: "):
        read(tmp_path, good, good + line + "\n")
    other = json.dumps({"id": 0, "candidate": "b", "features": {"lm": 1}}) + "\n"
    with pytest.raises(InputError, match=r"list1:812: "):  # beside a list of another kind as well
        read(tmp_path, other, text)


def test_unlabelled_numbers_must_be_as_many_in_every_line(tmp_path):
    lists = read(tmp_path, "0||| a ||| 1 2\n0||| b ||| 3 4 ||| -1\n")
    assert (lists.names, lists.features.tolist()) == (("F_0", "F_1"), [[1, 2], [3, 4]])
    with pytest.raises(InputError, match=r"list0:2: .* with 2 numbers, found 3"):
        read(tmp_path, "0||| a ||| 1 2\n0||| b ||| 3 4 5\n")


def test_features_only_on_later_lines_are_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"list0:2: expected 0 features like line 1 of .*list0, with no feature lm"
    ):
        read(tmp_path, "0 ||| a ||| ||| -1\n0 ||| b ||| lm= 1 ||| -1\n")


def test_a_first_line_that_is_wrong_itself_is_named(tmp_path):
    with pytest.raises(
        InputError, match=r"list0:2: expected features like line 1 of .*list0, but there: .*'nan'"
    ):
        read(tmp_path, "0 ||| a ||| lm= nan\n0 ||| b ||| lm= 1 d= 2\n")


def test_lists_without_features_are_read(tmp_path):
    lists = read(tmp_path, "0 ||| a\n0 ||| b ||| ||| -1\n0 ||| a ||| ||| -3\n")
    assert (lists.names, lists.features.shape, [raw.text for raw in lists.candidates]) == (
        (),
        (2, 0),
        ["a", "b"],
    )


@pytest.mark.parametrize("ids", [("0", "00"), ("7", "007")])
@pytest.mark.parametrize(
    "form", ["{} ||| a ||| x= 1\n", '{{"id": "{}", "candidate": "a", "features": {{"x": 1}}}}\n']
)
def test_two_ids_that_are_one_number_are_refused(tmp_path, ids, form):
    text = "".join(form.format(i) for i in (*reversed(ids), "3"))
    with pytest.raises(InputError, match=r"list0:\d: segment \d+ is called \d+ elsewhere"):
        read(tmp_path, text)


def test_ids_of_any_kind_are_ordered(tmp_path):
    names = ["²", "news-1", "10", "9" * 5000, "9", "-1", "１", "1.5", "0" * 17 + "8"]
    lists = read(tmp_path, "".join(f"{name} ||| a ||| x= 1\n" for name in names))
    assert lists.segments[:3] == ["0" * 17 + "8", "9", "10"]
    assert lists.segments[3:] == sorted(names[:2] + names[3:4] + names[5:8])
    assert [segment_number(name) for name in ("12", "²", "１", "", "1" * 19, "-1")] == [
        12,
        None,
        None,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n"])
def test_empty_lists_are_named(tmp_path, text):
    with pytest.raises(InputError, match="list1: expected candidates, found an empty list"):
        read(tmp_path, "0 ||| a ||| x= 1\n", text)


def test_gzip_stdin_and_broken_files(tmp_path, monkeypatch):
    data = b"\xef\xbb\xbf0 ||| a ||| x= 1\r\n0 ||| b ||| x= 2\r\n"
    (tmp_path / "list.gz").write_bytes(gzip.compress(data))
    rows = as_rows(read_lists([tmp_path / "list.gz"]))
    assert rows == [("0", "a", [1]), ("0", "b", [2])]
    (tmp_path / "plain").write_bytes(data)
    with open(tmp_path / "plain") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        lists = read_lists(["-"])
        assert as_rows(lists) == rows
        with pytest.raises(InputError, match="<stdin>:1: segment 0: expected one of the 0 segments of refs"):
            lists.check_segments(0, "refs")
    noise = b"".join(f"0 ||| {os.urandom(8).hex()} ||| x= 1\n".encode() for _ in range(5000))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(noise)[:-1000])
    with pytest.raises(InputError, match=r"cut\.gz:\d+: expected a whole gzip file"):
        read_lists([tmp_path / "cut.gz"])
    (tmp_path / "latin").write_bytes(b"0 ||| a ||| x= 1\n0 ||| caf\xe9 ||| x= 1\n")
    with pytest.raises(InputError, match="latin:2: expected UTF-8, found byte 0xe9"):
        read_lists([tmp_path / "latin"])
    (tmp_path / "nul").write_bytes(b"0 ||| a ||| x= 1\n0 ||| a\0b ||| x= 1\n")
    with pytest.raises(InputError, match="nul:2: expected text, found a NUL character"):
        read_lists([tmp_path / "nul"])
    with pytest.raises(InputError, match="nowhere: No such file"):
        read_lists([tmp_path / "nowhere"])


def test_jsonl(tmp_path):
    records = [
        {"id": 1, "candidate": "b c", "features": {"lm": -1, "tm": 2.5}, "alignment": "0-0"},
        {"id": "0", "candidate": "a |0-0|", "features": {"tm": 1e-300}, "score": -3},
        {"segment": 0, "candidate": "", "features": None},
    ]
    lists = read(tmp_path, "".join(json.dumps(record) + "\r\n" for record in records))
    assert lists.names == ("tm", "lm")
    assert as_rows(lists) == [("0", "a |0-0|", [1e-300, 0]), ("0", "", [0, 0]), ("1", "b c", [2.5, -1])]
    assert [(raw.alignment, raw.score) for raw in lists.candidates] == [
        (None, -3),
        (None, None),
        ("0-0", None),
    ]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"candidate": "a"}, "expected an id on every line or on none"),
        ({"id": 0}, "expected a field candidate"),
        ({"id": None, "candidate": "a"}, "expected the id as one line of text, found None"),
        ({"id": True, "candidate": "a"}, "expected the id as one line of text, found True"),
        ({"id": "", "candidate": "a"}, "expected the id as one line of text"),
        ({"id": "0\n", "candidate": "a"}, "expected the id as one line of text"),
        ({"id": 0, "candidate": "a", "features": {"x": "many"}}, "expected a finite number, found 'many'"),
        ({"id": 0, "candidate": "a", "features": {"x": float("nan")}}, "expected a finite number, found nan"),
        ({"id": 0, "candidate": "a", "features": {"x": 10**400}}, "expected a finite number, found 1000"),
        (
            {"id": 0, "candidate": "a", "features": {"two words": 1}},
            "expected one word as the name of a feature",
        ),
        ({"id": 0, "candidate": "a", "features": {"": 1}}, "expected one word as the name of a feature"),
        ({"id": 0, "candidate": "a", "features": [1, 2]}, "expected numbers as features and score"),
        ([0, "a"], "expected an id on every line or on none"),
    ],
)
def test_bad_records_are_named(tmp_path, record, message):
    good = json.dumps({"id": 0, "candidate": "a", "features": {"x": 1}}) + "\n"
    with pytest.raises(InputError, match=f"list0:2: ({message})"):
        read(tmp_path, good + json.dumps(record) + "\n")


def test_fairseq_output_is_read_with_its_log(tmp_path):
    text = (
        "2024-01-01 | INFO | fairseq_cli.generate | loading model(s)\nS-1\tquelle\nT-1\tref\n"
        "H-1\t-0.5\tthe house\nD-1\t-0.5\tThe house\nP-1\t-0.25 -0.75\nA-1\t0-0 0-1\n"
        "H-1\t-0.75\ta house\nP-1\t-1.0\nH-0\t-2\tyes\nP-0\t-2\n"
    )
    lists = read(tmp_path, text)
    assert lists.names == ("score", "logprob", "length")
    assert as_rows(lists) == [
        ("0", "yes", [-2, -2, 1]),
        ("1", "the house", [-0.5, -1, 2]),
        ("1", "a house", [-0.75, -1, 1]),
    ]
    assert lists.places(0)[1] == 10


def test_arrays_can_be_made_of_candidates_in_memory():
    raws = [
        Candidate("1", "b", None, {"x": 1.0, "y": 2.0}, None),
        Candidate("0", "", None, {"y": 3.0}, None),
        Candidate("1", "b", None, {"y": 2.0, "x": 1.0}, -5.0),
        Candidate("1", "b", None, {"y": 2.0}, None),
    ]
    lists = arrange(raws)
    assert as_rows(lists) == [("0", "", [3, 0]), ("1", "b", [2, 1]), ("1", "b", [2, 0])]
    assert lists.places(1) == ("candidates", 1)
    assert arrange(raws[1:2]).candidates.text(0) == ""


def test_watching_sees_the_lines_of_lists_that_are_read_line_by_line(tmp_path):
    seen = []

    def watch(lines, what):
        for number, line in lines:
            seen.append((what, number))
            yield number, line

    path = written(tmp_path, '{"id": 0, "candidate": "a", "features": {"x": 1}}\n')[0]
    read_lists([path], watch)
    assert seen == [(f"read {path}", 1)]
