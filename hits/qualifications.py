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
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, TypeVar, get_origin

from rypt.text import FormatError

MAX_CHOICES = 20
MAX_QUESTIONS = 100
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
COUNTRY = re.compile(r"[A-Z]{2}")
LOCALE = "00000000000000000071"  # the id of the qualification that every market keeps of where workers live
PERCENT_APPROVED = "000000000000000000L0"  # … and of how much of their work was approved
NAMES = {list: "a list", int: "a whole number", dict: "a section", str: "a text"}

Record = TypeVar("Record")


def _expect(condition: bool, what: str, found: object) -> None:
    if not condition:
        raise FormatError(f"expected {what}, found {found!r}")


@dataclass(frozen=True, slots=True)
class QuizQuestion:
    """A question with its choices, one of which is right."""

    text: str
    choices: tuple[str, ...]
    answer: str

    def __post_init__(self) -> None:
        _expect(all(map(str.strip, (self.text, *self.choices))), "a text and choices in each question", self)
        different = 2 <= len(set(self.choices)) == len(self.choices) <= MAX_CHOICES
        _expect(
            different, f"2 to {MAX_CHOICES} different choices in the question {self.text!r}", self.choices
        )
        _expect(self.answer in self.choices, f"the answer to {self.text!r} among its choices", self.answer)


@dataclass(frozen=True, slots=True)
class Quiz:
    """A test before the work; ``pass_mark`` is a percentage of its questions."""

    name: str
    questions: tuple[QuizQuestion, ...]
    description: str = "A short test before the work."
    minutes: int = 10
    pass_mark: int = 80

    def __post_init__(self) -> None:
        _expect(0 < len(self.name.strip()) <= 150, "a test with a name of up to 150 characters", self.name)
        description = self.description
        _expect(0 < len(description.strip()) <= 2000, "a description of up to 2,000 characters", description)
        count = len(self.questions)
        _expect(1 <= count <= MAX_QUESTIONS, f"1 to {MAX_QUESTIONS} questions in the test", count)
        _expect(1 <= self.minutes <= 24 * 60, "minutes between 1 and 1440 for the test", self.minutes)
        _expect(1 <= self.pass_mark <= 100, "a pass_mark between 1 and 100 percent", self.pass_mark)


@dataclass(frozen=True, slots=True)
class Qualifications:
    """What is asked of workers; by default nothing."""

    languages: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    approval_rate: int = 0
    test: Quiz | None = None

    def __post_init__(self) -> None:
        for language in self.languages:
            _expect(bool(LANGUAGE.fullmatch(language)), "languages such as de or pt-BR", language)
        for country in self.countries:
            _expect(
                bool(COUNTRY.fullmatch(country)), "countries as two capitals such as DE (ISO 3166)", country
            )
        rate = self.approval_rate
        _expect(0 <= rate <= 100, "an approval_rate between 0 and 100 percent", rate)
        sizes = len(self.countries), len(self.languages)  # requirements of a market: ten, of 30 places
        _expect(sizes[0] <= 30 and sizes[1] <= 7, "at most 30 countries and 7 languages", sizes)


def read_qualifications(values: Mapping[str, Any]) -> Qualifications:
    """Read the section; a mistake is a `FormatError` that names it.

    >>> read_qualifications({"languages": ["de"], "approval_rate": 90})
    Qualifications(languages=('de',), countries=(), approval_rate=90, test=None)
    """
    return _read(Qualifications, values, "[qualifications]")


def _read(record: type[Record], values: object, where: str) -> Record:
    """A record whose fields have the names and the kinds of a section's settings."""
    if not isinstance(values, Mapping):
        raise FormatError(f"expected a section {where}, found {values!r}")
    known = {f.name: f for f in fields(record)}  # type: ignore[arg-type]
    if unknown := sorted(values.keys() - known.keys()):
        raise FormatError(f"unknown setting {unknown[0]} in {where}; expected {', '.join(known)}")
    if missing := [name for name, f in known.items() if f.default is MISSING and name not in values]:
        raise FormatError(f"expected the setting {missing[0]} in {where}")
    settings: dict[str, Any] = {}
    for name, value in values.items():
        expected = _kind(known[name].type)
        if type(value) is not expected:
            raise FormatError(f"expected {name} in {where} as {NAMES[expected]}, found {value!r}")
        if name == "test":
            settings[name] = _read(Quiz, value, "[qualifications.test]")
        elif name == "questions":
            settings[name] = tuple(_read(QuizQuestion, question, where) for question in value)
        elif expected is list:
            if not all(isinstance(text, str) for text in value):
                raise FormatError(f"expected {name} in {where} as a list of texts, found {value!r}")
            settings[name] = tuple(value)
        else:
            settings[name] = value
    return record(**settings)


def _kind(annotation: Any) -> type[Any]:
    """The kind of a TOML value for a field: tuples are lists there, and records are sections."""
    if annotation in (int, str):
        return int if annotation is int else str
    return list if get_origin(annotation) is tuple else dict


def qualifications_table(asked: Qualifications) -> dict[str, Any]:
    """The section as `read_qualifications` reads it; empty where nothing is asked."""
    if asked == Qualifications():
        return {}
    table = asdict(asked)
    if asked.test is None:
        del table["test"]
    return table
