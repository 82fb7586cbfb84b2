"""Whatever a requester's page holds cannot run, load or leave its place; what no page can show is refused."""

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hits.batch.page import question_xml
from hits.batch.question_xml import XmlError
from hits.server.question import (
    BUTTON,
    FORM,
    KEPT,
    VOID,
    AskedField,
    UnansweredError,
    check_question,
    cleaner,
    question_page,
    safe_page,
)
from rypt.text import FormatError

PIECES = st.sampled_from(
    """\0  <p>  </p>  <div  </div>  </main>  <script>  </script>  <svg>  <style>  <textarea>  </textarea>  <form>
</form>  </body></html>  <!--  -->  <![CDATA[  ]]>  <a href='javascript:x()'>  <b onclick=x()>  "  '  >  <  </
&lt;script&gt;  &#60;img src=x onerror=x()>  <img src=x onerror=x()>  <base href=//e>  <select><option>  <title>
<math><mi//xlink:href='x'>  <meta http-equiv=refresh content=0>  <input name=csrf>  <iframe srcdoc='<script>'>
<plaintext>  <input autofocus onfocus=x() name=a>   formaction=//e  <button""".replace("\n", "  ").split("  ")
)


class Checker(HTMLParser):
    """Reads HTML again and notes what must not be there."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.bad: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in KEPT:
            self.bad.append(tag)
        for name, value in attrs:
            evil = (value or "").strip().lower().startswith(("javascript:", "vbscript:", "data:text"))
            if name.startswith("on") or name in ("style", "src", "srcdoc", "formaction", "action") or evil:
                self.bad += [name] if (name, value) != ("action", "/ours") else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.bad.append(f"/{tag}")

    def handle_comment(self, data: str) -> None:
        self.bad.append("comment")


@settings(max_examples=150)
@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=25))
def test_nothing_evil_survives(pieces: list[str]) -> None:
    body = safe_page("".join(pieces)).with_form("/ours", {"csrf": "token"})
    checker = Checker()
    checker.feed(body)
    checker.close()
    assert checker.bad == []
    assert checker.open == []
    assert body.count("<form") == 1
    assert body.count('name="csrf"') == 1
    assert "\0" not in body


def checked(page: str) -> str:
    """A page as it is shown, after a look for anything evil."""
    body = safe_page(page).with_form("/ours", {"csrf": "token"})
    checker = Checker()
    checker.feed(body)
    checker.close()
    assert (checker.bad, checker.open, body.count('name="csrf"')) == ([], [], 1)
    return body


@pytest.mark.parametrize(
    "page",
    [
        '<svg></p><style><a id="</style><img src=1 onerror=x()>">',
        '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=x()&gt;">',
        '<noscript><p title="</noscript><img src=x onerror=x()>">',
        "<form><math><mtext></form><form><mglyph><style></math><img src onerror=x()>",
        '<a href="java&#10;script:x()">l</a><a href="\x01javascript:x()">l</a><a href="&#106;avascript:x()">l</a>',
        '<a href="//evil.example">l</a><a href="/work/consent">l</a><a href="data:text/html,<script>x()</script>">l</a>',
        '<img src="data:image/svg+xml,<svg onload=x()>"><img src="https://evil.example/x.png" srcset="//evil">',
        "<input type=image src=//evil><input type=file name=f><button formaction=//evil formmethod=get>x</button>",
        '<div style="background:url(//evil)" id=x onmouseover=x()><style>@import "//evil"</style></div>',
        '<base href="//evil"><link rel=stylesheet href="//evil"><meta http-equiv=refresh content="0;url=//evil">',
        '<object data="//evil"><embed src="//evil"><applet code=x><iframe srcdoc="<script>x()</script>"></iframe>',
        "<template><script>x()</script></template><textarea></textarea><script>x()</script>",
        '<textarea><form action="//x"></textarea></form><form action="//evil">',
        "<xmp><img src=x onerror=x()></xmp><plaintext><img src=x onerror=x()>",
        "<p data-x\"onclick=x() aria-label='\"><img src=x onerror=x()>'>",
        "<!--><img src=x onerror=x()>--><![CDATA[<img src=x onerror=x()>]]><?php x() ?>",
        "<input name=csrf><button name=csrf value=1>x</button><input form=other name=a>",
    ],
)
def test_hostile_pages(page: str) -> None:
    body = checked(page)
    assert "evil" not in body
    assert "<img src=x" not in body.replace('title="', "").replace("&lt;", "")


def test_one_form_holds_all_fields() -> None:
    table = checked("<table><tr><form action=x><td><input name=a></td></form></tr></table>")
    assert table.index("<form") < table.index('name="a"') < table.index("</form>")
    two = safe_page("<form><input name=a></form><form><input name=b required></form>")
    assert (list(two.fields), two.fields["b"].required) == (["a", "b"], True)
    body = two.with_form("/ours", {})
    assert (body.count("<form"), body.count("</form>"), body.index("</form>")) == (
        1,
        1,
        len(body) - len("</form>"),
    )
    inner = safe_page('<h2 title="<form>">x</h2><form><input name=a></form><p>after</p>').with_form(
        "/ours", {}
    )
    assert inner.startswith('<h2 title="')
    assert inner.endswith("</form><p>after</p>")


@settings(max_examples=100)
@given(
    st.lists(st.one_of(PIECES.filter(lambda piece: "form" not in piece), st.text(max_size=5)), max_size=20)
)
def test_nothing_is_written_that_nh3_did_not_write(pieces: list[str]) -> None:
    page = "".join(pieces)
    cleaned = cleaner().clean(page.replace("\0", "\ufffd")).strip()
    assert safe_page(page).body in (f"{FORM}{cleaned}{BUTTON}</form>", f"{FORM}{cleaned}</form>")


def test_what_a_page_needs_survives() -> None:
    page = '<html lang="ar" dir="rtl"><head><title>T</title></head><body class="hit"><main>'
    page += '<p lang="en" dir="ltr">a &amp; b &lt;<mark class="reference">c</mark></p>'
    page += "<form id=f><label for=x>L</label><input id=x name=x type=number min=1 required>"
    made = safe_page(page + "<select name=s><option value=1 selected>one</select></form></main>")
    assert (made.language, made.direction, made.classes, made.has_main) == ("ar", "rtl", "hit", True)
    assert '<p lang="en" dir="ltr">a &amp; b &lt;<mark class="reference">c</mark></p>' in made.body
    assert '<input id="x" name="x" type="number" min="1" required="">' in made.body
    assert '<option value="1" selected="">one</option>' in made.body
    assert "<title" not in made.body
    assert made.fields["x"] == AskedField(free=True, required=True)
    assert made.fields["s"] == AskedField(values={"1"})


PAGE = """<form><input type=radio name=a value=YES required><input type=radio name=a value=NO required>
<textarea name=b></textarea><input type=checkbox name=c value=x><input type=checkbox name=c value=y>
<select name=d><option>two  words<option value=2>2</select><select name=e multiple><option>1<option>2</select>
<input type=hidden name=f value=fixed><button name=g value=1>1</button><button name=g value=2>2</button></form>"""


@pytest.mark.parametrize(
    "given",
    [
        {"b": ["text"]},
        {"c": ["x", "y"]},
        {"d": ["two words"]},
        {"e": ["1", "2"]},
        {"f": ["fixed"]},
        {"g": ["2"]},
        {"b": ["a\r\nbcd"]},
    ],
)
def test_what_a_page_can_send_is_taken(given: dict[str, list[str]]) -> None:
    checked = safe_page(PAGE).answers(({"a": ["YES"]} | given).items())
    assert checked == {"a": "YES", **{name: "|".join(values) for name, values in given.items()}}


@pytest.mark.parametrize(
    "given",
    [
        {"a": ["YES", "NO"]},
        {"a": ["YES", "YES"]},
        {"a": ["MAYBE"]},
        {"b": ["1", "2"]},
        {"c": ["x", "z"]},
        {"d": ["two words", "2"]},
        {"d": [""]},
        {"f": ["other"]},
        {"g": ["1", "2"]},
        {"h": ["1"]},
    ],
)
def test_what_a_page_cannot_have_sent_is_refused(given: dict[str, list[str]]) -> None:
    with pytest.raises(FormatError, match=r"of the page|page's answers"):
        safe_page(PAGE).answers(({"a": ["YES"]} | given).items())


def test_missing_answers_are_named() -> None:
    with pytest.raises(UnansweredError, match="missing: a"):
        safe_page(PAGE).answers([("b", ["text"])])
    with pytest.raises(UnansweredError):
        safe_page("<form><input name=b></form>").answers([])


INPUT = "<form><input name=a></form>"
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
        (question_xml(INPUT) + " " * 65_536, "at most 65,535 bytes"),
        ("<HTMLQuestion/>", "one HTMLContent"),
        (question_xml("<p>Read this.</p>"), "no input with a name"),
        (question_xml("<form><input></form>"), "no input with a name"),
        (
            question_xml(f"{INPUT}<script>document.forms[0].innerHTML += '<input name=b>'</script>"),
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
        question_xml(INPUT),
        question_xml(f"<!-- <script>x()</script> -->{INPUT}"),
        question_xml(
            f"<script src='https://s3.amazonaws.com/mturk-public/externalHIT_v1.js'></script>{INPUT}"
            "<script language='Javascript'>turkSetAssignmentID();</script>"
        ),
        form(NAME + TEXT),
    ],
)
def test_what_can_be_shown_is_taken(question: str) -> None:
    check_question(question)
    if "HTMLQuestion" in question:
        with pytest.raises(XmlError, match="expected a QuestionForm"):
            check_question(question, form=True)


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
    required = [name for name, field in page.fields.items() if field.required]
    assert required == ["one", "text"]  # browsers cannot require one of several boxes
    answers = {"one": ["x"], "many": ["x", "y"], "text": ["free"]}
    assert page.answers(answers.items()) == {"one": "x", "many": "x|y", "text": "free"}
    assert "x &lt; b" in page.body
