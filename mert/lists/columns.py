"""The lines of lists with ``|||``, their labels, and the columns of features that the labels stand for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mert.lists import scan
from mert.lists.line_fields import SPACE, TAB, WORD_SCORES, line_starts
from rypt.arrays import Floats, Ids, Ints
from rypt.records import Candidate
from rypt.text import InputError, PathLike, RyptError
from rypt.texts.formats import read_bars

MAX_DENSE = 500  # features tuned unless named


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


def sorted_columns(sparse: Sparse) -> Sparse:
    """The same with the features of each candidate in the order of their columns, so that equal ones look equal."""
    row = np.repeat(np.arange(len(sparse.rows) - 1), np.diff(sparse.rows))
    if not ((np.diff(sparse.columns) < 0) & (np.diff(row) == 0)).any():
        return sparse
    order = np.lexsort((sparse.columns, row))
    return Sparse(sparse.names, sparse.rows, sparse.columns[order], sparse.values[order])


def reordered(sparse: Sparse, order: Ints) -> Sparse:
    """The features of the candidates in another order."""
    sizes = np.diff(sparse.rows)[order]
    rows = np.concatenate([[0], np.cumsum(sizes)])
    take = np.arange(rows[-1]) - np.repeat(rows[:-1] - sparse.rows[:-1][order], sizes)
    return Sparse(sparse.names, rows, sparse.columns[take], sparse.values[take])


class Lines:
    """The lines of several files, or of pieces of them, one after the other in one buffer.

    ``numbers`` are the numbers of the first line of each piece in its file, 1 unless given.
    """

    def __init__(
        self, files: Sequence[tuple[PathLike, bytes | bytearray]], numbers: Sequence[int] | None = None
    ) -> None:
        self.paths = [path for path, _ in files]
        self.numbers = numbers or [1] * len(files)
        whole = [data if data.endswith(b"\n") else data + b"\n" for _, data in files]
        counts = [data.count(b"\n") for data in whole]
        self.buffer = np.frombuffer(whole[0] if len(whole) == 1 else b"".join(whole), np.uint8)
        self.buffer.flags.writeable = (
            False  # as all buffers of texts, so that loops are compiled for one kind
        )
        self.starts = np.empty(sum(counts) + 1, np.int64)
        line_starts(self.buffer, self.starts)
        self.firsts = np.cumsum([0, *counts])  # the first line of each file

    def place(self, line: int) -> tuple[PathLike, int]:
        """File and number of a line."""
        file = int(np.searchsorted(self.firsts, line, "right")) - 1
        return self.paths[file], line - int(self.firsts[file]) + self.numbers[file]

    def place_of_byte(self, byte: int) -> tuple[PathLike, int]:
        """File and number of the line that a byte of the buffer is in."""
        return self.place(int(np.searchsorted(self.starts, byte, "right")) - 1)

    def text(self, line: int) -> str:
        """One line without its end."""
        return self.buffer[self.starts[line] : self.starts[line + 1]].tobytes().rstrip(b"\r\n").decode()

    def parse(self, line: int) -> Candidate:
        """Read one line whole."""
        path, number = self.place(line)
        return next(read_bars(path, [(number, self.text(line))]))[1]

    def refuse(self, line: int, otherwise: Callable[[], str]) -> InputError:
        """What is wrong with a line, as the reader of single lines says it, or in other words."""
        try:
            self.parse(line)
        except InputError as error:
            return error
        return InputError(*self.place(line), otherwise())


class Scanned:
    """The lines of lists with ``|||``, where their fields stand, and their labels."""

    def __init__(
        self, files: Sequence[tuple[PathLike, bytes | bytearray]], numbers: Sequence[int] | None = None
    ) -> None:
        self.lines = Lines(files, numbers)
        size = len(self.lines.starts) - 1
        self.ids, self.texts, self.fields, self.scores = (np.empty((size, 2), np.int64) for _ in range(4))
        bad = scan.find_fields(
            self.lines.buffer, self.lines.starts, self.ids, self.texts, self.fields, self.scores, WORD_SCORES
        )
        if bad >= 0:
            raise self.lines.refuse(bad, lambda: "expected id ||| candidate ||| features ||| score")
        self.labels = FeatureLabels(self.lines, self.fields)


class FeatureLabels:
    """The labels of the feature fields of a list, and the columns they stand for."""

    def __init__(self, lines: Lines, fields: Ints) -> None:
        self.lines = lines
        labels, known, self.slots, bad, label = scan.find_labels(lines.buffer, fields)
        self.labels = labels[:known]
        self.names = [
            "F",
            *(lines.buffer[a:b].tobytes().decode() for a, b in self.labels[1:, : scan.STOP + 1]),
        ]
        if bad >= 0:
            raise lines.refuse(bad, lambda: self._mismatch(bad, label))

    def _mismatch(self, bad: int, label: int) -> str:
        name, expected = self.names[label], int(self.labels[label, scan.VALUES])
        count = len(self.lines.parse(bad).features)
        path, number = self.lines.place(0)
        try:
            before = len(self.lines.parse(0).features)
        except InputError as error:
            return f"expected features like line {number} of {path}, but there: {error}"
        what = f"{expected} value{'s' * (expected != 1)} of {name}" if expected >= 0 else f"no feature {name}"
        if label == scan.UNNAMED:
            what = "no numbers without a name" if expected < 0 else f"{expected} numbers"
        return f"expected {before} features like line {number} of {path}, with {what}, found {count}"

    def labels_met(self) -> "list[Label]":
        """The labels, in the order in which they first stand in the lines."""
        facts = self.labels[:, [scan.FIRST, scan.VALUES, scan.OPTIONAL]].tolist()
        return [
            Label(name if i else "", values, bool(optional), glued, first)
            for i, (name, glued, (first, values, optional)) in enumerate(
                zip(self.names, self._glued(), facts, strict=True)
            )
        ]

    def plan(self, tune: Sequence[str] | None) -> "ColumnPlan":
        """Which labels get columns of their own."""

        def refuse(label: Label, text: str) -> InputError:
            line = int(np.searchsorted(self.lines.starts, label.first, "right")) - 1
            return self.lines.refuse(line, lambda: text)

        return plan_columns(self.labels_met(), tune, refuse)

    def read(self, fields: Ints, scores: Ints, plan: "ColumnPlan") -> tuple[Floats, Sparse]:
        """All features: the columns of those that are not sparse, and the sparse ones."""
        firsts = np.array([plan.firsts[name] for name in ["", *self.names[1:]]], np.int64)
        sparse_names = plan.sparse_names
        size = len(fields)
        room = self._values_in(fields) if sparse_names else 0
        matrix = np.zeros((len(plan.names), size))
        rows, columns_, values = np.empty(size + 1, np.int64), np.empty(room, np.int32), np.empty(room)
        hard = np.empty((0, 4), np.int64)
        while True:
            bad, hards = scan.fill_features(
                self.lines.buffer,
                fields,
                scores,
                self.labels,
                self.slots,
                firsts,
                matrix,
                rows,
                columns_,
                values,
                hard,
                np.full((len(self.labels), 2), -1, np.int64),
            )
            if bad >= 0:
                raise self.lines.refuse(bad, lambda: "expected numbers in the features")
            if hards <= len(hard):
                break
            hard = np.empty((hards, 4), np.int64)
        self._read_hard(hard, matrix, values)
        count = int(rows[-1])
        return matrix, sorted_columns(Sparse(sparse_names, rows, columns_[:count], values[:count]))

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
        """The maximum number of numbers in the feature fields."""
        return int((fields[:, 1] - fields[:, 0]).sum()) // 2 + len(fields)

    def _glued(self) -> list[bool]:
        """Which labels stand in one word with their value, as in ``lm=-1.5``."""
        after = self.lines.buffer[self.labels[1:, scan.STOP] + 1]
        return [False, *((after != SPACE) & (after != TAB)).tolist()]


@dataclass(frozen=True, slots=True)
class Label:
    """A label of features: ``name``, empty for numbers without one, and its number of ``values``, below 0 for none.

    An ``optional`` one may be absent from a line; one that is ``glued`` stands in one word with its value. ``first`` is
    the byte at which it first stands.
    """

    name: str
    values: int
    optional: bool
    glued: bool
    first: int

    @property
    def columns(self) -> list[str]:
        """``Name`` for one value, else ``Name_0``, ``Name_1`` …."""
        name, size = self.name or "F", max(self.values, 0)
        return [name] if size == 1 else [f"{name}_{i}" for i in range(size)]


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """Where the values of labels go: ``firsts`` has for each label its first column, or below 0 the sparse one.

    The sparse column with the number n is -1 - n. ``open_ended`` says that lines leave out features that are 0.
    """

    names: tuple[str, ...]
    sparse_names: tuple[str, ...]
    firsts: dict[str, int]
    open_ended: bool


def plan_columns(
    labels: Sequence[Label], tune: Sequence[str] | None, refuse: Callable[[Label, str], InputError]
) -> ColumnPlan:
    """Give each label its columns; two features of one name, such as TM_0 beside the first value of TM, are refused."""
    owner: dict[str, Label] = {}
    for label in labels:
        for name in label.columns:
            if owner.setdefault(name, label) is not label:
                raise refuse(label, f"the feature {name} is there twice")
    names: list[str] = []
    sparse_names: list[str] = []
    firsts: dict[str, int] = {}
    for label, dense in zip(labels, _dense(labels, tune), strict=True):
        firsts[label.name] = len(names) if dense else -1 - len(sparse_names)
        (names if dense else sparse_names).extend(label.columns)
    return ColumnPlan(tuple(names), tuple(sparse_names), firsts, any(label.glued for label in labels))


def _dense(labels: Sequence[Label], tune: Sequence[str] | None) -> list[bool]:
    """Which labels get columns of their own."""
    check_tuned(
        tune, {"F", *(label.name for label in labels), *(name for each in labels for name in each.columns)}
    )
    dense = [not label.optional or label.glued for label in labels]
    if too_many(sum(len(label.columns) for label, has in zip(labels, dense, strict=True) if has), tune):
        dense = [not label.optional for label in labels]
    named = set(tune or ())
    return [
        has or not named.isdisjoint([label.name or "F", *label.columns])
        for has, label in zip(dense, labels, strict=True)
    ]


def check_tuned(tune: Sequence[str] | None, known: set[str]) -> None:
    """Refuse names of features that are not there."""
    missing = sorted(set(tune or ()) - known)
    if missing:
        raise RyptError(f"the lists have no feature {', '.join(missing)}")


def too_many(count: int, tune: Sequence[str] | None) -> bool:
    """Whether the features are too many to have columns; which do then must have been said."""
    if count > MAX_DENSE and not tune:
        raise RyptError(
            f"the lists have {count} features: name those to tune with --tune, the others are held"
        )
    return count > MAX_DENSE
