"""What to ask workers: the phrases of constituents that have no judgment yet."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Ints
from rypt.csv_rows import write_records
from rypt.records import Candidate, Query, Span
from rypt.scoring.forest import Forest
from rypt.scoring.observations import JudgedPhrases, Places
from rypt.text import Watch, tokenize, unwatched
from rypt.texts.alignment import link_arrays
from rypt.texts.phrases import normalize, phrase_at
from rypt.texts.trees import SourceTree

Key = tuple[str, Span, str]
BATCH = 20_000  # phrases read at a time, to bound memory


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Phrases beyond these are too long or too broken up to be judged; the defaults are those of the authors."""

    max_source_words: int = 6
    max_gaps: int = 1
    max_gap_words: int = 4
    max_phrase_words: int = 8
    max_extent: int = 12

    def allow(self, size: Ints, extent: Ints, gaps: Ints) -> NDArray[np.bool_]:
        """Whether a worker can be asked about phrases of these numbers of words, with and without their gaps."""
        return np.asarray(
            (size <= self.max_phrase_words)
            & (extent <= self.max_extent)
            & (extent - size <= self.max_gap_words)
            & (gaps <= self.max_gaps)
        )


DEFAULT_LIMITS = QueryLimits()


def queries(
    trees: Mapping[str, SourceTree | None],
    candidates: Sequence[Candidate],
    *,
    judged: Collection[Key] = (),
    select: str = "frontier",
    max_len: int = 4,
    limits: QueryLimits = DEFAULT_LIMITS,
    case: str = "lower",
) -> list[Query]:
    """The keys still to ask, by segment, span and phrase, with the number of candidates each would serve.

    ``frontier`` asks about constituents that cover the segment without overlap (Algorithm 1), ``all`` about every
    constituent of at most ``max_len`` words.
    """
    keys = JudgedPhrases(Forest(trees), ((segment, *span, phrase) for segment, span, phrase in judged))
    places = keys.look_up(candidates, case)
    return open_queries(places, candidates, select=select, max_len=max_len, limits=limits, case=case)


def open_queries(
    places: Places,
    candidates: Sequence[Candidate],
    *,
    select: str = "frontier",
    max_len: int = 4,
    limits: QueryLimits = DEFAULT_LIMITS,
    case: str = "lower",
    watch: Watch = unwatched,
) -> list[Query]:
    """As `queries`, where judged phrases were looked up in the candidates."""
    forest = places.forest
    chosen = _chosen(forest, select, max_len, limits.max_source_words)
    at = np.flatnonzero((places.numbers != 0) & (places.rows < 0) & chosen[places.nodes])
    at = at[np.argsort(places.numbers[at], kind="stable")]
    starts = np.flatnonzero(
        np.diff(places.numbers[at], prepend=np.uint64(0))
    )  # where each phrase's places begin
    stops = np.append(starts, len(at))[1:]
    order = np.argsort(at[starts])  # phrases of one candidate follow each other
    reader = _QueryReader(places, candidates, case, limits)
    asked: list[Query] = []
    for begin in watch(range(0, len(order), BATCH), "queries", -(-len(order) // BATCH)):
        some = order[begin : begin + BATCH]
        asked += reader.queries(at, starts[some], stops[some])
    return sorted(asked, key=lambda query: (forest.index[query.segment], query.span, query.phrase))


class _QueryReader:
    """Makes queries about constituents of candidates."""

    def __init__(
        self, places: Places, candidates: Sequence[Candidate], case: str, limits: QueryLimits
    ) -> None:
        self.places, self.forest = places, places.forest
        self.candidates, self.case, self.limits = candidates, case, limits
        self.names = list(self.forest.index)
        self.words = lru_cache(maxsize=1)(self._words)
        self.source = cache(self._source)

    def queries(self, at: Ints, starts: Ints, stops: Ints) -> Iterator[Query]:
        """A query for each phrase, whose places are ``at[start:stop]``; the first within the limits is shown.

        Elsewhere a phrase has as many words, but gaps of other lengths.
        """
        nodes, turns = self.places.nodes[at[starts]], starts.copy()
        waiting = np.arange(len(starts))
        while len(waiting):
            shown = np.searchsorted(self.places.offsets, at[turns[waiting]], side="right") - 1
            offsets, positions = self._aligned(shown, nodes[waiting])
            extents = positions[offsets[1:] - 1] - positions[offsets[:-1]] + 1
            breaks = np.append(0, np.cumsum(np.diff(positions) != 1))
            gaps = breaks[offsets[1:] - 1] - breaks[offsets[:-1]]
            allowed = self.limits.allow(np.diff(offsets), extents, gaps)
            columns = nodes[waiting], shown, stops[waiting] - starts[waiting], offsets[:-1], offsets[1:]
            for node, number, count, first, last in np.stack(columns)[:, allowed].T.tolist():
                yield self._query(node, number, count, positions[first:last].tolist())
            turns[waiting] += 1
            retried = ~allowed & (gaps > 0) & (gaps <= self.limits.max_gaps)
            waiting = waiting[retried & (turns[waiting] < stops[waiting])]

    def _aligned(self, numbers: Ints, nodes: Ints) -> tuple[Ints, Ints]:
        """The positions aligned with constituents of candidates, one after the other, and where each begins."""
        distinct, which = np.unique(numbers, return_inverse=True)
        lines = [self.candidates[number].alignment or "" for number in distinct.tolist()]
        any_size = np.full(
            len(lines), np.iinfo(np.int32).max
        )  # links were checked when phrases were looked up
        offsets, sources, targets = link_arrays(lines, any_size, any_size)
        sizes = np.diff(offsets)[which]
        phrases = np.repeat(np.arange(len(numbers)), sizes)
        links = np.arange(len(phrases)) + np.repeat(offsets[which] - np.cumsum(sizes) + sizes, sizes)
        sources, starts, stops = sources[links], self.forest.starts[nodes], self.forest.stops[nodes]
        inside = (starts[phrases] <= sources) & (sources < stops[phrases])
        pairs = np.unique(phrases[inside] << 32 | targets[links[inside]])
        return np.searchsorted(pairs >> 32, np.arange(len(numbers) + 1)), pairs & 0xFFFFFFFF

    def _query(self, node: int, number: int, count: int, positions: Sequence[int]) -> Query:
        segment, span, source_text, source_phrase = self.source(node)
        phrase = phrase_at(positions, self.words(number))
        example = self.candidates[number].text
        shown = source_text, source_phrase, count, example, tuple(positions)
        return Query(segment, span, phrase, *shown)

    def _words(self, number: int) -> list[str]:
        return tokenize(normalize(self.candidates[number].text, self.case))

    def _source(self, node: int) -> tuple[str, Span, str, str]:
        segment = int(self.forest.segments[node])
        tree = self.forest.trees[segment]
        span = Span(int(self.forest.starts[node]), int(self.forest.stops[node]))
        tokens = tree.tokens if tree else ()
        return self.names[segment], span, " ".join(tokens), " ".join(tokens[slice(*span)])


def _chosen(forest: Forest, select: str, max_len: int, max_source_words: int) -> NDArray[np.bool_]:
    """Which constituents of all segments are asked about."""
    chosen = forest.lengths <= min(max_len, max_source_words)
    if select == "frontier":
        chosen &= forest.on_frontier(max_len)
    return chosen


def query_record(query: Query) -> dict[str, object]:
    """A query as JSONL; with a label and a worker added, it can be imported as a judgment."""
    value = {} if query.value is None else {"value": query.value}
    return {
        "segment": query.segment,
        "start": query.span.start,
        "stop": query.span.stop,
        "source_text": query.source_text,
        "source_phrase": query.source_phrase,
        "phrase": query.phrase,
        "candidates": query.candidates,
        "example": query.example,
        "positions": list(query.positions),
        **value,
    }


def as_written(query: Query) -> str:
    """The phrase of a query as its example has it: with upper case, which keys may be without."""
    return phrase_at(query.positions, tokenize(query.example))


CSV_FIELDS = (
    "segment",
    "start",
    "stop",
    "source_text",
    "source_phrase",
    "phrase",
    "example",
    "label",
    "worker",
)


def write_queries(queries: Iterable[Query], stream: TextIO, form: str) -> None:
    """Write queries as JSONL, or as CSV with empty columns for label and worker.

    In CSV, which people read, phrases have upper and lower case as in the example; in JSONL they are keys.
    """
    if form == "csv":
        write_records(
            stream, CSV_FIELDS, ({**query_record(query), "phrase": as_written(query)} for query in queries)
        )
        return
    encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
    stream.writelines(f"{encode(query_record(query))}\n" for query in queries)
