"""Lists of candidates: the scores of one, or two side by side with the segments where their candidates differ.

    comparison = compare_lists("systemA.txt", "systemB.jsonl", source="dev.de", references=["dev.en"])
    print(comparison.text())
    comparison.write("compare.html")
    print(score_list("systemA.txt", references=["dev.en"]).text())      # one list alone

Lists are of any dialect; of several candidates of a segment the first counts. Scores are those of the metrics for the
whole list, their difference has an interval by resampling segments in pairs (Koehn 2004), and segments are better or
worse by the score of the single candidate.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from importlib.resources import files
from typing import Any

import numpy as np

from hits.batch.markup import highlight, html_templates, text_direction
from hits.compare.list_texts import ListTexts, read_lists
from hits.compare.words import spec_legend
from rypt.arrays import Floats, Ints
from rypt.metrics.expression import split_specs
from rypt.metrics.metric import Metric, Resources, counted, rated, read_metric, single_scores
from rypt.records import Candidate
from rypt.text import PathLike, RyptError, open_output, tokenize
from rypt.texts.lists import list_name

RESAMPLES = 1000
EQUAL = 1e-9


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric's verdict: the scores of both lists, second - first with its 95 % interval, and segments."""

    metric: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    better: int
    equal: int
    worse: int
    signature: str
    digits: int = 2
    maximize: bool = True

    def verdict(self, names: tuple[str, str]) -> str:
        """Which list is better by this metric, where that is shown."""
        if self.low <= 0 <= self.high:
            return f"by {self.metric} no difference is shown"
        better = names[(self.difference > 0) == self.maximize]
        return f"by {self.metric} {better} is better"

    def shown(self) -> tuple[str, str, str]:
        """Both scores, and their difference with its interval."""
        d = self.digits
        difference = f"{self.difference:+.{d}f} [{self.low:+.{d}f}, {self.high:+.{d}f}]"
        return f"{self.first:.{d}f}", f"{self.second:.{d}f}", difference


@dataclass(frozen=True, slots=True)
class SegmentPair:
    """Both candidates of a segment; ``scores`` of each metric, first and second, from 0 to 1."""

    segment: str
    source: str
    references: tuple[str, ...]
    first: str
    second: str
    scores: tuple[tuple[float, float], ...]

    @property
    def gain(self) -> float:
        """How much better the second is by the first metric; 0 without a metric."""
        return self.scores[0][1] - self.scores[0][0] if self.scores else 0.0


@dataclass(frozen=True, slots=True, repr=False)
class ListComparison:
    """The comparison of two lists; ``different`` are the segments whose texts differ, largest difference first."""

    names: tuple[str, str]
    metrics: list[MetricRow]
    segments: int
    different: list[SegmentPair]
    left_out: int
    languages: tuple[str, str] = ("", "")
    note: str = ""

    def __repr__(self) -> str:
        return f"ListComparison({' and '.join(self.names)}, {len(self.different)} of {self.segments} segments differ)"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def text(self) -> str:
        """The answer in a sentence, a table of the metrics, what they are, and how many segments differ."""
        from tabulate import tabulate

        answer = "; ".join(row.verdict(self.names) for row in self.metrics)
        rows = [(row.metric, *row.shown(), row.better, row.equal, row.worse) for row in self.metrics]
        head = ("metric", *self.names, "second - first, 95 %", "segments better", "equal", "worse")
        table = [
            f"{answer[:1].upper()}{answer[1:]}.",
            "",
            str(tabulate(rows, head, disable_numparse=True)),
            "",
        ]
        names = spec_legend(row.metric for row in self.metrics)
        return "\n".join(
            [*(table if rows else []), *names, *self.notes(), *(row.signature for row in self.metrics)]
        )

    def notes(self) -> list[str]:
        """What was compared."""
        lines = [f"different candidates in {len(self.different)} of {self.segments} segments"]
        if self.left_out:
            lines.append(f"segments in one list only, left out: {self.left_out}")
        if any(row.low <= 0 <= row.high for row in self.metrics):
            lines.append("an interval that contains 0 does not tell the lists apart")
        return [*lines, *([f"note: {self.note}"] if self.note else [])]

    def write(self, path: PathLike, limit: int | None = None) -> None:
        """Write a page with both candidates of each segment side by side; it needs nothing else."""
        from markupsafe import Markup

        def marked(text: str, other: str) -> Markup:
            tokens = tokenize(text)
            return Markup(highlight(tokens, changed_words(tokens, tokenize(other))))

        style = (files("hits.compare") / "templates" / "picks.css").read_text(encoding="utf-8")
        page = (
            html_templates("hits.compare")
            .get_template("lists.html")
            .render(
                comparison=self,
                pairs=self.different[:limit],
                marked=marked,
                direction=text_direction,
                style=Markup(style),
            )
        )
        with open_output(path) as stream:
            stream.write(page)


def changed_words(tokens: Sequence[str], others: Sequence[str]) -> list[int]:
    """The positions of tokens that the other text does not have in their place.

    >>> changed_words("the old house burns".split(), "the house is burning".split())
    [1, 3]
    """
    same = SequenceMatcher(None, list(tokens), list(others), autojunk=False).get_matching_blocks()
    kept = {block.a + i for block in same for i in range(block.size)}
    return [i for i in range(len(tokens)) if i not in kept]


def compare_lists(
    first: PathLike,
    second: PathLike,
    *,
    source: PathLike | None = None,
    references: Sequence[PathLike] = (),
    metrics: str | None = None,
    tokenize: str = "13a",
    seed: int = 1,
) -> ListComparison:
    """Compare the first candidates of two lists.

    ``metrics`` are separated by commas, by default chrF and BLEU where there are references; ``tokenize`` is BLEU's
    tokenizer where a metric names none.
    """
    read = read_lists((first, second), source, references)
    documents = read.references
    chosen = read.firsts()
    shared = [
        segment for segment in (read.order or chosen[0]) if segment in chosen[0] and segment in chosen[1]
    ]
    if not shared:
        examples = " and ".join(f"{next(iter(side), 'none')!r}" for side in chosen)
        raise RyptError(
            f"expected lists of the same segments, found none that is in both {first} and {second}: they "
            f"begin with {examples}"
        )
    sides = [[candidates[segment] for segment in shared] for candidates in chosen]
    resources = _resources(read, sides)
    rows, singles = [], []
    for spec in _specs(metrics, ["chrf", "bleu"] if documents else []):
        metric = _metric(spec, tokenize, resources)
        scores = np.array([single_scores(metric, side)[0] for side in sides])
        singles.append(scores)
        rows.append(_row(spec, metric, [counted(metric, side) for side in sides], scores, seed))
    texts = {segment.id: segment.text for segment in read.source or ()}
    pairs = [
        SegmentPair(
            segment,
            texts.get(segment, ""),
            tuple(documents[segment]) if documents else (),
            a.text,
            b.text,
            tuple((float(scores[0, i]), float(scores[1, i])) for scores in singles),
        )
        for i, (segment, a, b) in enumerate(zip(shared, *sides, strict=True))
        if a.text.split() != b.text.split()
    ]
    pairs.sort(key=lambda pair: -abs(pair.gain))
    return ListComparison(
        _titles(first, second),
        rows,
        len(shared),
        pairs,
        len({*chosen[0], *chosen[1]}) - len(shared),
        note=_tokenised(read, rows),
    )


@dataclass(frozen=True, slots=True)
class MetricScore:
    """The score of a list by one metric, with its 95 % interval over resampled segments."""

    metric: str
    score: float
    low: float
    high: float
    signature: str
    digits: int = 2
    maximize: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class ListScores:
    """The scores of one list: of the first candidate of each segment, of ``candidates`` in the list."""

    name: str
    scores: list[MetricScore]
    segments: int
    candidates: int
    without: int
    note: str = ""

    def __repr__(self) -> str:
        shown = ", ".join(f"{row.metric} {row.score:.{row.digits}f}" for row in self.scores)
        return f"ListScores({self.name}: {shown}; {self.segments} segments)"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def text(self) -> str:
        """A table of the metrics, what they are, and what was scored."""
        from tabulate import tabulate

        rows = [
            (
                row.metric,
                f"{row.score:.{row.digits}f}",
                f"[{row.low:.{row.digits}f}, {row.high:.{row.digits}f}]",
                "higher" if row.maximize else "lower",
            )
            for row in self.scores
        ]
        table = str(
            tabulate(rows, ("metric", self.name, "95 % interval", "better if"), disable_numparse=True)
        )
        first = (
            f"the first of {self.candidates} candidates"
            if self.candidates > self.segments
            else "all candidates"
        )
        notes = [f"{first} of {self.segments} segments, scored as one corpus"]
        notes += [f"segments without a candidate, left out: {self.without}"] if self.without else []
        notes += [f"note: {self.note}"] if self.note else []
        return "\n".join(
            [
                table,
                "",
                *spec_legend(row.metric for row in self.scores),
                *notes,
                *(row.signature for row in self.scores),
            ]
        )


def score_list(
    path: PathLike,
    *,
    references: Sequence[PathLike] = (),
    source: PathLike | None = None,
    metrics: str | None = None,
    tokenize: str = "13a",
    seed: int = 1,
) -> ListScores:
    """Score the first candidates of a list, by default with BLEU, chrF and TER."""
    if not references and metrics is None:
        raise RyptError(
            f"{path}: expected --references FILE, with a line per segment, to score a list (a file of "
            "ratings is read with --from mqm or --from esa)"
        )
    read = read_lists((path,), source, references)
    side = list(read.firsts()[0].values())
    if not side:
        raise RyptError(f"{path}: expected candidates, found none")
    resources = _resources(read, [side])
    rows = []
    for spec in _specs(metrics, ["bleu", "chrf", "ter"]):
        metric = _metric(spec, tokenize, resources)
        stats = counted(metric, side)
        drawn = _drawn(len(side), seed) @ stats
        low, high = np.quantile(rated(metric, drawn), (0.025, 0.975))
        score = float(rated(metric, stats.sum(axis=0, keepdims=True))[0])
        signature = f"{metric.signature}|bootstrap:{RESAMPLES}|seed:{seed}|n:{len(side)}"
        digits = 2 if metric.scale >= 10 else 4
        rows.append(
            MetricScore(
                spec.replace(" ", ""), score, float(low), float(high), signature, digits, metric.maximize
            )
        )
    without = 0 if read.order is None else len(set(read.order) - {raw.segment for raw in side})
    return ListScores(list_name(path), rows, len(side), len(read.lists[0]), without, _tokenised(read, rows))


def _drawn(count: int, seed: int) -> Ints:
    """How often each segment is in each resample, (resamples, segments)."""
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=RESAMPLES)


def _titles(first: PathLike, second: PathLike) -> tuple[str, str]:
    """The names of the lists, or their paths where these are the same."""
    names = list_name(first), list_name(second)
    return names if names[0] != names[1] else (str(first), str(second))


def _tokenised(read: ListTexts, rows: Sequence[MetricRow | MetricScore]) -> str:
    """A note on tokenised candidates, where a metric depends on how texts are cut into words."""
    return read.tokenised_note() if any(re.search(r"bleu|ter\b|chrf\+\+", row.metric) for row in rows) else ""


def _specs(metrics: str | None, default: list[str]) -> list[str]:
    return default if metrics is None else [spec.strip() for spec in split_specs(metrics)]


def _metric(spec: str, tokenize: str, resources: Resources) -> Metric:
    return read_metric(f"bleu(tokenize={tokenize})" if spec == "bleu" else spec, resources)


def _resources(read: ListTexts, sides: Sequence[Sequence[Candidate]]) -> Resources:
    segments = read.source
    return Resources(
        read.references,
        references_from="--references",
        campaign_from="a campaign: rypt compare CAMPAIGN",
        sources=None if segments is None else lambda: {segment.id: segment.text for segment in segments},
        lists=lambda: ((raw.segment, raw.text) for side in sides for raw in side),
    )


def _row(spec: str, metric: Metric, stats: Sequence[Ints], singles: Floats, seed: int) -> MetricRow:
    """The scores of both lists, with an interval of their difference over resampled segments."""
    count = len(stats[0])
    first, second = (float(rated(metric, side.sum(axis=0, keepdims=True))[0]) for side in stats)
    drawn = _drawn(count, seed)
    gains = rated(metric, drawn @ stats[1]) - rated(metric, drawn @ stats[0])
    low, high = np.quantile(gains, (0.025, 0.975))
    step = singles[1] - singles[0]
    better, worse = int((step > EQUAL).sum()), int((step < -EQUAL).sum())
    name = spec.replace(" ", "")
    return MetricRow(
        name,
        first,
        second,
        second - first,
        float(low),
        float(high),
        better,
        count - better - worse,
        worse,
        f"{metric.signature}|bootstrap:{RESAMPLES}|seed:{seed}|n:{count}",
        2 if metric.scale >= 10 else 4,
        metric.maximize,
    )
