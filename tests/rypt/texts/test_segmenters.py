"""ICU's words, where icu4py is installed; a stand-in where pieces are to be odd."""

import importlib.util
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.text import RyptError
from rypt.texts import segmenters
from rypt.texts.segmenters import Segmenter, choose_segmenter, is_ideograph, is_unspaced

needs_icu = pytest.mark.skipif(
    importlib.util.find_spec("icu4py") is None, reason="icu4py is not installed (pip install 'rypt[segment]')"
)


@needs_icu
@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("宇宙大部分知识", "宇宙 大部分 知识"),
        ("這個宇宙", "這個 宇宙"),
        ("宇宙の知識", "宇宙 の 知識"),
        ("ผมอยากให้จักรวาล", "ผม อยาก ให้ จักรวาล"),
        ("ທຸກຄົນຄິດ", "ທຸກຄົນ ຄິດ"),
        ("គិតអំពីចក្រវាល", "គិត អំពី ចក្រវាល"),
    ],
)
def test_words_of_icu(run: str, words: str) -> None:
    segmenter = choose_segmenter("icu")
    assert segmenter is not None
    assert segmenter.words(run) == words.split()


@needs_icu
def test_the_signature_names_the_version() -> None:
    segmenter = choose_segmenter()
    assert segmenter is not None
    assert re.fullmatch(r"icu-\d+\.\d+", segmenter.signature)


def test_marks_stay_with_the_word_before_them() -> None:
    segmenter = Segmenter("letters", "1", list)
    assert segmenter.words("คน\u200bก\u0e49") == ["ค", "น\u200b", "ก\u0e49"]


@given(st.text())
def test_ideographs_are_letters_without_spaces(text: str) -> None:
    assert all(is_unspaced(character) for character in text if is_ideograph(character))


def test_without_icu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmenters, "is_installed", lambda name="icu": False)
    assert choose_segmenter("auto") is None
    assert choose_segmenter("none") is None
    with pytest.raises(
        RyptError, match=r"^the segmenter icu is not installed: pip install 'rypt\[segment\]'$"
    ):
        choose_segmenter("icu")
    with pytest.raises(RyptError, match="expected segmenter as one of auto, icu, none, found 'jieba'"):
        choose_segmenter("jieba")
