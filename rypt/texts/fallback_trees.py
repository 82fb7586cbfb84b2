"""A tree for languages without a parser, from punctuation and length alone.

1. Sentences: a segment is cut after each run of sentence-final punctuation (. ! ? … and those of other scripts) with
   the quotation marks and brackets that close after it.
2. Clauses: a sentence is cut at every other token made of punctuation; the tokens between two of them are a clause, the
   punctuation itself belongs to the sentence.
3. Halves: a clause of more than two words is cut in two, before the word with the fewest letters in its middle half
   (the nearest to the middle, if there are several), and so are the parts: short words (articles, prepositions,
   conjunctions, auxiliaries) often begin a constituent. What is left are pairs of words and words.

No language is asked for. Tokens are never cut: a Chinese or Thai word stays whole where it is one token
(`rypt.texts.tokenizer`). Where short words follow what they belong to, step 3 does no better than a cut in the middle.
What these trees lose against those of a parser is measured by ``bench/fallback.py`` (docs/evidence.md).
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from rypt.records import Span
from rypt.texts.trees import SourceTree

FINAL = frozenset(".!?…。！？．｡؟۔।॥։።។៕။")
CLOSING_QUOTES = frozenset(("'", '"', "''", "’", "”", "“", "»", "«"))


def fallback_tree(tokens: Sequence[str]) -> SourceTree:
    """The tree of one tokenised segment.

    >>> str(fallback_tree("Well , birds sing in the morning . Go !".split()))
    '(ROOT (S (C Well) (X ,) (C (H (X birds) (X sing)) (H (X in) (H (X the) (X morning)))) (X .)) (S (C Go) (X !)))'
    """
    spans: list[tuple[Span, str]] = [(Span(0, len(tokens)), "ROOT")] if tokens else []
    for sentence in _sentences(tokens):
        spans.append((sentence, "S"))
        for clause in _clauses(tokens, sentence):
            spans.append((clause, "C"))
            spans += ((part, "H") for part in _halves(tokens, clause))
    return SourceTree.from_spans(tokens, spans)


def _is_punctuation(token: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in token)


@lru_cache(1 << 16)
def _is_final(token: str) -> bool:
    return _is_punctuation(token) and not FINAL.isdisjoint(token)


@lru_cache(1 << 16)
def _closes(token: str) -> bool:
    return token in CLOSING_QUOTES or all(
        unicodedata.category(character) in ("Pe", "Pf") for character in token
    )


def _sentences(tokens: Sequence[str]) -> Iterator[Span]:
    start, ended = 0, False
    for i, token in enumerate(tokens):
        ended = _is_final(token) or (ended and _closes(token))
        following = tokens[i + 1] if i + 1 < len(tokens) else ""
        if not following or (ended and not _is_final(following) and not _closes(following)):
            yield Span(start, i + 1)
            start, ended = i + 1, False


def _clauses(tokens: Sequence[str], sentence: Span) -> Iterator[Span]:
    start = sentence.start
    for i in range(sentence.start, sentence.stop + 1):
        if i == sentence.stop or _is_punctuation(tokens[i]):
            if i > start:
                yield Span(start, i)
            start = i + 1


def _halves(tokens: Sequence[str], clause: Span) -> Iterator[Span]:
    waiting = [clause]
    while waiting:
        start, stop = waiting.pop()
        if stop - start <= 2:
            continue
        margin = max(1, (stop - start) // 4)
        cuts = range(start + margin, stop - margin + 1)
        middle = start + stop
        cut = min(cuts, key=lambda i: (len(tokens[i]), abs(2 * i - middle)))
        for part in (Span(start, cut), Span(cut, stop)):
            if len(part) > 1:
                yield part
                waiting.append(part)
