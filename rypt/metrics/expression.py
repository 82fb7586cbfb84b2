"""Metric expressions: ``name``, ``name(option=value,…)``, or a weighted sum of such terms.

``rypt tune --metric`` and ``rypt compare picks --metrics`` read the same language:

    bleu                          one metric
    chrf++(beta=1)                with options
    rypt:table, rypt:ignore       short for rypt(model=table) and rypt(unknown=ignore)
    0.7*bleu + 0.3*rypt           a weighted sum
    0.8*bleu - 0.2*wer:Metric     with your own metric, package.module:Class or package.module:function
    scores(comet.jsonl)           scores from a file; the first option of such a term needs no name

`PICK_TERMS` are not metrics: they make sense only where candidates are picked (`rypt.picks`).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rypt.options import MODELS, UNKNOWN_AS
from rypt.text import RyptError

PICK_TERMS = ("model", "system", "human")
UNNAMED = {"scores": "file", "column": "name", "system": "of"}  # the option that needs no name, by metric
TERM = re.compile(
    r"""\s* (?P<sign>[+-])? \s*
    (?:(?P<weight>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)\s*\*)? \s*
    (?P<name>[^\W\d][\w.]*(?::[^\W\d][\w.]*|\+\+)?) \s*
    (?:\((?P<options>[^()]*)\))? \s*""",
    re.IGNORECASE | re.VERBOSE,
)


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
            if option == _short_option(value):
                return f"rypt:{value}"
        unnamed = UNNAMED.get(self.name, "")
        values = [self.options[unnamed]] if unnamed in self.options else []
        values += [f"{name}={value}" for name, value in sorted(self.options.items()) if name != unnamed]
        return f"{self.name}({','.join(values)})" if values else self.name


def parse_spec(spec: str) -> list[Term]:
    """Parse a weighted sum of metrics.

    >>> for term in parse_spec("0.7*chrf++(beta=1) - 0.3*ter + rypt:ignore"):
    ...     print(term.weight, term.name, term.options)
    0.7 chrf++ {'beta': '1'}
    -0.3 ter {}
    1.0 rypt {'unknown': 'ignore'}
    """
    terms: list[Term] = []
    place = 0
    while place < len(spec) or not terms:
        match = TERM.match(spec, place)
        if match is None or (terms and not match["sign"]):
            expected = "+, - or the end" if terms else "a metric such as bleu or 0.5*bleu"
            rest = repr(spec[place : place + 20]) if spec[place:] else "the end"
            raise _error(spec, f"expected {expected} at character {place + 1}, found {rest}")
        terms.append(_term(spec, match))
        place = match.end()
    return terms


def split_specs(text: str) -> list[str]:
    """Split a list of specs at its commas, except those inside parentheses, which separate options.

    >>> split_specs("rypt:table, bleu(tokenize=none,lowercase=true)")
    ['rypt:table', ' bleu(tokenize=none,lowercase=true)']
    """
    return re.split(r",(?![^()]*\))", text)


def _term(spec: str, match: re.Match[str]) -> Term:
    weight = float(f"{match['sign'] or ''}{match['weight'] or 1}")
    if not math.isfinite(weight):
        raise _error(spec, f"expected a finite weight, found {weight:g}")
    name, options = match["name"], {}
    if name.startswith("rypt:"):
        value = name.removeprefix("rypt:")
        option = _short_option(value)
        if not option:
            raise _error(spec, f"expected rypt:{', rypt:'.join((*MODELS, *UNKNOWN_AS))}, found {name!r}")
        name, options[option] = "rypt", value
    for place, text in enumerate((match["options"] or "").split(",")):
        option, equals, value = (part.strip() for part in text.partition("="))
        if not equals and place == 0:
            if not option:
                continue
            option, value = UNNAMED.get(name, ""), option
        if not re.fullmatch(r"\w+", option):
            raise _error(spec, f"expected option=value between commas, found {text!r}")
        if option in options:
            raise _error(spec, f"the option {option} is given twice")
        options[option] = value
    return Term(weight, name, options)


def _short_option(value: str) -> str:
    """The option of RYPT that has this value after ``rypt:``, or an empty text."""
    return "model" if value in MODELS else "unknown" if value in UNKNOWN_AS else ""


def _error(spec: str, message: str) -> RyptError:
    return RyptError(f"the metric {spec!r}: {message}")
