"""Lines, fields and numbers of lists with ``|||``, found in the bytes of a file by compiled code."""

import numpy as np

from mert.lists.token_table import same_bytes
from rypt.arrays import Bytes, Ids, Ints
from rypt.compiled import compiled

SPACE, TAB, NEWLINE, RETURN, BAR, EQUALS = 32, 9, 10, 13, 124, 61
MINUS, PLUS, POINT, ZERO, NINE, CAPITAL_E, SMALL_E = 45, 43, 46, 48, 57, 69, 101
POWERS = np.array(
    [10.0**n for n in range(23)]
)  # exact, as whole numbers up to 2^53 are: one rounding is right
WORD_SCORES = np.frombuffer(b"WordScores=", np.uint8)


@compiled
def blank(byte: int) -> bool:
    """Whether a byte is a space or a tab."""
    return byte == SPACE or byte == TAB


@compiled
def trim(buffer: Bytes, start: int, stop: int) -> tuple[int, int]:
    """A field without the blanks around it."""
    while start < stop and blank(buffer[start]):
        start += 1
    while stop > start and blank(buffer[stop - 1]):
        stop -= 1
    return start, stop


@compiled
def field_end(buffer: Bytes, place: int, stop: int) -> int:
    """Where the next ``|||`` stands, ``stop`` where there is none."""
    while place + 2 < stop:
        if buffer[place] == BAR and buffer[place + 1] == BAR and buffer[place + 2] == BAR:
            return place
        place += 1
    return stop


@compiled
def line_starts(buffer: Bytes, starts: Ints) -> None:
    """Where each line begins, and one more: where the next would."""
    starts[0] = 0
    line = 1
    for place in range(len(buffer)):
        if buffer[place] == NEWLINE:
            starts[line] = place + 1
            line += 1


@compiled
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


@compiled
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
