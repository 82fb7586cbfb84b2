"""chrF and chrF++: sacrebleu's numbers, with n-grams counted in a compiled loop and the scores of many sums at once."""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import numpy as np
from sacrebleu.metrics.chrf import CHRF

from rypt.arrays import Floats, Ids, Ints
from rypt.metrics.metric import Resources, SacrebleuMetric
from rypt.metrics.ngrams import clipped_matches, ngram_counts, text_starts, word_ids
from rypt.options import Options
from rypt.text import RyptError
from rypt.texts.lists import References

EPSILON = 1e-16


class ChrF(SacrebleuMetric):
    """The F-score of character n-grams, and of word n-grams where ``word_order`` is not 0 (chrF++ has 2).

    Popović 2015 and 2017. Of several references the one with the best sentence score counts, the first of equals.
    Statistics are, for each order, characters first, the n-grams of the candidate, of the reference, and in both.
    """

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
        if char_order + word_order < 1:
            raise RyptError("the metric chrf: expected char_order and word_order not both 0")
        super().__init__(references, CHRF(char_order, word_order, beta, lowercase, whitespace, eps_smoothing))
        plus = "+" * word_order
        self.title, self.name, self.columns = f"chrF{beta}{plus}", f"chrf{plus}", 3 * self.metric.order

    def rows(self, segment: str, texts: list[str]) -> Ints:
        references = self.references[segment]
        every = [self.metric._preprocess_segment(text) for text in (*references, *texts)]
        encoded = []
        if self.metric.char_order:
            encoded.append((self.metric.char_order, *self._characters(every)))
        if self.metric.word_order:
            encoded.append((self.metric.word_order, *self._words(every)))
        choices = []
        for reference in range(len(references)):
            counts = [
                _ngram_stats(ids, starts[reference : reference + 2], starts[len(references) :], order)
                for order, ids, starts in encoded
            ]
            choices.append(np.concatenate(counts, axis=1).reshape(len(texts), -1))
        if len(references) == 1:
            return choices[0]
        scores = self.score(np.concatenate(choices)).reshape(len(references), len(texts))
        best: Ints = np.stack(choices)[np.argmax(scores, axis=0), np.arange(len(texts))]
        return best

    def _characters(self, texts: list[str]) -> tuple[Ids, Ints]:
        if not self.metric.whitespace:
            texts = ["".join(text.split()) for text in texts]
        data = "".join(texts).encode("utf-32-le", "surrogatepass")
        return np.frombuffer(data, np.int32), text_starts(texts)

    def _words(self, texts: list[str]) -> tuple[Ids, Ints]:
        words = [text.split() for text in texts]
        pieces = {word: self.metric._remove_punctuation(word) for word in set(chain.from_iterable(words))}
        return word_ids([[piece for word in text for piece in pieces[word]] for text in words])

    def score(self, sums: Ints) -> Floats:
        """Corpus chrF of each row, from 0 to 100: bit by bit what sacrebleu makes of the row."""
        return chrf_scores(sums, self.metric.beta, self.metric.eps_smoothing)


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


def chrf_maker(name: str, word_order: int) -> Callable[[Resources, Mapping[str, str]], ChrF]:
    """The factory of the metric ``chrf`` or ``chrf++``."""

    def make(resources: Resources, options: Mapping[str, str]) -> ChrF:
        read = Options(name, options)
        orders = {"char_order": 6, "word_order": word_order, "beta": 2}
        chosen: dict[str, Any] = {option: read.whole(option, default) for option, default in orders.items()}
        chosen |= {flag: read.flag(flag, False) for flag in ("lowercase", "whitespace", "eps_smoothing")}
        read.done()
        return ChrF(resources.need_references(name), **chosen)

    return make


make_chrf = chrf_maker("chrf", 0)
make_chrf_plus_plus = chrf_maker("chrf++", 2)
