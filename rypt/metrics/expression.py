"""Metrics as people write them: ``name``, ``name(option=value,…)``, or a weighted sum of such terms."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from rypt.text import RyptError


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of a spec."""

    weight: float
    name: str
    options: Mapping[str, str]


class _Scanner:
    """Takes a spec apart from left to right."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self.place = 0

    def take(self, pattern: str) -> re.Match[str] | None:
        """What stands here, if it has this form; spaces around it are passed."""
        match = re.compile(rf"\s*{pattern}\s*", re.IGNORECASE).match(self.spec, self.place)
        if match:
            self.place = match.end()
        return match

    def expect(self, pattern: str, expected: str) -> re.Match[str]:
        """What stands here, or an error that says where and what was expected."""
        match = self.take(pattern)
        if match:
            return match
        rest = self.spec[self.place :]
        found = f"{rest[:20]!r}" if rest else "the end"
        raise RyptError(f"the metric {self.spec!r}: expected {expected} at character {self.place + 1}, found {found}")


def parse_spec(spec: str) -> list[Term]:
    """Take a weighted sum of metrics apart.

    >>> for term in parse_spec("0.7*chrf++(beta=1) - 0.3*ter"):
    ...     print(term.weight, term.name, term.options)
    0.7 chrf++ {'beta': '1'}
    -0.3 ter {}
    """
    scanner = _Scanner(spec)
    sign = scanner.take("([+-])")
    terms = [_term(scanner, sign)]
    while not scanner.take("$"):
        terms.append(_term(scanner, scanner.expect("([+-])", "+, - or the end")))
    return terms


def _term(scanner: _Scanner, sign: re.Match[str] | None) -> Term:
    number = scanner.take(r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)\s*\*")
    weight = float(number[1]) if number else 1.0
    if weight == 0 or not math.isfinite(weight):
        raise RyptError(f"the metric {scanner.spec!r}: expected weights other than 0 and finite, found {weight:g}")
    name = scanner.expect(r"([^\W\d][\w.]*(?::[^\W\d][\w.]*|\+\+)?)", "a metric such as bleu or 0.5*bleu")[1]
    options: dict[str, str] = {}
    if scanner.take(r"\("):
        while not scanner.take(r"\)"):
            if options:
                scanner.expect(",", "a comma or )")
            option = scanner.expect(r"(\w+)\s*=\s*([^,()]*?)(?=\s*[,)])", "option=value, then a comma or ),")
            if option[1] in options:
                raise RyptError(f"the metric {scanner.spec!r}: the option {option[1]} is there twice")
            options[option[1]] = option[2]
    return Term(-weight if sign and sign[1] == "-" else weight, name, options)
