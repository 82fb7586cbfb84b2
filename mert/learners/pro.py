"""Pairwise ranking optimisation (Hopkins & May 2011): learn to tell the better of two candidates of a segment.

Pairs are sampled, those whose scores differ most are kept, and a logistic regression on the differences of their
features gives the weights. Only scores of single candidates enter, so it copes with many features, but it does not see
the corpus score.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats, Ints, Score
from rypt.text import RyptError

MAX_NEWTON_STEPS = 200
PRECISION = 1e-14  # a last Newton step is made when it promises less than this
ROUNDING = 1e-11  # relative: a loss that rises by less has not risen


def pro(
    offsets: Ints,
    features: Floats,
    stats: Ints,
    score: Score,
    start: Floats,
    free: NDArray[np.bool_],
    rng: np.random.Generator,
    *,
    scale: float,
    sentence_score: Score | None = None,
    samples: int = 5000,
    kept: int = 50,
    threshold: float = 0.05,
    l2: float = 1.0,
    interpolate: float = 1.0,
) -> Floats:
    """The weights under which better candidates win most of the sampled pairs.

    ``offsets`` says where the candidates of each segment begin, and one more; ``features`` are (candidates, features),
    ``stats`` (candidates, columns); ``score`` rates rows of statistics, higher is better, and ``scale`` is its value
    for a perfect candidate. ``sentence_score``, on the same scale, replaces it where a score of one candidate alone
    needs smoothing, as BLEU does. Of ``samples`` pairs a segment, the ``kept`` with the largest differences of at least
    ``threshold`` (a share of the scale) are learned from.

    Weights that are not ``free`` stay as they are and take part in the margins. So do those of features that differ in
    no pair. If the weights that stay decide nothing, the length of the others is arbitrary, and they are given the sum
    of absolute values they had at the start. ``interpolate`` is the share of the new weights in the answer, the rest
    being the start: a value of about 0.1 calms a tuning loop with a decoder.
    """
    if not 0 < interpolate <= 1 or l2 <= 0:
        raise RyptError(
            f"expected an interpolation above 0 and at most 1 and an l2 above 0, found {interpolate}, {l2}"
        )
    quality = (sentence_score or score)(stats)
    better, worse = sample_pairs(offsets, quality, rng, samples, kept, threshold * scale)
    if not len(better):
        raise no_pairs(threshold * scale)
    return fit_pairs(features[better] - features[worse], start, free, l2=l2, interpolate=interpolate)


def fit_pairs(
    differences: Floats, start: Floats, free: NDArray[np.bool_], *, l2: float = 1.0, interpolate: float = 1.0
) -> Floats:
    """The weights that pairs of candidates teach: ``differences`` (pairs, features) are the better less the worse.

    The rest is as `pro` says.
    """
    spread = np.sqrt((differences**2).mean(axis=0))
    moving = free & (spread > 0)
    margins = differences[:, ~moving] @ start[~moving]
    fitted = start.copy()
    fitted[moving] = fit_logistic(differences[:, moving] / spread[moving], margins, l2) / spread[moving]
    before, after = np.abs(start[moving]).sum(), np.abs(fitted[moving]).sum()
    if not margins.any() and before > 0 and after > 0:
        fitted[moving] *= before / after
    return np.where(moving, start + interpolate * (fitted - start), start)


def no_pairs(threshold: float) -> RyptError:
    """The error where no pair differs enough."""
    return RyptError(
        f"no pair of candidates to learn from: in none of the sampled ones do the scores differ by {threshold:g} or "
        "more; lower the threshold"
    )


def sample_pairs(
    offsets: Ints, quality: Floats, rng: np.random.Generator, samples: int, kept: int, threshold: float
) -> tuple[Ints, Ints]:
    """The better and the worse candidates of the pairs kept from all segments."""
    better, worse = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for begin, end in pairwise(offsets):
        if end - begin < 2:
            continue
        first, second = rng.integers(begin, end, size=(2, samples))
        gaps = quality[first] - quality[second]
        order = np.argsort(-np.abs(gaps), kind="stable")[:kept]
        order = order[(np.abs(gaps[order]) >= threshold) & (gaps[order] != 0)]
        wins = gaps[order] > 0
        better.append(np.where(wins, first[order], second[order]))
        worse.append(np.where(wins, second[order], first[order]))
    return np.concatenate(better), np.concatenate(worse)


def skip_samples(sizes: Ints, rng: np.random.Generator, samples: int) -> None:
    """Bring a generator where `sample_pairs` leaves it after segments of these sizes."""
    for size in sizes:
        if size > 1:
            rng.integers(0, size, size=(2, samples))


def fit_logistic(differences: Floats, margins: Floats, l2: float) -> Floats:
    """The weights w with the least Σ log(1 + exp(-(margin + w · difference))) + l2/2 |w|², by Newton's method.

    Each row is a pair, the better candidate minus the worse; without an intercept the opposite sign would tell the
    same once more. ``l2`` treats all columns alike: `pro` divides them by their root mean square first, so a feature
    measured in other units gets the same say.

    >>> fit_logistic(np.array([[1.0], [1.0], [-1.0]]), np.zeros(3), 1e-9).round(4)  # log 2: right twice, wrong once
    array([0.6931])
    """

    def loss(weights: Floats) -> float:
        return float(np.logaddexp(0, -(margins + differences @ weights)).sum() + l2 / 2 * weights @ weights)

    weights = np.zeros(differences.shape[1])
    value = loss(weights)
    for _ in range(MAX_NEWTON_STEPS):
        wrong = np.exp(
            -np.logaddexp(0, margins + differences @ weights)
        )  # the probability of the wrong order
        gradient = l2 * weights - differences.T @ wrong
        curvature = (differences.T * (wrong * (1 - wrong))) @ differences + l2 * np.eye(len(weights))
        direction = np.linalg.solve(curvature, gradient)
        promise = float(gradient @ direction)
        length = 1.0
        while (
            reached := loss(weights - length * direction)
        ) > value - 1e-4 * length * promise + ROUNDING * value:
            length /= 2
        weights, value = weights - length * direction, reached
        if promise < PRECISION:
            break
    return weights
