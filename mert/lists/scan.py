"""The compiled reader of n-best lists with ``|||``: fields, labels and numbers straight from the bytes of the files.

`rypt.texts.formats.read_bars` reads the same lines one by one and is the definition of the form; this does whole lists at
once, and hands back the place of a line that it cannot read, for `rypt.texts.formats.read_bars` to say what is wrong.
"""

import numpy as np
from numpy.typing import NDArray

from mert.lists.line_fields import EQUALS, MINUS, NINE, RETURN, ZERO, blank, field_end, read_number, trim
from mert.lists.token_table import HASH_BASE, find_token, same_bytes, token_hash
from rypt.arrays import Bytes, Floats, Ids, Ints
from rypt.compiled import compiled

COLON, UNDERSCORE = 58, 95
UNNAMED = 0  # the label of numbers without one
FIRST, STOP, VALUES, OPTIONAL, SEEN, COUNT, MET, LABEL_FACTS = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
)  # what is known of a label


@compiled
def _before_features(buffer: Bytes, begin: int, end: int, stop: int, word_scores: Bytes) -> bool:
    """Whether a field is Marian's alignment (3-5 …), which may be empty, or its word scores.

    An empty field is one if a field with ``=`` follows that does not begin with a digit.
    """
    start, finish = trim(buffer, begin, end)
    if start == finish and end < stop:
        start, finish = trim(buffer, end + 3, field_end(buffer, end + 3, stop))
        named = False
        for place in range(start, finish):
            named = named or buffer[place] == EQUALS
        return named and not ZERO <= buffer[start] <= NINE
    same = 0
    while same < len(word_scores) and start + same < finish and buffer[start + same] == word_scores[same]:
        same += 1
    dash = start
    while dash < finish and ZERO <= buffer[dash] <= NINE:
        dash += 1
    last = dash + 1
    while last < finish and ZERO <= buffer[last] <= NINE:
        last += 1
    linked = start < dash < last - 1 and buffer[dash] == MINUS and (last == finish or blank(buffer[last]))
    return same == len(word_scores) or linked


@compiled
def find_fields(
    buffer: Bytes, lines: Ints, ids: Ints, texts: Ints, features: Ints, scores: Ints, word_scores: Bytes
) -> int:
    """Where id, text, features and score of each line stand, (lines, 2) each; returns the first line without them.

    If all have them, it is -1. Marian puts alignment and word scores between text and features: those are passed over.
    """
    for line in range(len(lines) - 1):
        place, stop = lines[line], lines[line + 1] - 1
        while stop > place and buffer[stop - 1] == RETURN:
            stop -= 1
        end = field_end(buffer, place, stop)
        ids[line, 0], ids[line, 1] = trim(buffer, place, end)
        if end == stop or ids[line, 0] == ids[line, 1]:
            return line
        begin = end + 3
        end = field_end(buffer, begin, stop)
        texts[line, 0], texts[line, 1] = trim(buffer, begin, end)
        passed = True
        while passed and end < stop:
            begin = end + 3
            end = field_end(buffer, begin, stop)
            passed = _before_features(buffer, begin, end, stop, word_scores)
        if passed:
            begin = stop
        features[line, 0], features[line, 1] = trim(buffer, begin, end)
        begin = min(end + 3, stop)
        start, finish = trim(buffer, begin, field_end(buffer, begin, stop))
        scores[line, 0] = start
        while start < finish and not blank(buffer[start]):
            start += 1
        scores[line, 1] = start
    return -1


@compiled
def _word(buffer: Bytes, place: int, stop: int) -> tuple[int, int, int]:
    """The next word, and where a value begins in it: after its last ``=``, at its end for a label."""
    while place < stop and blank(buffer[place]):
        place += 1
    end, value = place, place
    while end < stop and not blank(buffer[end]):
        if buffer[end] == EQUALS:
            value = end + 1
        end += 1
    if value == place and end > place and buffer[end - 1] == COLON:
        value = end
    return place, end, value


@compiled
def _find_label(buffer: Bytes, start: int, stop: int, labels: Ints, slots: Ids) -> tuple[int, int]:
    """The number of a label, or -1, and the slot where it is or belongs."""
    label, slot = find_token(slots, buffer, labels[:, FIRST], labels[:, STOP], buffer, start, stop)
    return int(label), int(slot)


@compiled
def _place_labels(buffer: Bytes, labels: Ints, known: int, slots: Ids) -> None:
    for label in range(1, known):
        _, slot = _find_label(buffer, labels[label, FIRST], labels[label, STOP], labels, slots)
        slots[slot] = label


def find_labels(buffer: Bytes, features: Ints) -> tuple[Ints, int, Ids, int, int]:
    """All labels of the feature fields: what is known of each, how many there are, and the slots to find them.

    A row of ``labels`` has where it first stands (FIRST to STOP), how many VALUES it has, whether it is OPTIONAL in a
    line (1 for a label glued to its value, or with ``_``), and for the line it was last SEEN in the COUNT of its
    values; in MET stand, one below the other, the labels of a line. Returns also the first line in which a label has
    another number of values than before, or where one that all lines must have is missing, and that label; else -1, -1.
    """
    size, line, known, required = 256, 0, 1, 0
    labels = np.empty((0, LABEL_FACTS), np.int64)
    while True:
        room = np.zeros((size, LABEL_FACTS), np.int64)
        room[:, [VALUES, SEEN]] = -1
        room[: len(labels)] = labels
        room[room[:, SEEN] == line, SEEN] = -1  # the line is read again
        labels, slots = room, np.full(4 * size, -1, np.int32)
        if known > 1:
            _place_labels(buffer, labels, known, slots)
        line, known, required, bad = read_labels(buffer, features, labels, slots, line, known, required)
        if line < 0:
            return labels, known, slots, -1, -1
        if bad >= 0:
            return labels, known, slots, line, bad
        size *= 2


@compiled
def read_labels(
    buffer: Bytes, features: Ints, labels: Ints, slots: Ids, line: int, known: int, required: int
) -> tuple[int, int, int, int]:
    """Go on with `find_labels` from a line on, ``known`` labels being there, ``required`` of them in every line.

    Returns the line that is wrong, the numbers of labels and of those required, and the label that is wrong. It is -1
    where there is no room for more labels than those known; then the line is to be read again. The line is -1 after
    the last.
    """
    while line < len(features):
        place, stop = features[line, 0], features[line, 1]
        label, meetings, required_here = UNNAMED, 0, 0
        while True:
            begin, end, value = _word(buffer, place, stop)
            if begin == end:
                break
            place = end
            if value > begin:
                label, slot = _find_label(buffer, begin, value - 1, labels, slots)
                if label < 0:
                    if known == len(labels):
                        return line, known, required, -1
                    label = known
                    known += 1
                    slots[slot] = label
                    labels[label, FIRST], labels[label, STOP] = begin, value - 1
                    optional = value < end
                    for i in range(begin, value - 1):
                        optional = optional or buffer[i] == UNDERSCORE
                    labels[label, OPTIONAL] = optional
            if labels[label, SEEN] != line:
                labels[label, SEEN], labels[label, COUNT] = line, 0
                labels[meetings, MET] = label
                meetings += 1
            if value < end:
                labels[label, COUNT] += 1
        for i in range(meetings):
            label = labels[i, MET]
            if labels[label, VALUES] < 0 and (labels[label, OPTIONAL] == 1 or line == 0):
                labels[label, VALUES] = labels[label, COUNT]
                required += 1 - labels[label, OPTIONAL]
            if labels[label, VALUES] != labels[label, COUNT]:
                return line, known, required, label
            required_here += 1 - labels[label, OPTIONAL]
        if required_here != required:
            for label in range(known):
                if (
                    labels[label, OPTIONAL] == 0
                    and labels[label, VALUES] >= 0
                    and labels[label, SEEN] != line
                ):
                    return line, known, required, label
        line += 1
    return -1, known, required, -1


@compiled
def fill_features(
    buffer: Bytes,
    features: Ints,
    scores: Ints,
    labels: Ints,
    slots: Ids,
    firsts: Ints,
    columns: Floats,
    rows: Ints,
    sparse_columns: Ids,
    sparse_values: Floats,
    hard: Ints,
    counts: Ints,
) -> tuple[int, int]:
    """Read all numbers, into ``columns`` (features, lines) or as sparse triples; those of scores are only looked at.

    ``firsts`` is where the columns of each label begin; one below 0 is a sparse column, -1 - its number. Numbers that
    take more care are left in ``hard`` (line, column, start, stop), scores with the column after the last. Returns the
    first line with a word that is not a number or with an empty label, or -1, and how many numbers are hard; the
    number of sparse values before each line is in ``rows``. ``counts`` (labels, 2) is room for the line that a label
    was last seen in, -1 at first, and its values there.
    """
    sparse, hards = 0, 0
    for line in range(len(features)):
        place, stop = features[line, 0], features[line, 1]
        label = UNNAMED
        rows[line] = sparse
        in_features = True
        while in_features:
            begin, end, value = _word(buffer, place, stop)
            place = end
            if value > begin:
                if value == begin + 1:
                    return line, hards
                label, _ = _find_label(buffer, begin, value - 1, labels, slots)
                if value == end:
                    continue
            in_features = begin < end
            if not in_features:
                value, end = scores[line, 0], scores[line, 1]
                if value == end:
                    break
            number, state = read_number(buffer, value, end)
            if state == 2:
                return line, hards
            target = len(columns)
            if in_features:
                if counts[label, 0] != line:
                    counts[label, 0], counts[label, 1] = line, 0
                first = firsts[label]
                if first >= 0:
                    target = first + counts[label, 1]
                    columns[target, line] = number
                else:
                    sparse_columns[sparse], sparse_values[sparse] = -1 - first + counts[label, 1], number
                    target = -1 - sparse
                    sparse += 1
                counts[label, 1] += 1
            if state == 1:
                if hards < len(hard):
                    hard[hards, 0], hard[hards, 1], hard[hards, 2], hard[hards, 3] = line, target, value, end
                hards += 1
    rows[len(features)] = sparse
    return -1, hards


@compiled
def first_equals(buffer: Bytes, segments: Ids, texts: Ints, equals: Ints) -> None:
    """For each line the first one of the same segment with the same text."""
    size = 16
    while size < 2 * len(texts):
        size *= 2
    slots = np.full(size, -1, np.int64)
    for line in range(len(texts)):
        hashed = token_hash(buffer, texts[line, 0], texts[line, 1]) + np.uint64(segments[line]) * HASH_BASE
        slot = np.int64(hashed & np.uint64(size - 1))
        while slots[slot] >= 0:
            other = slots[slot]
            if segments[other] == segments[line] and same_bytes(
                buffer, texts[other, 0], texts[other, 1], buffer, texts[line, 0], texts[line, 1]
            ):
                break
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = line
        equals[line] = slots[slot]


@compiled
def distinct_lines(
    equals: Ints,
    columns: Floats,
    rows: Ints,
    sparse_columns: Ids,
    sparse_values: Floats,
    keep: NDArray[np.bool_],
) -> int:
    """Mark the lines that differ from all earlier ones of their segment in text or features; returns how many."""
    previous = np.full(len(equals), -1, np.int64)  # the chain of kept lines with one text
    latest = np.full(len(equals), -1, np.int64)
    kept = 0
    for line in range(len(equals)):
        other = latest[equals[line]]
        while other >= 0:
            same = rows[line + 1] - rows[line] == rows[other + 1] - rows[other]
            for column in range(len(columns)):
                same = same and columns[column, line] == columns[column, other]
            if same:
                for i in range(rows[line + 1] - rows[line]):
                    a, b = rows[line] + i, rows[other] + i
                    same = (
                        same
                        and sparse_columns[a] == sparse_columns[b]
                        and sparse_values[a] == sparse_values[b]
                    )
            if same:
                break
            other = previous[other]
        keep[line] = other < 0
        if other < 0:
            previous[line], latest[equals[line]] = latest[equals[line]], line
            kept += 1
    return kept
