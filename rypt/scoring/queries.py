"""What to ask workers: the phrases of constituents that have no judgment yet."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Ints
from rypt.csv_rows import write_records
from rypt.records import Candidate, Query, Span
from rypt.scoring.forest import Forest
from rypt.scoring.frontier import frontier
from rypt.scoring.observations import JudgedPhrases, Places
from rypt.text import Watch, tokenize, unwatched
from rypt.texts.alignment import parse_links
from rypt.texts.phrases import Phrase, linked_positions, normalize, phrase_at, phrase_of
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
        return (
            phrase.gaps <= self.max_gaps
            and phrase.gap_words <= self.max_gap_words
            and len(phrase.positions) <= self.max_phrase_words
            and phrase.extent <= self.max_extent
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
    open_places = np.flatnonzero((places.numbers != 0) & (places.rows < 0) & chosen[places.nodes])
    numbers = places.numbers[open_places]
    order = np.argsort(numbers, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(numbers[order])) + 1, len(order))
    groups = np.split(open_places[order], ends[:-1]) if len(order) else []  # the places of each phrase
    groups.sort(key=lambda group: int(group[0]))
    reader = _Reader(places, candidates, case)
    asked = [reader.query(group, limits) for group in watch(groups, "queries", len(groups))]
    return sorted(
        (query for query in asked if query),
        key=lambda query: (forest.index[query.segment], query.span, query.phrase),
    )


class _Reader:
    """Makes queries of places in candidates; the words of the last candidate and segment are remembered."""

    def __init__(self, places: Places, candidates: Sequence[Candidate], case: str) -> None:
        self.places = places
        self.candidates = candidates
        self.case = case
        self.names = list(places.forest.index)
        self.words = lru_cache(maxsize=1)(self._words)
        self.source = lru_cache(maxsize=1)(self._source)

    def query(self, group: Ints, limits: QueryLimits) -> Query | None:
        """The query about the phrase that all these places have; its example is the first that is within the limits."""
        places, forest = self.places, self.places.forest
        node = int(places.nodes[group[0]])
        segment = int(forest.segments[node])
        span = Span(int(forest.starts[node]), int(forest.stops[node]))
        for number in (np.searchsorted(places.offsets, group, side="right") - 1).tolist():
            tokens, linked = self.words(number)
            phrase = phrase_of(span, linked, tokens)
            assert phrase is not None
            if limits.allow(phrase):
                source, text = self.source(segment)
                return Query(
                    self.names[segment],
                    span,
                    phrase.text,
                    text,
                    " ".join(source[slice(*span)]),
                    len(group),
                    self.candidates[number].text,
                    phrase.positions,
                )
            if not 0 < phrase.gaps <= limits.max_gaps:
                break  # elsewhere the phrase has as many words, and gaps of other lengths
        return None

    def _words(self, number: int) -> tuple[list[str], list[list[int]]]:
        candidate = self.candidates[number]
        source_size = int(self.places.forest.sizes[self.places.segments[number]])
        links = linked_positions(parse_links(candidate.alignment or ""), source_size)
        return tokenize(normalize(candidate.text, self.case)), links

    def _source(self, segment: int) -> tuple[Sequence[str], str]:
        tree = self.places.forest.trees[segment]
        tokens = tree.tokens if tree else ()
        return tokens, " ".join(tokens)


def _chosen(forest: Forest, select: str, max_len: int, max_source_words: int) -> NDArray[np.bool_]:
    """Which constituents of all segments are asked about."""
    chosen = forest.lengths <= min(max_len, max_source_words)
    if select == "frontier":
        on_frontier = np.zeros(len(chosen), np.bool_)
        for segment, tree in enumerate(forest.trees):
            if tree is not None:
                on_frontier[forest.firsts[segment] + np.array(frontier(tree, max_len), np.int64)] = True
        chosen &= on_frontier
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
    for query in queries:
        stream.write(json.dumps(query_record(query), ensure_ascii=False) + "\n")
