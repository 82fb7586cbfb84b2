"""Metrics a tuner can climb: statistics of candidates that add up, and scores of many sums at once."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mert.lists import NBest
from rypt.calibration import scorer_from_database
from rypt.campaign import Campaign
from rypt.nbest import RawCandidate, aligned_candidate
from rypt.records import Candidate
from rypt.scorer import Scorer
from rypt.text import InputError, PathLike, RyptError, read_lines

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Metric(Protocol):
    """What the optimizer needs of a metric; higher is better."""

    @property
    def signature(self) -> str:
        """All that a score depends on besides the data."""

    def stats(self, lists: NBest) -> Ints:
        """Integers for each candidate, (candidates, columns)."""

    def score(self, sums: Ints) -> Floats:
        """The score of each row of summed statistics."""


def read_references(paths: Sequence[PathLike]) -> list[list[str]]:
    """Reference files, a line each segment; all must have the same number of lines."""
    references = [[line for _, line in read_lines(path)] for path in paths]
    for path, lines in zip(paths, references, strict=True):
        if len(lines) != len(references[0]):
            raise InputError(
                path, len(lines), f"expected {len(references[0])} lines like {paths[0]}, found {len(lines)}"
            )
    return references


class Rypt:
    """RYPT with the judgments of a campaign; lists need alignments."""

    def __init__(self, scorer: Scorer, align: Callable[[RawCandidate], Candidate]) -> None:
        self.scorer = scorer
        self.align = align

    @classmethod
    def from_campaign(cls, folder: PathLike) -> "Rypt":
        """The metric of a campaign: its trees, its database, its settings."""
        campaign = Campaign.open(folder)
        segments = {segment.id: segment for segment in campaign.segments}

        def align(raw: RawCandidate) -> Candidate:
            if raw.segment not in segments:
                raise RyptError(f"segment {raw.segment!r} of the list is not in the campaign {folder}")
            return aligned_candidate(raw, segments[raw.segment], campaign.lexicon)

        settings = campaign.scoring
        with campaign.database() as db:
            scorer = scorer_from_database(
                campaign.trees,
                db,
                campaign.candidates,
                model=settings.model,
                unknown=settings.unknown,
                ties=settings.ties,
            )
        return cls(scorer, align)

    @property
    def signature(self) -> str:
        """The scorer's signature."""
        return self.scorer.signature

    def stats(self, lists: NBest) -> Ints:
        """The model's statistics of each candidate."""
        return self.scorer.stats([self.align(raw) for raw in lists.candidates])

    def score(self, sums: Ints) -> Floats:
        """RYPT of each row, from 0 to 1."""
        return self.scorer.score(sums)
