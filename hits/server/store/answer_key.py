"""Scoring a qualification test with its AnswerKey, as Mechanical Turk documents it.

Each question adds the score of the option whose selections are exactly the worker's, or its default score. The sum
becomes the qualification's value: as a percentage of a maximum, times a factor, by ranges, or as it is.
"""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from xml.etree.ElementTree import Element

from hits.batch.question_xml import XmlError, child_text, local_name, parse_xml

MAPPINGS = ("PercentageMapping", "ScaleMapping", "RangeMapping")


def read_answer_key(text: str) -> Element:
    """An AnswerKey, checked so far that `score_test` can use it."""
    root = parse_xml(text)
    if local_name(root) != "AnswerKey":
        raise XmlError(f"expected an AnswerKey, found <{local_name(root)}>")
    if not root.findall("{*}Question"):
        raise XmlError("expected an AnswerKey with questions, found none")
    _score(root, {})
    return root


def score_test(answer_key: str, answers: Mapping[str, str]) -> int:
    """The qualification's value for a worker's answers (question → selections joined with ``|``).

    >>> key = '''<AnswerKey><Question><QuestionIdentifier>q1</QuestionIdentifier><AnswerOption>
    ... <SelectionIdentifier>a</SelectionIdentifier><AnswerScore>1</AnswerScore></AnswerOption></Question>
    ... <QualificationValueMapping><PercentageMapping><MaximumSummedScore>3</MaximumSummedScore></PercentageMapping>
    ... </QualificationValueMapping></AnswerKey>'''
    >>> score_test(key, {"q1": "a"}), score_test(key, {"q1": "b"})
    (33, 0)
    """
    return _score(read_answer_key(answer_key), answers)


def _score(root: Element, answers: Mapping[str, str]) -> int:
    total = sum((_question_score(question, answers) for question in root.findall("{*}Question")), Decimal(0))
    mapping = root.find("{*}QualificationValueMapping")
    return _rounded(total if mapping is None else _mapped(mapping, total))


def _question_score(question: Element, answers: Mapping[str, str]) -> Decimal:
    chosen = set(filter(None, answers.get(child_text(question, "QuestionIdentifier"), "").split("|")))
    score = Decimal(0) if question.find("{*}DefaultScore") is None else _number(question, "DefaultScore")
    for option in question.findall("{*}AnswerOption"):
        wanted = {(selection.text or "").strip() for selection in option.findall("{*}SelectionIdentifier")}
        option_score = _number(option, "AnswerScore")
        if wanted == chosen:
            score = option_score
    return score


def _mapped(mapping: Element, total: Decimal) -> Decimal:
    kind = mapping[0] if len(mapping) == 1 else None
    if kind is None or local_name(kind) not in MAPPINGS:
        raise XmlError(f"expected a QualificationValueMapping with one of {', '.join(MAPPINGS)}")
    if local_name(kind) == "PercentageMapping":
        maximum = _number(kind, "MaximumSummedScore")
        if maximum <= 0:
            raise XmlError(f"expected a MaximumSummedScore above 0, found {maximum}")
        return 100 * total / maximum
    if local_name(kind) == "ScaleMapping":
        return total * _number(kind, "SummedScoreMultiplier")
    value = _number(kind, "OutOfRangeQualificationValue")
    for part in kind.findall("{*}SummedScoreRange"):
        lower, upper = _number(part, "InclusiveLowerBound"), _number(part, "InclusiveUpperBound")
        inside = _number(part, "QualificationValue")
        if lower <= total <= upper:
            value = inside
    return value


def _number(parent: Element, name: str) -> Decimal:
    text = child_text(parent, name)
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise XmlError(f"expected a number in {name}, found {text!r}") from None
    if not number.is_finite() or abs(number) > 1_000_000_000:
        raise XmlError(f"expected a number below a billion in {name}, found {text!r}")
    return number


def _rounded(number: Decimal) -> int:
    return int(number.quantize(Decimal(1), ROUND_HALF_UP))
