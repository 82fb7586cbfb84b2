"""Controls: items whose answer is known, mixed in to detect careless work.

Three kinds. *Repeats* are labels on which workers agreed before. *Identical* texts are equal; a phrase that candidate
and reference share is an acceptable translation if a person verified it (`hits.batch.label_controls`), and so is a name or
number that stands as it is in source, candidate and reference. *Damaged* candidates have words of another segment put
in, the way WMT's direct assessments make bad references, so that a reader sees that they are no translation.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rypt.records import Label, Span, Votes
from rypt.text import RyptError
from rypt.texts.alignment import Links
from rypt.texts.phrases import linked_positions

TRIES = 50
CONFIDENT = 2  # the weight of votes that agree, from which a label is repeated as a control


def control_count(asked: int, share: float) -> int:
    """The number of controls that make up this share of all items; at least one if the share is above 0.

    >>> control_count(90, 0.1), control_count(2, 0.1), control_count(90, 0)
    (10, 1, 0)
    """
    if not 0 <= share <= 0.5:
        raise RyptError(f"expected a share of controls between 0 and 0.5, found {share}")
    return max(1, round(asked * share / (1 - share))) if share and asked else 0


def confident_label(votes: Votes) -> Label | None:
    """YES or NO when all who judged said so and their weights add up to `CONFIDENT`, else None."""
    if votes.not_sure or (votes.yes and votes.no) or votes.yes + votes.no < CONFIDENT:
        return None
    return Label.YES if votes.yes else Label.NO if votes.no else None


class Donors:
    """Candidates of all segments, to take words from that are out of place in another segment.

    Words lent have a *distinctive* one among them: it stands in candidates of one segment only (of two in a hundred, if
    there are many), and is no shorter than half of all words. So no preposition turns up that happens to fit.
    """

    def __init__(self, candidates: Mapping[str, Iterable[Sequence[str]]]) -> None:
        self.candidates = {
            segment: [list(tokens) for tokens in texts if tokens] for segment, texts in candidates.items()
        }
        seen: dict[str, set[str]] = {}
        for segment, texts in self.candidates.items():
            for word in {word.casefold() for tokens in texts for word in tokens}:
                seen.setdefault(word, set()).add(segment)
        middle = float(np.median([len(word) for word in seen])) if seen else 0.0
        few = max(1, len(self.candidates) // 50)
        rare = {word for word, where in seen.items() if len(where) <= few and len(word) >= middle}
        self.distinctive = {word for word in rare if any(map(str.isalpha, word))}
        self.segments = [segment for segment, texts in self.candidates.items() if texts]

    def words(
        self, size: int, segment: str, avoid: Iterable[str], rng: np.random.Generator
    ) -> tuple[str, ...] | None:
        """Consecutive words of another segment, ``size`` if it has so many; None if none fits.

        At least half of them, and a distinctive one, are none of those to be avoided; a shared article does no harm.
        """
        shunned = {word.casefold() for word in avoid}
        for _ in range(TRIES if self.segments else 0):
            other = self.segments[int(rng.integers(len(self.segments)))]
            if other == segment:
                continue
            texts = self.candidates[other]
            donor = texts[int(rng.integers(len(texts)))]
            length = min(size, len(donor))
            start = int(rng.integers(len(donor) - length + 1))
            words = donor[start : start + length]
            strange = [folded for word in words if (folded := word.casefold()) not in shunned]
            if 2 * len(strange) >= length and not self.distinctive.isdisjoint(strange):
                return tuple(words)
        return None


def damaged_words(size: int) -> int:
    """How many of a candidate's words are replaced: all of a short one, a quarter of a long one.

    >>> [damaged_words(size) for size in (1, 3, 8, 20, 40)]
    [1, 2, 3, 5, 10]
    """
    return max(min(size, 2), math.ceil(size / 4), min(size // 2, 3))


def damage(segment: str, tokens: Sequence[str], donors: Donors, rng: np.random.Generator) -> str | None:
    """A candidate with a run of its words replaced by words of another segment; None when no donor fits."""
    if not tokens:
        return None
    length = damaged_words(len(tokens))
    words = donors.words(length, segment, tokens, rng)
    if words is None:
        return None
    start = int(rng.integers(len(tokens) - length + 1))
    return " ".join([*tokens[:start], *words, *tokens[start + length :]])


def reference_positions(span: Span, links: Links, source_size: int) -> list[int]:
    """The reference's tokens aligned with a constituent."""
    linked = linked_positions(links, source_size)
    return sorted({target for source in range(span.start, span.stop) for target in linked[source]})


def clean_part(span: Span, links: Links, source_size: int) -> list[int]:
    """The same when it can be trusted to be the constituent's translation, else nothing.

    That is: all words of the constituent are linked, their words in the reference stand together, and none of those
    is linked with anything outside (the condition under which phrase pairs are extracted).
    """
    linked = linked_positions(links, source_size)
    positions = reference_positions(span, links, source_size)
    together = bool(positions) and positions[-1] - positions[0] + 1 == len(positions)
    chosen = set(positions)
    inside = all(span.start <= source < span.stop for source, target in links if target in chosen)
    return positions if together and inside and all(linked[i] for i in range(*span)) else []
