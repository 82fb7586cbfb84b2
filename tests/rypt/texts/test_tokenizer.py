"""Tokens of raw text spell it, whatever it is, and are cut where treebanks cut."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rypt.ratings.labels import spelling, token_places, token_spelling
from rypt.text import tokenize
from rypt.texts.tokenizer import Segmenter, installed_segmenter, is_raw, tokens_of
from rypt.texts.trees import SourceTree

ODD = "aB3 .,:'’\"`-–…!?()@&;_\\/*ßée\u0301\u0300\u200d\u00a0\u2028我宇宙〇カな々กคน้า\u200bະខ្ကာ¡|<>{}lrbn"
MIXED = st.text(st.sampled_from(ODD)) | st.text()
LETTERS, WHOLE_RUNS = Segmenter("letters-1", list), Segmenter("runs-1", lambda run: [run])
ICU = installed_segmenter()
ANY_SEGMENTER = st.sampled_from([None, LETTERS, WHOLE_RUNS, ICU])


@given(MIXED, ANY_SEGMENTER)
@example("'' ''' `` '\u0301 \u0301x a\u0301", LETTERS)
@example("AT&amp;T @-@ @@@ -LRB- *rrb* \\/ |0-1| (X{0-2}", None)
@example("don''t it's'' l''x", None)
@example("𠀀宇宙\u200b宇\ufe00 \u0e49ก", ICU)
def test_tokens_spell_the_text(text: str, segmenter: Segmenter | None) -> None:
    tokens = tokens_of(text, segmenter)
    assert "".join(tokens) == "".join(text.split())
    assert token_spelling(tokens) == spelling(text)
    places = token_places(text, tokens)
    assert places is not None
    assert all(text[start:stop] == token for (start, stop), token in zip(places, tokens, strict=True))


@given(MIXED, ANY_SEGMENTER)
def test_a_line_of_tokens_is_read_back(text: str, segmenter: Segmenter | None) -> None:
    """What a campaign reads, and what its trees hold, are the same tokens."""
    tokens = tokens_of(text, segmenter)
    assert tokenize(" ".join(tokens)) == tokens
    tree = SourceTree.from_spans(tokens, [])
    assert SourceTree.from_brackets(str(tree)).matched(tokens).tokens == tuple(tokens)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I can't; it's John's, they've said.", "I ca n't ; it 's John 's , they 've said ."),
        ("Das kostet ca. 1.000,50 € (z.B. um 10:30).", "Das kostet ca. 1.000,50 € ( z.B. um 10:30 ) ."),
        ("Qu'est-ce que l'on dit d’un arbre ?", "Qu' est-ce que l' on dit d’ un arbre ?"),
        ("我们能看到2,000颗星。", "我 们 能 看 到 2,000 颗 星 。"),
        ("हिन्दी में", "हिन्दी में"),
    ],
)
def test_where_words_are_cut(text: str, tokens: str) -> None:
    assert " ".join(tokens_of(text)) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("我们能看到2,000颗星。", "我们能看到 2,000 颗星 。"),
        ("ปี2020ผมอยาก ๆ", "ปี 2020 ผมอยาก ๆ"),
        ("二〇二〇年のABC店", "二〇二〇年の ABC 店"),
    ],
)
def test_runs_that_a_segmenter_is_given(text: str, tokens: str) -> None:
    assert " ".join(tokens_of(text, WHOLE_RUNS)) == tokens


@pytest.mark.skipif(ICU is None, reason="icu4py is not installed (pip install 'rypt[segment]')")
def test_words_of_icu() -> None:
    assert ICU is not None
    assert re.fullmatch(r"icu-\d+\.\d+", ICU.signature)
    for words in ("宇宙 大部分 知识", "這個 宇宙", "ผม อยาก ให้ จักรวาล", "ທຸກຄົນ ຄິດ", "គិត អំពី ចក្រវាល"):
        assert ICU.words(words.replace(" ", "")) == words.split()


@pytest.mark.parametrize(
    ("texts", "raw"),
    [
        (["Die Kinder spielen.", "Wo ?"], False),  # one of two is no majority
        (["Die Kinder spielen.", "Wo?", "Da ."], True),
        (["die Kinder spielen .", "er lebt in den U.S.", "ja ."], False),
        (["▁die ▁Kin der ▁spielen ▁."], True),
        (["die Kin@@ der spie@@ len ."], True),
        (["我们 能 看到 天上 的 星星 。"], False),
        (["ฉันไปโรงเรียนทุกวัน"], True),
        (["هل هذا صحيح؟"], True),
    ],
)
def test_what_is_raw(texts: list[str], raw: bool) -> None:
    assert is_raw(texts) is raw
