"""Which candidate tokens translate which source tokens: word links and the phrase pairs they come from.

Pharaoh links (``0-0 1-2``), Moses' phrase pairs (``0-1=0-2 2=3``), source ranges after each phrase (``the house |0-1|``),
and Joshua's derivation trees (paper, section 3.1): ``(ROOT{0-6} (S{0-6} (X{0-1} i) …))``, where each node names the
source span ``[start, stop)`` it translates. What a node says itself, besides its children, is translated from the source
words its children leave over. So (offizielle, prognosen, sind)-(official, forecasts, are) with (prognosen)-(forecasts)
inside gives (offizielle, sind)-(official, are).

A phrase pair becomes word links as a lexicon says, the links of phrase pairs in the training data, by source and target
in lower case; a pair that is not in it links every word with every word.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from rypt.arrays import Ids, Ints
from rypt.text import FormatError, InputError, PathLike, read_lines, tokenize

LINES = 2000  # of links that are read together, which the processor's cache holds
MAX_DIGITS = 6  # of a token's position: no segment is longer, and a range is never too large for the memory
Links = tuple[tuple[int, int], ...]
Lexicon = Mapping[tuple[str, str], Links]
PhrasePair = tuple[
    tuple[int, ...], tuple[int, ...]
]  # positions of source and candidate tokens; both may have gaps
_OPENING = re.compile(r"\((\S*)\{(\d{1,6})-(\d{1,6})\}(\)*)$")
_TRACE = re.compile(r"(?<!\S)\|(\d{1,6})-(\d{1,6})\|(?!\S)")


def parse_links(text: str) -> Links:
    """Read Pharaoh links.

    >>> parse_links("0-0 1-2")
    ((0, 0), (1, 2))
    """
    return tuple(map(_parse_link, tokenize(text)))


def checked_links(text: str, source_size: int, target_size: int) -> Links:
    """Read Pharaoh links; one that points outside the source or the candidate is refused."""
    links = parse_links(text)
    _check_links(links, source_size, target_size)
    return links


def _check_links(links: Iterable[tuple[int, int]], source_size: int, target_size: int) -> None:
    for source, target in links:
        side, size = ("source", source_size) if source >= source_size else ("candidate", target_size)
        if source >= source_size or target >= target_size:
            raise FormatError(f"link {source}-{target} is out of range: the {side} has {size} tokens, from 0")


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
            checked_links(line, int(source_sizes[index]), int(target_sizes[index]))
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
    [((0, 1), (0,)), ((2,), (1, 2))]
    """
    pairs = []
    for item in tokenize(text):
        source, equals, target = item.partition("=")
        if not equals:
            raise FormatError(f"expected phrase alignments like 0-1=0-2, found {item!r}")
        pairs.append((_parse_range(source, item), _parse_range(target, item)))
    return pairs


def _parse_range(text: str, item: str) -> tuple[int, ...]:
    first, dash, last = text.partition("-")
    if not _is_index(first) or (dash and not _is_index(last)):
        raise FormatError(f"expected phrase alignments like 0-1=0-2, found {item!r}")
    return tuple(range(int(first), int(last if dash else first) + 1))


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def format_links(links: Iterable[tuple[int, int]]) -> str:
    """Pharaoh text, sorted, each link once.

    >>> format_links([(1, 2), (0, 0), (1, 2)])
    '0-0 1-2'
    """
    return " ".join(f"{source}-{target}" for source, target in sorted(set(links)))


def read_lexicon(path: PathLike) -> Lexicon:
    """Read ``source ||| target ||| links``, or a Moses phrase table, whose links are the fourth field.

    The first line of a pair counts: phrase tables and training data list the most frequent links first.
    """
    lexicon: dict[tuple[str, str], Links] = {}
    for number, line in read_lines(path):
        fields = [part.strip() for part in line.split("|||")]
        if len(fields) < 3:
            message = f"expected source ||| target ||| links, found {len(fields)} fields"
            raise InputError(path, number, message)
        source, target = tokenize(fields[0].lower()), tokenize(fields[1].lower())
        try:
            links = checked_links(fields[2] if len(fields) == 3 else fields[3], len(source), len(target))
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
        if links:
            lexicon.setdefault((" ".join(source), " ".join(target)), links)
    return lexicon


def links_of_pairs(
    pairs: Iterable[PhrasePair], source: Sequence[str], target: Sequence[str], lexicon: Lexicon
) -> Links:
    """Word links of all phrase pairs of a candidate; a pair outside the segment is refused."""
    links: list[tuple[int, int]] = []
    for sources, targets in pairs:
        _check_links(zip(sources[-1:], targets[-1:], strict=False), len(source), len(target))
        words = " ".join(source[i] for i in sources).lower(), " ".join(target[j] for j in targets).lower()
        if words in lexicon:
            links += ((sources[i], targets[j]) for i, j in lexicon[words])
        else:
            links += ((i, j) for i in sources for j in targets)
    return tuple(links)


def has_phrase_pairs(text: str) -> bool:
    """Whether a text is a derivation, or has source ranges after its phrases."""
    return is_derivation(text) or _TRACE.search(text) is not None


def is_derivation(text: str) -> bool:
    return re.match(r"\s*\(\S*\{\d+-\d+\}", text) is not None


def parse_text(text: str) -> tuple[str, list[PhrasePair] | None]:
    """The candidate in a text, and its phrase pairs where the text says them.

    >>> parse_text("the patient |0-1| laughs |2-2|")
    ('the patient laughs', [((0, 1), (0, 1)), ((2,), (2,))])
    """
    if is_derivation(text):
        return parse_derivation(text)
    return _parse_trace(text) if _TRACE.search(text) else (text, None)


def _parse_trace(text: str) -> tuple[str, list[PhrasePair]]:
    """Read phrases followed by the source range (its last token included) they translate."""
    words: list[str] = []
    pairs: list[PhrasePair] = []
    begin = 0
    for token in tokenize(text):
        trace = _TRACE.fullmatch(token)
        if trace is None:
            words.append(token)
            continue
        first, last = int(trace[1]), int(trace[2])
        if first > last:
            raise FormatError(f"expected a source range from left to right, found {token}")
        if begin < len(words):
            pairs.append((tuple(range(first, last + 1)), tuple(range(begin, len(words)))))
        begin = len(words)
    return " ".join(words), pairs


def parse_derivation(text: str) -> tuple[str, list[PhrasePair]]:
    """The candidate that a derivation yields and its phrase pairs, children before parents.

    >>> parse_derivation("(S{0-3} official (X{1-2} forecasts) are)")
    ('official forecasts are', [((1,), (1,)), ((0, 2), (0, 2))])
    """
    words: list[str] = []
    pairs: list[PhrasePair] = []
    stack: list[
        tuple[range, set[int], list[int]]
    ] = []  # a node's span, what children leave of it, its own words
    for number, item in enumerate(tokenize(text)):
        opening = _OPENING.match(item)
        if not stack and (number or not opening):
            raise FormatError(f"expected one derivation like (ROOT{{0-6}} …), found {item!r} outside of it")
        if opening:
            span = range(int(opening[2]), int(opening[3]))
            closing = len(opening[4])
            _check_node(span, stack[-1][0] if stack else span)
            if stack:
                stack[-1][1].difference_update(span)
            stack.append((span, set(span), []))
        else:
            word = item.rstrip(")")
            closing = len(item) - len(word)
            if word:
                stack[-1][2].append(len(words))
                words.append(word)
        if closing > len(stack):
            raise FormatError(f"unbalanced brackets in the derivation at {item!r}")
        for _ in range(closing):
            _, left, own = stack.pop()
            if left and own:
                pairs.append((tuple(sorted(left)), tuple(own)))
    if stack:
        raise FormatError(f"unbalanced brackets in the derivation: {len(stack)} not closed")
    return " ".join(words), pairs


def _check_node(span: range, parent: range) -> None:
    if span.start > span.stop:
        raise FormatError(f"expected a source span from left to right, found {span.start}-{span.stop}")
    if span.start < parent.start or span.stop > parent.stop:
        places = f"{span.start}-{span.stop} lies outside its parent {parent.start}-{parent.stop}"
        raise FormatError(f"derivation node {places}")
