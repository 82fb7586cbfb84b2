"""True acceptability as a metric of your own: what tuning could reach if the truth were known.

rypt tune --metric 'acceptability:Acceptability(part=corpus/dev)' --decoder … (from this folder)
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import accept
import numpy as np
from accept import constituents

from rypt.arrays import Floats, Ints
from rypt.metrics.metric import Resources
from rypt.options import Options
from rypt.records import Candidate

ONE = 1_000_000  # a share of 1 in whole numbers


class Acceptability:
    """The share of a segment's constituents that are acceptable by the truth of the corpus, averaged over segments."""

    maximize = True
    scale = 1.0
    signature = "acceptability|truth"

    def __init__(self, resources: Resources, options: Mapping[str, str]) -> None:
        read = Options("acceptability", options)
        part = read.text("part", "")
        read.done()
        self.spans = [constituents(tree) for tree in Path(f"{part}.trees").read_text().splitlines()]
        self.truth = accept.read_truth(Path(f"{part}.truth.jsonl"))

    def stats(self, candidates: Sequence[Candidate]) -> Ints:
        """(share · ONE, ONE) of each candidate."""
        return np.array([(self._share(candidate), ONE) for candidate in candidates], np.int64).reshape(-1, 2)

    def _share(self, candidate: Candidate) -> int:
        links: dict[int, list[int]] = {}
        for link in (candidate.alignment or "").split():
            source, _, target = link.partition("-")
            links.setdefault(int(source), []).append(int(target))
        line = accept.AlignedLine(candidate.text.split(), links)
        return round(
            ONE * accept.share(line, self.spans[int(candidate.segment)], self.truth[candidate.segment])
        )

    def score(self, sums: Ints) -> Floats:
        """The mean share."""
        right, all_of_it = sums.T
        return np.asarray(right / np.maximum(all_of_it, 1))
