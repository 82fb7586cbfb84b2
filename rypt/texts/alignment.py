"""Which candidate tokens translate which source tokens: word links and the phrase pairs they come from.

Read are Pharaoh links (``0-0 1-2``), Moses' phrase pairs (``0-1=0-2 2=3``), and Joshua's derivations (in
`rypt.texts.derivation`). A phrase pair becomes word links through the training alignments of a `Lexicon`; a pair that
is not in it links every word with every word.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from rypt.text import FormatError, InputError, PathLike, read_lines, tokenize

MAX_DIGITS = 6  # of a token's position: no segment is longer, and a range is never too large for the memory
Links = tuple[tuple[int, int], ...]


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
