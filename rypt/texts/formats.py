"""The formats of lists of candidates, and how the first line tells which it is.

    reader_of("0 ||| the house ||| lm= -1.5 ||| -1.5")     # read_bars

Each reader takes the path, for messages, the numbered lines of a file, and the ids of the segments in their order, where
these are known. It yields candidates, each with the number of its line. To add a format, write such a reader and a test
of its lines in `reader_of`: everything that reads lists then reads it, tuning too.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from rypt.records import NO_COLUMNS, Candidate
from rypt.text import FormatError, InputError, NumberedLines, PathLike, is_one_line, tokenize
from rypt.texts.alignment import is_derivation
from rypt.texts.tokenizer import join_pieces

Numbered = Iterator[tuple[int, Candidate]]
Reader = Callable[[PathLike, NumberedLines, Sequence[str] | None], Numbered]

BLANKS = " \t\r"
_FAIRSEQ = re.compile(r"([A-Z])-([0-9]+)\t(.*)")
_LINK = re.compile(r"[0-9]+-[0-9]+(?![^ \t])")
_PAIR = re.compile(r"[0-9]+(-[0-9]+)?=[0-9]+(-[0-9]+)?(?![^ \t])")


def reader_of(line: str) -> Reader | None:
    """The reader for a file with this first line; None for plain output, and for a log before a list."""
    if _FAIRSEQ.fullmatch(line):
        return read_fairseq
    if line.startswith("{"):
        return read_json
    return read_bars if "|||" in line else None


def read_plain(path: PathLike, lines: NumberedLines, order: Sequence[str] | None) -> Numbered:
    """Read plain output: one candidate per segment, in the order of the segments."""
    index = -1
    for index, (number, line) in enumerate(lines):
        if order is None:
            message = f"expected id ||| candidate ||| features ||| score, found {line[:40]!r}"
            raise InputError(path, number, message)
        if index >= len(order):
            raise InputError(path, number, f"expected {len(order)} lines, one per segment, found more")
        if "\0" in line:
            raise InputError(path, number, "expected text, found a NUL character")
        yield number, Candidate(order[index], line.strip(BLANKS), None)
    if order is not None and 0 <= index < len(order) - 1:
        raise InputError(path, index + 1, f"expected {len(order)} lines, one per segment, found {index + 1}")


def read_bars(path: PathLike, lines: NumberedLines, order: Sequence[str] | None = None) -> Numbered:
    """Read an n-best list of Moses, Joshua, cdec or Marian, with ``|||`` between fields.

    Moses: ``id ||| text ||| features ||| score [||| alignment …]``. Joshua and cdec: the text may be a derivation, or carry
    ``|0-1|`` after each phrase. Marian: alignment, which may be empty, and word scores stand before the features.
    """
    for number, line in lines:
        try:
            fields = [field.strip(BLANKS) for field in line.split("|||")]
            if len(fields) < 2:
                raise FormatError(f"expected id ||| candidate ||| features ||| score, found {line[:40]!r}")
            if not fields[0]:
                raise FormatError("expected an id before |||, found none")
            if "\0" in line:
                raise FormatError("expected text, found a NUL character")
            at = 2
            while at < len(fields) and _is_before_features(fields[at], fields[at + 1 : at + 2]):
                at += 1
            features, score = [*fields[at : at + 2], "", ""][:2]
            alignment = _alignment_of(fields[2:at] + fields[at + 2 :])
            total = finite(score.partition(" ")[0]) if score else None
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
        yield number, Candidate(fields[0], fields[1], alignment, FeatureField(features, path, number), total)


def _is_before_features(field: str, following: Sequence[str]) -> bool:
    if not field:
        return any("=" in other and other[0] not in "0123456789" for other in following)
    return field.startswith("WordScores=") or _LINK.match(field) is not None


def _alignment_of(fields: Sequence[str]) -> str | None:
    """The word links, else the phrase pairs, else the derivation; an empty field is a candidate without links."""
    for is_alignment in (_LINK.match, _PAIR.match, is_derivation):
        for field in fields:
            if is_alignment(field):
                return field
    return "" if "" in fields else None


class FeatureField(Mapping[str, float]):
    """The features in a field of a line, read when they are first used: most commands need none."""

    __slots__ = ("_values", "line", "path", "text")

    def __init__(self, text: str, path: PathLike, line: int) -> None:
        self.text = text
        self.path = path
        self.line = line
        self._values: dict[str, float] | None = None

    def _read(self) -> dict[str, float]:
        if self._values is None:
            try:
                self._values = read_features(self.text)
            except FormatError as error:
                raise InputError(self.path, self.line, str(error)) from None
        return self._values

    def __getitem__(self, name: str) -> float:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())


def read_features(text: str) -> dict[str, float]:
    """Read the features of a candidate: ``Name= v v``, ``name=value``, ``name: v v``, or numbers alone.

    A name with several values stands for name_0, name_1 …; values without a name are called F.

    >>> read_features("LM0= -2.5 TM0= -1 -2 oov=1")
    {'LM0': -2.5, 'TM0_0': -1.0, 'TM0_1': -2.0, 'oov': 1.0}
    """
    words = tokenize(text)
    single = _single_names(tuple(words[::2]))  # most lists: read in half the time
    if single and len(words) == 2 * len(single) == 2 * text.count("=") and ":" not in text:
        return dict(zip(single, _finite(words[1::2]), strict=True))
    values: list[str] = []
    named = {"F": values}
    for word in words:
        name, equals, value = word.rpartition("=")
        if equals or word[-1] == ":":
            name = name if equals else word[:-1]
            if not name:
                raise FormatError(f"expected the name of a feature, found {word!r}")
            values = named.setdefault(name, [])
        if value and (equals or word[-1] != ":"):
            values.append(value)
    names: list[str] = []
    for name, values in named.items():
        names += [name] if len(values) == 1 else [f"{name}_{i}" for i in range(len(values))]
    features = dict(zip(names, _finite([v for values in named.values() for v in values]), strict=True))
    if len(features) < len(names):
        raise FormatError(f"the feature {next(n for n in names if names.count(n) > 1)} is there twice")
    return features


@lru_cache(maxsize=256)
def _single_names(words: tuple[str, ...]) -> list[str]:
    """The names in ``Name= v Name= v``, where each has one value; none in any other field."""
    names = [word[:-1] for word in words]
    plain = all(word[-1] == "=" and name and "=" not in name for word, name in zip(words, names, strict=True))
    return names if plain and len(set(names)) == len(names) else []


def _finite(words: Sequence[str]) -> list[float]:
    joined = "".join(words)
    if joined.isascii() and joined.isprintable() and "_" not in joined:
        try:
            numbers = list(map(float, words))
        except ValueError:
            numbers = [math.nan]
        if math.isfinite(sum(map(abs, numbers))):
            return numbers
    return list(map(finite, words))


def finite(text: str | float) -> float:
    """A number; NaN, infinity and words are refused, and so is what only Python reads as a number, such as 1_000."""
    plain = not isinstance(text, str) or (text.isascii() and text.isprintable() and "_" not in text)
    try:
        value = float(text) if plain else math.nan
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise FormatError(f"expected a finite number, found {text!r}")
    return value


def read_fairseq(path: PathLike, lines: NumberedLines, order: Sequence[str] | None = None) -> Numbered:
    """Read the output of fairseq-generate: ``H-id<TAB>score<TAB>text``, with ``P-`` and ``A-`` lines after each.

    The text is that of the ``H-`` line, tokenised; other lines, the log among them, are passed over. Features are
    ``score`` and, from the scores of the tokens, ``logprob`` and ``length``. ``H-id<TAB>text``, where the scores were
    cut off, has none. All candidates have the same features: one that is missing would count as 0.
    """
    number = 0
    latest: Candidate | None = None
    names: Sequence[str] | None = None
    for at, line in lines:
        match = _FAIRSEQ.fullmatch(line.rstrip("\r"))
        kind, segment, rest = match.groups() if match else ("", "", "")
        try:
            if kind == "H":
                if latest is not None:
                    names = _same_features(path, number, latest, names)
                    yield number, latest
                number, latest = at, _fairseq_candidate(segment, rest)
            elif latest is not None and latest.segment == segment and kind == "A":
                latest = Candidate(segment, latest.text, rest.strip(BLANKS), latest.features, latest.score)
            elif latest is not None and latest.segment == segment and kind == "P":
                scores = list(map(finite, tokenize(rest)))
                features = {**latest.features, "logprob": sum(scores), "length": float(len(scores))}
                latest = Candidate(segment, latest.text, latest.alignment, features, latest.score)
        except FormatError as error:
            raise InputError(path, at, str(error)) from None
    if latest is None:
        raise InputError(path, None, "expected lines H-id<TAB>score<TAB>candidate, found none")
    _same_features(path, number, latest, names)
    yield number, latest


def _fairseq_candidate(segment: str, rest: str) -> Candidate:
    score, tab, text = rest.partition("\t")
    if "\0" in rest:
        raise FormatError("expected text, found a NUL character")
    if tab:
        return Candidate(segment, text.strip(BLANKS), None, {"score": finite(score)}, finite(score))
    if re.fullmatch(r"-[0-9.]+", rest):
        raise FormatError(f"expected H-{segment}<TAB>score<TAB>candidate, found no candidate")
    return Candidate(segment, rest.strip(" "), None)


def _same_features(
    path: PathLike, number: int, candidate: Candidate, names: Sequence[str] | None
) -> Sequence[str]:
    features = list(candidate.features)
    if names is not None and features != names:
        these, those = (", ".join(each) or "none" for each in (features, names))
        message = f"{these} in H-{candidate.segment}, {those} before"
        raise InputError(
            path, number, f"expected scores of all candidates and tokens or of none, found {message}"
        )
    return features


TEXTS = ("candidate", "hypothesis", "translation", "mt", "text")
LISTS = ("candidates", "hypotheses", "translations")
IDS = ("id", "segment")
RAW = "raw"  # the text before it was cut into tokens, in lists that `rypt init` made
_FIELDS = {*TEXTS, *LISTS, *IDS, "alignment", "features", "score", "scores"}
_ONE_BY_ONE = "give each line an id, the number of its segment from 0"


def read_json(path: PathLike, lines: NumberedLines, order: Sequence[str] | None = None) -> Numbered:
    """Read JSONL, as scripts around neural systems write it.

    A candidate a line: ``{"id", "candidate", "alignment", "features", "score"}``; all but the candidate may be left out.
    A segment a line: ``{"id", "candidates": [...], "scores": [...]}``, where a candidate is a text, a list of tokens
    (pieces of words are joined), or an object. Other fields that hold a number are columns of the list
    (``column(comet)``). Where no line has an id, lines are the segments in their order.
    """
    number, count, with_ids = 1, 0, None
    for number, line in lines:
        if not line.strip():
            continue
        count += 1
        try:
            record = json_object(line)
            name = next((name for name in IDS if name in record), None)
            if with_ids not in (None, name is not None):
                raise FormatError("expected an id on every line or on none")
            with_ids = name is not None
            segment = _segment_at(count, order) if name is None else _segment(record[name])
            candidates = [_json_candidate(segment, item) for item in _items(record)]
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
        yield from ((number, candidate) for candidate in candidates)
    if with_ids is False and order is not None and count < len(order):
        raise InputError(path, number, f"expected {len(order)} segments, found {count}: {_ONE_BY_ONE}")


def json_object(line: str) -> Mapping[str, Any]:
    """The object that a line of JSONL holds."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"expected JSON with id and candidate: {error}") from None
    if not isinstance(record, dict):
        raise FormatError(f"expected a JSON object with id and candidate, found {_short(record)}")
    return record


def _segment_at(count: int, order: Sequence[str] | None) -> str:
    if order is None:
        return str(count - 1)
    if count > len(order):
        raise FormatError(f"expected {len(order)} segments, found more: {_ONE_BY_ONE}")
    return order[count - 1]


def _segment(value: Any) -> str:
    segment = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(segment, str) or not segment or not is_one_line(segment):
        raise FormatError(f"expected the id as one line of text, found {value!r}")
    return segment


def _items(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The candidates of a line, each as an object with the field ``candidate``."""
    name = next((name for name in LISTS if name in record), None)
    if name is None:
        return [_item(record)]
    values, scores = record[name], record.get("scores")
    if not isinstance(values, list):
        raise FormatError(f"expected {name} as a list of candidates, found {_short(values)}")
    if scores is None:
        return [_item(value) for value in values]
    if not isinstance(scores, list) or len(scores) != len(values):
        raise FormatError(f"expected a list of {len(values)} scores, one for each of the {name}")
    return [{"score": score, **_item(value)} for score, value in zip(scores, values, strict=True)]


def _item(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        name = next((name for name in TEXTS if name in value), None)
        if name is None:
            names = ", ".join(map(_short, value)) or "none"
            raise FormatError(f"expected a field candidate (or {', '.join(TEXTS[1:])}), found {names}")
        return {**value, "candidate": value[name]}
    if isinstance(value, list) and all(isinstance(token, str) for token in value):
        return {"candidate": join_pieces(value)}
    return {"candidate": value}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _json_candidate(segment: str, item: Mapping[str, Any]) -> Candidate:
    text, alignment, score = item["candidate"], item.get("alignment"), item.get("score")
    for name, value in (("candidate", text), ("alignment", alignment or "")):
        if not isinstance(value, str) or not is_one_line(value):
            raise FormatError(f"expected the {name} as one line of text, found {_short(value)}")
    try:
        features = {name: finite(value) for name, value in (item.get("features") or {}).items()}
        score = None if score is None else finite(score)
    except (TypeError, AttributeError) as error:
        raise FormatError(f"expected numbers as features and score: {error}") from None
    for name in features:
        if len(name.split()) != 1 or not is_one_line(name):
            raise FormatError(f"expected one word as the name of a feature, found {name!r}")
    columns = {
        name: float(value)
        for name, value in item.items()
        if name not in _FIELDS and isinstance(value, int | float) and not isinstance(value, bool)
    }
    return Candidate(segment, text, alignment, features, score, columns or NO_COLUMNS)


def original_texts(lines: NumberedLines) -> Iterator[tuple[str, str, str]]:
    """Segment, candidate and the candidate before it was cut into tokens; nothing where a list does not keep them.

    >>> list(original_texts([(1, '{"id": "0", "candidate": "It burns .", "raw": "It burns."}')]))
    [('0', 'It burns .', 'It burns.')]
    """
    for _, line in lines:
        try:
            record = json.loads(line) if f'"{RAW}"' in line else None
        except ValueError:
            return
        names = ("id", "candidate", RAW)
        if not isinstance(record, dict) or not all(isinstance(record.get(name), str) for name in names):
            return
        yield record["id"], record["candidate"], record[RAW]
