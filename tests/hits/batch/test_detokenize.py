"""Tokens become text that people read, and every highlight stays on the same words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.batch.markup import extract, highlight, plain, shown
from hits.simulate.page import read_page
from rypt.text import tokenize


def text(tokens: str, language: str = "") -> str:
    return "".join(space + token for space, token in shown(tokens.split(), language))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ("the house is red .", "the house is red."),
        ("he said , &quot; no &quot; , and left .", 'he said, "no", and left.'),
        ("it &apos;s John &apos;s , is n&apos;t it ?", "it's John's, isn't it?"),
        ("-LRB- see -lrb- 5 -rrb- -RRB-", "(see (5))"),
        ("R &amp; D , a &lt; b", "R & D, a < b"),
        ("the un@@ believ@@ able house", "the unbelievable house"),
        ("▁The ▁un believ able ▁house .", "The unbelievable house."),
        ("a two @-@ year plan", "a two-year plan"),
        ("rock &apos;n&apos; roll", "rock 'n' roll"),
        ("l&apos; homme qu&apos; il a vu", "l'homme qu'il a vu"),
        ("¿ qué pasa ?", "¿qué pasa?"),
        ("5 % of it … yes", "5% of it… yes"),
        ("我 喜欢 书 。", "我喜欢书。"),
        ("هذا بيت ، أليس كذلك ؟", "هذا بيت، أليس كذلك؟"),
        ('already written: "like this", with (brackets).', 'already written: "like this", with (brackets).'),
        ("a - b", "a - b"),
        ("", ""),
        (".", "."),
    ],
)
def test_tokens_as_people_read_them(tokens: str, expected: str) -> None:
    assert text(tokens) == expected


def test_the_highlight_stays_on_its_tokens() -> None:
    tokens = ["he", "said", "&quot;", "no", "&quot;", "."]
    marked = highlight(tokens, {2, 3, 4})
    assert ">he said <mark>&quot;no&quot;</mark>.</span>" in marked
    assert 'data-marked="2 3 4"' in marked
    assert extract(tokens, {1, 3, 4, 5}) == "said … no&quot;."


WORDS = st.lists(
    st.one_of(
        st.sampled_from(
            [".", ",", "&quot;", "&apos;s", "-lrb-", ")", "@-@", "re@@", "ad", "▁x", '"', "«", "%"]
        ),
        st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=12,
).map(lambda words: tokenize(" ".join(words)))


@given(WORDS.filter(bool), st.data())
def test_a_reader_of_the_page_finds_tokens_and_positions_again(
    tokens: list[str], data: st.DataObject
) -> None:
    positions = data.draw(st.sets(st.integers(0, len(tokens) - 1)))
    page = read_page(
        f'<div class="hit hit-label"><p class="text source">{highlight(tokens, positions)}</p></div>'
    )
    assert page.source is not None
    assert page.source.tokens == tokenize(plain(" ".join(tokens)))
    assert page.source.marked == sorted(positions)
