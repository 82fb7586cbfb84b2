"""Which labels to buy first: those that may change which candidates are at the top (beyond the paper's frontier).

The tree model says how likely a YES is, and what each answer would do to the expected score of every candidate with
that phrase. The value of a query is what its answer adds, on average, to the soft maximum of a segment's scores,

    value = P(YES) · top(scores | YES) + P(NO) · top(scores | NO) - top(scores),   top(s) = t · log mean exp(s / t),

so a label is worth much when its answer is open, reaches far in the tree, and tells near-best candidates apart; one
that does the same to all candidates is worth nothing. (That other phrases of the constituent were then asked about and
this one was not is left out of account.) All labels are taken to need the same seconds, so the first ones in this
order are what a second of a worker's time buys most with.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats
from rypt.metric.model import LabelModel
from rypt.metric.observations import NO_ROW, YES_ROW, Forest, JudgedPhrases, Observations, vote_code
from rypt.records import Candidate, Query, Votes
from rypt.text import RyptError

SHARPNESS = 0.005  # t above: candidates so much below the best are still worth telling from it
WORTHLESS = 1e-9  # a value of no more is rounding


@dataclass(frozen=True, slots=True)
class Place:
    """Where a phrase without a label stands: its constituent in the tree, and the candidates that have it."""

    node: int
    candidates: NDArray[np.int64]


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
    values = np.zeros(len(places))
    if not len(observations):
        return values
    scores = model.score(model.stats(observations))
    members = _by_segment(observations)
    for some in _chunks(places, observations):
        has = [places[i].candidates for i in some]
        sizes = [len(candidates) for candidates in has]
        nodes = np.repeat([places[i].node for i in some], sizes)
        answered = []
        for code, row in ((vote_code(votes, 0, 0), YES_ROW), (vote_code(0, votes, 0), NO_ROW)):
            asked = observations.take(np.concatenate(has))
            asked.codes[asked.offsets[:-1] + nodes] = code
            asked.rows[asked.offsets[:-1] + nodes] = len(observations.grades.votes) + row
            answered.append(np.split(model.score(model.stats(asked)), np.cumsum(sizes)[:-1]))
        for i, yes, no in zip(some, *answered, strict=True):
            place = places[i]
            of_segment = members[int(observations.segments[place.candidates[0]])]
            values[i] = _gain(scores, of_segment, place.candidates, yes, no, sharpness)
    return values


def _chunks(places: Sequence[Place], observations: Observations, room: int = 2_000_000) -> Iterable[list[int]]:
    """Places in groups whose candidates have about ``room`` constituents."""
    sizes = np.diff(observations.offsets)
    group: list[int] = []
    used = 0
    for i, place in enumerate(places):
        if not len(place.candidates):
            continue
        group.append(i)
        used += int(sizes[place.candidates].sum())
        if used >= room:
            yield group
            group, used = [], 0
    if group:
        yield group


def _by_segment(observations: Observations) -> dict[int, NDArray[np.int64]]:
    order = np.argsort(observations.segments, kind="stable")
    segments, firsts = np.unique(observations.segments[order], return_index=True)
    return dict(zip(segments.tolist(), np.split(order, firsts[1:]), strict=True))


def _gain(
    scores: Floats, of_segment: NDArray[np.int64], has: NDArray[np.int64], yes: Floats, no: Floats, sharpness: float
) -> float:
    """The value of one query; ``of_segment`` are all candidates of the segment, ``has`` those with the phrase.

    P(YES) is that under which the answers, on average, leave the scores where they are: an answer that the model
    expects tells it nothing.
    """
    now = scores[of_segment]
    at = np.searchsorted(of_segment, has)
    reach = float((yes - no).sum())
    if reach <= 0:
        return 0.0
    p = min(1.0, max(0.0, float((now[at] - no).sum()) / reach))
    if_yes, if_no = now.copy(), now.copy()
    if_yes[at], if_no[at] = yes, no
    return max(0.0, p * _top(if_yes, sharpness) + (1 - p) * _top(if_no, sharpness) - _top(now, sharpness))


def _top(scores: Floats, sharpness: float) -> float:
    best = scores.max()
    return float(best + sharpness * np.log(np.mean(np.exp((scores - best) / sharpness))))


def places_of(forest: Forest, queries: Sequence[Query], candidates: Sequence[Candidate], case: str) -> list[Place]:
    """Where the phrases of queries, which are keys, stand in these candidates."""
    phrases = JudgedPhrases(forest, (Votes(query.segment, query.span, query.phrase, 1, 0) for query in queries))
    looked_up = phrases.rows(candidates, case)
    at = np.flatnonzero(looked_up.rows >= 0)
    at = at[np.argsort(looked_up.rows[at], kind="stable")]
    whose = np.searchsorted(looked_up.offsets, at, side="right") - 1
    bounds = np.searchsorted(looked_up.rows[at], np.arange(len(queries) + 1)).tolist()
    nodes = [_node(forest, query) for query in queries]
    return [Place(node, whose[low:high]) for node, (low, high) in zip(nodes, pairwise(bounds), strict=True)]


def _node(forest: Forest, query: Query) -> int:
    tree = forest.trees[forest.position(query.segment)]
    if tree is None or query.span not in tree.index:
        raise RyptError(f"{query.span} is no constituent of segment {query.segment}")
    return tree.index[query.span]
