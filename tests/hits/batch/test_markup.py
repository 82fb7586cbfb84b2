import csv
import io
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.batch.markup import escape, extract, highlight, language_columns, plain, shown, text_direction

ANY_TEXT = st.text(st.characters(), max_size=60)  # all of Unicode, lone surrogates and controls too
TOKENS = st.lists(
    st.text(st.characters(exclude_characters=" \t\r\n"), min_size=1, max_size=8), min_size=1, max_size=12
)
FORMULA_STARTS = tuple("=+-@\t\r")


class Reader(HTMLParser):
    """Text and tags as a browser would find them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.marked, self.tags, self.inside = "", [], [], False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))
        if tag == "mark":
            self.inside = True
            self.marked.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.inside:
            self.marked[-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment came through: {data!r}")


def parsed(markup: str) -> Reader:
    reader = Reader()
    reader.feed(f"<p>{markup}</p>")
    reader.close()
    return reader


@given(ANY_TEXT)
def test_escaped_text_is_exactly_the_text_and_no_tag(text: str) -> None:
    reader = parsed(escape(text))
    assert reader.text == plain(text)
    assert [tag for tag, _ in reader.tags] == ["p"]


@given(ANY_TEXT)
def test_escaped_text_is_legal_xml_and_utf8_and_no_formula(text: str) -> None:
    markup = escape(text)
    assert ET.fromstring(f"<p>{markup}</p>".encode()).text in (plain(text), None)
    assert not markup.startswith(FORMULA_STARTS)
    row = io.StringIO(newline="")
    csv.writer(row).writerow([markup])
    assert next(csv.reader(io.StringIO(row.getvalue(), newline=""))) == [markup]


@given(TOKENS, st.data())
def test_exactly_the_chosen_tokens_are_highlighted(tokens: list[str], data: st.DataObject) -> None:
    positions = data.draw(st.sets(st.integers(0, len(tokens) - 1)))
    reader = parsed(highlight(tokens, positions, "reference"))
    pieces = shown(tokens)
    assert reader.text == plain("".join(space + text for space, text in pieces))
    expected = "".join(text for i, (_, text) in enumerate(pieces) if i in positions)
    assert re.sub(r"\s", "", "".join(reader.marked)) == re.sub(r"\s", "", plain(expected))
    assert all(attrs == [("class", "reference")] for tag, attrs in reader.tags if tag == "mark")
    assert len(reader.marked) == sum(i - 1 not in positions for i in positions)


def test_the_phrase_alone_shows_its_gaps() -> None:
    assert extract(["<a>", "b", "c", "d", "e"], {0, 1, 3}) == "&lt;a&gt; b … d"


DIRECTIONS = {
    "ar": "rtl",
    "he_IL": "rtl",
    "fa": "rtl",
    "ur-PK": "rtl",
    "ps": "rtl",
    "yi": "rtl",
    "pa-Arab": "rtl",
    "de": "ltr",
    "zh-Hant": "ltr",
    "ar-Latn": "ltr",
    "x": "ltr",
    "": "auto",
}


@pytest.mark.parametrize(("language", "direction"), DIRECTIONS.items())
def test_direction_follows_language_and_script(language: str, direction: str) -> None:
    assert text_direction(language) == direction


def test_language_columns_hold_no_markup() -> None:
    assert language_columns('"><script>', "ar")["source_lang"] == "&quot;&gt;&lt;script&gt;"
    assert language_columns("", "ar") == {
        "source_lang": "",
        "source_dir": "auto",
        "target_lang": "ar",
        "target_dir": "rtl",
    }
