"""Many texts or links as one buffer of bytes, a line each: the form in which the compiled loops read them."""

from typing import Any

import numpy as np

from rypt.arrays import Bytes, Ids, Ints
from rypt.compiled import DASH, NINE, SPACE, TAB, ZERO, compiled_if_large
from rypt.records import Candidate
from rypt.text import FormatError

BAD_LINK, BAD_SOURCE, BAD_TARGET = 1, 2, 3
_ONE = np.uint64(1)


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
        BAD_LINK: "expected alignment links like 3-5",
        BAD_SOURCE: f"a link is out of range: the source has {source_size} tokens, from 0",
        BAD_TARGET: f"a link is out of range: the candidate has {size} tokens, from 0",
    }[wrong]
    given = f"the alignment is {candidate.alignment!r}, the candidate {candidate.text!r}"
    return f"segment {candidate.segment}: {what}; {given}"


@compiled_if_large
def read_links(buffer: Bytes, start: int, stop: int, words: int, sizes: tuple[int, int], bits: Any) -> int:
    """Set, for each source token, the bits of the candidate tokens linked with it; 0 or what is wrong."""
    i = start
    while i < stop:
        if buffer[i] == SPACE or buffer[i] == TAB:
            i += 1
            continue
        source, target = 0, 0
        digits = 0
        while i < stop and ZERO <= buffer[i] <= NINE and digits < 9:
            source = source * 10 + int(buffer[i]) - ZERO
            digits += 1
            i += 1
        if digits == 0 or i >= stop or buffer[i] != DASH:
            return BAD_LINK
        i += 1
        digits = 0
        while i < stop and ZERO <= buffer[i] <= NINE and digits < 9:
            target = target * 10 + int(buffer[i]) - ZERO
            digits += 1
            i += 1
        if digits == 0 or (i < stop and buffer[i] != SPACE and buffer[i] != TAB):
            return BAD_LINK
        if source >= sizes[0]:
            return BAD_SOURCE
        if target >= sizes[1]:
            return BAD_TARGET
        bits[source * words + (target >> 6)] |= _ONE << np.uint64(target & 63)
    return 0


@compiled_if_large
def first_bad_links(links: Bytes, lines: Ints, source_sizes: Ids, target_sizes: Ids) -> tuple[int, int]:
    """The first line of links that is malformed or out of range and what is wrong with it, or (-1, 0)."""
    longest, widest = 0, 0
    for line in range(len(lines) - 1):
        longest, widest = max(longest, int(target_sizes[line])), max(widest, int(source_sizes[line]))
    width = (longest >> 6) + 1
    bits = np.zeros((widest + 1) * width, np.uint64)
    for line in range(len(lines) - 1):
        sizes = (source_sizes[line], target_sizes[line])
        wrong = read_links(links, lines[line], lines[line + 1] - 1, width, sizes, bits)
        if wrong:
            return line, wrong
    return -1, 0
