"""Which candidate tokens translate which source tokens: word links and the phrase pairs they come from.

Pharaoh links (``0-0 1-2``), Moses' phrase pairs (``0-1=0-2 2=3``), source ranges after each phrase (``the house |0-1|``),
and Joshua's derivation trees (paper, section 3.1): ``(ROOT{0-6} (S{0-6} (X{0-1} i) …))``, where each node names the
source span ``[start, stop)`` it translates. What a node says itself, besides its children, is translated from the source
words its children leave over. So (offizielle, prognosen, sind)-(official, forecasts, are) with (prognosen)-(forecasts)
inside gives (offizielle, sind)-(official, are).

A phrase pair becomes word links through the training alignments of a `Lexicon`; a pair that is not in it links every
word with every word.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter

import numpy as np

from rypt.arrays import Ids, Ints
from rypt.text import FormatError, InputError, PathLike, read_lines, tokenize

LINES = 2000  # of links that are read together, which the processor's cache holds
MAX_DIGITS = 6  # of a token's position: no segment is longer, and a range is never too large for the memory
Links = tuple[tuple[int, int], ...]
_OPENING = re.compile(r"\((\S*)\{(\d{1,6})-(\d{1,6})\}(\)*)$")
_TRACE = re.compile(r"(?<!\S)\|(\d{1,6})-(\d{1,6})\|(?!\S)")


@dataclass(frozen=True, slots=True)
class PhrasePair:
    """Positions of source tokens and of the candidate tokens they became together; both may have gaps."""

    source: tuple[int, ...]
    target: tuple[int, ...]


def parse_links(text: str) -> Links:
    """Read Pharaoh links.

    >>> parse_links("0-0 1-2")
    ((0, 0), (1, 2))
    """
    return tuple(map(_parse_link, tokenize(text)))


@lru_cache(1 << 16)
def _parse_link(text: str) -> tuple[int, int]:
    source, dash, target = text.partition("-")
    if not (dash and _is_index(source) and _is_index(target)):
        raise FormatError(f"expected alignment links like 3-5, found {text!r}")
    return int(source), int(target)


class LinkError(FormatError):
    """The first line of links that is wrong: its index, and what is wrong in it."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


def link_arrays(lines: Sequence[str], source_sizes: Ints, target_sizes: Ints) -> tuple[Ints, Ids, Ids]:
    """Read and check the Pharaoh links of many candidates at once, in a tenth of the time of `parse_links`.

    Returns where those of each line begin, and the source and candidate positions of all; an error is a `LinkError`.

    >>> sizes = np.array([2, 2, 2]), np.array([3, 3, 3])
    >>> offsets, sources, targets = link_arrays(["0-0 1-2", "", "1-0"], *sizes)
    >>> offsets.tolist(), sources.tolist(), targets.tolist()
    ([0, 2, 2, 3], [0, 1, 1], [0, 2, 0])
    """
    counts, sources, targets = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    for start in range(0, len(lines), LINES):
        stop = start + LINES
        block = _link_block(lines[start:stop])
        if block is None or not (
            (block[1] < np.repeat(source_sizes[start:stop], block[0])).all()
            and (block[2] < np.repeat(target_sizes[start:stop], block[0])).all()
        ):
            raise _first_error(start, lines[start:stop], source_sizes[start:stop], target_sizes[start:stop])
        counts.append(block[0])
        sources.append(block[1])
        targets.append(block[2])
    return np.cumsum(np.concatenate(counts)), np.concatenate(sources), np.concatenate(targets)


def _first_error(start: int, lines: Sequence[str], source_sizes: Ints, target_sizes: Ints) -> Exception:
    for index, line in enumerate(lines):
        try:
            check_links(parse_links(line), int(source_sizes[index]), int(target_sizes[index]))
        except FormatError as error:
            return LinkError(start + index, str(error))
    return AssertionError("links are wrong together and right one by one")


def _link_block(lines: Sequence[str]) -> tuple[Ints, Ids, Ids] | None:
    """The number of links of each line, and the positions of all; None where some line is not made of links."""
    data = np.frombuffer("\n".join(["", *lines, ""]).encode("ascii", "replace"), np.uint8)
    values = data - np.uint8(ord("0"))
    edges = np.flatnonzero((values[1:] < 10) != (values[:-1] < 10)) + 1
    firsts, stops = edges[::2], edges[1::2]
    widths = stops - firsts
    ends = np.flatnonzero(data == ord("\n"))
    is_source = data[stops] == ord("-")
    dashes = np.count_nonzero(data == ord("-"))
    blanks = np.count_nonzero((data == ord(" ")) | (data == ord("\t"))) + len(ends)
    if (
        widths.sum() + dashes + blanks != len(data)
        or 2 * dashes != len(firsts)
        or (is_source == (data[firsts - 1] == ord("-"))).any()
        or widths.max(initial=0) > MAX_DIGITS
        or len(ends) != len(lines) + 1
    ):
        return None
    numbers = values[firsts].astype(np.int32)
    for place in range(1, int(widths.max(initial=0))):
        longer = np.flatnonzero(widths > place)
        numbers[longer] = 10 * numbers[longer] + values[firsts[longer] + place]
    counts = np.diff(np.searchsorted(firsts[is_source], ends))
    return counts, numbers[is_source], numbers[~is_source]


def parse_phrase_pairs(text: str) -> list[PhrasePair]:
    """Read Moses' phrase alignment, whose ranges include their last position.

    >>> parse_phrase_pairs("0-1=0 2=1-2")
    [PhrasePair(source=(0, 1), target=(0,)), PhrasePair(source=(2,), target=(1, 2))]
    """
    pairs = []
    for item in tokenize(text):
        source, equals, target = item.partition("=")
        if not equals:
            raise FormatError(f"expected phrase alignments like 0-1=0-2, found {item!r}")
        pairs.append(PhrasePair(_parse_range(source, item), _parse_range(target, item)))
    return pairs


def _parse_range(text: str, item: str) -> tuple[int, ...]:
    first, dash, last = text.partition("-")
    if not _is_index(first) or (dash and not _is_index(last)):
        raise FormatError(f"expected phrase alignments like 0-1=0-2, found {item!r}")
    return tuple(range(int(first), int(last if dash else first) + 1))


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def check_links(links: Links, source_size: int, target_size: int) -> None:
    """Refuse a link that points outside the source or the candidate."""
    if not links or (max(links)[0] < source_size and max(map(itemgetter(1), links)) < target_size):
        return
    for source, target in links:
        if source >= source_size:
            raise FormatError(
                f"link {source}-{target} is out of range: the source has {source_size} tokens, from 0"
            )
        if target >= target_size:
            raise FormatError(
                f"link {source}-{target} is out of range: the candidate has {target_size} tokens, from 0"
            )


def format_links(links: Iterable[tuple[int, int]]) -> str:
    """Pharaoh text, sorted, each link once.

    >>> format_links([(1, 2), (0, 0), (1, 2)])
    '0-0 1-2'
    """
    return " ".join(f"{source}-{target}" for source, target in sorted(set(links)))


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Word links of phrase pairs, as the training data aligned them; words are looked up in lower case."""

    table: dict[tuple[str, str], Links] = field(default_factory=dict)

    @classmethod
    def read(cls, path: PathLike) -> "Lexicon":
        """Read ``source ||| target ||| links``, or a Moses phrase table, whose links are the fourth field.

        The first line of a pair counts: phrase tables and training data list the most frequent links first.
        """
        table: dict[tuple[str, str], Links] = {}
        for number, line in read_lines(path):
            fields = [part.strip() for part in line.split("|||")]
            if len(fields) < 3:
                raise InputError(
                    path, number, f"expected source ||| target ||| links, found {len(fields)} fields"
                )
            source, target = tokenize(fields[0].lower()), tokenize(fields[1].lower())
            try:
                links = parse_links(fields[2] if len(fields) == 3 else fields[3])
                check_links(links, len(source), len(target))
            except FormatError as error:
                raise InputError(path, number, str(error)) from None
            if links:
                table.setdefault((" ".join(source), " ".join(target)), links)
        return cls(table)

    def links(self, pair: PhrasePair, source: Sequence[str], target: Sequence[str]) -> Links:
        """The word links of one phrase pair, in positions of the whole segment."""
        words = (
            " ".join(source[i] for i in pair.source).lower(),
            " ".join(target[j] for j in pair.target).lower(),
        )
        known = self.table.get(words)
        if known is None:
            return tuple((i, j) for i in pair.source for j in pair.target)
        return tuple((pair.source[i], pair.target[j]) for i, j in known)


def links_of_pairs(
    pairs: Iterable[PhrasePair], source: Sequence[str], target: Sequence[str], lexicon: Lexicon
) -> Links:
    """Word links of all phrase pairs of a candidate; a pair outside the segment is refused."""
    links: list[tuple[int, int]] = []
    for pair in pairs:
        check_links(
            tuple((i, j) for i in pair.source[-1:] for j in pair.target[-1:]), len(source), len(target)
        )
        links.extend(lexicon.links(pair, source, target))
    return tuple(links)


def has_trace(text: str) -> bool:
    """Whether source ranges stand after the phrases of a candidate."""
    return _TRACE.search(text) is not None


def parse_trace(text: str) -> tuple[str, list[PhrasePair]]:
    """Read phrases followed by the source range (its last token included) they translate.

    >>> parse_trace("the patient |0-1| laughs |2-2|")
    ('the patient laughs', [PhrasePair(source=(0, 1), target=(0, 1)), PhrasePair(source=(2,), target=(2,))])
    """
    words: list[str] = []
    pairs = []
    begin = 0
    for token in tokenize(text):
        trace = _TRACE.fullmatch(token)
        if trace:
            if int(trace[1]) > int(trace[2]):
                raise FormatError(f"expected a source range from left to right, found {token}")
            pairs.append(
                PhrasePair(tuple(range(int(trace[1]), int(trace[2]) + 1)), tuple(range(begin, len(words))))
            )
            begin = len(words)
        else:
            words.append(token)
    return " ".join(words), [pair for pair in pairs if pair.target]


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
