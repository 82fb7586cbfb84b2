"""Mechanical Turk's QuestionForm, the XML of qualification tests and of old hits, as an HTML page.

The page goes through `hits.server.questions.safe_html` like any other, so formatted content needs no care here.
"""

from html import escape
from xml.etree.ElementTree import Element

from hits.batch.question_xml import XmlError, child_text, local_name

SEVERAL = ("checkbox", "list", "multichooser")


def form_page(form: Element, send: str) -> str:
    """A page with one form: what the QuestionForm shows and asks; ``send`` is the text on its button.

    A title at the very beginning is that of the page.

    >>> from hits.batch.question_xml import parse_xml
    >>> form_page(parse_xml("<QuestionForm><Overview><Title>Hi</Title></Overview></QuestionForm>"), "Send")
    '<main><form><h1>Hi</h1><p class="send"><button type="submit">Send</button></p></form></main>'
    """
    parts = [_question(part) if local_name(part) == "Question" else _content(part) for part in form]
    if parts and parts[0].startswith("<h2>"):
        parts[0] = parts[0].replace("<h2>", "<h1>", 1).replace("</h2>", "</h1>", 1)
    button = f'<p class="send"><button type="submit">{escape(send)}</button></p>'
    return f"<main><form>{''.join(parts)}{button}</form></main>"


def _content(parent: Element) -> str:
    """An Overview or QuestionContent."""
    return "".join(map(_block, parent))


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
    content = question.find("{*}QuestionContent")
    specification = question.find("{*}AnswerSpecification")
    if specification is None or len(specification) != 1:
        raise XmlError(f"expected one kind of answer in the AnswerSpecification of {name}")
    required = " required" if (question.findtext("{*}IsRequired") or "").strip() == "true" else ""
    title = question.findtext("{*}DisplayName") or ""
    shown = "" if content is None else _content(content)
    answer = specification[0]
    if local_name(answer) == "SelectionAnswer":
        asked = _selections(name, answer, required)
    elif local_name(answer) == "FreeTextAnswer":
        asked = _free_text(name, answer, required, title or name)
    else:
        raise XmlError(f"the local market does not show a {local_name(answer)} ({name})")
    return f"<fieldset><legend>{escape(title)}</legend>{shown}{asked}</fieldset>"


def _selections(name: str, answer: Element, required: str) -> str:
    most = (answer.findtext("{*}MaxSelectionCount") or "1").strip()
    style = (answer.findtext("{*}StyleSuggestion") or "").strip()
    kind = "checkbox" if most != "1" or style in SEVERAL else "radio"
    needed = required if kind == "radio" else ""  # of boxes the browser would want every one
    choices = []
    for number, selection in enumerate(answer.findall("{*}Selections/{*}Selection"), start=1):
        value = child_text(selection, "SelectionIdentifier")
        shown = "".join(
            part.text or "" if local_name(part) == "FormattedContent" else escape(part.text or "")
            for part in selection
            if local_name(part) in ("Text", "FormattedContent")
        )
        key = f' data-key="{number}"' if number < 10 and kind == "radio" else ""
        hint = f'<kbd class="key">{number}</kbd> ' if key else ""
        choices.append(
            f'<label class="choice"><input type="{kind}" name="{escape(name)}" value="{escape(value)}"{key}{needed}> '
            f"{hint}<span>{shown or escape(value)}</span></label>"
        )
    return f'<div class="choices">{"".join(choices)}</div>'


def _free_text(name: str, answer: Element, required: str, title: str) -> str:
    lines = (answer.findtext("{*}NumberOfLinesSuggestion") or "1").strip()
    preset = escape(answer.findtext("{*}DefaultText") or "")
    length = answer.find("{*}Constraints/{*}Length")
    limit = (
        ""
        if length is None or "maxLength" not in length.attrib
        else f' maxlength="{escape(length.get("maxLength", ""))}"'
    )
    common = f'name="{escape(name)}" aria-label="{escape(title)}" dir="auto"{limit}{required}'
    if lines.isdigit() and int(lines) > 1:
        return f'<textarea {common} rows="{min(int(lines), 30)}">{preset}</textarea>'
    numeric = ' inputmode="numeric"' if answer.find("{*}Constraints/{*}IsNumeric") is not None else ""
    return f'<input type="text" {common}{numeric} value="{preset}">'
