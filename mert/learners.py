"""Algorithms that learn weights from pairs of candidates, as alternatives to the line search.

PRO, pairwise ranking optimisation (Hopkins & May 2011): pairs are sampled, those whose scores differ most are kept, and
a logistic regression on the differences of their features gives the weights. Only scores of single candidates enter, so
it copes with many features, but it does not see the corpus score.

Batch MIRA (Cherry & Foster 2012): online steps of the size that a margin asks for, averaged. The candidates of a segment
are compared by their gain: what the score of a background would be with this candidate in it. The background stands for
the rest of the corpus: first what the starting weights choose, then the hopes met so far, older ones fading. Hope is the
candidate with the most of model score plus gain, fear that with the most of model score minus gain.
"""

from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mert.problem import Candidates, InMemory, Problem, rate, winners
from rypt.arrays import Floats, Ints, Score
from rypt.text import RyptError

THRESHOLD = 0.05  # of PRO: the least difference of scores that is learned from, the best score being 1
KEPT = 50  # of PRO: pairs of a segment
MAX_NEWTON_STEPS = 200
PRECISION = 1e-14  # a last Newton step is made when it promises less than this
ROUNDING = 1e-11  # relative: a loss that rises by less has not risen
SIZE = (
    10.0  # of a segment whose size is not known: gains as of ten words, the unit for which c = 0.01 does well
)


def learn(
    problem: Problem, start: Floats, algorithm: str, rng: np.random.Generator, samples: int = 5000
) -> Floats:
    """The weights of ``pro`` or ``mira`` under the constraints of a problem.

    They see one feature for each axis, tied weights being one, and one for all weights that are held. ``samples`` is the
    number of pairs of a segment that PRO looks at.
    """
    held = np.where(problem.free, 0.0, start)
    places = [int(np.flatnonzero(axis)[0]) for axis in problem.axes]
    lengths = [start[i] / axis[i] for i, axis in zip(places, problem.axes, strict=True)]
    beginning, moving = np.append(lengths, 1.0), np.append(np.ones(len(places), np.bool_), False)
    if algorithm == "pro":
        reached = fit_pairs(_sampled_pairs(problem, held, rng, samples), beginning, moving)
    else:
        if not isinstance(problem.parts, InMemory):
            raise RyptError("MIRA needs the lists in the memory of one process")
        candidates = problem.parts.value
        features = _along_axes(candidates, problem.axes, held)
        scale = problem.metric.scale
        reached = mira(
            candidates.offsets, features, candidates.stats, problem.rate, beginning, moving, rng, scale=scale
        )
    return problem.moved(held, reached[:-1])


def _along_axes(candidates: Candidates, axes: Floats, held: Floats) -> Floats:
    """One feature for each axis, and what is held, (candidates, axes + 1)."""
    return np.stack([*map(candidates.slopes, axes), candidates.model_scores(held)], axis=1)


def _sampled_pairs(problem: Problem, held: Floats, rng: np.random.Generator, samples: int) -> Floats:
    """The differences of the pairs that PRO learns from, (pairs, axes + 1)."""
    generators = []
    for sizes in problem.sizes:  # each part draws what it would draw if all were in one
        generators.append(deepcopy(rng))
        for size in sizes[sizes > 1] if len(problem.sizes) > 1 else ():
            rng.integers(0, size, size=(2, samples))
    least = THRESHOLD * problem.metric.scale
    found = problem.parts.ask(_pair_differences, problem.axes, held, samples, least, each=generators)
    pairs = np.concatenate(found)
    if not len(pairs):
        raise RyptError(
            f"no pair of candidates to learn from: in none of the sampled ones do the scores differ by {least:g} or more"
        )
    return pairs


def _pair_differences(
    candidates: Candidates, axes: Floats, held: Floats, samples: int, least: float, rng: np.random.Generator
) -> Floats:
    quality = rate(candidates.metric, np.concatenate([candidates.stats, candidates.stats[:1]]))[:-1]
    better, worse = sample_pairs(candidates.offsets, quality, rng, samples, KEPT, least)
    rows, places = np.unique(np.concatenate([better, worse]), return_inverse=True)
    features = _along_axes(
        candidates._replace(
            features=np.asfortranarray(candidates.features[rows]),
            held=None if candidates.held is None else candidates.held[rows],
        ),
        axes,
        held,
    )
    return features[places[: len(better)]] - features[places[len(better) :]]


def sample_pairs(
    offsets: Ints, quality: Floats, rng: np.random.Generator, samples: int, kept: int, least: float
) -> tuple[Ints, Ints]:
    """The better and the worse candidates of the pairs kept from all segments: those that differ most."""
    better, worse = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for begin, end in pairwise(offsets):
        if end - begin < 2:
            continue
        first, second = rng.integers(begin, end, size=(2, samples))
        gaps = quality[first] - quality[second]
        order = np.argsort(-np.abs(gaps), kind="stable")[:kept]
        order = order[(np.abs(gaps[order]) >= least) & (gaps[order] != 0)]
        wins = gaps[order] > 0
        better.append(np.where(wins, first[order], second[order]))
        worse.append(np.where(wins, second[order], first[order]))
    return np.concatenate(better), np.concatenate(worse)


def fit_pairs(differences: Floats, start: Floats, free: NDArray[np.bool_]) -> Floats:
    """The weights that pairs of candidates teach: ``differences`` (pairs, features) are the better less the worse.

    Weights that are not ``free`` stay as they are and take part in the margins. So do those of features that differ in
    no pair. If the weights that stay decide nothing, the length of the others is arbitrary, and they are given the sum
    of absolute values they had at the start.
    """
    spread = np.sqrt((differences**2).mean(axis=0))
    moving = free & (spread > 0)
    margins = differences[:, ~moving] @ start[~moving]
    fitted = start.copy()
    fitted[moving] = fit_logistic(differences[:, moving] / spread[moving], margins, 1.0) / spread[moving]
    before, after = np.abs(start[moving]).sum(), np.abs(fitted[moving]).sum()
    if not margins.any() and before > 0 and after > 0:
        fitted[moving] *= before / after
    return fitted


def fit_logistic(differences: Floats, margins: Floats, l2: float) -> Floats:
    """The weights w with the least Σ log(1 + exp(-(margin + w · difference))) + l2/2 |w|², by Newton's method.

    Each row is a pair, the better candidate minus the worse; without an intercept the opposite sign would tell the
    same once more. ``l2`` treats all columns alike: `fit_pairs` divides them by their root mean square first, so a feature
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


@dataclass(slots=True)
class Background:
    """Summed statistics of fading candidates, and the summed size of their segments."""

    sums: Floats
    size: float
    decay: float  # what is left of both after one more segment

    def gains(self, rows: Ints, size: float, score: Score, scale: float) -> Floats:
        """What each candidate makes of the background: its size with the candidate, times its score with it.

        The size makes up for the small share one candidate has in the sum, so gains depend little on how much the
        background holds. Its sums are rounded, for statistics are integers.
        """
        return score(np.rint(self.sums).astype(np.int64) + rows) * ((self.size + size) / scale)

    def add(self, row: Ints, size: float) -> None:
        """Let the background fade, then add a candidate."""
        self.sums = self.decay * self.sums + row
        self.size = self.decay * self.size + size


def mira(
    offsets: Ints,
    features: Floats,
    stats: Ints,
    score: Score,
    start: Floats,
    free: NDArray[np.bool_],
    rng: np.random.Generator,
    *,
    scale: float,
    sizes: Floats | None = None,
    c: float = 0.01,
    decay: float = 0.999,
    passes: int = 60,
) -> Floats:
    """The averaged weights after that pass over the segments after which they score best; the start if none is better.

    ``offsets`` says where the candidates of each segment begin, and one more; ``features`` are (candidates, features),
    ``stats`` (candidates, columns); ``score`` rates rows of summed statistics, higher is better, and ``scale`` is its
    value for perfect candidates. Weights that are not ``free`` stay as they are and take part in the margins. ``sizes``
    of the segments, such as their numbers of words, give long ones more say; without them all have `SIZE`. ``c`` is the
    largest step, ``decay`` how much of the background is left after one more segment. Steps depend on the units of
    features and gains: ``c`` suits features that differ by a few units between the candidates of a segment.
    """
    if c <= 0 or not 0 < decay <= 1:
        raise RyptError(f"expected a c above 0 and a decay above 0 and at most 1, found {c} and {decay}")
    filled = np.diff(offsets) > 0
    if not filled.any():
        return start.copy()
    bounds, features = np.append(offsets[:-1][filled], offsets[-1]), np.ascontiguousarray(features)
    sizes = np.full(len(bounds) - 1, SIZE) if sizes is None else sizes[filled]

    def chosen(weights: Floats) -> Ints:
        sums: Ints = stats[winners(bounds, features @ weights)].sum(axis=0)
        return sums

    fading = 1.0 if decay == 1 else min(1.0, 1 / ((1 - decay) * len(sizes)))
    background = Background((fading * chosen(start)).astype(np.float64), fading * float(sizes.sum()), decay)
    best, best_score = start.copy(), float(score(chosen(start)[np.newaxis])[0])
    weights, total = start.copy(), np.zeros(len(start))
    for done in range(1, passes + 1):
        for segment in rng.permutation(len(sizes)):
            rows = slice(bounds[segment], bounds[segment + 1])
            gains = background.gains(stats[rows], float(sizes[segment]), score, scale)
            model = features[rows] @ weights
            hope, fear = int(np.argmax(model + gains)), int(np.argmax(model - gains))
            if hope != fear:
                apart = np.where(free, features[rows][hope] - features[rows][fear], 0.0)
                loss = float(gains[hope] - gains[fear] - (model[hope] - model[fear]))
                weights = weights + step_length(loss, apart, c) * apart
            background.add(stats[rows][hope], float(sizes[segment]))
            total += weights
        average = np.where(free, total / (done * len(sizes)), start)
        reached = float(score(chosen(average)[np.newaxis])[0])
        if reached > best_score:
            best, best_score = average, reached
    return best


def step_length(loss: float, apart: Floats, c: float) -> float:
    """How far to go along ``apart``, hope minus fear, to make up for a loss, but not further than ``c``.

    The loss is what hope's gain over fear is above hope's margin over fear in the model; the margin grows by the square
    of ``apart`` for each unit of length.

    >>> step_length(2.0, np.array([1.0, 3.0]), 1.0), step_length(2.0, np.array([1.0, 3.0]), 0.01)
    (0.2, 0.01)
    """
    square = float(apart @ apart)
    return min(c, loss / square) if loss > 0 and square > 0 else 0.0
