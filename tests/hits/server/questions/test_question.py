"""Questions that no page can show are refused when a hit is made, each with its reason."""

from collections.abc import Callable

import pytest

from hits.batch.page import question_xml
from hits.batch.question_xml import XmlError
from hits.server.questions.question import check_shown, read_question
from rypt.text import FormatError

FORM = "<form><input name=a></form>"
SPECIFIED = "<AnswerSpecification><FreeTextAnswer/></AnswerSpecification>"


def external(url: str) -> str:
    return (
        f"<ExternalQuestion><ExternalURL>{url}</ExternalURL><FrameHeight>0</FrameHeight></ExternalQuestion>"
    )


def form(question: str) -> str:
    return f"<QuestionForm><Question>{question}</Question></QuestionForm>"


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (question_xml("<p>Read this.</p>"), "no input with a name$"),
        (question_xml("<form><input></form>"), "no input with a name$"),
        (
            question_xml("<form></form><script>document.forms[0].innerHTML = '<input name=a>'</script>"),
            "runs no scripts",
        ),
        (
            question_xml(f"{FORM}<script>document.forms[0].innerHTML += '<input name=b>'</script>"),
            "the page has one",
        ),
        (
            question_xml("<crowd-form><crowd-radio-group name=a></crowd-radio-group></crowd-form>"),
            "crowd-… elements",
        ),
        (question_xml("<div>" * 12_000), "at most 200 deep"),
        (question_xml("<b><p>" * 9_000), "at most 200 deep"),
        (form(SPECIFIED), "expected one QuestionIdentifier"),
        (form("<QuestionIdentifier>q</QuestionIdentifier>"), "one kind of answer"),
        (
            form(
                "<QuestionIdentifier>q</QuestionIdentifier><AnswerSpecification><FileUploadAnswer/></AnswerSpecification>"
            ),
            "does not show a FileUploadAnswer",
        ),
        (external("http://survey.example/"), "with https"),
        (external("https://ümlaut.example/"), "host in ASCII"),
        (external("https://user@survey.example/"), "no user name"),
        (external("https://a;script-src*/"), "host in ASCII"),
        (external("https://a..b/"), "host in ASCII"),
        (external("https://survey.example:port/"), "expected an https ExternalURL"),
        (external("https://survey.example/a b"), "without spaces"),
    ],
)
def test_what_cannot_be_shown_is_refused(question: str, reason: str) -> None:
    with pytest.raises(XmlError, match=reason):
        check_shown(question)


@pytest.mark.parametrize(
    "question",
    [
        question_xml(FORM),
        question_xml(f"<!-- <script>x()</script> -->{FORM}"),
        question_xml(
            f"<script src='https://s3.amazonaws.com/mturk-public/externalHIT_v1.js'></script>{FORM}"
            "<script language='Javascript'>turkSetAssignmentID();</script>"
        ),
        question_xml("<ul>" + "<li>x" * 2_000 + FORM),
        external("https://survey.example:8443/page?a=1"),
        external("http://localhost:5000/"),
        external("http://127.0.0.1/"),
        external("https://xn--mlaut-jva.example/"),
        form(f"<QuestionIdentifier>q</QuestionIdentifier>{SPECIFIED}"),
    ],
)
def test_what_can_be_shown_is_taken(question: str) -> None:
    check_shown(question)


@pytest.mark.parametrize(
    "make", [external, lambda url: question_xml(FORM), lambda url: question_xml(f"{FORM}<script>")]
)
def test_older_hits_are_shown(make: Callable[[str], str]) -> None:
    assert read_question(make("http://survey.example/"), "OK")


def test_time_to_show_does_not_grow_with_depth() -> None:
    with pytest.raises(FormatError, match="found 12000"):
        read_question(question_xml("<div>" * 12_000), "OK")
