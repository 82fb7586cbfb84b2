"""What simulated workers know: which phrases are acceptable, and which candidates are better.

The truth is a file of JSON lines of four kinds, in any order:

    {"segment": "7", "source": "der alte mann ging"}                       what the page shows of a segment
    {"segment": "7", "start": 0, "stop": 3, "phrases": ["the old man"]}    all acceptable phrases of a constituent
    {"segment": "7", "start": 0, "stop": 3, "patterns": ["(the) old {man|guy}"]}       the same, shorter
    {"segment": "7", "candidates": {"the old man went": 0.9}}              how good whole candidates are

A phrase that is not listed is not acceptable; of a constituent without a line nobody is sure. In a pattern one of the
parts between ``{ | }`` is there, and words in ``( )`` may be missing: inside a phrase there is a ``[GAP]`` then, at its
edges nothing. Or the truth is a judgment database, by the majority of its labels.

A phrase that is not acceptable is slightly wrong if a database says so (its mean severity is nearer to that of a slight
error), else if it shares at least half of its words with an acceptable one; all others are badly wrong.

A candidate without a number has that of ``"*"``, if the segment has one (for damaged candidates of controls, which no
file can list); else it is as good as the share of constituents for which an acceptable phrase stands in it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from rypt.records import SEVERITIES, Label, Span
from rypt.strict import parse_json
from rypt.text import FormatError, InputError, PathLike, read_lines, tokenize
from rypt.texts.phrases import GAP, phrase_key

SQLITE = b"SQLite format 3\0"
MOST = 200_000  # phrases of one pattern: more is a mistake, and memory is finite
MIDDLE = sum(SEVERITIES.values()) / len(SEVERITIES)  # below, an error is slight
_TOKEN = re.compile(r"\[GAP\]|[(){}|]|[^\s(){}|]+")
OTHERS = "*"  # all candidates of a segment that have no number
Words = tuple[str, ...]


@dataclass(slots=True)
class Known:
    """The acceptable phrases of one constituent; ``bad`` ones matter only where not all good ones are known.

    ``severities`` are those of bad phrases, where they are known.
    """

    good: set[str] = field(default_factory=set)
    bad: set[str] | None = None
    severities: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Truth:
    """Answers every question of a page, or says that it does not know."""

    constituents: dict[str, dict[Span, Known]] = field(default_factory=dict)
    candidates: dict[str, dict[str, float]] = field(default_factory=dict)
    sources: dict[str, list[str]] = field(default_factory=dict)
    case: str = "lower"
    _scores: dict[tuple[str, str], float | None] = field(default_factory=dict)

    def add_source(self, segment: str, text: str) -> None:
        """Say what a segment looks like; several may look the same."""
        names = self.sources.setdefault(" ".join(tokenize(text)), [])
        if segment not in names:
            names.append(segment)

    def segment(self, shown: Sequence[str]) -> str | None:
        """The segment whose source a page shows; of several with the same text one of which something is known."""
        names = self.sources.get(" ".join(shown), [])
        known = [name for name in names if name in self.constituents or name in self.candidates]
        return next(iter(known or names), None)

    def label(self, segment: str | None, span: Span, phrase: str) -> Label:
        """YES, NO, or NOT_SURE where nothing is known."""
        known = self.constituents.get(segment or "", {}).get(span)
        if known is None:
            return Label.NOT_SURE
        key = phrase_key(phrase, self.case)
        if key in known.good:
            return Label.YES
        return Label.NO if known.bad is None or key in known.bad else Label.NOT_SURE

    def is_slight(self, segment: str | None, span: Span, phrase: str) -> bool:
        """Whether a phrase that is not acceptable is only slightly wrong."""
        known = self.constituents.get(segment or "", {}).get(span, Known())
        key = phrase_key(phrase, self.case)
        if key in known.severities:
            return known.severities[key] < MIDDLE
        return any(_overlap(key, good) >= 0.5 for good in known.good)

    def score(self, segment: str | None, text: str) -> float | None:
        """How good a candidate is, from 0 to 1 unless the truth says otherwise; None where nothing is known."""
        name, shown = segment or "", " ".join(tokenize(text))
        listed = self.candidates.get(name, {})
        if shown in listed or OTHERS in listed:
            return listed.get(shown, listed.get(OTHERS))
        if (name, shown) not in self._scores:
            self._scores[name, shown] = self._share(name, phrase_key(shown, self.case) if shown else "")
        return self._scores[name, shown]

    def _share(self, segment: str, text: str) -> float | None:
        """The share of constituents with an acceptable phrase in the text."""
        shares = []
        for known in self.constituents.get(segment, {}).values():
            if any(occurs(phrase, text) for phrase in known.good):
                shares.append(True)
            elif known.bad is None or any(occurs(phrase, text) for phrase in known.bad):
                shares.append(False)
        return sum(shares) / len(shares) if shares else None


def _overlap(phrase: str, other: str) -> float:
    """The share of words that two phrases have in common (Dice's coefficient); gaps are no words."""
    first, second = (Counter(word for word in text.split() if word != GAP) for text in (phrase, other))
    return 2 * (first & second).total() / max(1, first.total() + second.total())


def occurs(phrase: str, text: str) -> bool:
    """Whether a phrase stands in a text, with at least a word in each gap.

    >>> occurs("picked [GAP] up", "he picked the key up"), occurs("picked [GAP] up", "he picked up the key")
    (True, False)
    """
    padded, at = f" {text} ", 0
    for i, part in enumerate(phrase.split(f" {GAP} ")):
        if i:
            at = padded.find(" ", at + 1)  # the gap's first word ends here
        at = padded.find(f" {part} ", at) if at >= 0 else -1
        if at < 0:
            return False
        at += len(part) + 1
    return True


def expand(pattern: str) -> set[str]:
    """All phrases of a pattern.

    >>> sorted(expand("(the) {child|kid} (is) ill"))[:3]
    ['child [GAP] ill', 'child is ill', 'kid [GAP] ill']
    """
    tokens = _TOKEN.findall(pattern)
    phrases, end = _options(tokens, 0)
    if end != len(tokens):
        raise FormatError(f"expected a pattern such as '(the) {{child|kid}}', found {pattern!r}")
    return {text for words in phrases if (text := _joined(words))}


def may_be_missing(pattern: str) -> bool:
    """Whether a pattern has nothing that must be there.

    >>> may_be_missing("(the)"), may_be_missing("(the) house")
    (True, False)
    """
    phrases, _ = _options(_TOKEN.findall(pattern), 0)
    return any(set(words) <= {GAP} for words in phrases)


def _joined(words: Words) -> str:
    """Words as a phrase: no gap at the edges, none beside another."""
    while words and words[0] == GAP:
        words = words[1:]
    while words and words[-1] == GAP:
        words = words[:-1]
    return " ".join(word for i, word in enumerate(words) if word != GAP or words[i - 1] != GAP)


def _options(tokens: Sequence[str], at: int) -> tuple[set[Words], int]:
    """What stands between ``|``, up to a closing bracket."""
    options: set[Words] = set()
    while True:
        phrases, at = _run(tokens, at)
        options |= phrases
        if at == len(tokens) or tokens[at] != "|":
            return options, at
        at += 1


def _run(tokens: Sequence[str], at: int) -> tuple[set[Words], int]:
    options: set[Words] = {()}
    while at < len(tokens) and tokens[at] not in (")", "}", "|"):
        token = tokens[at]
        inside: set[Words] = {(token,)}
        if token in ("(", "{"):
            inside, at = _options(tokens, at + 1)
            if at == len(tokens) or tokens[at] != {"(": ")", "{": "}"}[token]:
                raise FormatError(f"expected a closing bracket in the pattern {' '.join(tokens)!r}")
            inside |= {(GAP,)} if token == "(" else set()
        if len(options) * len(inside) > MOST:
            raise FormatError(
                f"expected a pattern of at most {MOST:,} phrases, found more in {' '.join(tokens)!r}"
            )
        options = {before + after for before in options for after in inside}
        at += 1
    return options, at


def read_truth(path: PathLike, sources: Mapping[str, str] | None = None) -> Truth:
    """The truth in a file of JSON lines or in a judgment database.

    ``sources`` (segment → text) says what segments look like where the file does not.
    """
    if not Path(path).is_file():
        raise InputError(path, None, "expected a file of truth, found none")
    with open(path, "rb") as stream:
        is_database = stream.read(len(SQLITE)) == SQLITE
    truth = _from_database(path) if is_database else _from_lines(path)
    for segment, text in (sources or {}).items():
        truth.add_source(segment, text)
    if not truth.sources:
        raise InputError(
            path, None, 'expected lines {"segment": …, "source": …}, or a campaign that has the sources'
        )
    return truth


def _from_database(path: PathLike) -> Truth:
    from rypt.database.judgments import JudgmentDatabase

    with JudgmentDatabase(path, readonly=True) as db:
        truth = Truth(case=db.case)
        for segment in db.segments():
            truth.add_source(segment.id, segment.text)
        for votes in db.votes():
            spans = truth.constituents.setdefault(votes.segment, {})
            known = spans.setdefault(votes.span, Known(bad=set()))
            assert known.bad is not None
            if votes.yes > max(votes.no, votes.not_sure):
                known.good.add(votes.phrase)
            elif votes.no > max(votes.yes, votes.not_sure):
                known.bad.add(votes.phrase)
                if votes.graded:
                    known.severities[votes.phrase] = votes.penalty / votes.graded
    return truth


def _from_lines(path: PathLike) -> Truth:
    truth = Truth()
    for number, line in read_lines(path):
        if line.strip():
            try:
                _add(truth, parse_json(line))
            except (ValueError, FormatError) as error:
                raise InputError(path, number, f"expected a line of truth: {error}") from None
    return truth


def _add(truth: Truth, record: Any) -> None:
    segment = record.get("segment") if isinstance(record, dict) else None
    if not isinstance(segment, str) or not segment:
        raise FormatError('expected {"segment": "…", …}')
    if "source" in record:
        truth.add_source(segment, _text(record["source"]))
    if "candidates" in record:
        numbers = record["candidates"]
        if not isinstance(numbers, dict) or not all(_is_number(number) for number in numbers.values()):
            raise FormatError('expected "candidates" with a number for each text')
        scores = truth.candidates.setdefault(segment, {})
        scores.update((" ".join(tokenize(text)), float(number)) for text, number in numbers.items())
    if "start" in record or "stop" in record:
        spans = truth.constituents.setdefault(segment, {})
        known = spans.setdefault(_span(record), Known())
        known.good |= {phrase_key(phrase, truth.case) for phrase in _texts(record, "phrases")}
        known.good |= {phrase for pattern in _texts(record, "patterns") for phrase in expand(pattern)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _span(record: Mapping[str, Any]) -> Span:
    start, stop = record.get("start"), record.get("stop")
    if type(start) is not int or type(stop) is not int or not 0 <= start < stop:
        raise FormatError(f"expected start and stop of a constituent, found {start!r} and {stop!r}")
    return Span(start, stop)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise FormatError(f"expected a text, found {value!r}")
    return value


def _texts(record: Mapping[str, Any], name: str) -> Iterable[str]:
    values = record.get(name, [])
    if not isinstance(values, list):
        raise FormatError(f'expected a list "{name}", found {values!r}')
    return [_text(value) for value in values]
