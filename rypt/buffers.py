"""Many texts or links as one buffer of bytes, a line each: the form in which the compiled loops read them."""

import numpy as np

from rypt import kernel
from rypt.kernel import Bytes, Ints
from rypt.records import Candidate
from rypt.text import FormatError


def line_buffer(data: bytes, count: int) -> tuple[Bytes, Ints]:
    """Text as bytes, and the offset of each of its ``count`` lines (and of one more after the last)."""
    buffer = np.frombuffer(data + b"\n", np.uint8)
    ends = np.flatnonzero(buffer == 10)
    if count == 0:
        return buffer, np.zeros(1, np.int64)
    if len(ends) != count:
        raise FormatError("a candidate or a phrase contains a line break")
    return buffer, np.concatenate([[0], ends + 1]).astype(np.int64)


def link_message(candidate: Candidate, wrong: int, source_size: int) -> str:
    """What is wrong with the links of a candidate."""
    size = len(candidate.tokens)
    what = {
        kernel.BAD_LINK: "expected alignment links like 3-5",
        kernel.BAD_SOURCE: f"a link is out of range: the source has {source_size} tokens, from 0",
        kernel.BAD_TARGET: f"a link is out of range: the candidate has {size} tokens, from 0",
    }[wrong]
    given = f"the alignment is {candidate.alignment!r}, the candidate {candidate.text!r}"
    return f"segment {candidate.segment}: {what}; {given}"
