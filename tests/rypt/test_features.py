"""Feature fields, read one by one and after one another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.features import FeatureReader
from rypt.text import FormatError

NUMBERS = st.floats(-1e6, 1e6).map(lambda x: f"{x:.4g}")
LABELS = st.sampled_from(["LM0=", "TM0=", "d:", "lm_1="])


@st.composite
def fields(draw):
    """Groups of a label and its values, sometimes written as one word, or numbers alone."""
    if draw(st.booleans()):
        return " ".join(draw(st.lists(NUMBERS, max_size=4)))
    parts = []
    for label in draw(st.lists(LABELS, max_size=3)):
        values = draw(st.lists(NUMBERS, max_size=3))
        together = draw(st.booleans()) and values and label.endswith("=")
        parts.append(label + values[0] if together else " ".join([label, *values]))
    return " ".join(parts)


@given(st.lists(fields(), max_size=6))
def test_what_a_reader_remembers_never_changes_what_it_reads(texts):
    reader = FeatureReader()
    for text in [*texts, *texts]:
        assert reader(text) == FeatureReader()(text)


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
    assert FeatureReader()(text) == features


@pytest.mark.parametrize("bad", ["nan", "inf", "x", "1e999"])
def test_bad_numbers_are_refused_also_when_the_layout_is_known(bad):
    reader = FeatureReader()
    reader("LM0= 1 TM0= 2 3")
    with pytest.raises(FormatError, match="expected a finite number, found"):
        reader(f"LM0= 1 TM0= 2 {bad}")
