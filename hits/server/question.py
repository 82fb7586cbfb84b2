"""A requester's question as a page: an HTMLQuestion's own HTML, or a QuestionForm as HTML, made safe.

page = question_page(hit["Question"], "Send")
check_question(hit["Question"])               # refuses what no page can show, with the reason
"""

import re
from functools import lru_cache
from html import escape
from xml.etree.ElementTree import Element

from hits.batch.page import without_market_parts
from hits.batch.question_xml import XmlError, child_text, local_name, parse_xml
from hits.server.safe_html import SafePage, safe_page

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
    if not question_page(text, "OK").asked.fields:
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
    """The titles and texts of an Overview or a QuestionContent."""
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
