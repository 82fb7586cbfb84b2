"""What Moses' ``extractor`` does: an n-best list and references become files of features and of statistics."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from mert.lists import NBest, read_lists
from mert.moses.files import Block, Pair, Pairs, as_float32, iterate_pairs, merge_pairs
from mert.moses.metrics import FileMetric
from rypt.arrays import Ints
from rypt.text import PathLike, RyptError
from rypt.texts.lists import References, read_references


def extract(
    nbest: Sequence[PathLike],
    references: Sequence[PathLike],
    metric: FileMetric,
    *,
    earlier: tuple[Sequence[PathLike], Sequence[PathLike]] = ((), ()),
    duplicates: bool = False,
) -> Pairs:
    """The features and statistics of lists, behind those of ``earlier`` files of features and of statistics."""
    if not nbest and not any(earlier):
        raise RyptError(
            "expected a list (--nbest) or earlier files (--prev-ffile, --prev-scfile), found neither"
        )
    pairs = iterate_pairs(*earlier)
    if nbest:
        texts = read_references(references) if references else None
        lists = read_lists(nbest)
        check_references(lists, texts)
        stats = metric.measure(texts, lists.candidates)
        pairs = chain(pairs, _list_pairs(str(nbest[0]), lists, stats, metric.name))
    merged = merge_pairs(pairs, duplicates=duplicates)
    check_metric(merged, metric)
    return merged


def check_references(lists: NBest, references: References | None) -> None:
    """Refuse segments without a reference, with the file and line of the first candidate."""
    if references is not None:
        lists.check_segments(len(references), ", ".join(map(str, references.paths)))


def check_metric(pairs: Pairs, metric: FileMetric) -> None:
    """Refuse files of another metric."""
    columns = pairs.stats.shape[1]
    if (pairs.metric, columns) != (metric.name, metric.columns):
        expected = f"expected {metric.columns} statistics of {metric.name}, as --sctype says"
        raise RyptError(f"{expected}, found {columns} of {pairs.metric}")


def _list_pairs(path: str, lists: NBest, stats: Ints, metric: str) -> Iterator[Pair]:
    names = moses_names(lists.names)
    features = as_float32(lists.features).astype(float)
    for number, segment in enumerate(lists.segments):
        a, b = int(lists.offsets[number]), int(lists.offsets[number + 1])
        sparse = None if lists.sparse is None else [_single(lists.sparse.of(i)) for i in range(a, b)]
        yield Pair(path, Block(segment, names, features[a:b], sparse), Block(segment, (metric,), stats[a:b]))


def _single(row: dict[str, float]) -> dict[str, float]:
    return dict(zip(row, as_float32(np.array(list(row.values()))).tolist(), strict=True))


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
