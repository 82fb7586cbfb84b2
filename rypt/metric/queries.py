"""What to ask workers: the phrases of constituents that have no judgment yet."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from rypt.csv_rows import write_records
from rypt.database.vote_columns import VoteColumns
from rypt.metric.frontier import frontier
from rypt.metric.observations import Forest, JudgedPhrases
from rypt.metric.open_phrases import Limits, distinct_phrases
from rypt.records import Candidate, Query, Span
from rypt.text import FormatError, tokenize
from rypt.texts.alignment import check_links, parse_links
from rypt.texts.phrases import Phrase, linked_positions, phrase_at, phrase_key
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

    def allow(self, span: Span, phrase: Phrase) -> bool:
        """Whether a worker can be asked about this phrase."""
        return (
            len(span) <= self.max_source_words
            and phrase.gaps <= self.max_gaps
            and phrase.gap_words <= self.max_gap_words
            and len(phrase.positions) <= self.max_phrase_words
            and phrase.extent <= self.max_extent
        )


def queries(
    trees: Mapping[str, SourceTree | None],
    candidates: Iterable[Candidate],
    *,
    judged: Collection[Key] | VoteColumns = (),
    select: str = "frontier",
    max_len: int = 4,
    limits: QueryLimits | None = None,
    case: str = "lower",
    gap: str = "mark",
) -> list[Query]:
    """The keys still to ask, by segment, span and phrase, with the number of candidates each would serve.

    ``frontier`` asks about constituents that cover the segment without overlap (Algorithm 1), ``all`` about every
    constituent of at most ``max_len`` words. ``gap="words"`` tells phrases apart by the lengths of their gaps. Votes as
    columns are looked up in compiled code, which is faster for many.
    """
    limits = limits or QueryLimits()
    forest = Forest(trees)
    chosen = _chosen(forest, select, max_len, limits.max_source_words)
    given = list(candidates)
    segments = np.array([forest.position(candidate.segment) for candidate in given], np.int32)
    bounds = Limits(limits.max_gaps, limits.max_gap_words, limits.max_phrase_words, limits.max_extent)
    keys = () if isinstance(judged, VoteColumns) else judged
    places = JudgedPhrases(forest, judged).rows(given, case) if isinstance(judged, VoteColumns) and judged else None
    names = list(trees)
    sources: dict[tuple[int, int], tuple[str, Span, str, str]] = {}
    asked: list[tuple[int, Span, str, Query]] = []
    phrases = distinct_phrases(forest, chosen, given, segments, bounds, case=case, gap=gap, judged=places)
    for phrase in phrases:
        if isinstance(phrase, int):
            candidate_links(given[phrase], trees[given[phrase].segment])
            raise FormatError(f"segment {given[phrase].segment}: expected alignment links like 3-5")
        place = phrase.segment, phrase.node
        if place not in sources:
            tree = forest.trees[phrase.segment]
            assert tree is not None
            span = tree.constituents[phrase.node].span
            sources[place] = (names[phrase.segment], span, *_source(tree, span))
        segment, span, source_text, source_phrase = sources[place]
        if keys and (segment, span, phrase.text if gap == "mark" else phrase_key(phrase.text, case)) in keys:
            continue
        example = given[phrase.example].text
        query = Query(segment, span, phrase.text, source_text, source_phrase, phrase.served, example, phrase.positions)
        asked.append((phrase.segment, span, phrase.text, query))
    asked.sort(key=itemgetter(0, 1, 2))
    return [query for *_, query in asked]


def _chosen(forest: Forest, select: str, max_len: int, max_source_words: int) -> NDArray[np.bool_]:
    """Which constituents of all segments are asked about."""
    chosen = forest.stops - forest.starts <= min(max_len, max_source_words)
    if select == "frontier":
        on_frontier = np.zeros(len(chosen), np.bool_)
        for segment, tree in enumerate(forest.trees):
            if tree is not None:
                on_frontier[forest.firsts[segment] + np.array(frontier(tree, max_len), np.int64)] = True
        chosen &= on_frontier
    return chosen


def _source(tree: SourceTree | None, span: Span) -> tuple[str, str]:
    """The words of a segment, and of a constituent in it."""
    tokens = tree.tokens if tree else ()
    return " ".join(tokens), " ".join(tokens[slice(*span)])


def candidate_links(candidate: Candidate, tree: SourceTree | None) -> list[list[int]]:
    """For each source token the candidate positions linked with it; links out of range are refused."""
    links = parse_links(candidate.alignment)
    source_size = len(tree.tokens) if tree else 0
    try:
        check_links(links, source_size, len(candidate.tokens))
    except FormatError as error:
        raise FormatError(f"segment {candidate.segment}: {error}; the candidate is {candidate.text!r}") from None
    return linked_positions(links, source_size)


def pilot_line(query: Query) -> str:
    """A query with ``gap="words"`` in the authors' form: ``i j_k ||| phrase ||| count ||| candidate ||| start``."""
    span = f"{query.span.start}_{query.span.stop - 1}"
    fields = [f"{query.segment} {span}", query.phrase, str(query.candidates), query.example, str(query.positions[0])]
    return " ||| ".join(fields)


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


CSV_FIELDS = ("segment", "start", "stop", "source_text", "source_phrase", "phrase", "example", "label", "worker")


def write_queries(queries: Iterable[Query], stream: TextIO, form: str) -> None:
    """Write queries as JSONL, as CSV with empty columns for label and worker, or as the authors' pilot wrote them.

    In CSV, which people read, phrases have upper and lower case as in the example; in JSONL they are keys.
    """
    if form == "csv":
        write_records(stream, CSV_FIELDS, ({**query_record(query), "phrase": as_written(query)} for query in queries))
        return
    encode = json.JSONEncoder(ensure_ascii=False).encode
    for query in queries:
        stream.write((pilot_line(query) if form == "pilot" else encode(query_record(query))) + "\n")
