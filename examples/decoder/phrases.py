"""Phrase pairs: extraction from aligned sentences and their four scores (Koehn, Och and Marcu 2003)."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from rypt.texts.alignment import Links

Words = Sequence[str]
Alignment = tuple[tuple[int, int], ...]
PhrasePair = tuple[str, str]
NULL = "NULL"


def extract_phrases(
    source: Words, target: Words, links: Links, longest: int
) -> Iterator[tuple[str, str, Alignment]]:
    """All phrase pairs of a sentence that no link leaves, with the links inside, counted from their starts.

    Words without a link may stand at either end of a target phrase.
    """
    linked = {j for _, j in links}
    for i1 in range(len(source)):
        for i2 in range(i1 + 1, min(i1 + longest, len(source)) + 1):
            targets = [j for i, j in links if i1 <= i < i2]
            if not targets:
                continue
            low, high = min(targets), max(targets) + 1
            if high - low > longest or any(low <= j < high and not i1 <= i < i2 for i, j in links):
                continue
            inside = sorted((i - i1, j) for i, j in links if i1 <= i < i2)
            for j1, j2 in _widen(low, high, linked, len(target), longest):
                shifted = tuple((i, j - j1) for i, j in inside)
                yield " ".join(source[i1:i2]), " ".join(target[j1:j2]), shifted


def _widen(low: int, high: int, linked: set[int], size: int, longest: int) -> Iterator[tuple[int, int]]:
    """The range and all wider ones that add only words without links."""
    j1 = low
    while True:
        j2 = high
        while j2 - j1 <= longest:
            yield j1, j2
            if j2 == size or j2 in linked:
                break
            j2 += 1
        j1 -= 1
        if j1 < 0 or j1 in linked or high - j1 > longest:
            return


class WordLexicon:
    """Word translation probabilities both ways, from counts of links; a word without a link goes with NULL."""

    def __init__(self, corpus: Sequence[tuple[Words, Words, Links]]) -> None:
        self._joint: Counter[PhrasePair] = Counter()
        self._source: Counter[str] = Counter()
        self._target: Counter[str] = Counter()
        for source, target, links in corpus:
            pairs = [(source[i], target[j]) for i, j in sorted(links)]
            pairs += [(source[i], NULL) for i in range(len(source)) if all(i != k for k, _ in links)]
            pairs += [(NULL, target[j]) for j in range(len(target)) if all(j != k for _, k in links)]
            self._joint.update(pairs)
            self._source.update(f for f, _ in pairs)
            self._target.update(e for _, e in pairs)

    def weight(self, source: Words, target: Words, links: Alignment) -> tuple[float, float]:
        """lex(f|e) and lex(e|f): for each word the mean over its links, multiplied over the words."""
        source_given_target = target_given_source = 1.0
        for i, f in enumerate(source):
            partners = [target[j] for k, j in links if k == i] or [NULL]
            source_given_target *= math.fsum(self._joint[f, e] / self._target[e] for e in partners) / len(
                partners
            )
        for j, e in enumerate(target):
            partners = [source[i] for i, k in links if k == j] or [NULL]
            target_given_source *= math.fsum(self._joint[f, e] / self._source[f] for f in partners) / len(
                partners
            )
        return source_given_target, target_given_source


def phrase_table(corpus: Sequence[tuple[Words, Words, Links]], longest: int) -> Iterator[str]:
    """Sorted lines ``source ||| target ||| p(f|e) lex(f|e) p(e|f) lex(e|f) ||| word alignment``."""
    alignments: dict[PhrasePair, Counter[Alignment]] = defaultdict(Counter)
    for source, target, links in corpus:
        for f, e, inside in extract_phrases(source, target, links, longest):
            alignments[f, e][inside] += 1
    counts = {pair: counted.total() for pair, counted in alignments.items()}
    sources: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    for (f, e), count in counts.items():
        sources[f] += count
        targets[e] += count
    lexicon = WordLexicon(corpus)
    for f, e in sorted(counts):
        inside = min(alignments[f, e].items(), key=lambda item: (-item[1], item[0]))[0]
        back, ahead = lexicon.weight(f.split(), e.split(), inside)
        count = counts[f, e]
        scores = " ".join(f"{score:.6g}" for score in (count / targets[e], back, count / sources[f], ahead))
        yield f"{f} ||| {e} ||| {scores} ||| {' '.join(f'{i}-{j}' for i, j in inside)}"
