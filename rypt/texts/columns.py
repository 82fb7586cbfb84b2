"""Many candidates as columns: where segment, text and links of each stand in the bytes of the lists they come from.

    candidates = campaign.candidates          # of a large list, read by `rypt.texts.nbest`
    candidates[17].text                       # a candidate is made when it is asked for
    candidate_lines(candidates, "lower")      # all texts and links in two buffers: no candidate is made

Reading a list of 200,000 lines as objects takes seconds, and most commands want no object but texts and links in one
buffer, which compiled loops go through. A `CandidateColumns` is a sequence of candidates like any other; the functions
below take both.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from hashlib import blake2b
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Bytes, Ids, Ints
from rypt.compiled import HASH_BASE, compiled_if_large, same_bytes, token_hash
from rypt.records import Candidate
from rypt.texts.buffers import line_buffer
from rypt.texts.fields import NEWLINE, WORD_SCORES, find_candidates, group_lines, line_starts
from rypt.texts.phrases import joined_keys, normalized_lines

STEP = 50_000  # lines looked at between two steps of a progress bar


class Lines(NamedTuple):
    """Texts and links of candidates, a line each."""

    text: Bytes
    text_lines: Ints
    links: Bytes
    link_lines: Ints


class CandidateColumns(Sequence[Candidate]):
    """Candidates whose texts and links lie in one buffer.

    ``segments`` are indices into ``names``, ``texts`` and ``links`` (candidates, 2) say where each begins and ends;
    ``build`` makes one candidate.
    """

    def __init__(
        self,
        names: Sequence[str],
        segments: Ids,
        buffer: Bytes,
        texts: Ints,
        links: Ints,
        build: Callable[[int], Candidate],
    ) -> None:
        self.names, self.segments, self.buffer, self.texts, self.links = names, segments, buffer, texts, links
        self._build = build
        self._built: list[Candidate] | None = None
        self._keys: dict[str, Lines] = {}

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> "CandidateColumns":
        """Any candidates as columns."""
        if isinstance(candidates, cls):
            return candidates
        numbers: dict[str, int] = {}
        segments = np.array([numbers.setdefault(c.segment, len(numbers)) for c in candidates], np.int32)
        data = [part.encode() for c in candidates for part in (c.text, c.alignment)]
        ends = np.concatenate([[0], np.cumsum([len(part) for part in data], dtype=np.int64)]).astype(np.int64)
        places = np.stack([ends[:-1], ends[1:]], axis=1)
        buffer = np.frombuffer(b"".join(data), np.uint8)
        return cls(list(numbers), segments, buffer, places[0::2], places[1::2], candidates.__getitem__)

    def __len__(self) -> int:
        return len(self.segments)

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> list[Candidate]: ...
    def __getitem__(self, index: int | slice) -> Candidate | list[Candidate]:
        make = self._build if self._built is None else self._built.__getitem__
        if isinstance(index, slice):
            return [make(i) for i in range(*index.indices(len(self)))]
        return make(range(len(self))[index])

    def __iter__(self) -> Iterator[Candidate]:
        """All candidates; they are kept, as who goes through them once will do so again."""
        if self._built is None:
            self._built = [self._build(i) for i in range(len(self))]
        return iter(self._built)

    def __repr__(self) -> str:
        return f"CandidateColumns({len(self)} candidates of {len(self.names)} segments)"

    def take(self, chosen: Ints) -> "CandidateColumns":
        """Some of the candidates, in this order."""
        build, built = self._build, self._built
        return CandidateColumns(
            self.names,
            self.segments[chosen],
            self.buffer,
            self.texts[chosen],
            self.links[chosen],
            (lambda i: build(int(chosen[i]))) if built is None else (lambda i: built[chosen[i]]),
        )

    def lines(self, case: str) -> Lines:
        """Texts, as keys of this case hold them, and links, each on a line of its own."""
        if case not in self._keys:
            text = normalized_lines(joined(self.buffer, self.texts), case)
            links = joined(self.buffer, self.links)
            self._keys[case] = Lines(*line_buffer(text, len(self)), *line_buffer(links, len(self)))
        return self._keys[case]


def candidate_lines(candidates: Sequence[Candidate], case: str) -> Lines:
    """Texts, as keys of this case hold them, and links, each on a line of its own: what compiled loops read."""
    if isinstance(candidates, CandidateColumns):
        return candidates.lines(case)
    text = joined_keys((c.text for c in candidates), case)
    links = "\n".join([c.alignment for c in candidates]).encode()
    return Lines(*line_buffer(text, len(candidates)), *line_buffer(links, len(candidates)))


def segment_numbers(candidates: Sequence[Candidate], index: Mapping[str, int]) -> Ids:
    """The number of each candidate's segment; one without a number is a `KeyError`."""
    if isinstance(candidates, CandidateColumns):
        given = candidates.segments
        used = np.zeros(len(candidates.names), np.bool_)
        used[given] = True
        numbers = [
            index[name] if use else -1 for name, use in zip(candidates.names, used.tolist(), strict=True)
        ]
        return np.array(numbers, np.int32)[given]
    return np.array([index[c.segment] for c in candidates], np.int32)


def take(candidates: Sequence[Candidate], chosen: Ints) -> Sequence[Candidate]:
    """Some of the candidates, in this order."""
    if isinstance(candidates, CandidateColumns):
        return candidates.take(chosen)
    return [candidates[i] for i in chosen.tolist()]


def of_segments(candidates: Sequence[Candidate], names: Set[str]) -> Sequence[Candidate]:
    """The candidates of some segments."""
    if not isinstance(candidates, CandidateColumns):
        return [c for c in candidates if c.segment in names]
    wanted = np.array([name in names for name in candidates.names], np.bool_)
    return candidates.take(np.flatnonzero(wanted[candidates.segments]))


def texts_of(candidates: Sequence[Candidate], chosen: Ints) -> list[str]:
    """The texts of some of the candidates, in this order."""
    if not isinstance(candidates, CandidateColumns):
        return [candidates[i].text for i in chosen.tolist()]
    distinct_ones, places = np.unique(chosen, return_inverse=True)
    texts = joined(candidates.buffer, candidates.texts[distinct_ones]).decode().split("\n")
    return [texts[i] for i in places.tolist()]


def distinct(lists: Iterable[Sequence[Candidate]]) -> Sequence[Candidate]:
    """The candidates of all lists in order, each text with its alignment once per segment."""
    given = list(lists)
    if not any(isinstance(candidates, CandidateColumns) for candidates in given):
        kept: dict[tuple[str, str, str], Candidate] = {}
        for candidates in given:
            for c in candidates:
                kept.setdefault((c.segment, c.text, c.alignment), c)
        return list(kept.values())
    merged = _merged([CandidateColumns.of(candidates) for candidates in given])
    keep = np.empty(len(merged), np.bool_)
    count = mark_first(merged.buffer, merged.segments, merged.texts, merged.links, keep)
    return merged if count == len(merged) else merged.take(np.flatnonzero(keep))


def number_of_segments(candidates: Sequence[Candidate]) -> int:
    """The number of segments that have candidates."""
    if isinstance(candidates, CandidateColumns):
        return len(np.unique(candidates.segments))
    return len({candidate.segment for candidate in candidates})


def text_marks(candidates: Sequence[Candidate]) -> dict[str, int]:
    """For each segment with candidates a number that changes with their texts and links: a hash of 64 bits."""
    if not isinstance(candidates, CandidateColumns):
        by_segment: dict[str, tuple[list[str], list[str]]] = {}
        for c in candidates:
            texts, links = by_segment.setdefault(c.segment, ([], []))
            texts.append(c.text)
            links.append(c.alignment)
        return {
            name: _mark(*("\n".join(part).encode() for part in parts)) for name, parts in by_segment.items()
        }
    order = np.argsort(candidates.segments, kind="stable")
    firsts = np.searchsorted(candidates.segments[order], np.arange(len(candidates.names) + 1))
    data, bounds = [], []
    for places in (candidates.texts[order], candidates.links[order]):
        data.append(joined(candidates.buffer, places))
        ends = np.append(0, np.cumsum(places[:, 1] - places[:, 0] + 1))
        bounds.append(ends[firsts].tolist())
    return {
        name: _mark(*(part[at[i] : max(at[i], at[i + 1] - 1)] for part, at in zip(data, bounds, strict=True)))
        for i, name in enumerate(candidates.names)
        if firsts[i + 1] > firsts[i]
    }


def _mark(texts: bytes, links: bytes) -> int:
    return int.from_bytes(blake2b(texts + b"\0" + links, digest_size=8).digest())


def _merged(parts: Sequence[CandidateColumns]) -> CandidateColumns:
    """The candidates of several lists, one after the other."""
    if len(parts) == 1:
        return parts[0]
    numbers: dict[str, int] = {}
    of_names = [
        np.array([numbers.setdefault(n, len(numbers)) for n in part.names], np.int32) for part in parts
    ]
    bytes_before = np.cumsum([0, *(len(part.buffer) for part in parts)])
    firsts = np.cumsum([0, *(len(part) for part in parts)])

    def build(index: int) -> Candidate:
        part = int(np.searchsorted(firsts, index, "right")) - 1
        return parts[part][index - int(firsts[part])]

    return CandidateColumns(
        list(numbers),
        np.concatenate([of[part.segments] for of, part in zip(of_names, parts, strict=True)]).astype(
            np.int32
        ),
        np.concatenate([part.buffer for part in parts]),
        np.concatenate([part.texts + n for part, n in zip(parts, bytes_before, strict=False)]),
        np.concatenate([part.links + n for part, n in zip(parts, bytes_before, strict=False)]),
        build,
    )


def joined(buffer: Bytes, places: Ints) -> bytes:
    """Stretches of a buffer, a line each."""
    sizes = places[:, 1] - places[:, 0] + 1
    out = np.full(max(0, int(sizes.sum()) - 1) if len(sizes) else 0, NEWLINE, np.uint8)
    copy_lines(buffer, places, out)
    return out.tobytes()


class ScannedList:
    """The lines of an n-best list, and where id, text and links of each stand in them, (lines, 2) each.

    Lines that are not ``plain`` have an id at most: what is before the first ``|||``, else the whole line. ``names``
    are the distinct ids, ``numbers`` says which of them each line has.
    """

    def __init__(
        self, data: bytearray, watch: Callable[[Iterable[int], int], Iterable[int]], *, wants_links: bool
    ) -> None:
        if not data.endswith(b"\n"):
            data += b"\n"
        self.buffer = np.frombuffer(data, np.uint8)
        self.starts = np.empty(data.count(b"\n") + 1, np.int64)
        line_starts(self.buffer, self.starts)
        size = len(self.starts) - 1
        self.ids, self.texts, self.links = (np.zeros((size, 2), np.int64) for _ in range(3))
        self.plain = np.zeros(size, np.bool_)
        for _ in watch(self._scan(wants_links), size):
            pass
        groups = np.empty(size, np.int32)
        count = group_lines(self.buffer, self.ids, groups)
        firsts = np.searchsorted(groups, np.arange(count))
        numbers: dict[str, int] = {}
        runs = [
            numbers.setdefault(self.buffer[a:b].tobytes().decode(), len(numbers)) for a, b in self.ids[firsts]
        ]
        self.names = list(numbers)
        self.numbers = np.array(runs, np.int32)[groups]

    def _scan(self, wants_links: bool) -> Iterator[int]:
        for first in range(0, len(self.plain), STEP):
            stop = min(first + STEP, len(self.plain))
            find_candidates(
                self.buffer,
                self.starts,
                first,
                stop,
                wants_links,
                WORD_SCORES,
                self.ids,
                self.texts,
                self.links,
                self.plain,
            )
            yield from range(first, stop)

    def line(self, number: int) -> str:
        """One line, from 0, without its end."""
        return self.buffer[self.starts[number] : self.starts[number + 1]].tobytes().rstrip(b"\r\n").decode()

    def columns(
        self,
        names: Sequence[str],
        numbers: Ids,
        lines: Ints,
        odd: Mapping[int, Candidate],
        links: Sequence[str] | None,
        build: Callable[[int], Candidate],
    ) -> CandidateColumns:
        """Some of the lines as candidates of the segments ``numbers`` in ``names``.

        ``odd`` are candidates of lines that are not plain, ``links`` those of all ``lines``, where they come from
        another file.
        """
        extra, size = list[bytes](), len(self.buffer)
        texts, places = self.texts, self.links

        def put(where: Ints, line: int, text: str) -> None:
            nonlocal size
            extra.append(text.encode())
            where[line] = size, size + len(extra[-1])
            size += len(extra[-1])

        for line, candidate in odd.items():
            put(texts, line, candidate.text)
            put(places, line, candidate.alignment)
        if links is not None:
            for line, text in zip(lines.tolist(), links, strict=True):
                if line not in odd:
                    put(places, line, text)
        buffer = (
            np.concatenate([self.buffer, np.frombuffer(b"".join(extra), np.uint8)]) if extra else self.buffer
        )
        return CandidateColumns(names, numbers[lines], buffer, texts[lines], places[lines], build)


@compiled_if_large
def copy_lines(buffer: Bytes, places: Ints, out: Bytes) -> None:
    """Copy stretches of a buffer, one byte left between two."""
    at = 0
    for line in range(len(places)):
        for i in range(places[line, 0], places[line, 1]):
            out[at] = buffer[i]
            at += 1
        at += 1


@compiled_if_large
def mark_first(buffer: Bytes, segments: Ids, texts: Ints, links: Ints, keep: NDArray[np.bool_]) -> int:
    """Mark the candidates that differ from all earlier ones of their segment in text or links; returns how many."""
    size = 16
    while size < 2 * len(texts):
        size *= 2
    slots = np.full(size, -1, np.int64)
    count = 0
    for i in range(len(texts)):
        hashed = token_hash(buffer, texts[i, 0], texts[i, 1]) * HASH_BASE
        hashed = (hashed ^ token_hash(buffer, links[i, 0], links[i, 1])) + np.uint64(segments[i]) * HASH_BASE
        slot = np.int64(hashed & np.uint64(size - 1))
        while slots[slot] >= 0:
            other = slots[slot]
            if (
                segments[other] == segments[i]
                and same_bytes(buffer, texts[other, 0], texts[other, 1], buffer, texts[i, 0], texts[i, 1])
                and same_bytes(buffer, links[other, 0], links[other, 1], buffer, links[i, 0], links[i, 1])
            ):
                break
            slot = (slot + 1) & (size - 1)
        keep[i] = slots[slot] < 0
        if keep[i]:
            slots[slot] = i
            count += 1
    return count
