"""Error spans that people marked in candidates, and what they say of constituents.

A `Rating` is one rater's annotation of one candidate: the errors with their places and severities, and a score. An
error is tied to source constituents through the candidate's alignment: the phrase of a constituent that holds a marked
token is not acceptable. A mark that touches part of a token counts for the whole token.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rypt.ratings.surface import CharacterPlaces, token_places
from rypt.records import Candidate, Judgment, Label, Segment, Span
from rypt.text import FormatError, OptionError, RyptError
from rypt.texts.phrases import phrase_of
from rypt.texts.trees import SourceTree

RANKS = {"no-error": 0, "neutral": 0, "minor": 1, "major": 2, "critical": 3}
SEVERITIES = ("minor", "major", "critical")
LABELLINGS = ("any", "major", "dens")
MATCHES = ("overlap", "containment")
DENSE = 3  # a phrase is dense with errors when at least one of so many tokens is marked


class ErrorSpan(NamedTuple):
    """Characters ``start`` up to ``stop`` of the target or the source, or an error without a place (nowhere)."""

    side: str
    start: int
    stop: int
    severity: str
    category: str = ""

    @property
    def rank(self) -> int | None:
        """How severe it is, None for a word that is not known."""
        return RANKS.get(self.severity.strip().lower().replace(" ", "-").replace("_", "-"))


@dataclass(frozen=True, slots=True)
class Rating:
    """One rater's annotation of one candidate; ``segment`` is the id in the file, ``line`` the line it stands on.

    ``languages`` is the language pair, as files of several of them name it.
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
            ("label", self.label, LABELLINGS), ("severity", self.severity, SEVERITIES), ("match", self.match, MATCHES)
        ):  # fmt: skip
            if value not in allowed:
                raise RyptError(f"expected {name} as one of {', '.join(allowed)}, found {value!r}")
        if self.label == "dens" and self.match == "containment":
            raise OptionError("the label dens counts the marked tokens of a phrase and goes with overlap only")

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


class MarkedTokens(NamedTuple):
    """The tokens of each error that counts; ``nowhere`` says whether there is one without a place."""

    target: list[frozenset[int]]
    source: list[frozenset[int]]
    nowhere: bool


def marked_tokens(rating: Rating, segment: Segment, candidate: Candidate, policy: Policy) -> MarkedTokens:
    """Bring marked characters to tokens; texts that are not spelled by the tokens are refused."""
    marked = MarkedTokens([], [], any(e.side == "nowhere" and policy.counts(e) for e in rating.errors))
    for side, tokens in (("target", candidate.tokens), ("source", segment.tokens)):
        errors = [error for error in rating.errors if error.side == side and policy.counts(error)]
        if not errors:
            continue
        places = token_places(getattr(rating, side), tokens)
        if places is None:
            raise FormatError(f"the tokens of the {'candidate' if side == 'target' else side} do not spell its text")
        touched = (_touched(places, error) for error in errors)
        (marked.target if side == "target" else marked.source).extend(tokens for tokens in touched if tokens)
    return marked


def _touched(places: CharacterPlaces, error: ErrorSpan) -> frozenset[int]:
    return frozenset(i for i, (start, stop) in enumerate(places) if start < error.stop and error.start < stop)


def judge(
    tree: SourceTree, linked: Sequence[Sequence[int]], tokens: Sequence[str], marked: MarkedTokens, policy: Policy
) -> Iterator[tuple[Span, str, Label | None]]:
    """Each aligned constituent with its phrase and its label; None where containment leaves it open."""
    aligned = {position for positions in linked for position in positions}
    for constituent in tree.constituents:
        span = constituent.span
        phrase = phrase_of(span, linked, tokens)
        if phrase is None:
            continue
        is_whole = marked.nowhere and constituent.parent < 0 and policy.label != "dens"
        inside = frozenset(phrase.positions), frozenset(range(span.start, span.stop))
        if is_whole:
            label: Label | None = Label.NO
        elif policy.label == "dens":
            label = _dense(inside[0], marked.target) or _dense(inside[1], marked.source) or Label.YES
        elif policy.match == "overlap":
            label = Label.NO if _touch(inside[0], marked.target) or _touch(inside[1], marked.source) else Label.YES
        else:
            errors = [error & aligned for error in marked.target]
            label = _contained([(inside[0], error) for error in errors] + [(inside[1], e) for e in marked.source])
        yield span, phrase.text, label


def _dense(inside: frozenset[int], errors: list[frozenset[int]]) -> Label | None:
    return Label.NO if DENSE * len(inside & frozenset().union(*errors)) >= len(inside) else None


def _touch(inside: frozenset[int], errors: list[frozenset[int]]) -> bool:
    return any(not inside.isdisjoint(error) for error in errors)


def _contained(pairs: list[tuple[frozenset[int], frozenset[int]]]) -> Label | None:
    """NO when an error lies inside, None when one reaches in from outside; its unaligned tokens do not count."""
    if any(error and error <= inside for inside, error in pairs):
        return Label.NO
    return None if any(inside & error for inside, error in pairs) else Label.YES


def judgments_of(
    rating: Rating, segment: Segment, tree: SourceTree, candidate: Candidate, linked: Sequence[Sequence[int]],
    policy: Policy,
) -> tuple[list[Judgment], int]:  # fmt: skip
    """The judgments a rating stands for, and how many constituents containment leaves open."""
    marked = marked_tokens(rating, segment, candidate, policy)
    labelled = list(judge(tree, linked, candidate.tokens, marked, policy))
    judgments = [
        Judgment(segment.id, span, phrase, label, rating.rater, rating.system, "import", rating.time)
        for span, phrase, label in labelled
        if label is not None
    ]
    return judgments, len(labelled) - len(judgments)
