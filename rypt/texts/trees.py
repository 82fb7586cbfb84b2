"""Source trees: Penn brackets to the constituents that RYPT counts.

A constituent is a *distinct span*: a unary chain is one constituent, preterminals and the root count, traces and
empty elements do not. Constituents stand in pre-order, so a parent always comes before its children.
"""

import html
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
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
_ATOM = r"[^ \t\r\n()]+"
TOO_DEEP = "the brackets of the tree are nested too deeply"


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
        """Read Penn brackets, one tree or several side by side."""
        from nltk import Tree

        try:
            top = Tree.fromstring(f"(TOP {text})", node_pattern=_ATOM, leaf_pattern=_ATOM)
        except ValueError as error:
            opened, closed = text.count("("), text.count(")")
            unbalanced = f"unbalanced brackets: {opened} opened, {closed} closed"
            raise FormatError(TOO_DEEP if "nesting depth" in str(error) else unbalanced) from None
        if outside := next((child for child in top if isinstance(child, str)), None):
            raise FormatError(f"expected a tree in brackets, found {outside!r} outside of them")
        return cls.from_nltk(*top)

    @classmethod
    def from_nltk(cls, *trees: Any) -> "SourceTree":
        """Take an ``nltk.Tree``, which is what most parsers for Python return; several become children of one root."""
        tokens: list[str] = []
        spans: list[tuple[Span, str]] = []

        def visit(node: Any) -> None:
            if isinstance(node, str):
                tokens.append(unescape(node))
            elif node.label() != "-NONE-":
                place, start = len(spans), len(tokens)
                spans.append((Span(start, start), _category(node.label())))
                for child in node:
                    visit(child)
                spans[place] = (Span(start, len(tokens)), spans[place][1])

        try:
            for tree in trees:
                visit(tree)
        except RecursionError:
            raise FormatError(TOO_DEEP) from None
        return cls.from_spans(tokens, (item for item in spans if len(item[0])))

    @classmethod
    def from_spans(cls, tokens: Sequence[str], spans: Iterable[tuple[Span, str]]) -> "SourceTree":
        """Build a tree from spans, outer before inner; equal spans become one, uncovered words get nodes."""
        labelled = list(spans)
        bare = set(range(len(tokens))) - {span.start for span, _ in labelled if len(span) == 1}
        labelled += ((Span(i, i + 1), "X") for i in bare)
        if tokens and not any(span == (0, len(tokens)) for span, _ in labelled):
            labelled.append((Span(0, len(tokens)), "ROOT"))
        labelled.sort(key=lambda item: (item[0].start, -item[0].stop))
        constituents: list[Constituent] = []
        open_nodes: list[int] = []
        for span, label in labelled:
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

    def to_nltk(self) -> Any:
        """The same constituents as an ``nltk.Tree``."""
        from nltk import Tree

        nodes = [Tree(constituent.label, []) for constituent in self.constituents]
        for node, constituent in zip(nodes, self.constituents, strict=True):
            if constituent.parent >= 0:
                nodes[constituent.parent].append(node)
        for node, constituent in zip(nodes, self.constituents, strict=True):
            if not node:
                node.append(self.tokens[constituent.span.start])
        return nodes[0] if nodes else Tree("", [])

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
        """The position of each span in `constituents`."""
        return {constituent.span: i for i, constituent in enumerate(self.constituents)}

    def matched(self, tokens: Sequence[str]) -> "SourceTree":
        """The same tree over the tokens of the source; an error names the first token that differs.

        Case, Unicode composition, escapes (``-LRB-``, ``&apos;``) and the style of quotation marks may differ.
        """
        for i, (ours, theirs) in enumerate(zip(self.tokens, tokens, strict=False)):
            if ours != theirs and _comparable(ours) != _comparable(theirs):
                raise FormatError(f"token {i} is {theirs!r} in the source and {ours!r} in the tree")
        if len(self.tokens) != len(tokens):
            raise FormatError(f"the source has {len(tokens)} tokens and the tree {len(self.tokens)}")
        return SourceTree(tuple(tokens), self.constituents)

    def __str__(self) -> str:
        """Penn brackets on one line; reading them gives the same tree."""
        if not self.constituents:
            return "()"
        escaped = tuple(token.replace("(", "-LRB-").replace(")", "-RRB-") for token in self.tokens)
        try:
            return str(SourceTree(escaped, self.constituents).to_nltk().pformat(margin=sys.maxsize))
        except RecursionError:
            raise FormatError(TOO_DEEP) from None


@lru_cache(1 << 16)
def _category(label: str) -> str:
    """A label without its function tags: ``NP-SBJ-1`` is NP, ``-LRB-`` and ``$,`` stay.

    >>> [_category(label) for label in ["NP-SBJ-1", "PP=2", "-LRB-", "$,", "NN##case=nom##"]]
    ['NP', 'PP', '-LRB-', '$,', 'NN']
    """
    parts = label.split("+")
    return "+".join(part if part.startswith("-") else re.split(r"[-=]|##", part)[0] for part in parts)


@lru_cache(1 << 16)
def unescape(token: str) -> str:
    """A leaf as it stands in the source text: ``-LRB-`` is an opening bracket."""
    return _ESCAPE.sub(lambda escape: ESCAPES[escape[0].lower()], token)


def _comparable(token: str) -> str:
    plain = unescape(html.unescape(token))
    return unicodedata.normalize("NFC", QUOTES.get(plain, plain)).casefold()
