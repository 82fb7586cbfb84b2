"""CoNLL-U dependencies to constituents.

The constituent of a word is its yield: the word and all that depends on it. A yield with a gap (a non-projective
one) makes no constituent; what is inside it stays, under the nearest constituent without a gap. Yields that do stay
are nested or disjoint, so they form a tree. Each token is a constituent, and so is the whole segment.
A multiword token (``3-4 im``) is one token: it takes the head of its highest word and the dependents of all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rypt.records import Span
from rypt.text import FormatError
from rypt.texts.trees import SourceTree


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
