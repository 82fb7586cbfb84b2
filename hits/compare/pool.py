"""``pool_outcomes``: the results of several sets in one line each, and one for all of them together.

A result is a file that `OutcomeReport.write` (``rypt compare --scores … -o FILE``) wrote; it is named after its file.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from hits.compare.plot import plot_pool
from hits.compare.tables import beside, pool_table
from hits.compare.words import POINTS, answer_line, answered_outcome, further_lines, name_in_words
from rypt.picks.outcome import Outcome, SegmentOutcomes, outcome_of
from rypt.text import InputError, PathLike, RyptError, read_lines

Pair = tuple[str, str]  # a metric and the one it is compared with
EXPECTED = (
    "expected a result with what happened in each segment, as rypt compare --scores … -o FILE writes it"
)


@dataclass(frozen=True, slots=True)
class SetResult:
    """What became of one set: for each pair of metrics the segments' outcomes, and the segments' documents."""

    name: str
    pairs: Mapping[Pair, SegmentOutcomes]
    documents: Sequence[str] | None
    signature: str


@dataclass(frozen=True, slots=True)
class PooledPair:
    """One pair of metrics: its outcome on each set, by the set's name, and on all segments together."""

    sets: dict[str, Outcome]
    pooled: Outcome


@dataclass(frozen=True, slots=True, repr=False)
class PoolReport:
    """The pairs of metrics that all results have."""

    pairs: list[PooledPair]
    signature: str
    signatures: list[str]
    notes: list[str]

    def __repr__(self) -> str:
        nets = (f"{p.pooled.metric} - {p.pooled.baseline}: {p.pooled.net:+.3f}" for p in self.pairs)
        return f"PoolReport({'; '.join(nets)})"

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        pairs = [
            {
                "sets": {name: asdict(outcome) for name, outcome in pair.sets.items()},
                "pooled": asdict(pair.pooled),
            }
            for pair in self.pairs
        ]
        return {"signature": self.signature, "sets": self.signatures, "notes": self.notes, "pairs": pairs}

    def text(self, *, latex: bool = False) -> str:
        """The answer in a sentence, and a table with a line for each pair and set, and one for all sets."""
        table = pool_table([(pair.sets, pair.pooled) for pair in self.pairs], latex=latex)
        below = beside([POINTS, *self.notes, self.signature, *self.signatures], latex=latex)
        further = further_lines([pair.pooled for pair in self.pairs])
        return "\n\n".join([beside([self.answer(), *further], latex=latex), table, below])

    def answer(self) -> str:
        """The first metric against BLEU, or against the last one, on all sets together, in a sentence."""
        return answer_line(answered_outcome([pair.pooled for pair in self.pairs]), name_in_words)

    def plot(self, path: PathLike) -> None:
        """Draw the net wins on each set, and on all of them as a diamond (.svg, .png, .pdf)."""
        plot_pool(path, [(pair.sets, pair.pooled) for pair in self.pairs])


def pool_outcomes(paths: Sequence[PathLike], *, unit: str = "segment", seed: int = 1) -> PoolReport:
    """Pool results: the net over all segments of all sets, resampled within each set.

    With ``unit`` "document", documents are resampled instead of segments.
    """
    results = [read_result(path) for path in paths]
    names = [result.name for result in results]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise RyptError(f"expected results of different sets, found two called {double}")
    common = [pair for pair in results[0].pairs if all(pair in result.pairs for result in results)]
    if not common:
        raise RyptError(f"no two metrics are compared in all of {', '.join(map(str, paths))}")
    others = {pair for result in results for pair in result.pairs} - set(common)
    pairs = [_pooled(results, pair, unit, seed) for pair in common]
    notes = [f"{len(others)} pairs of metrics are not in all results, and left out"] if others else []
    count = pairs[0].pooled.segments
    signature = f"compare|pool:{len(results)}|unit:{unit}|segments:{count}|seed:{seed}|v:{version('rypt')}"
    return PoolReport(pairs, signature, [f"{result.name}: {result.signature}" for result in results], notes)


def _pooled(results: Sequence[SetResult], pair: Pair, unit: str, seed: int) -> PooledPair:
    units = None if unit == "segment" else [_documents(result) for result in results]
    outcomes = [result.pairs[pair] for result in results]
    sets = {
        result.name: outcome_of([result.pairs[pair]], None if units is None else [units[i]], seed=seed)
        for i, result in enumerate(results)
    }
    return PooledPair(sets, outcome_of(outcomes, units, seed=seed))


def _documents(result: SetResult) -> Sequence[str]:
    if result.documents is None:
        raise RyptError(
            f"{result.name}: the result does not say which documents its segments are of, so documents "
            "cannot be the unit"
        )
    return result.documents


def read_result(path: PathLike) -> SetResult:
    """Read a result."""
    text = "\n".join(line for _, line in read_lines(path))
    try:
        record = json.loads(text)
        by_segment = record["segments"]
        documents = by_segment["documents"]
        count = len(by_segment["ids"])
        pairs = [_segment_outcomes(one, count) for one in by_segment["outcomes"]]
        if documents is not None and (
            len(documents) != count or not all(isinstance(d, str) for d in documents)
        ):
            raise ValueError(documents)
        result = SetResult(
            Path(path).name.removesuffix(".gz").removesuffix(".json"),
            {(pair.metric, pair.baseline): pair for pair in pairs},
            documents,
            str(record["signature"]),
        )
    except (ValueError, KeyError, TypeError, IndexError, RecursionError, OverflowError):
        raise InputError(path, None, EXPECTED) from None
    return result


def _segment_outcomes(record: Mapping[str, object], count: int) -> SegmentOutcomes:
    """The outcomes of one pair; numbers that cannot be are errors."""
    segments, wins, losses = (list(record[name]) for name in ("segments", "wins", "losses"))  # type: ignore[call-overload]
    chances = [float(value) for value in (*wins, *losses)]
    places = [int(place) for place in segments]
    if not all(0 <= value <= 1 + 1e-9 for value in chances) or not all(
        0 <= place < count for place in places
    ):
        raise ValueError(record)
    if not len(places) == len(wins) == len(losses) or not places or len(set(places)) < len(places):
        raise ValueError(record)
    middle = len(wins)
    return SegmentOutcomes(
        str(record["metric"]),
        str(record["baseline"]),
        tuple(places),
        tuple(chances[:middle]),
        tuple(chances[middle:]),
    )
