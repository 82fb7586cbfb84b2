"""The files between Moses' ``extractor`` and ``mert``: features and statistics of candidates, segment by segment.

    pairs = read_pairs(["run1.features.dat", "run2.features.dat"], ["run1.scores.dat", "run2.scores.dat"])
    pairs.write("features.dat", "scores.dat", binary=False)

A file is a row of blocks, one per segment. In text (``FEATURES_TXT_BEGIN_0``, ``SCORES_TXT_BEGIN_0``)::

    FEATURES_TXT_BEGIN_0 segment candidates features name_0 name_1
    -9.125 0.5 sparse_name=0.25
    FEATURES_TXT_END_0

    SCORES_TXT_BEGIN_0 segment candidates columns BLEU
    3 4 1 3 0 2 0 1 5
    SCORES_TXT_END_0

In binary (``FEATURES_BIN_BEGIN_0`` …) the same header line is followed by candidates × columns little-endian float32
without any padding, then by ``FEATURES_BIN_END_0`` and a line end; sparse features have no place there.

Features are float32 to Moses, and so here. Moses prints six digits, which is less than a float32 holds. Here a number
is printed with six digits where they say which float32 it is and with up to nine where they do not, so that a file of
Moses is written again byte by byte, and a text and a binary file of the same numbers read the same.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rypt.arrays import Floats, Ints
from rypt.text import InputError, PathLike, RyptError, open_binary_input, open_binary_output

FEATURES, SCORES = "FEATURES", "SCORES"
CHUNK = 1 << 24  # bytes read at once, so that a wrong count in a header asks for no memory
EXACT = 1 << 24  # up to here float32 holds every whole number
WORD = re.compile(r"[^\s\0\ud800-\udfff]+", re.ASCII)


class Block(NamedTuple):
    """The candidates of a segment: their features, or their statistics under the name of the metric.

    ``sparse`` is None where no candidate has sparse features.
    """

    segment: str
    names: tuple[str, ...]
    values: Floats | Ints  # (candidates, columns)
    sparse: list[dict[str, float]] | None = None


def as_float32(numbers: ArrayLike) -> NDArray[np.float32]:
    """Numbers as Moses holds them; one that is too large becomes infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(numbers, np.float64).astype(np.float32)


class _Reader:
    """A file of blocks, and how far it was read."""

    def __init__(self, path: PathLike, stream: IO[bytes], kind: str) -> None:
        self.path, self.stream, self.kind = path, stream, kind
        self.line = self.block = 0
        self.binary = False

    def error(self, message: str, line: int | None = None) -> InputError:
        """What is wrong where; from the first binary block on lines mean nothing, and blocks are counted."""
        if self.binary:
            return InputError(self.path, None, f"block {self.block}: {message}")
        return InputError(self.path, line or self.line, message)

    def next(self) -> Block | None:
        """The next block, or None at the end of the file."""
        raw = next((line for line in self._lines() if line.strip()), None)
        if raw is None:
            return None
        self.block += 1
        words = raw.split()
        text, binary = (f"{self.kind}_{form}_BEGIN_0" for form in ("TXT", "BIN"))
        if words[0] not in (text.encode(), binary.encode()):
            raise self.error(f"expected {text} or {binary}, found {_shown(raw)}")
        in_binary = words[0] == binary.encode()
        self.binary = self.binary or in_binary
        if len(words) < 4 or not all(word.isdigit() and len(word) < 16 for word in words[1:4]):
            raise self.error(
                f"expected segment, candidates and columns as whole numbers, found {_shown(raw)}"
            )
        segment, count, columns = map(int, words[1:4])
        names = self._names(words[4:], columns)
        if count == 0:
            raise self.error(f"expected candidates of segment {segment}, found 0")
        values, sparse = (self._binary if in_binary else self._text)(segment, count, columns)
        values = self._checked(values, names, self.line - count + 1)
        end = f"{self.kind}_{'BIN' if in_binary else 'TXT'}_END_0"
        last = next(self._lines(), b"")
        if last.strip() != end.encode():
            found = _shown(last) if last else "the end of the file"
            raise self.error(f"expected {end} of segment {segment}, found {found}")
        return Block(str(segment), names, values, sparse if any(sparse) else None)

    def _lines(self) -> Iterator[bytes]:
        for raw in self.stream:
            self.line += 1
            yield raw

    def _names(self, words: list[bytes], columns: int) -> tuple[str, ...]:
        try:
            names = tuple(word.decode() for word in words)
        except UnicodeDecodeError:
            raise self.error(f"expected UTF-8, found {_shown(b' '.join(words))}") from None
        if self.kind == FEATURES and len(names) != columns:
            raise self.error(f"expected {columns} names of features, found {len(names)}")
        if self.kind == SCORES and len(names) != 1:
            raise self.error(f"expected the name of one metric, found {' '.join(names)!r}")
        return names

    def _text(self, segment: int, count: int, columns: int) -> tuple[Floats, list[dict[str, float]]]:
        """The lines of a block in text."""
        lines = list(islice(self.stream, count))
        words = [line.split() for line in lines]
        if len(lines) == count and all(len(row) == columns for row in words):  # as nearly always
            flat = list(chain.from_iterable(words))
            with suppress(ValueError):
                numbers = np.array(list(map(float, flat))).reshape(count, columns)
                if b"_" not in b"".join(flat) and np.isfinite(numbers).all():
                    self.line += count
                    return numbers, []
        rows: list[list[float]] = []
        sparse: list[dict[str, float]] = []
        for line in lines:
            self.line += 1
            if line.startswith(f"{self.kind}_TXT_END_0".encode()):
                break
            named = [word for word in line.split() if b"=" in word and self.kind == FEATURES]
            rows.append(self._numbers([word for word in line.split() if word not in named]))
            sparse.append(self._named(named))
            if len(rows[-1]) != columns:
                what = "features" if self.kind == FEATURES else "statistics"
                raise self.error(f"expected {columns} {what}, found {len(rows[-1])}")
        if len(rows) < count:
            raise self.error(f"expected {count} candidates of segment {segment}, found {len(rows)}")
        return np.array(rows).reshape(count, columns), sparse

    def _numbers(self, words: list[bytes]) -> list[float]:
        for word in words:
            if not _is_number(word):
                raise self.error(f"expected finite numbers, found {_shown(word)}")
        return list(map(float, words))

    def _named(self, words: list[bytes]) -> dict[str, float]:
        """Sparse features, ``name=value``; the name ends at the last ``=``."""
        found = {}
        for word in words:
            name, _, value = word.rpartition(b"=")
            if not name or not _is_number(value):
                raise self.error(f"expected finite numbers, found {_shown(word)}")
            try:
                found[name.decode()] = float(np.float32(value))
            except UnicodeDecodeError:
                raise self.error(f"expected UTF-8, found {_shown(word)}") from None
        return found

    def _binary(self, segment: int, count: int, columns: int) -> tuple[Floats, list[dict[str, float]]]:
        """The bytes of a binary block: four a number."""
        size = 4 * count * columns
        chunks, missing = [], size
        while missing and (chunk := self.stream.read(min(missing, CHUNK))):
            chunks.append(chunk)
            missing -= len(chunk)
        if missing:
            raise self.error(f"expected {size} bytes of segment {segment}, found {size - missing}")
        values = np.frombuffer(b"".join(chunks), "<f4").astype(np.float64).reshape(count, columns)
        return values, []

    def _checked(self, values: Floats, names: tuple[str, ...], line: int) -> Floats:
        """Finite features as float32, or whole statistics; ``line`` is that of the first row."""
        if self.kind == FEATURES:
            values = as_float32(values).astype(np.float64)
            good, what = np.isfinite(values), "finite numbers"
        else:  # sums of fractions would depend on their order; Moses writes one to TER's third column, and reads none
            if names == ("TER",) and values.shape[1] == 3:
                values[:, 2] = np.rint(values[:, 2])
            good, what = (values == np.rint(values)) & (np.abs(values) < 2**53), "integers as statistics"
        if not good.all():
            row, column = (int(i) for i in np.argwhere(~good)[0])
            message = f"expected {what}, found {values[row, column]:g} in candidate {row}"
            raise self.error(message, line + row)
        return values


def _is_number(word: bytes) -> bool:
    try:
        return b"_" not in word and bool(np.isfinite(as_float32([float(word)])[0]))
    except ValueError:
        return False


def _shown(raw: bytes) -> str:
    return repr(raw.strip()[:40].decode("utf-8", "backslashreplace"))


def read_blocks(path: PathLike, kind: str) -> Iterator[Block]:
    """The blocks of a file of features or scores, text or binary, plain or ``.gz``."""
    with open_binary_input(path) as stream:
        reader = _Reader(path, stream, kind)
        while block := reader.next():
            yield block


def write_blocks(stream: IO[bytes], kind: str, blocks: Iterable[Block], *, binary: bool = False) -> None:
    """Write blocks for Moses; sparse features of 0 are left out."""
    form = "BIN" if binary else "TXT"
    for block in blocks:
        _check_block(block, kind, binary=binary)
        if binary:
            data = block.values.astype("<f4").tobytes()
        elif kind == SCORES:
            row = "%d " * block.values.shape[1] + "\n"
            data = (row * len(block.values) % tuple(block.values.ravel().tolist())).encode()
        else:
            data = _text_rows(block).encode()
        columns = "".join(f"{name} " for name in block.names) if kind == FEATURES else block.names[0]
        head = (
            f"{kind}_{form}_BEGIN_0 {block.segment} {len(block.values)} {block.values.shape[1]} {columns}\n"
        )
        stream.write(head.encode() + data + f"{kind}_{form}_END_0\n".encode())


def _check_block(block: Block, kind: str, *, binary: bool) -> None:
    """Refuse what Moses, or a binary file, could not hold."""
    where = f"segment {block.segment}"
    if not (block.segment.isascii() and block.segment.isdigit()):
        raise RyptError(f"Moses numbers its segments; expected a number, found {block.segment!r}")
    for name in chain(block.names, *(block.sparse or ())):
        if not WORD.fullmatch(name):
            raise RyptError(f"{where}: a feature or metric called {name!r} cannot be written")
    if binary and any(block.sparse or ()):
        raise RyptError(f"{where} has sparse features, which a binary file cannot hold")
    if kind == SCORES:
        if binary and (np.abs(block.values) > EXACT).any():
            raise RyptError(f"{where} has statistics over {EXACT}, too large for a binary file")
        return
    sparse = [value for row in block.sparse or () for value in row.values()]
    if not (np.isfinite(as_float32(block.values)).all() and np.isfinite(as_float32(sparse)).all()):
        raise RyptError(f"{where} has features that are no finite float32")


def _text_rows(block: Block) -> str:
    count, width = block.values.shape
    texts = format_floats(as_float32(block.values.ravel()))
    rows = ["".join(f"{text} " for text in texts[i * width : (i + 1) * width]) for i in range(count)]
    if block.sparse is not None:
        values = as_float32([value for row in block.sparse for value in row.values()])
        words = iter(format_floats(values))
        for i, row in enumerate(block.sparse):
            named = zip(row, islice(words, len(row)), strict=True)
            rows[i] += "".join(f"{name}={word} " for name, word in named if float(word))
    return "".join(f"{row}\n" for row in rows)


def format_floats(values: NDArray[np.float32]) -> list[str]:
    """Numbers in the fewest digits, at least the six of Moses, that read back as the same float32.

    >>> format_floats(np.array([0.1, -3, 1e-5, 16777216, 1 / 3], dtype=np.float32))
    ['0.1', '-3', '1e-05', '16777216', '0.33333334']
    """
    bits, places = np.unique(values.view(np.int32), return_inverse=True)
    distinct = bits.view(np.float32)
    texts = [""] * len(distinct)
    left = np.arange(len(distinct))
    for digits in (6, 7, 8, 9):
        tried = [f"{value:.{digits}g}" for value in distinct[left].tolist()]
        for i, text in zip(left.tolist(), tried, strict=True):
            texts[i] = text
        left = left[as_float32(list(map(float, tried))) != distinct[left]]
    return [texts[i] for i in places.tolist()]


class Pair(NamedTuple):
    """The features and the statistics of a segment's candidates, and where they come from."""

    where: str
    features: Block
    scores: Block


@dataclass(frozen=True, slots=True)
class Pairs:
    """Candidates of all segments; those of segment s have the rows ``offsets[s]:offsets[s + 1]``."""

    segments: list[str]
    offsets: Ints
    names: tuple[str, ...]
    features: Floats  # (candidates, features)
    metric: str
    stats: Ints  # (candidates, columns)
    sparse: list[dict[str, float]] | None

    def write(self, features: PathLike, scores: PathLike, *, binary: bool) -> None:
        """Write both files, whole, or neither."""
        spans = list(zip(self.segments, self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True))
        feature_blocks = (
            Block(segment, self.names, self.features[a:b], self.sparse[a:b] if self.sparse else None)
            for segment, a, b in spans
        )
        score_blocks = (Block(segment, (self.metric,), self.stats[a:b]) for segment, a, b in spans)
        with open_binary_output(features) as first, open_binary_output(scores) as second:
            write_blocks(first, FEATURES, feature_blocks, binary=binary)
            write_blocks(second, SCORES, score_blocks, binary=binary)
            first.flush()
            second.flush()

    def with_sparse_weights(self, weights: Mapping[str, float]) -> "Pairs":
        """One feature called sparse in the place of all sparse ones: their sum under these weights, in float32.

        This is what ``mert --sparse-weights`` does; features without a weight count nothing.
        """
        if "sparse" in self.names:
            raise RyptError(
                "expected no feature called sparse: this name is for the sum of the sparse features"
            )
        rows = self.sparse or [{}] * len(self.features)
        sums = [sum(weights.get(feature, 0.0) * value for feature, value in row.items()) for row in rows]
        features = np.column_stack([self.features, as_float32(sums).astype(np.float64)])
        return replace(self, names=(*self.names, "sparse"), features=features, sparse=None)


def read_pairs(
    feature_paths: Sequence[PathLike], score_paths: Sequence[PathLike], *, duplicates: bool = False
) -> Pairs:
    """Read and merge files of features and the files of statistics that belong to them, one by one."""
    if not feature_paths or not score_paths:
        raise RyptError("expected files of features (--ffile) and of statistics (--scfile)")
    return merge_pairs(iterate_pairs(feature_paths, score_paths), duplicates=duplicates)


def iterate_pairs(feature_paths: Sequence[PathLike], score_paths: Sequence[PathLike]) -> Iterator[Pair]:
    """Blocks of features, each with its block of statistics; both files must hold the same segments in one order."""
    if len(feature_paths) != len(score_paths):
        message = f"expected a file of statistics for each of features, found {len(score_paths)}"
        raise RyptError(f"{message} for {len(feature_paths)}")
    for feature_path, score_path in zip(feature_paths, score_paths, strict=True):
        blocks = zip_longest(read_blocks(feature_path, FEATURES), read_blocks(score_path, SCORES))
        for number, (features, scores) in enumerate(blocks, start=1):
            if features is None or scores is None:
                longer, shorter = (feature_path, score_path) if scores is None else (score_path, feature_path)
                message = f"expected as many segments as in {longer}, found {number - 1}"
                raise InputError(shorter, None, message)
            found, expected = (
                f"{len(each.values)} candidates of segment {each.segment}" for each in (scores, features)
            )
            if found != expected:
                message = f"block {number}: expected {expected} like {feature_path}, found {found}"
                raise InputError(score_path, None, message)
            yield Pair(f"{feature_path}: block {number}", features, scores)


def merge_pairs(pairs: Iterable[Pair], *, duplicates: bool = False) -> Pairs:
    """All candidates of a segment together, in the order in which segments and candidates first appear.

    A candidate whose features (sparse ones too) and statistics are all equal to those of an earlier one of the segment
    is left out, unless ``duplicates`` are wanted. Moses does the same, but compares no sparse features, and moves the
    last candidate to the place of the one it leaves out.
    """
    kept: dict[str, list[tuple[Floats, Ints, list[dict[str, float]]]]] = {}
    seen: dict[str, set[object]] = {}
    first: Pair | None = None
    for pair in pairs:
        first = first or pair
        _check_alike(first, pair)
        segment, stats = pair.features.segment, pair.scores.values.astype(np.int64)
        values = (
            np.asarray(pair.features.values, np.float64) + 0.0
        )  # no -0, whose bytes differ from those of 0
        sparse = pair.features.sparse or [{}] * len(stats)
        named = [frozenset((name, value) for name, value in row.items() if value) for row in sparse]
        known, rows = seen.setdefault(segment, set()), []
        for i, key in enumerate(zip(_row_bytes(values), _row_bytes(stats), named, strict=True)):
            if duplicates or key not in known:
                known.add(key)
                rows.append(i)
        kept.setdefault(segment, []).append((values[rows], stats[rows], [sparse[i] for i in rows]))
    if first is None:
        raise RyptError("expected candidates, found none")
    sizes = [sum(len(stats) for _, stats, _ in parts) for parts in kept.values()]
    ordered = list(chain.from_iterable(kept.values()))
    named_rows = list(chain.from_iterable(rows for _, _, rows in ordered))
    return Pairs(
        list(kept),
        np.cumsum([0, *sizes]),
        first.features.names,
        np.concatenate([values for values, _, _ in ordered]),
        first.scores.names[0],
        np.concatenate([stats for _, stats, _ in ordered]),
        named_rows if any(named_rows) else None,
    )


def _row_bytes(table: Floats | Ints) -> list[bytes]:
    """The bytes of each row."""
    data, width = table.tobytes(), table.shape[1] * table.itemsize
    return [data[i * width : (i + 1) * width] for i in range(len(table))]


def _check_alike(first: Pair, pair: Pair) -> None:
    """Refuse other features or another metric than those of the first pair."""
    describe: tuple[Callable[[Pair], str], ...] = (
        lambda each: f"the features {' '.join(each.features.names)}",
        lambda each: f"{each.scores.values.shape[1]} statistics of {each.scores.names[0]}",
    )
    for of in describe:
        if of(pair) != of(first):
            raise RyptError(f"{pair.where}: expected {of(first)}, found {of(pair)}")
