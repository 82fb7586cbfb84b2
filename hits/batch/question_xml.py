"""Mechanical Turk's XML: questions in, answers out. External entities are never read.

A document with a DOCTYPE is refused before its entities exist, so neither external entities nor entities that grow
exponentially come in.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import NoReturn
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from xml.sax.saxutils import escape

from rypt.text import FormatError

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
ANSWERS_NAMESPACE = f"{SCHEMAS}/2005-10-01/QuestionFormAnswers.xsd"


class XmlError(FormatError):
    """XML that is not well formed, or not what was expected."""


class _NoDoctype(TreeBuilder):
    """Builds a tree, and stops at a DOCTYPE."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> NoReturn:
        """Refuse: entities would follow."""
        raise XmlError("expected XML without a DOCTYPE")


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
