"""What candidates of a segment are ranked by: a metric, or a weighted sum of several.

    rypt                         RYPT as the campaign scores it
    rypt:ignore                  percolation, with constituents without a label left out
    rypt:table+0.2*chrf          calibrated RYPT, with chrF as a prior where labels are silent
    rypt:tree+0.2*chrf+2*system  … and twice the mean of the rest over all candidates of the same system

All parts run from 0 to 1, but for ``model``, the decoder's own score, and ``system``, which is made of the others.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rypt.arrays import Floats
from rypt.options import MODELS, UNKNOWN_AS
from rypt.picks.sentence import SENTENCE_METRICS
from rypt.text import RyptError

_TERM = re.compile(r"(?:(?P<weight>[0-9.]+(?:e-?[0-9]+)?)\*)?(?P<name>[a-z]+(?:\+\+)?)(?::(?P<option>[a-z]+))?")
NAMES = ("rypt", *SENTENCE_METRICS, "model", "system")
SCORINGS = (*MODELS, *UNKNOWN_AS)


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a sum; ``option`` is RYPT's model or what an unknown counts as, empty for the campaign's own."""

    weight: float
    name: str
    option: str = ""


@dataclass(frozen=True, slots=True)
class PickMetric:
    """A sum of terms; ``name`` is how it was written."""

    name: str
    terms: tuple[Term, ...]
    system: float = 0.0

    def scores(self, score: Callable[[Term], Floats], systems: Sequence[int] | None = None) -> Floats:
        """The sum for each candidate; ``score`` gives one term, ``systems`` says whose each candidate is."""
        total = np.sum([term.weight * score(term) for term in self.terms], axis=0)
        if not self.system:
            return np.asarray(total, np.float64)
        if systems is None:
            raise RyptError(f"{self.name}: candidates here have no systems, so the term system means nothing")
        whose = np.asarray(systems)
        means = np.bincount(whose, total) / np.maximum(1, np.bincount(whose))
        return np.asarray(total + self.system * means[whose], np.float64)


def parse_pick_metric(text: str) -> PickMetric:
    """Read a metric as people write it.

    >>> parse_pick_metric("rypt:table+0.2*chrf+2*system")  # doctest: +NORMALIZE_WHITESPACE
    PickMetric(name='rypt:table+0.2*chrf+2*system',
               terms=(Term(weight=1.0, name='rypt', option='table'), Term(weight=0.2, name='chrf', option='')),
               system=2.0)
    """
    written = text.replace(" ", "")
    terms: list[Term] = []
    system = 0.0
    for part in re.split(r"(?<!\+)\+(?!\+|$)|(?<=\+\+)\+", written):
        term = _parse_term(part, text)
        if term.name == "system":
            system += term.weight
        else:
            terms.append(term)
    if not terms:
        raise RyptError(f"expected a metric such as rypt, bleu or rypt:table+0.2*chrf, found {text!r}")
    return PickMetric(written, tuple(terms), system)


def _parse_term(part: str, text: str) -> Term:
    found = _TERM.fullmatch(part)
    if not found or found["name"] not in NAMES:
        raise RyptError(f"expected a sum of {', '.join(NAMES)}, such as rypt:table+0.2*chrf, found {text!r}")
    option = found["option"] or ""
    if option and (found["name"] != "rypt" or option not in SCORINGS):
        raise RyptError(f"expected rypt:{', rypt:'.join(SCORINGS)}, found {part!r} in {text!r}")
    try:
        weight = float(found["weight"] or 1)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight):
        raise RyptError(f"expected a weight before *, found {found['weight']!r} in {text!r}")
    return Term(weight, found["name"], option)
