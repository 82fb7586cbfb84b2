"""Metrics that score candidates one by one, such as COMET and MetricX: the score of a test set is the mean.

    scores(comet.jsonl)               from a file
    column(comet)                     a feature of the list, or another number in its lines
    package.module:function           from a Python function of a list of `Rateable`

All take the options ``better`` (``higher`` or ``lower``) and ``scale``, the score that counts as 100 in a sum.
A file has one of these forms:

    {"segment": 0, "candidate": "the house", "score": 0.83}
    0.83                              one score per line, or JSONL without a segment: of the lists' lines, in order

``id`` may replace segment, ``hypothesis`` or ``mt`` candidate, and ``prediction`` score, as MetricX writes them.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from rypt.arrays import Floats, Ints
from rypt.options import Options
from rypt.records import Candidate
from rypt.signature import signature
from rypt.text import FormatError, InputError, PathLike, RyptError, read_lines
from rypt.texts.formats import finite

if TYPE_CHECKING:
    from rypt.metrics.metric import Resources

UNIT = 10**9  # statistics are whole numbers: scores are rounded to nine decimals
LARGEST = 1e6  # a score; so that the sums of a million segments fit 64 bits
BETTER = ("higher", "lower")
SHOWN = 40  # characters of a candidate in a message

Key = tuple[str, str]  # segment and text
SEGMENT = ("segment", "id")
CANDIDATE = ("candidate", "hypothesis", "mt")
SCORE = ("score", "prediction")


class Rateable(TypedDict):
    """A candidate as a function gets it; without a source None, without references an empty list."""

    segment: str
    source: str | None
    candidate: str
    references: list[str]


Rate = Callable[[Sequence[Candidate]], Iterable[float]]


class MeanScore:
    """The mean of the scores that ``rate`` gives to candidates.

    ``column`` is the name of the column of a list that the scores come from.

    >>> metric = MeanScore("LENGTH", lambda candidates: [len(raw.text) for raw in candidates], scale=100)
    >>> stats = metric.stats([Candidate("0", "abc", None, {}, None), Candidate("1", "a", None, {}, None)])
    >>> float(metric.score(stats.sum(axis=0, keepdims=True))[0])
    2.0
    """

    signed = True  # scores may be below 0

    def __init__(
        self, name: str, rate: Rate, *, better: str = "higher", scale: float = 1.0, column: str | None = None
    ) -> None:
        self.name = name
        self.rate = rate
        self.maximize = better == "higher"
        self.scale = scale
        self.column = column

    @property
    def signature(self) -> str:
        """Where the scores come from, and whether lower is better."""
        lower = None if self.maximize else "lower"
        return signature(self.name, better=lower, scale=None if self.scale == 1 else self.scale)

    def stats(self, candidates: Sequence[Candidate]) -> Ints:
        """The score as a whole number of billionths, and 1."""
        scores = np.asarray(list(self.rate(candidates)) if candidates else [], np.float64)
        if scores.shape != (len(candidates),):
            expected = f"expected {len(candidates)} scores, one for each candidate"
            raise RyptError(f"the metric {self.name}: {expected}, found {len(scores)}")
        bad = np.flatnonzero(~(np.abs(scores) <= LARGEST))
        if len(bad):
            expected = f"expected a finite score of at most {LARGEST:g}, found {scores[bad[0]]}"
            raise RyptError(f"the metric {self.name}: {_place(candidates[int(bad[0])])}: {expected}")
        return np.stack([np.rint(scores * UNIT), np.ones(len(scores))], axis=1).astype(np.int64)

    def score(self, sums: Ints) -> Floats:
        totals, counts = sums.T
        return np.asarray(totals / UNIT / np.maximum(counts, 1))


def _mean_score(name: str, rate: Rate, read: Options, column: str | None = None) -> MeanScore:
    """The metric with the options that all such metrics have."""
    better, scale = read.choice("better", "higher", BETTER), read.positive("scale", 1.0)
    return MeanScore(name, rate, better=better, scale=scale, column=column)


def make_scores(resources: "Resources", options: Mapping[str, str]) -> MeanScore:
    """The metric ``scores(FILE)``, with the option ``score``, the name of the field that has it."""
    read = Options("scores", options)
    path, field = read.text("file", None), read.text("score", None)
    if not path:
        raise RyptError("the metric scores: expected a file, such as scores(comet.jsonl)")
    scores = read_scores(path, field, resources.lists)

    def rate(candidates: Sequence[Candidate]) -> list[float]:
        missing = [raw for raw in candidates if _key(raw.segment, raw.text) not in scores]
        if missing:
            count = f"{len(missing)} of {len(candidates)} candidates have no score"
            raise RyptError(f"{path}: {count}, the first: {_place(missing[0])}")
        return [scores[_key(raw.segment, raw.text)] for raw in candidates]

    digest = sha256(json.dumps(sorted(scores.items())).encode()).hexdigest()[:8]
    metric = _mean_score(f"scores({path})|sha:{digest}", rate, read)
    read.done()
    return metric


def make_column(resources: "Resources", options: Mapping[str, str]) -> MeanScore:
    """The metric ``column(NAME)``: a number of each candidate, a feature or another field of the list."""
    read = Options("column", options)
    name = read.text("name", None)
    if not name:
        raise RyptError("the metric column: expected the name of a column, such as column(comet)")

    def number(raw: Candidate) -> float:
        numbers = {**({} if raw.score is None else {"score": raw.score}), **raw.features, **raw.columns}
        if name not in numbers:
            has = f"it has {', '.join(sorted(numbers)) or 'no number'}"
            raise RyptError(f"the metric column({name}): {_place(raw)} has no column {name}, {has}")
        return numbers[name]

    metric = _mean_score(f"column({name})", lambda candidates: map(number, candidates), read, name)
    read.done()
    return metric


def function_metric(
    name: str, function: Callable[..., Iterable[float]], resources: "Resources", options: Mapping[str, str]
) -> MeanScore:
    """The metric of a function of a list of `Rateable`, which gets each text of a segment once.

    Options besides ``better`` and ``scale`` are its arguments.
    """
    arguments: dict[str, Any] = {key: options[key] for key in options if key not in ("better", "scale")}
    written = ",".join(f"{key}={value}" for key, value in sorted(arguments.items()))
    sources = resources.sources() if resources.sources else {}
    references = resources.references
    scores: dict[Key, float] = {}

    def rate(candidates: Sequence[Candidate]) -> list[float]:
        keys = [(raw.segment, raw.text) for raw in candidates]
        new = [key for key in dict.fromkeys(keys) if key not in scores]
        items = [
            Rateable(
                segment=segment,
                source=sources.get(segment),
                candidate=text,
                references=references[segment] if references else [],
            )
            for segment, text in new
        ]
        rated = list(function(items, **arguments)) if items else []
        if len(rated) != len(new):
            expected = f"expected {len(new)} scores, one for each candidate"
            raise RyptError(f"the metric {name}: {expected}, found {len(rated)}")
        scores.update(zip(new, map(float, rated), strict=True))
        return [scores[key] for key in keys]

    return _mean_score(f"{name}({written})" if written else name, rate, Options(name, options))


def read_scores(
    path: PathLike, field: str | None = None, lists: Callable[[], Iterable[Key]] | None = None
) -> dict[Key, float]:
    """The score of each candidate in a file, by segment and text; white space in texts does not matter.

    ``field`` is the name of the field with the score where it has another one; ``lists`` gives segment and text
    of the lists' lines, for files without them.
    """
    lines = [(number, *_score_line(path, number, line, field)) for number, line in read_lines(path)]
    if not lines:
        raise InputError(path, None, "expected scores, found an empty file")
    if all(key is None for _, key, _ in lines):
        if lists is None:
            message = "expected the segment and the text of each candidate beside its score"
            raise InputError(path, None, message)
        keys = [_key(*key) for key in lists()]
        if len(keys) != len(lines):
            expected = f"expected {len(keys)} scores, one for each candidate of the lists"
            raise InputError(path, len(lines), f"{expected}, found {len(lines)}")
        lines = [(number, key, score) for key, (number, _, score) in zip(keys, lines, strict=True)]
    scores: dict[Key, float] = {}
    for number, key, score in lines:
        if key is None:
            raise InputError(path, number, "expected a segment and a candidate, as other lines have them")
        if scores.setdefault(key, score) != score:
            message = (
                f"segment {key[0]}, {_shown(key[1])}: the score is {score:g} here, {scores[key]:g} above"
            )
            raise InputError(path, number, message)
    return scores


def _score_line(path: PathLike, number: int, line: str, field: str | None) -> tuple[Key | None, float]:
    """The candidate of a line, None in a file parallel to the lists, and its score."""
    try:
        if not line.startswith("{"):
            return None, finite(line.strip())
        record = json.loads(line)
        score = _first(record, (field,) if field else SCORE)
        if isinstance(score, bool) or not isinstance(score, str | int | float):
            raise FormatError(f"expected a number as {field or SCORE[0]}, found {score!r}")
        segment, text = _first(record, SEGMENT), _first(record, CANDIDATE)
        if segment is None:
            return None, finite(score)
        if not isinstance(text, str):
            raise FormatError(f"expected the text of the candidate beside the segment, found {text!r}")
        return _key(str(segment), text), finite(score)
    except (ValueError, RecursionError, FormatError) as error:
        raise InputError(path, number, f"expected a score: {error}") from None


def _first(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)


def _key(segment: str, text: str) -> Key:
    return segment, " ".join(text.split())


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


def _place(raw: Candidate) -> str:
    return f"segment {raw.segment}, {_shown(raw.text)}"
