"""Error spans that people marked in candidates, how severe they are, and whose ratings are taken.

A `Rating` is one rater's annotation of one candidate: the errors with their places and severities, and a score. What
they say of constituents is in `rypt.ratings.labels`.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from rypt.text import OptionError, RyptError

RANKS = {"no-error": 0, "neutral": 0, "minor": 1, "major": 2, "critical": 3}
LEVELS = ("minor", "major", "critical")
LABELLINGS = ("any", "major", "dens")
MATCHES = ("overlap", "containment")


def weight(severity: str, category: str) -> float:
    """The penalty of an error, as MQM has it (Freitag et al. 2021, "Experts, Errors, and Context"); 0 is none.

    >>> [weight("Minor", ""), weight("Minor", "Fluency/Punctuation"), weight("Major", "Non-translation!")]
    [1.0, 0.1, 25.0]
    """
    return _weight(severity, category)


@cache
def _weight(severity: str, category: str) -> float:
    kind, plain = letters(severity), letters(category)
    if "noerror" in (kind, plain) or is_no_fault(category):
        return 0.0
    if plain.startswith("nontranslation"):
        return 25.0
    if kind == "minor":
        return 0.1 if plain.startswith("fluency/punctuation") else 1.0
    return {"major": 5.0, "critical": 10.0}.get(kind, 0.0)


def is_no_fault(category: str) -> bool:
    """Whether a mark says nothing against the translation: an error of the source, or a creative reinterpretation.

    >>> [is_no_fault(each) for each in ("Source issue", "Accuracy/Creative Reinterpretation", "Accuracy/Omission")]
    [True, True, False]
    """
    parts = letters(category).split("/")
    return parts[0] in ("source", "sourceerror", "sourceissue") or parts[-1] == "creativereinterpretation"


@cache
def letters(text: str) -> str:
    """A category or a severity as it is compared: small letters and slashes."""
    return re.sub(r"[^a-z/]", "", text.lower())


@cache
def _rank(severity: str) -> int | None:
    return RANKS.get(severity.strip().lower().replace(" ", "-").replace("_", "-"))


class ErrorSpan(NamedTuple):
    """Characters ``start`` up to ``stop`` of the target or the source, or an error without a place (nowhere).

    The spans of one error that was marked in several places share a number ``error`` above 0.
    """

    side: str
    start: int
    stop: int
    severity: str
    category: str = ""
    error: int = 0

    @property
    def rank(self) -> int | None:
        """How severe it is, None for a word that is not known."""
        return _rank(self.severity)

    @property
    def weight(self) -> float:
        """Its penalty."""
        return _weight(self.severity, self.category)


@dataclass(frozen=True, slots=True)
class Rating:
    """One rater's annotation of one candidate; ``segment`` is the id in the file, ``line`` the line it stands on.

    ``languages`` is the language pair, as files of several of them name it. ``other_text`` says that the rater saw
    another text than ``target``: the score counts, but nothing is known of the parts.
    """

    segment: str
    source: str
    target: str
    system: str
    rater: str
    errors: tuple[ErrorSpan, ...]
    score: float | None
    time: int | None = None
    line: int = 0
    languages: str = ""
    document: str = ""
    other_text: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """How error spans become labels.

    ``any``: NO when an error touches the phrase; ``major``: the same for errors of that severity and above; ``dens``:
    when at least a third of the phrase's tokens are marked. With ``containment`` an error must lie wholly inside the
    phrase; a phrase that holds only a part of one gets no label. Errors in the source are omissions.
    """

    label: str = "any"
    severity: str = "minor"
    match: str = "overlap"
    omissions: bool = True

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("label", self.label, LABELLINGS),
            ("severity", self.severity, LEVELS),
            ("match", self.match, MATCHES),
        ):
            if value not in allowed:
                raise RyptError(f"expected {name} as one of {', '.join(allowed)}, found {value!r}")
        if self.label == "dens" and self.match == "containment":
            raise OptionError(
                "the label dens counts the marked tokens of a phrase and goes with overlap only"
            )

    def counts(self, error: ErrorSpan) -> bool:
        """Whether an error is severe enough, and of a kind to look at."""
        least = "major" if self.label == "major" and self.severity == "minor" else self.severity
        if error.side != "target" and not self.omissions:
            return False
        return (error.rank or 0) >= RANKS[least]


@dataclass(frozen=True, slots=True)
class Raters:
    """Whose ratings are taken: those named, or all, but never the excluded ones."""

    only: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()

    def take(self, rater: str) -> bool:
        """Whether this rater's ratings are imported."""
        return rater not in self.excluded and (not self.only or rater in self.only)
