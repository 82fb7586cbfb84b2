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
    """The page of a QuestionForm, with the first title as its heading.

    >>> form_page(parse_xml("<QuestionForm><Overview><Title>Hi</Title></Overview></QuestionForm>"), "Send")
    '<main><form><h1>Hi</h1><p class="send"><button type="submit">Send</button></p></form></main>'
    """
    parts = [_question(part) if local_name(part) == "Question" else _content(part) for part in form]
    body = "".join(parts)
    if body.startswith("<h2>"):
        body = body.replace("<h2>", "<h1>", 1).replace("</h2>", "</h1>", 1)
    return (
        f'<main><form>{body}<p class="send"><button type="submit">{escape(send)}</button></p></form></main>'
    )


def _content(parent: Element | None) -> str:
    """An Overview or QuestionContent."""
    return "".join(map(_block, [] if parent is None else parent))


def _block(part: Element) -> str:
    text = (part.text or "").strip()
    match local_name(part):
        case "Title":
            return f"<h2>{escape(text)}</h2>"
        case "Text":
            return f"<p>{escape(text)}</p>"
        case "FormattedContent":
            return f"<div>{text}</div>"
        case "List":
            return f"<ul>{''.join(f'<li>{escape(item.text or str())}</li>' for item in part)}</ul>"
        case _:
            return ""


def _question(question: Element) -> str:
    name = child_text(question, "QuestionIdentifier")
    specification = question.find("{*}AnswerSpecification")
    if specification is None or len(specification) != 1:
        raise XmlError(f"expected one kind of answer in the AnswerSpecification of {name}")
    required = " required" if (question.findtext("{*}IsRequired") or "").strip() == "true" else ""
    title = escape(question.findtext("{*}DisplayName") or "")
    answer = specification[0]
    if local_name(answer) == "SelectionAnswer":
        inputs = _selections(escape(name), answer, required)
    elif local_name(answer) == "FreeTextAnswer":
        label = title or escape(name)
        inputs = f'<textarea name="{escape(name)}" aria-label="{label}" dir="auto"{required}></textarea>'
    else:
        raise XmlError(f"the local market does not show a {local_name(answer)} ({name})")
    content = _content(question.find("{*}QuestionContent"))
    return f"<fieldset><legend>{title}</legend>{content}{inputs}</fieldset>"


def _selections(name: str, answer: Element, required: str) -> str:
    several = (answer.findtext("{*}MaxSelectionCount") or "1").strip() != "1"
    kind = "checkbox" if several else "radio"
    needed = "" if several else required  # of boxes the browser would want every one
    choices = []
    for number, selection in enumerate(answer.findall("{*}Selections/{*}Selection"), start=1):
        value = escape(child_text(selection, "SelectionIdentifier"))
        text = escape(selection.findtext("{*}Text") or "") or (
            selection.findtext("{*}FormattedContent") or value
        )
        key = f' data-key="{number}"' if number < 10 and not several else ""
        hint = f'<kbd class="key">{number}</kbd> ' if key else ""
        choices.append(
            f'<label class="choice"><input type="{kind}" name="{name}" value="{value}"{key}{needed}> '
            f"{hint}<span>{text}</span></label>"
        )
    return f'<div class="choices">{"".join(choices)}</div>'
