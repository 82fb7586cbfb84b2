"""A hit's question as a page: what the market shows of it, and whether it can be shown at all."""

import re
from functools import lru_cache
from urllib.parse import urlsplit

from hits.batch.page import without_market_parts
from hits.batch.question_xml import Question, XmlError, is_loopback, parse_question
from hits.server.questions.form import form_page
from hits.server.questions.safe_html import SafePage, safe_page
from rypt.text import FormatError

CROWD = re.compile(r"<crowd-[a-z]", re.IGNORECASE)
SCRIPT = re.compile(r"<script[\s>]", re.IGNORECASE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
HARMLESS = (
    re.compile(  # what pages for Mechanical Turk usually have: they copy the assignment's id into the form
        r"""<script[^>]*\ssrc=["']?https://[\w./-]*/externalHIT_v1\.js["']?[^>]*>\s*</script>"""
        r"""|<script[^>]*>\s*turkSetAssignmentID\(\);?\s*</script>""",
        re.IGNORECASE,
    )
)


@lru_cache(maxsize=256)
def read_question(text: str, send: str) -> tuple[Question, SafePage | None]:
    """A hit's question and, unless it is another server's page, its page made safe; ``send`` is for its button.

    What cannot be shown is a `FormatError`.
    """
    question = parse_question(text)
    if question.form is not None:
        return question, safe_page(form_page(question.form, send))
    if question.html is not None:
        return question, safe_page(without_market_parts(question.html))
    return question, None


def check_shown(text: str) -> None:
    """Refuse a question that no page can show, with the reason: `XmlError`.

    >>> check_shown("<HTMLQuestion><HTMLContent>Hello</HTMLContent><FrameHeight>0</FrameHeight></HTMLQuestion>")
    Traceback (most recent call last):
    hits.batch.question_xml.XmlError: expected a form with something to answer, found no input with a name
    """
    try:
        question, safe = read_question(text, "OK")
    except FormatError as error:
        raise XmlError(str(error)) from None
    url = urlsplit(question.url or "")
    if url.scheme == "http" and not is_loopback(url.hostname or ""):
        raise XmlError(
            f"expected an ExternalURL with https (http is for this machine alone), found {url.geturl()[:100]!r}"
        )
    html = HARMLESS.sub("", COMMENT.sub("", without_market_parts(question.html or "")))
    if CROWD.search(html):
        raise XmlError("this market runs no scripts, and crowd-… elements need them; use plain HTML inputs")
    if SCRIPT.search(html):
        raise XmlError(
            "this market runs no scripts, and the page has one: what it makes or checks would be missing; use plain "
            "HTML inputs, or an ExternalQuestion"
        )
    if safe is not None and not safe.asked.fields:
        raise XmlError("expected a form with something to answer, found no input with a name")
