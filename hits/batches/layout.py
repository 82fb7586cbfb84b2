"""The template of a batch: the layout of its kind, with the texts of one interface language put in.

Layouts are Jinja templates: ``templates/KIND.html`` extends ``templates/page.html`` with what the kind asks. Jinja puts
in texts when a batch is made; ``${column}``, which changes from item to item, stays for `hits.batches.page`. Texts come
from ``templates/instructions.LANGUAGE.toml`` or from a user's own file: the sections ``[common]``, ``[languages]`` and
that of the kind. A kind without a section in a bundled language is shown in English.
"""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from hits.batches.markup import html_templates, text_direction
from hits.records import Kind
from rypt.records import SEVERITIES
from rypt.strict import SyntaxFormatError, parse_toml
from rypt.text import InputError, RyptError

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
    paths = (files("hits.batches") / "templates").iterdir()
    names = [path.name.split(".") for path in paths if path.name.startswith("instructions.")]
    return sorted(name[1] for name in names)


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
    if interface.endswith(".toml"):
        language, tables = _read_file(Path(interface), kind)
        if severity and SEVERITY not in tables:
            raise InputError(interface, None, f"expected a section [{SEVERITY}], with texts for a graded NO")
    else:
        language, tables = _read_bundled(interface)
        if kind not in tables or (severity and SEVERITY not in tables):
            language, tables = _read_bundled("en")
    names = tables.get("languages", {})
    common = {**tables["common"], **tables[kind], **(tables[SEVERITY] if severity else {})}
    source = names.get(_base(source_language)) or source_language or common["unknown_source"]
    target = names.get(_base(target_language)) or target_language or common["unknown_target"]

    def with_languages(text: str) -> str:
        return text.replace("{source}", source).replace("{target}", target)

    texts = {name: with_languages(value) for name, value in common.items() if isinstance(value, str)}
    return Interface(language, texts, tuple(map(with_languages, common["instructions"])), severity)


def batch_template(
    kind: Kind, interface: Interface, *, slots: int, reference: bool, blank: bool = False
) -> str:
    """The template of a batch whose items have at most so many alternatives or ranked candidates.

    With ``blank`` labels may be left blank.
    """
    from markupsafe import Markup

    layout = html_templates("hits.batches", _escaped).get_template(f"{kind}.html")
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


def asks_severity(template: str) -> bool:
    """Whether a template asks how bad a NO is."""
    return any(f'value="{answer}"' in template for answer in SEVERITIES)


def allows_blank(template: str) -> bool:
    """Whether a template lets labels be left blank."""
    return 'value="YES"' in template and not re.search(r'value="YES"[^>]* required', template)


def language_name(language: str, interface: str = "en") -> str:
    """A language's name in one of the languages of the instructions, or its code where the name is not known.

    >>> language_name("pt-BR"), language_name("de", "de"), language_name("xx")
    ('Portuguese', 'Deutsch', 'xx')
    """
    return str(_read_bundled(interface)[1]["languages"].get(_base(language), language))


def _bundled(name: str) -> str:
    return (files("hits.batches") / "templates" / name).read_text(encoding="utf-8")


def _escaped(text: str) -> str:
    """Text as HTML in which nothing is a column."""
    return html.escape(text, quote=True).replace("$", "&#36;")


def _base(language: str) -> str:
    return language.lower().replace("_", "-").split("-")[0]


def _read_file(path: Path, kind: Kind) -> tuple[str, Tables]:
    """The language and the texts of a user's own file, which must have those of this kind."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, None, f"expected instructions in UTF-8: {error}") from None
    tables = _parsed(path, text)
    _check(path, tables, kind)
    return path.name.removesuffix(".toml").rpartition(".")[2], tables


def _read_bundled(interface: str) -> tuple[str, Tables]:
    """The language and the texts of a bundled file."""
    language = _base(interface)
    if language not in interface_languages():
        known = ", ".join(interface_languages())
        raise RyptError(
            f"expected a language of the instructions ({known}) or a .toml file, found {interface!r}"
        )
    name = f"instructions.{language}.toml"
    return language, _parsed(Path(name), _bundled(name))


def _parsed(path: Path, text: str) -> Tables:
    try:
        return parse_toml(text)
    except SyntaxFormatError as error:
        raise InputError(path, None, f"expected TOML: {error}") from None


def _check(path: Path, tables: Mapping[str, Any], kind: Kind) -> None:
    """Refuse missing sections of this kind, unknown sections, and other names than those of the English file."""
    english = _read_bundled("en")[1]
    for section in sorted({"common", str(kind)} | tables.keys()):
        texts = tables.get(section)
        if section not in english:
            raise InputError(path, None, f"unknown section [{section}], expected one of {', '.join(english)}")
        if not isinstance(texts, dict):
            raise InputError(path, None, f"expected a section [{section}]")
        if section != "languages" and texts.keys() != english[section].keys():
            names = ", ".join(sorted(texts.keys() ^ english[section].keys()))
            message = f"expected in [{section}] the names of the English file; these differ: {names}"
            raise InputError(path, None, message)
        for name, value in texts.items():
            several = name == "instructions"
            values = value if several and isinstance(value, list) and value else [value]
            if (several and not isinstance(value, list)) or not all(
                isinstance(v, str) and v.strip() for v in values
            ):
                raise InputError(path, None, f"expected a text as {name} in [{section}], found {value!r}")
