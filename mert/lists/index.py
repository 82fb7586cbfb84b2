"""Where the candidates of each segment stand in lists with ``|||``, so that a part of the segments can be read alone.

`index_range` goes through a part of a file in blocks, so that memory stays bounded; `merge` puts the parts together.
The labels of all lines are known then, and every piece is read into the same columns (`read_pieces`).
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import numpy as np

from mert.lists.arrays import NBest, arrange_scanned, check_numbers, in_order
from mert.lists.columns import ColumnPlan, Label, Scanned, plan_columns
from mert.lists.line_fields import group_lines
from rypt.text import InputError, PathLike, open_binary_input

BLOCK = 1 << 23  # bytes looked at at once
MARK = b"\xef\xbb\xbf"  # a byte order mark, which may begin a file
CHANGED = "the list was changed while it was read"


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a file: the lines that begin from ``start`` up to ``stop``, None for the end of the file."""

    path: PathLike
    start: int = 0
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive lines of a file: ``start`` to ``stop`` in bytes, ``line`` the number of the first."""

    path: PathLike
    start: int
    stop: int
    line: int


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive lines of one segment."""

    segment: str
    piece: Piece
    lines: int


@dataclass(frozen=True, slots=True)
class RangeIndex:
    """What is in a part of a file: runs, labels with the places where they first stand, and the number of lines.

    Lines count from the beginning of the part; the first line of all lists is line 0.
    """

    runs: list[Run]
    labels: dict[str, tuple[Label, tuple[PathLike, int]]]
    lines: int


def ranges_of(path: PathLike, size: int) -> list[Range]:
    """Parts of a plain file of at most ``size`` bytes; a gzip file, or standard input, is one part."""
    if str(path).endswith(".gz") or str(path) == "-":
        return [Range(path)]
    try:
        end = os.stat(path).st_size
    except OSError as error:
        raise InputError(path, None, error.strerror or str(error)) from None
    return [Range(path, start, min(start + size, end)) for start in range(0, max(end, 1), size)]


def first_line(path: PathLike, scratch: Path) -> bytes:
    """The first line of a list, which says what features all lines have."""
    with open_binary_input(local_copy(path, scratch) if str(path) == "-" else path) as stream:
        line: bytes = stream.readline()
    line = line.removeprefix(MARK)
    if not line.strip():
        raise InputError(path, None, "expected candidates, found an empty list")
    return line if line.endswith(b"\n") else line + b"\n"


def index_range(part: Range, head: tuple[PathLike, bytes], scratch: Path, line: int = 1) -> RangeIndex:
    """Find the runs and labels of a part of a file; ``head`` is the first line of all lists, and its file.

    Line numbers count from ``line``, that of the first line, which is not known where a part begins inside a file; an
    error has the right one.
    """
    runs: list[Run] = []
    labels: dict[str, tuple[Label, tuple[PathLike, int]]] = {}
    number = line
    try:
        for place, data in _blocks(part, scratch):
            _check_text(part.path, data, number)
            scanned = Scanned([head, (part.path, data)], [1, number])
            for label in scanned.labels.labels_met():
                in_head = label.first < len(head[1])
                _add_label(
                    labels, label, (head[0], 0) if in_head else scanned.lines.place_of_byte(label.first)
                )
            _add_runs(runs, scanned, part.path, place, place + len(data), number)
            number += len(scanned.ids) - 1
    except InputError:
        if part.start and line == 1:
            return index_range(part, head, scratch, _lines_before(part, scratch) + 1)
        raise
    return RangeIndex(runs, labels, number - line)


def _add_label(
    labels: dict[str, tuple[Label, tuple[PathLike, int]]], label: Label, place: tuple[PathLike, int]
) -> None:
    """Add a label; one that has another number of values than before is refused."""
    known, first = labels.setdefault(label.name, (label, place))
    if known.values < 0 <= label.values:
        labels[label.name] = label, place
    elif label.values >= 0 and known.values != label.values:
        expected = (
            f"expected {known.values} values of {label.name or 'F'} as in line {first[1]} of {first[0]}"
        )
        raise InputError(*place, f"{expected}, found {label.values}")


def _blocks(part: Range, scratch: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a part of a file, many at a time, and where they begin in it."""
    with open_binary_input(local_copy(part.path, scratch)) as stream:
        place = part.start
        if place:
            stream.seek(place - 1)
            place += len(stream.readline()) - 1  # a line that began before belongs to the part before
        elif stream.read(len(MARK)) == MARK:
            place = len(MARK)
        else:
            stream.seek(0)
        while part.stop is None or place < part.stop:
            data: bytes = stream.read(BLOCK if part.stop is None else min(BLOCK, part.stop - place))
            if not data:
                break
            if not data.endswith(b"\n"):
                data += stream.readline()
            yield place, data
            place += len(data)


def _lines_before(part: Range, scratch: Path) -> int:
    """The number of lines of a file that begin before a part of it."""
    count, place = 0, 0
    with open_binary_input(local_copy(part.path, scratch)) as stream:
        while place < part.start - 1 and (data := stream.read(min(BLOCK, part.start - 1 - place))):
            count += data.count(b"\n")
            place += len(data)
    return count + 1


def _check_text(path: PathLike, data: bytes, line: int) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        number = line + data.count(b"\n", 0, error.start)
        raise InputError(path, number, f"expected UTF-8, found byte 0x{data[error.start]:02x}") from None
    if (nul := data.find(b"\0")) >= 0:
        raise InputError(path, line + data.count(b"\n", 0, nul), "expected text, found a NUL character")


def _add_runs(runs: list[Run], scanned: Scanned, path: PathLike, place: int, end: int, line: int) -> None:
    """Add the runs of lines with one id; a run that goes on from the block before is made longer."""
    buffer, ids, starts = scanned.lines.buffer, scanned.ids[1:], scanned.lines.starts[1:]
    skipped = int(starts[0])  # the first line of all, which comes before the block
    groups = np.empty(len(ids), np.int32)
    count = group_lines(buffer, ids, groups)
    bounds = np.searchsorted(groups, np.arange(count + 1))
    for first, last in pairwise(bounds.tolist()):
        name = buffer[ids[first, 0] : ids[first, 1]].tobytes().decode()
        start, stop = (min(place + int(starts[i]) - skipped, end) for i in (first, last))
        if runs and runs[-1].segment == name and runs[-1].piece.stop == start:
            before = runs.pop()
            runs.append(Run(name, replace(before.piece, stop=stop), before.lines + last - first))
        else:
            runs.append(Run(name, Piece(path, start, stop, line + first), last - first))


@dataclass(frozen=True, slots=True)
class ListIndex:
    """Where the candidates of each segment stand in the lists, and the columns of their features."""

    segments: list[str]
    pieces: list[list[Piece]]  # of each segment
    paths: list[PathLike]
    plan: ColumnPlan

    def place(self, segment: int) -> tuple[PathLike, int]:
        """File and line of the first candidate of a segment."""
        first = self.pieces[segment][0]
        return first.path, first.line

    def divide(self, size: int, least: int = 1) -> "list[slice]":
        """The segments in consecutive shares of about ``size`` bytes, at least ``least`` shares."""
        weights = np.array([sum(piece.stop - piece.start for piece in pieces) for pieces in self.pieces])
        count = min(len(weights), max(least, -(-int(weights.sum()) // size)))
        middles = np.cumsum(weights) - weights / 2
        share_of = np.minimum((middles * count / weights.sum()).astype(np.int64), count - 1)
        bounds = [0, *(np.flatnonzero(np.diff(share_of)) + 1).tolist(), len(weights)]
        return [slice(a, b) for a, b in pairwise(bounds)]

    def pieces_of(self, segments: slice) -> list[Piece]:
        """The pieces of the files that some segments stand in, neighbours joined, in the order of the lists."""
        order = {path: i for i, path in enumerate(self.paths)}
        chosen = sorted(
            (piece for pieces in self.pieces[segments] for piece in pieces),
            key=lambda p: (order[p.path], p.start),
        )
        joined: list[Piece] = []
        for piece in chosen:
            if joined and joined[-1].path == piece.path and joined[-1].stop == piece.start:
                joined[-1] = replace(joined[-1], stop=piece.stop)
            else:
                joined.append(piece)
        return joined


def merge(parts: Iterable[tuple[Range, RangeIndex]], tune: Sequence[str] | None) -> ListIndex:
    """Put together what is in the parts of all lists, in their order."""
    labels: dict[str, tuple[Label, tuple[PathLike, int]]] = {}
    pieces: dict[str, list[Piece]] = {}
    lines: dict[PathLike, int] = {}
    for part, index in parts:
        before = lines.setdefault(part.path, 0)
        for label, place in index.labels.values():
            _add_label(labels, label, (place[0], place[1] + before if place[1] else 1))
        for run in index.runs:
            pieces.setdefault(run.segment, []).append(replace(run.piece, line=run.piece.line + before))
        lines[part.path] += index.lines
    for path, count in lines.items():
        if not count:
            raise InputError(path, None, "expected candidates, found an empty list")
    segments = in_order(pieces)
    plan = plan_columns(
        [label for label, _ in labels.values()],
        tune,
        lambda label, text: InputError(*labels[label.name][1], text),
    )
    merged = ListIndex(segments, [pieces[segment] for segment in segments], list(lines), plan)
    check_numbers(merged.segments, merged.place)
    return merged


def read_pieces(pieces: Sequence[Piece], plan: ColumnPlan, scratch: Path) -> NBest:
    """Read the candidates in some pieces of the lists, into the columns of all."""
    files = [(piece.path, _read(piece, scratch)) for piece in pieces]
    scanned = Scanned(files, [piece.line for piece in pieces])
    if not {label.name for label in scanned.labels.labels_met()} <= plan.firsts.keys():
        raise InputError(pieces[0].path, None, CHANGED)
    return arrange_scanned(scanned, plan)


def _read(piece: Piece, scratch: Path) -> bytes:
    with open_binary_input(local_copy(piece.path, scratch)) as stream:
        stream.seek(piece.start)
        data: bytes = stream.read(piece.stop - piece.start)
    if len(data) < piece.stop - piece.start:
        raise InputError(piece.path, None, CHANGED)
    return data


def local_copy(path: PathLike, scratch: Path) -> PathLike:
    """A file of which parts can be read: the file itself, or its text unpacked in ``scratch``, made if it is not there.

    Standard input is copied, too.
    """
    if not str(path).endswith(".gz") and str(path) != "-":
        return path
    copy = scratch / f"{sha256(str(path).encode()).hexdigest()[:16]}.nbest"
    if not copy.exists():
        scratch.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.NamedTemporaryFile(dir=scratch, delete=False) as file,
            open_binary_input(path) as stream,
        ):
            shutil.copyfileobj(stream, file, BLOCK)
        Path(file.name).rename(copy)
    return copy
