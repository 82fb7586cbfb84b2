"""English as slots: which German words each English word stands for, and the phrases that follow for a constituent.

An acceptable translation is a sequence of *slots* (and of choices between such sequences). A slot has its words, the
German words it stands for (``owners``) and perhaps one of them as its ``head``. Articles, auxiliaries, ``to``, ``that``
and commas are *soft*: where a word aligner puts them is chance. For a constituent,

- a slot whose head, or all of whose owners, lie inside must be in the phrase, as it is;
- a slot that stands for words inside and outside (``pick`` for ``holt`` and ``ab``), or is soft, may be missing;
- a soft slot of words outside may be there, too, next to the others (behind them only an auxiliary);
- whatever else stands between is a gap.

A *pattern* writes all these phrases in one line: ``(the) {child|kid}``. Words in ``( )`` may be missing: inside a
phrase there is a ``[GAP]`` then, at its edges nothing. Of the parts between ``{ | }`` one is there.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

GAP = "[GAP]"
ARTICLES_AND_MARKS = {"the", "a", "an", ","}


@dataclass(frozen=True)
class Slot:
    """Words of which one is right here, and the German words (positions) they stand for."""

    words: tuple[str, ...]
    owners: frozenset[int]
    head: int | None = None
    soft: bool = False


@dataclass(frozen=True)
class Choice:
    """Sequences of slots of which one is right here."""

    options: tuple[tuple["Item", ...], ...]


Item = Slot | Choice
Sequence_ = tuple[Item, ...]


def slot(words: str, owners: Iterable[int], head: int | None = None, *, soft: bool = False) -> Slot:
    """A slot of words between ``/``; one with a single owner has it as its head."""
    held = frozenset(owners)
    if head is None and len(held) == 1 and not soft:
        (head,) = held
    return Slot(tuple(dict.fromkeys(words.split("/"))), held, head, soft)


def choice(options: Iterable[Sequence[Item]]) -> Sequence_:
    """Items that offer these sequences; a single one stands for itself."""
    found = tuple(dict.fromkeys(tuple(option) for option in options))
    return found[0] if len(found) == 1 else (Choice(found),)


INNER, MAYBE, EDGE, OTHER = "inner", "maybe", "edge", "other"


def _state(part: Slot, inside: frozenset[int]) -> str:
    """What a slot is for a constituent."""
    if part.owners & inside:
        needed = not part.soft and (part.head in inside or part.owners <= inside)
        return INNER if needed else MAYBE
    return EDGE if part.soft else OTHER


def _touches(item: Item, inside: frozenset[int], wanted: Sequence[str]) -> bool:
    if isinstance(item, Slot):
        return _state(item, inside) in wanted
    return any(_touches(part, inside, wanted) for option in item.options for part in option)


def _written(item: Item, inside: frozenset[int], edges: bool) -> str:
    if isinstance(item, Choice):
        if not _touches(item, inside, (INNER, MAYBE)):
            return GAP
        options = dict.fromkeys(
            " ".join(_written(part, inside, edges) for part in option) or "()" for option in item.options
        )
        return next(iter(options)) if len(options) == 1 else "{" + "|".join(options) + "}"
    state = _state(item, inside)
    words = item.words[0] if len(item.words) == 1 else "{" + "|".join(item.words) + "}"
    if state == INNER:
        return words
    return f"({words})" if state == MAYBE or (state == EDGE and edges) else GAP


def pattern(sequence: Sequence[Item], inside: frozenset[int]) -> str:
    """All acceptable phrases of a constituent in one acceptable translation; empty when nothing stands for it."""
    touched = [i for i, item in enumerate(sequence) if _touches(item, inside, (INNER, MAYBE))]
    if not touched:
        return ""
    edges = any(_touches(item, inside, (INNER,)) for item in sequence)
    low, high = touched[0], touched[-1] + 1
    while edges and low and _leads(sequence[low - 1]) and _touches(sequence[low - 1], inside, (EDGE,)):
        low -= 1
    while (
        edges
        and high < len(sequence)
        and _helps(sequence[high])
        and _touches(sequence[high], inside, (EDGE,))
    ):
        high += 1
    return _tidy(" ".join(_written(item, inside, edges) for item in sequence[low:high]))


def _leads(item: Item) -> bool:
    return isinstance(item, Slot) and "," not in item.words


def _helps(item: Item) -> bool:
    return isinstance(item, Slot) and item.soft and not ARTICLES_AND_MARKS & set(item.words)


def _tidy(text: str) -> str:
    """Several gaps in a row are one."""
    return re.sub(r"\[GAP\](?: \[GAP\])+", GAP, text)
