"""JSONL and JSON, as scripts around neural systems write them.

A candidate a line: ``{"id", "candidate", "alignment", "features", "score"}``; all but the candidate may be left out.
A segment a line: ``{"id", "candidates": [...], "scores": [...]}``, or the list of candidates alone. A candidate is a
text, a list of tokens (pieces of words are joined), or an object. A file may also be one JSON list of all that.

Where no line has an id, lines are the segments in their order; lines with one candidate and the text of its source
belong together as long as the source stays the same. Names that other programs use are understood (`TEXTS`, `LISTS`,
`IDS`). Other fields that hold a number are columns of the list, which a metric can be (``column(comet)``).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rypt.records import NO_COLUMNS, Candidate
from rypt.text import FormatError, InputError, NumberedLines, PathLike, is_one_line
from rypt.texts.dialects.dialect import Dialect
from rypt.texts.features import finite
from rypt.texts.parallel_rows import describe_row, texts_by_language
from rypt.texts.tokenizer import join_pieces

TEXTS = (
    "candidate",
    "hypothesis",
    "translation",
    "translation_text",
    "mt",
    "hyp",
    "prediction",
    "output",
    "generated_text",
    "text",
)
LISTS = ("candidates", "hypotheses", "translations", "predictions", "outputs", "nbest")
IDS = ("id", "segment", "segment_id", "seg_id", "index")
SOURCES = ("source", "src")
RAW = "raw"  # the text before it was cut into tokens, in lists that `rypt init` made
KEPT = ("id", "candidate", RAW)
FIELDS = {*TEXTS, *LISTS, *IDS, *SOURCES, "alignment", "features", "score", "scores"}
OBJECT = "a JSON object with id and candidate"
ONE_BY_ONE = "give each line an id, the number of its segment from 0"
_LINE = re.compile(r'\{|\[\s*(?:[\[{"]|$)')


def read_json(
    path: PathLike, lines: NumberedLines, order: Sequence[str] | None = None
) -> Iterator[tuple[int, Candidate]]:
    """Read the candidates of all lines, each with the number of its line."""
    segments = _Segments(order)
    number = None
    for number, record in _records(path, lines):
        try:
            items = _items(record)
            segment = segments.of(record)
            yield from ((number, _candidate(segment, item)) for item in items)
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
    if message := segments.missing():
        raise InputError(path, number, message)


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
        if not isinstance(record, dict) or not all(isinstance(record.get(name), str) for name in KEPT):
            return
        yield record["id"], record["candidate"], record[RAW]


def parse_json(line: str) -> Candidate:
    """Read one line that has an id and one candidate, in a list whose other lines are of another dialect."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"expected {OBJECT}: {error}") from None
    items = _items(record)
    name = next((name for name in IDS if name in record), None)
    if name is None or len(items) != 1:
        raise FormatError(f"expected {OBJECT}, found {_names(record)}")
    return _candidate(_segment(record[name]), items[0])


class _Segments:
    """The segment of each line: that of its id, or the next one of the source."""

    def __init__(self, order: Sequence[str] | None) -> None:
        self.order = order
        self.with_ids: bool | None = None
        self.count = 0
        self.source: Any = None

    def of(self, record: Any) -> str:
        name = next((name for name in IDS if name in record), None) if isinstance(record, dict) else None
        if self.with_ids is None:
            self.with_ids = name is not None
        elif self.with_ids != (name is not None):
            raise FormatError("expected an id on every line or on none")
        return self._next(record) if name is None else _segment(record[name])

    def _next(self, record: Any) -> str:
        source = None
        if isinstance(record, dict) and not any(name in record for name in LISTS):
            source = next((record[name] for name in SOURCES if name in record), None)
        if source is None or source != self.source or not self.count:
            self.count += 1
        self.source = source
        if self.order is None:
            return str(self.count - 1)
        if self.count > len(self.order):
            raise FormatError(f"expected {len(self.order)} segments, found more: {ONE_BY_ONE}")
        return self.order[self.count - 1]

    def missing(self) -> str | None:
        """What is wrong where lines without ids do not reach the last segment."""
        if self.with_ids is False and self.order is not None and self.count < len(self.order):
            return f"expected {len(self.order)} segments, found {self.count}: {ONE_BY_ONE}"
        return None


def _segment(value: Any) -> str:
    segment = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(segment, str) or not is_one_line(segment):
        raise FormatError(f"expected the id as one line of text, found {value!r}")
    if not segment:
        raise FormatError("expected an id, found an empty one")
    return segment


def _records(path: PathLike, lines: NumberedLines) -> Iterator[tuple[int, Any]]:
    """The values of all lines; those of one list over the whole file are its items."""
    rows = ((number, line) for number, line in lines if line.strip())
    first = next(rows, None)
    if first is None:
        return
    number, line = first
    second = next(rows, None)
    if line.lstrip().startswith("[") and (second is None or not _is_json(line)):
        text = "\n".join([line, *([second[1]] if second else []), *(line for _, line in rows)])
        items = _parse(path, number, text, "a JSON list")
        yield from ((number, item) for item in items)
        return
    yield number, _parse(path, number, line)
    if second is not None:
        yield second[0], _parse(path, *second)
    for number, line in rows:
        yield number, _parse(path, number, line)


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _parse(path: PathLike, number: int, text: str, what: str = OBJECT) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(path, number, f"expected {what}: {error}") from None


def _items(record: Any) -> list[dict[str, Any]]:
    """The candidates of a line, each as an object with the field ``candidate``."""
    if isinstance(record, list):
        return [_item(value) for value in record]
    if not isinstance(record, dict):
        raise FormatError(f"expected {OBJECT}, found {_shortened(record)}")
    name = next((name for name in LISTS if name in record), None)
    if name is None or any(text in record for text in TEXTS if text != "text"):
        return [_item(record)]
    values, scores = record[name], record.get("scores")
    if not isinstance(values, list):
        raise FormatError(f"expected {name} as a list of candidates, found {_shortened(values)}")
    items = [_item(value) for value in values]
    if scores is not None:
        if not isinstance(scores, list) or len(scores) != len(items):
            raise FormatError(f"expected a list of {len(items)} scores, one for each of the {name}")
        items = [{"score": score, **item} for score, item in zip(scores, items, strict=True)]
    return items


def _item(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        name = next((name for name in TEXTS if name in value), None)
        if name is None:
            raise FormatError(
                f"expected a field candidate (or {', '.join(TEXTS[1:4])}, …), found {_names(value)}"
            )
        return {**value, "candidate": value[name]}
    if isinstance(value, list) and all(isinstance(token, str) for token in value):
        return {"candidate": join_pieces(value)}
    return {"candidate": value}


def _names(record: Any) -> str:
    return ", ".join(map(_shortened, list(record)[:6])) or "none"


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _candidate(segment: str, item: Mapping[str, Any]) -> Candidate:
    text, alignment, score = item["candidate"], item.get("alignment"), item.get("score")
    if texts_by_language(item) and (row := describe_row(item)):
        raise FormatError(f"expected a field candidate with the text that a system wrote, found {row}")
    for name, value in (("candidate", text), ("alignment", alignment or "")):
        if not isinstance(value, str) or not is_one_line(value):
            raise FormatError(f"expected the {name} as one line of text, found {value!r}")
    try:
        features = {name: finite(value) for name, value in (item.get("features") or {}).items()}
        score = None if score is None else finite(score)
    except (ValueError, TypeError, AttributeError) as error:
        raise FormatError(f"expected numbers as features and score: {error}") from None
    for name in features:
        if len(name.split()) != 1 or not is_one_line(name):
            raise FormatError(f"expected one word as the name of a feature, found {name!r}")
    return Candidate(segment, text, alignment, features, score, _columns(item))


def _columns(record: Mapping[str, Any]) -> Mapping[str, float]:
    """The numbers beside the fields of every list; one that is not finite is refused by the metric that needs it."""
    columns = {
        name: float(value)
        for name, value in record.items()
        if name not in FIELDS and isinstance(value, int | float) and not isinstance(value, bool)
    }
    return columns or NO_COLUMNS


JSONL = Dialect("jsonl", lambda line: _LINE.match(line) is not None, parse_json, read_json)
