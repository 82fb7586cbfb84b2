"""Lists as arrays: merging, order, columns and sparse features, all formats, and what is refused."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_lists import arranged

from mert import lists as lists_module
from mert.lists import read_lists, segment_number
from rypt.records import Candidate
from rypt.text import InputError, RyptError
from rypt.texts.formats import read_features


def written(tmp_path, *texts):
    paths = []
    for i, text in enumerate(texts):
        paths.append(tmp_path / f"list{i}")
        paths[-1].write_bytes(text.encode() if isinstance(text, str) else text)
    return paths


def read(tmp_path, *texts, **options):
    return read_lists(written(tmp_path, *texts), **options)


def as_rows(lists):
    """What lists hold, in order."""
    rows = zip(lists.candidates, lists.features.tolist(), strict=True)
    return [(raw.segment, raw.text, features) for raw, features in rows]


def test_segments_are_sorted_by_number_and_candidates_stay_in_order(tmp_path):
    text = "10 ||| b ||| lm= -2\n2 ||| z ||| lm= -1\n10 ||| a ||| lm= -3\nx ||| q ||| lm= 0\n2 ||| c ||| lm= -4\n"
    lists = read(tmp_path, text)
    assert lists.segments == ["2", "10", "x"]
    assert lists.offsets.tolist() == [0, 2, 4, 5]
    rows = [("2", "z", [-1]), ("2", "c", [-4]), ("10", "b", [-2]), ("10", "a", [-3]), ("x", "q", [0])]
    assert (lists.names, as_rows(lists)) == (("lm",), rows)
    assert [line for _, line in lists.places] == [2, 5, 1, 3, 4]


def test_lists_merge_without_duplicates_but_keep_derivations(tmp_path):
    line = "0 ||| a ||| lm= -1 tm=1 tm=2 s_x= 1 s_y= 2 ||| -1\n"
    other_order = "0 ||| a ||| tm=1 tm=2 s_y= 2 lm= -1.0 s_x= 1 ||| -7\n"
    derivation = "0 ||| a ||| lm= -2 tm=1 tm=2 s_x= 1 s_y= 2 ||| -1\n"
    sparse_differs = "0 ||| a ||| lm= -1 tm=1 tm=2 s_x= 1 s_y= 3 ||| -1\n"
    fewer = "0 ||| a ||| lm= -1 tm=1 tm=2 s_x= 1 ||| -1\n"
    lists = read(tmp_path, line + line + fewer, other_order + derivation + sparse_differs + fewer)
    held = [(raw.features["lm"], raw.features.get("s_y")) for raw in lists.candidates]
    assert held == [(-1, 2), (-1, None), (-2, 2), (-1, 3)]


rows = st.lists(
    st.tuples(
        st.sampled_from("210"), st.sampled_from(["a", "b", "", "ä ö"]), st.integers(0, 2), st.integers(0, 1)
    ),
    min_size=1,
    max_size=12,
)
FORMS = {
    "glued": "{} ||| {} ||| x={} w={}\n",
    "labels": "{} ||| {} ||| x= {} w= {}\n",
    "colons": "{}||| {} |||x: {}\tw: {} ||| -1 ||| 0-0\n",
}


@pytest.mark.slow
@settings(max_examples=80)
@given(st.lists(rows, min_size=1, max_size=3), st.sampled_from([*FORMS, "json"]), st.booleans())
def test_merging_equals_a_plain_merge(tmp_path_factory, files, form, mixed):
    def text(file, form):
        if form == "json":
            objects = [{"id": s, "candidate": t, "features": {"x": v, "w": w}} for s, t, v, w in file]
            return "".join(json.dumps(each) + "\n" for each in objects)
        return "".join(FORMS[form].format(*row) for row in file)

    merged = list(dict.fromkeys((s, t, v, w) for file in files for s, t, v, w in file))
    expected = [(s, t, [v, w]) for s, t, v, w in sorted(merged, key=lambda row: int(row[0]))]
    texts = [text(files[0], "json" if mixed else form), *(text(file, form) for file in files[1:])]
    assert as_rows(read(tmp_path_factory.mktemp("lists"), *texts)) == expected


@settings(max_examples=80)
@given(st.data())
def test_features_are_those_of_each_line(tmp_path_factory, data):
    """Whether they are read in blocks or line by line: with labels in any order, absent ones, several values."""
    numbers = st.sampled_from(["0", "-1.5", "+2", "1e-3", "7E2", ".5", "3.", "-0.0", "123456789012345678901"])
    lines = []
    for i in range(data.draw(st.integers(1, 5))):
        parts = [f"LM= {data.draw(numbers)}", f"TM= {data.draw(numbers)} {data.draw(numbers)}"]
        parts += [f"{name}={data.draw(numbers)}" for name in ("g1", "g2") if data.draw(st.booleans())]
        parts += [f"s_{name}= {data.draw(numbers)}" for name in "xy" if data.draw(st.booleans())]
        lines.append(f"{i} ||| t ||| {'  '.join(data.draw(st.permutations(parts)))} ||| -3\n")
    lists = read(tmp_path_factory.mktemp("lists"), "".join(lines))
    for i, line in enumerate(lines):
        values = dict(zip(lists.names, lists.features[i].tolist(), strict=True))
        if lists.sparse is not None:
            values |= lists.sparse.of(i)
        expected = read_features(line.split("|||")[2].strip())
        assert {name: values[name] for name in expected} == expected
        assert all(value == 0 for name, value in values.items() if name not in expected)


def test_places_name_the_file_and_line_of_each_candidate(tmp_path):
    one, two = written(tmp_path, "1 ||| a ||| x= 1\n0 ||| b ||| x= 1\n", "0 ||| c ||| x= 1\n1 ||| d ||| x= 1")
    lists = read_lists([one, two])
    assert lists.places == [(one, 2), (two, 1), (one, 1), (two, 2)]
    with pytest.raises(
        InputError, match="list0:1: segment 1: expected one of the 1 segments of refs, from 0"
    ):
        lists.check_segments(1, "refs")
    assert lists.check_segments(2, "refs") == []
    assert lists.check_segments(5, "refs") == ["3 of 5 segments of refs have no candidates"]


def test_the_first_of_equal_candidates_wins(tmp_path):
    text = "0 ||| a ||| x= 1\n0 ||| b ||| x= 1\n1 ||| c ||| x= 0 s_s= 3\n1 ||| d ||| x= 2\n"
    lists = read(tmp_path, text)
    assert [lists.candidates[i].text for i in lists.best(np.array([1.0]))] == ["a", "d"]
    assert [lists.candidates[i].text for i in lists.best(np.array([1.0]), np.array([1.0]))] == ["a", "c"]


SPARSE = (
    "0 ||| a ||| lm= -1 wt_der~the= 1 ||| -1\n"
    "0 ||| b ||| lm= -2 wt_das~the= 2 wt_der~the= -1 ||| -1\n"
    "1 ||| c ||| lm= -3 ||| -1\n"
)


def test_sparse_features_are_held_unless_named(tmp_path):
    lists = read(tmp_path, SPARSE)
    assert (lists.names, lists.sparse_names) == (("lm",), ("wt_der~the", "wt_das~the"))
    assert lists.sparse.dot(np.array([10.0, 1.0])).tolist() == [10, -8, 0]
    named = read(tmp_path, SPARSE, tune=["wt_das~the"])
    assert named.names == ("lm", "wt_das~the")
    assert named.features.tolist() == [[-1, 0], [-2, 2], [-3, 0]]
    assert named.sparse_names == ("wt_der~the",)
    assert read(tmp_path, SPARSE, tune=["wt_das~the", "wt_der~the"]).sparse is None
    late = "1 ||| d ||| lm= 0 wt_x= 5 wt_der~the= 7\n0 ||| a ||| wt_der~the= 1 lm= -1 ||| -9\n"
    merged = read(tmp_path, SPARSE, late)
    assert [raw.text for raw in merged.candidates] == ["a", "b", "c", "d"]
    for i, raw in enumerate(merged.candidates):
        assert {"lm": merged.features[i, 0], **merged.sparse.of(i)} == dict(raw.features)


@pytest.mark.parametrize("tune", [["TM0"], ["TM0_1"], ["LM0"], None])
def test_naming_dense_features_hides_no_other(tmp_path, tune):
    """Those that are not named are held at their weights, so they must keep their columns."""
    lists = read(tmp_path, "0 ||| a ||| LM0= 1 TM0= 2 3 oov=1\n", tune=tune)
    assert lists.names == ("LM0", "TM0_0", "TM0_1", "oov")
    assert lists.sparse is None


def test_a_glued_feature_may_be_absent_and_is_zero(tmp_path):
    lists = read(tmp_path, "0 ||| a ||| lm_0=-1\n0 ||| b ||| lm_0=-2 oov_1=3\n1 ||| c ||| oov_1=4\n")
    assert (lists.names, lists.open_ended) == (("lm_0", "oov_1"), True)
    assert lists.features.tolist() == [[-1, 0], [-2, 3], [0, 4]]
    assert not read(tmp_path, SPARSE).open_ended


@pytest.mark.parametrize("form", ["bars", "json"])
def test_too_many_features_must_be_named(tmp_path, monkeypatch, form):
    monkeypatch.setattr(lists_module, "MAX_DENSE", 3)
    features = {"a": 1.0, "b_0": 2.0, "b_1": 3.0, "c": 4.0}
    text = f"0 ||| x ||| {' '.join(f'{k}={v}' for k, v in features.items())}\n"
    if form == "json":
        text = json.dumps({"id": 0, "candidate": "x", "features": features}) + "\n"
    with pytest.raises(RyptError, match="the lists have 4 features: name those to tune with --tune"):
        read(tmp_path, text)
    lists = read(tmp_path, text, tune=["c", "b_1"])
    assert (set(lists.names), lists.sparse.of(0)) == ({"c", "b_1"}, {"a": 1, "b_0": 2})
    assert set(read(tmp_path, text, tune=["b"]).names) == {"b_0", "b_1"}
    with pytest.raises(RyptError, match=r"the lists have no feature nothing$"):
        read(tmp_path, text, tune=["c", "nothing"])


OTHER_LINES = [
    "0 ||| b ||| lm= -1 ||| -1",
    "0 ||| b ||| lm= -1 tm= 1 ||| -1",
    "0 ||| b ||| lm= -1 tm= 1 2 3 ||| -1",
    "0 ||| b ||| lm= -1 tm= 1 2 d: 3 ||| -1",
    "0 ||| b ||| 7 lm= -1 tm= 1 2 ||| -1",
    "0 ||| b ||| tm= 1 2 tm_0= 3 lm= 1 ||| -1",
    "0 ||| b",
    "0 ||| b ||| lm= x tm= 1 2 ||| -1",
    "0 ||| b ||| lm= nan tm= 1 2 ||| -1",
    "0 ||| b ||| lm= 1 tm= inf 2 ||| -1",
    "0 ||| b ||| lm= 1e999 tm= 1 2 ||| -1",
    "0 ||| b ||| lm= 1_0 tm= 1 2 ||| -1",
    "0 ||| b ||| lm= 1 tm= 1 2\u00a0 ||| -1",
    "0 ||| b ||| = 1 tm= 1 2 ||| -1",
    "0 ||| b ||| lm= -1 tm= 1 2 ||| many",
    " ||| b ||| lm= -1 tm= 1 2 ||| -1",
    "0 ||| b\0 ||| lm= -1 tm= 1 2 ||| -1",
    "just text",
    '{"id": 0, "candidate": "b"}',
    "",
]


@pytest.mark.parametrize("line", OTHER_LINES)
def test_a_line_unlike_the_others_is_named(tmp_path, line):
    good = "0 ||| a{} ||| lm= -1 tm= 1 2 ||| -1\n"
    text = "".join(good.format(i) for i in range(811)) + line + "\n" + good
    with pytest.raises(InputError, match="list0:812: "):
        read(tmp_path, text)
    with pytest.raises(InputError, match=r"list1:2: "):
        read(tmp_path, good, good + line + "\n")
    other = json.dumps({"id": 0, "candidate": "b", "features": {"lm": 1}}) + "\n"
    with pytest.raises(InputError, match=r"list1:812: "):  # beside a list of another kind as well
        read(tmp_path, other, text)


@pytest.mark.parametrize(
    "texts",
    [
        ["0||| a ||| 1 2\n0||| b ||| 3 4 5\n"],
        ["0 ||| a ||| ||| -1\n0 ||| b ||| lm= 1 ||| -1\n"],
        ["0 ||| a ||| a=1\n", "0 ||| a ||| a=1\n0 ||| caf\xe9 ||| a=x\n"],
    ],
)
def test_lines_that_disagree_are_refused(tmp_path, texts):
    with pytest.raises(InputError, match=r"list\d:2: expected"):
        read(tmp_path, *texts)
    plain = read(tmp_path, "0||| a ||| 1 2\n0||| b ||| 3 4 ||| -1\n")
    assert (plain.names, plain.features.tolist()) == (("F_0", "F_1"), [[1, 2], [3, 4]])


def test_marians_fields_and_lists_without_features(tmp_path):
    lines = [
        "0 ||| a b ||| 0-0 1-1 ||| WordScores= -1 -2 ||| F0= -3 ||| -0.5",
        "0 ||| a c ||| ||| F0= -4 ||| -0.6",
        "0 ||| a d ||| F0= -5 ||| -0.7",
    ]
    lists = read(tmp_path, "\n".join(lines))
    assert (lists.names, lists.features.ravel().tolist()) == (("F0",), [-3, -4, -5])
    bare = read(tmp_path, "0 ||| a\n0 ||| b ||| ||| -1\n0 ||| a ||| ||| -3\n")
    assert (bare.names, bare.features.shape, [raw.text for raw in bare.candidates]) == (
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
    assert [segment_number(name) for name in ("12", "²", "１", "", "1" * 19, "-1")] == [12, *[None] * 5]


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", b"\xff\n"])
def test_empty_and_broken_lists_are_named(tmp_path, text):
    with pytest.raises(InputError, match=r"list1(:1)?: expected"):
        read(tmp_path, "0 ||| a ||| x= 1\n", text)


def test_jsonl(tmp_path):
    records = [
        {"id": 1, "candidate": "b c", "features": {"lm": -1, "tm": 2.5}, "alignment": "0-0"},
        {"id": "0", "candidate": "a |0-0|", "features": {"tm": 1e-300}, "score": -3},
        {"segment": 0, "candidate": "", "features": None},
    ]
    lists = read(tmp_path, "".join(json.dumps(record) + "\r\n" for record in records))
    assert lists.names == ("lm", "tm")
    assert as_rows(lists) == [("0", "a |0-0|", [0, 1e-300]), ("0", "", [0, 0]), ("1", "b c", [-1, 2.5])]
    assert [raw.score for raw in lists.candidates] == [-3, None, None]
    bad = '{"id": 0, "candidate": "a", "features": {"x": "many"}}'
    with pytest.raises(InputError, match="list0:2: expected a finite number"):
        read(tmp_path, bad.replace('"many"', "1") + "\n" + bad)


def test_candidates_in_memory():
    raws = [
        Candidate("1", "b", None, {"x": 1.0, "y": 2.0}),
        Candidate("0", "", None, {"y": 3.0}),
        Candidate("1", "b", None, {"y": 2.0, "x": 1.0}, -5.0),
        Candidate("1", "b", None, {"y": 2.0}),
    ]
    lists = arranged(raws)
    assert as_rows(lists) == [("0", "", [0, 3]), ("1", "b", [1, 2]), ("1", "b", [0, 2])]
    assert lists.without(["x"]).features.tolist() == [[3], [2], [2]]
