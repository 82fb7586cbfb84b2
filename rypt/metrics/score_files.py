"""Files with the scores of candidates, as other programs write them.

JSONL    {"segment": 0, "candidate": "the house", "score": 0.83}; or "rank", the number in the segment's list from 0
TSV      segment, candidate and score, or other columns that a first line names: segment, rank, score
lines    one number per line, or JSONL without a segment: the scores of the lines of the lists, in their order

``id`` may stand for segment, ``hypothesis`` or ``mt`` for candidate, ``prediction`` for score: so the output of MetricX
is read as it is.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rypt.text import FormatError, InputError, PathLike, RyptError, read_lines
from rypt.texts.features import finite

Key = tuple[str, str]  # segment and text
SEGMENT = ("segment", "id")
CANDIDATE = ("candidate", "hypothesis", "mt")
SCORE = ("score", "prediction")
SHOWN = 40  # characters of a candidate in a message


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """One line: a score, and its candidate by text or rank; no segment in a file parallel to the lists."""

    score: float
    segment: str | None = None
    text: str | None = None
    rank: int | None = None


class ScoreFile:
    """The score of each candidate by segment and text; ``lists`` gives those of the lists in their order.

    ``score`` is the name of the field with the score where it has another one. White space in texts does not matter.
    """

    def __init__(
        self, path: PathLike, score: str | None = None, lists: Callable[[], Iterable[Key]] | None = None
    ) -> None:
        self.path = path
        self._lists = lists
        self._places: dict[Key, int] = {}
        self._ranked: Mapping[str, list[str]] | None = None
        self.scores: dict[Key, float] = {}
        lines = list(_read(path, (score,) if score else SCORE))
        if not lines:
            raise InputError(path, None, "expected scores, found an empty file")
        named = {line.segment is not None for _, line in lines}
        if len(named) > 1:
            number = next(number for number, line in lines if line.segment is None)
            raise InputError(path, number, "expected a segment, as other lines have one")
        if named == {False}:
            self._add_parallel(lines)
            return
        for number, line in lines:
            self._add((str(line.segment), self._text_of(number, line)), line.score, number)

    def score(self, segment: str, text: str) -> float | None:
        """The score of a candidate, None where the file has none."""
        return self.scores.get((segment, _spaced(text)))

    def _add(self, key: Key, score: float, number: int) -> None:
        key = key[0], _spaced(key[1])
        if self.scores.setdefault(key, score) != score:
            first = f"line {self._places[key]} says {self.scores[key]:g}"
            message = f"segment {key[0]}, {shown(key[1])}: the score is {score:g} here, {first}"
            raise InputError(self.path, number, message)
        self._places.setdefault(key, number)

    def _add_parallel(self, lines: list[tuple[int, ScoreLine]]) -> None:
        keys = list(self._candidates())
        if len(keys) != len(lines):
            expected = f"expected {len(keys)} scores, one for each candidate of the lists"
            raise InputError(self.path, lines[-1][0], f"{expected}, found {len(lines)}")
        for key, (number, line) in zip(keys, lines, strict=True):
            self._add(key, line.score, number)

    def _text_of(self, number: int, line: ScoreLine) -> str:
        if line.text is not None:
            return line.text
        if self._ranked is None:
            ranked: dict[str, list[str]] = {}
            for segment, text in self._candidates():
                ranked.setdefault(segment, []).append(text)
            self._ranked = ranked
        texts = self._ranked.get(str(line.segment), [])
        if line.rank is None or line.rank >= len(texts):
            message = f"segment {line.segment} has {len(texts)} candidates, and ranks count from 0: found {line.rank}"
            raise InputError(self.path, number, message)
        return texts[line.rank]

    def _candidates(self) -> Iterable[Key]:
        if self._lists is None:
            raise RyptError(
                f"{self.path}: expected the segment and the text of each candidate beside its score"
            )
        return self._lists()


def shown(text: str) -> str:
    """A candidate in a message."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _read(path: PathLike, names: tuple[str, ...]) -> Iterator[tuple[int, ScoreLine]]:
    head: list[str] | None = None
    for number, line in read_lines(path):
        try:
            if line.startswith("{"):
                yield number, _of_fields(_record(line), names)
            elif "\t" in line:
                cells = line.split("\t")
                if head is None:
                    head = _head(cells, names)
                    if cells == head:
                        continue
                if len(cells) != len(head):
                    raise FormatError(f"expected {len(head)} cells between tabs, found {len(cells)}")
                yield number, _of_fields(dict(zip(head, cells, strict=True)), names)
            elif line.strip():
                yield number, ScoreLine(finite(line.strip()))
        except FormatError as error:
            raise InputError(path, number, str(error)) from None


def _head(cells: list[str], names: tuple[str, ...]) -> list[str]:
    """The names of a TSV file's columns: its first line, if it names the score."""
    if any(name in cells for name in names):
        return cells
    if len(cells) != 3:
        raise FormatError(f"expected segment, candidate and score between tabs, found {len(cells)} cells")
    return ["segment", "candidate", names[0]]


def _record(line: str) -> Mapping[str, Any]:
    try:
        record: Mapping[str, Any] = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"expected a JSON object with segment, candidate and score: {error}") from None
    return record


def _of_fields(record: Mapping[str, Any], names: tuple[str, ...]) -> ScoreLine:
    score = _first(record, names)
    if score is None:
        raise FormatError(f"expected a field {names[0]} with the score, found {', '.join(record)}")
    if isinstance(score, bool) or not isinstance(score, str | int | float):
        raise FormatError(f"expected a finite number as the score, found {score!r}")
    segment, text, rank = _first(record, SEGMENT), _first(record, CANDIDATE), record.get("rank")
    if segment is None:
        return ScoreLine(finite(score))
    if text is None and rank is None:
        raise FormatError("expected the candidate's text or its rank beside the segment")
    if text is not None and not isinstance(text, str):
        raise FormatError(f"expected the text of the candidate, found {text!r}")
    if rank is not None and not str(rank).isdecimal():
        raise FormatError(f"expected a rank from 0 on, found {rank!r}")
    return ScoreLine(finite(score), str(segment), text, None if rank is None else int(rank))


def _first(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)
