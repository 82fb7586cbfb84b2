"""Variants of one text: which is the commonest, and where the marks of another stand in it.

Raters, and those who kept their work, edited texts: a space, a quotation mark, a word put right. Two variants are
compared word by word; between equal words, what is equal at the beginning and the end is not changed either. A mark
keeps the characters that the commonest text still has, and takes those that replaced the others. Where they are not
there at all, an editor has often doubled the marked words (``the the house``): then it is those that stand beside.
"""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import NamedTuple

ALIKE = 0.5  # share of equal characters from which two texts are variants of one
NEAR = 3  # characters from where they should be, in which short words are looked for
LONG = 8  # characters from which words are taken wherever they are
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


class Votes:
    """The texts that were seen, with the raters who saw them."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}
        self._raters: dict[str, set[str]] = {}

    def add(self, text: str, rater: str) -> None:
        """Count a line of a rater."""
        self._lines[text] = self._lines.get(text, 0) + 1
        self._raters.setdefault(text, set()).add(rater)

    def commonest(self) -> str:
        """The text that most raters saw; of several, that of most lines, then the first."""
        if len(self._lines) == 1:
            return next(iter(self._lines))
        return max(self._lines, key=lambda text: (len(self._raters[text]), self._lines[text]))


class _Block(NamedTuple):
    """Characters of a variant and those of the commonest text that stand in their place."""

    start: int
    stop: int
    to_start: int
    to_stop: int
    is_equal: bool


class Variant:
    """How a text became another.

    >>> variant = Variant("Er sagte: Ein Ein altes Haus.", "Er sagt: Ein Haus.")
    >>> [variant.moved(start, stop) for start, stop in [(3, 8), (14, 17), (24, 29), (18, 23)]]
    [(3, 7), (9, 12), (13, 18), None]
    """

    def __init__(self, text: str, commonest: str) -> None:
        self._text, self._commonest = text, commonest
        self._blocks = list(_compared(text, commonest))
        same = sum(block.stop - block.start for block in self._blocks if block.is_equal)
        self.likeness = 2 * same / (len(text) + len(commonest)) if text or commonest else 1.0

    def moved(self, start: int, stop: int) -> tuple[int, int] | None:
        """Where a mark stands in the commonest text; None where nothing of it is there."""
        places: list[tuple[int, int]] = []
        near = 0
        for block in self._blocks:
            offset = block.to_start - block.start
            if block.start <= start <= block.stop:
                near = start + offset if block.is_equal else block.to_start
            if block.start < stop and start < block.stop and block.to_stop > block.to_start:
                equal = max(start, block.start) + offset, min(stop, block.stop) + offset
                places.append(equal if block.is_equal else (block.to_start, block.to_stop))
        if places:
            return places[0][0], places[-1][1]
        return (near, near) if start == stop else self._nearest(self._text[start:stop].strip(), near)

    def _nearest(self, words: str, near: int) -> tuple[int, int] | None:
        """Where marked words stand in the commonest text, beside the place where they were cut out."""
        if not words:
            return None
        before = self._commonest.rfind(words, 0, near)
        after = self._commonest.find(words, near)
        places = [
            (near - at - len(words) if at < near else at - near, at) for at in (before, after) if at >= 0
        ]
        distance, at = min(places, default=(0, -1))
        return (at, at + len(words)) if at >= 0 and (distance <= NEAR or len(words) >= LONG) else None


def _compared(one: str, other: str) -> Iterable[_Block]:
    """Equal and changed characters in turn; what is equal at both ends is found first."""
    before = _common(one, other)
    after = _common(one[before:][::-1], other[before:][::-1])
    if before:
        yield _Block(0, before, 0, before, True)
    yield from _changed(one[before : len(one) - after], other[before : len(other) - after], before)
    if after:
        yield _Block(len(one) - after, len(one), len(other) - after, len(other), True)


def _changed(one: str, other: str, begin: int) -> Iterable[_Block]:
    words, others = _WORDS.findall(one), _WORDS.findall(other)
    if not words or not others:
        if one or other:
            yield _Block(begin, begin + len(one), begin, begin + len(other), False)
        return
    at = to = begin
    for kind, i, j, k, m in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        old, new = "".join(words[i:j]), "".join(others[k:m])
        if kind == "equal":
            yield _Block(at, at + len(old), to, to + len(new), True)
        else:
            yield from _edges(old, new, at, to)
        at, to = at + len(old), to + len(new)


def _edges(old: str, new: str, at: int, to: int) -> Iterable[_Block]:
    """Changed words: equal letters at the beginning, changed ones, equal letters at the end."""
    before = _common(old, new)
    after = _common(old[before:][::-1], new[before:][::-1])
    middle, to_middle = at + len(old) - after, to + len(new) - after
    if before:
        yield _Block(at, at + before, to, to + before, True)
    if at + before < middle or to + before < to_middle:
        yield _Block(at + before, middle, to + before, to_middle, False)
    if after:
        yield _Block(middle, at + len(old), to_middle, to + len(new), True)


def _common(one: str, other: str) -> int:
    """How many characters at the beginning are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
