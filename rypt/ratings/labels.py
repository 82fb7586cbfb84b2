"""What marked errors say of the constituents of a candidate: labels, and how severe a NO is.

An error is tied to source constituents through the candidate's alignment: the phrase of a constituent that holds a
marked token is not acceptable. A mark that touches part of a token counts for the whole token. The severity of a NO is
the sum of the penalties of the errors that touch its phrase, each once. An error without a place counts against the
whole segment, a mark in the source against the constituents that hold it.

Tokenisers move white space, escape characters and change quotation marks; raters marked characters of the original. A
token's place is found by walking both texts, white space left out: the tokens must be the text, or spell it up to case,
Unicode composition, escapes (``&apos;``, ``-LRB-``, ``@-@``) and the style of quotation marks.

A set of tokens is an integer with a bit for each, so that the ratings of many raters become labels fast.
"""

import html
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from rypt.ratings.rating import ErrorSpan, Policy, Rating
from rypt.records import Candidate, Judgment, Label, Segment, Span
from rypt.scoring.phrase_keys import candidate_links
from rypt.text import FormatError
from rypt.texts.phrases import phrase_at
from rypt.texts.trees import QUOTES, SourceTree, unescape

CharacterPlaces = tuple[tuple[int, int], ...]


class JudgedCandidate:
    """A candidate and the constituents of its segment that something is aligned with, for the ratings of many raters."""

    def __init__(self, segment: Segment, tree: SourceTree, candidate: Candidate) -> None:
        self.segment = segment
        self.tokens = candidate.tokens
        # span and phrase of each constituent, the tokens of its phrase, those of its span
        self.constituents: list[tuple[Span, str, int, int]] = []
        phrases: dict[int, str] = {}
        for constituent, target in zip(tree.constituents, _targets(tree, candidate), strict=True):
            if target:
                if target not in phrases:
                    positions = [i for i in range(target.bit_length()) if target >> i & 1]
                    phrases[target] = phrase_at(positions, self.tokens)
                span = constituent.span
                inside = (1 << span.stop) - (1 << span.start)
                self.constituents.append((span, phrases[target], target, inside))
        self._places: dict[tuple[str, str], CharacterPlaces | None] = {}

    def judgments(self, rating: Rating, policy: Policy) -> list[Judgment]:
        """The judgments that a rating implies; texts that the tokens do not spell are refused."""
        errors, nowhere = self._errors(rating, policy)
        judgments = []
        for i, (span, phrase, target, source) in enumerate(self.constituents):
            penalties = [penalty for on, of, penalty in errors if on & target or of & source]
            penalties += nowhere if i == 0 else []  # the whole segment
            label, severity = (Label.NO, round(sum(penalties), 6)) if penalties else (Label.YES, None)
            who = rating.rater, rating.system, "import", rating.time
            judgments.append(Judgment(self.segment.id, span, phrase, label, *who, severity=severity))
        return judgments

    def _errors(self, rating: Rating, policy: Policy) -> tuple[list[tuple[int, int, float]], list[float]]:
        """The tokens of each error on both sides, with its penalty; and the penalties of errors without a place."""
        errors: dict[int, tuple[int, int, float]] = {}
        nowhere = []
        for i, error in enumerate(rating.errors):
            if not policy.counts(error):
                continue
            if error.side == "nowhere":
                nowhere.append(error.weight)
            elif tokens := self._touched(rating, error):
                number = -error.error or i + 1
                target, source, _ = errors.get(number, (0, 0, 0.0))
                on_target = error.side == "target"
                sides = (target | tokens, source) if on_target else (target, source | tokens)
                errors[number] = (*sides, error.weight)
        return list(errors.values()), nowhere

    def _touched(self, rating: Rating, error: ErrorSpan) -> int:
        side = error.side
        text = rating.target if side == "target" else rating.source
        if (side, text) not in self._places:
            tokens = self.tokens if side == "target" else self.segment.tokens
            self._places[side, text] = token_places(text, tokens)
        places = self._places[side, text]
        if places is None:
            raise FormatError(f"the tokens of the {side} do not spell its text")
        return bits(i for i, (start, stop) in enumerate(places) if start < error.stop and error.start < stop)


def _targets(tree: SourceTree, candidate: Candidate) -> list[int]:
    """The tokens aligned with each constituent: those of its children, which come after it; a word has its links."""
    constituents, linked = tree.constituents, candidate_links(candidate, tree)
    targets = [0] * len(constituents)
    for i in range(len(constituents) - 1, -1, -1):
        start, stop = constituents[i].span
        if stop - start == 1:
            targets[i] |= bits(linked[start])
        if (parent := constituents[i].parent) >= 0:
            targets[parent] |= targets[i]
    return targets


def bits(positions: Iterable[int]) -> int:
    """A set of positions as an integer.

    >>> bits([0, 3])
    9
    """
    mask = 0
    for position in positions:
        mask |= 1 << position
    return mask


def spelling(text: str) -> str:
    """A text as it is compared: no white space, case, or style of quotation marks.

    >>> spelling("„Das  Haus“, sagt er.") == spelling('"das Haus" , sagt er .')
    True
    """
    return "".join(letters for letters, _, _ in _folded(text))


def token_spelling(tokens: Sequence[str]) -> str:
    """The spelling of tokens, whose escapes are undone first."""
    return "".join(map(_spelled, tokens))


def token_places(text: str, tokens: Sequence[str]) -> CharacterPlaces | None:
    """For each token its first and last (not included) character in a text; None when they do not spell it.

    >>> token_places("Gibt's das (heute)?", ["Gibt", "&apos;s", "das", "-LRB-", "heute", "-RRB-", "?"])
    ((0, 4), (4, 6), (7, 10), (11, 12), (12, 17), (17, 18), (18, 19))
    """
    return _exact_places(text, tokens) or _folded_places(text, tokens)


def _exact_places(text: str, tokens: Sequence[str]) -> CharacterPlaces | None:
    """Places of tokens that are the text letter by letter, escapes in it included."""
    plain = ["".join(token.split()) for token in tokens]
    if "".join(plain) != "".join(text.split()):
        return None
    shown = [i for i, character in enumerate(text) if not character.isspace()]
    ends = accumulate(map(len, plain))
    pairs = zip(plain, ends, strict=True)
    return tuple((shown[end - len(token)], shown[end - 1] + 1) if token else (0, 0) for token, end in pairs)


def _folded_places(text: str, tokens: Sequence[str]) -> CharacterPlaces | None:
    """Places of tokens that spell the text."""
    folded = list(_folded(text))
    places = []
    at = 0
    for token in tokens:
        wanted, begin = _spelled(token), at
        while wanted:
            if at == len(folded) or not wanted.startswith(folded[at][0]):
                return None
            wanted = wanted[len(folded[at][0]) :]
            at += 1
        places.append((folded[begin][1], folded[at - 1][2]) if at > begin else (0, 0))
    return tuple(places) if at == len(folded) else None


def _spelled(token: str) -> str:
    plain = unescape(html.unescape(token))
    if len(plain) == 3 and plain[0] == plain[2] == "@":
        plain = plain[1]
    return spelling(plain)


def _folded(text: str) -> Iterator[tuple[str, int, int]]:
    """Letters as they are compared, each with the characters (from, to) that it comes from."""
    start = 0
    while start < len(text):
        if text[start].isspace():  # a mark after it counts by itself, as it does at the beginning of a token
            start += 1
            continue
        stop = start + 1
        if text[start:stop] in ("'", "`") and text[stop : stop + 1] == text[start]:
            stop += 1
        while stop < len(text) and unicodedata.combining(text[stop]):
            stop += 1
        cluster = text[start:stop]
        yield unicodedata.normalize("NFC", QUOTES.get(cluster, cluster)).casefold(), start, stop
        start = stop
