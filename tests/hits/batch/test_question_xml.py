import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.batch.question_xml import SCHEMAS, XmlError, answers_xml, parse_question, parse_xml, read_answers
from hits.server.store.work import clean_answers

HTML = (
    f'<HTMLQuestion xmlns="{SCHEMAS}/2011-11-11/HTMLQuestion.xsd"><HTMLContent><![CDATA[{{}}]]></HTMLContent>'
    "<FrameHeight>450</FrameHeight></HTMLQuestion>"
)
LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">'
    '<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">]><QuestionForm>&d;</QuestionForm>'
)


def test_the_three_kinds() -> None:
    html = parse_question(HTML.format("<!DOCTYPE html><form><input name=a></form>"))
    assert (html.kind, html.html, html.frame_height) == (
        "HTMLQuestion",
        "<!DOCTYPE html><form><input name=a></form>",
        450,
    )
    url = "https://example.org/?a=1&amp;b=2"
    external = parse_question(
        f'<?xml version="1.0"?><ExternalQuestion xmlns="{SCHEMAS}/2006-07-14/ExternalQuestion.xsd">'
        f"<ExternalURL>{url}</ExternalURL><FrameHeight>0</FrameHeight></ExternalQuestion>"
    )
    assert external.url == "https://example.org/?a=1&b=2"
    form = parse_question(
        "<QuestionForm><Question><QuestionIdentifier>q</QuestionIdentifier></Question></QuestionForm>"
    )
    assert form.form is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "<HTMLQuestion>",
        "<HTMLQuestion/>",
        "<Other/>",
        "<QuestionForm/>",
        HTML.format(""),
        HTML.format("x").replace("450", "tall"),
        HTML.format("x").replace("450", "٤"),
        HTML.format("x").replace("<FrameHeight>450</FrameHeight>", ""),
        HTML.format("x" * 65_535),
        HTML.format("\ud800"),
        HTML.format("\0"),
        "<ExternalQuestion><ExternalURL>file:///etc/passwd</ExternalURL><FrameHeight>0</FrameHeight></ExternalQuestion>",
        "<ExternalQuestion><ExternalURL>http://[</ExternalURL><FrameHeight>0</FrameHeight></ExternalQuestion>",
        "<a>" * 20_000,
        LAUGHS,
        '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd"><QuestionForm><Question/></QuestionForm>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><QuestionForm><Question>&a;</Question></QuestionForm>',
        "<QuestionForm><Question>&undefined;</Question></QuestionForm>",
    ],
)
def test_what_is_no_question(text: str) -> None:
    with pytest.raises(XmlError):
        parse_question(text)


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
