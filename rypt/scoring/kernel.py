"""The compiled inner loops: phrases of constituents, and the look-up of their votes, for many candidates at once.

Texts come as one UTF-8 buffer, a line each. Tokens of judged phrases are interned as integers, so phrases compare as
integers; hashes only find the place, equality is always checked, so no collision can give a wrong label.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Bytes, Ids, Ints
from rypt.compiled import HASH_BASE, SPACE, TAB, compiled_if_large, compiled_if_much, find_token, mix
from rypt.scoring.buffers import read_links

UNALIGNED, SILENT, NOVEL = 0, 1, 2  # codes: no phrase; no judgment of the constituent; none of this phrase


class Trees(NamedTuple):
    """The constituents of all segments, one after the other, parents before children."""

    firsts: Ints  # where each segment's constituents begin, and one more
    starts: Ids  # first source token of each constituent
    parents: Ids  # within the segment, -1 for a root
    sizes: Ids  # source tokens of each segment


class Judged(NamedTuple):
    """The judged phrases: their tokens, interned, and a hash table with a region for each segment."""

    words: Bytes  # the distinct tokens
    token_starts: Ints  # where each stands in words
    token_stops: Ints
    token_slots: Ids  # hash table of tokens
    ids: Ids  # token ids of all phrases
    offsets: Ints  # where each phrase begins in ids, and one more
    nodes: Ids  # the constituent of each phrase, within its segment
    regions: Ints  # where each segment's part of the table begins, and one more
    table: Ids  # phrases, -1 where empty
    asked: NDArray[np.bool_]  # whether a constituent has any judged phrase
    gap: int  # the token id of the gap mark


class Texts(NamedTuple):
    """Candidates: their segments, and their texts and links, a line each."""

    segments: Ids
    text: Bytes
    text_lines: Ints
    links: Bytes
    link_lines: Ints


_NODE = np.uint64(0xC2B2AE3D27D4EB4F)
_DEBRUIJN = np.uint64(0x03F79D71B4CB0A89)
_ONE, _ZERO, _ALL = np.uint64(1), np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF)
_SHIFT_58 = np.uint64(58)


def _debruijn_places() -> NDArray[np.uint8]:
    places = np.zeros(64, dtype=np.uint8)
    for bit in range(64):
        places[((int(_DEBRUIJN) << bit) & 0xFFFFFFFFFFFFFFFF) >> 58] = bit
    return places


_PLACES = _debruijn_places()


@compiled_if_large
def _lowest_bit(word: np.uint64) -> np.uint64:
    """The place of the lowest bit that is set; the word is not 0."""
    return np.uint64(_PLACES[((word & (_ZERO - word)) * _DEBRUIJN) >> _SHIFT_58])


def _bytes(buffer: Bytes, lines: Ints, slots: Ids) -> int:
    return len(buffer) // 2


@compiled_if_much(_bytes)
def intern_phrases(buffer: Bytes, lines: Ints, slots: Ids) -> tuple[Ints, Ints, Ids, Ints]:
    """Number the distinct tokens of all phrases.

    ``lines`` are the offsets of the phrases in ``buffer``. Returns where each distinct token stands, and the token
    ids of all phrases with their offsets. ``slots`` (all -1, a power of two, large enough) becomes the hash table.
    """
    most = len(buffer) // 2 + len(lines) + 1
    starts, stops = np.empty(most, np.int64), np.empty(most, np.int64)
    ids, offsets = np.empty(most, np.int32), np.empty(len(lines), np.int64)
    known, total = 0, 0
    for phrase in range(len(lines) - 1):
        offsets[phrase] = total
        i, end = lines[phrase], lines[phrase + 1] - 1
        while i < end:
            if buffer[i] == SPACE or buffer[i] == TAB:
                i += 1
                continue
            start = i
            while i < end and buffer[i] != SPACE and buffer[i] != TAB:
                i += 1
            token, slot = find_token(slots, buffer, starts, stops, buffer, start, i)
            if token < 0:
                token = np.int64(known)
                starts[known], stops[known] = start, i
                slots[slot] = known
                known += 1
            ids[total] = token
            total += 1
    offsets[len(lines) - 1] = total
    return starts[:known].copy(), stops[:known].copy(), ids[:total].copy(), offsets


@compiled_if_large
def compact_tokens(buffer: Bytes, starts: Ints, stops: Ints, slots: Ids) -> tuple[Bytes, Ints, Ints]:
    """The distinct tokens side by side, and in ``slots`` (all -1) a table of them: small enough for the cache."""
    total = 0
    for token in range(len(starts)):
        total += stops[token] - starts[token]
    words = np.empty(total, np.uint8)
    new_starts, new_stops = np.empty(len(starts), np.int64), np.empty(len(starts), np.int64)
    at = 0
    for token in range(len(starts)):
        size = stops[token] - starts[token]
        for i in range(size):
            words[at + i] = buffer[starts[token] + i]
        new_starts[token], new_stops[token] = at, at + size
        at += size
        _, slot = find_token(slots, words, new_starts, new_stops, words, at - size, at)
        slots[slot] = token
    return words, new_starts, new_stops


@compiled_if_large
def phrase_hash(ids: Ids, start: int, stop: int, node: int) -> np.uint64:
    """The hash of a judged phrase at a constituent; `find_rows` computes the same from runs of a candidate."""
    value = _ZERO
    for i in range(start, stop):
        value = value * HASH_BASE + mix(np.uint64(ids[i] + 1))
    return mix(value ^ (np.uint64(node + 1) * _NODE))


@compiled_if_large
def fill_table(ids: Ids, offsets: Ints, segment: Ids, node: Ids, regions: Ints, table: Ids) -> None:
    """Enter each judged phrase into the region of its segment; regions are powers of two, at most half full."""
    for phrase in range(len(segment)):
        first, size = regions[segment[phrase]], regions[segment[phrase] + 1] - regions[segment[phrase]]
        mask = np.uint64(size - 1)
        slot = np.int64(phrase_hash(ids, offsets[phrase], offsets[phrase + 1], node[phrase]) & mask)
        while table[first + slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[first + slot] = phrase


@compiled_if_large
def _read_tokens(judged: Judged, text: Bytes, start: int, stop: int, tokens: Ids, prefix: Any) -> int:
    """Read a candidate as token ids (-1 for a token of no judged phrase) with the hashes of all its prefixes."""
    size = 0
    i = start
    while i < stop:
        if text[i] == SPACE or text[i] == TAB:
            i += 1
            continue
        begin = i
        while i < stop and text[i] != SPACE and text[i] != TAB:
            i += 1
        token, _ = find_token(
            judged.token_slots, judged.words, judged.token_starts, judged.token_stops, text, begin, i
        )
        tokens[size] = token
        prefix[size + 1] = prefix[size] * HASH_BASE + mix(np.uint64(token + 1))
        size += 1
    return size


@compiled_if_large
def find_runs(bits: Any, start: int, width: int, run_starts: Ints, run_stops: Ints) -> int:
    """The runs of neighbouring candidate tokens in a bit set."""
    runs = 0
    for word in range(width):
        rest = bits[start + word]
        shifted = np.int64(0)
        while rest != _ZERO:
            low = _lowest_bit(rest)
            rest >>= low
            inverse = ~rest
            length = np.uint64(64) if inverse == _ZERO else _lowest_bit(inverse)
            begin = (word << 6) + shifted + np.int64(low)
            stop = begin + np.int64(length)
            if runs and run_stops[runs - 1] == begin:
                run_stops[runs - 1] = stop
            else:
                run_starts[runs], run_stops[runs] = begin, stop
                runs += 1
            shifted += np.int64(low) + np.int64(length)
            rest = _ZERO if length == np.uint64(64) else rest >> length
    return runs


@compiled_if_large
def _same_phrase(
    ids: Ids, start: int, stop: int, gap: int, tokens: Ids, runs: int, run_starts: Ints, run_stops: Ints
) -> bool:
    """Whether a judged phrase consists of these runs of a candidate, with a gap mark between them."""
    place = start
    for run in range(runs):
        if run:
            if place >= stop or ids[place] != gap:
                return False
            place += 1
        for k in range(run_starts[run], run_stops[run]):
            if place >= stop or ids[place] != tokens[k]:
                return False
            place += 1
    return place == stop


@compiled_if_large
def _room(trees: Trees, texts: Texts) -> tuple[int, int, int]:
    """The most tokens that any candidate can have, the most constituents and source tokens of any segment."""
    longest, most, widest = 1, 1, 0
    for candidate, segment in enumerate(texts.segments):
        longest = max(longest, (texts.text_lines[candidate + 1] - texts.text_lines[candidate]) // 2 + 1)
        most = max(most, trees.firsts[segment + 1] - trees.firsts[segment])
        widest = max(widest, int(trees.sizes[segment]))
    return longest, most, widest


def _look_ups(trees: Trees, judged: Judged, texts: Texts, offsets: Ints, rows: Ids) -> int:
    """A third of the bytes, which take less time than other numbers: loading numba takes longer than a segment's."""
    return (len(texts.text) + len(texts.links) + len(rows)) // 3


@compiled_if_much(_look_ups)
def find_rows(trees: Trees, judged: Judged, texts: Texts, offsets: Ints, rows: Ids) -> tuple[int, int]:
    """Fill ``rows`` with the judged phrase of each constituent of each candidate, ``-1 - code`` where there is none.

    Returns the first bad candidate and what is wrong with its links, or (-1, 0).
    """
    firsts, starts, parents, sizes = trees
    segments, text, text_lines, links, link_lines = texts
    ids, phrase_offsets, nodes, regions, table, gap = (
        judged.ids,
        judged.offsets,
        judged.nodes,
        judged.regions,
        judged.table,
        judged.gap,
    )
    longest, most, widest = _room(trees, texts)
    tokens, prefix = np.zeros(longest, np.int32), np.zeros(longest + 1, np.uint64)
    powers = np.empty(longest + 1, np.uint64)
    powers[0] = _ONE
    for i in range(longest):  # np.cumprod, sum and max would take longer to compile than all the rest
        powers[i + 1] = powers[i] * HASH_BASE
    run_starts, run_stops = np.zeros(longest, np.int64), np.zeros(longest, np.int64)
    linked = np.zeros((widest + 1) * ((longest >> 6) + 1), np.uint64)
    covered = np.zeros(most * ((longest >> 6) + 1), np.uint64)
    gap_value = mix(np.uint64(gap + 1))
    for candidate in range(len(segments)):
        segment = segments[candidate]
        first, count, at = firsts[segment], firsts[segment + 1] - firsts[segment], offsets[candidate]
        if count == 0:
            continue
        size = _read_tokens(
            judged, text, text_lines[candidate], text_lines[candidate + 1] - 1, tokens, prefix
        )
        width = max(1, (size + 63) >> 6)
        linked[: sizes[segment] * width] = _ZERO
        covered[: count * width] = _ZERO
        wrong = read_links(
            links, link_lines[candidate], link_lines[candidate + 1] - 1, width, (sizes[segment], size), linked
        )
        if wrong:
            return candidate, wrong
        region, region_size = regions[segment], regions[segment + 1] - regions[segment]
        for node in range(count - 1, -1, -1):
            parent = parents[first + node]
            leaf = node + 1 == count or parents[first + node + 1] != node
            for word in range(width):
                if leaf:
                    covered[node * width + word] = linked[starts[first + node] * width + word]
                if parent >= 0:
                    covered[parent * width + word] |= covered[node * width + word]
            runs = find_runs(covered, node * width, width, run_starts, run_stops)
            if runs == 0 or not judged.asked[first + node]:
                rows[at + node] = -1 - (SILENT if runs else UNALIGNED)
                continue
            rows[at + node] = -1 - NOVEL
            value = _ZERO
            for run in range(runs):
                if run:
                    value = value * HASH_BASE + gap_value
                power = powers[run_stops[run] - run_starts[run]]
                value = value * power + (prefix[run_stops[run]] - prefix[run_starts[run]] * power)
            slot = np.int64(mix(value ^ (np.uint64(node + 1) * _NODE)) & np.uint64(region_size - 1))
            while table[region + slot] >= 0:
                phrase = table[region + slot]
                if nodes[phrase] == node and _same_phrase(
                    ids,
                    phrase_offsets[phrase],
                    phrase_offsets[phrase + 1],
                    gap,
                    tokens,
                    runs,
                    run_starts,
                    run_stops,
                ):
                    rows[at + node] = phrase
                    break
                slot = (slot + 1) & (region_size - 1)
    return -1, 0
