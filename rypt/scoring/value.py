"""Which labels to buy first: those that may change which candidates are at the top (beyond the paper's frontier).

The tree model says how likely a YES is, and what each answer would do to the expected score of every candidate with
that phrase. The value of a query is what its answer adds, on average, to the soft maximum of a segment's scores,

    value = P(YES) · top(scores | YES) + P(NO) · top(scores | NO) - top(scores),   top(s) = t · log mean exp(s / t),

so a label is worth much when its answer is open, reaches far in the tree, and tells near-best candidates apart; one
that does the same to all candidates is worth nothing. (That other phrases of the constituent were then asked about and
this one was not is left out of account.) All labels are taken to need the same seconds, so the first ones in this
order are what a second of a worker's time buys most with.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from rypt.arrays import Floats, Ids, Ints
from rypt.compiled import compiled_if_large
from rypt.database.vote_columns import KeyColumns
from rypt.records import Candidate, Query, Span
from rypt.scoring.model import LabelModel
from rypt.scoring.observations import NO_ROW, YES_ROW, Forest, JudgedPhrases, Observations, vote_code
from rypt.text import RyptError

SHARPNESS = 0.005  # t above: candidates so much below the best are still worth telling from it
WORTHLESS = 1e-9  # a value of no more is rounding


class Place(NamedTuple):
    """Where a phrase without a label stands: its constituent in the tree, and the candidates that have it."""

    node: int
    candidates: Ints


@dataclass(frozen=True, slots=True)
class QueryPlaces(Sequence[Place]):
    """The places of many queries: the candidates of query q are ``candidates[offsets[q]:offsets[q + 1]]``, sorted."""

    nodes: Ints
    offsets: Ints
    candidates: Ints

    @classmethod
    def of(cls, places: Sequence[Place]) -> "QueryPlaces":
        """Any places in one."""
        if isinstance(places, cls):
            return places
        offsets = np.cumsum([0, *(len(place.candidates) for place in places)], dtype=np.int64)
        candidates = np.concatenate([np.empty(0, np.int64), *(place.candidates for place in places)])
        return cls(np.array([place.node for place in places], np.int64), offsets, candidates)

    def __len__(self) -> int:
        return len(self.nodes)

    @overload
    def __getitem__(self, index: int) -> Place: ...
    @overload
    def __getitem__(self, index: slice) -> list[Place]: ...
    def __getitem__(self, index: int | slice) -> Place | list[Place]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        return Place(int(self.nodes[at]), self.candidates[self.offsets[at] : self.offsets[at + 1]])


def query_values(
    model: LabelModel,
    observations: Observations,
    places: Sequence[Place],
    *,
    votes: int = 1,
    sharpness: float = SHARPNESS,
) -> Floats:
    """The value of each place; candidates are numbered as in ``observations``, and one place is in one segment.

    ``votes`` is how many workers answer a query; for its value they are taken to agree.
    """
    given = QueryPlaces.of(places)
    values = np.zeros(len(given))
    if not len(observations):
        return values
    scores = model.score(model.stats(observations))
    members = np.argsort(observations.segments, kind="stable")
    firsts = np.searchsorted(observations.segments[members], np.arange(len(observations.forest.trees) + 1))
    tops = np.full(len(observations.forest.trees), np.nan)
    grades = len(observations.grades.votes)
    for first, stop in _chunks(given, observations):
        offsets = given.offsets[first : stop + 1]
        has = given.candidates[offsets[0] : offsets[-1]]
        asked = observations.take(has)
        at = asked.offsets[:-1] + np.repeat(given.nodes[first:stop], np.diff(offsets))
        answered: list[Floats] = []
        for code, row in ((vote_code(votes, 0, 0), YES_ROW), (vote_code(0, votes, 0), NO_ROW)):
            asked.codes[at], asked.rows[at] = code, grades + row
            answered.append(model.score(model.stats(asked)))
        yes, no = answered
        add_gains(
            observations.segments,
            members,
            firsts,
            scores,
            has,
            offsets - offsets[0],
            yes,
            no,
            sharpness,
            tops,
            values[first:stop],
        )
    return values


def _chunks(
    places: QueryPlaces, observations: Observations, room: int = 2_000_000
) -> Iterable[tuple[int, int]]:
    """Runs of places whose candidates have about ``room`` constituents, from first up to stop."""
    sizes = np.cumsum(np.append(0, np.diff(observations.offsets)[places.candidates]))[places.offsets]
    first = 0
    while first < len(places):
        stop = int(np.searchsorted(sizes, sizes[first] + room))
        stop = min(max(stop, first + 1), len(places))
        if sizes[stop] > sizes[first]:
            yield first, stop
        first = stop


@compiled_if_large
def _top(scores: Floats, size: int, sharpness: float) -> float:
    """The soft maximum of the first ``size`` scores."""
    best = float(scores[0])
    for i in range(size):
        best = max(best, float(scores[i]))
    total = 0.0
    for i in range(size):
        total += math.exp((scores[i] - best) / sharpness)
    return best + sharpness * math.log(total / size)


@compiled_if_large
def add_gains(
    segments: Ids,
    members: Ints,
    firsts: Ints,
    scores: Floats,
    has: Ints,
    offsets: Ints,
    yes: Floats,
    no: Floats,
    sharpness: float,
    tops: Floats,
    values: Floats,
) -> None:
    """The value of queries; those with the phrase of query q are ``has[offsets[q]:offsets[q + 1]]``, sorted.

    ``members`` are candidates by segment, ``yes`` and ``no`` the scores under each answer of those that have a phrase,
    ``tops`` the soft maxima of segments now, nan where unknown. P(YES) is that under which the answers, on average,
    leave the scores where they are: an answer that the model expects tells it nothing.
    """
    room = 1
    for segment in range(len(firsts) - 1):
        room = max(room, firsts[segment + 1] - firsts[segment])
    now, if_yes, if_no = np.empty(room), np.empty(room), np.empty(room)
    for query in range(len(values)):
        first, stop = offsets[query], offsets[query + 1]
        reach, below = 0.0, 0.0
        for i in range(first, stop):
            reach += yes[i] - no[i]
            below += scores[has[i]] - no[i]
        if first == stop or reach <= 0:
            continue
        p = min(1.0, max(0.0, below / reach))
        segment = segments[has[first]]
        start, size = firsts[segment], firsts[segment + 1] - firsts[segment]
        i = first
        for k in range(size):
            candidate = members[start + k]
            now[k] = if_yes[k] = if_no[k] = scores[candidate]
            if i < stop and has[i] == candidate:
                if_yes[k], if_no[k] = yes[i], no[i]
                i += 1
        if math.isnan(tops[segment]):
            tops[segment] = _top(now, size, sharpness)
        gain = p * _top(if_yes, size, sharpness) + (1 - p) * _top(if_no, size, sharpness) - tops[segment]
        values[query] = max(0.0, gain)


def places_of(
    forest: Forest, queries: Sequence[Query], candidates: Sequence[Candidate], case: str
) -> QueryPlaces:
    """Where the phrases of queries, which are keys, stand in these candidates."""
    spans: dict[tuple[str, Span], int] = {}
    span = np.array(
        [spans.setdefault((query.segment, query.span), len(spans)) for query in queries], np.int32
    )
    phrases = JudgedPhrases(forest, KeyColumns(list(spans), span, [query.phrase for query in queries]))
    if phrases.used is not None and not phrases.used.all():
        query = queries[int(np.argmin(phrases.used))]
        forest.position(query.segment)
        raise RyptError(f"{query.span} is no constituent of segment {query.segment}")
    looked_up = phrases.rows(candidates, case)
    at = np.flatnonzero(looked_up.rows >= 0)
    at = at[np.argsort(looked_up.rows[at], kind="stable")]
    whose = np.searchsorted(looked_up.offsets, at, side="right") - 1
    offsets = np.searchsorted(looked_up.rows[at], np.arange(len(queries) + 1))
    return QueryPlaces(phrases.arrays.nodes.astype(np.int64), offsets, whose)
