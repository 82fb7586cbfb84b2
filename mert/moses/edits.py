"""Edits between words as Moses counts them: WER, CDER, and PER, which knows no order."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from rypt.arrays import Floats, Ids, Ints
from rypt.compiled import compiled
from rypt.metrics.metric import stats_by_text
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.references import References


@compiled
def edit_distance(candidate: Ids, reference: Ids, jumps: bool) -> int:
    """The cheapest way from reference to candidate by insertions, deletions and substitutions of words.

    With ``jumps`` the reference is still gone through word by word, but one may jump to any place of the candidate
    for the price of one edit (CDER, Leusch et al. 2006), so moved blocks are cheap.
    """
    size = len(candidate) + 1
    row, following = np.empty(size, np.int64), np.empty(size, np.int64)
    for place in range(size):
        row[place] = min(place, 1) if jumps else place
    for word in reference:
        following[0] = row[0] + 1
        for place in range(1, size):
            same = row[place - 1] + (0 if candidate[place - 1] == word else 1)
            following[place] = min(same, row[place] + 1, following[place - 1] + 1)
        if jumps:
            jump = following.min() + 1
            for place in range(size):
                following[place] = min(following[place], jump)
        row, following = following, row
    return int(row[size - 1])


def edit_stats(
    references: References, candidates: Sequence[Candidate], *, jumps: bool, lowercase: bool
) -> Ints:
    """Edits to the reference with the lowest rate, and its length, (candidates, 2)."""

    def rows(segment: str, texts: list[str]) -> Iterator[list[int]]:
        ids: dict[str, int] = {}

        def encoded(text: str) -> Ids:
            words = (text.lower() if lowercase else text).split()
            return np.array([ids.setdefault(word, len(ids)) for word in words], np.int32)

        known = [encoded(reference) for reference in references[segment]]
        for text in texts:
            words = encoded(text)
            distances = [(int(edit_distance(words, reference, jumps)), len(reference)) for reference in known]
            edits, length = min(
                distances, key=lambda pair: pair[0] / pair[1] if pair[1] else float(pair[0] > 0)
            )
            yield [edits, length]

    return stats_by_text(candidates, rows, 2)


def accuracy(sums: Ints) -> Floats:
    """One minus edits / length of each row; without a reference word 1, or 0 where there are edits."""
    edits, lengths = sums[:, 0], sums[:, 1]
    rates: Floats = np.where(edits > 0, 1.0, 0.0)
    np.divide(edits, lengths, out=rates, where=lengths > 0)
    return 1.0 - rates


def position_free_stats(references: References, candidates: Sequence[Candidate], *, lowercase: bool) -> Ints:
    """Words of the candidate that the reference has too, and the lengths of both, (candidates, 3)."""
    if references.count != 1:
        raise RyptError(f"the metric PER compares with one reference, found {references.count}")

    def rows(segment: str, texts: list[str]) -> Iterator[list[int]]:
        (reference,) = (Counter(_words(text, lowercase)) for text in references[segment])
        for text in texts:
            words = Counter(_words(text, lowercase))
            yield [(words & reference).total(), words.total(), reference.total()]

    return stats_by_text(candidates, rows, 3)


def _words(text: str, lowercase: bool) -> list[str]:
    return (text.lower() if lowercase else text).split()


def position_free_accuracy(sums: Ints) -> Floats:
    """Of each row the words in common, less the words too many, by the length of the reference; 0 without any."""
    common, length, reference = sums.T
    rates: Floats = np.zeros(len(sums))
    np.divide(common - np.maximum(0, length - reference), reference, out=rates, where=reference > 0)
    return rates
