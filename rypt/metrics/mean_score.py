"""Metrics that score candidates one by one, such as COMET and MetricX: the score of a test set is the mean.

    scores(comet.jsonl)               from a file (`rypt.metrics.score_files`)
    column(comet)                     a feature of the list, or another number in its lines
    command(./comet.sh)               from a program that reads candidates as JSONL and prints a score for each
    package.module:function           from a Python function of a list of `Rateable`

All take the options ``better`` (``higher`` or ``lower``) and ``scale``, the score that counts as 100 in a sum.
"""

import json
import math
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypedDict

import numpy as np

from rypt.arrays import Floats, Ints
from rypt.metrics.references import References
from rypt.metrics.resources import Resources
from rypt.metrics.score_files import ScoreFile, shown
from rypt.options import Options
from rypt.records import RawCandidate
from rypt.signature import signature
from rypt.text import FormatError, RyptError, one_line
from rypt.texts.features import finite

UNIT = 10**9  # statistics are whole numbers: scores are kept to nine decimals
LARGEST = 1e6  # a score; so that the sums of a million segments fit 64 bits
BETTER = ("higher", "lower")
LAST_WORDS = 300  # characters of what a program wrote to standard error


class Rateable(TypedDict):
    """What a function or a program gets of a candidate; no source is None, no references an empty list."""

    segment: str
    source: str | None
    candidate: str
    references: list[str]


Rate = Callable[[Sequence[RawCandidate]], Iterable[float]]


class MeanScore:
    """The mean of the scores of candidates, which ``rate`` gives for one candidate after the other.

    ``column`` is the name of the column that the scores come from, None where they come from elsewhere.

    >>> metric = MeanScore("LENGTH", lambda candidates: [len(raw.text) for raw in candidates], scale=100)
    >>> stats = metric.stats([RawCandidate("0", "abc", None, {}, None), RawCandidate("1", "a", None, {}, None)])
    >>> float(metric.score(stats.sum(axis=0, keepdims=True))[0])
    2.0
    """

    signed = True  # scores may be below 0

    def __init__(
        self, name: str, rate: Rate, *, maximize: bool = True, scale: float = 1.0, column: str | None = None
    ) -> None:
        self.name = name
        self.rate = rate
        self.maximize = maximize
        self.scale = scale
        self.column = column

    @property
    def signature(self) -> str:
        """Where the scores come from, and whether lower is better."""
        lower = None if self.maximize else "lower"
        return signature(self.name, better=lower, scale=None if self.scale == 1 else self.scale)

    def stats(self, candidates: Sequence[RawCandidate]) -> Ints:
        """The score as a whole number of billionths, and 1."""
        scores = np.asarray(list(self.rate(candidates)) if candidates else [], np.float64)
        if scores.shape != (len(candidates),):
            raise RyptError(
                f"the metric {self.name}: expected {len(candidates)} scores, found {scores.shape}"
            )
        bad = np.flatnonzero(~(np.abs(scores) <= LARGEST))
        if len(bad):
            raw = candidates[int(bad[0])]
            expected = f"expected a finite score of at most {LARGEST:g}, found {scores[bad[0]]}"
            raise RyptError(f"the metric {self.name}: segment {raw.segment}, {shown(raw.text)}: {expected}")
        return np.stack([np.rint(scores * UNIT), np.ones(len(scores))], axis=1).astype(np.int64)

    def score(self, sums: Ints) -> Floats:
        """The mean of each row."""
        totals, counts = sums.T
        return np.asarray(totals / UNIT / np.maximum(counts, 1))


def columns_of(metric: object) -> list[str]:
    """The columns of the list that a metric, or the parts of a sum, are tuned to."""
    every = (metric, *(part.metric for part in getattr(metric, "parts", ())))
    return [column for part in every if (column := getattr(part, "column", None))]


def make_scores(resources: Resources, options: Mapping[str, str]) -> MeanScore:
    """The metric ``scores(FILE)``, with the option ``score``, the name of the field that has it."""
    read = Options("scores", options)
    path, field = read.text("file", None), read.text("score", None)
    better, scale = _direction(read)
    if not path:
        raise RyptError("the metric scores: expected a file, such as scores(comet.jsonl)")
    scores = ScoreFile(path, field, resources.lists)

    def rate(candidates: Sequence[RawCandidate]) -> list[float]:
        rated = [scores.score(raw.segment, raw.text) for raw in candidates]
        missing = [raw for raw, score in zip(candidates, rated, strict=True) if score is None]
        if missing:
            first = f"segment {missing[0].segment}, {shown(missing[0].text)}"
            raise RyptError(
                f"{path}: {len(missing)} of {len(candidates)} candidates have no score, the first: {first}"
            )
        return [score for score in rated if score is not None]

    digest = sha256(json.dumps(sorted(scores.scores.items())).encode()).hexdigest()[:8]
    return MeanScore(f"scores({path})|sha:{digest}", rate, maximize=better == "higher", scale=scale)


def make_column(resources: Resources, options: Mapping[str, str]) -> MeanScore:
    """The metric ``column(NAME)``: a number of each candidate, a feature or another field of the list."""
    read = Options("column", options)
    name = read.text("name", None)
    better, scale = _direction(read)
    if not name:
        raise RyptError("the metric column: expected the name of a column, such as column(comet)")

    def rate(candidates: Sequence[RawCandidate]) -> list[float]:
        return [_column(raw, name) for raw in candidates]

    return MeanScore(f"column({name})", rate, maximize=better == "higher", scale=scale, column=name)


def _column(raw: RawCandidate, name: str) -> float:
    value = raw.columns.get(name, raw.features.get(name, raw.score if name == "score" else None))
    if value is None:
        known = (
            ", ".join([*raw.columns, *raw.features, *(["score"] if raw.score is not None else [])])
            or "no number"
        )
        message = f"segment {raw.segment}, {shown(raw.text)} has no column {name}, it has {known}"
        raise RyptError(f"the metric column({name}): {message}")
    return value


def make_command(resources: Resources, options: Mapping[str, str]) -> MeanScore:
    """The metric ``command(COMMAND)``: a shell command that reads JSONL and prints one score per line."""
    read = Options("command", options)
    command = read.text("run", None)
    better, scale = _direction(read)
    if not command:
        raise RyptError("the metric command: expected a shell command, such as command(./comet.sh)")
    rate = _Rater(resources, lambda items: _run(command, items))
    return MeanScore(f"command({command})", rate, maximize=better == "higher", scale=scale)


def function_metric(
    name: str, function: Callable[..., Iterable[float]], resources: Resources, options: Mapping[str, str]
) -> MeanScore:
    """The metric of a function of a list of `Rateable`; options besides ``better`` and ``scale`` are its arguments."""
    read = Options(name, {key: value for key, value in options.items() if key in ("better", "scale")})
    better, scale = _direction(read)
    arguments: dict[str, Any] = {key: value for key, value in options.items() if key not in read.given}
    written = ",".join(f"{key}={value}" for key, value in sorted(arguments.items()))
    return MeanScore(
        f"{name}({written})" if written else name,
        _Rater(resources, lambda items: function(items, **arguments)),
        maximize=better == "higher",
        scale=scale,
    )


def _direction(read: Options) -> tuple[str, float]:
    """The options that all of these metrics have."""
    better, scale = read.choice("better", "higher", BETTER), read.positive("scale", 1.0)
    read.done()
    return better, scale


class _Rater:
    """Rates each text of a segment once; what was rated is kept."""

    def __init__(self, resources: Resources, rate: Callable[[list[Rateable]], Iterable[float]]) -> None:
        self.references: References | None = resources.references
        self.sources = resources.sources
        self.rate = rate
        self.known: dict[tuple[str, str], float] = {}
        self._source: Mapping[str, str] | None = None

    def __call__(self, candidates: Sequence[RawCandidate]) -> list[float]:
        new = list(
            dict.fromkeys(key for raw in candidates if (key := (raw.segment, raw.text)) not in self.known)
        )
        if new:
            scores = list(self.rate([self._item(*key) for key in new]))
            if len(scores) != len(new):
                raise RyptError(f"expected {len(new)} scores, one for each candidate, found {len(scores)}")
            for key, score in zip(new, scores, strict=True):
                if not math.isfinite(float(score)):
                    raise RyptError(
                        f"segment {key[0]}, {shown(key[1])}: expected a finite score, found {score}"
                    )
                self.known[key] = float(score)
        return [self.known[raw.segment, raw.text] for raw in candidates]

    def _item(self, segment: str, text: str) -> Rateable:
        if self._source is None:
            self._source = self.sources() if self.sources else {}
        references = self.references[segment] if self.references else []
        return Rateable(
            segment=segment, source=self._source.get(segment), candidate=text, references=references
        )


def _run(command: str, items: list[Rateable]) -> list[float]:
    """Give candidates to a program and read its scores."""
    data = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)
    done = subprocess.run(command, shell=True, input=data.encode(), capture_output=True, check=False)
    if done.returncode:
        words = one_line(done.stderr.decode(errors="replace").strip()[-LAST_WORDS:])
        raise RyptError(
            f"command({command}) failed with exit code {done.returncode}: {words or 'it said nothing'}"
        )
    lines = done.stdout.decode(errors="replace").split("\n")
    lines = lines[:-1] if lines and not lines[-1] else lines
    scores = []
    for number, line in enumerate(lines, start=1):
        try:
            scores.append(finite(line.strip()))
        except FormatError as error:
            raise RyptError(f"command({command}), line {number} of its output: {error}") from None
    if len(scores) != len(items):
        raise RyptError(
            f"command({command}): expected {len(items)} scores, one per line, found {len(scores)}"
        )
    return scores
