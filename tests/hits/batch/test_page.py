import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.batch.page import (
    MAX_QUESTION_BYTES,
    QUESTION_SCHEMA,
    check_template,
    fill,
    item_question,
    question_xml,
    without_long_pages,
    without_market_parts,
)
from hits.records import Batch, BatchSettings, Item, Kind, RewardRule
from rypt.text import FormatError, RyptError

SETTINGS = BatchSettings("b", Kind.LABEL, "t", "d", "k", RewardRule())
TEMPLATE = "<form>" + "".join(f"<p ${{hidden_{n}}}>${{text_{n}}}</p>" for n in range(1, 11)) + "</form>"
LEGAL = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")


def label_item(texts: list[str], slots: int = 10) -> Item:
    columns = {
        "item": "7-3-5-1",
        "segment": "7",
        "size": str(len(texts)),
        "source": "s",
        "hidden_reference": "",
    }
    for n in range(1, slots + 1):
        there = n <= len(texts)
        columns |= {
            f"phrase_{n}": f"phrase {n}" if there else "",
            f"control_{n}": "YES" if there and n % 2 else "",
            f"hidden_{n}": "" if there else "hidden disabled",
            f"text_{n}": texts[n - 1] if there else "",
        }
    return Item("7-3-5-1", columns)


@given(st.text(), st.text())
def test_what_a_column_brings_is_not_looked_at_again(first: str, second: str) -> None:
    columns = {"a": first + "${b}" + second, "b": "secret"}
    assert fill("<${a}|${b}>", columns) == f"<{first}${{b}}{second}|secret>"


@pytest.mark.parametrize("template", ["<p>", "<form></form><form ></form>"])
def test_a_template_is_one_form(template: str) -> None:
    with pytest.raises(FormatError, match="expected one <form>"):
        check_template(template, [])


@given(
    st.lists(st.text(LEGAL) | st.sampled_from(["]]>", "]]", ">", "<![CDATA[", "&amp;", "\n"])).map("".join)
)
def test_the_question_holds_exactly_the_page(page: str) -> None:
    root = ET.fromstring(question_xml(page, 600))
    space = f"{{{QUESTION_SCHEMA}}}"
    assert root.tag == f"{space}HTMLQuestion"
    assert [child.tag for child in root] == [f"{space}HTMLContent", f"{space}FrameHeight"]
    assert (root[0].text or "") == page
    assert root[1].text == "600"


def test_market_parts_are_taken_out() -> None:
    page = "a<!-- market -->\n<style>x</style>\n<!-- /market -->\nb<!-- market --><script></script><!-- /market -->c"
    assert without_market_parts(page) == "abc"
    assert without_market_parts(page, "<link>") == "a<link>bc"
    assert without_market_parts("plain") == "plain"


def page_bytes(batch: Batch, item: Item) -> int:
    return len(question_xml(fill(batch.template, item.columns)).encode())


def test_a_page_of_exactly_the_most_bytes_passes_and_one_more_does_not() -> None:
    empty = Batch(SETTINGS, (label_item([""]),), TEMPLATE)
    room = MAX_QUESTION_BYTES - page_bytes(empty, empty.items[0])
    whole = replace(empty, items=(label_item(["ü" * (room // 2) + "x" * (room % 2)]),))
    assert page_bytes(whole, whole.items[0]) == MAX_QUESTION_BYTES
    assert without_long_pages(whole) == whole
    assert item_question(whole, whole.items[0]).startswith("<HTMLQuestion")
    over = replace(empty, items=(label_item(["x" * (room + 1)]),))
    with pytest.raises(RyptError, match=r"item 7-3-5-1: its page takes 65,536 bytes"):
        item_question(over, over.items[0])


def test_an_item_with_a_page_too_long_is_left_out_with_a_note() -> None:
    batch = without_long_pages(Batch(SETTINGS, (label_item(["x" * 70_000]), label_item(["short"])), TEMPLATE))
    assert [item.size for item in batch.items] == [1]
    assert "left out" in batch.notes[0]
    with pytest.raises(RyptError, match="shorten the template"):
        without_long_pages(Batch(SETTINGS, (label_item(["x" * 70_000]),), TEMPLATE))
