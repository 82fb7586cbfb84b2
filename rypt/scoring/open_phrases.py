"""The distinct phrases of chosen constituents in many candidates, found by compiled code: what queries are made of.

    for phrases in distinct_phrases(forest, chosen, candidates, segments, limits, case="lower", gap="mark"): …

Candidates are taken segment by segment, some thousands at a time, so that memory stays bounded. Their tokens become
integers, the phrase of a constituent is a row of these, and equal rows of a constituent are counted once. Texts are
made for distinct phrases only.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Bytes, Ids, Ints, Words
from rypt.compiled import HASH_BASE, SPACE, compiled_if_large, compiled_if_much, inlined, mix
from rypt.records import Candidate
from rypt.scoring.buffers import candidate_lines, line_buffer, read_links
from rypt.scoring.kernel import UNALIGNED, Texts, Trees, find_runs, intern_phrases
from rypt.scoring.observations import Forest, Places
from rypt.texts.phrases import GAP, SKIP

CANDIDATES = 20_000  # taken at a time
NEWLINE = 10
_ZERO = np.uint64(0)


class Limits(NamedTuple):
    """The largest number of gaps, of words in gaps, of words, and of words from first to last, of a phrase."""

    gaps: int
    gap_words: int
    words: int
    extent: int


class DistinctPhrases(NamedTuple):
    """Phrases of constituents: for each how many candidates have it, and the first of them with its positions there.

    ``nodes`` are indices into the forest's arrays.
    """

    nodes: Ints
    texts: list[str]
    served: list[int]
    examples: Ints
    positions: list[tuple[int, ...]]


class _Rows(NamedTuple):
    """Distinct phrases: candidate of the first, node, count, and where its runs stand in ``starts`` and ``stops``."""

    candidates: Ids
    nodes: Ids
    counts: Ids
    runs: Ints
    starts: Ids
    stops: Ids


class _Known(NamedTuple):
    """The rows of judged phrases for the constituents of candidates, and where those of each candidate begin."""

    rows: Ids
    offsets: Ints


_NO_ROWS = _Known(np.empty(0, np.int32), np.empty(0, np.int64))


def distinct_phrases(
    forest: Forest,
    chosen: NDArray[np.bool_],
    candidates: Sequence[Candidate],
    segments: Ids,
    limits: Limits,
    *,
    case: str,
    gap: str,
    judged: Places | None = None,
) -> Iterator[DistinctPhrases | int]:
    """The distinct phrases of the ``chosen`` constituents within the limits, those of some segments at a time, in the
    order of the segments; a number is a candidate whose links are bad, after which nothing comes. Phrases that have a
    row in ``judged`` are left out."""
    order = np.argsort(segments, kind="stable")
    order = (
        order[
            np.logical_or.reduceat(np.append(chosen, False), forest.firsts[:-1])[segments[order]]
            & (forest.counts[segments[order]] > 0)
        ]
        if len(order)
        else order
    )
    start = 0
    while start < len(order):
        stop = min(start + CANDIDATES, len(order))
        stop = int(np.searchsorted(segments[order], segments[order[stop - 1]], side="right"))
        taken = order[start:stop]
        rows = _NO_ROWS if judged is None else _Known(judged.rows, judged.offsets[taken])
        yield from _phrases_of(forest, chosen, candidates, segments, taken, limits, case, gap, rows)
        start = stop


def _phrases_of(
    forest: Forest,
    chosen: NDArray[np.bool_],
    candidates: Sequence[Candidate],
    segments: Ids,
    taken: Ints,
    limits: Limits,
    case: str,
    gap: str,
    known: "_Known",
) -> Iterator[DistinctPhrases | int]:
    mark = GAP if gap == "mark" else SKIP
    lines = candidate_lines([candidates[i] for i in taken.tolist()], case)
    data = mark.encode() + b"\n" + lines.text.tobytes()
    text, text_lines = line_buffer(data[:-1], len(taken) + 1)
    slots = np.full(1 << (len(data) // 2 + len(taken)).bit_length() + 1, -1, np.int32)
    token_starts, token_stops, ids, offsets = intern_phrases(text, text_lines, slots)
    texts = Texts(segments[taken], text, text_lines, lines.links, lines.link_lines)
    bad, rows = find_distinct(forest.arrays(), chosen, texts, ids, offsets[1:], limits, gap == "words", known)
    if bad >= 0:
        yield int(taken[bad])
        return
    if not len(rows.nodes):
        return
    places, place_offsets = positions_of(rows)
    size = texts_size(rows, ids, offsets[1:], token_starts, token_stops, gap == "words")
    out = np.empty(size, np.uint8)
    write_texts(rows, ids, offsets[1:], text, token_starts, token_stops, gap == "words", out)
    phrases = out[:-1].tobytes().decode("utf-8", "surrogatepass").split("\n")
    positions, bounds = places.tolist(), place_offsets.tolist()
    yield DistinctPhrases(
        forest.firsts[segments[taken][rows.candidates]] + rows.nodes,
        phrases,
        rows.counts.tolist(),
        taken[rows.candidates],
        [tuple(positions[a:b]) for a, b in pairwise(bounds)],
    )


def positions_of(rows: _Rows) -> tuple[Ints, Ints]:
    """The positions of all phrases, one after the other, and where those of each begin, and one more."""
    sizes = (rows.stops - rows.starts).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    positions = np.arange(ends[-1]) + np.repeat(rows.starts - ends[:-1], sizes)
    return positions, ends[rows.runs]


@compiled_if_large
def texts_size(
    rows: _Rows, ids: Ids, offsets: Ints, token_starts: Ints, token_stops: Ints, by_words: bool
) -> int:
    """The number of bytes of all phrases, a line each."""
    size = 0
    mark = token_stops[0] - token_starts[0] + 1
    for phrase in range(len(rows.nodes)):
        first = offsets[rows.candidates[phrase]]
        for run in range(rows.runs[phrase], rows.runs[phrase + 1]):
            if run > rows.runs[phrase]:
                size += mark * (int(rows.starts[run]) - rows.stops[run - 1] if by_words else 1)
            for k in range(rows.starts[run], rows.stops[run]):
                size += token_stops[ids[first + k]] - token_starts[ids[first + k]] + 1
    return size


@compiled_if_large
def write_texts(
    rows: _Rows,
    ids: Ids,
    offsets: Ints,
    text: Bytes,
    token_starts: Ints,
    token_stops: Ints,
    by_words: bool,
    out: Bytes,
) -> None:
    """Write all phrases, a line each: tokens with spaces between them, and marks (token 0) for gaps."""
    at = 0
    for phrase in range(len(rows.nodes)):
        first = offsets[rows.candidates[phrase]]
        for run in range(rows.runs[phrase], rows.runs[phrase + 1]):
            marks = 0
            if run > rows.runs[phrase]:
                marks = int(rows.starts[run]) - rows.stops[run - 1] if by_words else 1
            for k in range(rows.starts[run] - marks, rows.stops[run]):
                token = 0 if k < rows.starts[run] else ids[first + k]
                for i in range(token_starts[token], token_stops[token]):
                    out[at] = text[i]
                    at += 1
                out[at] = SPACE
                at += 1
        out[at - 1] = NEWLINE


@compiled_if_large
def _phrase_size(runs: int, starts: Ints, stops: Ints, limits: Limits) -> int:
    """The number of words of a phrase, -1 where it is beyond the limits."""
    words = 0
    for run in range(runs):
        words += stops[run] - starts[run]
    extent = stops[runs - 1] - starts[0]
    if (
        runs - 1 > limits.gaps
        or extent - words > limits.gap_words
        or words > limits.words
        or extent > limits.extent
    ):
        return -1
    return words


@compiled_if_large
def _write_phrase(
    tokens: Ids, first: int, runs: int, starts: Ints, stops: Ints, by_words: bool, row: Ids
) -> int:
    """Write the tokens of a phrase, with the gap mark 0 between runs, and return how many there are."""
    size = 0
    for run in range(runs):
        if run:
            marks = starts[run] - stops[run - 1] if by_words else 1
            for _ in range(marks):
                row[size] = 0
                size += 1
        for k in range(starts[run], stops[run]):
            row[size] = tokens[first + k]
            size += 1
    return size


@compiled_if_large
def _grown(array: Ids, size: int) -> Ids:
    larger = np.empty(size, np.int32)
    larger[: len(array)] = array
    return larger


@inlined
def _hash_phrase(node: int, row: Ids, words: int) -> np.uint64:
    """The hash of a phrase of a constituent, whose tokens are the first ``words`` of ``row``."""
    hashed = np.uint64(node + 1)
    for k in range(words):
        hashed = hashed * HASH_BASE + mix(np.uint64(row[k] + 1))
    return mix(hashed)


@inlined
def _find_slot(
    table: Ids, nodes: Ids, words_at: Ints, kept: Ids, node: int, row: Ids, words: int, hashed: np.uint64
) -> np.int64:
    """Where a phrase is in the table, or belongs."""
    slot = np.int64(hashed & np.uint64(len(table) - 1))
    while table[slot] >= 0:
        phrase = table[slot]
        same = nodes[phrase] == node and words_at[phrase + 1] - words_at[phrase] == words
        k = 0
        while same and k < words:
            same = kept[words_at[phrase] + k] == row[k]
            k += 1
        if same:
            break
        slot = (slot + 1) & (len(table) - 1)
    return slot


@inlined
def _rebuilt(size: int, hashes: Words, first: int, stop: int) -> Ids:
    """A table of this size with the phrases from ``first`` up to ``stop``."""
    table = np.full(size, -1, np.int32)
    for phrase in range(first, stop):
        slot = np.int64(hashes[phrase] & np.uint64(size - 1))
        while table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[slot] = phrase
    return table


@compiled_if_large
def _has_open_phrase(chosen: NDArray[np.bool_], first: int, count: int, rows: Ids, at: int) -> bool:
    """Whether a candidate has a phrase that is chosen and not judged."""
    for node in range(count):  # noqa: SIM110 (a generator is not compiled)
        if chosen[first + node] and rows[at + node] < -1 - UNALIGNED:
            return True
    return False


def _look_ups(
    trees: Trees,
    chosen: NDArray[np.bool_],
    texts: Texts,
    ids: Ids,
    offsets: Ints,
    limits: Limits,
    by_words: bool,
    judged: _Known,
) -> int:
    """A third of the bytes, as in `rypt.scoring.kernel`."""
    return (len(texts.text) + len(texts.links) + len(ids)) // 3


@compiled_if_much(_look_ups)
def find_distinct(
    trees: Trees,
    chosen: NDArray[np.bool_],
    texts: Texts,
    ids: Ids,
    offsets: Ints,
    limits: Limits,
    by_words: bool,
    judged: _Known,
) -> tuple[int, _Rows]:
    """The distinct phrases of the chosen constituents; candidates of one segment stand together.

    ``ids`` are the tokens of all candidates, the gap mark (0) before them. Phrases with a row in ``judged``, if it has
    any, are left out. Returns the first candidate with bad links, or -1, and the phrases in the order in which they
    come.
    """
    firsts, starts, parents, sizes = trees
    segments, links, link_lines = texts.segments, texts.links, texts.link_lines
    longest, most = 1, 1
    for candidate in range(len(segments)):
        longest = max(longest, offsets[candidate + 1] - offsets[candidate])
        most = max(most, firsts[segments[candidate] + 1] - firsts[segments[candidate]])
    run_starts, run_stops = np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64)
    linked = np.zeros((sizes.max() + 1) * ((longest >> 6) + 1), np.uint64)
    covered = np.zeros(most * ((longest >> 6) + 1), np.uint64)
    row = np.empty(longest + 1, np.int32)
    table = np.full(1024, -1, np.int32)  # of the phrases of one segment
    hashes = np.empty(1024, np.uint64)
    of, nodes, counts = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.int32)
    runs_at, words_at = np.zeros(1025, np.int64), np.zeros(1025, np.int64)
    kept_starts, kept_stops, kept = (
        np.empty(4096, np.int32),
        np.empty(4096, np.int32),
        np.empty(8192, np.int32),
    )
    known, first_known, before = 0, 0, -1
    for candidate in range(len(segments)):
        segment = segments[candidate]
        if segment != before:
            before, first_known = segment, known
            table[:] = -1
        first, count = firsts[segment], firsts[segment + 1] - firsts[segment]
        at = judged.offsets[candidate] if len(judged.offsets) else -1
        if at >= 0 and not _has_open_phrase(chosen, first, count, judged.rows, at):
            continue
        size = offsets[candidate + 1] - offsets[candidate]
        width = max(1, (size + 63) >> 6)
        linked[: sizes[segment] * width] = _ZERO
        covered[: count * width] = _ZERO
        if read_links(
            links, link_lines[candidate], link_lines[candidate + 1] - 1, width, (sizes[segment], size), linked
        ):
            return candidate, _Rows(
                of[:0], nodes[:0], counts[:0], runs_at[:1], kept_starts[:0], kept_stops[:0]
            )
        for node in range(count - 1, -1, -1):
            parent = parents[first + node]
            leaf = node + 1 == count or parents[first + node + 1] != node
            for word in range(width):
                if leaf:
                    covered[node * width + word] = linked[starts[first + node] * width + word]
                if parent >= 0:
                    covered[parent * width + word] |= covered[node * width + word]
            if not chosen[first + node] or (at >= 0 and judged.rows[at + node] >= 0):
                continue
            runs = find_runs(covered, node * width, width, run_starts, run_stops)
            if runs == 0 or _phrase_size(runs, run_starts, run_stops, limits) < 0:
                continue
            words = _write_phrase(ids, offsets[candidate], runs, run_starts, run_stops, by_words, row)
            hashed = _hash_phrase(node, row, words)
            slot = _find_slot(table, nodes, words_at, kept, node, row, words, hashed)
            if table[slot] >= 0:
                counts[table[slot]] += 1
                continue
            if known + 1 >= len(of):
                room = 2 * len(of)
                of, nodes, counts = _grown(of, room), _grown(nodes, room), _grown(counts, room)
                hashes = np.append(hashes, np.empty(room - len(hashes), np.uint64))
                runs_at = np.append(runs_at, np.zeros(room + 1 - len(runs_at), np.int64))
                words_at = np.append(words_at, np.zeros(room + 1 - len(words_at), np.int64))
            while runs_at[known] + runs > len(kept_starts):
                kept_starts = _grown(kept_starts, 2 * len(kept_starts))
                kept_stops = _grown(kept_stops, 2 * len(kept_stops))
            while words_at[known] + words > len(kept):
                kept = _grown(kept, 2 * len(kept))
            table[slot], hashes[known], of[known], nodes[known], counts[known] = (
                known,
                hashed,
                candidate,
                node,
                1,
            )
            for run in range(runs):
                kept_starts[runs_at[known] + run] = run_starts[run]
                kept_stops[runs_at[known] + run] = run_stops[run]
            kept[words_at[known] : words_at[known] + words] = row[:words]
            runs_at[known + 1], words_at[known + 1] = runs_at[known] + runs, words_at[known] + words
            known += 1
            if 2 * (known - first_known) > len(table):
                table = _rebuilt(2 * len(table), hashes, first_known, known)
    return -1, _Rows(
        of[:known].copy(),
        nodes[:known].copy(),
        counts[:known].copy(),
        runs_at[: known + 1].copy(),
        kept_starts[: runs_at[known]].copy(),
        kept_stops[: runs_at[known]].copy(),
    )
