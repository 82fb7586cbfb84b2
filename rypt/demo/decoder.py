"""The demo's decoder: it ranks a bundled list of candidates by the weights, and writes the best of each segment.

    python -m rypt.demo.decoder POOL --weights FILE --nbest FILE --size 15

Other weights give other candidates, as with a real decoder. The pool has the lines of an n-best list, with true
acceptability in the place of the decoder's score (see the data's README).
"""

import argparse
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rypt.text import PathLike, open_output, read_lines


class PoolCandidate(NamedTuple):
    """A candidate of a pool; ``acceptable`` is the share of its constituents that are acceptable."""

    segment: str
    text: str
    features: str
    acceptable: float
    links: str

    @property
    def values(self) -> list[float]:
        """The values of the features, in the order of the weights."""
        return [float(word) for word in self.features.split() if not word.endswith("=")]


def read_pool(path: PathLike) -> list[PoolCandidate]:
    rows = (line.split(" ||| ") for _, line in read_lines(path))
    return [
        PoolCandidate(name, text, features, float(share), links)
        for name, text, features, share, links in rows
    ]


def decode(pool: PathLike, weights: PathLike, nbest: PathLike, size: int) -> None:
    """Write the ``size`` best candidates of each segment of a pool under the weights."""
    vector = np.array([float(word) for _, line in read_lines(weights) for word in line.split()[1:]])
    with open_output(nbest) as stream:
        for segment, group in groupby(read_pool(pool), key=lambda candidate: candidate.segment):
            candidates = list(group)
            totals = np.array([candidate.values for candidate in candidates]) @ vector
            for i in np.argsort(-totals, kind="stable")[:size]:
                text, features, links = candidates[i].text, candidates[i].features, candidates[i].links
                stream.write(f"{segment} ||| {text} ||| {features} ||| {totals[i]:.6g} ||| {links}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Rank a list of candidates by weights.")
    parser.add_argument("pool", type=Path, help="candidates, those of a segment together")
    parser.add_argument("--weights", type=Path, required=True, help="a line Name= value … for each feature")
    parser.add_argument("--nbest", type=Path, required=True, help="n-best list to write")
    parser.add_argument("--size", type=int, default=15, help="candidates per segment [15]")
    options = parser.parse_args()
    decode(options.pool, options.weights, options.nbest, options.size)
