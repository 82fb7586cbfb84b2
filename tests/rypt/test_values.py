"""Labels, spans, signatures, strict JSON and TOML, and options that are read by name."""

import re

import pytest

from rypt.options import TIES, Options, check_held_out, check_option
from rypt.records import Label, Span
from rypt.signature import rypt_version, signature, signature_name
from rypt.strict import SyntaxFormatError, parse_json, parse_toml
from rypt.text import FormatError, RyptError


def test_labels_and_spans():
    written = {"YES": "YES", "yes": "YES", " No ": "NO", "NOTSURE": "NOT_SURE", "not sure": "NOT_SURE"}
    for text, label in {**written, "BLANK": "NOT_SURE"}.items():
        assert Label.parse(text) == label
    for text in ("maybe", "J", "1", "YES NO", ""):
        with pytest.raises(FormatError, match="expected a label YES, NO or NOT_SURE"):
            Label.parse(text)
    assert Span.inclusive(3, 6) == Span(3, 7)
    assert sorted([Span(1, 3), Span(0, 5), Span(0, 2)]) == [Span(0, 2), Span(0, 5), Span(1, 3)]


def test_signatures():
    assert (
        signature("koehn", systems=4, variance=10.0, level=0.05) == "koehn|systems:4|variance:10|level:0.05"
    )
    first = signature("RYPT", case="lower")
    assert signature(first, "unknown:half", "", n=3, ranges=None) == "RYPT|case:lower|unknown:half|n:3"
    assert signature_name(first) == "RYPT"
    assert rypt_version()[0].isdecimal()


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (parse_json, '{"a": {"b": 1, "b": 1}}', "'b' stands twice"),
        (parse_json, "[" * 100_000, "too deeply nested"),
        (parse_json, "{", "Expecting property name"),
        (parse_toml, "x = " + "[" * 100_000, "too deeply nested"),
        (parse_toml, "x = 1\nx = 2", "overwrite"),
    ],
)
def test_json_and_toml_that_the_standard_library_accepts_or_breaks_over(parse, text, message):
    with pytest.raises(SyntaxFormatError, match=message):
        parse(text)
    assert parse_json('{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}
    assert parse_toml("a = 1.5", parse_float=str) == {"a": "1.5"}


def test_choices_that_do_not_exist_or_would_be_biased():
    check_held_out("rater", ("system", "rater"))
    check_option("ties", "no", TIES)
    for way, message in (
        ("judgment", "single judgment is biased"),
        ("talk", "a system or rater, found 'talk'"),
    ):
        with pytest.raises(RyptError, match=message):
            check_held_out(way, ("system", "rater"))
    with pytest.raises(RyptError, match="expected ties as one of unknown, no, yes, found ''"):
        check_option("ties", "", TIES)


def test_options():
    options = Options("m", {"a": "x", "b": "NO", "c": "7", "d": "-0.5"})
    assert (options.choice("a", "y", ("x", "y")), options.choice("e", None, ("x", "y"))) == ("x", None)
    assert (options.flag("b", True), options.flag("f", True)) == (False, True)
    assert (options.whole("c", 1, least=7), options.whole("g", 1)) == (7, 1)
    assert (options.number("d", None), options.positive("j", 2.0)) == (-0.5, 2)
    options.done()
    wrong = Options("m", {"x": "nan", "y": "2", "z": "b", "i": "1.5", "p": "0"}, kind="model")
    for name, expected, read in (
        ("x", "a number of at least 0", lambda: wrong.number("x", 1.0, least=0)),
        ("y", "a number from 0 to 1", lambda: wrong.number("y", 1.0, least=0, most=1)),
        ("z", "one of a, c", lambda: wrong.choice("z", "a", ("a", "c"))),
        ("i", "a whole number of at least 0", lambda: wrong.whole("i", 3)),
        ("p", "a number above 0", lambda: wrong.positive("p", 1.0)),
        ("z", "true or false", lambda: wrong.flag("z", True)),
    ):
        message = f"the model m: expected {name} as {expected}, found '{wrong.given[name]}'"
        with pytest.raises(RyptError, match=re.escape(message)):
            read()
    with pytest.raises(RyptError, match="the model m has no option 'i', it has none"):
        Options("m", {"i": "4"}, kind="model").done()
