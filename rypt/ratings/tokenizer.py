"""Tokens of raw text, in any language, that spell it: every character but white space stands in one of them.

Texts of evaluation campaigns are raw; trees, alignments and phrases need tokens. Words are runs of letters, marks and
digits; a hyphen, an apostrophe or an underscore between two letters stays inside, and so do ``3.5``, ``10:30``,
``example.com``, ``U.S.`` and ``Mathematik- und``. Clitics of English (``do n't``, ``can not``) and of Romance languages
(``l' homme``) are cut off as treebanks have them. An ideograph or a kana is a token, for these scripts put no space
between words. Any other character is a token; ``...``, ``--`` and other punctuation that repeats is one.
"""

import re
import unicodedata
from functools import cache

ABBREVIATIONS = frozenset(("mr", "mrs", "ms", "dr", "prof", "st", "nr", "bzw", "ca", "usw", "vs"))
_WORD = "[aA0][aA0m]*"
_TOKEN = re.compile(
    r"[aA]m*\.(?:[aA]m*\.)+"
    rf"|{_WORD}(?:(?:['_-]|(?<=[aAm])\.(?=a)|(?<=0)[.,:](?=0)){_WORD})*(?:-$)?"
    r"|(['.!?…–—`-])\1*m*"
    r"|[\s\S]m*"
)
_ENCLITIC = re.compile(r"(?<=\w)(?:n['’]t|['’](?:s|m|d|re|ve|ll)|(?<=\bcan)not)$", re.IGNORECASE)
_ELIDED = "[cdjlmnstv]|(?:jus|lors|puis|quoi)?qu|un|gl|(?:de|a|ne|da|su|que)ll|quest|anch|com|dov"
_PROCLITIC = re.compile(rf"(?:{_ELIDED})['’](?=\w)", re.IGNORECASE)
_IDEOGRAPHS = (
    (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3041, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F), (0x20000, 0x3FFFF),
)  # fmt: skip


def tokens_of(text: str) -> list[str]:
    """Cut raw text into tokens.

    >>> " ".join(tokens_of('Dr. Wu said: "I don\\'t pay $3.50 (well-known) in the U.S."...'))
    'Dr. Wu said : " I do n\\'t pay $ 3.50 ( well-known ) in the U.S. " ...'
    >>> tokens_of("L’homme 我希望。")
    ['L’', 'homme', '我', '希', '望', '。']
    """
    tokens: list[str] = []
    for word in text.split():
        begin = len(tokens)
        for match in _TOKEN.finditer("".join(map(_shape, word))):
            token = word[match.start() : match.end()]
            if token == "." and len(tokens) > begin and tokens[-1].lower() in ABBREVIATIONS:
                tokens[-1] += token
            else:
                tokens += _without_clitics(token)
    return tokens


def _without_clitics(token: str) -> list[str]:
    cut = match.start() if (match := _ENCLITIC.search(token)) else 0
    if not cut and (match := _PROCLITIC.match(token)):
        cut = match.end()
    return [token[:cut], token[cut:]] if cut else [token]


@cache
def _shape(character: str) -> str:
    """A small (a) or capital (A) letter, a digit (0), an ideograph (z), a mark (m), known punctuation, or other (s)."""
    category = unicodedata.category(character)
    if category[0] == "M" or category == "Cf":
        return "m"
    if category[0] == "L":
        if any(first <= ord(character) <= last for first, last in _IDEOGRAPHS):
            return "z"
        return "A" if category in ("Lu", "Lt") else "a"
    if category[0] == "N":
        return "0"
    known = {"’": "'", "‐": "-", "‑": "-"}.get(character, character)
    return known if known in "'-_.,:!?…–—`" else "s"
