"""Tokens of raw text, in any language, that spell it: every character but white space stands in one of them.

Texts of evaluation campaigns are raw; trees, alignments and phrases need tokens. Words are runs of letters, marks and
digits; a hyphen, an apostrophe or an underscore between two letters stays inside, and so do ``3.5``, ``10:30``,
``example.com``, ``U.S.`` and ``Mathematik- und``. Clitics of English (``do n't``, ``can not``) and of Romance languages
(``l' homme``) are cut off as treebanks have them. Scripts without spaces between words are cut by a segmenter
(`rypt.texts.segmenters`); without one an ideograph or a kana is a token, and a run of Thai letters is. Any other
character is a token; ``...``, ``--`` and other punctuation that repeats is one.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from rypt.texts.segmenters import Segmenter, is_ideograph, is_mark, is_unspaced

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
_RUN = re.compile(rf"z[zm]*|{_TOKEN.pattern}")  # a run of letters without spaces, or a token


def tokens_of(text: str, segmenter: Segmenter | None = None) -> list[str]:
    """Cut raw text into tokens; a ``segmenter`` finds the words of scripts without spaces between them.

    >>> " ".join(tokens_of('Dr. Wu said: "I don\\'t pay $3.50 (well-known) in the U.S."...'))
    'Dr. Wu said : " I do n\\'t pay $ 3.50 ( well-known ) in the U.S. " ...'
    >>> tokens_of("L’homme 我希望。")
    ['L’', 'homme', '我', '希', '望', '。']
    """
    tokens: list[str] = []
    pattern, shape = (_TOKEN, _shape) if segmenter is None else (_RUN, _shape_in_runs)
    for word in text.split():
        begin = len(tokens)
        for match in pattern.finditer("".join(map(shape, word))):
            token = word[match.start() : match.end()]
            if segmenter is not None and is_unspaced(token[0]):
                tokens += segmenter.words(token)
            elif token == "." and len(tokens) > begin and tokens[-1].lower() in ABBREVIATIONS:
                tokens[-1] += token
            else:
                tokens += _without_clitics(token)
    return tokens


def join_pieces(tokens: Sequence[str]) -> str:
    """Words of the pieces that subword models make: SentencePiece's with ▁, or BPE's with @@; else as they are.

    >>> join_pieces(["▁the", "▁hou", "se"]), join_pieces(["the", "hou@@", "se"]), join_pieces(["the", "house"])
    ('the house', 'the house', 'the house')
    """
    if any("▁" in token for token in tokens):
        return " ".join("".join(tokens).replace("▁", " ").split())
    return re.sub("@@ |@@$", "", " ".join(tokens))


def _without_clitics(token: str) -> list[str]:
    cut = match.start() if (match := _ENCLITIC.search(token)) else 0
    if not cut and (match := _PROCLITIC.match(token)):
        cut = match.end()
    return [token[:cut], token[cut:]] if cut else [token]


@cache
def _shape(character: str) -> str:
    """A small (a) or capital (A) letter, a digit (0), an ideograph (z), a mark (m), known punctuation, or other (s)."""
    category = unicodedata.category(character)
    if is_mark(character):
        return "m"
    if category[0] == "L":
        if is_ideograph(character):
            return "z"
        return "A" if category in ("Lu", "Lt") else "a"
    if category[0] == "N":
        return "0"
    known = {"’": "'", "‐": "-", "‑": "-"}.get(character, character)
    return known if known in "'-_.,:!?…–—`" else "s"


@cache
def _shape_in_runs(character: str) -> str:
    """The same, where all letters of scripts without spaces are (z)."""
    return "z" if is_unspaced(character) else _shape(character)
