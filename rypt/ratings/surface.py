"""Where tokens stand in the text they were made of.

Tokenisers move white space, escape characters and change quotation marks; annotators mark characters of the original.
A token's place is found by walking both texts, white space left out: the tokens must be the text, or spell it up to
case, Unicode composition, escapes (``&apos;``, ``-LRB-``, ``@-@``) and the style of quotation marks.
"""

import html
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate

from rypt.texts.trees import QUOTES, unescape

CharacterPlaces = tuple[tuple[int, int], ...]


def spelling(text: str) -> str:
    """A text as it is compared: no white space, case, or style of quotation marks.

    >>> spelling("„Das  Haus“, sagt er.") == spelling('"das Haus" , sagt er .')
    True
    """
    return "".join(letters for letters, _, _ in _folded(text))


def token_spelling(tokens: Sequence[str]) -> str:
    """The spelling of tokens, whose escapes are undone first."""
    return "".join(map(_spelled, tokens))


def token_places(text: str, tokens: Sequence[str]) -> CharacterPlaces | None:
    """For each token its first and last (not included) character in a text; None when they do not spell it.

    >>> token_places("Gibt's das (heute)?", ["Gibt", "&apos;s", "das", "-LRB-", "heute", "-RRB-", "?"])
    ((0, 4), (4, 6), (7, 10), (11, 12), (12, 17), (17, 18), (18, 19))
    """
    return _exact_places(text, tokens) or _folded_places(text, tokens)


def _exact_places(text: str, tokens: Sequence[str]) -> CharacterPlaces | None:
    """Places of tokens that are the text letter by letter, escapes in it included."""
    plain = ["".join(token.split()) for token in tokens]
    if "".join(plain) != "".join(text.split()):
        return None
    shown = [i for i, character in enumerate(text) if not character.isspace()]
    ends = accumulate(map(len, plain))
    pairs = zip(plain, ends, strict=True)
    return tuple((shown[end - len(token)], shown[end - 1] + 1) if token else (0, 0) for token, end in pairs)


def _folded_places(text: str, tokens: Sequence[str]) -> CharacterPlaces | None:
    """Places of tokens that spell the text."""
    folded = list(_folded(text))
    places = []
    at = 0
    for token in tokens:
        wanted, begin = _spelled(token), at
        while wanted:
            if at == len(folded) or not wanted.startswith(folded[at][0]):
                return None
            wanted = wanted[len(folded[at][0]) :]
            at += 1
        places.append((folded[begin][1], folded[at - 1][2]) if at > begin else (0, 0))
    return tuple(places) if at == len(folded) else None


def _spelled(token: str) -> str:
    plain = unescape(html.unescape(token))
    if len(plain) == 3 and plain[0] == plain[2] == "@":
        plain = plain[1]
    return spelling(plain)


def _folded(text: str) -> Iterator[tuple[str, int, int]]:
    """Letters as they are compared, with the characters (from, to) they stand for."""
    start = 0
    while start < len(text):
        if text[start].isspace():  # a mark after it stands for itself, as it does at the beginning of a token
            start += 1
            continue
        stop = start + 1
        if text[start:stop] in ("'", "`") and text[stop : stop + 1] == text[start]:
            stop += 1
        while stop < len(text) and unicodedata.combining(text[stop]):
            stop += 1
        cluster = text[start:stop]
        yield unicodedata.normalize("NFC", QUOTES.get(cluster, cluster)).casefold(), start, stop
        start = stop
