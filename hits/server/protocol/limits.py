"""Limits that Mechanical Turk's documents state and its service description does not: sizes, times, combinations."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from hits.batch.question_xml import XmlError, parse_question
from hits.qualifications import LOCALE
from hits.server.questions.question import check_shown
from hits.server.store.answer_key import read_answer_key
from hits.server.store.records import Locale, RefusedError, Requirement, invalid

DAY = 86400
CHARACTERS = {
    "Title": 128,
    "Description": 2000,
    "Keywords": 1000,
    "Name": 200,
    "Subject": 200,
    "MessageText": 4096,
    "RequesterFeedback": 1024,
    "Reason": 2048,
    "RequesterAnnotation": 4096,
    "QualificationRequestId": 64,
}
NOT_EMPTY = ("Title", "Description", "Name", "Subject", "MessageText", "Reason")
NUMBERS = {
    "AutoApprovalDelayInSeconds": (0, 30 * DAY),
    "AssignmentDurationInSeconds": (30, 365 * DAY),
    "LifetimeInSeconds": (30, 365 * DAY),
    "MaxAssignments": (1, 1_000_000_000),
    "NumberOfAdditionalAssignments": (1, 1_000_000_000),
    "RetryDelayInSeconds": (0, 365 * DAY),
    "TestDurationInSeconds": (1, 365 * DAY),
}
MOST = {"QualificationRequirements": 10, "WorkerIds": 100}
LARGEST_PAYMENT = Decimal(1_000_000)
XML_BYTES = 65_535
VALUELESS = ("Exists", "DoesNotExist")
SETS = ("In", "NotIn")
FOR_LOCALES = ("EqualTo", "NotEqualTo", *SETS, *VALUELESS)


def check_limits(request: Mapping[str, Any]) -> None:
    """Check the members of a request that have documented limits, whatever the operation."""
    for name, value in request.items():
        if name in CHARACTERS and len(value) > CHARACTERS[name]:
            raise invalid(name, f"expected at most {CHARACTERS[name]:,} characters, found {len(value):,}")
        if name in NOT_EMPTY and not value.strip():
            raise invalid(name, "expected text, found nothing")
        if name in NUMBERS and not NUMBERS[name][0] <= value <= NUMBERS[name][1]:
            low, high = NUMBERS[name]
            raise invalid(name, f"expected a number from {low:,} to {high:,}, found {value:,}")
        if name in MOST and len(value) > MOST[name]:
            raise invalid(name, f"expected at most {MOST[name]}, found {len(value)}")
        if name in ("Reward", "BonusAmount") and Decimal(value) > LARGEST_PAYMENT:
            raise invalid(name, f"expected at most {LARGEST_PAYMENT:,} dollars")


def check_question(text: str) -> None:
    """Refuse a question that is too long, is none of the three kinds, or cannot be shown to workers."""
    size = len(text.encode("utf-8"))
    if size > XML_BYTES:
        raise invalid("Question", f"expected at most {XML_BYTES:,} bytes, found {size:,}")
    try:
        check_shown(text)
    except XmlError as error:
        raise RefusedError("XMLParseError", f"There was an error parsing the Question: {error}") from None


def check_test(test: str | None, answer_key: str | None, duration: int | None, auto_granted: bool) -> None:
    """Refuse a qualification test that is no form, an answer key without a test, a test that is granted unread."""
    if test is None:
        if answer_key is not None:
            raise invalid("AnswerKey", "expected a Test beside the AnswerKey")
        if duration is not None:
            raise invalid("TestDurationInSeconds", "expected a Test beside its duration")
        return
    if duration is None:
        raise invalid("TestDurationInSeconds", "expected a duration beside the Test")
    if auto_granted:
        raise invalid("AutoGranted", "a qualification with a Test cannot be granted without it")
    try:
        if parse_question(test).kind != "QuestionForm":
            raise XmlError("expected a QuestionForm")
        check_shown(test)
        if answer_key is not None:
            if len(answer_key.encode("utf-8")) > XML_BYTES:
                raise XmlError(f"expected an AnswerKey of at most {XML_BYTES:,} bytes")
            read_answer_key(answer_key)
    except XmlError as error:
        raise RefusedError(
            "XMLParseError", f"There was an error parsing the Test or its AnswerKey: {error}"
        ) from None


def read_requirement(value: Mapping[str, Any], path: str) -> Requirement:
    """A qualification requirement whose values fit its comparator and its kind."""
    kind, comparator = value["QualificationTypeId"], value["Comparator"]
    integers = tuple(value.get("IntegerValues", ()))
    locales = tuple(
        Locale(place["Country"], place.get("Subdivision")) for place in value.get("LocaleValues", ())
    )
    given, limit = (locales, 30) if kind == LOCALE else (integers, 15)
    other = integers if kind == LOCALE else locales
    if other:
        wanted = "LocaleValues" if kind == LOCALE else "IntegerValues"
        raise invalid(path, f"expected {wanted} for the qualification {kind}")
    if kind == LOCALE and comparator not in FOR_LOCALES:
        raise invalid(
            path, f"expected a locale compared with one of {', '.join(FOR_LOCALES)}, found {comparator}"
        )
    least, most = (0, 0) if comparator in VALUELESS else (1, limit) if comparator in SETS else (1, 1)
    if not least <= len(given) <= most:
        count = str(least) if least == most else f"{least} to {most}"
        raise invalid(path, f"expected {count} values for {comparator}, found {len(given)}")
    guarded = value.get("ActionsGuarded")
    if guarded is None:
        guarded = "PreviewAndAccept" if value.get("RequiredToPreview") else "Accept"
    elif value.get("RequiredToPreview") is not None:
        raise invalid(path, "expected ActionsGuarded or RequiredToPreview, found both")
    return Requirement(kind, comparator, integers, locales, guarded)
