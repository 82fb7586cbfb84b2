"""TER: sacrebleu's statistics and numbers, with the scores of many sums at once."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sacrebleu.metrics.ter import TER

from rypt.arrays import Floats, Ints
from rypt.metrics.metric import Resources, SacrebleuMetric
from rypt.options import Options
from rypt.texts.lists import References


class Ter(SacrebleuMetric):
    """Translation edit rate: edits of words and shifts of blocks, by the length of the reference (Snover et al. 2006).

    Lower is better, and scores above 100 are possible. Of several references the nearest gives the edits, and all give
    an average length. sacrebleu adds up these averages; here their sums stay whole and are divided in the end. With 1,
    2 or 4 references both are exact and so equal; with 3 the last bits may differ. Statistics are the edits and the
    sum of the lengths of all references.
    """

    maximize = False
    title, name = "TER", "ter"
    columns = 2

    def __init__(self, references: References, **options: Any) -> None:
        super().__init__(references, TER(**options))

    def rows(self, segment: str, texts: list[str]) -> Iterator[list[int]]:
        (words,) = self.metric._cache_references([[reference] for reference in self.references[segment]])
        length = sum(len(reference) for reference in words["ref_words"])
        for text in texts:
            edits, _ = self.metric._compute_segment_statistics(self.metric._preprocess_segment(text), words)
            yield [int(edits), length]

    def score(self, sums: Ints) -> Floats:
        """Corpus TER of each row, in percent; without a word in the references 0, or 100 where there are edits."""
        edits, lengths = sums.T
        rates: Floats = np.where(edits > 0, 1.0, 0.0)
        np.divide(edits, lengths / self.references.count, out=rates, where=lengths > 0)
        return 100 * rates


def make_ter(resources: Resources, options: Mapping[str, str]) -> Ter:
    read = Options("ter", options)
    names = ("normalized", "no_punct", "asian_support", "case_sensitive")
    flags = {name: read.flag(name, False) for name in names}
    read.done()
    return Ter(resources.need_references("ter"), **flags)
