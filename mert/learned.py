"""PRO and MIRA under the constraints of a problem: weights that are held, tied or bounded."""

from copy import deepcopy
from typing import Any

import numpy as np

from mert.learners.mira import mira
from mert.learners.pro import fit_pairs, no_pairs, sample_pairs, skip_samples
from mert.optimize import TuningProblem
from mert.search.share import Share, combine, rate_rows
from rypt.arrays import Floats

THRESHOLD = 0.05  # of PRO: the least difference of scores that is learned from, the best score being 1
KEPT = 50  # of PRO: pairs of a segment


def learned(
    problem: TuningProblem, start: Floats, algorithm: str, rng: np.random.Generator, samples: int = 5000
) -> Floats:
    """The weights of PRO or MIRA, which see one feature for each axis, tied weights being one, and what is held.

    ``samples`` is the number of pairs of a segment that PRO looks at.
    """
    free = problem.free
    held = np.where(free, 0.0, start)
    places = [int(np.flatnonzero(axis)[0]) for axis in problem.axes]
    lengths = np.array([start[i] / axis[i] for i, axis in zip(places, problem.axes, strict=True)])
    beginning, moving = np.append(lengths, 1.0), np.append(np.ones(len(places), np.bool_), False)
    scale = problem.metric.scale
    if algorithm == "pro":
        states = []
        for sizes in problem.shares.sizes:
            states.append(deepcopy(rng.bit_generator.state))
            if len(problem.shares.sizes) > 1:
                skip_samples(sizes, rng, samples)
        asked = (problem.axes, held, samples, THRESHOLD * scale)
        pairs = np.concatenate(problem.shares.ask(_pair_differences, *asked, each=states))
        if not len(pairs):
            raise no_pairs(THRESHOLD * scale)
        reached = fit_pairs(pairs, beginning, moving)
    else:
        share = problem.whole
        features = _along_axes(share, problem.axes, held)
        reached = mira(
            share.offsets, features, share.stats, problem.rate, beginning, moving, rng, scale=scale
        )
    return problem.moved(held, reached[:-1])


def _along_axes(share: Share, axes: Floats, held: Floats) -> Floats:
    """One feature for each axis, and what is held, (candidates, axes + 1)."""
    return np.stack([*(combine(share.features, axis) for axis in axes), share.values(held)], axis=1)


def _pair_differences(
    share: Share, axes: Floats, held: Floats, samples: int, threshold: float, state: dict[str, Any]
) -> Floats:
    """The pairs that PRO learns from, (pairs, axes + 1), drawn by a generator in the given state."""
    rng = np.random.default_rng()
    rng.bit_generator.state = state
    better, worse = sample_pairs(share.offsets, rate_rows(share, share.stats), rng, samples, KEPT, threshold)
    rows, places = np.unique(np.concatenate([better, worse]), return_inverse=True)
    base = None if share.base is None else share.base[rows]
    seen = Share(share.offsets[:1], np.asfortranarray(share.features[rows]), base, share.stats[:0])
    features = _along_axes(seen, axes, held)
    return features[places[: len(better)]] - features[places[len(better) :]]
