"""Reading the market's pages as a worker does: the forms, and what a hit shows and highlights.

Nothing is taken that a person could not see: no columns of the batch, no ids of segments. Texts are read as tokens,
which stand beside what is shown where punctuation was moved for people.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import NamedTuple

from hits.records import Kind
from rypt.text import tokenize
from rypt.texts.phrases import GAP

VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr", "col"})


@dataclass(slots=True)
class ShownText:
    """A text on the page: its tokens, and which of them are highlighted."""

    tokens: list[str] = field(default_factory=list)
    marked: list[int] = field(default_factory=list)

    def add(self, text: str, *, marked: bool) -> None:
        words = tokenize(text)
        if marked:
            self.marked += range(len(self.tokens), len(self.tokens) + len(words))
        self.tokens += words

    @property
    def text(self) -> str:
        return " ".join(self.tokens)

    @property
    def phrase(self) -> str:
        """What is highlighted, a ``[GAP]`` for whatever stands between; empty when nothing is."""
        words: list[str] = []
        for i, position in enumerate(self.marked):
            if i and position > self.marked[i - 1] + 1:
                words.append(GAP)
            words.append(self.tokens[position])
        return " ".join(words)


@dataclass(slots=True)
class Form:
    """A form: where it goes, what is hidden in it, and the values of each of its questions."""

    action: str
    hidden: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class Page:
    """A page as it was read.

    ``texts`` are those of the hit besides its source, each with the name of the question that it belongs to, empty for
    the sides of a comparison. ``links`` lead to hits that were accepted before, ``done`` is how many hits were sent,
    and a page that is not ``inside`` is none for workers: an error, or a refusal.
    """

    kind: Kind | None = None
    forms: list[Form] = field(default_factory=list)
    source: ShownText | None = None
    texts: list[tuple[str, ShownText]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    done: int = 0
    inside: bool = False

    def form(self, ending: str) -> Form | None:
        """The first form whose address has this ending."""
        return next((form for form in self.forms if form.action.endswith(ending)), None)

    @property
    def hit(self) -> Form | None:
        """The form of the hit on this page."""
        return next((form for form in self.forms if "assignmentId" in form.hidden), None)


def read_page(html: str) -> Page:
    """Read one page of the market."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.page


class _Open(NamedTuple):
    """A tag that is open."""

    tag: str
    classes: Collection[str]
    disabled: bool


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self._open: list[_Open] = []
        self._form: Form | None = None
        self._shown: ShownText | None = None
        self._waiting: list[ShownText] = []  # texts of a fieldset whose question is still to come
        self._count = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        classes = given.get("class", "").split()
        disabled = self._disabled() or ("disabled" in given and tag == "fieldset")
        if tag not in VOID:
            self._open.append(_Open(tag, classes, disabled))
        if "hit" in classes:
            self.page.kind = next((kind for kind in Kind if f"hit-{kind}" in classes), None)
        self.page.inside |= "numbers" in classes
        if tag == "form":
            self._form = Form(given.get("action", ""))
            self.page.forms.append(self._form)
        elif tag == "input" and self._form is not None and not disabled:
            self._note(given)
        elif tag == "fieldset":
            self._waiting = []
        elif tag == "p" and "text" in classes and not disabled:
            self._begin(classes)
        elif self._shown is not None and "data-tokens" in given:
            self._shown.tokens = tokenize(given["data-tokens"])
            self._shown.marked = [int(position) for position in given.get("data-marked", "").split()]
            self._shown = None  # what follows shows the same tokens as people read them
        elif tag == "a" and "/work/a/" in given.get("href", ""):
            self.page.links.append(given["href"])

    def _note(self, given: Mapping[str, str]) -> None:
        assert self._form is not None
        name, value = given.get("name", ""), given.get("value", "on")
        if given.get("type") == "hidden":
            self._form.hidden[name] = value
        elif given.get("type") in ("radio", "checkbox"):
            if name not in self._form.choices:
                self.page.texts += [(name, shown) for shown in self._waiting]
                self._waiting = []
            self._form.choices.setdefault(name, []).append(value)

    def _begin(self, classes: Collection[str]) -> None:
        """A text begins: the source, a side, or what a question is about; the reference is for people."""
        self._shown = ShownText()
        if "source" in classes:
            self.page.source = self._shown
        elif self._inside("side"):
            self.page.texts.append(("", self._shown))
        elif any(part.tag == "fieldset" for part in self._open):
            self._waiting.append(self._shown)

    def handle_endtag(self, tag: str) -> None:
        while any(part.tag == tag for part in self._open):
            closed = self._open.pop()
            if closed.tag == "p":
                self._shown = None
            if closed.tag == "form":
                self._form = None
            if closed.tag == tag:
                return

    def handle_data(self, data: str) -> None:
        """Text of what is shown, or the number of hits done, which is the first number of the bar."""
        if self._shown is not None:
            self._shown.add(data, marked=any(part.tag == "mark" for part in self._open))
        elif not self._count and self._inside("numbers") and data.strip().isdecimal():
            self._count = data.strip()
            self.page.done = int(self._count)

    def _inside(self, name: str) -> bool:
        return any(name in part.classes for part in self._open)

    def _disabled(self) -> bool:
        return bool(self._open) and self._open[-1].disabled
