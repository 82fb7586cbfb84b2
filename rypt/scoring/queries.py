"""What to ask workers: the phrases of constituents that have no judgment yet."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from rypt.csv_rows import write_records
from rypt.records import Candidate, Query, Span
from rypt.scoring.forest import Forest
from rypt.scoring.observations import JudgedPhrases, Places
from rypt.text import Watch, tokenize, unwatched
from rypt.texts.alignment import Links, parse_links
from rypt.texts.phrases import Phrase, normalize, phrase_at
from rypt.texts.trees import SourceTree

Key = tuple[str, Span, str]


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Phrases beyond these are too long or too broken up to be judged; the defaults are those of the authors."""

    max_source_words: int = 6
    max_gaps: int = 1
    max_gap_words: int = 4
    max_phrase_words: int = 8
    max_extent: int = 12

    def allow(self, phrase: Phrase) -> bool:
        """Whether a worker can be asked about this phrase."""
        size, extent = len(phrase.positions), phrase.extent
        return (
            size <= self.max_phrase_words
            and extent <= self.max_extent
            and extent - size <= self.max_gap_words
            and (extent == size or phrase.gaps <= self.max_gaps)
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
    whose = np.searchsorted(places.offsets, at, side="right") - 1
    reader = _Reader(forest, candidates, case)
    order = np.argsort(at[starts])  # phrases of one candidate follow each other
    phrases = np.stack([starts, stops, places.nodes[at[starts]]])[:, order].T.tolist()
    asked = [
        reader.query(node, whose[start:stop].tolist(), limits)
        for start, stop, node in watch(phrases, "queries", len(phrases))
    ]
    return sorted(
        (query for query in asked if query),
        key=lambda query: (forest.index[query.segment], query.span, query.phrase),
    )


class _Reader:
    """Makes queries about constituents of candidates; what it read last is remembered."""

    def __init__(self, forest: Forest, candidates: Sequence[Candidate], case: str) -> None:
        self.forest = forest
        self.candidates = candidates
        self.case = case
        self.names = list(forest.index)
        self.words = lru_cache(maxsize=1)(self._words)
        self.source = cache(self._source)

    def query(self, node: int, numbers: Sequence[int], limits: QueryLimits) -> Query | None:
        """The query about the phrase that these candidates have; the first that is within the limits is shown."""
        segment, span, source_text, source_phrase = self.source(node)
        start, stop = span
        for number in numbers:
            tokens, links = self.words(number)
            positions = sorted({target for source, target in links if start <= source < stop})
            phrase = Phrase(phrase_at(positions, tokens), tuple(positions))
            if limits.allow(phrase):
                example = self.candidates[number].text
                shown = (source_text, source_phrase, len(numbers), example, phrase.positions)
                return Query(segment, span, phrase.text, *shown)
            if not 0 < phrase.gaps <= limits.max_gaps:
                break  # elsewhere the phrase has as many words, and gaps of other lengths
        return None

    def _words(self, number: int) -> tuple[list[str], Links]:
        candidate = self.candidates[number]
        return tokenize(normalize(candidate.text, self.case)), parse_links(candidate.alignment or "")

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
