"""TER: sacrebleu's statistics and numbers, with the scores of many sums at once."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rypt.arrays import Floats, Ints
from rypt.metrics.metric import Resources, sacrebleu_scores, stats_by_text
from rypt.options import Options
from rypt.records import Candidate
from rypt.signature import signature
from rypt.texts.references import References


class Ter:
    """Translation edit rate: edits of words and shifts of blocks, by the length of the reference (Snover et al. 2006).

    Lower is better, and scores above 100 are possible. Of several references the nearest gives the edits, and all give
    an average length. sacrebleu adds up these averages; here their sums stay whole and are divided in the end. With 1,
    2 or 4 references both are exact and so equal; with 3 the last bits may differ.
    """

    maximize = False
    scale = 100.0

    def __init__(
        self,
        references: References,
        *,
        normalized: bool = False,
        no_punct: bool = False,
        asian_support: bool = False,
        case_sensitive: bool = False,
    ) -> None:
        from sacrebleu.metrics.ter import TER

        self.references = references
        self.ter = TER(normalized, no_punct, asian_support, case_sensitive)
        self.ter.num_refs = references.count

    @property
    def signature(self) -> str:
        """sacrebleu's name and signature."""
        return signature("TER", str(self.ter.get_signature()))

    def stats(self, candidates: Sequence[Candidate]) -> Ints:
        """Edits to the nearest reference, and the sum of the lengths of all references."""
        return stats_by_text(candidates, self._rows, 2)

    def _rows(self, segment: str, texts: list[str]) -> Iterator[list[int]]:
        (words,) = self.ter._cache_references([[reference] for reference in self.references[segment]])
        length = sum(len(reference) for reference in words["ref_words"])
        for text in texts:
            edits, _ = self.ter._compute_segment_statistics(self.ter._preprocess_segment(text), words)
            yield [int(edits), length]

    def score(self, sums: Ints) -> Floats:
        """Corpus TER of each row, in percent; without a word in the references 0, or 100 where there are edits."""
        edits, lengths = sums.T
        rates: Floats = np.where(edits > 0, 1.0, 0.0)
        np.divide(edits, lengths / self.references.count, out=rates, where=lengths > 0)
        return 100 * rates

    @property
    def sentence_signature(self) -> str:
        """The name ``ter`` and sacrebleu's signature."""
        return f"ter|{self.ter.get_signature()}"

    def sentence_scores(self, candidates: Sequence[Candidate]) -> Floats:
        """1 - sacrebleu's sentence TER of each candidate, at least 0."""
        return np.maximum(0.0, 1 - sacrebleu_scores(self.ter, candidates, self.references))


def make_ter(resources: Resources, options: Mapping[str, str]) -> Ter:
    """The metric ``ter``."""
    read = Options("ter", options)
    metric = Ter(
        resources.need_references("ter"),
        normalized=read.flag("normalized", False),
        no_punct=read.flag("no_punct", False),
        asian_support=read.flag("asian_support", False),
        case_sensitive=read.flag("case_sensitive", False),
    )
    read.done()
    return metric
