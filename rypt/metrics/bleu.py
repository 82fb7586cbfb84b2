"""BLEU: sacrebleu's numbers, with n-grams counted in a compiled loop and the scores of many sums at once."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.metrics.metric import Resources, SacrebleuMetric
from rypt.metrics.ngrams import clipped_matches, ngram_counts, word_ids
from rypt.options import Options
from rypt.texts.lists import References

ORDER = 4
SMOOTHINGS = {"none": 0.0, "exp": 0.0, "floor": 0.1, "add-k": 1.0}  # sacrebleu's names and values


class Bleu(SacrebleuMetric):
    """BLEU with one or more references; text is taken as it is tokenised unless ``tokenize`` says otherwise.

    Statistics, in sacrebleu's order: lengths of candidate and closest reference, matches and totals of 1- to 4-grams.
    In a single score only the orders count that the candidate is long enough for.
    """

    title, name = "BLEU", "bleu"
    columns = 2 + 2 * ORDER

    def __init__(
        self,
        references: References,
        *,
        tokenize: str = "none",
        smooth_method: str = "exp",
        smooth_value: float | None = None,
        lowercase: bool = False,
    ) -> None:
        options: dict[str, Any] = {
            "tokenize": tokenize,
            "smooth_method": smooth_method,
            "smooth_value": smooth_value,
        }
        corpus, single = (
            BLEU(lowercase=lowercase, force=not effective, effective_order=effective, **options)
            for effective in (False, True)
        )
        super().__init__(references, corpus, single)
        self._plain = tokenize == "none" and not lowercase
        self._smoothing = list(SMOOTHINGS).index(smooth_method)
        self._smooth_value = SMOOTHINGS[smooth_method] if smooth_value is None else smooth_value

    def rows(self, segment: str, texts: list[str]) -> Ints:
        count = self.references.count
        ids, starts = word_ids([self._words(text) for text in (*self.references[segment], *texts)])
        lengths = np.diff(starts)
        references = np.sort(lengths[:count])  # so that of two equally close the shorter is taken
        closest = np.abs(lengths[count:, np.newaxis] - references).argmin(axis=1)
        matches = clipped_matches(ids, starts[: count + 1], starts[count:], ORDER)
        totals = ngram_counts(starts[count:], ORDER)
        return np.column_stack([lengths[count:], references[closest], matches, totals])

    def _words(self, text: str) -> Sequence[str]:
        return (text if self._plain else self.metric._preprocess_segment(text)).split()

    def score(self, sums: Ints) -> Floats:
        """Corpus BLEU of each row, from 0 to 100.

        One row is scored by sacrebleu itself; many, as in a line search, to about 14 digits of it.
        """
        if len(sums) == 1:
            return np.array([self.metric._compute_score_from_stats(sums[0].tolist()).score])
        return bleu_scores(np.ascontiguousarray(sums, np.int64), self._smoothing, self._smooth_value)


def make_bleu(resources: Resources, options: Mapping[str, str]) -> Bleu:
    """BLEU by name: ``bleu(tokenize=13a,smooth=floor,smooth_value=0.1,lowercase=true)``."""
    read = Options("bleu", options)
    tokenize = read.choice("tokenize", "none", sorted(BLEU.TOKENIZERS))
    smooth = read.choice("smooth", "exp", list(SMOOTHINGS))
    value = read.number("smooth_value", None, least=0.0)
    lowercase = read.flag("lowercase", False)
    read.done()
    references = resources.need_references("bleu")
    return Bleu(references, tokenize=tokenize, smooth_method=smooth, smooth_value=value, lowercase=lowercase)


@compiled
def bleu_scores(sums: Ints, method: int, value: float) -> Floats:
    """BLEU-4 of each row; the geometric mean of the precisions is the fourth root of their product.

    Smoothing, where an order has no match, by number: 0 none, 1 1 / 2^k (k the number of such orders so far), 2 the
    floor ``value``; 3 adds ``value`` to matches and totals of all orders but the first.
    """
    scores = np.zeros(len(sums))
    for row in range(len(sums)):
        length, reference = sums[row, 0], sums[row, 1]
        matches, totals, halved, any_match = 1.0, 1.0, 1.0, False
        for n in range(ORDER):
            match, total = float(sums[row, 2 + n]), float(sums[row, 2 + ORDER + n])
            any_match = any_match or match > 0.0
            if method == 3 and n > 0:
                match, total = match + value, total + value
            if match == 0.0 and method == 1:
                halved *= 2.0
                match = 1.0 / halved
            elif match == 0.0 and method == 2:
                match = value
            matches *= match
            totals *= total
        if any_match and totals > 0.0:
            score = 100.0 * np.sqrt(np.sqrt(matches / totals))
            scores[row] = score * np.exp(1.0 - reference / length) if length < reference else score
    return scores
