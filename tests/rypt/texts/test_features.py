"""Feature fields."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.text import FormatError
from rypt.texts.features import FeatureReader, read_features


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("LM0= -1.5 TM0= -2 -3 oov=1", {"LM0": -1.5, "TM0_0": -2, "TM0_1": -3, "oov": 1}),
        ("lm= -1 lm= -2", {"lm_0": -1, "lm_1": -2}),
        ("d: 0.5 0.25", {"d_0": 0.5, "d_1": 0.25}),
        ("1 2", {"F_0": 1, "F_1": 2}),
        ("7", {"F": 7}),
        ("", {}),
    ],
)
def test_forms(text, features):
    assert read_features(text) == features


@pytest.mark.parametrize("bad", ["nan", "inf", "x", "1e999"])
def test_bad_numbers_are_refused(bad):
    with pytest.raises(FormatError, match="expected a finite number, found"):
        read_features(f"LM0= 1 TM0= 2 {bad}")


@pytest.mark.parametrize("bad", ["1_000", "１", "1\u00a02", "1\x0b", "0x10"])
def test_numbers_that_only_python_reads_are_refused(bad):
    with pytest.raises(FormatError, match="expected a finite number, found"):
        read_features(f"LM0= {bad}")


def test_two_features_of_one_name_are_refused():
    with pytest.raises(FormatError, match="the feature TM_1 is there twice"):
        read_features("TM= 1 2 TM_1= 3")


@pytest.mark.parametrize("bad", ["=1", "= 1", ":", "x= 1 : 2"])
def test_a_feature_has_a_name(bad):
    with pytest.raises(FormatError, match="expected the name of a feature"):
        read_features(bad)


VALUES = st.sampled_from(
    ["1", "-2.5", "1e3", "nan", "inf", "1_0", "x", "", "٣", "1=2", "a=1", "LM=", "TM0=", "d:", "=", "1e308"]
)


@given(st.lists(st.lists(VALUES, max_size=5), max_size=6))
def test_a_reader_that_remembers_labels_reads_what_one_without_memory_reads(lines: list[list[str]]) -> None:
    def outcome(read: Callable[[str], dict[str, float]], text: str) -> object:
        try:
            return list(read(text).items())
        except FormatError as error:
            return str(error)

    reader = FeatureReader()
    for words in lines:
        text = " ".join(words)
        assert outcome(reader.read, text) == outcome(read_features, text)
