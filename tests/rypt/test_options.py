"""Choices by name, and options of metrics and models, read strictly."""

import re

import pytest

from rypt.options import TIES, Options, check_held_out, check_option
from rypt.text import RyptError


def test_choices_that_do_not_exist_or_would_be_biased():
    check_held_out("rater", ("system", "rater"))
    check_option("ties", "no", TIES)
    with pytest.raises(
        RyptError, match=r"holding out a single judgment is biased .* hold out a system or rater"
    ):
        check_held_out("judgment", ("system", "rater"))
    with pytest.raises(RyptError, match="expected to hold out a system or rater, found 'talk'"):
        check_held_out("talk", ("system", "rater"))
    with pytest.raises(RyptError, match="expected ties as one of unknown, no, yes, found ''"):
        check_option("ties", "", TIES)


def test_options():
    options = Options("m", {"a": "x", "b": "NO", "c": "7", "d": "-0.5"})
    assert (options.choice("a", "y", ("x", "y")), options.choice("e", None, ("x", "y"))) == ("x", None)
    assert (options.flag("b", True), options.flag("f", True)) == (False, True)
    assert (options.whole("c", 1, least=7), options.whole("g", 1)) == (7, 1)
    assert (options.number("d", None), options.number("h", None)) == (-0.5, None)
    assert options.positive("j", 2.0) == 2.0
    options.done()


def test_options_are_read_strictly():
    options = Options("m", {"x": "nan", "y": "2", "z": "b", "i": "1.5", "p": "0"}, kind="model")
    for name, expected, read in (
        ("x", "a number of at least 0", lambda: options.number("x", 1.0, least=0)),
        ("y", "a number from 0 to 1", lambda: options.number("y", 1.0, least=0, most=1)),
        ("z", "one of a, c", lambda: options.choice("z", "a", ("a", "c"))),
        ("i", "a whole number of at least 0", lambda: options.whole("i", 3)),
        ("y", "a whole number from 3 to 5", lambda: options.whole("y", 3, least=3, most=5)),
        ("p", "a number above 0", lambda: options.positive("p", 1.0)),
        ("z", "true or false", lambda: options.flag("z", True)),
    ):
        message = f"the model m: expected {name} as {expected}, found '{options.given[name]}'"
        with pytest.raises(RyptError, match=re.escape(message)):
            read()
    with pytest.raises(RyptError, match="the model m has no option 'i', it has none"):
        Options("m", {"i": "4"}, kind="model").done()
