"""chrF and chrF++: sacrebleu's numbers, with n-grams counted in a compiled loop and the scores of many sums at once."""

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from rypt.arrays import Floats, Ids, Ints
from rypt.metrics.metric import Resources, sacrebleu_scores, stats_by_text
from rypt.metrics.ngrams import clipped_matches, ngram_counts, text_starts, word_ids
from rypt.options import Options
from rypt.records import Candidate
from rypt.signature import signature
from rypt.text import RyptError
from rypt.texts.references import References

EPSILON = 1e-16


class ChrF:
    """The F-score of character n-grams, and of word n-grams where ``word_order`` is not 0 (chrF++ has 2).

    Popović 2015 and 2017. Of several references the one with the best sentence score counts.
    """

    maximize = True
    scale = 100.0

    def __init__(
        self,
        references: References,
        *,
        char_order: int = 6,
        word_order: int = 0,
        beta: int = 2,
        lowercase: bool = False,
        whitespace: bool = False,
        eps_smoothing: bool = False,
    ) -> None:
        from sacrebleu.metrics.chrf import CHRF

        if char_order + word_order < 1:
            raise RyptError("the metric chrf: expected char_order and word_order not both 0")
        self.references = references
        self.chrf = CHRF(char_order, word_order, beta, lowercase, whitespace, eps_smoothing)
        self.chrf.num_refs = references.count

    @property
    def signature(self) -> str:
        """sacrebleu's name and signature."""
        return signature(f"chrF{self.chrf.beta}{'+' * self.chrf.word_order}", str(self.chrf.get_signature()))

    def stats(self, candidates: Sequence[Candidate]) -> Ints:
        """For each order, characters first, the n-grams of the candidate, of the reference, and in both."""
        return stats_by_text(candidates, self._rows, 3 * self.chrf.order)

    def _rows(self, segment: str, texts: list[str]) -> Ints:
        """The statistics for the reference with the highest sentence score, the first of equals."""
        references = self.references[segment]
        every = [self.chrf._preprocess_segment(text) for text in (*references, *texts)]
        encoded = [
            (order, *encode(every))
            for order, encode in (
                (self.chrf.char_order, self._characters),
                (self.chrf.word_order, self._words),
            )
            if order
        ]
        choices = []
        for reference in range(len(references)):
            counts = [
                _ngram_stats(ids, starts[reference : reference + 2], starts[len(references) :], order)
                for order, ids, starts in encoded
            ]
            choices.append(np.concatenate(counts, axis=1).reshape(len(texts), -1))
        scores = [chrf_scores(rows, self.chrf.beta, self.chrf.eps_smoothing) for rows in choices]
        best: Ints = np.stack(choices)[np.argmax(scores, axis=0), np.arange(len(texts))]
        return best

    def _characters(self, texts: list[str]) -> tuple[Ids, Ints]:
        if not self.chrf.whitespace:
            texts = ["".join(text.split()) for text in texts]
        data = "".join(texts).encode("utf-32-le", "surrogatepass")
        return np.frombuffer(data, np.int32), text_starts(texts)

    def _words(self, texts: list[str]) -> tuple[Ids, Ints]:
        words = [text.split() for text in texts]
        pieces = {word: self.chrf._remove_punctuation(word) for word in set(chain.from_iterable(words))}
        return word_ids([[piece for word in text for piece in pieces[word]] for text in words])

    def score(self, sums: Ints) -> Floats:
        """Corpus chrF of each row, from 0 to 100: bit by bit what sacrebleu makes of the row."""
        return chrf_scores(sums, self.chrf.beta, self.chrf.eps_smoothing)

    @property
    def sentence_signature(self) -> str:
        """The name, ``chrf`` or ``chrf++``, and sacrebleu's signature."""
        return f"chrf{'+' * self.chrf.word_order}|{self.chrf.get_signature()}"

    def sentence_scores(self, candidates: Sequence[Candidate]) -> Floats:
        """sacrebleu's sentence chrF of each candidate, from 0 to 1."""
        return sacrebleu_scores(self.chrf, candidates, self.references)


def _ngram_stats(ids: Ids, reference: Ints, texts: Ints, order: int) -> Ints:
    """n-grams of the candidate, of the reference, and in both, (texts, order, 3)."""
    ours, theirs = ngram_counts(texts, order), ngram_counts(reference, order)
    stats = np.empty((*ours.shape, 3), np.int64)
    stats[:, :, 0] = np.where(theirs > 0, ours, 0)
    stats[:, :, 1] = theirs
    stats[:, :, 2] = clipped_matches(ids, reference, texts, order)
    return stats


def chrf_scores(sums: Ints, beta: int, eps_smoothing: bool) -> Floats:
    """F-scores of rows of (candidate, reference, match) counts, an order after the other.

    Precision and recall are averaged over the orders that both sides have; with ``eps_smoothing`` the F-scores of all
    orders are. Every operation stands where sacrebleu has it, so the roundings are the same.
    """
    factor = beta**2
    size = len(sums)
    score, precision, recall, orders = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    for start in range(0, sums.shape[1], 3):
        ours, theirs, both = sums[:, start : start + 3].T
        p = _divide(both, ours, EPSILON)
        r = _divide(both, theirs, EPSILON)
        score += _divide((1 + factor) * p * r, factor * p + r, EPSILON)
        effective = (ours > 0) & (theirs > 0)
        precision += np.where(effective, p, 0.0)
        recall += np.where(effective, r, 0.0)
        orders += effective
    if eps_smoothing:
        means: Floats = 100 * score / (sums.shape[1] // 3)
        return means
    precision, recall = _divide(precision, orders, 0.0), _divide(recall, orders, 0.0)
    return 100 * _divide((1 + factor) * precision * recall, factor * precision + recall, 0.0)


def _divide(part: Floats | Ints, whole: Floats | Ints, otherwise: float) -> Floats:
    """Quotients, and a number where the divisor is 0."""
    result: Floats = np.full(len(part), otherwise)
    np.divide(part, whole, out=result, where=whole > 0)
    return result


def make_chrf(resources: Resources, options: Mapping[str, str]) -> ChrF:
    """The metric ``chrf``."""
    return _make("chrf", 0, resources, options)


def make_chrf_plus_plus(resources: Resources, options: Mapping[str, str]) -> ChrF:
    """The metric ``chrf++``, with unigrams and bigrams of words."""
    return _make("chrf++", 2, resources, options)


def _make(name: str, word_order: int, resources: Resources, given: Mapping[str, str]) -> ChrF:
    options = Options(name, given)
    metric = ChrF(
        resources.need_references(name),
        char_order=options.whole("char_order", 6),
        word_order=options.whole("word_order", word_order),
        beta=options.whole("beta", 2),
        lowercase=options.flag("lowercase", False),
        whitespace=options.flag("whitespace", False),
        eps_smoothing=options.flag("eps_smoothing", False),
    )
    options.done()
    return metric
