"""BLEU: sacrebleu's numbers, with n-grams counted in a compiled loop and the scores of many sums at once."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rypt.arrays import Floats, Ints
from rypt.compiled import compiled
from rypt.metrics.metric import Resources, sacrebleu_scores, stats_by_text
from rypt.metrics.ngrams import clipped_matches, ngram_counts, word_ids
from rypt.options import Options
from rypt.records import Candidate
from rypt.signature import signature
from rypt.texts.references import References

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

ORDER = 4
COLUMNS = 2 + 2 * ORDER
SMOOTHINGS = {"none": 0.0, "exp": 0.0, "floor": 0.1, "add-k": 1.0}  # sacrebleu's names and values


class Bleu:
    """sacrebleu's BLEU, one or more references; text is taken as it is tokenised unless ``tokenize`` says otherwise.

    Statistics, in sacrebleu's order: lengths of candidate and closest reference, matches and totals of 1- to 4-grams.
    """

    maximize = True
    scale = 100.0

    def __init__(
        self,
        references: References,
        *,
        tokenize: str = "none",
        smooth_method: str = "exp",
        smooth_value: float | None = None,
        lowercase: bool = False,
    ) -> None:
        self.references = references
        self.tokenize, self.lowercase = tokenize, lowercase
        self.plain = tokenize == "none" and not lowercase
        self.smooth_method, self.given_smooth_value = smooth_method, smooth_value
        self.smooth_value = SMOOTHINGS[smooth_method] if smooth_value is None else smooth_value

    @cached_property
    def bleu(self) -> "BLEU":
        """sacrebleu's metric with these options; loading it takes a while, and counting plain texts needs none."""
        from sacrebleu.metrics.bleu import BLEU

        return BLEU(
            tokenize=self.tokenize,
            smooth_method=self.smooth_method,
            smooth_value=self.given_smooth_value,
            lowercase=self.lowercase,
            force=True,
        )

    @property
    def signature(self) -> str:
        """sacrebleu's own signature."""
        self.bleu.num_refs = self.references.count
        return signature("BLEU", str(self.bleu.get_signature()))

    def stats(self, candidates: Sequence[Candidate]) -> Ints:
        """The statistics of each candidate, (candidates, 10)."""
        return stats_by_text(candidates, self._rows, COLUMNS)

    def _rows(self, segment: str, texts: list[str]) -> Ints:
        count = self.references.count
        ids, starts = word_ids([self._words(text) for text in (*self.references[segment], *texts)])
        lengths = np.diff(starts)
        rows = np.empty((len(texts), COLUMNS), np.int64)
        rows[:, 0] = lengths[count:]
        rows[:, 1] = _closest(lengths[count:], lengths[:count])
        rows[:, 2 : 2 + ORDER] = clipped_matches(ids, starts[: count + 1], starts[count:], ORDER)
        rows[:, 2 + ORDER :] = ngram_counts(starts[count:], ORDER)
        return rows

    def _words(self, text: str) -> list[str]:
        return (text if self.plain else self.bleu._preprocess_segment(text)).split()

    def score(self, sums: Ints) -> Floats:
        """Corpus BLEU of each row, from 0 to 100.

        One row is scored by sacrebleu itself; many, as in a line search, to about 14 digits of it.
        """
        if len(sums) == 1:
            return np.array([self.bleu._compute_score_from_stats(sums[0].tolist()).score])
        method = list(SMOOTHINGS).index(self.smooth_method)
        return bleu_scores(np.ascontiguousarray(sums, np.int64), method, self.smooth_value)

    @cached_property
    def sentence_bleu(self) -> "BLEU":
        """sacrebleu's sentence BLEU with these options: only orders that the candidate is long enough for count."""
        from sacrebleu.metrics.bleu import BLEU

        metric = BLEU(
            effective_order=True,
            tokenize=self.tokenize,
            smooth_method=self.smooth_method,
            smooth_value=self.given_smooth_value,
            lowercase=self.lowercase,
        )
        metric.num_refs = self.references.count
        return metric

    @property
    def sentence_signature(self) -> str:
        """The name ``bleu`` and sacrebleu's signature."""
        return f"bleu|{self.sentence_bleu.get_signature()}"

    def sentence_scores(self, candidates: Sequence[Candidate]) -> Floats:
        """sacrebleu's sentence BLEU of each candidate, from 0 to 1."""
        return sacrebleu_scores(self.sentence_bleu, candidates, self.references)


def make_bleu(resources: Resources, options: Mapping[str, str]) -> Bleu:
    """BLEU by name: ``bleu(tokenize=13a,smooth=floor,smooth_value=0.1,lowercase=true)``."""
    given = Options("bleu", options)
    tokenize = given.choice("tokenize", "none", _tokenizers() if "tokenize" in options else ["none"])
    smooth = given.choice("smooth", "exp", list(SMOOTHINGS))
    value = given.number("smooth_value", None, least=0.0)
    lowercase = given.flag("lowercase", False)
    given.done()
    references = resources.need_references("bleu")
    return Bleu(references, tokenize=tokenize, smooth_method=smooth, smooth_value=value, lowercase=lowercase)


def _tokenizers() -> list[str]:
    from sacrebleu.metrics.bleu import BLEU

    return sorted(BLEU.TOKENIZERS)


def _closest(lengths: Ints, references: Ints) -> Ints:
    """The length of a reference closest to each length; of two equally close the shorter."""
    sizes = np.sort(references)
    closest: Ints = sizes[np.abs(lengths[:, np.newaxis] - sizes).argmin(axis=1)]
    return closest


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
