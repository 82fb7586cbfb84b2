"""Source trees: Penn brackets to the constituents that RYPT counts.

A constituent is a *distinct span*: a unary chain is one constituent, preterminals and the root count, traces and
empty elements do not. Constituents stand in pre-order, so a parent always comes before its children.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rypt.records import Span
from rypt.text import FormatError

ESCAPES = {
    "-lrb-": "(",
    "-rrb-": ")",
    "-lsb-": "[",
    "-rsb-": "]",
    "-lcb-": "{",
    "-rcb-": "}",
    "*lrb*": "(",
    "*rrb*": ")",
    "\\/": "/",
    "\\*": "*",
}
QUOTES = {**dict.fromkeys(["``", "''", "“", "”", "„"], '"'), **dict.fromkeys(["`", "‘", "’", "‚"], "'")}
_ESCAPE = re.compile("|".join(map(re.escape, ESCAPES)), re.IGNORECASE)
_ATOMS = re.compile(r"[()]|[^ \t\r\n()]+")


@dataclass(frozen=True, slots=True)
class Constituent:
    """A node of the source tree: its span, its label (``S+VP`` for a unary chain), its parent's index or -1."""

    span: Span
    label: str
    parent: int


@dataclass(frozen=True)
class SourceTree:
    """The constituents of one segment.

    >>> tree = SourceTree.from_brackets("( (S (NP-SB (ART der) (NN patient)) (VAFIN wurde) (VP (VVPP isoliert))) )")
    >>> [(str(c.span), c.label) for c in tree.constituents]
    [('0-4', 'S'), ('0-2', 'NP'), ('0-1', 'ART'), ('1-2', 'NN'), ('2-3', 'VAFIN'), ('3-4', 'VP+VVPP')]
    """

    tokens: tuple[str, ...]
    constituents: tuple[Constituent, ...]

    @classmethod
    def from_brackets(cls, text: str) -> "SourceTree":
        """Read Penn brackets; several trees side by side become children of one root."""
        tokens, spans = _read_brackets(text)
        return cls.from_spans(tokens, spans)

    @classmethod
    def from_spans(cls, tokens: Sequence[str], spans: Iterable[tuple[Span, str]]) -> "SourceTree":
        """Nest spans, given outer before inner; equal ones become one, words without a node get one."""
        given = list(spans)
        bare = set(range(len(tokens))) - {span.start for span, _ in given if len(span) == 1}
        given += [(Span(i, i + 1), "X") for i in bare]
        if tokens and not any(span == (0, len(tokens)) for span, _ in given):
            given.insert(0, (Span(0, len(tokens)), "ROOT"))
        given.sort(key=lambda item: (item[0].start, -item[0].stop))
        constituents: list[Constituent] = []
        open_nodes: list[int] = []
        for span, label in given:
            while open_nodes and constituents[open_nodes[-1]].span.stop <= span.start:
                open_nodes.pop()
            parent = open_nodes[-1] if open_nodes else -1
            if parent >= 0 and span.stop > constituents[parent].span.stop:
                raise FormatError(f"constituents {constituents[parent].span} and {span} cross")
            if parent >= 0 and constituents[parent].span == span:
                merged = "+".join(part for part in (constituents[parent].label, label) if part)
                constituents[parent] = Constituent(span, merged, constituents[parent].parent)
                continue
            open_nodes.append(len(constituents))
            constituents.append(Constituent(span, label, parent))
        return cls(tuple(tokens), tuple(constituents))

    @classmethod
    def from_nltk(cls, tree: Any) -> "SourceTree":
        """Take an ``nltk.Tree``, which is what most parsers for Python return."""
        return cls.from_brackets(tree.pformat(margin=10**9))

    def to_nltk(self) -> Any:
        """The same constituents as an ``nltk.Tree``, to draw or search it with nltk's tools."""
        from nltk import Tree

        return Tree.fromstring(str(self))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each constituent the indices of its children, left to right."""
        below: list[list[int]] = [[] for _ in self.constituents]
        for index, constituent in enumerate(self.constituents):
            if constituent.parent >= 0:
                below[constituent.parent].append(index)
        return tuple(map(tuple, below))

    @cached_property
    def index(self) -> dict[Span, int]:
        """Where each span stands in `constituents`."""
        return {constituent.span: i for i, constituent in enumerate(self.constituents)}

    def matched(self, tokens: Sequence[str]) -> "SourceTree":
        """The same tree over the tokens of the source; a token that differs is named.

        Case, Unicode composition, escapes (``-LRB-``, ``&apos;``) and the style of quotation marks may differ.
        """
        for i, (ours, theirs) in enumerate(zip(self.tokens, tokens, strict=False)):
            if _comparable(ours) != _comparable(theirs):
                raise FormatError(f"token {i} is {theirs!r} in the source and {ours!r} in the tree")
        if len(self.tokens) != len(tokens):
            raise FormatError(f"the source has {len(tokens)} tokens and the tree {len(self.tokens)}")
        return SourceTree(tuple(tokens), self.constituents)

    def __str__(self) -> str:
        """Penn brackets on one line; reading them gives the same tree."""
        parts: list[str] = []
        open_nodes: list[int] = []
        for i, node in enumerate(self.constituents):
            while open_nodes and open_nodes[-1] != node.parent:
                open_nodes.pop()
                parts.append(")")
            parts.append(f" ({node.label}")
            open_nodes.append(i)
            if not self.children[i]:
                parts.append(" " + _escaped(self.tokens[node.span.start]))
        return ("".join(parts) + ")" * len(open_nodes)).strip() or "()"


def _read_brackets(text: str) -> tuple[list[str], list[tuple[Span, str]]]:
    """Tokens and labelled spans, with an explicit stack: trees may be as deep as memory allows."""
    tokens: list[str] = []
    spans: list[tuple[Span, str]] = []
    stack: list[tuple[int, str, int]] = []  # (first token, label, where its span belongs)
    atoms = list(_ATOMS.finditer(text))
    i = 0
    while i < len(atoms):
        atom = atoms[i].group()
        if atom == "(":
            label = atoms[i + 1].group() if i + 1 < len(atoms) else ""
            if label in ("(", ")"):
                label = ""
            else:
                i += 1
            stack.append((len(tokens), label, len(spans)))
        elif atom == ")":
            if not stack:
                raise FormatError(f"unbalanced brackets: ')' without '(' at column {atoms[i].start() + 1}")
            start, label, place = stack.pop()
            if len(tokens) > start:
                spans.insert(place, (Span(start, len(tokens)), _category(label)))
        elif not stack:
            raise FormatError(f"expected '(' at column {atoms[i].start() + 1}, found {atom!r}")
        elif stack[-1][1] != "-NONE-":
            tokens.append(unescape(atom))
        i += 1
    if stack:
        raise FormatError(f"unbalanced brackets: {len(stack)} of {text.count('(')} not closed")
    return tokens, spans


def _category(label: str) -> str:
    """A label without its function tags: ``NP-SBJ-1`` is NP, ``-LRB-`` and ``$,`` stay.

    >>> [_category(label) for label in ["NP-SBJ-1", "PP=2", "-LRB-", "$,", "NN##case=nom##"]]
    ['NP', 'PP', '-LRB-', '$,', 'NN']
    """
    parts = label.split("+")
    return "+".join(part if part.startswith("-") else re.split(r"[-=]|##", part)[0] for part in parts)


def unescape(token: str) -> str:
    """A leaf as it stands in the source text: ``-LRB-`` is an opening bracket."""
    return _ESCAPE.sub(lambda escape: ESCAPES[escape[0].lower()], token)


def _escaped(token: str) -> str:
    return token.replace("(", "-LRB-").replace(")", "-RRB-")


def _comparable(token: str) -> str:
    plain = unescape(html.unescape(token))
    return unicodedata.normalize("NFC", QUOTES.get(plain, plain)).casefold()
