"""Mechanical Turk's XML: questions in, answers out. External entities are never read.

A document with a DOCTYPE is refused before its entities exist, so neither external entities nor entities that grow
exponentially come in.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import NoReturn
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from xml.sax.saxutils import escape

from rypt.text import FormatError

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
ANSWERS_NAMESPACE = f"{SCHEMAS}/2005-10-01/QuestionFormAnswers.xsd"
QUESTION_KINDS = ("HTMLQuestion", "ExternalQuestion", "QuestionForm")
MAX_QUESTION_BYTES = 65_535
HOST = re.compile(
    r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?)*\.?|[0-9a-f:.]*:[0-9a-f:.]*"
)


class XmlError(FormatError):
    """XML that is not well formed, or not what was expected."""


class _NoDoctype(TreeBuilder):
    """Builds a tree, and stops at a DOCTYPE."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> NoReturn:
        """Refuse: entities would follow."""
        raise XmlError("expected XML without a DOCTYPE")


@dataclass(frozen=True, slots=True)
class Question:
    """What a hit shows: ``html`` of an HTMLQuestion, ``url`` of an ExternalQuestion, ``form`` of a QuestionForm."""

    kind: str
    html: str | None = None
    url: str | None = None
    form: Element | None = None
    frame_height: int = 0


def parse_xml(text: str) -> Element:
    """The root of an XML document."""
    parser = XMLParser(target=_NoDoctype())
    try:
        parser.feed(text.strip())
        root = parser.close()
    except ParseError as error:
        raise XmlError(f"expected XML: {error}") from None
    except UnicodeEncodeError:
        raise XmlError("expected XML, found half of a surrogate pair") from None
    if not isinstance(root, Element):
        raise XmlError("expected XML with a root element")
    return root


def local_name(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def child_text(parent: Element, name: str) -> str:
    """The text of the one child with this name, in whatever namespace."""
    children = parent.findall(f"{{*}}{name}")
    if len(children) != 1:
        raise XmlError(f"expected one {name} in {local_name(parent)}, found {len(children)}")
    return (children[0].text or "").strip()


def parse_question(text: str) -> Question:
    """Read a hit's question.

    >>> parse_question("<HTMLQuestion><HTMLContent><![CDATA[<p>Hi</p>]]></HTMLContent>"
    ...                "<FrameHeight>0</FrameHeight></HTMLQuestion>").html
    '<p>Hi</p>'
    """
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_QUESTION_BYTES:
        raise XmlError(f"expected a question of at most {MAX_QUESTION_BYTES:,} bytes, found {size:,}")
    root = parse_xml(text)
    kind = local_name(root)
    if kind not in QUESTION_KINDS:
        raise XmlError(f"expected one of {', '.join(QUESTION_KINDS)}, found <{kind}>")
    if kind == "QuestionForm":
        if not root.findall(".//{*}Question"):
            raise XmlError("expected a QuestionForm with questions, found none")
        return Question(kind, form=root)
    height = child_text(root, "FrameHeight")
    if not height.isascii() or not height.isdigit() or len(height) > 6:
        raise XmlError(f"expected a FrameHeight in pixels, found {height[:20]!r}")
    if kind == "ExternalQuestion":
        return Question(kind, url=_checked_url(child_text(root, "ExternalURL")), frame_height=int(height))
    html = child_text(root, "HTMLContent")
    if not html:
        raise XmlError("expected HTMLContent, found nothing")
    return Question(kind, html=html, frame_height=int(height))


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise XmlError(f"expected an https ExternalURL, found {url[:100]!r}") from None
    if parts.scheme not in ("https", "http") or not host:
        raise XmlError(f"expected an https ExternalURL, found {url[:100]!r}")
    if not HOST.fullmatch(host) or "@" in parts.netloc:
        raise XmlError(f"expected an ExternalURL with a host in ASCII and no user name, found {url[:100]!r}")
    if not url.isprintable() or " " in url:
        raise XmlError(f"expected an ExternalURL without spaces and control characters, found {url[:100]!r}")
    return url


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: its pages are not sent over a network.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "localhost.example", "8.8.8.8")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def answers_xml(answers: Mapping[str, str]) -> str:
    """Answers (field → value) as the QuestionFormAnswers document that a requester receives.

    >>> read_answers(answers_xml({"label_1": "YES", "comment": "a < b & c\\r\\n"}))
    {'label_1': 'YES', 'comment': 'a < b & c\\r\\n'}
    """
    parts = [
        f"<Answer><QuestionIdentifier>{_escaped(name)}</QuestionIdentifier>"
        f"<FreeText>{_escaped(value)}</FreeText></Answer>"
        for name, value in answers.items()
    ]
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return f'{head}<QuestionFormAnswers xmlns="{ANSWERS_NAMESPACE}">{"".join(parts)}</QuestionFormAnswers>'


def _escaped(text: str) -> str:
    return escape(text, {"\r": "&#13;"})  # a bare one would come back as a line feed


def read_answers(text: str) -> dict[str, str]:
    """The fields of a QuestionFormAnswers document; several selections of one question are joined with ``|``."""
    root = parse_xml(text)
    if local_name(root) != "QuestionFormAnswers":
        raise XmlError(f"expected QuestionFormAnswers, found <{local_name(root)}>")
    fields = {}
    for answer in root.findall("{*}Answer"):
        values = [
            part.text or ""
            for part in answer
            if local_name(part) in ("FreeText", "SelectionIdentifier", "OtherSelectionText")
        ]
        fields[child_text(answer, "QuestionIdentifier")] = "|".join(values)
    return fields
