"""BLEU for tuning: sacrebleu's numbers, with the statistics of whole lists counted in one compiled loop."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mert.lists.arrays import Candidates
from mert.lists.token_table import FNV, find_hashed, hash_byte, mix
from mert.metrics.sentence import sacrebleu_shares
from rypt.arrays import Bytes, Floats, Ids, Ints
from rypt.compiled import compiled
from rypt.metrics.metric import Metric, Resources, stats_by_text
from rypt.metrics.references import References
from rypt.options import Options
from rypt.records import Candidate
from rypt.signature import signature

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
        if isinstance(candidates, Candidates) and self.plain:
            return self._count(candidates)
        return stats_by_text(candidates, self._rows, COLUMNS)

    def _rows(self, segment: str, texts: list[str]) -> Ints:
        """The statistics of texts of one segment, tokenised by sacrebleu."""
        prepared = _Texts([self.bleu._preprocess_segment(text) for text in texts])
        references = _Texts([self.bleu._preprocess_segment(text) for text in self.references[segment]])
        rows = np.zeros((len(texts), COLUMNS), np.int64)
        offsets = np.array([0, len(texts)], np.int64)
        _count_all(references, len(references.ranges), prepared.buffer, prepared.ranges, offsets, rows)
        return rows

    def _count(self, candidates: Candidates) -> Ints:
        """Count in the list's own bytes, each text of a segment once."""
        first = np.flatnonzero(candidates.equals == np.arange(len(candidates)))
        starts = np.unique(candidates.segments[first], return_index=True)[1]
        names = [candidates[int(first[start])].segment for start in starts]
        references = _Texts([text for name in names for text in self.references[name]])
        offsets = np.append(starts, len(first)).astype(np.int64)
        rows = np.zeros((len(first), COLUMNS), np.int64)
        texts = candidates.texts[first]
        _count_all(references, self.references.count, candidates.buffer, texts, offsets, rows)
        return rows if len(first) == len(candidates) else rows[np.searchsorted(first, candidates.equals)]

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
        return sacrebleu_shares(self.sentence_bleu, candidates, self.references)


def make_bleu(resources: Resources, options: "dict[str, str]") -> Metric:
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


class _Texts:
    """Texts in one buffer."""

    def __init__(self, texts: Sequence[str]) -> None:
        data = [text.encode() for text in texts]
        ends = np.cumsum([0, *map(len, data)])
        self.buffer: Bytes = np.frombuffer(b"".join(data), np.uint8)
        self.ranges = np.stack([ends[:-1], ends[1:]], axis=1).astype(np.int64)


def _count_all(
    references: _Texts, per_segment: int, buffer: Bytes, texts: Ints, segments: Ints, rows: Ints
) -> None:
    """Fill the rows of all texts; those of segment s are ``segments[s]:segments[s + 1]``."""
    size = 16
    while size < len(references.buffer) + 2:
        size *= 2
    most = len(references.buffer) // 2 + len(references.ranges) + 1  # tokens
    starts, stops, slots = np.empty(most, np.int64), np.empty(most, np.int64), np.full(size, -1, np.int32)
    ids = np.empty(most, np.int32)
    offsets = np.empty(len(references.ranges) + 1, np.int64)
    intern_tokens(references.buffer, references.ranges, starts, stops, slots, ids, offsets)
    longest = int((texts[:, 1] - texts[:, 0]).max(initial=0)) // 2 + 2
    ngrams = (
        ORDER * int(np.diff(offsets[::per_segment]).max(initial=1)) + 1
    )  # of one segment's references, at most
    size = 16
    while size < 2 * ngrams:
        size *= 2
    count_ngrams(
        references.buffer,
        starts,
        stops,
        slots,
        ids,
        offsets,
        per_segment,
        buffer,
        texts,
        segments,
        np.empty(longest, np.int32),
        np.empty((3, size), np.int32),
        np.empty((2, ngrams), np.int64),
        rows,
    )


@compiled
def _wide_space(buffer: Bytes, place: int, stop: int) -> int:
    """How many bytes of white space beyond ASCII begin here; 0 for none."""
    first = buffer[place]
    second = buffer[place + 1] if place + 1 < stop else 0
    third = buffer[place + 2] if place + 2 < stop else 0
    width = 0
    if first == 0xC2:
        width = 2 if second == 0x85 or second == 0xA0 else 0
    elif first == 0xE1:
        width = 3 if second == 0x9A and third == 0x80 else 0
    elif first == 0xE2:
        thin = second == 0x80 and (0x80 <= third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF)
        width = 3 if thin or (second == 0x81 and third == 0x9F) else 0
    elif second == 0x80 and third == 0x80:
        width = 3
    return width


@compiled
def _space(buffer: Bytes, place: int, stop: int) -> int:
    """How many bytes of white space, as Python's ``str.split`` knows it, begin here; 0 for none."""
    byte = buffer[place]
    width = 0
    if byte <= 32:
        width = 1 if byte == 32 or 9 <= byte <= 13 or byte >= 28 else 0
    elif byte == 0xC2 or 0xE1 <= byte <= 0xE3:
        width = _wide_space(buffer, place, stop)
    return width


@compiled
def _next_token(buffer: Bytes, place: int, stop: int) -> tuple[int, int, np.uint64]:
    """Where the next token begins and ends, and its hash; both places are ``stop`` after the last."""
    begin = place
    value = FNV
    while place < stop:
        width = _space(buffer, place, stop)
        if width == 0:
            value = hash_byte(value, buffer[place])
            place += 1
        elif place > begin:
            break
        else:
            begin += width
            place = begin
    return begin, place, mix(value)


@compiled
def intern_tokens(
    buffer: Bytes, ranges: Ints, starts: Ints, stops: Ints, slots: Ids, ids: Ids, offsets: Ints
) -> None:
    """Number the distinct tokens of the references; ``ids`` are the tokens of all, a reference from ``offsets`` on."""
    known, count = 0, 0
    for text in range(len(ranges)):
        offsets[text] = count
        place, stop = ranges[text, 0], ranges[text, 1]
        while True:
            begin, end, hashed = _next_token(buffer, place, stop)
            if begin >= end:
                break
            place = end
            token, slot = find_hashed(slots, buffer, starts, stops, buffer, begin, end, hashed)
            if token < 0:
                token = np.int64(known)
                slots[slot] = token
                starts[token], stops[token] = begin, end
                known += 1
            ids[count] = token
            count += 1
    offsets[len(ranges)] = count


@compiled
def _find_state(slots: Ids, states: Ids, tokens: Ids, state: np.int32, token: int) -> int:
    """The slot of the step from a state by a token in the trie of reference n-grams, or the empty slot for it."""
    mask = len(slots) - 1
    slot = (int(state) * 40503 + int(token) * 30011) & mask
    while slots[slot] >= 0 and (states[slot] != state or tokens[slot] != token):
        slot = (slot + 1) & mask
    return slot


@compiled
def count_ngrams(
    known: Bytes,
    starts: Ints,
    stops: Ints,
    token_slots: Ids,
    references: Ids,
    reference_offsets: Ints,
    per_segment: int,
    buffer: Bytes,
    texts: Ints,
    segments: Ints,
    ids: Ids,
    trie: Ids,
    counts: Ints,
    rows: Ints,
) -> None:
    """Fill the rows of all texts: lengths, clipped matches, totals.

    The n-grams of a segment's references form a trie: a state for each, reached from the state of its first words. A
    candidate's n-grams are counted on the way through it, so each is compared exactly. ``ids``, ``trie`` and ``counts``
    are room for the tokens of a candidate, the steps between states and their numbers.
    """
    slots, states, steps = trie[0], trie[1], trie[2]
    allowed, seen = counts[0], counts[1]
    for segment in range(len(segments) - 1):
        slots[:] = -1
        reached = 1
        allowed[:] = 0
        for reference in range(segment * per_segment, (segment + 1) * per_segment):
            seen[:] = 0
            stop = reference_offsets[reference + 1]
            for start in range(reference_offsets[reference], stop):
                state = np.int32(0)
                for place in range(start, min(start + ORDER, stop)):
                    slot = _find_state(slots, states, steps, state, references[place])
                    if slots[slot] < 0:
                        slots[slot], states[slot], steps[slot] = reached, state, references[place]
                        reached += 1
                    state = slots[slot]
                    seen[state] += 1
                    allowed[state] = max(allowed[state], seen[state])
        for candidate in range(segments[segment], segments[segment + 1]):
            seen[:reached] = 0
            place, stop, length = texts[candidate, 0], texts[candidate, 1], 0
            while True:
                begin, end, hashed = _next_token(buffer, place, stop)
                if begin >= end:
                    break
                place = end
                ids[length], _ = find_hashed(token_slots, known, starts, stops, buffer, begin, end, hashed)
                length += 1
            for start in range(length):
                state = np.int32(0)
                for n in range(min(ORDER, length - start)):
                    if ids[start + n] < 0:
                        break
                    slot = _find_state(slots, states, steps, state, ids[start + n])
                    if slots[slot] < 0:
                        break
                    state = slots[slot]
                    seen[state] += 1
                    if seen[state] <= allowed[state]:
                        rows[candidate, 2 + n] += 1
            rows[candidate, 0] = length
            rows[candidate, 1] = _closest(
                reference_offsets, segment * per_segment, per_segment, rows[candidate, 0]
            )
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
