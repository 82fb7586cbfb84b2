"""Lines, fields and numbers of lists with ``|||``, found in the bytes of a file by compiled code.

`rypt.texts.columns` reads the candidates of whole lists with it, `mert.lists.scan` their features.
"""

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Bytes, Ids, Ints
from rypt.compiled import compiled_if_large, inlined, same_bytes
from rypt.texts.buffers import read_links

SPACE, TAB, NEWLINE, RETURN, BAR, EQUALS = 32, 9, 10, 13, 124, 61
MINUS, PLUS, POINT, ZERO, NINE, CAPITAL_E, SMALL_E = 45, 43, 46, 48, 57, 69, 101
POWERS = np.array(
    [10.0**n for n in range(23)]
)  # exact, as whole numbers up to 2^53 are: one rounding is right
LONG_NUMBER = 40  # bytes; one that is no longer and has a small exponent is finite
_BRACE, _PARENTHESIS, _DELETE, _TWO_BYTES, _A, _Z, _SMALL = 123, 40, 127, 0xC2, 65, 90, 32
WORD_SCORES = np.frombuffer(b"WordScores=", np.uint8)


@inlined
def blank(byte: int) -> bool:
    """Whether a byte is a space or a tab."""
    return byte == SPACE or byte == TAB


@compiled_if_large
def trim(buffer: Bytes, start: int, stop: int) -> tuple[int, int]:
    """A field without the blanks around it."""
    while start < stop and blank(buffer[start]):
        start += 1
    while stop > start and blank(buffer[stop - 1]):
        stop -= 1
    return start, stop


@compiled_if_large
def is_links(buffer: Bytes, start: int, stop: int) -> bool:
    """Whether a field begins with an alignment link, 3-5."""
    place, dashes, digits = start, 0, 0
    while place < stop and not blank(buffer[place]):
        byte = buffer[place]
        if byte == MINUS and digits > 0 and dashes == 0:
            dashes, digits = 1, 0
        elif ZERO <= byte <= NINE:
            digits += 1
        else:
            return False
        place += 1
    return dashes == 1 and digits > 0


@compiled_if_large
def begins(buffer: Bytes, start: int, stop: int, with_bytes: Bytes) -> bool:
    """Whether a field begins with these bytes."""
    if stop - start < len(with_bytes):
        return False
    for i in range(len(with_bytes)):
        if buffer[start + i] != with_bytes[i]:
            return False
    return True


@compiled_if_large
def holds(buffer: Bytes, start: int, stop: int, byte: int) -> bool:
    """Whether a field has this byte."""
    for place in range(start, stop):
        if buffer[place] == byte:
            return True
    return False


@compiled_if_large
def field_end(buffer: Bytes, place: int, stop: int) -> int:
    """Where the next ``|||`` stands, ``stop`` where there is none."""
    while place + 2 < stop:
        if buffer[place] == BAR and buffer[place + 1] == BAR and buffer[place + 2] == BAR:
            return place
        place += 1
    return stop


@compiled_if_large
def line_starts(buffer: Bytes, starts: Ints) -> None:
    """Where each line begins, and one more: where the next would."""
    starts[0] = 0
    line = 1
    for place in range(len(buffer)):
        if buffer[place] == NEWLINE:
            starts[line] = place + 1
            line += 1


@compiled_if_large
def group_lines(buffer: Bytes, ids: Ints, groups: Ids) -> int:
    """Number the runs of lines with the same id; returns how many there are."""
    count = 0
    for line in range(len(ids)):
        if line == 0 or not same_bytes(
            buffer, ids[line - 1, 0], ids[line - 1, 1], buffer, ids[line, 0], ids[line, 1]
        ):
            count += 1
        groups[line] = count - 1
    return count


@inlined
def read_number(buffer: Bytes, start: int, stop: int) -> tuple[float, int]:
    """A decimal number and 0; 1 where it takes more care to round it rightly, 2 where it is not a number."""
    place = start
    negative = place < stop and buffer[place] == MINUS
    if place < stop and (buffer[place] == MINUS or buffer[place] == PLUS):
        place += 1
    whole, digits, after, exponent, state = 0, 0, 0, 0, 0
    seen_point = False
    while place < stop:
        byte = buffer[place]
        if ZERO <= byte <= NINE:
            if whole < 900719925474099:
                whole = whole * 10 + (int(byte) - ZERO)
                after += 1 if seen_point else 0
            elif byte != ZERO or not seen_point:
                state = 1
            digits += 1
        elif byte == POINT and not seen_point:
            seen_point = True
        else:
            break
        place += 1
    if place < stop and digits > 0 and (buffer[place] == SMALL_E or buffer[place] == CAPITAL_E):
        place += 1
        below = place < stop and buffer[place] == MINUS
        if place < stop and (buffer[place] == MINUS or buffer[place] == PLUS):
            place += 1
        powers = 0
        while place < stop and ZERO <= buffer[place] <= NINE:
            exponent = min(exponent * 10 + (int(buffer[place]) - ZERO), 9999)
            powers += 1
            place += 1
        if powers == 0:
            state = 2
        if exponent == 9999 and state == 0:
            state = 1
        exponent = -exponent if below else exponent
    if place < stop or digits == 0:
        state = 2
    exponent -= after
    if state == 0 and not -22 <= exponent <= 22:
        state = 0 if whole == 0 else 1
        exponent = 0
    value = 0.0
    if state == 0:
        value = whole / POWERS[-exponent] if exponent < 0 else whole * POWERS[exponent]
    return -value if negative else value, state


@inlined
def _is_letter(byte: int) -> bool:
    return _A <= byte <= _Z or _A + _SMALL <= byte <= _Z + _SMALL


@compiled_if_large
def _may_be_blank(buffer: Bytes, at: int, stop: int) -> bool:
    """Whether a text may begin with a character that Python takes for a blank, before a derivation, say."""
    byte = buffer[at]
    if byte <= SPACE or byte == _DELETE:
        return True
    after = buffer[at + 1] if at + 1 < stop else 0
    if byte == _TWO_BYTES:
        return after == 0x85 or after == 0xA0
    last = buffer[at + 2] if at + 2 < stop else 0
    if byte == 0xE1:
        return after == 0x9A and last == 0x80
    if byte == 0xE2:
        return after == 0x80 or after == 0x81
    return byte == 0xE3 and after == 0x80 and last == 0x80


@compiled_if_large
def _is_pairs(buffer: Bytes, place: int, stop: int) -> bool:
    """Whether a field begins with a phrase pair, 1-2=3."""
    sides, digits, dashes = 0, 0, 0
    while place < stop and buffer[place] != SPACE:
        byte = buffer[place]
        if ZERO <= byte <= NINE:
            digits += 1
        elif byte == MINUS and digits > 0 and dashes == 0:
            dashes, digits = 1, 0
        elif byte == EQUALS and digits > 0 and sides == 0:
            sides, digits, dashes = 1, 0, 0
        else:
            return False
        place += 1
    return sides == 1 and digits > 0


@compiled_if_large
def _is_finite(buffer: Bytes, place: int, stop: int) -> bool:
    """Whether a field is a number, and surely a finite one: not too long, with an exponent of two digits at most."""
    if stop - place > LONG_NUMBER:
        return False
    digits, points, exponent = 0, 0, 0
    if buffer[place] == MINUS or buffer[place] == PLUS:
        place += 1
    while place < stop and (ZERO <= buffer[place] <= NINE or (buffer[place] == POINT and points == 0)):
        points += 1 if buffer[place] == POINT else 0
        digits += 1
        place += 1
    if digits == points:
        return False
    if place < stop and (buffer[place] == SMALL_E or buffer[place] == CAPITAL_E):
        place += 1
        if place < stop and (buffer[place] == MINUS or buffer[place] == PLUS):
            place += 1
        while place < stop and ZERO <= buffer[place] <= NINE:
            exponent += 1
            place += 1
        if exponent == 0 or exponent > 2:
            return False
    return place == stop


@compiled_if_large
def _split(buffer: Bytes, place: int, stop: int, fields: Ints) -> int:
    """How many fields a line has, and where the first ones stand, without the blanks around them."""
    count = 0
    while True:
        end = field_end(buffer, place, stop)
        if count < len(fields):
            fields[count, 0], fields[count, 1] = trim(buffer, place, end)
        count += 1
        if end == stop:
            return count
        place = end + 3


@compiled_if_large
def _is_plain(buffer: Bytes, fields: Ints, count: int, wants_links: bool, word_scores: Bytes) -> bool:
    """Whether a line of so many fields is as Moses writes most."""
    if count < 4 or count > 6 or (count == 4 and wants_links) or fields[0, 0] == fields[0, 1]:
        return False
    start, stop = fields[1, 0], fields[1, 1]
    if start == stop or buffer[start] == _PARENTHESIS or _may_be_blank(buffer, start, stop):
        return False
    if holds(buffer, start, stop, BAR):
        return False
    start, stop = fields[2, 0], fields[2, 1]
    if start == stop or not _is_letter(buffer[start]) or begins(buffer, start, stop, word_scores):
        return False
    if fields[3, 0] < fields[3, 1] and not _is_finite(buffer, fields[3, 0], fields[3, 1]):
        return False
    if count == 4:
        return True
    if count == 6 and not _is_pairs(buffer, fields[4, 0], fields[4, 1]):
        return False
    start, stop = fields[count - 1, 0], fields[count - 1, 1]
    if not is_links(buffer, start, stop):
        return False
    while start < stop and not blank(buffer[start]):
        start += 1
    return bool(start == stop or buffer[start] == SPACE)


@compiled_if_large
def find_candidates(
    buffer: Bytes,
    starts: Ints,
    first: int,
    stop: int,
    wants_links: bool,
    word_scores: Bytes,
    ids: Ints,
    texts: Ints,
    links: Ints,
    plain: NDArray[np.bool_],
) -> None:
    """Where id, text and links of the lines from ``first`` up to ``stop`` stand, (lines, 2) each.

    Lines that are not ``plain`` have an id at most; which are is defined by
    `rypt.texts.dialects.bars.plain_candidate`, that some others are taken for odd is no mistake.
    """
    fields = np.zeros((6, 2), np.int64)
    for line in range(first, stop):
        place, end = starts[line], starts[line + 1] - 1
        while end > place and buffer[end - 1] == RETURN:
            end -= 1
        count = _split(buffer, place, end, fields)
        ids[line, 0], ids[line, 1] = fields[0, 0], fields[0, 1]
        plain[line] = (
            _is_plain(buffer, fields, count, wants_links, word_scores)
            and buffer[place] != _BRACE
            and buffer[place + 1] != MINUS
        )
        if plain[line]:
            texts[line, 0], texts[line, 1] = fields[1, 0], fields[1, 1]
            links[line, 0], links[line, 1] = fields[count - 1, 0], fields[count - 1, 1]


@compiled_if_large
def links_fit(buffer: Bytes, texts: Ints, links: Ints, source_sizes: Ids) -> bool:
    """Whether all links are well formed and in range."""
    widest, longest = 0, 0
    for line in range(len(texts)):
        widest = max(widest, int(source_sizes[line]))
        longest = max(longest, texts[line, 1] - texts[line, 0])
    width = (longest >> 7) + 1
    bits = np.zeros((widest + 1) * width, np.uint64)
    for line in range(len(texts)):
        words, inside = 0, False
        for i in range(texts[line, 0], texts[line, 1]):
            if blank(buffer[i]):
                inside = False
            elif not inside:
                inside = True
                words += 1
        if read_links(buffer, links[line, 0], links[line, 1], width, (source_sizes[line], words), bits):
            return False
    return True
