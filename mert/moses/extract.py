"""What Moses' ``extractor`` does: an n-best list and references become files of features and of statistics."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from mert.lists import NBest, read_lists
from mert.moses.files import FeatureBlock, ScoreBlock, write_features, write_scores
from mert.moses.metrics import FileMetric
from mert.moses.pairs import Pair, Pairs, merge_pairs, read_pairs
from rypt.arrays import Floats, Ints
from rypt.text import FormatError, InputError, PathLike, RyptError
from rypt.texts.references import References, read_references


@dataclass(frozen=True, slots=True)
class Extraction:
    """Which files are read and written, and how; ``duplicates`` are kept where wanted."""

    nbest: Sequence[PathLike]
    references: Sequence[PathLike]
    features: PathLike
    scores: PathLike
    previous_features: Sequence[PathLike] = ()
    previous_scores: Sequence[PathLike] = ()
    binary: bool = False
    duplicates: bool = False


def extract(order: Extraction, metric: FileMetric) -> Pairs:
    """Read lists, count their statistics, put them behind those of earlier files, and write both files, or neither."""
    if not order.nbest and not order.previous_features and not order.previous_scores:
        raise RyptError(
            "expected a list (--nbest) or earlier files (--prev-ffile, --prev-scfile), found neither"
        )
    earlier = read_pairs(order.previous_features, order.previous_scores)
    if order.nbest:
        references = read_references(order.references) if order.references else None
        lists = read_lists(order.nbest)
        check_references(lists, references)
        stats = metric.measure(references, lists.candidates)
        pairs = _merged(earlier, list_pairs(lists, stats, metric.name), order)
    else:
        pairs = merge_pairs(earlier, duplicates=order.duplicates)
    if not pairs.segments:
        raise RyptError("expected candidates, found none")
    if (pairs.metric, pairs.stats.shape[1]) != (metric.name, metric.columns):
        columns = f"{pairs.stats.shape[1]} statistics of {pairs.metric}"
        raise RyptError(
            f"expected {metric.columns} statistics of {metric.name} in the earlier files, found {columns}"
        )
    write_both(order, pairs)
    return pairs


def _merged(earlier: Iterator[Pair], new: Iterator[Pair], order: Extraction) -> Pairs:
    before = list(earlier)
    try:
        return merge_pairs(chain(before, new), duplicates=order.duplicates)
    except FormatError as error:
        raise InputError(order.nbest[0], None, f"the list does not fit the earlier files: {error}") from None


def check_references(lists: NBest, references: References | None) -> None:
    """Refuse segments without a reference, with the file and line of the first candidate."""
    if references is not None:
        lists.check_segments(len(references), ", ".join(map(str, references.paths)))


def list_pairs(lists: NBest, stats: Ints, metric: str) -> Iterator[Pair]:
    """Blocks of each segment."""
    names = moses_names(lists.names)
    for number, segment in enumerate(lists.segments):
        rows = range(int(lists.offsets[number]), int(lists.offsets[number + 1]))
        values = _single(lists.features[rows.start : rows.stop])
        sparse = None if lists.sparse is None else [_single_sparse(lists.sparse.of(i)) for i in rows]
        yield (
            FeatureBlock(segment, names, values, sparse),
            ScoreBlock(segment, metric, stats[rows.start : rows.stop]),
        )


def _single(values: Floats) -> Floats:
    """Numbers as the files hold them; one that is too large stays, to be refused."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def _single_sparse(row: dict[str, float]) -> dict[str, float]:
    return dict(zip(row, _single(np.array(list(row.values()))).tolist(), strict=True))


def moses_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names that Moses gives to the values of labels: numbered even where there is one value only.

    >>> moses_names(["LM0", "TM0_0", "TM0_1"])
    ('LM0_0', 'TM0_0', 'TM0_1')
    """
    stems = {name.removesuffix("_1") for name in names if name.endswith("_1")}
    numbered = {stem for stem in stems if f"{stem}_0" in names}

    def several(name: str) -> bool:
        stem, _, number = name.rpartition("_")
        return stem in numbered and number.isdigit()

    renamed = tuple(name if several(name) else f"{name}_0" for name in names)
    if len(set(renamed)) < len(renamed):
        raise RyptError(f"two features would have one name in {' '.join(renamed)}: rename one")
    return renamed


def write_both(order: Extraction, pairs: Pairs) -> None:
    """Write both files beside their places and move them there when both are whole."""
    jobs: list[tuple[PathLike, Callable[[Path], None]]] = [
        (order.features, lambda path: write_features(path, pairs.feature_blocks(), binary=order.binary)),
        (order.scores, lambda path: write_scores(path, pairs.score_blocks(), binary=order.binary)),
    ]
    with ExitStack() as stack:
        done = []
        for target, write in jobs:
            real = Path(target).resolve()
            if real.exists() and not real.is_file():
                raise InputError(target, None, "expected a place for a file, found something else")
            try:
                folder = stack.enter_context(
                    tempfile.TemporaryDirectory(prefix=f".{real.name}.", dir=real.parent)
                )
            except OSError as error:
                raise InputError(target, None, error.strerror or str(error)) from None
            write(Path(folder) / real.name)
            done.append((Path(folder) / real.name, real))
        for made, real in done:
            os.replace(made, real)
