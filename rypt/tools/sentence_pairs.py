"""Paragraphs cut into pairs of sentences, so that an aligner has less to compare.

What an aligner does for a pair grows with the product of its lengths: a paragraph of four sentences costs four times as
much as its sentences one by one, and its words may be linked across sentences. A pair is cut where both sides have
the same number of sentences and each sentence is about as long as its partner; other pairs stay whole.
"""

from collections.abc import Sequence

from rypt.records import Span
from rypt.texts.fallback_trees import sentences

MOST_TIMES, MORE_TOKENS = (
    2.0,
    4,
)  # how much longer one of two sentences may be, than the lengths of both sides suggest
Pair = tuple[tuple[str, ...], tuple[str, ...]]
Piece = tuple[Span, Span]


def sentence_pairs(pair: Pair) -> list[Piece]:
    """The spans of source and candidate sentences that belong together, in order; one of all tokens if unsure.

    >>> source, candidate = "Ja . Das Haus brennt .".split(), "Yes . The house is on fire .".split()
    >>> [f"{one} {other}" for one, other in sentence_pairs((tuple(source), tuple(candidate)))]
    ['0-2 0-2', '2-6 2-8']
    """
    one, other = (list(sentences(side)) for side in pair)
    whole = [(Span(0, len(pair[0])), Span(0, len(pair[1])))]
    if len(one) != len(other) or len(one) < 2:
        return whole
    pieces = list(zip(one, other, strict=True))
    return pieces if _are_alike(pieces, len(pair[1]) / len(pair[0])) else whole


def _are_alike(pieces: Sequence[Piece], ratio: float) -> bool:
    """Whether all partners have about the same length, given how long the candidate is for its source."""
    for one, other in pieces:
        shorter, longer = sorted((len(one) * ratio, float(len(other))))
        if longer > MOST_TIMES * shorter + MORE_TOKENS:
            return False
    return True
