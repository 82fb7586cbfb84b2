"""Requirements on workers: the section ``[qualifications]`` of ``batch.toml``, with an optional test.

::

    [qualifications]
    languages = ["de", "en"]        # workers say that they read these
    countries = ["DE", "AT", "CH"]  # where they live
    approval_rate = 90              # percent of their reviewed work that was approved, at least

    [qualifications.test]           # two tries
    name = "Read closely"
    description = "Two short questions."
    minutes = 10
    pass_mark = 80                  # percent of the questions

    [[qualifications.test.questions]]
    text = "Does 'the red house' say what 'das rote Haus' says?"
    choices = ["Yes", "No"]
    answer = "Yes"

Every part may be left out. `hits.market.qualification_types` turns it into a market's qualification types.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rypt.text import FormatError

MAX_CHOICES = 20
MAX_QUESTIONS = 100
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
COUNTRY = re.compile(r"[A-Z]{2}")
LOCALE = "00000000000000000071"  # the id of the qualification that every market keeps of where workers live
PERCENT_APPROVED = "000000000000000000L0"  # … and of how much of their work was approved


@dataclass(frozen=True, slots=True)
class TestQuestion:
    """A question of a test with its choices, one of which is right."""

    __test__ = False  # no test of ours, whatever a test runner thinks of the name

    text: str
    choices: tuple[str, ...]
    answer: str

    def __post_init__(self) -> None:
        if not self.text.strip() or not all(choice.strip() for choice in self.choices):
            raise FormatError("expected a text and choices in each question of the test")
        if not 2 <= len(set(self.choices)) == len(self.choices) <= MAX_CHOICES:
            raise FormatError(f"expected 2 to {MAX_CHOICES} different choices in the question {self.text!r}")
        if self.answer not in self.choices:
            raise FormatError(
                f"expected the answer to {self.text!r} among its choices, found {self.answer!r}"
            )


@dataclass(frozen=True, slots=True)
class QualificationTest:
    """A test before the work; ``pass_mark`` is a percentage of its questions."""

    name: str
    questions: tuple[TestQuestion, ...]
    description: str = "A short test before the work."
    minutes: int = 10
    pass_mark: int = 80

    def __post_init__(self) -> None:
        if not 0 < len(self.name.strip()) <= 150 or not 0 < len(self.description.strip()) <= 2000:
            raise FormatError(
                "expected a test with a name of up to 150 and a description of up to 2,000 characters"
            )
        if not 1 <= len(self.questions) <= MAX_QUESTIONS:
            raise FormatError(
                f"expected 1 to {MAX_QUESTIONS} questions in the test, found {len(self.questions)}"
            )
        if not 1 <= self.minutes <= 24 * 60:
            raise FormatError(f"expected minutes between 1 and 1440 for the test, found {self.minutes}")
        if not 1 <= self.pass_mark <= 100:
            raise FormatError(f"expected a pass_mark between 1 and 100 percent, found {self.pass_mark}")


@dataclass(frozen=True, slots=True)
class Qualifications:
    """What is asked of workers; by default nothing."""

    languages: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    approval_rate: int = 0
    test: QualificationTest | None = None

    def __post_init__(self) -> None:
        for language in self.languages:
            if not LANGUAGE.fullmatch(language):
                raise FormatError(f"expected languages such as de or pt-BR, found {language!r}")
        for country in self.countries:
            if not COUNTRY.fullmatch(country):
                raise FormatError(
                    f"expected countries as two capitals such as DE (ISO 3166), found {country!r}"
                )
        if not 0 <= self.approval_rate <= 100:
            raise FormatError(
                f"expected an approval_rate between 0 and 100 percent, found {self.approval_rate}"
            )
        if len(self.countries) > 30 or len(self.languages) > 7:  # requirements of a market: ten, of 30 places
            raise FormatError("expected at most 30 countries and 7 languages")


def read_qualifications(values: Mapping[str, Any]) -> Qualifications:
    """Read the section; a mistake is a `FormatError` that names it.

    >>> read_qualifications({"languages": ["de"], "approval_rate": 90})
    Qualifications(languages=('de',), countries=(), approval_rate=90, test=None)
    """
    kinds = {"languages": list, "countries": list, "approval_rate": int, "test": dict}
    settings = _checked(values, kinds, "[qualifications]")
    for name in ("languages", "countries"):
        if name in settings:
            settings[name] = _texts(settings[name], f"{name} in [qualifications]")
    if "test" in settings:
        settings["test"] = _read_test(settings["test"])
    return Qualifications(**settings)


def _read_test(values: Mapping[str, Any]) -> QualificationTest:
    where = "[qualifications.test]"
    kinds = {"name": str, "questions": list, "description": str, "minutes": int, "pass_mark": int}
    settings = _checked(values, kinds, where, ("name", "questions"))
    questions = []
    for value in settings["questions"]:
        asked = _checked(
            value, {"text": str, "choices": list, "answer": str}, where, ("text", "choices", "answer")
        )
        questions.append(TestQuestion(asked["text"], _texts(asked["choices"], "choices"), asked["answer"]))
    return QualificationTest(**{**settings, "questions": tuple(questions)})


def _checked(
    values: Any, kinds: Mapping[str, type], where: str, needed: tuple[str, ...] = ()
) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise FormatError(f"expected a section {where}, found {values!r}")
    if unknown := sorted(values.keys() - kinds.keys()):
        raise FormatError(f"unknown setting {unknown[0]} in {where}; expected {', '.join(kinds)}")
    if missing := [name for name in needed if name not in values]:
        raise FormatError(f"expected the setting {missing[0]} in {where}")
    for name, value in values.items():
        if type(value) is not kinds[name]:
            expected = {list: "a list", int: "a whole number", dict: "a section", str: "a text"}[kinds[name]]
            raise FormatError(f"expected {name} in {where} as {expected}, found {value!r}")
    return dict(values)


def _texts(values: list[Any], where: str) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise FormatError(f"expected {where} as a list of texts, found {values!r}")
    return tuple(values)


def qualifications_table(given: Qualifications) -> dict[str, Any]:
    """The section as `read_qualifications` reads it; empty where nothing is asked."""
    if given == Qualifications():
        return {}
    table: dict[str, Any] = {
        "languages": list(given.languages),
        "countries": list(given.countries),
        "approval_rate": given.approval_rate,
    }
    if test := given.test:
        table["test"] = {
            name: getattr(test, name) for name in ("name", "description", "minutes", "pass_mark")
        }
        table["test"]["questions"] = [
            {"text": question.text, "choices": list(question.choices), "answer": question.answer}
            for question in test.questions
        ]
    return table
