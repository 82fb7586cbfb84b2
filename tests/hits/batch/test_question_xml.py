import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.batch.question_xml import SCHEMAS, XmlError, answers_xml, parse_xml, read_answers
from hits.server.question import check_question
from hits.server.store.work import clean_answers

LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">'
    '<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">]><QuestionForm>&d;</QuestionForm>'
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "<HTMLQuestion>",
        "<HTMLQuestion/>",
        "<Other/>",
        "<QuestionForm/>",
        "<a>" * 20_000,
        LAUGHS,
        '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd"><QuestionForm><Question/></QuestionForm>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><QuestionForm><Question>&a;</Question></QuestionForm>',
        "<QuestionForm><Question>&undefined;</Question></QuestionForm>",
    ],
)
def test_what_is_no_question(text: str) -> None:
    with pytest.raises(XmlError):
        check_question(text)


def test_entities_are_never_expanded() -> None:
    with pytest.raises(XmlError, match="DOCTYPE"):
        parse_xml(LAUGHS)


@given(st.dictionaries(st.text(min_size=1).filter(lambda name: name == name.strip()), st.text(), min_size=1))
def test_answers_come_back_as_they_were(answers: dict[str, str]) -> None:
    """Every text that a worker can store survives the way through XML."""
    kept = {}
    for name, value in answers.items():
        kept |= clean_answers({name: value})
    assert read_answers(answers_xml(kept)) == kept


def test_several_selections() -> None:
    text = (
        f'<QuestionFormAnswers xmlns="{SCHEMAS}/2005-10-01/QuestionFormAnswers.xsd"><Answer>'
        "<QuestionIdentifier>q</QuestionIdentifier><SelectionIdentifier>a</SelectionIdentifier>"
        "<SelectionIdentifier>b</SelectionIdentifier></Answer><Answer><QuestionIdentifier>r</QuestionIdentifier>"
        "</Answer></QuestionFormAnswers>"
    )
    assert read_answers(text) == {"q": "a|b", "r": ""}
    with pytest.raises(XmlError):
        read_answers("<Other/>")
