"""The names of choices, and options that are given by name, for libraries and commands alike."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import NoReturn, TypeVar

from rypt.text import RyptError

Default = TypeVar("Default")
FLAGS = {"true": True, "yes": True, "false": False, "no": False}

MODELS = ("percolation", "table", "severity")
UNKNOWN_AS = ("half", "ignore", "no")
MODEL_WORDS = {
    "percolation": "people's labels, YES and NO, spread through the source tree (percolation)",
    "table": "people's labels; the rest by how often such constituents were YES (model table)",
    "severity": "people's labels, an error counting by how severe it is; the rest an average penalty (model severity)",
}
UNKNOWN_WORDS = {"half": "counting one half", "ignore": "left out", "no": "counting as NO"}
TIES = ("unknown", "no", "yes")
HOLD_OUT = ("worker", "origin")
SELECTIONS = ("frontier", "value", "all")
QUERY_FORMS = ("jsonl", "csv")
PICKS = ("first", "best")
TOKENS = ("auto", "make", "keep")  # whether texts are cut into tokens
CASES = ("lower", "keep")
MOST_DOLLARS = 10**9
BIASED = ("candidate", "judgment", "key", "label")


def check_option(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a choice that does not exist.

    >>> check_option("ties", "coin", TIES)
    Traceback (most recent call last):
        ...
    rypt.text.RyptError: expected ties as one of unknown, no, yes, found 'coin'
    """
    if value not in allowed:
        raise RyptError(f"expected {name} as one of {', '.join(allowed)}, found {value!r}")


def scoring_words(model: str, unknown: str) -> str:
    """How labels become scores, in a line for readers who do not know the names of models.

    >>> scoring_words("percolation", "no")
    "people's labels, YES and NO, spread through the source tree (percolation), a constituent without a label counting \
as NO"
    """
    if model != "percolation":
        return MODEL_WORDS[model]
    if unknown == "half":
        words = "people's labels as the paper scores them: YES and NO, spread through the source tree"
    else:
        words = MODEL_WORDS[model]
    return f"{words}, a constituent without a label {UNKNOWN_WORDS[unknown]}"


def check_held_out(way: str, allowed: tuple[str, ...]) -> None:
    """Refuse ways to hold out judgments that do not exist, and those that are biased.

    >>> check_held_out("candidate", ("system", "rater"))
    Traceback (most recent call last):
        ...
    rypt.text.RyptError: holding out a single candidate is biased (a candidate that loses its own NO looks better than \
it is, and only bad ones do): hold out a system or rater with all its judgments
    """
    if way in BIASED:
        raise RyptError(
            f"holding out a single {way} is biased (a candidate that loses its own NO looks better than it is, and "
            f"only bad ones do): hold out a {' or '.join(allowed)} with all its judgments"
        )
    if way not in allowed:
        raise RyptError(f"expected to hold out a {' or '.join(allowed)}, found {way!r}")


def money(text: str) -> Decimal | None:
    """An amount of dollars from 0 to a billion, None for anything else.

    >>> money("25.00"), money("-1"), money("much")
    (Decimal('25.00'), None, None)
    """
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount <= MOST_DOLLARS else None


class Options:
    """The options of a metric or a model, read strictly: each is read by name, `done` refuses those that were not.

    >>> options = Options("bleu", {"tokenize": "13a", "lowercase": "yes", "smoth": "exp"})
    >>> options.choice("tokenize", "none", ("none", "13a")), options.flag("lowercase", False)
    ('13a', True)
    >>> options.done()
    Traceback (most recent call last):
        ...
    rypt.text.RyptError: the metric bleu has no option 'smoth', expected one of tokenize, lowercase
    """

    def __init__(self, name: str, given: Mapping[str, str], *, kind: str = "metric") -> None:
        self.name = name
        self.kind = kind
        self.given = given
        self.known: list[str] = []

    def text(self, name: str, default: Default) -> str | Default:
        self.known.append(name)
        return self.given.get(name, default)

    def choice(self, name: str, default: Default, choices: Sequence[str]) -> str | Default:
        value = self.text(name, default)
        if name in self.given and value not in choices:
            self._refuse(name, f"one of {', '.join(choices)}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self.text(name, None)
        if value is None:
            return default
        return FLAGS[value.lower()] if value.lower() in FLAGS else self._refuse(name, "true or false")

    def whole(self, name: str, default: int, least: int = 0, most: int = 10**9 - 1) -> int:
        """A whole number from ``least`` to ``most``."""
        expected = f"a whole number{_bounds(least, most if most < 10**9 - 1 else math.inf)}"
        if name in self.given and not re.fullmatch("[0-9]{1,9}", self.given[name]):
            self._refuse(name, expected)
        return int(self._number(name, default, expected, lambda number: least <= number <= most))

    def number(
        self, name: str, default: Default, least: float = -math.inf, most: float = math.inf
    ) -> float | Default:
        """A finite number from ``least`` to ``most``."""
        expected = f"a number{_bounds(least, most)}"
        return self._number(name, default, expected, lambda number: least <= number <= most)

    def positive(self, name: str, default: float) -> float:
        """A finite number above 0."""
        return self._number(name, default, "a number above 0", lambda number: number > 0)

    def done(self) -> None:
        """Refuse options that were not asked for."""
        for name in self.given:
            if name not in self.known:
                known = f"expected one of {', '.join(self.known)}" if self.known else "it has none"
                raise RyptError(f"the {self.kind} {self.name} has no option {name!r}, {known}")

    def _number(
        self, name: str, default: Default, expected: str, fits: Callable[[float], bool]
    ) -> float | Default:
        value = self.text(name, None)
        if value is None:
            return default
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        return number if math.isfinite(number) and fits(number) else self._refuse(name, expected)

    def _refuse(self, name: str, expected: str) -> NoReturn:
        raise RyptError(
            f"the {self.kind} {self.name}: expected {name} as {expected}, found {self.given[name]!r}"
        )


def _bounds(least: float, most: float) -> str:
    if math.isinf(most):
        return "" if math.isinf(least) else f" of at least {least:g}"
    return f" of at most {most:g}" if math.isinf(least) else f" from {least:g} to {most:g}"
