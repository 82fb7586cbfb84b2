"""Many texts or links as one buffer of bytes, a line each: the form in which the compiled loops read them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rypt.arrays import Bytes, Ints
from rypt.compiled import DASH, NINE, SPACE, TAB, ZERO, compiled_if_large
from rypt.records import Candidate
from rypt.text import FormatError
from rypt.texts.phrases import joined_keys

BAD_LINK, BAD_SOURCE, BAD_TARGET = 1, 2, 3
_ONE = np.uint64(1)


class Lines(NamedTuple):
    """Texts and links of candidates, a line each."""

    text: Bytes
    text_lines: Ints
    links: Bytes
    link_lines: Ints


def candidate_lines(candidates: Sequence[Candidate], case: str) -> Lines:
    """Texts, as keys of this case hold them, and links, each on a line of its own."""
    text = joined_keys((c.text for c in candidates), case)
    links = "\n".join([c.alignment or "" for c in candidates]).encode()
    return Lines(*line_buffer(text, len(candidates)), *line_buffer(links, len(candidates)))


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
