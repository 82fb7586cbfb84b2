"""A requester's page made safe to stand inside ours: known tags and attributes stay, everything else goes.

The page is shown in the same document, so that it works with a screen reader, on a phone and without JavaScript. For
that it must not run code, reach other servers or leave its place. Scripts, styles, frames and handlers are taken out
(the content security policy would stop them, too), tags are balanced, all text is escaped anew, and the one form gets
our address and hidden fields. What the form asks for is noted, so that only answers to it are taken.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from html.parser import HTMLParser

from rypt.text import FormatError


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RESERVED = frozenset({"csrf", "assignmentId"})  # our hidden fields
DROPPED = frozenset({  # with all that is in them
    "script", "style", "template", "noscript", "iframe", "frameset", "object", "applet", "svg", "math", "canvas",
    "audio", "video", "title", "noembed", "noframes", "xmp", "plaintext",
})  # fmt: skip
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
class Asked:
    """What a form asks for: its fields with the values each can have (None: any), and those that must be answered."""

    fields: dict[str, set[str] | None] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)

    def add(self, name: str, value: str | None, required: bool) -> None:
        """One more input of this name; ``value`` is the one it can send, None for free text."""
        if value is None:
            self.fields[name] = None
        elif (known := self.fields.setdefault(name, set())) is not None:
            known.add(value)
        if required:
            self.required.add(name)

    def check(self, answers: Mapping[str, Iterable[str]]) -> dict[str, str]:
        """The answers to store, several of one name joined with ``|``; `FormatError` for what was not asked."""
        checked = {}
        for name, given in answers.items():
            values = list(given)
            if name not in self.fields:
                raise FormatError(f"expected the fields of the page, found {name[:100]!r}")
            allowed = self.fields[name]
            if allowed is not None and not allowed.issuperset(values):
                raise FormatError(f"expected one of the page's answers in {name[:100]!r}")
            checked[name] = "|".join(values)
        if missing := [name for name in self.fields if name in self.required and not checked.get(name, "").strip()]:
            raise UnansweredError(missing)
        if not checked:
            raise UnansweredError(list(self.fields))
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
            f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in hidden.items()
        )
        return self.body.replace(FORM, f'<form method="post" action="{escape(action)}" class="judge">{fields}')


@lru_cache(maxsize=256)
def safe_page(page: str) -> SafePage:
    """Rewrite a page; one without a form becomes one.

    >>> made = safe_page('<p onclick="x()">Hi<script>y()</script><form action="//evil"><input name=a></form>')
    >>> made.with_form("/s", {})
    '<p>Hi<form method="post" action="/s" class="judge"><input name="a"><button type="submit">OK</button></form></p>'
    """
    reader = _Reader()
    reader.feed(page.replace("\0", "\ufffd"))
    reader.close()
    body = reader.finish()
    if not reader.forms:
        body = f"{FORM}{body}{BUTTON}</form>"
    html, outer = reader.outer.get("html", {}), reader.outer.get("body", {})
    return SafePage(
        body, html.get("lang", ""), html.get("dir", ""), outer.get("class", ""), reader.has_main, reader.asked
    )


class _Reader(HTMLParser):
    """Writes what it reads, if it is safe."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.outer: dict[str, dict[str, str]] = {}
        self.asked = Asked()
        self.forms = 0
        self.has_main = False
        self._written: list[str] = []
        self._open: list[tuple[str, bool]] = []  # tag, and whether what is inside is disabled
        self._dropping: list[str] = []
        self._has_button = False
        self._head = False
        self._choosing: tuple[str, bool] | None = None  # name of the select we are in, and whether it is required

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a known tag with its known attributes."""
        if self._dropping:
            if tag == self._dropping[-1]:
                self._dropping.append(tag)
            return
        if tag in DROPPED:
            self._dropping.append(tag)
            return
        if tag in ("html", "body"):
            self.outer.setdefault(tag, {name: value or "" for name, value in attrs})
            self._head = False if tag == "body" else self._head
        elif tag == "head":
            self._head = True
        if tag not in KEPT or self._inside("textarea") or (tag == "form" and self.forms):
            return
        self._write_start(tag, {name: value for name, value in reversed(attrs) if allowed(tag, name, value or "")})

    def _write_start(self, tag: str, attributes: dict[str, str | None]) -> None:
        if tag == "form":
            self.forms += 1
            self._written.append(FORM)
            self._open.append((tag, False))
            return
        if tag in FORM_HOLDERS and attributes.get("name") in RESERVED:
            del attributes["name"]
        self.has_main |= tag == "main"
        kind = (attributes.get("type") or "submit").lower()
        self._has_button |= kind == "submit" and (tag == "button" or (tag == "input" and "type" in attributes))
        disabled = "disabled" in attributes or self._disabled()
        if not disabled:
            self._note(tag, attributes)
        if tag == "a":
            attributes |= {"rel": "noopener noreferrer", "target": "_blank"}
        text = "".join(
            f" {name}" if value is None else f' {name}="{escape(value)}"'
            for name, value in reversed(attributes.items())
        )
        self._written.append(f"<{tag}{text}>")
        if tag not in VOID:
            self._open.append((tag, disabled and tag == "fieldset"))

    def _note(self, tag: str, attributes: Mapping[str, str | None]) -> None:
        """Note a field of the form."""
        if tag == "option" and self._choosing:  # one without a value sends its text, which is still to come
            self.asked.add(self._choosing[0], attributes.get("value"), self._choosing[1])
        name, required = attributes.get("name"), "required" in attributes
        if tag == "button" and name:
            self.asked.add(name, attributes.get("value") or "", False)
        if tag not in FORM_HOLDERS or not name:
            return
        kind = (attributes.get("type") or "text").lower()
        if tag == "select":
            self._choosing = (name, required)
        elif tag == "input" and kind in ("radio", "checkbox"):
            value = attributes.get("value")
            self.asked.add(name, "on" if value is None else value, required)
        elif tag == "textarea" or kind not in ("submit", "reset"):
            self.asked.add(name, None, required)

    def handle_endtag(self, tag: str) -> None:
        """Close what is open, and only that."""
        if self._dropping:
            if tag == self._dropping[-1]:
                self._dropping.pop()
            return
        if tag == "head":
            self._head = False
        if tag == "select":
            self._choosing = None
        if tag in VOID or not self._inside(tag):
            return
        while self._open and self._close() != tag:
            pass

    def _close(self) -> str:
        """Close the innermost tag; a form that nothing could send gets a button."""
        tag, _ = self._open.pop()
        if tag == "form" and not self._has_button:
            self._written.append(BUTTON)
        self._written.append(f"</{tag}>")
        return tag

    def handle_data(self, data: str) -> None:
        """Keep text, escaped."""
        if not self._dropping and not self._head:
            self._written.append(escape(data, quote=False))

    def _inside(self, tag: str) -> bool:
        return any(name == tag for name, _ in self._open)

    def _disabled(self) -> bool:
        return any(disabled for _, disabled in self._open)

    def finish(self) -> str:
        """All that was kept, with everything closed."""
        while self._open:
            self._close()
        return "".join(self._written).strip()


def allowed(tag: str, name: str, value: str) -> bool:
    """Whether an attribute may stay.

    >>> allowed("a", "href", "javascript:x()"), allowed("p", "onclick", "x()"), allowed("p", "lang", "ar")
    (False, False, True)
    """
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
        return tag in (*FORM_HOLDERS, "button", "output")
    return name in ATTRIBUTES
