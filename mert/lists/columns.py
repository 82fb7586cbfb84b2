"""The lines of lists with ``|||``, their labels, and the columns of features that the labels stand for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from mert.lists import scan
from rypt.arrays import Floats, Ids, Ints
from rypt.records import RawCandidate
from rypt.text import FormatError, InputError, PathLike, RyptError
from rypt.texts.nbest import parse_line

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
    """The lines of several files, one after the other in one buffer."""

    def __init__(self, files: Sequence[tuple[PathLike, bytes | bytearray]]) -> None:
        self.paths = [path for path, _ in files]
        whole = [data if data.endswith(b"\n") else data + b"\n" for _, data in files]
        counts = [data.count(b"\n") for data in whole]
        self.buffer = np.frombuffer(whole[0] if len(whole) == 1 else b"".join(whole), np.uint8)
        self.starts = np.empty(sum(counts) + 1, np.int64)
        scan.line_starts(self.buffer, self.starts)
        self.firsts = np.cumsum([0, *counts])  # the first line of each file

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


class Scanned:
    """The lines of lists with ``|||``, where their fields stand, and their labels."""

    def __init__(self, files: Sequence[tuple[PathLike, bytes | bytearray]]) -> None:
        self.lines = Lines(files)
        size = len(self.lines.starts) - 1
        self.ids, self.texts, self.fields, self.scores = (np.empty((size, 2), np.int64) for _ in range(4))
        bad = scan.find_fields(
            self.lines.buffer, self.lines.starts, self.ids, self.texts, self.fields, self.scores, scan.WORD_SCORES
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
        self.names = ["F", *(lines.buffer[a:b].tobytes().decode() for a, b in self.labels[1:, : scan.STOP + 1])]
        if bad >= 0:
            raise lines.refuse(bad, lambda: self._mismatch(bad, label))

    def _mismatch(self, bad: int, label: int) -> str:
        name, expected = self.names[label], int(self.labels[label, scan.VALUES])
        count = len(self.lines.parse(bad).features)
        path, number = self.lines.place(0)
        try:
            before = len(self.lines.parse(0).features)
        except FormatError as error:
            return f"expected features like line {number} of {path}, but there: {error}"
        what = f"{expected} value{'s' * (expected != 1)} of {name}" if expected >= 0 else f"no feature {name}"
        if label == scan.UNNAMED:
            what = "no numbers without a name" if expected < 0 else f"{expected} numbers"
        return f"expected {before} features like line {number} of {path}, with {what}, found {count}"

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
        return tuple(names), matrix, sorted_columns(Sparse(tuple(sparse_names), rows, columns_[:count], values[:count]))

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

    def _check_names(self, by_label: list[list[str]]) -> None:
        """Refuse two features of one name, such as TM_0 beside the first value of TM."""
        owner: dict[str, int] = {}
        for label, columns in enumerate(by_label):
            for name in columns:
                if owner.setdefault(name, label) != label:
                    line = int(np.searchsorted(self.lines.starts, self.labels[label, scan.FIRST], "right")) - 1
                    raise self.lines.refuse(line, lambda name=name: f"the feature {name} is there twice")  # type: ignore[misc]

    @property
    def glued(self) -> list[bool]:
        """Which labels stand in one word with their value, as in ``lm=-1.5``."""
        after = [self.lines.buffer[row[scan.STOP] + 1] for row in self.labels[1:]]
        return [False, *(byte not in b" \t" for byte in after)]

    def _dense(self, by_label: list[list[str]], tune: Sequence[str] | None) -> list[bool]:
        """Which labels get columns of their own."""
        must = [not optional for optional in self.labels[:, scan.OPTIONAL]]
        named = [
            tune is not None and not {self.names[label], *columns}.isdisjoint(tune)
            for label, columns in enumerate(by_label)
        ]
        check_tuned(tune, {*self.names, *chain.from_iterable(by_label)})
        dense = [a or b for a, b in zip(must, self.glued, strict=True)]
        if too_many(sum(len(columns) for label, columns in enumerate(by_label) if dense[label]), tune):
            dense = must
        return [a or b for a, b in zip(dense, named, strict=True)]


def check_tuned(tune: Sequence[str] | None, known: set[str]) -> None:
    """Refuse names of features that are not there."""
    missing = sorted(set(tune or ()) - known)
    if missing:
        raise RyptError(f"the lists have no feature {', '.join(missing)}")


def too_many(count: int, tune: Sequence[str] | None) -> bool:
    """Whether the features are too many to have columns; which do then must have been said."""
    if count > MAX_DENSE and not tune:
        raise RyptError(f"the lists have {count} features: name those to tune with --tune, the others are held")
    return count > MAX_DENSE
