"""The phrase of a constituent, and the key under which its judgments are found.

The phrase is made of the candidate tokens aligned with at least one source token of the constituent (paper, section
3.1), in the candidate's order. A run of other tokens between them, of any length, is one ``[GAP]``. In the key, text
is lower-cased (an option) and composed (NFC); punctuation stays.
"""

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from rypt.records import Span
from rypt.text import FormatError, one_line, tokenize
from rypt.texts.alignment import Links

GAP = "[GAP]"
SKIP = "[Skip]"  # one for each word of a gap, as in the authors' query files


class Phrase(NamedTuple):
    """The translation of a constituent: its text, and its positions in the candidate."""

    text: str
    positions: tuple[int, ...]


def linked_positions(links: Links, source_size: int) -> list[list[int]]:
    """For each source token the candidate positions linked with it."""
    positions: list[list[int]] = [[] for _ in range(source_size)]
    for source, target in links:
        positions[source].append(target)
    return positions


def phrase_of(span: Span, linked: Sequence[Sequence[int]], tokens: Sequence[str]) -> Phrase | None:
    """The phrase of a constituent in a candidate; None when nothing is aligned with it.

    ``linked`` comes from `linked_positions`.

    >>> linked = linked_positions(((0, 0), (1, 3)), source_size=2)
    >>> phrase_of(Span(0, 2), linked, ["the", "very", "old", "patient"]).text
    'the [GAP] patient'
    """
    positions = sorted(set[int]().union(*linked[slice(*span)]))
    if not positions:
        return None
    return Phrase(phrase_at(positions, tokens), tuple(positions))


def phrase_at(positions: Sequence[int], tokens: Sequence[str]) -> str:
    """The words of a candidate at some positions, as they are written there, with the gaps between them.

    >>> phrase_at([0, 3], ["The", "very", "old", "Patient"])
    'The [GAP] Patient'
    """
    first, last = positions[0], positions[-1]
    if last - first < len(positions):
        return " ".join(tokens[first : last + 1])
    words = [tokens[first]]
    for before, position in pairwise(positions):
        if position > before + 1:
            words.append(GAP)
        words.append(tokens[position])
    return " ".join(words)


def phrase_key(phrase: str, case: str = "lower") -> str:
    """The normal form of a phrase, equal for phrases that share their judgments.

    >>> phrase_key("Food [Skip] [Skip]  for")
    'food [GAP] for'
    """
    if (
        phrase.isprintable()
        and "[" not in phrase
        and "  " not in phrase
        and phrase.strip(" ") == phrase != ""
    ):
        return normalize(phrase, case)
    words: list[str] = []
    for token in tokenize(one_line(phrase)):
        if token not in (GAP, SKIP):
            words.append(normalize(token, case))
        elif not words or words[-1] != GAP:
            words.append(GAP)
    if not words:
        raise FormatError("expected a phrase of at least one word")
    return " ".join(words)


def normalize(text: str, case: str = "lower") -> str:
    """Text as keys hold it: composed, and lower-cased unless the case is kept."""
    return unicodedata.normalize("NFC", text.lower() if case == "lower" else text)
