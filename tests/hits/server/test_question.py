"""Questions that no page can show are refused when a hit is made, each with its reason."""

import pytest

from hits.batch.page import question_xml
from hits.batch.question_xml import XmlError
from hits.server.question import check_question, question_page

FORM = "<form><input name=a></form>"
TEXT = "<AnswerSpecification><FreeTextAnswer/></AnswerSpecification>"
FILE = "<AnswerSpecification><FileUploadAnswer/></AnswerSpecification>"
NAME = "<QuestionIdentifier>q</QuestionIdentifier>"
ENTITY = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><QuestionForm>&x;</QuestionForm>'
EXTERNAL = "<ExternalQuestion><ExternalURL>https://example.org/x</ExternalURL><FrameHeight>0</FrameHeight></ExternalQuestion>"


def form(question: str) -> str:
    return f"<QuestionForm><Question>{question}</Question></QuestionForm>"


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("not XML", "expected XML"),
        (ENTITY, "DOCTYPE"),
        (EXTERNAL, "HTMLQuestion or a QuestionForm"),
        (question_xml(FORM) + " " * 65_536, "at most 65,535 bytes"),
        ("<HTMLQuestion/>", "one HTMLContent"),
        (question_xml("<p>Read this.</p>"), "no input with a name"),
        (question_xml("<form><input></form>"), "no input with a name"),
        (
            question_xml(f"{FORM}<script>document.forms[0].innerHTML += '<input name=b>'</script>"),
            "no scripts",
        ),
        (question_xml("<crowd-form><crowd-radio-group name=a></crowd-radio-group></crowd-form>"), "crowd-"),
        (form(TEXT), "one QuestionIdentifier"),
        (form(NAME), "a SelectionAnswer or a FreeTextAnswer"),
        (form(NAME + FILE), "a SelectionAnswer or a FreeTextAnswer"),
    ],
)
def test_what_cannot_be_shown_is_refused(question: str, reason: str) -> None:
    with pytest.raises(XmlError, match=reason):
        check_question(question)


@pytest.mark.parametrize(
    "question",
    [
        question_xml(FORM),
        question_xml(f"<!-- <script>x()</script> -->{FORM}"),
        question_xml(
            f"<script src='https://s3.amazonaws.com/mturk-public/externalHIT_v1.js'></script>{FORM}"
            "<script language='Javascript'>turkSetAssignmentID();</script>"
        ),
        form(NAME + TEXT),
    ],
)
def test_what_can_be_shown_is_taken(question: str) -> None:
    check_question(question)


def test_a_test_is_a_form() -> None:
    check_question(form(NAME + TEXT), form=True)
    with pytest.raises(XmlError, match="expected a QuestionForm"):
        check_question(question_xml(FORM), form=True)


def test_a_form_asks_what_its_questions_ask() -> None:
    selection = "<Selection><SelectionIdentifier>{0}</SelectionIdentifier><Text>{0} &lt; b</Text></Selection>"
    both = selection.format("x") + selection.format("y")
    one = f"<SelectionAnswer><Selections>{both}</Selections></SelectionAnswer>"
    many = f"<SelectionAnswer><MaxSelectionCount>2</MaxSelectionCount><Selections>{both}</Selections></SelectionAnswer>"
    questions = "".join(
        f"<Question><QuestionIdentifier>{name}</QuestionIdentifier><IsRequired>true</IsRequired>"
        f"<AnswerSpecification>{answer}</AnswerSpecification></Question>"
        for name, answer in (("one", one), ("many", many), ("text", "<FreeTextAnswer/>"))
    )
    page = question_page(f"<QuestionForm>{questions}</QuestionForm>", "Send")
    assert page.asked.required == {"one", "text"}  # browsers cannot require one of several boxes
    answers = {"one": ["x"], "many": ["x", "y"], "text": ["free"]}
    assert page.asked.check(answers) == {"one": "x", "many": "x|y", "text": "free"}
    assert "x &lt; b" in page.body
