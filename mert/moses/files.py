"""The files between Moses' ``extractor`` and ``mert``: features and statistics of candidates, segment by segment.

A file is a row of blocks, one per segment. In text (``FEATURES_TXT_BEGIN_0``, ``SCORES_TXT_BEGIN_0``)::

    FEATURES_TXT_BEGIN_0 segment candidates features name_0 name_1 ␠
    -9.125 0.5 sparse_name=0.25 ␠
    FEATURES_TXT_END_0

    SCORES_TXT_BEGIN_0 segment candidates columns BLEU
    3 4 1 3 0 2 0 1 5 ␠
    SCORES_TXT_END_0

(Lines marked ␠ end in a space, which nobody needs.) In binary (``FEATURES_BIN_BEGIN_0`` …) the same header line is
followed by candidates × features little-endian float32 without any padding, then by ``FEATURES_BIN_END_0`` and a line
end; sparse features have no place there. Statistics are float32 as well.

Numbers are float32 to Moses, and so here: what is read is rounded to float32, in text and in binary. Moses prints six
digits, which is less than a float32 holds. Here a number is printed with six digits where they say which float32 it is
and with up to nine where they do not, so that a file of Moses is written again byte by byte, and a text and a binary
file of the same numbers read the same. (Statistics of a million and more are printed as whole numbers, not as 1e+06,
of which Moses would read the 1.)
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats, Ints
from rypt.text import InputError, PathLike, RyptError, open_binary_input, open_binary_output

_FEATURES, _SCORES = "FEATURES", "SCORES"
_CHUNK = 1 << 24  # bytes read at once, so that a wrong count in a header asks for no memory
_EXACT = 1 << 24  # up to here float32 holds every whole number
_WORD = re.compile(r"[^\s\0\ud800-\udfff]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class FeatureBlock:
    """The features of a segment's candidates; ``sparse`` is None where no candidate has any."""

    segment: str
    names: tuple[str, ...]
    values: Floats  # (candidates, features)
    sparse: list[dict[str, float]] | None = None


@dataclass(frozen=True, slots=True)
class ScoreBlock:
    """The statistics of a segment's candidates and the name of their metric, such as BLEU."""

    segment: str
    name: str
    stats: Ints  # (candidates, columns)


@dataclass(frozen=True, slots=True)
class _Header:
    segment: str
    binary: bool
    candidates: int
    columns: int
    words: tuple[str, ...]  # names of features, or of the metric


class _Source:
    """A file of blocks and how far it is read."""

    def __init__(self, path: PathLike, stream: IO[bytes], kind: str) -> None:
        self.path, self.stream, self.kind = path, stream, kind
        self.line = self.block = 0
        self.binary = False

    def error(self, message: str, line: int | None = None) -> InputError:
        """What is wrong where; after the first binary block lines mean nothing and blocks are counted."""
        if self.binary:
            return InputError(self.path, None, f"block {self.block}: {message}")
        return InputError(self.path, self.line if line is None else line, message)

    def marker(self, side: str, *, binary: bool) -> str:
        return f"{self.kind}_{'BIN' if binary else 'TXT'}_{side}_0"

    def header(self) -> _Header | None:
        """The next header, or None at the end of the file."""
        for raw in self.stream:
            self.line += 1
            if raw.strip():
                self.block += 1
                return self._parse_header(raw)
        return None

    def _parse_header(self, raw: bytes) -> _Header:
        words = raw.split()
        text, binary = (self.marker("BEGIN", binary=flag) for flag in (False, True))
        if words[0] not in (text.encode(), binary.encode()):
            raise self.error(f"expected {text} or {binary}, found {_shown(raw)}")
        self.binary = self.binary or words[0] == binary.encode()
        if len(words) < 4 or not all(word.isdigit() and len(word) < 16 for word in words[1:4]):
            raise self.error(
                f"expected segment, candidates and columns as whole numbers, found {_shown(raw)}"
            )
        segment, candidates, columns = map(int, words[1:4])
        if candidates == 0:
            raise self.error(f"expected candidates of segment {segment}, found 0")
        try:
            names = tuple(word.decode() for word in words[4:])
        except UnicodeDecodeError:
            raise self.error(f"expected UTF-8, found {_shown(raw)}") from None
        return _Header(str(segment), words[0] == binary.encode(), candidates, columns, names)

    def rows(self, header: _Header) -> list[bytes]:
        """The lines of a block in text."""
        rows = list(islice(self.stream, header.candidates))
        self.line += len(rows)
        if len(rows) < header.candidates:
            end = self.marker("END", binary=False).encode()
            count = next((i for i, row in enumerate(rows) if row.startswith(end)), len(rows))
            raise self._too_few(header, count, self.line - len(rows) + min(count + 1, len(rows)))
        return rows

    def _too_few(self, header: _Header, count: int, line: int) -> InputError:
        return self.error(
            f"expected {header.candidates} candidates of segment {header.segment}, found {count}", line
        )

    def data(self, header: _Header) -> bytes:
        """The bytes of a binary block: four a number."""
        size = 4 * header.candidates * header.columns
        chunks, missing = [], size
        while missing and (chunk := self.stream.read(min(missing, _CHUNK))):
            chunks.append(chunk)
            missing -= len(chunk)
        if missing:
            raise self.error(f"expected {size} bytes of segment {header.segment}, found {size - missing}")
        return b"".join(chunks)

    def end(self, header: _Header) -> None:
        """The line after a block."""
        expected = self.marker("END", binary=header.binary)
        raw = self.stream.readline()
        self.line += 1
        if raw.strip() != expected.encode():
            line = _shown(raw) if raw else "the end of the file"
            raise self.error(f"expected {expected} of segment {header.segment}, found {line}")

    def bad_row(self, header: _Header, rows: list[bytes], what: str) -> InputError:
        """Say which of these rows cannot be read, and why."""
        first = self.line - len(rows) + 1
        for i, row in enumerate(rows):
            if row.startswith(self.marker("END", binary=False).encode()):
                return self._too_few(header, i, first + i)
            words = row.split()
            sparse = [b"=" in word and self.kind == _FEATURES for word in words]
            bad = [
                w
                for w, named in zip(words, sparse, strict=True)
                if not (_is_named(w) if named else _is_number(w))
            ]
            if bad:
                return self.error(f"expected finite numbers, found {_shown(bad[0])}", first + i)
            if len(words) - sum(sparse) != header.columns:
                return self.error(
                    f"expected {header.columns} {what}, found {len(words) - sum(sparse)}", first + i
                )
        return self.error(f"expected {what} of segment {header.segment}, found {_shown(rows[0])}", first)


def _shown(raw: bytes) -> str:
    return repr(raw.strip()[:40].decode("utf-8", "backslashreplace"))


def _is_number(word: bytes) -> bool:
    try:
        return b"_" not in word and bool(np.isfinite(_single([float(word)]))[0])
    except ValueError:
        return False


def _is_named(word: bytes) -> bool:
    name, _, value = word.rpartition(b"=")
    try:
        return bool(name.decode()) and _is_number(value)
    except UnicodeDecodeError:
        return False


def _single(numbers: list[float]) -> NDArray[np.float32]:
    """Numbers as Moses holds them; one that is too large becomes infinite."""
    with np.errstate(over="ignore"):
        return np.array(numbers, dtype=np.float32)


def _parse_dense(words: list[list[bytes]], columns: int) -> NDArray[np.float32] | None:
    """Rows of numbers, (rows, columns); None where they are not that."""
    if any(len(row) != columns for row in words):
        return None
    flat = list(chain.from_iterable(words))
    try:
        values = _single(list(map(float, flat)))
    except ValueError:
        return None
    if b"_" in b"".join(flat):  # Python would read 1_0 as 10
        return None
    return values.reshape(len(words), columns) if np.isfinite(values).all() else None


def _parse_text(
    source: _Source, header: _Header, what: str
) -> tuple[NDArray[np.float32], list[list[bytes]] | None]:
    """The numbers of a block and, for features, the words ``name=value`` of each row where there are any."""
    rows = source.rows(header)
    words = [row.split() for row in rows]
    sparse = None
    if source.kind == _FEATURES and any(b"=" in row for row in rows):
        sparse = [[word for word in row if b"=" in word] for row in words]
        words = [[word for word in row if b"=" not in word] for row in words]
    values = _parse_dense(words, header.columns)
    if values is None:
        raise source.bad_row(header, rows, what)
    return values, sparse


def _parse_sparse(source: _Source, header: _Header, rows: list[list[bytes]]) -> list[dict[str, float]]:
    """The sparse features of each row; their name ends at the last ``=``."""
    parts = [word.rpartition(b"=") for row in rows for word in row]
    try:
        names = [name.decode() for name, _, _ in parts]
        values = _single([float(value) for _, _, value in parts])
        if all(names) and np.isfinite(values).all() and b"_" not in b"".join(value for _, _, value in parts):
            pairs = iter(zip(names, values.tolist(), strict=True))
            return [dict(islice(pairs, len(row))) for row in rows]
    except ValueError:
        pass
    nothing_else = _Header(header.segment, False, len(rows), 0, ())
    raise source.bad_row(nothing_else, [b" ".join(row) for row in rows], "sparse features")


def read_features(path: PathLike) -> Iterator[FeatureBlock]:
    """The blocks of a file of features, text or binary, plain or ``.gz``."""
    with open_binary_input(path) as stream:
        source = _Source(path, stream, _FEATURES)
        while header := source.header():
            if len(header.words) != header.columns:
                raise source.error(f"expected {header.columns} names of features, found {len(header.words)}")
            sparse = None
            if header.binary:
                values = _finite_floats(source, header)
            else:
                values, words = _parse_text(source, header, "features")
                sparse = None if words is None else _parse_sparse(source, header, words)
            source.end(header)
            yield FeatureBlock(header.segment, header.words, values.astype(np.float64), sparse)


def _finite_floats(source: _Source, header: _Header) -> NDArray[np.float32]:
    values = np.frombuffer(source.data(header), "<f4").reshape(header.candidates, header.columns)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise source.error(f"expected finite numbers, found {values[row].tolist()} in candidate {row}")
    return values


def read_scores(path: PathLike) -> Iterator[ScoreBlock]:
    """The blocks of a file of statistics, text or binary, plain or ``.gz``.

    Statistics that are no integers are refused: sums of fractions depend on their order.
    """
    with open_binary_input(path) as stream:
        source = _Source(path, stream, _SCORES)
        while header := source.header():
            if len(header.words) != 1:
                raise source.error(f"expected the name of one metric, found {' '.join(header.words)!r}")
            if header.binary:
                values = np.frombuffer(source.data(header), "<f4").astype(np.float64)
                stats = _whole(source, header, values.reshape(header.candidates, header.columns), 0)
            else:
                stats = _text_stats(source, header)
            source.end(header)
            yield ScoreBlock(header.segment, header.words[0], stats)


def _text_stats(source: _Source, header: _Header) -> Ints:
    rows = source.rows(header)
    words = [row.split() for row in rows]
    try:
        if all(len(row) == header.columns for row in words) and not any(b"_" in row for row in rows):
            flat = list(map(float, chain.from_iterable(words)))
            return _whole(source, header, np.array(flat).reshape(len(rows), header.columns), len(rows))
    except ValueError:
        pass
    raise source.bad_row(header, rows, "statistics")


def _whole(source: _Source, header: _Header, values: Floats, rows: int) -> Ints:
    """Numbers as integers; ``rows`` lines were read for them. The third of TER's, which nobody uses, is rounded."""
    if header.words == ("TER",) and header.columns == 3 and np.isfinite(values).all():
        values = np.column_stack([values[:, :2], np.rint(values[:, 2])])
    good = np.isfinite(values) & (values == np.rint(values)) & (np.abs(values) < 2**53)
    if not good.all():
        row, column = (int(i) for i in np.argwhere(~good)[0])
        message = f"expected integers as statistics of {header.words[0]}, found {values[row, column]:g}"
        raise source.error(message, source.line - rows + 1 + row if rows else None)
    return values.astype(np.int64)


def write_features(path: PathLike, blocks: Iterable[FeatureBlock], *, binary: bool = False) -> None:
    """Write blocks for Moses; a segment without candidates is left out, as Moses would read no further.

    Sparse features of 0 are left out too. In binary they have no place, and Moses would lose them without a word.
    """
    with open_binary_output(path) as stream:
        for block in blocks:
            values = _checked_values(block)
            if binary and any(block.sparse or ()):
                raise RyptError(
                    f"segment {block.segment} has sparse features, which a binary file cannot hold"
                )
            if not len(values):
                continue
            side = "BIN" if binary else "TXT"
            names = "".join(f"{name} " for name in block.names)
            stream.write(
                f"FEATURES_{side}_BEGIN_0 {block.segment} {len(values)} {len(block.names)} {names}\n".encode()
            )
            stream.write(
                values.astype("<f4").tobytes() if binary else _text_rows(values, block.sparse).encode()
            )
            stream.write(f"FEATURES_{side}_END_0\n".encode())


def _checked_values(block: FeatureBlock) -> NDArray[np.float32]:
    _check_segment(block.segment)
    with np.errstate(over="ignore"):
        values = np.asarray(block.values).astype(np.float32)
    if values.ndim != 2 or values.shape[1] != len(block.names):
        raise RyptError(
            f"segment {block.segment}: {len(block.names)} names for features of shape {values.shape}"
        )
    if block.sparse is not None and len(block.sparse) != len(values):
        raise RyptError(
            f"segment {block.segment}: sparse features of {len(block.sparse)} of {len(values)} candidates"
        )
    for name in chain(block.names, *(block.sparse or ())):
        if not _WORD.fullmatch(name):
            raise RyptError(f"segment {block.segment}: a feature called {name!r} cannot be written")
    sparse = _single([value for row in block.sparse or () for value in row.values()])
    if not (np.isfinite(values).all() and np.isfinite(sparse).all()):
        raise RyptError(f"segment {block.segment} has features that are no finite float32")
    return values


def _check_segment(segment: str) -> None:
    if not (segment.isascii() and segment.isdigit()):
        raise RyptError(f"Moses numbers its segments; expected a number, found {segment!r}")


def _text_rows(values: NDArray[np.float32], sparse: list[dict[str, float]] | None) -> str:
    count, width = values.shape
    texts = format_floats(values.ravel())
    rows = [" ".join(texts[i * width : (i + 1) * width]) for i in range(count)]
    if width:
        rows = [row + " " for row in rows]
    if sparse is not None:
        words = iter(format_floats(_single([value for row in sparse for value in row.values()])))
        for i, row in enumerate(sparse):
            named = zip(row, islice(words, len(row)), strict=True)
            rows[i] += "".join(f"{name}={word} " for name, word in named if float(word))
    return "\n".join(rows) + "\n"


def format_floats(values: NDArray[np.float32]) -> list[str]:
    """Numbers in the fewest digits, at least the six of Moses, that read back as the same float32.

    >>> format_floats(np.array([0.1, -3, 1e-5, 16777216, 1 / 3], dtype=np.float32))
    ['0.1', '-3', '1e-05', '16777216', '0.33333334']
    """
    bits, places = np.unique(values.view(np.int32), return_inverse=True)
    distinct = bits.view(np.float32)
    numbers = distinct.tolist()
    texts = [""] * len(numbers)
    left = np.arange(len(numbers))
    for digits in (6, 7, 8, 9):
        chosen = left.tolist()
        tried = (f"%.{digits}g " * len(chosen) % tuple([numbers[i] for i in chosen])).split()
        for i, text in zip(chosen, tried, strict=True):
            texts[i] = text
        left = left[_single(list(map(float, tried))) != distinct[left]]
        if not len(left):
            break
    return [texts[i] for i in places.tolist()]


def write_scores(path: PathLike, blocks: Iterable[ScoreBlock], *, binary: bool = False) -> None:
    """Write blocks for Moses; a segment without candidates is left out, as Moses would read no further."""
    with open_binary_output(path) as stream:
        for block in blocks:
            _check_segment(block.segment)
            if block.stats.ndim != 2 or not _WORD.fullmatch(block.name):
                raise RyptError(
                    f"segment {block.segment}: cannot write {block.stats.shape} of {block.name!r}"
                )
            count, columns = block.stats.shape
            if binary and (np.abs(block.stats) > _EXACT).any():
                raise RyptError(
                    f"segment {block.segment} has statistics over {_EXACT}, too large for a binary file"
                )
            if not count:
                continue
            side = "BIN" if binary else "TXT"
            text = (
                ("%d " * columns + "\n") * count % tuple(block.stats.ravel().tolist()) if not binary else ""
            )
            stream.write(f"SCORES_{side}_BEGIN_0 {block.segment} {count} {columns} {block.name}\n".encode())
            stream.write(block.stats.astype("<f4").tobytes() if binary else text.encode())
            stream.write(f"SCORES_{side}_END_0\n".encode())
