"""The compiled reader against the reader of single lines."""

import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mert.lists.arrays import read_lists
from rypt.text import InputError
from rypt.texts.formats import read_bars


def parse_line(line):
    ((_, candidate),) = read_bars("list", [(1, line)])
    return candidate


BLANKS = st.sampled_from([" ", " ", " ", "  ", "\t", " \t "])
HARD_NUMBERS = [
    "0",
    "-0.0",
    "+1",
    "1.",
    ".5",
    "-.5e1",
    "1e22",
    "1e23",
    "9007199254740993",
    "9007199254740992",
    "-9007199254740991",
    "0.1",
    "123456789012345678901234567890",
    "1.7976931348623157e308",
    "1e-300",
    "5e-324",
    "4.9e-324",
    "2e-324",
    "0.30000000000000004",
    "3.141592653589793238462643383279",
    "1.00000000000000000000",
    "100000000000000000000.0",
    "8.5e-22",
    "8.5e-23",
    "7e+5",
    "7E05",
    "0e99999",
    "0.000000000000000000000000000001",
    "00012.50",
    "1e0000005",
    "2.2250738585072011e-308",
    "179769313486231570000e288",
    "900719925474099.1",
    "9007199254740989e-5",
    "0e-99999",
    "1e-400",
]
NOT_NUMBERS = [
    "nan",
    "inf",
    "-inf",
    "x",
    "1e",
    "1e+",
    ".",
    "-",
    "+",
    "1.2.3",
    "1-2",
    "--1",
    "1e5e5",
    "1e999",
    "-1e400",
    "1_000",
    "0x10",
    "१",
    "1,5",
    "1e99999999999",
    "infinity",
    "e5",
    "1\u00a02",
    "1\x0b",
    "1d5",
]
numbers = st.one_of(
    st.sampled_from(HARD_NUMBERS),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1000, 1000).map(lambda x: f"{x:.4f}"),
    st.integers(-(10**25), 10**25).map(str),
    st.tuples(st.integers(0, 10**20), st.integers(-340, 280)).map(lambda x: f"{x[0]}e{x[1]}"),
    st.decimals(allow_nan=False, allow_infinity=False, places=30, min_value=-(10**6), max_value=10**6).map(
        lambda x: f"{x:f}"
    ),
)
LETTERS = st.characters(exclude_characters="\n\r\0|=: \t{}", exclude_categories=["Cs"])
texts = st.text(st.characters(exclude_characters="\n\0|", exclude_categories=["Cs"]), max_size=12)
stems = st.text(LETTERS.filter(lambda c: c != "_"), min_size=1, max_size=5).map(lambda name: "n" + name)
names = st.one_of(
    stems,
    stems.map(lambda name: "a=" + name),
    stems.map(lambda name: "b:" + name),
    stems.map(lambda n: n + "?="),
)
ids = st.one_of(st.integers(0, 3).map(str), st.text(LETTERS, min_size=1, max_size=3).map(lambda t: "s" + t))


@st.composite
def labels(draw):
    """Labels of a list, each with its number of values and the way it is written."""
    found = draw(st.lists(names, max_size=4, unique=True))
    kinds = st.sampled_from(["dense", "glued", "sparse"])
    colon = st.sampled_from(["dense", "colon", "glued", "sparse"])
    return [(name, draw(kinds if "=" in name else colon), draw(st.integers(1, 3))) for name in found]


@st.composite
def feature_fields(draw, given):
    """One field: all dense labels and some of the others, in any order, one perhaps in two parts with a gap."""
    unnamed, named = given
    parts = []
    for name, kind, count in named:
        if kind in ("glued", "sparse") and draw(st.booleans()):
            continue
        values = draw(st.lists(numbers, min_size=count, max_size=count))
        cut = draw(st.integers(1, count)) if kind != "glued" else 1
        for piece in (values[:cut], values[cut:]):
            if piece and kind == "glued":
                parts += [[f"{name}={value}"] for value in piece[:1]] + [
                    [f"{name}={value}"] for value in piece[1:]
                ]
            elif piece:
                label = {"dense": f"{name}=", "colon": f"{name}:", "sparse": f"{name}_x="}[kind]
                parts.append([label, *piece])
    order = draw(st.permutations(range(len(parts))))
    front = draw(st.lists(numbers, min_size=unnamed, max_size=unnamed))
    words = [*front, *(word for i in order for word in parts[i])]
    return "".join(word + draw(BLANKS) for word in words).rstrip(draw(st.sampled_from([" ", " \t"])))


@st.composite
def lists_of_lines(draw):
    """The lines of a list, in one of the dialects."""
    given = (draw(st.sampled_from([0, 0, 1, 3])), draw(labels()))
    lines = []
    for _ in range(draw(st.integers(1, 6))):
        field = draw(feature_fields(given))
        marian = []
        if "=" in field.split("|||")[0] and not field.lstrip(" \t")[:1].isdigit():
            marian = draw(st.sampled_from([[], [], [""], ["0-0 1-1"], ["0-0\t3-2", "WordScores= -1 x"]]))
        after = draw(
            st.sampled_from([[], ["-4.5"], ["", "0-0"], ["1e3 7 7", "0=0", "x"], ["0.1", *"abcdefghijkl"]])
        )
        bars = draw(st.sampled_from([" ||| ", "||| ", " |||", "|||", "\t|||  "]))
        text = draw(texts).strip("\r")
        end = draw(st.sampled_from(["", "", "\r", "\r\r"]))
        lines.append(bars.join([draw(ids), text, *marian, field, *after]) + end)
    return lines


def read(tmp_path, data):
    (tmp_path / "list").write_bytes(data)
    return read_lists([tmp_path / "list"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scan")


def all_features(lists, index):
    """The features of one candidate by name, sparse ones among them."""
    named = dict(zip(lists.names, lists.features[index].tolist(), strict=True))
    if lists.sparse is not None:
        a, b = lists.sparse.rows[index : index + 2]
        held = [lists.sparse.names[i] for i in lists.sparse.columns[a:b]]
        named |= dict(zip(held, lists.sparse.values[a:b].tolist(), strict=True))
    return named


def same_features(found, expected):
    """The same names and bits; a dense feature that the line has not is 0."""
    absent = {name: value for name, value in found.items() if name not in expected}
    assert set(absent.values()) <= {0.0}
    here = {name: found[name] for name in expected}
    assert {n: (v, np.signbit(v)) for n, v in here.items()} == {
        n: (v, np.signbit(v)) for n, v in expected.items()
    }


@settings(max_examples=80)
@given(lists_of_lines(), st.booleans())
def test_whole_lists_are_read_as_line_by_line(folder, lines, final_newline):
    expected = [parse_line(line) for line in lines]
    lists = read(folder, "\n".join(lines).encode() + (b"\n" if final_newline else b""))
    kept = {lists.places(i)[1] for i in range(len(lists.candidates))}
    for i, raw in enumerate(lists.candidates):
        wanted = expected[lists.places(i)[1] - 1]
        assert raw == wanted
        assert lists.candidates.text(i) == wanted.text
        assert lists.segments[lists.candidates.segments[i]] == wanted.segment
        same_features(all_features(lists, i), wanted.features)
    for number, raw in enumerate(expected, start=1):  # what was left out is there once already
        nonzero = {name: value for name, value in raw.features.items() if value}
        earlier = [other for n, other in enumerate(expected[: number - 1], start=1) if n in kept]
        twins = [
            other
            for other in earlier
            if (other.segment, other.text) == (raw.segment, raw.text)
            and {name: value for name, value in other.features.items() if value} == nonzero
        ]
        assert (number in kept) or twins


@settings(max_examples=120)
@given(st.one_of(numbers, st.sampled_from(HARD_NUMBERS)))
@example("0." + "0" * 9990 + "1e9999")
@example("0." + "0" * 9990 + "1e99999")
@example("1" + "0" * 400 + "e-400")
def test_numbers_are_rounded_as_python_rounds_them(folder, word):
    if np.isinf(float(word)):
        with pytest.raises(InputError, match="list:1: expected a finite number"):
            read(folder, f"0 ||| a ||| x= {word}".encode())
        return
    found = read(folder, f"0 ||| a ||| x= {word} y={word} s_s= {word} ||| {word}".encode())
    for value in (*found.features[0].tolist(), found.sparse.values[0]):
        assert (value, np.signbit(value)) == (float(word), np.signbit(float(word)))


GOOD = "0 ||| a b ||| x= 1 y=2 ||| -1"


@pytest.mark.parametrize("word", NOT_NUMBERS)
@pytest.mark.parametrize(
    "line",
    [
        "0 ||| a ||| x= {} y=2 ||| -1",
        "0 ||| a ||| x= 1 y={} ||| -1",
        "0 ||| a ||| x= 1 s_s= {} ||| -1",
        "0 ||| a ||| x= 1 y=2 ||| {}",
        "0 ||| a ||| x= 1 y=2 ||| {} 3 ||| 0-0",
    ],
)
def test_what_is_no_number_is_refused_with_its_line(tmp_path, line, word):
    bad = line.format(word)
    with pytest.raises(InputError) as alone:
        parse_line(bad)
    with pytest.raises(InputError) as error:
        read(tmp_path, f"{GOOD}\n{GOOD}\n{bad}\n{GOOD}\n".encode())
    assert str(error.value) == str(alone.value).replace("list:1:", f"{tmp_path / 'list'}:3:")


@pytest.mark.parametrize(
    "bad",
    [
        "",
        " ",
        "just text",
        "0 || a",
        " ||| a ||| x= 1",
        "||| a ||| x= 1",
        "0 ||| a ||| = 1",
        "0 ||| a ||| x= 1 =5",
        "0 ||| a ||| x= 1 :",
        "0 ||| a ||| x = 1",
        "0 ||| a ||| x= 1 2 x_1=3",
        "0 ||| a ||| x= 1 ||| \u00a0",
        "0 ||| a ||| \u00a0 ||| 1",
        "0 ||| a ||| x= 1 \u2003 ||| 1",
    ],
)
def test_lines_that_the_reader_of_lines_refuses_are_refused(tmp_path, bad):
    with pytest.raises(InputError):
        parse_line(bad)
    with pytest.raises(InputError, match=r"list:3: "):
        read(tmp_path, f"{GOOD}\n{GOOD}\n{bad}\n{GOOD}\n".encode())


@settings(max_examples=120)
@given(st.text(st.sampled_from(list("0|= \t-+.e:x_{ W\u00a0\r1")), max_size=24))
@example("0||||||||| a=1 |||")
@example("0 ||| ||| ||| 1= 2")
@example("0 ||| a |||||| |||||| d=1 ||| 2")
@example(
    "0 ||| a ||| 0-0 ||| 1-1 ||| 2-2 ||| 3-3 ||| 4-4 ||| 5-5 ||| 6-6 ||| 7-7 ||| 8-8 ||| 9-9 ||| 0-1 ||| d=7"
)
def test_any_line_is_read_the_same_or_refused_by_both(folder, line):
    line = "0 " + line
    try:
        expected = parse_line(line)
    except InputError as error:
        with pytest.raises(InputError, match=re.escape(str(error))):
            read(folder, line.encode())
        return
    lists = read(folder, line.encode())
    assert list(lists.candidates) == [expected]
    assert lists.candidates.text(0) == expected.text
    same_features(all_features(lists, 0), expected.features)


def test_marians_fields_before_the_features_are_passed_over(tmp_path):
    lines = [
        "0 ||| a b ||| 0-0 1-1 ||| WordScores= -1 -2 ||| F0= -3 ||| -0.5",
        "0 ||| a c ||| ||| F0= -4 ||| -0.6",
        "0 ||| a d ||| F0= -5 ||| -0.7",
    ]
    lists = read(tmp_path, "\n".join(lines).encode())
    assert lists.names == ("F0",)
    assert lists.features.ravel().tolist() == [-3, -4, -5]
    assert [raw.alignment for raw in lists.candidates] == ["0-0 1-1", "", None]


def test_thousands_of_labels(tmp_path):
    """The table of labels grows; each label is found again."""
    lines = [
        f"0 ||| t{i} ||| lm= {i} " + " ".join(f"f_{i * 7 + k}= {k}" for k in range(40)) for i in range(200)
    ]
    lists = read(tmp_path, "\n".join(lines).encode())
    assert len(lists.sparse.names) == 199 * 7 + 40
    for i, line in enumerate(lines):
        same_features(all_features(lists, i), parse_line(line).features)
