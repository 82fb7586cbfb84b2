"""Counting the n-grams that texts share with references, for BLEU and chrF."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, count

import numpy as np

from rypt.arrays import Ids, Ints
from rypt.compiled import compiled


@compiled
def _step(children: Ids, parents: Ids, steps: Ids, parent: int, token: int) -> int:
    """The slot of the n-gram that continues another by a token, or the empty slot where it belongs."""
    mask = len(children) - 1
    slot = (parent * 40503 + token * 30011) & mask
    while children[slot] >= 0 and (parents[slot] != parent or steps[slot] != token):
        slot = (slot + 1) & mask
    return slot


@compiled
def clipped_matches(tokens: Ids, references: Ints, texts: Ints, order: int) -> Ints:
    """How many n-grams of each text the references have, (texts, order); each counts as often as in one of them.

    Reference r has the tokens ``tokens[references[r]:references[r + 1]]``, and so on for the texts. The n-grams of the
    references form a trie in a hash table; a text's n-grams are counted on the way through it.
    """
    most = order * (references[-1] - references[0]) + 1
    size = 16
    while size < 2 * most:
        size *= 2
    children = np.full(size, -1, np.int32)
    parents, steps = np.empty(size, np.int32), np.empty(size, np.int32)
    allowed = np.zeros(most, np.int64)
    seen = np.zeros(most, np.int64)
    known = 1  # the n-gram 0 is empty
    for reference in range(len(references) - 1):
        seen[:known] = 0
        stop = references[reference + 1]
        for start in range(references[reference], stop):
            ngram = 0
            for place in range(start, min(start + order, stop)):
                slot = _step(children, parents, steps, ngram, tokens[place])
                if children[slot] < 0:
                    children[slot], parents[slot], steps[slot] = known, ngram, tokens[place]
                    known += 1
                ngram = children[slot]
                seen[ngram] += 1
                allowed[ngram] = max(allowed[ngram], seen[ngram])
    matches = np.zeros((len(texts) - 1, order), np.int64)
    for text in range(len(texts) - 1):
        seen[:known] = 0
        stop = texts[text + 1]
        for start in range(texts[text], stop):
            ngram = 0
            for n in range(min(order, stop - start)):
                slot = _step(children, parents, steps, ngram, tokens[start + n])
                if children[slot] < 0:
                    break
                ngram = children[slot]
                seen[ngram] += 1
                if seen[ngram] <= allowed[ngram]:
                    matches[text, n] += 1
    return matches


def word_ids(texts: Sequence[Sequence[str]]) -> tuple[Ids, Ints]:
    """The words of texts as numbers, one text behind the other, and where each begins."""
    starts = text_starts(texts)
    ids = defaultdict[str, int](count().__next__)
    numbers = map(ids.__getitem__, chain.from_iterable(texts))
    return np.fromiter(numbers, np.int32, int(starts[-1])), starts


def text_starts(texts: Sequence[Sequence[str]]) -> Ints:
    """Where each text begins when they stand one behind the other, and where the last ends."""
    return np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)


def ngram_counts(starts: Ints, order: int) -> Ints:
    """How many n-grams of each length texts have, (texts, order)."""
    return np.maximum(0, np.diff(starts)[:, np.newaxis] - np.arange(order))
