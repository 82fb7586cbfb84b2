"""Weights files: read in all forms, matched with lists, written back as they were."""

import json
import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mert.constraints import Normalization
from mert.weights import default_weights, read_weights
from rypt.text import InputError

NAMES = ("LM0", "TM0_0", "TM0_1", "Penalty")
MOSES = "# tuned\nLM0= 0.5\nTM0=  0.25\t-1e-3 # two\n\nPenalty= -1\n"
INI = """\
[input-factors]
0

[feature]
KENLM name=LM0 factor=0 path=x=y.arpa order=3
PhraseDictionaryMemory name=TM0 num-features=2 path=[x]

# dense weights
[weight]
UnknownWordPenalty0= 1
LM0= 0.5
TM0= 0.25 -1e-3
Penalty= -1
[threads]
4
"""
LINES = "# joshua\nLM0 0.5\n\n  TM0_0\t0.25\nTM0_1 = -1e-3\nPenalty -1\n"
JSON = '{"LM0": 0.5,\n "TM0_0":0.25, "TM0_1" : -1e-3,\n\n "Penalty": -1}\n'
PARAMS = """\
LM0 ||| 0.5 Opt 0.1 +Inf +0.5 +1.5
TM0_0|||0.25 Opt -Inf +Inf -1 +1
TM0_1 ||| -1e-3 Opt -1 1 -1 +1
Penalty ||| -1 Fix 0 0 0 0
normalization = absval 1 LM0
"""
FORMS = {"moses": MOSES, "ini": INI, "lines": LINES, "json": JSON, "params": PARAMS}


def read(tmp_path, text):
    (tmp_path / "w").write_bytes(text.encode())
    return read_weights(tmp_path / "w")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("form", FORMS)
def test_all_forms_say_the_same(tmp_path, form, end):
    found = read(tmp_path, FORMS[form].replace("\n", end))
    assert found.form == form
    names, weights, sparse = found.match(NAMES)
    assert names == NAMES
    assert weights.tolist() == [0.5, 0.25, -1e-3, -1]
    assert sparse.tolist() == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("form", FORMS)
def test_files_are_written_back_with_other_numbers_and_nothing_else_changed(tmp_path, form, end):
    text = FORMS[form].replace("\n", end)
    found = read(tmp_path, text)
    expected = text
    for old, new in (("0.25", "1e-300"), ("-1e-3", "-0.1"), ("0.5", "7.0")):
        expected = expected.replace(old, new, 1)
    found.write(tmp_path / "out", ["TM0_1", "LM0", "TM0_0"], np.array([-0.1, 7.0, 1e-300]))
    assert (tmp_path / "out").read_bytes() == expected.encode()
    assert found.with_weights([], np.zeros(0)) == text


numbers = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=60)
@given(st.lists(numbers, min_size=4, max_size=4), st.sampled_from(list(FORMS)))
def test_what_is_written_is_read_back_bit_by_bit(tmp_path_factory, values, form):
    folder = tmp_path_factory.mktemp("weights")
    text = (
        FORMS[form]
        if form != "params"
        else PARAMS.replace("0.1 +Inf", "-Inf +Inf").replace("-1 1 ", "-Inf Inf ")
    )
    read(folder, text).write(folder / "out", NAMES, np.array(values))
    again = read_weights(folder / "out").match(NAMES)[1]
    assert [math.copysign(1, x) for x in again] == [math.copysign(1, x) for x in values]
    assert again.tolist() == values


def test_a_file_that_cannot_be_written_stays(tmp_path, monkeypatch):
    found = read(tmp_path, MOSES)
    monkeypatch.setattr(
        os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(InputError, match="w: No space left on device"):
        found.write(tmp_path / "w", NAMES, np.zeros(4))
    assert (tmp_path / "w").read_text() == MOSES
    assert os.listdir(tmp_path) == ["w"]


words = st.text(st.sampled_from("ab_01"), min_size=1, max_size=4)


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(words, min_size=1, max_size=6, unique=True), st.data())
def test_default_weights_are_read_back(tmp_path_factory, names, data):
    values = np.array(data.draw(st.lists(numbers, min_size=len(names), max_size=len(names))))
    path = tmp_path_factory.mktemp("default") / "w"
    made = default_weights(names, values)
    made.write(path, names, values)
    found = read_weights(path)
    assert {entry.name: entry.value for entry in found.entries} == dict(
        zip(names, values.tolist(), strict=True)
    )
    assert made.match(names)[1].tolist() == values.tolist()


def test_default_weights_share_lines_as_moses_has_them():
    made = default_weights(NAMES, np.array([0.5, 0.25, 0.125, -1.0]))
    assert made.text == "LM0= 0.5\nTM0= 0.25 0.125\nPenalty= -1.0\n"


def test_features_without_names_take_those_of_the_parameter_file(tmp_path):
    found = read(tmp_path, PARAMS)
    assert found.match(("F_0", "F_1", "F_2", "F_3"))[0] == NAMES
    with pytest.raises(
        InputError, match="w: expected 2 parameters, as many as the lists have features, found 4"
    ):
        found.match(("F_0", "F_1"))
    with pytest.raises(InputError, match="w:1: a weight of LM0, which is not a feature"):
        read(tmp_path, MOSES.replace("# tuned\n", "")).match(("F_0", "F_1", "F_2", "F_3"))


def test_a_parameter_file_has_constraints(tmp_path):
    constraints = read(tmp_path, PARAMS).constraints
    assert constraints.fixed == ("Penalty",)
    assert constraints.bounds == {"LM0": (0.1, math.inf), "TM0_1": (-1, 1)}
    assert constraints.ranges == {"LM0": (0.5, 1.5), "TM0_0": (-1, 1), "TM0_1": (-1, 1)}
    assert constraints.normalization == Normalization("weight", 1.0, "LM0")
    assert read(tmp_path, MOSES).constraints.normalization is None


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("none", Normalization("none")),
        ("absval 2 LM0", Normalization("weight", 2.0, "LM0")),
        ("maxabsval 1", Normalization("max", 1.0)),
        ("minabsval 0.5", Normalization("min", 0.5)),
        ("LNorm 2 1", Normalization("l2", 1.0)),
        ("LNorm 1.0 3", Normalization("l1", 3.0)),
    ],
)
def test_zmerts_normalizations(tmp_path, said, expected):
    text = PARAMS.replace("normalization = absval 1 LM0", f"normalization={said}")
    assert read(tmp_path, text).constraints.normalization == expected


@pytest.mark.parametrize(
    "said",
    [
        "",
        "nothing",
        "none 1",
        "absval 1",
        "absval LM0",
        "maxabsval 0",
        "maxabsval 1 LM0",
        "LNorm 3 1",
        "LNorm 2 -1",
        "LNorm 2 inf",
        "LNorm 2",
    ],
)
def test_other_normalizations_are_refused(tmp_path, said):
    with pytest.raises(InputError, match="w:5: expected"):
        read(tmp_path, PARAMS.replace("absval 1 LM0", said))


def test_unknown_and_missing_features_are_named(tmp_path):
    for form, line in (("moses", 5), ("lines", 6), ("json", 4), ("params", 4)):
        found = read(tmp_path, FORMS[form])
        with pytest.raises(InputError, match=f"w:{line}: a weight of Penalty, which is not a feature"):
            found.match(NAMES[:3])
        with pytest.raises(InputError, match="w: expected weights of all features, missing Other, More"):
            found.match((*NAMES, "Other", "More"))
    assert read(tmp_path, INI).match(NAMES[:3])[1].tolist() == [0.5, 0.25, -1e-3]


def test_sparse_features_without_a_weight_have_zero(tmp_path):
    found = read(tmp_path, MOSES + "wt_a= 3\nwt_unseen= 4\n")
    assert found.match(NAMES, ("wt_b", "wt_a"))[2].tolist() == [0, 3]
    with pytest.raises(InputError, match="w:6: a weight of wt_a, which is not a feature"):
        found.match(NAMES)


def test_bounds_that_exclude_the_start_are_named(tmp_path):
    found = read(tmp_path, PARAMS.replace("-1e-3 Opt -1 1", "-1.5 Opt -1 1"))
    with pytest.raises(InputError, match=r"w:3: the bounds -1\.\.1 of TM0_1 exclude its start -1\.5"):
        found.match(NAMES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "w: expected weights, found none"),
        ("# nothing\n\n", "w: expected weights, found none"),
        ("[weight]\n[other]\nx\n", "w: expected weights, found none"),
        ("LM0= 1\nLM0= 2\n", "w:2: the weight of LM0 is given twice"),
        ("TM= 1 2\nTM_1= 2\n", "w:2: the weight of TM_1 is given twice"),
        ("LM0= x\n", "w:1: expected a finite number, found 'x'"),
        ("LM0= 1\nTM0= 1 inf\n", "w:2: expected a finite number, found 'inf'"),
        ("LM0 1_0\n", "w:1: expected a finite number, found '1_0'"),
        ("LM0 1 2\n", "w:1: expected name value, found 'LM0 1 2'"),
        ("LM0=\n", r"w:1: expected Name= value value …, found 'LM0='"),
        ("LM0= 1\nTM0 1\n", r"w:2: expected Name= value value …, found 'TM0 1'"),
        ("LM0= # 1\n", r"w:1: expected Name= value"),
        ("= 1\n", r"w:1: expected Name= value"),
        ("[weight]\nLM0 1\n", r"w:2: expected Name= value"),
        ('{"LM0": "x"}\n', "w: expected a JSON object of names and numbers: some value is not a number"),
        ('{"LM0": true}\n', "w: expected a JSON object of names and numbers"),
        ('{"LM0": {"a": 1}}\n', "w: expected a JSON object of names and numbers"),
        ('{"LM0": NaN}\n', "w: expected a JSON object of names and numbers: expected a finite number"),
        ('{"LM0": 1\n', "w: expected a JSON object of names and numbers"),
        ('{"LM0": 1,\n"TM0": 2,\n"LM0": 1}', "w:3: the weight of LM0 is given twice"),
        (
            json.dumps({"LM0": 10**400}),
            "w: expected a JSON object of names and numbers: expected a finite number",
        ),
        ("LM0 ||| 1 Opt 0 1 0\n", r"w:1: expected name \|\|\| value Opt"),
        ("LM0 ||| 1 Maybe 0 1 0 1\n", r"w:1: expected name \|\|\| value Opt"),
        (" ||| 1 Opt 0 1 0 1\n", r"w:1: expected name \|\|\| value Opt"),
        ("LM0 ||| 1 Opt 0 1 -Inf 1\n", "w:1: expected a finite number, found '-Inf'"),
        ("LM0 ||| 1 Opt low 1 0 1\n", "w:1: expected a finite number, found 'low'"),
        ("LM0 ||| 1 Opt 0 1 0 1\nTM0 2\n", r"w:2: expected name \|\|\| value Opt"),
        ("LM0 1\0\n", "w:1: expected text, found a NUL character"),
    ],
)
def test_bad_files_are_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_awkward_json_is_edited_in_place(tmp_path):
    text = '\n{"a\\"b:1" :1 ,"c, d":\t2.5e3,"e":-0\n}'
    found = read(tmp_path, text)
    assert [(e.name, e.value, e.line) for e in found.entries] == [
        ('a"b:1', 1, 2),
        ("c, d", 2500, 2),
        ("e", 0, 2),
    ]
    assert (
        found.with_weights(["e", 'a"b:1'], np.array([4.0, 3.0]))
        == '\n{"a\\"b:1" :3.0 ,"c, d":\t2.5e3,"e":4.0\n}'
    )
