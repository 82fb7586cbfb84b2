"""N-best lists as arrays: the candidates of each segment side by side, one row of features each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rypt.nbest import RawCandidate, read_raw
from rypt.text import InputError, PathLike, Watch, unwatched

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NBest:
    """Candidates of all segments; those of segment s stand at ``offsets[s]:offsets[s + 1]``."""

    segments: list[str]
    offsets: Ints
    candidates: list[RawCandidate]
    names: tuple[str, ...]
    features: Floats  # (candidates, features)

    def segment_of(self) -> Ints:
        """For each candidate the index of its segment."""
        return np.repeat(np.arange(len(self.segments)), np.diff(self.offsets))

    def best(self, weights: Floats) -> Ints:
        """The candidate of each segment with the highest model score; the first of equals."""
        scores = self.features @ weights
        return np.array(
            [a + int(np.argmax(scores[a:b])) for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]
        )


def read_lists(paths: Sequence[PathLike], watch: Watch = unwatched) -> NBest:
    """Read and merge n-best lists; a candidate with the same text and features counts once, absent features are 0."""
    rows: dict[str, dict[tuple[str, tuple[tuple[str, float], ...]], RawCandidate]] = {}
    for path in paths:
        before = sum(map(len, rows.values()))
        for _, raw in read_raw(path, watch=watch):
            rows.setdefault(raw.segment, {}).setdefault((raw.text, tuple(raw.features.items())), raw)
        if sum(map(len, rows.values())) == before and not before:
            raise InputError(path, None, "expected candidates, found an empty list")
    return arrange([raw for of_segment in rows.values() for raw in of_segment.values()])


def arrange(candidates: Iterable[RawCandidate]) -> NBest:
    """Put candidates, given segment by segment, into arrays; segments with numbers as ids are sorted by them."""
    by_segment: dict[str, list[RawCandidate]] = {}
    for raw in candidates:
        by_segment.setdefault(raw.segment, []).append(raw)
    segments = sorted(by_segment, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name))
    ordered = [raw for segment in segments for raw in by_segment[segment]]
    names = tuple(
        dict.fromkeys(name for labels in dict.fromkeys(tuple(raw.features) for raw in ordered) for name in labels)
    )
    features = np.array([_row(raw, names) for raw in ordered], dtype=np.float64)
    offsets = np.concatenate([[0], np.cumsum([len(by_segment[segment]) for segment in segments])]).astype(np.int64)
    return NBest(segments, offsets, ordered, names, features.reshape(len(ordered), len(names)))


def _row(raw: RawCandidate, names: tuple[str, ...]) -> list[float]:
    if tuple(raw.features) == names:
        return list(raw.features.values())
    return [raw.features.get(name, 0.0) for name in names]
