"""What is labelled and what could still be asked, segment by segment: so that a change counts only its segments again.

counts, questions = count_segments(campaign.part(["12"]), db, db.vote_marks())
counts["12"].open
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from rypt.arrays import Ints
from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.database.vote_columns import VoteColumns
from rypt.metric.frontier import frontier
from rypt.metric.kernel import NOVEL, SILENT
from rypt.metric.model import count_per_candidate, percolated
from rypt.metric.observations import Forest, JudgedPhrases, Observations, label_states
from rypt.metric.percolation import NO, NO_UP, UNKNOWN, YES, YES_DOWN
from rypt.metric.queries import Key, queries
from rypt.records import Candidate, Query, Votes

CandidateWatch = Callable[[Iterable[Candidate]], Iterable[Candidate]]
FEW = 100  # segments whose votes are read one by one


class SegmentCounts(NamedTuple):
    """The candidates of a segment, and their constituents: all, labelled directly, labelled by percolation.

    ``mark`` changes with the votes (`JudgmentDatabase.vote_marks`). ``open`` phrases of the frontier have no label.
    ``several`` is 1 where there are several candidates, ``apart`` where, too, labels tell some of them apart.
    """

    mark: int
    candidates: int = 0
    nodes: int = 0
    direct: int = 0
    percolated: int = 0
    open: int = 0
    several: int = 0
    apart: int = 0


def count_segments(
    campaign: Campaign,
    db: JudgmentDatabase,
    marks: Mapping[str, int],
    watch: CandidateWatch = lambda candidates: candidates,
) -> tuple[dict[str, SegmentCounts], list[Query]]:
    """The counts of each segment of a campaign, or of a part of one, and all open queries."""
    counts = {name: SegmentCounts(marks.get(name, 0)) for name in campaign.trees}
    if not campaign.candidates:
        return counts, []
    votes: VoteColumns | list[Votes]
    judged: VoteColumns | set[Key]
    if len(counts) <= FEW:
        votes = [vote for name in counts for vote in db.votes(name)]
        judged = {(vote.segment, vote.span, vote.phrase) for vote in votes}
    else:
        votes = judged = db.vote_columns()
    forest = Forest(campaign.trees)
    observations = JudgedPhrases(forest, votes).observe(campaign.candidates, db.case)
    asking = watch(_with_open_phrases(campaign, observations))
    left = queries(campaign.trees, asking, judged=judged, max_len=campaign.scoring.max_len, case=db.case)
    open_phrases = Counter(query.segment for query in left)
    columns = _columns(observations, campaign.scoring.ties)
    for name, place in forest.index.items():
        candidates, nodes, direct, expanded, differ = columns[place].tolist()
        several = int(candidates > 1)
        counts[name] = SegmentCounts(
            marks.get(name, 0), candidates, nodes, direct, expanded, open_phrases[name], several, several * differ
        )
    return counts, left


def _columns(observations: Observations, ties: str) -> Ints:
    """For each segment its candidates, constituents, direct labels, percolated ones, and whether candidates differ."""
    direct = label_states(ties)[observations.codes]
    states, _ = percolated(observations, ties)
    known, expanded = direct != UNKNOWN, (direct == UNKNOWN) & (states != UNKNOWN)
    yes = count_per_candidate(observations, np.isin(states, (YES, YES_DOWN)))
    no = count_per_candidate(observations, np.isin(states, (NO, NO_UP)))
    segments = observations.segments
    size = len(observations.forest.trees)
    kinds = np.unique(np.stack([segments, yes, no], axis=1), axis=0)[:, 0]
    given = (count_per_candidate(observations, some) for some in (known, expanded))
    sums = [np.bincount(segments, each, minlength=size) for each in (np.diff(observations.offsets), *given)]
    differ = np.bincount(kinds, minlength=size) > 1
    return np.stack([np.bincount(segments, minlength=size), *sums, differ], axis=1).astype(np.int64)


def _with_open_phrases(campaign: Campaign, observations: Observations) -> list[Candidate]:
    """The candidates with a phrase on the frontier that nobody judged: only these can have queries."""
    forest = observations.forest
    on_frontier = np.zeros(len(forest.parents), np.bool_)
    for segment, tree in enumerate(forest.trees):
        if tree is not None:
            on_frontier[forest.firsts[segment] + np.array(frontier(tree, campaign.scoring.max_len))] = True
    asked = on_frontier[observations.nodes] & np.isin(observations.codes, (SILENT, NOVEL))
    counts = count_per_candidate(observations, asked)
    return [candidate for candidate, count in zip(campaign.candidates, counts, strict=True) if count]
