"""What a market asks of workers, made of a batch's `Qualifications`: qualification types, found again by their names.

A language is a qualification that workers give themselves: whoever asks for it has it. A test is scored by the market
with its answer key, in percent. Workers' countries and approval rates are known to the market itself.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any
from xml.sax.saxutils import escape

from hits.batch.page import language_name
from hits.qualifications import LOCALE, PERCENT_APPROVED, Qualifications, Quiz
from rypt.text import RyptError

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
FORM_SCHEMA = f"{SCHEMAS}/2017-11-06/QuestionForm.xsd"
KEY_SCHEMA = f"{SCHEMAS}/2005-10-01/AnswerKey.xsd"

LANGUAGE_TYPE = re.compile(r"Reads .+ well \(([A-Za-z0-9-]+)\)")

Request = dict[str, Any]


def requirements(given: Qualifications, find: Callable[[Request], str]) -> list[Request]:
    """The QualificationRequirements of a hit type; ``find`` gives the id of the type that a request would create."""
    rules: list[Request] = []
    if given.approval_rate:
        rules.append(_rule(PERCENT_APPROVED, "GreaterThanOrEqualTo", IntegerValues=[given.approval_rate]))
    if given.countries:
        rules.append(_rule(LOCALE, "In", LocaleValues=[{"Country": country} for country in given.countries]))
    rules += [_rule(find(language_type(language)), "Exists") for language in given.languages]
    if given.test:
        passed = [given.test.pass_mark]
        rules.append(_rule(find(quiz_type(given.test)), "GreaterThanOrEqualTo", IntegerValues=passed))
    return rules


def _rule(kind: str, comparator: str, **values: list[Any]) -> Request:
    return {"QualificationTypeId": kind, "Comparator": comparator, **values, "ActionsGuarded": "Accept"}


def language_type(language: str) -> Request:
    """The request that creates the qualification of reading a language.

    >>> language_type("de")["Name"]
    'Reads German well (de)'
    """
    name = language_name(language)
    return {
        "Name": f"Reads {name} well ({language})",
        "Description": f"For people who read {name} well. Ask for it only if you do; you have it at once.",
        "QualificationTypeStatus": "Active",
        "AutoGranted": True,
        "AutoGrantedValue": 1,
    }


def quiz_type(test: Quiz) -> Request:
    return {
        "Name": test.name,
        "Description": test.description,
        "QualificationTypeStatus": "Active",
        "RetryDelayInSeconds": 0,
        "Test": quiz_form(test),
        "AnswerKey": answer_key(test),
        "TestDurationInSeconds": test.minutes * 60,
    }


def _tag(name: str, *inside: str) -> str:
    return f"<{name}>{''.join(inside)}</{name}>"


def quiz_form(test: Quiz) -> str:
    parts = [_tag("Overview", _tag("Title", escape(test.name)), _tag("Text", escape(test.description)))]
    for n, question in enumerate(test.questions, start=1):
        choices = (
            _tag("Selection", _tag("SelectionIdentifier", f"c{place}"), _tag("Text", escape(text)))
            for place, text in enumerate(question.choices, start=1)
        )
        style = _tag("StyleSuggestion", "radiobutton")
        answer = _tag("SelectionAnswer", style, _tag("Selections", *choices))
        parts.append(
            _tag(
                "Question",
                _tag("QuestionIdentifier", f"q{n}"),
                _tag("DisplayName", str(n)),
                _tag("IsRequired", "true"),
                _tag("QuestionContent", _tag("Text", escape(question.text))),
                _tag("AnswerSpecification", answer),
            )
        )
    return f'<QuestionForm xmlns="{FORM_SCHEMA}">{"".join(parts)}</QuestionForm>'


def answer_key(test: Quiz) -> str:
    """The AnswerKey of a test: a point for each right answer, in percent."""
    parts = []
    for n, question in enumerate(test.questions, start=1):
        right = _tag("SelectionIdentifier", f"c{question.choices.index(question.answer) + 1}")
        option = _tag("AnswerOption", right, _tag("AnswerScore", "1"))
        parts.append(_tag("Question", _tag("QuestionIdentifier", f"q{n}"), option))
    most = _tag("MaximumSummedScore", str(len(test.questions)))
    parts.append(_tag("QualificationValueMapping", _tag("PercentageMapping", most)))
    return f'<AnswerKey xmlns="{KEY_SCHEMA}">{"".join(parts)}</AnswerKey>'


def is_type(wanted: Mapping[str, Any], kind: Mapping[str, Any]) -> bool:
    """Whether a type of a market is the one that a request would create; one of its name with another test is refused.

    Workers who passed one test have not passed the other, and markets keep one type of a name.
    """
    if kind.get("Name") != wanted["Name"]:
        return False
    if any(kind.get(part) != wanted.get(part) for part in ("Test", "AnswerKey")):
        name = wanted["Name"]
        raise RyptError(
            f"the market has a qualification {name!r} with another test; name the batch's otherwise"
        )
    return True


def language_of(name: str) -> str | None:
    """The language whose qualification has this name.

    >>> language_of(language_type("pt-BR")["Name"]), language_of("Reads tea leaves")
    ('pt-BR', None)
    """
    match = LANGUAGE_TYPE.fullmatch(name)
    return match[1] if match else None
