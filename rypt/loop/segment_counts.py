"""What is labelled and what could still be asked, segment by segment: so that a change counts only its segments again.

counts, places = count_segments(campaign.part(["12"]), db, marks)
counts["12"].open
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from rypt.arrays import Ints
from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.database.votes import read_votes
from rypt.records import Candidate, Query
from rypt.scoring.observations import Observations, Places
from rypt.scoring.percolation import NO, NO_UP, YES, YES_DOWN
from rypt.scoring.queries import open_queries
from rypt.scoring.scorer import Scorer

PhraseWatch = Callable[[Iterable[Query]], Iterable[Query]]  # shows how many phrases there are so far
FEW = 100  # segments whose votes are read one by one


class SegmentCounts(NamedTuple):
    """The candidates of a segment, and their constituents: all, labelled directly, labelled by percolation.

    ``votes`` changes with the votes (`JudgmentDatabase.vote_marks`), ``texts`` with the candidates
    (`text_marks`). ``open`` phrases of the frontier have no label. ``several`` is 1 where there are
    several candidates, ``apart`` where, too, labels tell some of them apart.
    """

    votes: int
    texts: int
    candidates: int = 0
    nodes: int = 0
    direct: int = 0
    percolated: int = 0
    open: int = 0
    several: int = 0
    apart: int = 0


class Marks(NamedTuple):
    """For each segment numbers that change with its votes and with its candidates, none where it has none."""

    votes: Mapping[str, int]
    texts: Mapping[str, int]

    def of(self, segment: str) -> tuple[int, int]:
        """Those of one segment."""
        return self.votes.get(segment, 0), self.texts.get(segment, 0)


def text_marks(candidates: Sequence[Candidate]) -> dict[str, int]:
    """For each segment with candidates a number that changes with their texts and links: a hash of 64 bits."""
    parts: dict[str, list[str]] = {}
    for candidate in candidates:
        parts.setdefault(candidate.segment, []).append(f"{candidate.text}\n{candidate.alignment}\n")
    return {
        name: int.from_bytes(blake2b("".join(lines).encode(), digest_size=8).digest())
        for name, lines in parts.items()
    }


def count_segments(
    campaign: Campaign,
    db: JudgmentDatabase,
    marks: Marks,
    watch: PhraseWatch = lambda phrases: phrases,
    only: Set[str] | None = None,
) -> tuple[dict[str, SegmentCounts], Places | None]:
    """The counts of each segment of a campaign, or of a part of one, and where its judged phrases stand.

    With ``only``, ids of segments, those of a campaign that has been read are counted alone.
    """
    trees, candidates = campaign.trees, campaign.candidates
    if only is not None:
        trees, candidates = (
            {name: trees[name] for name in trees if name in only},
            [c for c in candidates if c.segment in only],
        )
    counts = {name: SegmentCounts(*marks.of(name)) for name in trees}
    if not candidates:
        return counts, None
    if len(counts) <= FEW:
        scorer = Scorer(trees, [vote for name in counts for vote in db.votes(name)])
    else:
        scorer = Scorer(trees, read_votes(db))
    forest = scorer.forest
    places = scorer.judged.look_up(candidates, db.case)
    open_phrases = _count_open(campaign, places, candidates, db.case, watch)
    columns = _columns(places.observe(scorer.counts), campaign.scoring.ties)
    for name, place in forest.index.items():
        given, nodes, direct, expanded, differ = columns[place].tolist()
        several = int(given > 1)
        counts[name] = SegmentCounts(
            *marks.of(name),
            given,
            nodes,
            direct,
            expanded,
            int(open_phrases[place]),
            several,
            several * differ,
        )
    return counts, places


def _count_open(
    campaign: Campaign, places: Places, candidates: Sequence[Candidate], case: str, watch: PhraseWatch
) -> Ints:
    """The number of phrases of each segment's frontier that nobody judged."""
    asked = open_queries(places, candidates, max_len=campaign.scoring.max_len, case=case)
    segments = [places.forest.index[query.segment] for query in watch(asked)]
    return np.bincount(np.array(segments, np.int64), minlength=len(places.forest.trees))


def _columns(observations: Observations, ties: str) -> Ints:
    """For each segment its candidates, constituents, direct labels, percolated ones, and whether candidates differ."""
    states, _ = observations.percolated(ties)
    known = (states == YES) | (states == NO)
    expanded = (states == YES_DOWN) | (states == NO_UP)
    yes, no = (
        observations.sums((states == given) | (states == inferred))
        for given, inferred in ((YES, YES_DOWN), (NO, NO_UP))
    )
    segments = observations.segments
    size = len(observations.forest.trees)
    room = int(np.diff(observations.offsets).max(initial=0)) + 1  # above every count of yes and no
    kinds = np.unique((segments.astype(np.int64) * room + yes) * room + no) // room**2
    given = (observations.sums(some) for some in (known, expanded))
    sums = [np.bincount(segments, each, minlength=size) for each in (np.diff(observations.offsets), *given)]
    differ = np.bincount(kinds, minlength=size) > 1
    return np.stack([np.bincount(segments, minlength=size), *sums, differ], axis=1).astype(np.int64)
