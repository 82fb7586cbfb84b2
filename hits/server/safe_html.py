"""A requester's page made safe to stand inside ours: known tags and attributes stay, everything else goes.

The page is shown in the same document, so that it works with a screen reader, on a phone and without JavaScript. For
that it must not run code, reach other servers or leave its place. nh3 takes out scripts, styles, frames and handlers
(the content security policy would stop them, too) and balances the tags. What is left to do here: the one form gets our
address and hidden fields, and what it asks for is noted, so that only answers to it are taken.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from html import escape, unescape
from html.parser import HTMLParser

import nh3

from rypt.text import FormatError


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RESERVED = frozenset({"csrf", "assignmentId"})  # our hidden fields
DROPPED = _words("""
    script style template noscript iframe frameset object applet svg math canvas audio video title noembed noframes xmp
    plaintext
""")  # with all that is in them
VOID = frozenset({"br", "hr", "img", "input", "wbr", "col"})
KEPT = VOID | _words("""
    a abbr address article aside b bdi bdo blockquote button caption cite code colgroup data datalist dd del details
    dfn div dl dt em fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header i ins kbd label legend li main
    mark meter nav ol optgroup option output p pre progress q rp rt ruby s samp section select small span strong sub
    summary sup table tbody td textarea tfoot th thead time tr u ul var
""")
ATTRIBUTES = _words("""
    abbr alt autocomplete checked class cols colspan datetime dir disabled for headers height hidden high id
    inputmode label lang list low max maxlength min minlength multiple name open optimum pattern placeholder readonly
    required reversed role rows rowspan scope selected size span start step tabindex title translate type value width
""")
INPUT_TYPES = _words("""
    checkbox color date datetime-local email hidden month number radio range search tel text time url week submit reset
""")
FORM = "\0form\0"  # where the form begins; no page can hold it
BUTTON = '<button type="submit">OK</button>'
KEY = re.compile(r' data-key="([1-9])"')
FORM_HOLDERS = ("input", "select", "textarea")


@dataclass(slots=True)
class AskedField:
    """What the inputs of one name can send: these values, a free text, or several of them at once."""

    values: set[str] = field(default_factory=set)
    free: bool = False
    several: bool = False


@dataclass(slots=True)
class Asked:
    """What a form asks for: its fields, and the names of those that must be answered."""

    fields: dict[str, AskedField] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)

    def add(self, name: str, value: str | None, *, required: bool = False, several: bool = False) -> None:
        """One more input of this name, which sends this value or, for None, a free text."""
        asked = self.fields.setdefault(name, AskedField())
        if value is None:
            asked.several |= asked.free  # a second text of the same name
            asked.free = True
        else:
            asked.values.add(value)
        asked.several |= several
        if required:
            self.required.add(name)

    def check(self, answers: Mapping[str, Iterable[str]]) -> dict[str, str]:
        """The answers to store, several of one name joined with ``|``; `FormatError` for what the page cannot send."""
        checked = {}
        for name, sent in answers.items():
            values, asked = list(sent), self.fields.get(name)
            if asked is None:
                raise FormatError(f"expected the fields of the page, got {name[:100]!r}")
            if (len(values) > 1 and not asked.several) or not (asked.free or asked.values >= set(values)):
                raise FormatError(f"expected one of the page's answers in {name[:100]!r}")
            checked[name] = "|".join(values)
        missing = [
            name for name in self.fields if name in self.required and not checked.get(name, "").strip()
        ]
        if missing or not checked:
            raise UnansweredError(missing or list(self.fields))
        return checked


class UnansweredError(FormatError):
    """A form in which required answers are missing."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"expected answers to all questions; missing: {', '.join(names)[:200]}")
        self.names = names


@dataclass(frozen=True, slots=True)
class SafePage:
    """The inside of a requester's page, its language, direction and class, and what its form asks."""

    body: str
    language: str
    direction: str
    classes: str
    has_main: bool
    asked: Asked

    @property
    def keys(self) -> list[str]:
        """The keys that choose an answer, in order."""
        return sorted(set(KEY.findall(self.body)))

    def with_form(self, action: str, hidden: Mapping[str, str]) -> str:
        """The inside, its form posting to ``action`` with these hidden fields."""
        fields = "".join(
            f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
            for name, value in hidden.items()
        )
        form = f'<form method="post" action="{escape(action)}" class="judge">{fields}'
        return self.body.replace(FORM, form)


@lru_cache(maxsize=256)
def safe_page(page: str) -> SafePage:
    """Rewrite a page; one without a form becomes one.

    >>> safe = safe_page('<p onclick="x()">Hi<script>y()</script><form action="//evil"><input name=a></form>')
    >>> safe.with_form("/s", {})
    '<p>Hi</p><form method="post" action="/s" class="judge"><input name="a"><button type="submit">OK</button></form>'
    """
    page = page.replace("\0", "\ufffd")
    outer = _OuterTags()
    outer.feed(page)
    reader = _CleanPage()
    reader.feed(cleaner().clean(page))
    reader.close()
    html, body = outer.attributes.get("html", {}), outer.attributes.get("body", {})
    return SafePage(
        reader.body(),
        html.get("lang", ""),
        html.get("dir", ""),
        body.get("class", ""),
        reader.has_main,
        reader.asked,
    )


@cache
def cleaner() -> nh3.Cleaner:
    """nh3 with our tags and attributes."""
    return nh3.Cleaner(
        tags=set(KEPT),
        clean_content_tags=set(DROPPED),
        attributes={"*": set(ATTRIBUTES), "a": {"href"}, "img": {"src"}},
        attribute_filter=lambda tag, name, value: value if allowed(tag, name, value) else None,
        generic_attribute_prefixes={"aria-", "data-"},
        url_schemes={"http", "https", "mailto", "data"},
        set_tag_attribute_values={"a": {"target": "_blank"}},
        link_rel="noopener noreferrer",
        strip_comments=True,
    )


class _OuterTags(HTMLParser):
    """Reads the attributes of the tags around a page, which nh3 removes."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes: dict[str, dict[str, str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("html", "body"):
            self.attributes.setdefault(tag, {name: value or "" for name, value in attrs})


class _CleanPage(HTMLParser):
    """Copies what nh3 has written, piece by piece and unchanged but for the form's tags; notes what the form asks."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.asked = Asked()
        self.has_main = False
        self._pieces: list[str] = []
        self._form: list[int] = []  # the pieces at which the first form begins and ends
        self._later_forms = 0
        self._outside = False  # whether fields stand outside the form
        self._disabled: list[bool] = []  # for each open fieldset, whether it or one around it is
        self._button = False
        self._select: Mapping[str, str | None] = {}  # the attributes of the open select
        self._option: tuple[list[str], str | None] | None = None  # the text of the open option, and its value

    def body(self) -> str:
        """The page with one form and a button in it; around everything, if it has none or fields stand outside it."""
        button = "" if self._button else BUTTON
        if len(self._form) != 2 or self._outside:
            return f"{FORM}{''.join(self._pieces).strip()}{button}</form>"
        begin, end = self._form
        inside = "".join(self._pieces[begin:end])
        return f"{''.join(self._pieces[:begin])}{FORM}{inside}{button}</form>{''.join(self._pieces[end:])}".strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "form":
            if self._form:
                self._later_forms += 1
            else:
                self._form.append(len(self._pieces))
            return
        self.has_main |= tag == "main"
        disabled = "disabled" in attributes or (bool(self._disabled) and self._disabled[-1])
        if tag == "fieldset":
            self._disabled.append(disabled)
        kind = (attributes.get("type") or "submit").lower()
        self._button |= kind == "submit" and (tag == "button" or (tag == "input" and "type" in attributes))
        if not disabled:
            self._note(tag, attributes)
        self._pieces.append(self.get_starttag_text() or "")

    def _note(self, tag: str, attributes: Mapping[str, str | None]) -> None:
        """Note a field of the form."""
        if tag == "option" and self._select.get("name"):
            self._option = ([], attributes.get("value"))
        name, required = attributes.get("name") or "", "required" in attributes
        if not name or tag not in (*FORM_HOLDERS, "button"):
            return
        self._outside |= len(self._form) != 1 or self._later_forms > 0
        kind = (attributes.get("type") or "text").lower()
        value = attributes.get("value")
        if tag == "select":
            self._select = attributes
        elif tag == "button" or (tag == "input" and kind == "hidden"):
            self.asked.add(name, value or "")
        elif tag == "input" and kind in ("radio", "checkbox"):
            shown = "on" if value is None else value
            self.asked.add(name, shown, required=required, several=kind == "checkbox")
        elif tag == "textarea" or kind not in ("submit", "reset"):
            self.asked.add(name, None, required=required)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            if self._later_forms:
                self._later_forms -= 1
            else:
                self._form.append(len(self._pieces))
            return
        if tag == "fieldset":
            self._disabled.pop()
        if tag == "option" and self._option:
            (text, value), self._option = self._option, None
            shown = " ".join(unescape("".join(text)).split())
            self.asked.add(
                self._select.get("name") or "",
                shown if value is None else value,
                required="required" in self._select,
                several="multiple" in self._select,
            )
        if tag == "select":
            self._select = {}
        self._pieces.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._pieces.append(data)
        if self._option:
            self._option[0].append(data)

    def handle_entityref(self, name: str) -> None:
        self.handle_data(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.handle_data(f"&#{name};")


def allowed(tag: str, name: str, value: str) -> bool:
    """Whether an attribute may stay.

    >>> allowed("a", "href", "javascript:x()"), allowed("p", "onclick", "x()"), allowed("p", "lang", "ar")
    (False, False, True)
    """
    if tag == "form":  # it becomes ours
        return False
    if name.startswith(("aria-", "data-")):
        return name.replace("-", "").isalnum() and name.isascii()
    lowered = value.strip().lower()
    if tag == "a" and name == "href":
        return lowered.startswith(("https://", "http://", "mailto:", "#"))
    if tag == "img" and name == "src":
        return lowered.startswith(("data:image/png", "data:image/jpeg", "data:image/gif", "data:image/webp"))
    if name == "type":
        if tag == "input":
            return lowered in INPUT_TYPES
        return tag == "button" and lowered in ("submit", "reset", "button")
    if name == "name":
        return tag in (*FORM_HOLDERS, "button", "output") and value not in RESERVED
    return name in ATTRIBUTES
