"""The pieces of the compiled scorer that no other test reaches."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.scoring import kernel
from rypt.scoring.buffers import line_buffer
from rypt.text import FormatError


@given(st.sets(st.integers(0, 200)))
def test_runs_of_a_bit_set(positions):
    bits = np.zeros(4, np.uint64)
    for position in positions:
        bits[position >> 6] |= np.uint64(1) << np.uint64(position & 63)
    starts, stops = np.zeros(256, np.int64), np.zeros(256, np.int64)
    count = kernel.find_runs(bits, 0, 4, starts, stops)
    runs = list(zip(starts[:count], stops[:count], strict=True))
    assert {p for start, stop in runs for p in range(start, stop)} == positions
    assert all(a < b for (_, a), (b, _) in pairwise(runs))  # never two that touch


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), max_size=5))
def test_lines_of_a_buffer(texts):
    buffer, lines = line_buffer("\n".join(texts).encode(), len(texts))
    assert [bytes(buffer[lines[i] : lines[i + 1] - 1]).decode() for i in range(len(texts))] == texts


def test_a_line_break_inside_a_text_is_refused():
    with pytest.raises(FormatError, match="line break"):
        line_buffer(b"a\nb", 1)
