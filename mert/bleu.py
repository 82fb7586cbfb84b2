"""BLEU for tuning: sacrebleu's numbers, with the statistics of whole lists counted in one compiled loop."""

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mert.lists import NBest
from rypt.kernel import compiled
from rypt.text import RyptError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ids = NDArray[np.int32]
ORDER = 4


class Bleu:
    """sacrebleu's BLEU, one or more references; text is taken as it is tokenised unless ``tokenize`` says otherwise."""

    def __init__(self, references: Sequence[Sequence[str]], tokenize: str = "none", smooth_method: str = "exp") -> None:
        from sacrebleu.metrics.bleu import BLEU

        if smooth_method not in ("exp", "none"):
            raise RyptError(f"expected smoothing exp or none, found {smooth_method!r}")
        self.references = references
        self.bleu = BLEU(tokenize=tokenize, smooth_method=smooth_method, force=True)

    @property
    def signature(self) -> str:
        """sacrebleu's own signature."""
        self.bleu.num_refs = len(self.references)
        return f"BLEU|{self.bleu.get_signature()}"

    def stats(self, lists: NBest) -> Ints:
        """Lengths of candidate and reference, matches and totals of 1- to 4-grams, in sacrebleu's order."""
        count = len(self.references[0])
        for segment in lists.segments:
            if not segment.isdigit() or int(segment) >= count:
                raise RyptError(f"segment {segment} of the list has no reference: there are {count}, from 0")
        vocabulary = _Vocabulary()
        references = (document[int(segment)] for segment in lists.segments for document in self.references)
        reference_ids, reference_offsets = self._token_ids(references, vocabulary)
        ids, offsets = self._token_ids((raw.text for raw in lists.candidates), vocabulary)
        size = 2 + 2 * ORDER
        rows = np.zeros((len(lists.candidates), size), np.int64)
        count_ngrams(reference_ids, reference_offsets, len(self.references), ids, offsets, lists.offsets, rows)
        return rows

    def _token_ids(self, texts: Iterable[str], vocabulary: "_Vocabulary") -> tuple[Ids, Ints]:
        """The tokens of many texts as numbers, and where each text begins."""
        ids, offsets = array("i"), array("q", [0])
        for text in texts:
            ids.extend(map(vocabulary.__getitem__, self.bleu._preprocess_segment(text).split()))
            offsets.append(len(ids))
        return np.array(ids, dtype=np.int32), np.array(offsets, dtype=np.int64)

    def score(self, sums: Ints) -> Floats:
        """Corpus BLEU of each row, from 0 to 100."""
        return bleu_scores(np.ascontiguousarray(sums), self.bleu.smooth_method == "exp")


class _Vocabulary(dict[str, int]):
    """Numbers for tokens, given out when a token is first seen."""

    def __missing__(self, token: str) -> int:
        number = len(self)
        self[token] = number
        return number


@compiled
def _find_state(slots: Ids, states: Ids, tokens: Ids, state: int, token: int) -> int:
    """The slot of the step from a state by a token in the trie of reference n-grams, or the empty slot for it."""
    mask = len(slots) - 1
    slot = (state * 40503 + token * 30011) & mask
    while slots[slot] >= 0 and (states[slot] != state or tokens[slot] != token):
        slot = (slot + 1) & mask
    return slot


@compiled
def count_ngrams(
    references: Ids, reference_offsets: Ints, per_segment: int, ids: Ids, offsets: Ints, segments: Ints, rows: Ints
) -> None:
    """Fill the rows of all candidates: lengths, clipped matches, totals.

    The n-grams of a segment's references form a trie: a state for each, reached from the state of its first words. A
    candidate's n-grams are counted on the way through it, so each is compared exactly.
    """
    longest = 1
    for segment in range(len(segments) - 1):
        first, last = segment * per_segment, (segment + 1) * per_segment
        longest = max(longest, reference_offsets[last] - reference_offsets[first])
    size = 16
    while size < 2 * ORDER * longest + 2:
        size *= 2
    slots, states, tokens = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    allowed, seen = np.empty(ORDER * longest + 1, np.int64), np.empty(ORDER * longest + 1, np.int64)
    for segment in range(len(segments) - 1):
        slots[:] = -1
        known = 1
        allowed[:] = 0
        for reference in range(segment * per_segment, (segment + 1) * per_segment):
            seen[:] = 0
            stop = reference_offsets[reference + 1]
            for start in range(reference_offsets[reference], stop):
                state = 0
                for place in range(start, min(start + ORDER, stop)):
                    slot = _find_state(slots, states, tokens, state, references[place])
                    if slots[slot] < 0:
                        slots[slot], states[slot], tokens[slot] = known, state, references[place]
                        known += 1
                    state = slots[slot]
                    seen[state] += 1
                    allowed[state] = max(allowed[state], seen[state])
        for candidate in range(segments[segment], segments[segment + 1]):
            seen[:known] = 0
            begin, stop = offsets[candidate], offsets[candidate + 1]
            for start in range(begin, stop):
                state = 0
                for n in range(min(ORDER, stop - start)):
                    slot = _find_state(slots, states, tokens, state, ids[start + n])
                    if slots[slot] < 0:
                        break
                    state = slots[slot]
                    seen[state] += 1
                    if seen[state] <= allowed[state]:
                        rows[candidate, 2 + n] += 1
            length = stop - begin
            rows[candidate, 0] = length
            rows[candidate, 1] = _closest(reference_offsets, segment * per_segment, per_segment, length)
            for n in range(ORDER):
                rows[candidate, 2 + ORDER + n] = max(0, length - n)


@compiled
def _closest(offsets: Ints, first: int, count: int, length: int) -> int:
    """The reference length closest to a candidate's; of two equally close the shorter."""
    best = offsets[first + 1] - offsets[first]
    for reference in range(first + 1, first + count):
        other = offsets[reference + 1] - offsets[reference]
        nearer = abs(other - length) - abs(best - length)
        if nearer < 0 or (nearer == 0 and other < best):
            best = other
    return int(best)


@compiled
def bleu_scores(sums: Ints, smooth: bool) -> Floats:
    """BLEU-4 of each row (candidate length, reference length, four matches, four totals).

    An order without a match counts as 1 / (2^k total), k the number of such orders so far, when ``smooth``.
    """
    scores = np.zeros(len(sums))
    for row in range(len(sums)):
        length, reference = sums[row, 0], sums[row, 1]
        logs, halvings, matches = 0.0, 1.0, 0
        dead = length == 0
        for n in range(ORDER):
            correct, total = sums[row, 2 + n], sums[row, 2 + ORDER + n]
            matches += correct
            if total == 0 or (correct == 0 and not smooth):
                dead = True
            elif correct == 0:
                halvings *= 2.0
                logs += np.log(100.0 / (halvings * total))
            else:
                logs += np.log(100.0 * correct / total)
        if not dead and matches > 0:
            penalty = np.exp(1.0 - reference / length) if length < reference else 1.0
            scores[row] = penalty * np.exp(logs / ORDER)
    return scores
