"""A requester's question as a page that can be shown inside ours: an HTMLQuestion's own HTML, or a QuestionForm.

page = question_page(hit["Question"], "Send")
check_question(hit["Question"])               # refuses what no page can show, with the reason

The page is shown in the same document, so that it works with a screen reader, on a phone and without JavaScript. For
that it must not run code, reach other servers or leave its place. nh3 takes out scripts, styles, frames and handlers
(the content security policy would stop them, too) and balances the tags. Then the one form gets our address and hidden
fields, and what it asks for is noted, so that only answers to it are taken.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from html import escape, unescape
from html.parser import HTMLParser
from xml.etree.ElementTree import Element

import nh3

from hits.batch.page import without_market_parts
from hits.batch.question_xml import XmlError, child_text, local_name, parse_xml
from rypt.text import FormatError

MAX_BYTES = 65_535
SCRIPT = re.compile(r"<script[\s>]|<crowd-[a-z]", re.IGNORECASE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
HARMLESS = (
    re.compile(  # scripts of most pages made for Mechanical Turk: they copy the assignment's id into the form
        r"""<script[^>]*\ssrc=["']?https://[\w./-]*/externalHIT_v1\.js["']?[^>]*>\s*</script>"""
        r"""|<script[^>]*>\s*turkSetAssignmentID\(\);?\s*</script>""",
        re.IGNORECASE,
    )
)


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
    required: bool = False


class UnansweredError(FormatError):
    """A form in which required answers are missing."""


@dataclass(frozen=True, slots=True)
class SafePage:
    """The inside of a requester's page, its language, direction and class, and the fields of its form by name."""

    body: str
    language: str
    direction: str
    classes: str
    has_main: bool
    fields: Mapping[str, AskedField]

    @property
    def keys(self) -> list[str]:
        return sorted(set(KEY.findall(self.body)))

    def with_form(self, action: str, hidden: Mapping[str, str]) -> str:
        """The inside, its form posting to ``action`` with these hidden fields."""
        fields = "".join(
            f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
            for name, value in hidden.items()
        )
        form = f'<form method="post" action="{escape(action)}" class="judge">{fields}'
        return self.body.replace(FORM, form)

    def answers(self, form: Iterable[tuple[str, list[str]]]) -> dict[str, str]:
        """The answers to store, several of one name joined with ``|``; `FormatError` for what the page cannot send."""
        answers = {}
        for name, values in form:
            if name in RESERVED:
                continue
            asked = self.fields.get(name)
            if asked is None:
                raise FormatError(f"expected the fields of the page, got {name[:100]!r}")
            if (len(values) > 1 and not asked.several) or not (asked.free or asked.values >= set(values)):
                raise FormatError(f"expected one of the page's answers in {name[:100]!r}")
            answers[name] = "|".join(values)
        required = (name for name, asked in self.fields.items() if asked.required)
        missing = [name for name in required if not answers.get(name, "").strip()]
        if missing or not answers:
            names = ", ".join(missing or self.fields)
            raise UnansweredError(f"expected answers to all questions; missing: {names[:200]}")
        return answers


@lru_cache(maxsize=256)
def question_page(text: str, send: str) -> SafePage:
    """The page of a question; ``send`` is the text on a QuestionForm's button. One that cannot be read: `XmlError`."""
    root = _parse(text)
    if local_name(root) == "QuestionForm":
        return safe_page(form_page(root, send))
    return safe_page(without_market_parts(child_text(root, "HTMLContent")))


def _parse(text: str) -> Element:
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_BYTES:
        raise XmlError(f"expected at most {MAX_BYTES:,} bytes, got {size:,}")
    root = parse_xml(text)
    if local_name(root) not in ("HTMLQuestion", "QuestionForm"):
        raise XmlError(f"expected an HTMLQuestion or a QuestionForm, got <{local_name(root)}>")
    return root


def check_question(text: str, *, form: bool = False) -> None:
    """Refuse a question that no page can show, with the reason; a test has to be a ``form``.

    >>> check_question("<HTMLQuestion><HTMLContent>Hello</HTMLContent><FrameHeight>0</FrameHeight></HTMLQuestion>")
    Traceback (most recent call last):
    hits.batch.question_xml.XmlError: expected a form with something to answer, found no input with a name
    """
    root = _parse(text)
    if local_name(root) == "HTMLQuestion":
        if form:
            raise XmlError("expected a QuestionForm, got an HTMLQuestion")
        page = without_market_parts(child_text(root, "HTMLContent"))
        if SCRIPT.search(HARMLESS.sub("", COMMENT.sub("", page))):
            raise XmlError(
                "this market runs no scripts, and the page has one, or a crowd-… element, which needs one; use plain "
                "HTML inputs"
            )
    if not question_page(text, "OK").fields:
        raise XmlError("expected a form with something to answer, found no input with a name")


def form_page(form: Element, send: str) -> str:
    """The page of a QuestionForm of choices and texts.

    >>> form_page(parse_xml("<QuestionForm><Overview><Title>Hi</Title></Overview></QuestionForm>"), "Send")
    '<main><form><h1>Hi</h1><p class="send"><button type="submit">Send</button></p></form></main>'
    """
    body = "".join(_question(part) if local_name(part) == "Question" else _content(part) for part in form)
    return (
        f'<main><form>{body}<p class="send"><button type="submit">{escape(send)}</button></p></form></main>'
    )


def _content(parent: Element | None) -> str:
    if parent is None:
        return ""
    names = {"Title": "h1" if local_name(parent) == "Overview" else "h2", "Text": "p"}
    parts = [(names.get(local_name(part)), part.text or "") for part in parent]
    return "".join(f"<{name}>{escape(text.strip())}</{name}>" for name, text in parts if name)


def _question(question: Element) -> str:
    name = child_text(question, "QuestionIdentifier")
    required = " required" if (question.findtext("{*}IsRequired") or "").strip() == "true" else ""
    title = escape(question.findtext("{*}DisplayName") or name)
    selection = question.find("{*}AnswerSpecification/{*}SelectionAnswer")
    if selection is not None:
        several = (selection.findtext("{*}MaxSelectionCount") or "1").strip() != "1"
        kind = 'type="checkbox"' if several else f'type="radio"{required}'
        options = enumerate(selection.findall("{*}Selections/{*}Selection"), start=1)
        choices = "".join(_choice(f'{kind} name="{escape(name)}"', n, each) for n, each in options)
        inputs = f'<div class="choices">{choices}</div>'
    elif question.find("{*}AnswerSpecification/{*}FreeTextAnswer") is not None:
        inputs = f'<textarea name="{escape(name)}" aria-label="{title}" dir="auto"{required}></textarea>'
    else:
        raise XmlError(f"expected a SelectionAnswer or a FreeTextAnswer to the question {name}")
    return f"<fieldset><legend>{title}</legend>{_content(question.find('{*}QuestionContent'))}{inputs}</fieldset>"


def _choice(attributes: str, number: int, selection: Element) -> str:
    value, text = child_text(selection, "SelectionIdentifier"), selection.findtext("{*}Text") or ""
    key, hint = (f' data-key="{number}"', f'<kbd class="key">{number}</kbd> ') if number < 10 else ("", "")
    return (
        f'<label class="choice"><input {attributes} value="{escape(value)}"{key}> '
        f"{hint}<span>{escape(text or value)}</span></label>"
    )


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
        reader.fields,
    )


@cache
def cleaner() -> nh3.Cleaner:
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
        self.fields: dict[str, AskedField] = {}
        self.has_main = False
        self._pieces: list[str] = []
        self._forms: list[int] = []  # the pieces at which forms begin and end
        self._fields_at: list[int] = []  # the pieces that are fields
        self._disabled: list[bool] = []  # for each open fieldset, whether it or one around it is
        self._button = False
        self._select: Mapping[str, str | None] = {}  # the attributes of the open select
        self._option: list[str] | None = None  # the text of the open option that has no value

    def body(self) -> str:
        """The page with one form and a button in it; around everything, if fields are outside of the first form."""
        button = "" if self._button else BUTTON
        begin, end = (*self._forms, 0, 0)[:2]
        if begin == end or any(not begin <= place < end for place in self._fields_at):
            return f"{FORM}{''.join(self._pieces).strip()}{button}</form>"
        inside = "".join(self._pieces[begin:end])
        return f"{''.join(self._pieces[:begin])}{FORM}{inside}{button}</form>{''.join(self._pieces[end:])}".strip()

    def _add(
        self, name: str | None, value: str | None, *, required: bool = False, several: bool = False
    ) -> None:
        """Note an input of this name, which sends this value or, for None, a free text."""
        if not name:
            return
        asked = self.fields.setdefault(name, AskedField())
        if value is None:
            asked.several |= asked.free  # a second text of the same name
            asked.free = True
        else:
            asked.values.add(value)
        asked.several |= several
        asked.required |= required

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "form":
            self._forms.append(len(self._pieces))
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
        name, value, required = attributes.get("name"), attributes.get("value"), "required" in attributes
        kind = (attributes.get("type") or "text").lower()
        if name and tag in (*FORM_HOLDERS, "button"):
            self._fields_at.append(len(self._pieces))
        if tag == "select":
            self._select = attributes
        elif tag == "option":
            if value is None:
                self._option = []
            else:
                self._add_option(value)
        elif tag == "button" or (tag == "input" and kind == "hidden"):
            self._add(name, value or "")
        elif tag == "input" and kind in ("radio", "checkbox"):
            shown = "on" if value is None else value
            self._add(name, shown, required=required, several=kind == "checkbox")
        elif tag == "textarea" or (tag == "input" and kind not in ("submit", "reset")):
            self._add(name, None, required=required)

    def _add_option(self, value: str) -> None:
        select = self._select
        self._add(select.get("name"), value, required="required" in select, several="multiple" in select)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._forms.append(len(self._pieces))
            return
        if tag == "fieldset":
            self._disabled.pop()
        elif tag == "option" and self._option is not None:
            self._add_option(" ".join(unescape("".join(self._option)).split()))
            self._option = None
        elif tag == "select":
            self._select = {}
        self._pieces.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._pieces.append(data)
        if self._option is not None:
            self._option.append(data)

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
