"""Files of source trees: Penn brackets, one per line or in blocks, or CoNLL-U; and their segments.

In CoNLL-U the constituent of a word is its yield: the word and all that depends on it. A yield with a gap (a
non-projective one) makes no constituent; what is inside it stays, under the nearest constituent without a gap. Yields
that do stay are nested or disjoint, so they form a tree. Each token is a constituent, and so is the whole segment.
A multiword token (``3-4 im``) is one token: it takes the head of its highest word and the dependents of all.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
    """Each segment with the tree that stands at its place in the file, in any of the forms `read_blocks` knows.

    ``()`` or an empty line is a segment without a parse. Tokens must match; a mismatch names segment and token.
    """
    blocks = list(read_blocks(path))
    if len(blocks) != len(segments):
        line = blocks[-1][0][0] if blocks else 1
        raise InputError(path, line, f"expected {len(segments)} trees, one per segment, found {len(blocks)}")
    return [_with_tree(segment, block, path) for segment, block in zip(segments, blocks, strict=True)]


def _with_tree(segment: Segment, block: Lines, path: PathLike) -> tuple[Segment, SourceTree | None]:
    text = " ".join(line.strip() for _, line in block)
    try:
        if _is_conllu(block):
            tree = tree_from_conllu([line for _, line in block], segment.tokens)
            text = str(tree)
        else:
            tree = SourceTree.from_brackets(text)
        matched = tree.matched(segment.tokens) if tree.tokens else None
    except FormatError as error:
        raise InputError(path, block[0][0], f"segment {segment.id}: {error}") from None
    return Segment(segment.id, segment.text, text if tree.tokens else None, segment.language), matched


def read_blocks(path: PathLike) -> Iterator[Lines]:
    """The numbered lines of each tree.

    CoNLL-U has a blank line after each tree. Brackets stand one tree per line when every line begins one, otherwise a
    tree goes on until its brackets are closed.
    """
    lines = list(read_lines(path))
    first = next((line for _, line in lines if line.strip()), "")
    if _is_conllu([(1, first)]):
        yield from _conllu_blocks(lines)
    elif all(line.startswith("(") or not line.strip() for _, line in lines):
        yield from ([line] for line in lines)
    else:
        yield from _bracket_blocks(lines, path)


def _is_conllu(block: Lines) -> bool:
    return any(re.match(r"#|\d+([-.]\d+)?\t", line) for _, line in block)


def _conllu_blocks(lines: Lines) -> Iterator[Lines]:
    block: Lines = []
    for number, line in lines:
        if line.strip():
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _bracket_blocks(lines: Lines, path: PathLike) -> Iterator[Lines]:
    block: Lines = []
    depth = 0
    for number, line in lines:
        if not line.strip():
            continue
        if depth and line.startswith("("):
            break
        block.append((number, line))
        depth += line.count("(") - line.count(")")
        if depth == 0:
            yield block
            block = []
    if block:
        raise InputError(
            path, block[0][0], f"unbalanced brackets: {depth} not closed in the tree that begins here"
        )


@dataclass(frozen=True, slots=True)
class Word:
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
        words = [Word(word.form, word.head, word.relation, i) for i, word in enumerate(words)]
    heads, relations = _token_heads(words, len(surface))
    yields = _yields(heads)
    spans = [
        (Span(min(tokens), max(tokens) + 1), relations[head])
        for head, tokens in enumerate(yields)
        if max(tokens) - min(tokens) + 1 == len(tokens)
    ]
    return SourceTree.from_spans(surface, spans)


def _read_words(lines: Sequence[str]) -> tuple[list[str], list[Word]]:
    surface: list[str] = []
    words: list[Word] = []
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
            words.append(Word(form, int(head), relation, len(surface) - 1))
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


def _token_heads(words: Sequence[Word], size: int) -> tuple[list[int], list[str]]:
    """The head token (-1 for a root) and the relation of each surface token: those of its highest word."""
    heads, relations = [-1] * size, [""] * size
    best = [len(words) + 1] * size
    for word in words:
        depth = _depth(words, word)
        if depth < best[word.token]:
            best[word.token] = depth
            heads[word.token] = words[word.head - 1].token if word.head else -1
            relations[word.token] = word.relation
    return heads, relations


def _depth(words: Sequence[Word], word: Word) -> int:
    depth = 0
    while word.head:
        word = words[word.head - 1]
        depth += 1
        if depth > len(words):
            raise FormatError(f"the heads form a circle through {word.form!r}")
    return depth


def _yields(heads: Sequence[int]) -> list[set[int]]:
    yields: list[set[int]] = [set() for _ in heads]
    for token in range(len(heads)):
        ancestor = token
        while ancestor >= 0:
            yields[ancestor].add(token)
            ancestor = heads[ancestor]
    return yields
