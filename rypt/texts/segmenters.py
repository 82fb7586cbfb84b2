"""Words of scripts that put no space between them: Chinese, Japanese, Thai, Lao, Khmer and Burmese.

    segmenter = choose_segmenter("auto")       # ICU's, where icu4py is installed; else None
    segmenter.words("宇宙中的知识")              # ['宇宙', '中的', '知识']

ICU (the extra ``segment``) finds words by dictionaries and frequencies of its own, the same for all languages that
share a script, so no language is asked for. One version gives the same words everywhere: `Segmenter.signature` names
it.
"""

import importlib.util
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from rypt.options import SEGMENTERS, check_option
from rypt.text import RyptError

HOW_TO_INSTALL = "pip install 'rypt[segment]'"
IDEOGRAPHS = (
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3041, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x20000, 0x3FFFF),
)
SOUTH_EAST_ASIAN = ((0x0E01, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F))


@dataclass(frozen=True, slots=True)
class Segmenter:
    """What cuts a run of letters without spaces into words; ``cut`` gives pieces that spell the run."""

    name: str
    version: str
    cut: Callable[[str], Iterable[str]]

    @property
    def signature(self) -> str:
        """Name and version, as signatures and `rypt.toml` have them."""
        return f"{self.name}-{self.version}"

    def words(self, run: str) -> list[str]:
        """The words of a run; marks and joiners stay with what precedes them."""
        words: list[str] = []
        for piece in self.cut(run):
            if words and all(is_mark(character) for character in piece):
                words[-1] += piece
            else:
                words.append(piece)
        return words


def is_installed(name: str = "icu") -> bool:
    """Whether a segmenter can be called here."""
    return name == "icu" and importlib.util.find_spec("icu4py") is not None


def choose_segmenter(name: str = "auto") -> Segmenter | None:
    """The segmenter that a name asks for; "auto" takes one where it is installed, "none" takes none."""
    check_option("segmenter", name, SEGMENTERS)
    if name == "none" or (name == "auto" and not is_installed()):
        return None
    if not is_installed():
        raise RyptError(f"the segmenter icu is not installed: {HOW_TO_INSTALL}")
    return _icu()


def _icu() -> Segmenter:
    import icu4py
    from icu4py.breakers import WordBreaker

    return Segmenter("icu", icu4py.icu_version, lambda run: WordBreaker(run, "en"))


@cache
def is_mark(character: str) -> bool:
    """Whether a character only changes the one before it: a combining mark, a joiner, a zero-width space."""
    category = unicodedata.category(character)
    return category[0] == "M" or category == "Cf"


@cache
def is_ideograph(character: str) -> bool:
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
