"""What marked errors say of the constituents of a candidate: labels, and how severe a NO is.

An error is tied to source constituents through the candidate's alignment: the phrase of a constituent that holds a
marked token is not acceptable. A mark that touches part of a token counts for the whole token. The severity of a NO is
the sum of the penalties of the errors that touch its phrase, each once.

A set of tokens is an integer with a bit for each, so that many raters of many candidates are judged fast; what belongs
to a candidate alone, its phrases and where its tokens stand, is made once for all its raters (`JudgedCandidate`).
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rypt.ratings.error_spans import ErrorSpan, Policy, Rating
from rypt.ratings.surface import CharacterPlaces, token_places
from rypt.records import Candidate, CandidateJudgments, CandidatePhrases, Label, Segment, Span
from rypt.text import FormatError
from rypt.texts.phrases import GAP
from rypt.texts.trees import SourceTree

Verdicts = list[
    tuple[Label | None, float | None]
]  # a label, None where it is left open, and the severity of a NO
YES: tuple[Label | None, float | None] = (Label.YES, None)
DENSE = 3  # a phrase is dense with errors when at least one of so many tokens is marked


class AlignedConstituents(NamedTuple):
    """The constituents that something is aligned with: spans, phrases, and their tokens on both sides as bits.

    ``has_root`` says that the first of them is the whole segment.
    """

    spans: list[Span]
    phrases: list[str]
    targets: list[int]
    sources: list[int]
    has_root: bool


class MarkedTokens(NamedTuple):
    """The tokens of each marked span, as bits; then of each error, on both sides, with its penalty.

    ``nowhere`` has the penalties of errors without a place.
    """

    target: list[int]
    source: list[int]
    errors: list[tuple[int, int, float]]
    nowhere: list[float]

    def severity(self, target: int, source: int) -> float:
        """The sum of the penalties of errors that touch a phrase."""
        penalty = 0.0
        for on_target, on_source, weight in self.errors:
            if on_target & target or on_source & source:
                penalty += weight
        return round(penalty, 6)


class JudgedCandidate:
    """A candidate and the constituents of its segment that are aligned with it, ready to be judged by many raters."""

    def __init__(
        self, segment: Segment, tree: SourceTree, candidate: Candidate, linked: Sequence[Sequence[int]]
    ) -> None:
        self.segment = segment
        self.tokens = candidate.tokens
        self.constituents = aligned_constituents(tree, linked, self.tokens)
        self.aligned = bits(position for positions in linked for position in positions)
        self.keys = CandidatePhrases(self.constituents.spans, self.constituents.phrases)
        self._all_yes = [Label.YES] * len(self.keys.spans)
        self._no_severities = [None] * len(self.keys.spans)
        self._places: dict[tuple[str, str], CharacterPlaces | None] = {}

    def marked(self, rating: Rating, policy: Policy) -> MarkedTokens:
        """Bring marked characters to tokens; texts that are not spelled by the tokens are refused."""
        marked = MarkedTokens([], [], [], [])
        shared: dict[int, int] = {}
        for error in rating.errors:
            if not policy.counts(error):
                continue
            if error.side == "nowhere":
                marked.nowhere.append(error.weight)
                continue
            tokens = self._touched(rating, error)
            if not tokens:
                continue
            on_target = error.side == "target"
            (marked.target if on_target else marked.source).append(tokens)
            both = (tokens, 0, error.weight) if on_target else (0, tokens, error.weight)
            if error.error in shared:
                at = shared[error.error]
                other = marked.errors[at]
                marked.errors[at] = (other[0] | both[0], other[1] | both[1], other[2])
                continue
            if error.error:
                shared[error.error] = len(marked.errors)
            marked.errors.append(both)
        return marked

    def _touched(self, rating: Rating, error: ErrorSpan) -> int:
        side = error.side
        text = rating.target if side == "target" else rating.source
        if (side, text) not in self._places:
            self._places[side, text] = token_places(
                text, self.tokens if side == "target" else self.segment.tokens
            )
        places = self._places[side, text]
        if places is None:
            raise FormatError(
                f"the tokens of the {'candidate' if side == 'target' else side} do not spell its text"
            )
        return bits(i for i, (start, stop) in enumerate(places) if start < error.stop and error.start < stop)

    def judgments(self, rating: Rating, policy: Policy) -> CandidateJudgments:
        """The judgments that a rating stands for; where containment leaves a constituent open, there is none."""
        keys = self.keys
        marked = self.marked(rating, policy)
        labels: Sequence[Any] = self._all_yes
        severities: Sequence[float | None] = self._no_severities
        if marked.errors or marked.nowhere:
            verdicts = judge(self.constituents, marked, policy, self.aligned)
            if policy.match == "containment":
                kept = [i for i, (label, _) in enumerate(verdicts) if label is not None]
                keys = CandidatePhrases([keys.spans[i] for i in kept], [keys.phrases[i] for i in kept])
                verdicts = [verdicts[i] for i in kept]
            labels, severities = zip(*verdicts, strict=True) if verdicts else ((), ())
        return CandidateJudgments(
            self.segment.id, keys, labels, severities, rating.rater, rating.system, time=rating.time
        )


def aligned_constituents(
    tree: SourceTree, linked: Sequence[Sequence[int]], tokens: Sequence[str]
) -> AlignedConstituents:
    """The constituents that something is aligned with, each with its phrase as `rypt.texts.phrases` has it."""
    targets = _targets(tree, [bits(positions) for positions in linked])
    aligned = AlignedConstituents([], [], [], [], has_root=any(targets))
    texts: dict[int, str] = {}
    for constituent, target in zip(tree.constituents, targets, strict=True):
        if target:
            span = constituent.span
            phrase = texts.get(target)
            if phrase is None:
                phrase = texts[target] = _phrase(target, tokens)
            aligned.spans.append(span)
            aligned.phrases.append(phrase)
            aligned.targets.append(target)
            aligned.sources.append((1 << span[1]) - (1 << span[0]))
    return aligned


def _targets(tree: SourceTree, linked: Sequence[int]) -> list[int]:
    """The tokens aligned with each constituent: those of its children, which stand behind it; a word has its links."""
    constituents = tree.constituents
    targets = [0] * len(constituents)
    for i in range(len(constituents) - 1, -1, -1):
        start, stop = constituents[i].span
        if stop - start == 1:
            targets[i] |= linked[start]
        if (parent := constituents[i].parent) >= 0:
            targets[parent] |= targets[i]
    return targets


def _phrase(positions: int, tokens: Sequence[str]) -> str:
    """The text of a phrase: its tokens, with one mark for each gap."""
    words: list[str] = []
    while True:
        first = (positions & -positions).bit_length() - 1
        rest = positions >> first
        size = (~rest & (rest + 1)).bit_length() - 1  # the run of ones at the end
        words += tokens[first : first + size]
        positions &= -1 << (first + size)
        if not positions:
            return " ".join(words)
        words.append(GAP)


def bits(positions: Iterable[int]) -> int:
    """A set of positions as an integer.

    >>> bits([0, 3])
    9
    """
    mask = 0
    for position in positions:
        mask |= 1 << position
    return mask


def judge(
    constituents: AlignedConstituents, marked: MarkedTokens, policy: Policy, aligned: int = -1
) -> Verdicts:
    """The label of each constituent and the severity of a NO; the label is None where containment leaves it open.

    ``aligned`` are the tokens of the candidate that have a link: of an error, others do not count for containment.
    """
    targets, sources = constituents.targets, constituents.sources
    if policy.label == "dens":
        verdicts = _dense(targets, sources, marked)
    elif policy.match == "overlap":
        verdicts = _touched(targets, sources, marked)
    else:
        verdicts = _contained(targets, sources, marked, aligned)
    if marked.nowhere and constituents.has_root and policy.label != "dens":
        severity = marked.severity(targets[0], sources[0]) + sum(marked.nowhere)
        verdicts[0] = Label.NO, round(severity, 6)
    return verdicts


def _touched(targets: Sequence[int], sources: Sequence[int], marked: MarkedTokens) -> Verdicts:
    bad, gone, severity, no = _union(marked.target), _union(marked.source), marked.severity, Label.NO
    return [
        (no, severity(target, source)) if target & bad or source & gone else YES
        for target, source in zip(targets, sources, strict=True)
    ]


def _dense(targets: Sequence[int], sources: Sequence[int], marked: MarkedTokens) -> Verdicts:
    bad, gone = _union(marked.target), _union(marked.source)
    return [
        (Label.NO, marked.severity(target, source))
        if _is_dense(target, bad) or _is_dense(source, gone)
        else YES
        for target, source in zip(targets, sources, strict=True)
    ]


def _contained(
    targets: Sequence[int], sources: Sequence[int], marked: MarkedTokens, aligned: int
) -> Verdicts:
    """NO when an error lies inside, open when one reaches in from outside; its unaligned tokens do not count."""
    errors = [error & aligned for error in marked.target]
    verdicts: Verdicts = []
    for target, source in zip(targets, sources, strict=True):
        pairs = [(target, error) for error in errors] + [(source, error) for error in marked.source]
        if any(error and not error & ~inside for inside, error in pairs):
            verdicts.append((Label.NO, marked.severity(target, source)))
        else:
            verdicts.append((None, None) if any(inside & error for inside, error in pairs) else YES)
    return verdicts


def _union(sets: Sequence[int]) -> int:
    union = 0
    for tokens in sets:
        union |= tokens
    return union


def _is_dense(inside: int, marked: int) -> bool:
    return DENSE * (inside & marked).bit_count() >= inside.bit_count()
