"""Files of source trees: one per line, in blocks, or CoNLL-U; and their segments."""

import re
from collections.abc import Collection, Iterator, Sequence

from rypt.records import Segment
from rypt.text import FormatError, InputError, PathLike, read_lines
from rypt.texts.conllu import tree_from_conllu
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


def attach_trees(segments: Sequence[Segment], path: PathLike) -> list[Segment]:
    """Give each segment the tree that stands at its place in the file (see `segments_with_trees`)."""
    return [segment for segment, _ in segments_with_trees(segments, path)]


def segments_with_trees(
    segments: Sequence[Segment], path: PathLike, only: Collection[str] | None = None
) -> list[tuple[Segment, SourceTree | None]]:
    """Each segment with the tree that stands at its place in the file, in any of the forms `read_blocks` knows.

    ``()`` or an empty line is a segment without a parse. Tokens must match; a mismatch names segment and token. With
    ``only``, ids of segments, these alone are returned, and no other tree is looked at.
    """
    blocks = list(read_blocks(path))
    if len(blocks) != len(segments):
        line = blocks[-1][0][0] if blocks else 1
        raise InputError(path, line, f"expected {len(segments)} trees, one per segment, found {len(blocks)}")
    pairs = zip(segments, blocks, strict=True)
    return [
        _with_tree(segment, block, path) for segment, block in pairs if only is None or segment.id in only
    ]


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
