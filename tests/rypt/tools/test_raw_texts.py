"""Which texts are raw, and what becomes of them."""

import pytest

from rypt.texts.segmenters import choose_segmenter, is_installed
from rypt.tools.raw_texts import is_raw, tokenized


@pytest.mark.parametrize(
    ("texts", "raw"),
    [
        (["Die Kinder spielen.", "Wo ?"], False),  # one of two is no majority
        (["Die Kinder spielen.", "Wo?", "Da ."], True),
        (["die Kinder spielen .", "er lebt in den U.S.", "ja ."], False),
        (["die Kinder", "keine Satzzeichen"], False),
        (["▁die ▁Kin der ▁spielen ▁."], True),
        (["die Kin@@ der spie@@ len ."], True),
        (["我们能看到天上的星星", "他昨天买了一本新书"], True),
        (["我们 能 看到 天上 的 星星 。"], False),
        (["我 们 能 看 到"], False),
        (["彼は昨日新しい本を買いました。"], True),
        (["ฉันไปโรงเรียนทุกวัน"], True),
        (["ฉัน ไป โรงเรียน ทุกวัน"], False),
        (["the word 我们 in a text without a full stop"], False),
        (["هل هذا صحيح؟"], True),
        (["", " "], False),
        ([], False),
    ],
)
def test_what_is_raw(texts: list[str], raw: bool) -> None:
    assert is_raw(texts) is raw


@pytest.mark.parametrize(
    "text", ["Die Kinder spielen, nicht wahr?", "▁Die ▁Kin der ▁spiel en.", "Die Kin@@ der."]
)
def test_what_was_cut_is_not_raw(text: str) -> None:
    once = tokenized(text)
    assert not is_raw([once])
    assert tokenized(once) == once


@pytest.mark.skipif(not is_installed(), reason="icu4py is not installed (pip install 'rypt[segment]')")
def test_words_without_spaces() -> None:
    assert tokenized("我们能看到天上的星星。", choose_segmenter("icu")).startswith("我们 能 看到 ")
