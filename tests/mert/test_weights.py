"""Weights files in three forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mert.weights import FORMS, read_weights, write_weights
from rypt.text import InputError

NAMES = ("LM0", "TM0_0", "TM0_1", "Word_Penalty")


@given(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4), st.sampled_from(FORMS))
def test_forms_read_back(tmp_path_factory, values, form):
    path = tmp_path_factory.mktemp("weights") / "w"
    write_weights(path, NAMES, np.array(values), form)
    weights, found = read_weights(path, NAMES)
    assert weights.tolist() == values
    assert found == form


def test_moses_groups_values(tmp_path):
    write_weights(tmp_path / "w", NAMES, np.array([0.5, 0.25, 0.125, -1.0]))
    assert (tmp_path / "w").read_text() == "LM0= 0.5\nTM0= 0.25 0.125\nWord_Penalty= -1.0\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LM0= 1\nTM0= 1 2\nWord_Penalty= 1\nExtra= 1\n", "not in the list: Extra"),
        ("LM0= 1\nTM0= 1 2\n", "missing Word_Penalty"),
        ("LM0= 1\nLM0= 2\n", "w:2: the weight of LM0 is there twice"),
        ("LM0= x\n", "w:1: expected numbers"),
        ("LM0= inf\n", "w:1: expected numbers: 'inf' is not finite"),
        ("LM0 1 2\n", "w:1: expected name value"),
        ("LM0=\n", "w:1: expected Name= value"),
        ('{"LM0": "x"}\n', "expected a JSON object of names and numbers"),
    ],
)
def test_bad_files_are_named(tmp_path, text, message):
    (tmp_path / "w").write_text(text)
    with pytest.raises(InputError, match=message):
        read_weights(tmp_path / "w", NAMES)
