"""Features and statistics of the same candidates, out of Moses' files, of all iterations together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from mert.moses.files import FeatureBlock, ScoreBlock, read_features, read_scores
from rypt.arrays import Floats, Ints
from rypt.text import FormatError, InputError, PathLike, RyptError

Pair = tuple[FeatureBlock, ScoreBlock]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Candidates of all segments; those of segment s stand at ``offsets[s]:offsets[s + 1]``."""

    segments: list[str]
    offsets: Ints
    names: tuple[str, ...]
    features: Floats  # (candidates, features)
    metric: str
    stats: Ints  # (candidates, columns)
    sparse: list[dict[str, float]] | None

    def feature_blocks(self) -> Iterator[FeatureBlock]:
        """One block per segment, to be written."""
        for segment, a, b in self._spans():
            yield FeatureBlock(
                segment, self.names, self.features[a:b], self.sparse[a:b] if self.sparse else None
            )

    def score_blocks(self) -> Iterator[ScoreBlock]:
        """One block per segment, to be written."""
        for segment, a, b in self._spans():
            yield ScoreBlock(segment, self.metric, self.stats[a:b])

    def _spans(self) -> Iterator[tuple[str, int, int]]:
        yield from zip(self.segments, self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)

    def with_sparse_weights(self, weights: Mapping[str, float], name: str = "sparse") -> "Pairs":
        """Put one feature, at the end, in the place of all sparse ones: their sum under these weights.

        This is what ``mert --sparse-weights`` does; features without a weight count nothing. The sum is a float32.
        """
        if name in self.names:
            raise RyptError(
                f"expected no feature called {name}: this name is for the sum of the sparse features"
            )
        rows = self.sparse or [{}] * len(self.features)
        sums = [sum(weights.get(feature, 0.0) * value for feature, value in row.items()) for row in rows]
        column = np.array(sums, dtype=np.float32).astype(np.float64)
        features = np.column_stack([self.features, column])
        return replace(self, names=(*self.names, name), features=features, sparse=None)


@dataclass(frozen=True, slots=True)
class PairFiles:
    """Files of features and the files of statistics that belong to them, one by one."""

    features: Sequence[PathLike]
    scores: Sequence[PathLike]

    def read(self) -> Pairs:
        """The candidates of all files, merged."""
        if not self.features or not self.scores:
            raise RyptError("expected files of features (--ffile) and of statistics (--scfile)")
        return pair_blocks(self.features, self.scores)


def pair_blocks(
    feature_paths: Sequence[PathLike], score_paths: Sequence[PathLike], *, duplicates: bool = False
) -> Pairs:
    """Read and merge files of features and the files of statistics that belong to them, one by one."""
    pairs = merge_pairs(read_pairs(feature_paths, score_paths), duplicates=duplicates)
    if not pairs.segments:
        raise RyptError(f"expected candidates in {', '.join(map(str, feature_paths))}, found none")
    return pairs


def read_pairs(feature_paths: Sequence[PathLike], score_paths: Sequence[PathLike]) -> Iterator[Pair]:
    """Blocks of features, each with its block of statistics; both files must hold the same segments in one order."""
    if len(feature_paths) != len(score_paths):
        message = f"expected a file of statistics for each of features, found {len(score_paths)}"
        raise RyptError(f"{message} for {len(feature_paths)}")
    first: Pair | None = None
    for feature_path, score_path in zip(feature_paths, score_paths, strict=True):
        blocks = zip_longest(read_features(feature_path), read_scores(score_path))
        for number, (features, scores) in enumerate(blocks, start=1):
            if features is None or scores is None:
                longer, shorter = (feature_path, score_path) if scores is None else (score_path, feature_path)
                raise InputError(
                    shorter, None, f"expected as many segments as in {longer}, found {number - 1}"
                )
            if (features.segment, len(features.values)) != (scores.segment, len(scores.stats)):
                expected = (
                    f"{len(features.values)} candidates of segment {features.segment} like {feature_path}"
                )
                count = f"{len(scores.stats)} of segment {scores.segment}"
                raise InputError(score_path, None, f"block {number}: expected {expected}, found {count}")
            first = first or (features, scores)
            try:
                _check_alike(first, (features, scores))
            except FormatError as error:
                raise InputError(feature_path, None, f"block {number}: {error}") from None
            yield features, scores


def _check_alike(first: Pair, pair: Pair) -> None:
    """Refuse other features or another metric than before."""
    if pair[0].names != first[0].names:
        raise FormatError(
            f"expected the features {' '.join(first[0].names)}, found {' '.join(pair[0].names)}"
        )
    metrics = [f"{scores.stats.shape[1]} statistics of {scores.name}" for _, scores in (first, pair)]
    if metrics[0] != metrics[1]:
        raise FormatError(f"expected {metrics[0]}, found {metrics[1]}")


def merge_pairs(pairs: Iterable[Pair], *, duplicates: bool = False) -> Pairs:
    """All candidates of a segment together, in the order in which segments and candidates first appear.

    A candidate whose features (sparse ones too) and statistics are all equal to those of an earlier one of the segment
    is left out, unless ``duplicates`` are wanted. Moses does the same, but compares no sparse features, and moves the
    last candidate to the place of the one it leaves out.
    """
    kept: dict[str, list[Pair]] = {}
    seen: dict[str, set[object]] = {}
    first: Pair | None = None
    for features, scores in pairs:
        first = first or (features, scores)
        _check_alike(first, (features, scores))
        pair = features, scores
        if not duplicates:
            pair = _without_duplicates(features, scores, seen.setdefault(features.segment, set()))
        kept.setdefault(features.segment, []).append(pair)
    return _concatenated(kept, first)


def _without_duplicates(features: FeatureBlock, scores: ScoreBlock, seen: set[object]) -> Pair:
    """What was not seen; it is seen now."""
    rows = np.ascontiguousarray(features.values + 0.0)  # no -0, whose bytes differ from those of 0
    width = rows.shape[1] * rows.itemsize
    data, stats = rows.tobytes(), np.ascontiguousarray(scores.stats, dtype=np.int64)
    extra = stats.shape[1] * stats.itemsize
    more = stats.tobytes()
    keep = []
    for i in range(len(rows)):
        named = features.sparse[i] if features.sparse is not None else {}
        sparse = frozenset((name, value) for name, value in named.items() if value) if named else None
        key = (data[i * width : (i + 1) * width], more[i * extra : (i + 1) * extra], sparse or None)
        if key not in seen:
            seen.add(key)
            keep.append(i)
    if len(keep) == len(rows):
        return features, scores
    sparse_rows = None if features.sparse is None else [features.sparse[i] for i in keep]
    values, kept_stats = features.values[keep], scores.stats[keep]
    return replace(features, values=values, sparse=sparse_rows), replace(scores, stats=kept_stats)


def _concatenated(kept: Mapping[str, list[Pair]], first: Pair | None) -> Pairs:
    ordered = [pair for pairs in kept.values() for pair in pairs]
    sizes = [sum(len(features.values) for features, _ in pairs) for pairs in kept.values()]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if first is None:
        return Pairs([], offsets, (), np.zeros((0, 0)), "", np.zeros((0, 0), np.int64), None)
    values = np.concatenate([features.values for features, _ in ordered])
    stats = np.concatenate([scores.stats for _, scores in ordered])
    sparse = None
    if any(features.sparse is not None for features, _ in ordered):
        sparse = [row for features, _ in ordered for row in features.sparse or [{}] * len(features.values)]
    return Pairs(list(kept), offsets, first[0].names, values, first[1].name, stats, sparse)
