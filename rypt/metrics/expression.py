"""Metrics as people write them: ``name``, ``name(option=value,…)``, or a weighted sum of such terms.

``rypt tune --metric`` and ``rypt compare --metrics`` read the same language:

    bleu                          one metric
    chrf++(beta=1)                with options
    rypt:table, rypt:ignore       short for rypt(model=table) and rypt(unknown=ignore)
    0.7*bleu + 0.3*rypt           a weighted sum
    0.8*bleu - 0.2*wer:Metric     with your own metric, package.module:Class or package.module:function
    scores(comet.jsonl)           scores from a file; the name of an option that every term has may be left out

`PICK_TERMS` stand for no metric: they make sense only where candidates are picked (`rypt.picks`).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rypt.options import MODELS, UNKNOWN_AS
from rypt.text import RyptError

PICK_TERMS = ("model", "system", "human")
UNNAMED = {
    "scores": "file",
    "column": "name",
    "command": "run",
    "system": "of",
}  # of a term, the option without a name


@dataclass(frozen=True, slots=True)
class Term:
    """One summand: a weight, the name of a metric, and its options as they are written."""

    weight: float
    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The term without its weight, in its shortest form; equal labels mean equal scores.

        >>> [parse_spec(text)[0].label for text in ("2*rypt(model=table)", "rypt(ties=no, unknown=no)", "bleu()")]
        ['rypt:table', 'rypt(ties=no,unknown=no)', 'bleu']
        """
        if self.name == "rypt" and len(self.options) == 1:
            ((option, value),) = self.options.items()
            if (option, value) == _short_option(value):
                return f"rypt:{value}"
        unnamed = UNNAMED.get(self.name, "")
        named = [f"{name}={value}" for name, value in sorted(self.options.items()) if name != unnamed]
        options = ",".join([self.options[unnamed], *named] if unnamed in self.options else named)
        return f"{self.name}({options})" if options else self.name


class _Scanner:
    """A parser of metric specs, from left to right."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self.place = 0

    def take(self, pattern: str) -> re.Match[str] | None:
        """Match a pattern at the present place and move behind it; spaces around it are passed over."""
        match = re.compile(rf"\s*{pattern}\s*", re.IGNORECASE).match(self.spec, self.place)
        if match:
            self.place = match.end()
        return match

    def expect(self, pattern: str, expected: str) -> re.Match[str]:
        """Match a pattern at the present place, or raise an error that says where and what was expected."""
        match = self.take(pattern)
        if match:
            return match
        rest = self.spec[self.place :]
        raise self.error(
            f"expected {expected} at character {self.place + 1}, found {repr(rest[:20]) if rest else 'the end'}"
        )

    def error(self, message: str) -> RyptError:
        """An error that names the spec."""
        return RyptError(f"the metric {self.spec!r}: {message}")


def split_specs(text: str) -> list[str]:
    """Split a list of specs at its commas; those inside parentheses separate options and stay.

    >>> split_specs("rypt:table, bleu(tokenize=none,lowercase=true)")
    ['rypt:table', ' bleu(tokenize=none,lowercase=true)']
    """
    specs, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth <= 0:
            specs.append("")
        else:
            specs[-1] += character
    return specs


def parse_spec(spec: str) -> list[Term]:
    """Parse a weighted sum of metrics.

    >>> for term in parse_spec("0.7*chrf++(beta=1) - 0.3*ter + rypt:ignore"):
    ...     print(term.weight, term.name, term.options)
    0.7 chrf++ {'beta': '1'}
    -0.3 ter {}
    1.0 rypt {'unknown': 'ignore'}
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
    if not math.isfinite(weight):
        raise scanner.error(f"expected a finite weight, found {weight:g}")
    name = scanner.expect(r"([^\W\d][\w.]*(?::[^\W\d][\w.]*|\+\+)?)", "a metric such as bleu or 0.5*bleu")[1]
    options: dict[str, str] = {}
    if name.startswith("rypt:"):
        option, value = _short_option(name.removeprefix("rypt:"))
        if not option:
            known = ", rypt:".join((*MODELS, *UNKNOWN_AS))
            raise scanner.error(f"expected rypt:{known}, found {name!r}")
        name, options[option] = "rypt", value
    _add_options(scanner, options, UNNAMED.get(name))
    return Term(-weight if sign and sign[1] == "-" else weight, name, options)


def _add_options(scanner: _Scanner, options: dict[str, str], unnamed: str | None) -> None:
    """Read options in parentheses, where the term has any; the first may be the value of ``unnamed`` alone."""
    if not scanner.take(r"\("):
        return
    first = True
    while not scanner.take(r"\)"):
        if not first:
            scanner.expect(",", "a comma or )")
        if first and unnamed and (value := scanner.take(r"([^,()=]+?)(?=\s*[,)])")):
            options[unnamed] = value[1]
            first = False
            continue
        first = False
        option = scanner.expect(r"(\w+)\s*=\s*([^,()]*?)(?=\s*[,)])", "option=value, then a comma or ),")
        if option[1] in options:
            raise scanner.error(f"the option {option[1]} is given twice")
        options[option[1]] = option[2]


def _short_option(value: str) -> tuple[str, str]:
    """The option of RYPT that a value behind ``rypt:`` is of; an empty name for a value that none has."""
    return ("model" if value in MODELS else "unknown" if value in UNKNOWN_AS else ""), value
