"""From a batch's template and one item's columns to the page a worker sees, and to the XML a market takes.

Templates have ``${column}`` and nothing else: a ``$`` of any other kind, as scripts use it, stays as it is, and text
that a column brings in is never looked at again. Columns are HTML already (see `hits.batch.markup`).

A template may hold a style sheet and a script of its own for markets that add none. They stand between
``<!-- market -->`` and ``<!-- /market -->``; our own server takes them out (`without_market_parts`), for its content
security policy allows no inline code, and links its own files instead.
"""

import html
import re
import string
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from hits.batch.markup import html_templates, text_direction
from hits.records import Batch, Item, Kind
from rypt.strict import SyntaxFormatError, parse_toml
from rypt.text import FormatError, InputError, RyptError

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
    question = _question(batch, item)
    size = len(question.encode())
    if size > MAX_QUESTION_BYTES:
        raise RyptError(
            f"item {item.id}: its page takes {size:,} bytes, and a market takes {MAX_QUESTION_BYTES:,}"
        )
    return question


def without_long_pages(batch: Batch) -> Batch:
    """The batch without the items whose pages are too long for a market; notes name them."""
    items, notes = [], list(batch.notes)
    for item in batch.items:
        size = len(_question(batch, item).encode())
        if size <= MAX_QUESTION_BYTES:
            items.append(item)
        else:
            limit = f"{MAX_QUESTION_BYTES:,}"
            notes.append(
                f"item {item.id} is left out: its page takes {size:,} bytes, and a market takes {limit}"
            )
    if not items:
        raise RyptError(
            f"no page is short enough for a market ({MAX_QUESTION_BYTES:,} bytes); shorten the template"
        )
    return replace(batch, items=tuple(items), notes=tuple(notes))


def _question(batch: Batch, item: Item) -> str:
    return question_xml(fill(batch.template, item.columns), batch.settings.frame_height)


SEVERITY = "severity"  # the section of texts for label pages that ask how bad a NO is
Tables = dict[str, dict[str, Any]]  # section → name → text


@dataclass(frozen=True, slots=True)
class Interface:
    """The texts workers read in one language, for one kind of batch between two languages.

    With ``severity`` they are those of label pages that ask how bad a NO is.
    """

    language: str
    texts: Mapping[str, str]
    instructions: tuple[str, ...]
    severity: bool = False

    def __getitem__(self, name: str) -> str:
        return self.texts[name]


def interface_languages() -> list[str]:
    """The languages in which instructions are bundled."""
    names = [path.name.split(".") for path in (files("hits.batch") / "templates").iterdir()]
    return sorted(name[1] for name in names if name[0] == "instructions")


def read_interface(
    interface: str,
    kind: Kind,
    source_language: str = "",
    target_language: str = "",
    *,
    severity: bool = False,
) -> Interface:
    """The texts of a bundled language (``de``; ``de-AT`` finds it too), or of a file that ends in ``.toml``.

    A user's own file needs the section ``[common]`` and the section of the kind, with the names of the bundled files,
    and for ``severity`` the section ``[severity]``, whose texts take the place of those of the kind. Its language is
    the part of its name before ``.toml`` (``instructions.fr.toml``).
    """
    wanted = ("common", str(kind), *([SEVERITY] if severity else []))
    if interface.endswith(".toml"):
        path = Path(interface)
        language, tables = path.name.removesuffix(".toml").rpartition(".")[2], _read_own(path, wanted)
    else:
        language, tables = _read_bundled(interface)
        if not tables.keys() >= set(wanted):
            language, tables = _read_bundled("en")
    names = tables.get("languages", {})
    common = {name: value for section in wanted for name, value in tables[section].items()}
    source = names.get(_base(source_language)) or source_language or common["unknown_source"]
    target = names.get(_base(target_language)) or target_language or common["unknown_target"]

    def with_languages(text: str) -> str:
        return text.replace("{source}", source).replace("{target}", target)

    texts = {name: with_languages(value) for name, value in common.items() if isinstance(value, str)}
    return Interface(language, texts, tuple(map(with_languages, common["instructions"])), severity)


def batch_template(
    kind: Kind, interface: Interface, *, slots: int, reference: bool, blank: bool = False
) -> str:
    """The template of a batch whose items have at most this many alternatives or ranked candidates.

    With ``blank`` labels may be left blank.
    """
    from markupsafe import Markup

    layout = html_templates("hits.batch", _escaped).get_template(f"{kind}.html")
    return layout.render(
        interface.texts,
        kind=str(kind),
        lang=interface.language,
        dir=text_direction(interface.language),
        instructions=interface.instructions,
        slots=slots,
        reference=reference,
        severity=interface.severity,
        blank=blank,
        style=Markup(_bundled("hit.css")),
        script=Markup(_bundled("hit.js")),
    )


def language_name(language: str, interface: str = "en") -> str:
    """A language's name in one of the languages of the instructions, or its code where the name is not known.

    >>> language_name("pt-BR"), language_name("de", "de"), language_name("xx")
    ('Portuguese', 'Deutsch', 'xx')
    """
    return str(_read_bundled(interface)[1]["languages"].get(_base(language), language))


def _bundled(name: str) -> str:
    return (files("hits.batch") / "templates" / name).read_text(encoding="utf-8")


def _escaped(text: str) -> str:
    """Text as HTML in which nothing is a column."""
    return html.escape(text, quote=True).replace("$", "&#36;")


def _base(language: str) -> str:
    return language.lower().replace("_", "-").split("-")[0]


def _read_bundled(interface: str) -> tuple[str, Tables]:
    """The language and the texts of a bundled file."""
    language = _base(interface)
    if language not in interface_languages():
        known = ", ".join(interface_languages())
        raise RyptError(
            f"expected a language of the instructions ({known}) or a .toml file, found {interface!r}"
        )
    return language, parse_toml(_bundled(f"instructions.{language}.toml"))


def _read_own(path: Path, wanted: Sequence[str]) -> Tables:
    """The texts of a user's own file: sections and names are those of the English file."""
    try:
        tables: Tables = parse_toml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SyntaxFormatError) as error:
        raise InputError(path, None, f"expected instructions in TOML: {error}") from None
    english = _read_bundled("en")[1]
    for section in sorted({*wanted} | tables.keys()):
        texts = tables.get(section)
        if section not in english:
            raise InputError(path, None, f"unknown section [{section}], expected one of {', '.join(english)}")
        if not isinstance(texts, dict):
            raise InputError(path, None, f"expected a section [{section}]")
        if section != "languages" and (names := sorted(texts.keys() ^ english[section].keys())):
            message = (
                f"expected in [{section}] the names of the English file; these differ: {', '.join(names)}"
            )
            raise InputError(path, None, message)
        for name, value in texts.items():
            values = value if name == "instructions" and isinstance(value, list) else [value]
            filled = values and all(isinstance(text, str) and text.strip() for text in values)
            if not filled or (name == "instructions") != isinstance(value, list):
                raise InputError(path, None, f"expected a text as {name} in [{section}], found {value!r}")
    return tables
