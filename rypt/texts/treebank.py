"""Files of source trees: Penn brackets, one per line or in blocks, or CoNLL-U; and their segments.

In CoNLL-U the constituent of a word is its yield: the word and all that depends on it. A yield with a gap (a
non-projective one) makes no constituent; what is inside it stays, under the nearest constituent without a gap. Yields
that do stay are nested or disjoint, so they form a tree. Each token is a constituent, and so is the whole segment.
A multiword token (``3-4 im``) is one token: it takes the head of its highest word and the dependents of all.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from rypt.records import Segment, Span
from rypt.text import FormatError, InputError, PathLike, read_lines
from rypt.texts.trees import SourceTree

Lines = list[tuple[int, str]]


def parsed(segment: Segment) -> SourceTree | None:
    """The segment's tree over the segment's tokens; None when it has no parse."""
    if segment.tree is None:
        return None
    try:
        return SourceTree.from_brackets(segment.tree).matched(segment.tokens)
    except FormatError as error:
        raise FormatError(f"segment {segment.id}: {error}") from None


def segments_with_trees(
    segments: Sequence[Segment], path: PathLike
) -> list[tuple[Segment, SourceTree | None]]:
    """Each segment with the tree at its place in the file, CoNLL-U or brackets.

    CoNLL-U has a blank line after each tree. There is one tree in brackets per line when every line begins one, otherwise
    a tree goes on until its brackets are closed; ``()`` or an empty line is a segment without a parse. Tokens must match;
    a mismatch names segment and token.
    """
    lines = list(read_lines(path))
    first = next((line for _, line in lines if line.strip()), "")
    if is_conllu := re.match(r"#|\d+([-.]\d+)?\t", first) is not None:
        blocks = [
            list(block) for blank, block in groupby(lines, lambda line: not line[1].strip()) if not blank
        ]
    elif all(line.startswith("(") or not line.strip() for _, line in lines):
        blocks = [[line] for line in lines]
    else:
        blocks = _bracket_blocks(lines, path)
    if len(blocks) != len(segments):
        line = blocks[-1][0][0] if blocks else 1
        raise InputError(path, line, f"expected {len(segments)} trees, one per segment, found {len(blocks)}")
    pairs: list[tuple[Segment, SourceTree | None]] = []
    for segment, block in zip(segments, blocks, strict=True):
        lines_of_tree = [line for _, line in block]
        text = " ".join(line.strip() for line in lines_of_tree)
        try:
            if is_conllu:
                tree = tree_from_conllu(lines_of_tree, segment.tokens)
            else:
                tree = SourceTree.from_brackets(text)
            matched = tree.matched(segment.tokens) if tree.tokens else None
            text = str(tree) if is_conllu else text
        except FormatError as error:
            raise InputError(path, block[0][0], f"segment {segment.id}: {error}") from None
        pairs.append((replace(segment, tree=text if tree.tokens else None), matched))
    return pairs


def _bracket_blocks(lines: Lines, path: PathLike) -> list[Lines]:
    blocks: list[Lines] = []
    depth = 0
    for number, line in lines:
        if not line.strip():
            continue
        if depth and line.startswith("("):
            break
        if not depth:
            blocks.append([])
        blocks[-1].append((number, line))
        depth += line.count("(") - line.count(")")
    if depth:
        message = f"unbalanced brackets: {depth} not closed in the tree that begins here"
        raise InputError(path, blocks[-1][0][0], message)
    return blocks


class _Word(NamedTuple):
    """One word line: its form, head (0 for the root), relation, and the surface token it belongs to."""

    form: str
    head: int
    relation: str
    token: int


def tree_from_conllu(lines: Sequence[str], source: Sequence[str] | None = None) -> SourceTree:
    """Read one block of CoNLL-U lines.

    Tokens are the surface tokens; where the source is split into syntactic words instead, those.

    >>> rows = ["1 der _ _ _ _ 2 det", "2 Patient _ _ _ _ 3 nsubj", "3 lacht _ _ _ _ 0 root"]
    >>> str(tree_from_conllu([row.replace(" ", "\\t") for row in rows]))
    '(root (nsubj (det der) (X Patient)) (X lacht))'
    """
    surface, words = _read_words(lines)
    if source is not None and len(source) == len(words) != len(surface):
        surface = [word.form for word in words]
        words = [word._replace(token=i) for i, word in enumerate(words)]
    highest: dict[int, _Word] = {}  # of each token
    for word in sorted(words, key=lambda word: _depth(words, word)):
        highest.setdefault(word.token, word)
    yields: list[set[int]] = [set() for _ in surface]
    for token in range(len(surface)):
        ancestor: int | None = token
        while ancestor is not None:
            yields[ancestor].add(token)
            head = highest[ancestor].head
            ancestor = words[head - 1].token if head else None
    spans = [
        (Span(min(tokens), max(tokens) + 1), highest[top].relation)
        for top, tokens in enumerate(yields)
        if max(tokens) - min(tokens) + 1 == len(tokens)
    ]
    return SourceTree.from_spans(surface, spans)


def _read_words(lines: Sequence[str]) -> tuple[list[str], list[_Word]]:
    surface: list[str] = []
    words: list[_Word] = []
    range_end = 0
    for line in lines:
        if line.startswith("#") or not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) < 8:
            raise FormatError(f"expected 10 columns of CoNLL-U, found {len(columns)}: {line!r}")
        number, form, head, relation = columns[0], columns[1], columns[6], columns[7]
        if "." in number:
            continue
        try:
            if "-" in number:
                first, range_end = (int(part) for part in number.split("-"))
                if first != len(words) + 1 or range_end <= first:
                    raise ValueError
                surface.append(form)
                continue
            if int(number) != len(words) + 1:
                raise ValueError
            if int(number) > range_end:
                surface.append(form)
            words.append(_Word(form, int(head), relation, len(surface) - 1))
        except ValueError:
            raise FormatError(
                f"expected word {len(words) + 1} with the number of its head, found {line!r}"
            ) from None
    if range_end > len(words):
        raise FormatError(f"a multiword token goes on to word {range_end}, but there are {len(words)} words")
    for word in words:
        if not 0 <= word.head <= len(words):
            raise FormatError(f"word {word.form!r} has head {word.head}, but there are {len(words)} words")
    return surface, words


def _depth(words: Sequence[_Word], word: _Word) -> int:
    depth = 0
    while word.head:
        word = words[word.head - 1]
        depth += 1
        if depth > len(words):
            raise FormatError(f"the heads form a circle through {word.form!r}")
    return depth
