"""What to ask workers: the phrases of constituents that have no judgment yet."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Ints
from rypt.csv_rows import write_records
from rypt.database.vote_columns import KeyColumns
from rypt.records import Candidate, Query, Span
from rypt.scoring.frontier import frontier
from rypt.scoring.observations import Forest, JudgedPhrases, Places
from rypt.scoring.open_phrases import DistinctPhrases, Limits, distinct_phrases
from rypt.text import FormatError, Watch, tokenize, unwatched
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

    def of_phrases(self) -> Limits:
        """Those of phrases alone."""
        return Limits(self.max_gaps, self.max_gap_words, self.max_phrase_words, self.max_extent)


def queries(
    trees: Mapping[str, SourceTree | None],
    candidates: Iterable[Candidate],
    *,
    judged: Collection[Key] | KeyColumns | Places = (),
    select: str = "frontier",
    max_len: int = 4,
    limits: QueryLimits | None = None,
    case: str = "lower",
    gap: str = "mark",
    watch: Watch = unwatched,
) -> list[Query]:
    """The keys still to ask, by segment, span and phrase, with the number of candidates each would serve.

    ``frontier`` asks about constituents that cover the segment without overlap (Algorithm 1), ``all`` about every
    constituent of at most ``max_len`` words. ``gap="words"`` tells phrases apart by the lengths of their gaps. Keys as
    columns are looked up in compiled code, which is faster for many; `Places` of the same candidates were looked up.
    """
    limits = limits or QueryLimits()
    forest = judged.forest if isinstance(judged, Places) else Forest(trees)
    chosen = _chosen(forest, select, max_len, limits.max_source_words)
    given = candidates if isinstance(candidates, Sequence) else list(candidates)
    bounds = limits.of_phrases()
    keys: Collection[Key] = ()
    places = None
    if isinstance(judged, Places):
        places = judged
    elif not isinstance(judged, KeyColumns):
        keys = judged
    elif judged:
        places = JudgedPhrases(forest, judged).rows(given, case)
    segments = forest.positions(given) if places is None else places.segments
    sources = _Sources(forest, list(trees))
    asked: list[Query] = []
    phrases = _checked(
        distinct_phrases(forest, chosen, given, segments, bounds, case=case, gap=gap, judged=places),
        forest,
        given,
    )
    for _, text, node, served, example, positions in watch(_sorted(phrases, sources.ranks, given), "queries"):
        segment, span, source_text, source_phrase = sources[node]
        if keys and (segment, span, text if gap == "mark" else phrase_key(text, case)) in keys:
            continue
        asked.append(Query(segment, span, text, source_text, source_phrase, served, example, positions))
    return asked


def open_phrases(
    judged: Places, candidates: Sequence[Candidate], *, max_len: int = 4, case: str = "lower"
) -> Iterator[DistinctPhrases]:
    """The phrases of the frontier that `queries` would ask about, those of some segments at a time."""
    limits = QueryLimits()
    chosen = _chosen(judged.forest, "frontier", max_len, limits.max_source_words)
    phrases = distinct_phrases(
        judged.forest,
        chosen,
        candidates,
        judged.segments,
        limits.of_phrases(),
        case=case,
        gap="mark",
        judged=judged,
    )
    return _checked(phrases, judged.forest, candidates)


def _checked(
    phrases: Iterable[DistinctPhrases | int], forest: Forest, candidates: Sequence[Candidate]
) -> Iterator[DistinctPhrases]:
    """The phrases; a candidate with bad links is an error."""
    for some in phrases:
        if isinstance(some, int):
            candidate = candidates[some]
            candidate_links(candidate, forest.trees[forest.position(candidate.segment)])
            raise FormatError(f"segment {candidate.segment}: expected alignment links like 3-5")
        yield some


def _sorted(
    phrases: Iterable[DistinctPhrases], ranks: Ints, candidates: Sequence[Candidate]
) -> Iterator[tuple[int, str, int, int, str, tuple[int, ...]]]:
    """Phrases by segment, span and text, each with the rank of its node, text, node, count, example and positions."""
    for nodes, texts, served, firsts, positions in phrases:
        examples = [candidates[i].text for i in firsts.tolist()]
        yield from sorted(
            zip(ranks[nodes].tolist(), texts, nodes.tolist(), served, examples, positions, strict=True)
        )


class _Sources(dict[int, tuple[str, Span, str, str]]):
    """The segment, span, and words of segment and constituent, of each node of a forest.

    ``ranks`` order nodes by segment and span.
    """

    def __init__(self, forest: Forest, names: Sequence[str]) -> None:
        super().__init__()
        self._forest, self._names = forest, names
        segments = np.repeat(np.arange(len(forest.trees)), forest.counts)
        order = np.lexsort((forest.stops, forest.starts, segments))
        self.ranks = np.empty(len(order), np.int64)
        self.ranks[order] = np.arange(len(order))

    def __missing__(self, node: int) -> tuple[str, Span, str, str]:
        segment = int(np.searchsorted(self._forest.firsts, node, "right")) - 1
        tree = self._forest.trees[segment]
        assert tree is not None
        span = tree.constituents[node - int(self._forest.firsts[segment])].span
        self[node] = source = (
            self._names[segment],
            span,
            " ".join(tree.tokens),
            " ".join(tree.tokens[slice(*span)]),
        )
        return source


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


def candidate_links(candidate: Candidate, tree: SourceTree | None) -> list[list[int]]:
    """For each source token the candidate positions linked with it; links out of range are refused."""
    links = parse_links(candidate.alignment or "")
    source_size = len(tree.tokens) if tree else 0
    try:
        check_links(links, source_size, len(candidate.tokens))
    except FormatError as error:
        raise FormatError(
            f"segment {candidate.segment}: {error}; the candidate is {candidate.text!r}"
        ) from None
    return linked_positions(links, source_size)


def pilot_line(query: Query) -> str:
    """A query with ``gap="words"`` in the authors' form: ``i j_k ||| phrase ||| count ||| candidate ||| start``."""
    span = f"{query.span.start}_{query.span.stop - 1}"
    fields = [
        f"{query.segment} {span}",
        query.phrase,
        str(query.candidates),
        query.example,
        str(query.positions[0]),
    ]
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
    """Write queries as JSONL, as CSV with empty columns for label and worker, or as the authors' pilot wrote them.

    In CSV, which people read, phrases have upper and lower case as in the example; in JSONL they are keys.
    """
    if form == "csv":
        write_records(
            stream, CSV_FIELDS, ({**query_record(query), "phrase": as_written(query)} for query in queries)
        )
        return
    write = pilot_line if form == "pilot" else _json_line
    for query in queries:
        stream.write(f"{write(query)}\n")


_quoted = json.encoder.encode_basestring  # as JSON writes a string, characters that are not ASCII as they are


def _json_line(query: Query) -> str:
    """A query's record as JSON; written out, for there may be hundreds of thousands."""
    value = "" if query.value is None else f', "value": {json.dumps(query.value)}'
    return (
        f'{{"segment": {_quoted(query.segment)}, "start": {query.span[0]}, "stop": {query.span[1]}, '
        f'"source_text": {_quoted(query.source_text)}, "source_phrase": {_quoted(query.source_phrase)}, '
        f'"phrase": {_quoted(query.phrase)}, "candidates": {query.candidates}, "example": {_quoted(query.example)}, '
        f'"positions": {list(query.positions)}{value}}}'
    )
