"""N-best lists as arrays: the candidates of each segment side by side, one row of features each."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from mert import scan
from mert.search import winners
from rypt.nbest import parse_line, read_raw
from rypt.records import RawCandidate
from rypt.text import FormatError, InputError, PathLike, RyptError, Watch, read_bytes, unwatched

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ids = NDArray[np.int32]
Bytes = NDArray[np.uint8]
MAX_DENSE = 500  # features tuned unless named


class Candidates(Sequence[RawCandidate]):
    """Candidates whose texts lie in one buffer; what else a line holds is read when one asks for it.

    ``texts`` (candidates, 2) says where each text begins and ends in ``buffer``, ``equals`` which candidate is the
    first of its segment with the same text, ``segments`` the index of its segment.
    """

    def __init__(
        self, buffer: Bytes, texts: Ints, equals: Ints, segments: Ids, parse: Callable[[int], RawCandidate]
    ) -> None:
        self.buffer, self.texts, self.equals, self.segments = buffer, texts, equals, segments
        self._parse = parse

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, index: int) -> RawCandidate: ...
    @overload
    def __getitem__(self, index: slice) -> list[RawCandidate]: ...
    def __getitem__(self, index: int | slice) -> RawCandidate | list[RawCandidate]:
        if isinstance(index, slice):
            return [self._parse(i) for i in range(*index.indices(len(self)))]
        return self._parse(range(len(self))[index])

    def text(self, index: int) -> str:
        """The text of one candidate."""
        start, stop = self.texts[index]
        return self.buffer[start:stop].tobytes().decode()


@dataclass(frozen=True, slots=True)
class Sparse:
    """Features that few candidates have: those of candidate c are ``columns[rows[c]:rows[c + 1]]`` with ``values``."""

    names: tuple[str, ...]
    rows: Ints
    columns: Ids
    values: Floats

    def dot(self, weights: Floats) -> Floats:
        """What these features add to the model score of each candidate."""
        parts = np.append(self.values * weights[self.columns], 0.0)
        sums = np.add.reduceat(parts, self.rows[:-1])
        return np.asarray(np.where(np.diff(self.rows) > 0, sums, 0.0))


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

    def best(self, weights: Floats) -> Ints:
        """The candidate of each segment with the highest model score; the first of equals."""
        chosen = np.empty(len(self.segments), np.int64)
        winners(self.offsets, self.features @ weights, chosen)
        return chosen

    def sparse_dot(self, weights: Floats) -> Floats | None:
        """What held sparse features add to each candidate's model score."""
        return None if self.sparse is None else self.sparse.dot(weights)

    def check_segments(self, known: Callable[[str], bool], expected: str) -> None:
        """Refuse a segment that is not known, with the file and line of its first candidate."""
        for segment, first in zip(self.segments, self.offsets, strict=False):
            if not known(segment):
                raise InputError(*self.places(int(first)), f"segment {segment}: expected {expected}")


def read_lists(paths: Sequence[PathLike], watch: Watch = unwatched, *, tune: Sequence[str] | None = None) -> NBest:
    """Read and merge n-best lists; a candidate with the same text and features counts once.

    Features get columns of their own unless they are sparse, as in Moses a label with ``_`` and a space before its
    value; sparse ones do that ``tune`` names. Where there are too many, only those get columns that ``tune`` names or
    that every line must have.
    """
    files = [(path, read_bytes(path)) for path in paths]
    for path, data in files:
        if not data or data.isspace():
            raise InputError(path, None, "expected candidates, found an empty list")
    barred = [file for file in files if _has_bars(file[1])]
    if len(barred) == len(files):
        lists = _scan(files, tune)
    else:
        if barred:  # what is wrong inside a list is said as if it came alone
            _Scanned(barred)
        lists = arrange(chain.from_iterable(_numbered(path, data, watch) for path, data in files), tune)
    _check_numbers(lists)
    return lists


def segment_number(segment: str) -> int | None:
    """The number that an id is, None for another id.

    >>> segment_number("007"), segment_number("news-7")
    (7, None)
    """
    return int(segment) if re.fullmatch("[0-9]{1,18}", segment) else None


def _check_numbers(lists: NBest) -> None:
    """Refuse two ids that are one number: their candidates would compete apart for one reference."""
    for i, (one, other) in enumerate(pairwise(lists.segments), start=1):
        if segment_number(other) is not None and segment_number(one) == segment_number(other):
            raise InputError(*lists.places(int(lists.offsets[i])), f"segment {other} is called {one} elsewhere")


def _has_bars(data: bytes) -> bool:
    """Whether the first line is of the kind with ``|||``."""
    line = data[: data.find(b"\n") + 1 or len(data)]
    return b"|||" in line and not line.startswith(b"{")


def _numbered(path: PathLike, data: bytes, watch: Watch) -> Iterator[tuple[PathLike, int, RawCandidate]]:
    for number, raw in read_raw(path, watch=watch, data=data):
        yield path, number, raw


class _Lines:
    """The lines of several files, one after the other in one buffer."""

    def __init__(self, files: Sequence[tuple[PathLike, bytes]]) -> None:
        self.paths = [path for path, _ in files]
        whole = [data if data.endswith(b"\n") else data + b"\n" for _, data in files]
        self.buffer = np.frombuffer(whole[0] if len(whole) == 1 else b"".join(whole), np.uint8)
        ends = np.flatnonzero(self.buffer == 10)
        self.starts = np.concatenate([[0], ends + 1]).astype(np.int64)
        self.firsts = np.searchsorted(ends, np.cumsum([0, *map(len, whole)]))  # the first line of each file

    def place(self, line: int) -> tuple[PathLike, int]:
        """File and number of a line."""
        file = int(np.searchsorted(self.firsts, line, "right")) - 1
        return self.paths[file], line - int(self.firsts[file]) + 1

    def text(self, line: int) -> str:
        """One line without its end."""
        return self.buffer[self.starts[line] : self.starts[line + 1]].tobytes().rstrip(b"\r\n").decode()

    def parse(self, line: int) -> RawCandidate:
        """Read one line whole."""
        return parse_line(self.text(line))

    def refuse(self, line: int, otherwise: Callable[[], str]) -> InputError:
        """What is wrong with a line, as the reader of single lines says it, or in other words."""
        try:
            self.parse(line)
        except FormatError as error:
            return InputError(*self.place(line), str(error))
        return InputError(*self.place(line), otherwise())


class _Scanned:
    """The lines of lists with ``|||``, where their fields stand, and their labels."""

    def __init__(self, files: Sequence[tuple[PathLike, bytes]]) -> None:
        self.lines = _Lines(files)
        size = len(self.lines.starts) - 1
        self.ids, self.texts, self.fields, self.scores = (np.empty((size, 2), np.int64) for _ in range(4))
        bad = scan.find_fields(
            self.lines.buffer, self.lines.starts, self.ids, self.texts, self.fields, self.scores, scan.WORD_SCORES
        )
        if bad >= 0:
            raise self.lines.refuse(bad, lambda: "expected id ||| candidate ||| features ||| score")
        self.labels = _Labels(self.lines, self.fields)


def _scan(files: Sequence[tuple[PathLike, bytes]], tune: Sequence[str] | None) -> NBest:
    scanned = _Scanned(files)
    lines, texts = scanned.lines, scanned.texts
    size = len(texts)
    segments, segment_of = _segments(lines.buffer, scanned.ids)
    names, columns, sparse = scanned.labels.read(scanned.fields, scanned.scores, tune)
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
        columns, sparse = np.ascontiguousarray(columns[:, order]), _reordered(sparse, order)
    candidates = Candidates(lines.buffer, texts, equals, segment_of, lambda i: lines.parse(int(order[i])))
    return NBest(
        segments, offsets, candidates, names, columns.T, sparse if sparse.names else None,
        lambda i: lines.place(int(order[i])),
    )  # fmt: skip


def _segments(buffer: Bytes, ids: Ints) -> tuple[list[str], Ids]:
    """The ids in order, numbers by their value, and the index of each line's."""
    groups = np.empty(len(ids), np.int32)
    count = scan.group_lines(buffer, ids, groups)
    firsts = np.searchsorted(groups, np.arange(count))
    found = [buffer[a:b].tobytes().decode() for a, b in ids[firsts]]
    segments = _in_order(found)
    place = {segment: i for i, segment in enumerate(segments)}
    return segments, np.array([place[segment] for segment in found], np.int32)[groups]


def _in_order(names: Iterable[str]) -> list[str]:
    """Numbers by their value, then the others by their letters."""
    numbers = {name: segment_number(name) for name in names}
    return sorted(numbers, key=lambda name: (numbers[name] is None, numbers[name] or 0, name))


def _sorted(sparse: Sparse) -> Sparse:
    """The same with the features of each candidate in the order of their columns, so that equal ones look equal."""
    row = np.repeat(np.arange(len(sparse.rows) - 1), np.diff(sparse.rows))
    if not ((np.diff(sparse.columns) < 0) & (np.diff(row) == 0)).any():
        return sparse
    order = np.lexsort((sparse.columns, row))
    return Sparse(sparse.names, sparse.rows, sparse.columns[order], sparse.values[order])


def _reordered(sparse: Sparse, order: Ints) -> Sparse:
    sizes = np.diff(sparse.rows)[order]
    rows = np.concatenate([[0], np.cumsum(sizes)])
    take = np.arange(rows[-1]) - np.repeat(rows[:-1] - sparse.rows[:-1][order], sizes)
    return Sparse(sparse.names, rows, sparse.columns[take], sparse.values[take])


class _Labels:
    """The labels of the feature fields of a list, and the columns they stand for."""

    def __init__(self, lines: _Lines, fields: Ints) -> None:
        self.lines = lines
        labels, known, self.slots, bad, label = scan.find_labels(lines.buffer, fields)
        self.labels = labels[:known]
        self.names = ["F", *(lines.buffer[a:b].tobytes().decode() for a, b in self.labels[1:, : scan.STOP + 1])]
        if bad >= 0:
            raise lines.refuse(bad, lambda: self._mismatch(bad, label))

    def _mismatch(self, bad: int, label: int) -> str:
        name, expected = self.names[label], int(self.labels[label, scan.VALUES])
        found = len(self.lines.parse(bad).features)
        path, number = self.lines.place(0)
        try:
            before = len(self.lines.parse(0).features)
        except FormatError as error:
            return f"expected features like line {number} of {path}, but there: {error}"
        what = f"{expected} value{'s' * (expected != 1)} of {name}" if expected >= 0 else f"no feature {name}"
        if label == scan.UNNAMED:
            what = "no numbers without a name" if expected < 0 else f"{expected} numbers"
        return f"expected {before} features like line {number} of {path}, with {what}, found {found}"

    def column_names(self, label: int) -> list[str]:
        """``Name`` for one value, else ``Name_0``, ``Name_1`` …."""
        size = max(int(self.labels[label, scan.VALUES]), 0)
        return [self.names[label]] if size == 1 else [f"{self.names[label]}_{i}" for i in range(size)]

    def read(self, fields: Ints, scores: Ints, tune: Sequence[str] | None) -> tuple[tuple[str, ...], Floats, Sparse]:
        """All features: the names and columns of those that are not sparse, and the sparse ones."""
        by_label = [self.column_names(label) for label in range(len(self.names))]
        self._check_names(by_label)
        dense = self._dense(by_label, tune)
        firsts = np.zeros(len(by_label), np.int64)
        names: list[str] = []
        sparse_names: list[str] = []
        for label, columns in enumerate(by_label):
            firsts[label] = len(names) if dense[label] else -1 - len(sparse_names)
            (names if dense[label] else sparse_names).extend(columns)
        size = len(fields)
        room = self._values_in(fields) if sparse_names else 0
        matrix = np.zeros((len(names), size))
        rows, columns_, values = np.empty(size + 1, np.int64), np.empty(room, np.int32), np.empty(room)
        hard = np.empty((0, 4), np.int64)
        while True:
            bad, hards = scan.fill_features(
                self.lines.buffer, fields, scores, self.labels, self.slots, firsts, matrix, rows, columns_, values, hard
            )
            if bad >= 0:
                raise self.lines.refuse(bad, lambda: "expected numbers in the features")
            if hards <= len(hard):
                break
            hard = np.empty((hards, 4), np.int64)
        self._read_hard(hard, matrix, values)
        count = int(rows[-1])
        return tuple(names), matrix, _sorted(Sparse(tuple(sparse_names), rows, columns_[:count], values[:count]))

    def _read_hard(self, hard: Ints, matrix: Floats, values: Floats) -> None:
        """Round the numbers that were left, each to the nearest."""
        for line, column, start, stop in hard:
            number = float(self.lines.buffer[start:stop].tobytes())
            if not np.isfinite(number):
                raise self.lines.refuse(int(line), lambda: "expected a finite number")
            if column < 0:
                values[-1 - column] = number
            elif column < len(matrix):
                matrix[column, line] = number

    def _values_in(self, fields: Ints) -> int:
        """At most so many numbers can stand in the feature fields."""
        return int((fields[:, 1] - fields[:, 0]).sum()) // 2 + len(fields)

    def _check_names(self, by_label: list[list[str]]) -> None:
        """Refuse two features of one name, such as TM_0 beside the first value of TM."""
        owner: dict[str, int] = {}
        for label, columns in enumerate(by_label):
            for name in columns:
                if owner.setdefault(name, label) != label:
                    line = int(np.searchsorted(self.lines.starts, self.labels[label, scan.FIRST], "right")) - 1
                    raise self.lines.refuse(line, lambda name=name: f"the feature {name} is there twice")  # type: ignore[misc]

    def _dense(self, by_label: list[list[str]], tune: Sequence[str] | None) -> list[bool]:
        """Which labels get columns of their own."""
        after = [self.lines.buffer[row[scan.STOP] + 1] for row in self.labels[1:]]
        glued = [False, *(byte not in b" \t" for byte in after)]
        must = [not optional for optional in self.labels[:, scan.OPTIONAL]]
        named = [
            tune is not None and not {self.names[label], *columns}.isdisjoint(tune)
            for label, columns in enumerate(by_label)
        ]
        _check_tuned(tune, {*self.names, *chain.from_iterable(by_label)})
        dense = [a or b for a, b in zip(must, glued, strict=True)]
        if _too_many(sum(len(columns) for label, columns in enumerate(by_label) if dense[label]), tune):
            dense = must
        return [a or b for a, b in zip(dense, named, strict=True)]


def _check_tuned(tune: Sequence[str] | None, known: set[str]) -> None:
    missing = sorted(set(tune or ()) - known)
    if missing:
        raise RyptError(f"the lists have no feature {', '.join(missing)}")


def _too_many(count: int, tune: Sequence[str] | None) -> bool:
    """Whether the features are too many to have columns; which do then must have been said."""
    if count > MAX_DENSE and not tune:
        raise RyptError(f"the lists have {count} features: name those to tune with --tune, the others are held")
    return count > MAX_DENSE


def arrange(
    candidates: Iterable[RawCandidate | tuple[PathLike, int, RawCandidate]], tune: Sequence[str] | None = None
) -> NBest:
    """Put candidates into arrays; those with the same text and features count once, absent features are 0."""
    by_segment: dict[str, dict[object, tuple[PathLike, int, RawCandidate]]] = {}
    for number, given in enumerate(candidates, start=1):
        path, line, raw = given if isinstance(given, tuple) else ("candidates", number, given)
        key = (raw.text, frozenset((name, value) for name, value in raw.features.items() if value))
        by_segment.setdefault(raw.segment, {}).setdefault(key, (path, line, raw))
    segments = _in_order(by_segment)
    placed = [entry for segment in segments for entry in by_segment[segment].values()]
    raws = [raw for _, _, raw in placed]
    names = tuple(dict.fromkeys(chain.from_iterable(dict.fromkeys(tuple(raw.features) for raw in raws))))
    label_of = {name: re.sub(r"_[0-9]+$", "", name) for name in names}
    _check_tuned(tune, {*names, *label_of.values()})
    dense = names
    if _too_many(len(names), tune):
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


def _held(raws: Sequence[RawCandidate], names: Sequence[str]) -> Sparse | None:
    if not names:
        return None
    column = {name: i for i, name in enumerate(names)}
    found = [[(column[name], value) for name, value in raw.features.items() if name in column] for raw in raws]
    rows = np.concatenate([[0], np.cumsum([len(row) for row in found])]).astype(np.int64)
    flat = list(chain.from_iterable(found))
    return Sparse(
        tuple(names), rows, np.array([c for c, _ in flat], np.int32), np.array([v for _, v in flat], np.float64)
    )
