"""The formats of lists of candidates, and how the first line tells which it is.

    reader_of("0 ||| the house ||| lm= -1.5 ||| -1.5")     # read_bars

Each reader takes the path, for messages, the numbered lines of a file, and the ids of the segments in their order, where
these are known. It yields candidates, each with the number of its line. To add a format, write such a reader and a test
of its lines in `reader_of`: everything that reads lists then reads it, tuning too.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rypt.records import NO_COLUMNS, Candidate
from rypt.text import FormatError, InputError, NumberedLines, PathLike, is_one_line, tokenize
from rypt.texts.alignment import is_derivation
from rypt.texts.features import FeatureField, finite
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


class BarsLine(NamedTuple):
    """The fields of a line with ``|||``; features and score as they are written, "" where there are none."""

    segment: str
    text: str
    features: str
    score: str
    alignment: str | None


def split_bars(line: str) -> BarsLine:
    """The fields of a line as Moses, Joshua, cdec and Marian write it.

    Moses: ``id ||| text ||| features ||| score [||| alignment …]``. Joshua and cdec: the text may be a derivation, or carry
    ``|0-1|`` after each phrase. Marian: alignment, which may be empty, and word scores stand before the features.

    >>> split_bars("0 ||| the house ||| lm= -1.5 ||| -1.5 ||| 0=0-1 ||| 0-0 0-1")
    BarsLine(segment='0', text='the house', features='lm= -1.5', score='-1.5', alignment='0-0 0-1')
    """
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
    return BarsLine(fields[0], fields[1], features, score.partition(" ")[0], alignment)


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


def read_bars(path: PathLike, lines: NumberedLines, order: Sequence[str] | None = None) -> Numbered:
    """Read an n-best list with ``|||`` between fields."""
    for number, line in lines:
        try:
            segment, text, features, score, alignment = split_bars(line)
            total = finite(score) if score else None
            yield number, Candidate(segment, text, alignment, FeatureField(features, path, number), total)
        except FormatError as error:
            raise InputError(path, number, str(error)) from None


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
