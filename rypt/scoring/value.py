"""Which labels to buy first: those that may change which candidates are at the top (beyond the paper's frontier).

The severity model says what each answer would do to the expected penalty of every candidate with that phrase. The value
of a query is what its answer adds, on average, to the soft maximum of a segment's scores,

    value = P(YES) · top(scores | YES) + P(NO) · top(scores | NO) - top(scores),   top(s) = t · log mean exp(s / t),

so a label is worth much when its answer is open, reaches far in the tree, and changes the order of near-best candidates;
one that does the same to all candidates is worth nothing. P(YES) is that under which the answers, on average, leave the
scores where they are. All labels are taken to need the same seconds, so the first ones in this order are what a second
of a worker's time buys most with.
"""

from collections.abc import Sequence

import numpy as np

from rypt.arrays import Floats, Ids, Ints
from rypt.records import Query
from rypt.scoring.models import CHILDREN, SeverityModel
from rypt.scoring.observations import JudgedPhrases, Observations, Places
from rypt.text import RyptError

SHARPNESS = 0.005  # t above: candidates that far below the best still matter
WORTHLESS = 1e-9  # a value of no more is rounding
ROOM = 2_000_000  # scores computed at a time


def query_rows(queries: Sequence[Query], places: Places) -> Ids:
    """The index of the query about the phrase at each place, -1 where there is none."""
    asked = JudgedPhrases(places.forest, [(q.segment, *q.span, q.phrase) for q in queries])
    if asked.unused:
        query = queries[int(np.argmin(asked.nodes))]
        places.forest.position(query.segment)
        raise RyptError(f"{query.span} is no constituent of segment {query.segment}")
    return asked.places_in(places).rows


def query_values(
    model: SeverityModel, observations: Observations, rows: Ids, count: int, *, votes: int = 1
) -> Floats:
    """The value of ``count`` queries; ``rows`` has the index of the query at each place, -1 for none (`query_rows`).

    ``votes`` is how many workers answer a query; for its value they are taken to agree.
    """
    values = np.zeros(count)
    expected, influence, totals = model.penalties(observations)
    words = observations.forest.sizes[observations.segments]
    scores = 1 - totals / np.maximum(words, 1)
    places = np.flatnonzero(rows >= 0)
    whose = np.searchsorted(observations.offsets, places, side="right") - 1
    order = np.lexsort((rows[places], observations.segments[whose]))
    places, whose = places[order], whose[order]
    asked, now = rows[places], scores[whose]
    change = influence[places] * votes / (votes + CHILDREN) / words[whose]
    if_yes, if_no = now + change * expected[places], now + change * (expected[places] - model.no_penalty)
    reach, below = np.bincount(asked, if_yes - if_no, count), np.bincount(asked, now - if_no, count)
    p_yes = np.clip(np.divide(below, reach, out=np.zeros(count), where=reach > 0), 0, 1)

    members = np.argsort(observations.segments, kind="stable")
    firsts = np.searchsorted(observations.segments[members], np.arange(len(observations.forest.trees) + 1))
    column = np.empty(len(scores), np.int64)  # of each candidate among those of its segment
    column[members] = np.arange(len(scores)) - firsts[observations.segments[members]]
    segments = observations.segments[whose]
    for segment in np.unique(segments).tolist():
        of_segment = scores[members[firsts[segment] : firsts[segment + 1]]]
        start, stop = np.searchsorted(segments, [segment, segment + 1])
        queries, row = np.unique(asked[start:stop], return_inverse=True)
        step = max(1, ROOM // len(of_segment))
        for first in range(0, len(queries), step):
            some = queries[first : first + step]
            a, b = start + np.searchsorted(row, [first, first + step])
            cells = row[a - start : b - start] - first, column[whose[a:b]]
            tops = [_top_with(of_segment, len(some), cells, answer[a:b]) for answer in (if_yes, if_no)]
            gain = p_yes[some] * tops[0] + (1 - p_yes[some]) * tops[1] - _soft_maximum(of_segment)
            values[some] = np.maximum(0, gain)
    return values


def _top_with(scores: Floats, count: int, cells: tuple[Ints, Ints], answered: Floats) -> Floats:
    """The soft maximum of a segment's scores for each of some queries, with other scores in some cells."""
    table = np.tile(scores, (count, 1))
    table[cells] = answered
    return _soft_maximum(table)


def _soft_maximum(scores: Floats) -> Floats:
    best = scores.max(axis=-1, keepdims=True)
    mean = np.exp((scores - best) / SHARPNESS).mean(axis=-1)
    return np.asarray(best[..., 0] + SHARPNESS * np.log(mean), np.float64)
