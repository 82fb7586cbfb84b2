"""N-best lists as arrays: the candidates of each segment side by side, one row of features each.

    lists = read_lists(["run1.nbest.gz", "run2.nbest.gz"])     # merged, each distinct candidate once

Every format that `rypt.texts.nbest.read_list` reads can be tuned on. A feature gets a column unless it is sparse, as in
Moses a label with ``_`` and a space before its value; those are held at their weights unless they are to be tuned.
"""

import gc
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

import numpy as np

from mert.problem import Candidates, InMemory, Lists, winners
from rypt.arrays import Floats, Ids, Ints
from rypt.metrics.metric import Metric, counted, references_of
from rypt.records import Candidate
from rypt.text import FormatError, InputError, PathLike, RyptError, Watch, tokenize, unwatched
from rypt.texts.formats import FeatureField, read_features
from rypt.texts.nbest import read_list
from rypt.texts.tokenizer import is_raw

MAX_DENSE = 500  # features that get columns without being named
BLOCK = 10_000  # lines whose features are read at once
Place = tuple[PathLike, int]  # a file, and the number of a line
Line = tuple[Place, Candidate]


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
        return np.where(np.diff(self.rows) > 0, np.add.reduceat(parts, self.rows[:-1]), 0.0)

    def of(self, candidate: int) -> dict[str, float]:
        """The features of one candidate."""
        part = slice(self.rows[candidate], self.rows[candidate + 1])
        names = [self.names[column] for column in self.columns[part]]
        return dict(zip(names, self.values[part].tolist(), strict=True))

    def take(self, candidates: Ints) -> "Sparse":
        """The features of some candidates, in another order."""
        sizes = np.diff(self.rows)[candidates]
        rows = np.concatenate([[0], np.cumsum(sizes)])
        taken = np.arange(rows[-1]) - np.repeat(rows[:-1] - self.rows[:-1][candidates], sizes)
        return Sparse(self.names, rows, self.columns[taken], self.values[taken])


@dataclass(frozen=True, slots=True)
class NBest:
    """Candidates of all segments; those of segment s have the places ``offsets[s]:offsets[s + 1]``.

    The lists are ``open_ended`` if lines may leave out features that are 0, as lines of Joshua and cdec do.
    """

    segments: list[str]
    offsets: Ints
    candidates: Sequence[Candidate]
    places: Sequence[Place]
    names: tuple[str, ...]
    features: Floats  # (candidates, features), columns contiguous
    sparse: Sparse | None
    open_ended: bool

    @property
    def sparse_names(self) -> tuple[str, ...]:
        """The names of the features without columns."""
        return self.sparse.names if self.sparse else ()

    @property
    def raw(self) -> bool:
        """Whether the candidates are raw text, which a metric for tokens does not expect."""
        return is_raw(candidate.text for candidate in self.candidates)

    def best(self, weights: Floats, sparse_weights: Floats | None = None) -> Ints:
        """The candidate of each segment with the highest model score; the first of equals."""
        scores = self.features @ weights
        if self.sparse is not None and sparse_weights is not None:
            scores = scores + self.sparse.dot(sparse_weights)
        return winners(self.offsets, scores)

    def parts(
        self, metric: Metric, sparse_weights: Floats | None = None, stats: Ints | None = None
    ) -> InMemory[Candidates]:
        """What is tuned on; ``sparse_weights`` are those of the sparse features.

        The metric's statistics are counted if they are not given.
        """
        held = None if self.sparse is None or sparse_weights is None else self.sparse.dot(sparse_weights)
        stats = counted(metric, self.candidates) if stats is None else stats
        return InMemory(Candidates(self.offsets, np.asfortranarray(self.features), held, stats, metric))

    def without(self, columns: Collection[str]) -> "NBest":
        """The same without some features."""
        kept = [i for i, name in enumerate(self.names) if name not in columns]
        names = tuple(self.names[i] for i in kept)
        return replace(self, names=names, features=np.asfortranarray(self.features[:, kept]))

    def check_segments(self, size: int, where: str) -> list[str]:
        """Refuse a segment that is none of ``size`` segments from 0; a note where some have no candidates."""
        return check_segments(self.segments, [self.places[i] for i in self.offsets[:-1]], size, where)


def read_lists(
    paths: Sequence[PathLike], watch: Watch = unwatched, *, tune: Collection[str] | None = None
) -> NBest:
    """Read and merge n-best lists; a candidate with the same text and features counts once.

    Sparse features that ``tune`` names get columns, too. Where more than `MAX_DENSE` may be left out of a line, only
    those get columns that ``tune`` names or that every line must have.
    """
    lines: list[Line] = []
    with no_collection():
        for path in paths:
            before = len(lines)
            lines += [((path, number), candidate) for number, candidate in read_list(path, watch=watch)]
            if len(lines) == before:
                raise InputError(path, None, "expected candidates, found an empty list")
        return arrange(lines, tune)


@contextmanager
def no_collection() -> Iterator[None]:
    """Do not look for garbage in cycles: lists are millions of objects without any, and looking takes a third longer."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def arrange(lines: Sequence[Line], tune: Collection[str] | None = None) -> NBest:
    """The candidates of some lines as arrays (`read_lists`)."""
    values = read_values(lines)
    return with_columns(lines, values, dense_names(values.kinds, tune))


def segment_number(segment: str) -> int | None:
    """The number that an id is, None for another id.

    >>> segment_number("007"), segment_number("news-7")
    (7, None)
    """
    return int(segment) if re.fullmatch("[0-9]{1,18}", segment) else None


def in_order(segments: Iterable[str]) -> list[str]:
    """Numbers by their value, then the others by their letters."""
    numbers = {segment: segment_number(segment) for segment in segments}
    return sorted(numbers, key=lambda name: (numbers[name] is None, numbers[name] or 0, name))


def check_segments(segments: Sequence[str], places: Sequence[Place], size: int, where: str) -> list[str]:
    """Refuse a segment that is none of ``size`` segments from 0; a note where some have no candidates.

    ``places`` are those of the first candidate of each segment.
    """
    for segment, place in zip(segments, places, strict=True):
        number = segment_number(segment)
        if number is None or number >= size:
            expected = f"expected one of the {size} segments of {where}, from 0"
            raise InputError(*place, f"segment {segment}: {expected}")
    missing = size - len(segments)
    return [f"{missing} of {size} segments of {where} have no candidates"] if missing else []


def check_against_references(lists: Lists, metric: Metric) -> list[str]:
    """Refuse segments without a reference, with file and line; return notes on references without candidates."""
    references = references_of(metric)
    if references is None:
        return []
    return lists.check_segments(len(references), ", ".join(map(str, references.paths)) or "the references")


def check_numbers(segments: Sequence[str], places: Sequence[Place]) -> None:
    """Refuse two ids that are one number: their candidates would compete apart for one reference."""
    for (one, other), place in zip(pairwise(segments), places[1:], strict=True):
        if segment_number(other) is not None and segment_number(one) == segment_number(other):
            raise InputError(*place, f"segment {other} is called {one} elsewhere")


class Kind(Enum):
    """How a feature is written, which says whether a line may leave it out, and whether it gets a column."""

    REQUIRED = 1  # ``LM0= -2``: every line must have it
    GLUED = 2  # ``lm=-2``, or in JSON: 0 where it is absent
    SPARSE = 3  # ``wt_der= 1``, a label with ``_``: without a column unless it is named


@dataclass(frozen=True, slots=True)
class Values:
    """The features of all lines: those of line i are ``columns[rows[i]:rows[i + 1]]`` with ``numbers``.

    ``kinds`` has the names in the order of the columns, which is that of their first lines, ``firsts``.
    """

    kinds: dict[str, Kind]
    firsts: list[Place]
    rows: Ints
    columns: Ids
    numbers: Floats

    def renumbered(self, names: Sequence[str]) -> "Values":
        """The same with the columns of more features, in another order."""
        place = {name: number for number, name in enumerate(names)}
        columns = np.array([place[name] for name in self.kinds], np.int32)[self.columns]
        kinds = {name: self.kinds.get(name, Kind.SPARSE) for name in names}
        return replace(self, kinds=kinds, columns=columns)


def read_values(lines: Sequence[Line]) -> Values:
    """Read the features of all lines: in blocks where labels have the same places in all, else line by line."""
    return _values_in_blocks(lines) or _values_by_line(lines)


def _values_in_blocks(lines: Sequence[Line]) -> Values | None:
    """The features, where every line has the labels of the first at the same places; else None."""
    fields = [candidate.features for _, candidate in lines]
    texts = [field.text for field in fields if isinstance(field, FeatureField)]
    if len(texts) < len(lines):
        return None
    first = _words(texts[:1]) or []
    width, labels = len(first), {i: word for i, word in enumerate(first) if word[-1] in "=:"}
    try:
        names = list(read_features(texts[0]))
        place = read_features(" ".join(labels.get(i, str(i)) for i in range(width)))
    except FormatError:
        return None
    if list(place) != names:
        return None
    blocks = [np.empty((0, len(names)))]
    underscores = sum(label.count("_") for label in labels.values())
    for start in range(0, len(texts), BLOCK):
        block = texts[start : start + BLOCK]
        words = _words(block)
        if words is None or len(words) != width * len(block):
            return None
        if any(words[i::width] != [label] * len(block) for i, label in labels.items()):
            return None
        try:
            numbers = np.array([list(map(float, words[int(i) :: width])) for i in place.values()])
        except ValueError:
            return None
        if not np.isfinite(numbers).all() or "".join(words).count("_") != underscores * len(block):
            return None  # what is wrong, such as 1_000, is said line by line
        blocks.append(numbers.reshape(len(names), len(block)).T)
    matrix = np.concatenate(blocks)
    return Values(
        {name: _kind(name, tokenize(texts[0])) for name in names},
        [lines[0][0]] * len(names),
        np.arange(len(lines) + 1) * len(names),
        np.tile(np.arange(len(names), dtype=np.int32), len(lines)),
        matrix.ravel(),
    )


def _words(texts: Sequence[str]) -> list[str] | None:
    """The words of feature fields, labels apart from values; None where it is not clear what a blank is."""
    joined = " ".join(texts).replace("\t", " ").replace("=", "= ")
    return joined.split() if joined.isascii() and joined.isprintable() else None


def _values_by_line(lines: Sequence[Line]) -> Values:
    kinds: dict[str, Kind] = {}
    firsts: list[Place] = []
    head: Place | None = None  # the first line with labels: others must have the features that it must have
    required: set[str] = set()
    column: dict[str, int] = {}
    rows, columns, numbers = [0], list[int](), list[float]()
    for place, candidate in lines:
        features = candidate.features
        words = tokenize(features.text) if isinstance(features, FeatureField) else None
        new = [name for name in features if name not in kinds]
        for name in new:
            column[name] = len(kinds)
            kinds[name] = Kind.GLUED if words is None else _kind(name, words)
            firsts.append(place)
        if words is not None and head is None:
            head, required = place, {name for name in features if _kind(name, words) is Kind.REQUIRED}
        others = [name for name in new if kinds[name] is Kind.REQUIRED and name not in required]
        missing = sorted(required - features.keys(), key=column.__getitem__) if words is not None else []
        if (others or missing) and head is not None:
            expected = f"expected {len(required)} features like line {head[1]} of {head[0]}"
            differences = [*(f"no {name}" for name in missing), *others]
            raise InputError(*place, f"{expected}, found {len(features)}: {', '.join(differences)}")
        here = sorted((column[name], value) for name, value in features.items())
        columns += [number for number, _ in here]
        numbers += [value for _, value in here]
        rows.append(len(columns))
    return Values(
        kinds, firsts, np.array(rows), np.array(columns, np.int32), np.array(numbers, dtype=np.float64)
    )


def _kind(name: str, words: Sequence[str]) -> Kind:
    """How a feature is written in a field with these words."""
    for label in (name, stem_of(name)):
        if f"{label}=" in words or f"{label}:" in words:
            return Kind.SPARSE if "_" in label else Kind.REQUIRED
        if any(word.startswith(f"{label}=") for word in words):
            return Kind.GLUED
    return Kind.REQUIRED  # numbers without a label


def stem_of(name: str) -> str:
    """The label of a feature, which may have several values.

    >>> stem_of("TM0_1"), stem_of("LM0")
    ('TM0', 'LM0')
    """
    return re.sub(r"_[0-9]+$", "", name)


def dense_names(kinds: Mapping[str, Kind], tune: Collection[str] | None) -> list[str]:
    """The features that get columns; ``tune`` names features, or labels of several."""
    missing = sorted(set(tune or ()) - {*kinds, *map(stem_of, kinds)})
    if missing:
        raise RyptError(f"the lists have no feature {', '.join(missing)}")
    size = sum(kind is not Kind.SPARSE for kind in kinds.values())
    if size > MAX_DENSE and not tune:
        raise RyptError(
            f"the lists have {size} features: name those to tune with --tune, the others are held"
        )
    always = {Kind.REQUIRED} if size > MAX_DENSE else {Kind.REQUIRED, Kind.GLUED}
    named = set(tune or ())
    return [
        name for name, kind in kinds.items() if kind in always or not named.isdisjoint([name, stem_of(name)])
    ]


def with_columns(lines: Sequence[Line], values: Values, dense: Sequence[str]) -> NBest:
    """The candidates segment by segment, each distinct one once; features that are not ``dense`` are sparse."""
    segments = in_order(dict.fromkeys(candidate.segment for _, candidate in lines))
    number_of = {segment: number for number, segment in enumerate(segments)}
    segment_of = np.array([number_of[candidate.segment] for _, candidate in lines], np.int64)
    features, sparse = _split(values, dense)
    order = np.argsort(segment_of, kind="stable").tolist()
    distinct: dict[object, int] = {}
    plain = features + 0.0  # where -0.0 is 0.0
    for i in order:
        held = tuple(sparse.of(i).items()) if sparse.names else ()
        candidate = lines[i][1]
        distinct.setdefault((candidate.segment, candidate.text, plain[i].tobytes(), held), i)
    kept = np.array(list(distinct.values()), np.int64)
    lists = NBest(
        segments,
        np.searchsorted(segment_of[kept], np.arange(len(segments) + 1)).astype(np.int64),
        [lines[i][1] for i in kept.tolist()],
        [lines[i][0] for i in kept.tolist()],
        tuple(dense),
        np.asfortranarray(features[kept]),
        sparse.take(kept) if sparse.names else None,
        any(kind is Kind.GLUED for kind in values.kinds.values()),
    )
    check_numbers(segments, [lists.places[i] for i in lists.offsets[:-1]])
    return lists


def _split(values: Values, dense: Sequence[str]) -> tuple[Floats, Sparse]:
    """The columns of the dense features, (lines, features), and the sparse ones."""
    size = len(values.rows) - 1
    if len(dense) == len(values.kinds) and (np.diff(values.rows) == len(dense)).all():
        nothing = Sparse((), np.zeros(size + 1, np.int64), np.empty(0, np.int32), np.empty(0))
        return values.numbers.reshape(size, len(dense)), nothing
    column = {name: i for i, name in enumerate(dense)}
    target = np.array([column.get(name, -1) for name in values.kinds], np.int64)
    row_of = np.repeat(np.arange(size), np.diff(values.rows))
    columns = target[values.columns]
    has = columns >= 0
    features = np.zeros((size, len(dense)))
    features[row_of[has], columns[has]] = values.numbers[has]
    rows = np.concatenate([[0], np.cumsum(np.bincount(row_of[~has], minlength=size))])
    numbered = (np.cumsum(target < 0) - 1).astype(np.int32)
    names = tuple(name for name in values.kinds if name not in column)
    return features, Sparse(names, rows, numbered[values.columns[~has]], values.numbers[~has])
