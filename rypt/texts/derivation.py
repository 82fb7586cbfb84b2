"""Joshua's derivation trees: candidate and phrase pairs in one string (paper, section 3.1).

``(ROOT{0-6} (S{0-6} (X{0-1} i) …))``: each node names the source span ``[start, stop)`` it translates. What a node
says itself, besides its children, is translated from the source words its children leave over. So
(offizielle, prognosen, sind)-(official, forecasts, are) with (prognosen)-(forecasts) inside gives
(offizielle, sind)-(official, are).
"""

import re
from dataclasses import dataclass, field

from rypt.text import FormatError, tokenize
from rypt.texts.alignment import PhrasePair

_OPENING = re.compile(r"\((\S*)\{(\d{1,6})-(\d{1,6})\}(\)*)$")


@dataclass(slots=True)
class _Node:
    start: int
    stop: int
    target: list[int] = field(default_factory=list)
    covered: set[int] = field(default_factory=set)


def is_derivation(text: str) -> bool:
    """Whether the text looks like a derivation rather than a candidate or links."""
    return bool(re.match(r"\s*\(\S*\{\d+-\d+\}", text))


def parse_derivation(text: str) -> tuple[list[str], list[PhrasePair]]:
    """The candidate's tokens and its phrase pairs, children before parents.

    >>> tokens, pairs = parse_derivation("(S{0-3} official (X{1-2} forecasts) are)")
    >>> tokens
    ['official', 'forecasts', 'are']
    >>> pairs
    [PhrasePair(source=(1,), target=(1,)), PhrasePair(source=(0, 2), target=(0, 2))]
    """
    tokens: list[str] = []
    pairs: list[PhrasePair] = []
    stack: list[_Node] = []
    closed_all = False
    for item in tokenize(text):
        if closed_all:
            raise FormatError(f"unbalanced brackets in the derivation: {item!r} after its end")
        opening = _OPENING.match(item)
        if opening:
            stack.append(_open(int(opening[2]), int(opening[3]), stack))
            closing = len(opening[4])
        else:
            word = item.rstrip(")")
            closing = len(item) - len(word)
            if not stack:
                raise FormatError(f"expected a derivation like (ROOT{{0-6}} …), found {item!r}")
            if word:
                stack[-1].target.append(len(tokens))
                tokens.append(word)
        if closing > len(stack):
            raise FormatError(f"unbalanced brackets in the derivation at {item!r}")
        for _ in range(closing):
            node = stack.pop()
            source = tuple(i for i in range(node.start, node.stop) if i not in node.covered)
            if source and node.target:
                pairs.append(PhrasePair(source, tuple(node.target)))
        closed_all = not stack
    if stack or not closed_all:
        raise FormatError(f"unbalanced brackets in the derivation: {len(stack)} not closed")
    return tokens, pairs


def _open(start: int, stop: int, stack: list[_Node]) -> _Node:
    if start > stop:
        raise FormatError(f"expected a source span from left to right, found {start}-{stop}")
    if stack:
        parent = stack[-1]
        if start < parent.start or stop > parent.stop:
            raise FormatError(
                f"derivation node {start}-{stop} lies outside its parent {parent.start}-{parent.stop}"
            )
        parent.covered.update(range(start, stop))
    return _Node(start, stop)
