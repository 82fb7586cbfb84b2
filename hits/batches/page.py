"""From a batch's template and one item's columns to the page a worker sees, and to the XML a market takes.

Templates have ``${column}`` and nothing else: a ``$`` of any other kind, as scripts use it, stays as it is, and text
that a column brings in is never looked at again. Columns are HTML already (see `hits.batches.markup`).

A template may hold a style sheet and a script of its own for markets that add none. They stand between
``<!-- market -->`` and ``<!-- /market -->``; our own server takes them out (`without_market_parts`), for its content
security policy allows no inline code, and links its own files instead.
"""

import re
import string
from collections.abc import Collection, Mapping
from dataclasses import replace
from xml.sax.saxutils import quoteattr

from hits.batches.kinds import KINDS
from hits.records import Batch, Item
from rypt.text import FormatError, RyptError

MAX_QUESTION_BYTES = 65_535
QUESTION_SCHEMA = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"  # its name only
_ILLEGAL_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MARKET_PART = re.compile(r"<!-- market -->.*?<!-- /market -->\s*", re.DOTALL)


class ColumnTemplate(string.Template):
    """A template that knows ``${name}`` only."""

    flags = re.ASCII
    pattern = r"""
        \$\{ (?: (?P<braced>[A-Za-z_][A-Za-z0-9_.]*) \} | (?P<escaped>(?!)) | (?P<named>(?!)) | (?P<invalid>(?!)) )
    """  # type: ignore[assignment]


def placeholders(template: str) -> list[str]:
    """The columns a template names, each once, in the order of the text."""
    return ColumnTemplate(template).get_identifiers()


def check_template(template: str, header: Collection[str]) -> None:
    """Refuse a template that names a column the batch does not have, or that is not one form."""
    for name in placeholders(template):
        if name not in header:
            raise FormatError(f"the template names ${{{name}}}, and batch.csv has no such column")
    forms = len(re.findall(r"<form[\s>]", template, re.IGNORECASE))
    if forms != 1:
        raise FormatError(f"expected one <form> in the template, found {forms}")


def fill(template: str, columns: Mapping[str, str]) -> str:
    """The page of one item.

    >>> fill("<p>${source}</p> costs $(5) $5", {"source": "<mark>${x}</mark>"})
    '<p><mark>${x}</mark></p> costs $(5) $5'
    """
    try:
        return ColumnTemplate(template).substitute(columns)
    except KeyError as error:
        raise FormatError(
            f"the template names ${{{error.args[0]}}}, and the item has no such column"
        ) from None


def without_market_parts(page: str, instead: str = "") -> str:
    """A page without the style and script for other markets; ``instead`` takes the place of the first such part."""
    parts = iter([instead])
    return _MARKET_PART.sub(lambda _: next(parts, ""), page)


def question_xml(page: str, frame_height: int = 0) -> str:
    """An HTMLQuestion: the page in CDATA; a height of 0 lets the market fit the frame to the window."""
    content = _ILLEGAL_IN_XML.sub("\ufffd", page).replace("]]>", "]]]]><![CDATA[>")
    return (
        f"<HTMLQuestion xmlns={quoteattr(QUESTION_SCHEMA)}>"
        f"<HTMLContent><![CDATA[{content}]]></HTMLContent><FrameHeight>{frame_height}</FrameHeight></HTMLQuestion>"
    )


def item_question(batch: Batch, item: Item) -> str:
    """The XML that publishes an item; one that no market takes, because it is too long, is refused."""
    question = question_xml(fill(batch.template, item.columns), batch.settings.frame_height)
    size = len(question.encode("utf-8"))
    if size > MAX_QUESTION_BYTES:
        raise RyptError(
            f"item {item.id}: its page takes {size:,} bytes, and a market takes {MAX_QUESTION_BYTES:,}"
        )
    return question


def fit(batch: Batch) -> Batch:
    """The batch with every page short enough: longer items are split, what cannot be split is left out.

    A ranking in two halves loses the comparisons between them. Each half keeps its alternatives' answers under their
    new numbers, and is named by the whole's id with ``a`` or ``b`` behind it. The notes say what was done.
    """
    items: list[Item] = []
    notes = list(batch.notes)
    waiting = list(reversed(batch.items))
    while waiting:
        item = waiting.pop()
        size = len(
            question_xml(fill(batch.template, item.columns), batch.settings.frame_height).encode("utf-8")
        )
        what = f"item {item.id}: its page takes {size:,} bytes, and a market takes {MAX_QUESTION_BYTES:,}"
        if size <= MAX_QUESTION_BYTES:
            items.append(item)
        elif KINDS[batch.settings.kind].can_be_split(item):
            notes.append(f"{what}; it was split in two")
            waiting += reversed(split(item))
        else:
            notes.append(f"{what}; it was left out")
    if not items and batch.items:
        raise RyptError(
            f"no page is short enough for a market ({MAX_QUESTION_BYTES:,} bytes); shorten the template"
        )
    return replace(batch, items=tuple(items), notes=tuple(notes))


def split(item: Item) -> list[Item]:
    """A label item or a ranking in two, each with half of its alternatives or candidates."""
    half = (item.size + 1) // 2
    return [_part(item, "a", 1, half), _part(item, "b", half + 1, item.size)]


def _part(item: Item, suffix: str, first: int, last: int) -> Item:
    """Alternatives ``first`` to ``last`` of an item, numbered from 1; the others' columns are emptied."""
    columns: dict[str, str] = {}
    for name, value in item.columns.items():
        stem, _, number = name.rpartition("_")
        if not (stem and number.isdigit()):
            columns[name] = value
            continue
        old = int(number) + first - 1
        kept = old <= last and f"{stem}_{old}" in item.columns
        columns[name] = (
            item.columns[f"{stem}_{old}"] if kept else "hidden disabled" if stem == "hidden" else ""
        )
    name = f"{item.id}{suffix}"
    return Item(name, {**columns, "item": name, "size": str(last - first + 1)})
