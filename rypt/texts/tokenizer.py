"""Raw text, in any language, cut into tokens that spell it: every character but white space stands in one of them.

    tokens_of("Die Kinder spielen.")       # ['Die', 'Kinder', 'spielen', '.']
    is_raw(["Die Kinder spielen."])        # True: the full stop sticks to the word

Words are runs of letters, marks and digits; a hyphen, an apostrophe or an underscore between two letters stays inside,
and so do ``3.5``, ``10:30``, ``example.com``, ``U.S.`` and ``Mathematik- und``. Clitics of English (``do n't``, ``can
not``) and of Romance languages (``l' homme``) are cut off as treebanks have them. Any other character is a token;
``...``, ``--`` and other punctuation that repeats is one.

Chinese, Japanese, Thai, Lao, Khmer and Burmese put no space between words. ICU (the extra ``segment``) finds words by
dictionaries and frequencies of its own, the same for all languages that share a script, so no language is asked for.
One version gives the same words everywhere: `Segmenter.signature` names it. Without a segmenter an ideograph or a kana
is a token, and a run of Thai letters is.
"""

import importlib.util
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

IDEOGRAPHS = [(0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3041, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF)]
IDEOGRAPHS += [(0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x20000, 0x3FFFF)]
SOUTH_EAST_ASIAN = ((0x0E01, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F))
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
SAMPLE = 1000  # texts that decide whether a side is raw
FINAL = frozenset(".!?…。！？؟।")
PIECES = 0.1  # of all tokens: ▁ or @@ elsewhere is a slip, not a subword model


@dataclass(frozen=True, slots=True)
class Segmenter:
    """What cuts a run of letters without spaces into words; ``cut`` gives pieces that spell the run.

    ``signature`` is its name and version, as signatures and `rypt.toml` have them.
    """

    signature: str
    cut: Callable[[str], Iterable[str]]

    def words(self, run: str) -> list[str]:
        """The words of a run; marks and joiners stay with what precedes them."""
        words: list[str] = []
        for piece in self.cut(run):
            if words and all(_is_mark(character) for character in piece):
                words[-1] += piece
            else:
                words.append(piece)
        return words


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
    if _is_mark(character):
        return "m"
    if category[0] == "L":
        if _is_ideograph(character):
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


def is_raw(texts: Iterable[str]) -> bool:
    """Whether texts have to be cut into tokens: final punctuation sticks to words, or words are not apart."""
    sample = list(islice((text for text in texts if text.strip()), SAMPLE))
    tokens = [token for text in sample for token in text.split()]
    if not tokens:
        return False
    if sum(token.startswith("▁") or token.endswith("@@") for token in tokens) > PIECES * len(tokens):
        return True
    ends = [text.split()[-1] for text in sample if text.rstrip()[-1] in FINAL]
    attached = sum(len(token) > 1 and token[-2].isalnum() for token in ends)
    if 2 * attached > len(ends):
        return True
    unspaced = [token for token in tokens if any(map(is_unspaced, token))]
    longest_mean = 5 if any(map(_is_ideograph, "".join(unspaced[:50]))) else 12  # letters in a word
    return 3 * len(unspaced) >= len(tokens) and sum(map(len, unspaced)) > longest_mean * len(unspaced)


def tokenized(text: str, segmenter: Segmenter | None = None) -> str:
    """The tokens of a raw text, with a space between them.

    >>> tokenized("▁Die ▁Kinder ▁spiel en.")
    'Die Kinder spielen .'
    """
    return " ".join(tokens_of(join_pieces(text.split()), segmenter))


def installed_segmenter() -> Segmenter | None:
    """ICU; None where the extra ``segment`` is not installed."""
    if importlib.util.find_spec("icu4py") is None:
        return None
    import icu4py
    from icu4py.breakers import WordBreaker

    return Segmenter(f"icu-{icu4py.icu_version}", lambda run: WordBreaker(run, "en"))


def segmentation_note(segmenter: Segmenter | None) -> str:
    """How words of scripts without spaces between them are found."""
    if segmenter is not None:
        return f"words of scripts without spaces are found by {segmenter.signature}"
    return "words of scripts without spaces are not found: pip install 'rypt[segment]' finds them"


@cache
def _is_mark(character: str) -> bool:
    """Whether a character only changes the one before it: a combining mark, a joiner, a zero-width space."""
    category = unicodedata.category(character)
    return category[0] == "M" or category == "Cf"


@cache
def _is_ideograph(character: str) -> bool:
    """Whether a character is a letter of Chinese or Japanese."""
    return _within(character, IDEOGRAPHS) and unicodedata.category(character)[0] == "L"


@cache
def is_unspaced(character: str) -> bool:
    """Whether a character is a letter, or a number written like one, of a script without spaces between words.

    >>> [is_unspaced(character) for character in "宙〇カไa한3。"]
    [True, True, True, True, False, False, False, False]
    """
    category = unicodedata.category(character)
    if _within(character, IDEOGRAPHS):
        return category[0] in "LN"
    return category[0] == "L" and _within(character, SOUTH_EAST_ASIAN)


def _within(character: str, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(first <= ord(character) <= last for first, last in ranges)
