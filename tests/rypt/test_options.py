"""Choices by name, and ways to hold out judgments that are refused."""

import pytest

from rypt.options import TIES, Options, check_held_out, check_option
from rypt.text import RyptError


@pytest.mark.parametrize("way", ["judgment", "label", "key", "candidate"])
def test_single_judgments_are_not_held_out(way):
    with pytest.raises(
        RyptError, match=f"holding out a single {way} is biased .* hold out a system or worker"
    ):
        check_held_out(way, ("system", "worker"))


def test_other_words_are_refused():
    with pytest.raises(RyptError, match="expected to hold out a system or rater, found 'talk'"):
        check_held_out("talk", ("system", "rater"))
    with pytest.raises(RyptError, match="expected ties as one of unknown, no, yes, found ''"):
        check_option("ties", "", TIES)


def test_what_is_allowed_passes():
    check_held_out("rater", ("system", "rater"))
    check_option("ties", "no", TIES)


def test_options_are_checked():
    options = Options("m", {"x": "nan", "y": "2", "z": "b", "i": "1.5", "p": "0", "w": "7"}, kind="model")
    for name, expected, read in (
        ("x", "a number of at least 0", lambda: options.number("x", 1.0, least=0)),
        ("y", "a number of at most 1", lambda: options.number("y", 1.0, most=1)),
        ("y", "a number from 0 to 1", lambda: options.number("y", 1.0, least=0, most=1)),
        ("z", "one of a, c", lambda: options.choice("z", "a", ("a", "c"))),
        ("i", "a whole number of at least 0", lambda: options.whole("i", 3)),
        ("w", "a whole number from 1 to 5", lambda: options.whole("w", 3, least=1, most=5)),
        ("p", "a number above 0", lambda: options.positive("p", 1.0)),
    ):
        with pytest.raises(
            RyptError, match=f"the model m: expected {name} as {expected}, found '{options.given[name]}'"
        ):
            read()
    options.done()
    assert (Options("m", {}).whole("i", 3), Options("m", {"i": "4"}).whole("i", 3)) == (3, 4)
    with pytest.raises(RyptError, match="the model m has no option 'i', it has none"):
        Options("m", {"i": "4"}, kind="model").done()
