"""N-best lists as arrays: the candidates of each segment side by side, one row of features each."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import overload

import numpy as np

from mert.lists import scan
from mert.lists.columns import ColumnPlan, Scanned, Sparse, check_tuned, reordered, too_many
from mert.lists.line_fields import group_lines
from rypt.arrays import Bytes, Floats, Ids, Ints
from rypt.compiled import compiled
from rypt.records import Candidate
from rypt.text import InputError, PathLike, Watch, read_bytes, unwatched
from rypt.texts.formats import read_bars, reader_of
from rypt.texts.nbest import read_list


@compiled
def winners(offsets: Ints, values: Floats, chosen: Ints) -> None:
    """The candidate of each segment with the highest value; the first of equals."""
    for segment in range(len(offsets) - 1):
        best = offsets[segment]
        for candidate in range(offsets[segment] + 1, offsets[segment + 1]):
            if values[candidate] > values[best]:
                best = candidate
        chosen[segment] = best


class Candidates(Sequence[Candidate]):
    """Candidates whose texts lie in one buffer; the rest of a line is read when it is asked for.

    ``texts`` (candidates, 2) says where each text begins and ends in ``buffer``, ``equals`` which candidate is the
    first of its segment with the same text, ``segments`` the index of its segment.
    """

    def __init__(
        self, buffer: Bytes, texts: Ints, equals: Ints, segments: Ids, parse: Callable[[int], Candidate]
    ) -> None:
        self.buffer, self.texts, self.equals, self.segments = buffer, texts, equals, segments
        self._parse = parse

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> list[Candidate]: ...
    def __getitem__(self, index: int | slice) -> Candidate | list[Candidate]:
        if isinstance(index, slice):
            return [self._parse(i) for i in range(*index.indices(len(self)))]
        return self._parse(range(len(self))[index])

    def segment_texts(self) -> list[tuple[str, str]]:
        """Segment and text of each candidate, for `rypt.metrics.metric.stats_by_text`."""
        places, firsts = np.unique(self.segments, return_index=True)
        names = {
            place: self[int(first)].segment for place, first in zip(places.tolist(), firsts, strict=True)
        }
        return [(names[place], self.text(i)) for i, place in enumerate(self.segments.tolist())]

    def text(self, index: int) -> str:
        """The text of one candidate."""
        start, stop = self.texts[index]
        return self.buffer[start:stop].tobytes().decode()


@dataclass(frozen=True, slots=True)
class NBest:
    """Candidates of all segments; those of segment s stand at ``offsets[s]:offsets[s + 1]``."""

    segments: list[str]
    offsets: Ints
    candidates: Candidates
    names: tuple[str, ...]
    features: Floats  # (candidates, features), columns contiguous
    sparse: Sparse | None
    places: Callable[[int], tuple[PathLike, int]]  # file and line of a candidate
    open_ended: bool = False  # whether lines leave out features that are 0, as those with glued labels do

    def best(self, weights: Floats, sparse_weights: Floats | None = None) -> Ints:
        """The candidate of each segment with the highest model score; the first of equals."""
        chosen = np.empty(len(self.segments), np.int64)
        held = None if sparse_weights is None else self.sparse_dot(sparse_weights)
        values = self.features @ weights
        winners(self.offsets, values if held is None else values + held, chosen)
        return chosen

    def sparse_dot(self, weights: Floats) -> Floats | None:
        """What held sparse features add to each candidate's model score."""
        return None if self.sparse is None else self.sparse.dot(weights)

    def check_segments(self, size: int, where: str) -> list[str]:
        """Refuse a segment that is none of ``size`` segments from 0; a note where some have no candidates."""
        return check_segments(self.segments, lambda i: self.places(int(self.offsets[i])), size, where)


def read_lists(
    paths: Sequence[PathLike], watch: Watch = unwatched, *, tune: Sequence[str] | None = None
) -> NBest:
    """Read and merge n-best lists; a candidate with the same text and features counts once.

    Features get columns of their own unless they are sparse, as in Moses a label with ``_`` and a space before its
    value; sparse ones do that ``tune`` names. Where there are too many, only those get columns that ``tune`` names or
    that every line must have.
    """
    files = [(path, read_bytes(path)) for path in paths]
    for path, data in files:
        if not data or data.isspace():
            raise InputError(path, None, "expected candidates, found an empty list")
    barred = [file for file in files if has_bars(file[1])]
    if len(barred) == len(files):
        lists = _scan(files, tune)
    else:
        if barred:  # what is wrong inside a list is said as if it came alone
            Scanned(barred)
        lists = arrange(chain.from_iterable(_numbered(path, data, watch) for path, data in files), tune)
    check_numbers(lists.segments, lambda i: lists.places(int(lists.offsets[i])))
    return lists


def segment_number(segment: str) -> int | None:
    """The number that an id is, None for another id.

    >>> segment_number("007"), segment_number("news-7")
    (7, None)
    """
    return int(segment) if re.fullmatch("[0-9]{1,18}", segment) else None


Place = Callable[[int], tuple[PathLike, int]]  # file and line of the first candidate of a segment


def check_segments(segments: Sequence[str], place: Place, size: int, where: str) -> list[str]:
    """Refuse a segment that is none of ``size`` segments from 0; a note where some have no candidates."""
    for i, segment in enumerate(segments):
        number = segment_number(segment)
        if number is None or number >= size:
            expected = f"expected one of the {size} segments of {where}, from 0"
            raise InputError(*place(i), f"segment {segment}: {expected}")
    missing = size - len(segments)
    return [f"{missing} of {size} segments of {where} have no candidates"] if missing else []


def check_numbers(segments: Sequence[str], place: Place) -> None:
    """Refuse two ids that are one number: their candidates would compete apart for one reference."""
    for i, (one, other) in enumerate(pairwise(segments), start=1):
        if segment_number(other) is not None and segment_number(one) == segment_number(other):
            raise InputError(*place(i), f"segment {other} is called {one} elsewhere")


def has_bars(data: bytes | bytearray) -> bool:
    """Whether the first line is of the dialect with ``|||``, which the compiled reader reads."""
    line = data[: data.find(b"\n") + 1 or len(data)].decode()
    return reader_of(line.rstrip("\r\n")) is read_bars


def _numbered(
    path: PathLike, data: bytes | bytearray, watch: Watch
) -> Iterator[tuple[PathLike, int, Candidate]]:
    lines = enumerate(data.decode().removesuffix("\n").split("\n"), start=1)
    for number, raw in read_list(path, watch=watch, lines=lines):
        yield path, number, raw


def _scan(files: Sequence[tuple[PathLike, bytes | bytearray]], tune: Sequence[str] | None) -> NBest:
    scanned = Scanned(files)
    return arrange_scanned(scanned, scanned.labels.plan(tune))


def arrange_scanned(scanned: Scanned, plan: ColumnPlan) -> NBest:
    """Put the lines of lists with ``|||`` into arrays, segment by segment, each distinct candidate once."""
    lines, texts = scanned.lines, scanned.texts
    size = len(texts)
    segments, segment_of = _segments(lines.buffer, scanned.ids)
    columns, sparse = scanned.labels.read(scanned.fields, scanned.scores, plan)
    equals = np.empty(size, np.int64)
    scan.first_equals(lines.buffer, segment_of, texts, equals)
    keep = np.empty(size, np.bool_)
    count = scan.distinct_lines(equals, columns, sparse.rows, sparse.columns, sparse.values, keep)
    order = np.argsort(segment_of, kind="stable")
    order = order[keep[order]]
    offsets = np.searchsorted(segment_of[order], np.arange(len(segments) + 1)).astype(np.int64)
    if count < size or (order[1:] < order[:-1]).any():
        first = np.full(size, count, np.int64)  # of each text the first kept line in the new order
        np.minimum.at(first, equals[order], np.arange(count))
        equals, texts, segment_of = first[equals[order]], texts[order], segment_of[order]
        columns, sparse = np.ascontiguousarray(columns[:, order]), reordered(sparse, order)
    candidates = Candidates(lines.buffer, texts, equals, segment_of, lambda i: lines.parse(int(order[i])))
    return NBest(
        segments,
        offsets,
        candidates,
        plan.names,
        columns.T,
        sparse if sparse.names else None,
        lambda i: lines.place(int(order[i])),
        plan.open_ended,
    )


def _segments(buffer: Bytes, ids: Ints) -> tuple[list[str], Ids]:
    """The ids in order, numbers by their value, and the index of each line's."""
    groups = np.empty(len(ids), np.int32)
    count = group_lines(buffer, ids, groups)
    firsts = np.searchsorted(groups, np.arange(count))
    names = [buffer[a:b].tobytes().decode() for a, b in ids[firsts]]
    segments = in_order(names)
    place = {segment: i for i, segment in enumerate(segments)}
    return segments, np.array([place[segment] for segment in names], np.int32)[groups]


def in_order(names: Iterable[str]) -> list[str]:
    """Numbers by their value, then the others by their letters."""
    numbers = {name: segment_number(name) for name in names}
    return sorted(numbers, key=lambda name: (numbers[name] is None, numbers[name] or 0, name))


def arrange(
    candidates: Iterable[Candidate | tuple[PathLike, int, Candidate]], tune: Sequence[str] | None = None
) -> NBest:
    """Put candidates into arrays; those with the same text and features count once, absent features are 0."""
    by_segment: dict[str, dict[object, tuple[PathLike, int, Candidate]]] = {}
    for number, given in enumerate(candidates, start=1):
        path, line, raw = given if isinstance(given, tuple) else ("candidates", number, given)
        key = (raw.text, frozenset((name, value) for name, value in raw.features.items() if value))
        by_segment.setdefault(raw.segment, {}).setdefault(key, (path, line, raw))
    segments = in_order(by_segment)
    placed = [entry for segment in segments for entry in by_segment[segment].values()]
    raws = [raw for _, _, raw in placed]
    names = tuple(dict.fromkeys(chain.from_iterable(dict.fromkeys(tuple(raw.features) for raw in raws))))
    label_of = {name: re.sub(r"_[0-9]+$", "", name) for name in names}
    check_tuned(tune, {*names, *label_of.values()})
    dense = names
    if too_many(len(names), tune):
        dense = tuple(name for name in names if name in (tune or ()) or label_of[name] in (tune or ()))
    features = np.zeros((len(dense), len(raws)))
    for i, raw in enumerate(raws):
        features[:, i] = [raw.features.get(name, 0.0) for name in dense]
    sizes = [len(by_segment[segment]) for segment in segments]
    data = [raw.text.encode() for raw in raws]
    ends = np.cumsum([0, *map(len, data)])
    texts = np.stack([ends[:-1], ends[1:]], axis=1).astype(np.int64)
    buffer = np.frombuffer(b"".join(data), np.uint8)
    segment_of = np.repeat(np.arange(len(segments), dtype=np.int32), sizes)
    equals = np.empty(len(raws), np.int64)
    scan.first_equals(buffer, segment_of, texts, equals)
    return NBest(
        segments,
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        Candidates(buffer, texts, equals, segment_of, raws.__getitem__),
        dense,
        features.T,
        _held(raws, [name for name in names if name not in set(dense)]),
        lambda i: placed[i][:2],
    )


def _held(raws: Sequence[Candidate], names: Sequence[str]) -> Sparse | None:
    if not names:
        return None
    column = {name: i for i, name in enumerate(names)}
    pairs = [
        [(column[name], value) for name, value in raw.features.items() if name in column] for raw in raws
    ]
    rows = np.concatenate([[0], np.cumsum([len(row) for row in pairs])]).astype(np.int64)
    flat = list(chain.from_iterable(pairs))
    return Sparse(
        tuple(names),
        rows,
        np.array([c for c, _ in flat], np.int32),
        np.array([v for _, v in flat], np.float64),
    )
