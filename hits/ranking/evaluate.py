"""Which model to trust: how well each predicts comparisons that it has not seen (Hopkins and May 2013, section 4).

    perplexity   2^(−1/|T| Σ log₂ P(outcome)) on a test set T: 3 for a model that knows nothing. Sakaguchi et al.
                 (2014) print it without the 1/|T|.
    accuracy     how often the most probable outcome is the right one; probabilities that are the same share the credit
    oracle       the accuracy of the most frequent outcome of each pair of systems in the test set itself, and the
                 perplexity of its shares: what no model of systems alone can beat

TrueSkill, Hopkins–May and the ratios of wins have scores, not outcomes; Sakaguchi's test makes outcomes of them with
`carve` and a decision radius r. For each model and training size r is the best of a grid on the development set, once
for perplexity and once for accuracy, by the mean over trials. The ratios put no probability on ties: no perplexity, and
for the accuracy a variance of 0.001 each, as in the program of Sakaguchi et al.

A trial draws a training set without replacement, the same one for all models. TrueSkill with ``order=select`` draws its
own from all training data, with replacement, as in the paper.
"""

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons
from hits.ranking.model import RankingModel, carve
from hits.ranking.models.trueskill import TrueSkill
from rypt.arrays import Floats
from rypt.text import RyptError

SIZES = (100, 200, 400, 800, 1600, 3200, 6400)
RADII = (0.001, 0.01, 0.1, 0.3, 0.5)
LEAST = 2000
RATIOS = ("expected-wins", "bojar", "wins-ties")
CARVED = (*RATIOS, "trueskill", "hopkins-may")
RATIO_VARIANCE = 0.001
ENTRANTS = (
    "uniform",
    "adjusted-uniform",
    "independent-pairs",
    "students-asymmetric",
    "students-arithmetic",
    "students-geometric",
    "expected-wins",
    "trueskill:order=select,runs=1",
    "trueskill",
    "hopkins-may",
    "irt-gaussian:iterations=200",
    "irt-categorical:chains=1,iterations=200,burn_in=50",
    "bradley-terry:prior=1",
    "thurstone:prior=1",
)


@dataclass(frozen=True, slots=True)
class ComparisonSplit:
    """Comparisons to learn from, to choose the radius by (None without), and to test on; ``how`` says how they were split."""

    train: Comparisons
    development: Comparisons | None
    test: Comparisons
    how: str


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """One model at one training size; a mean over trials and what it was in each of them.

    A radius is None where the model needs none. ``perplexity`` is None where the model has none, and infinite where it
    called impossible what happened.
    """

    model: str
    size: int
    perplexity: float | None
    accuracy: float
    perplexity_radius: float | None
    accuracy_radius: float | None
    perplexities: tuple[float, ...]
    accuracies: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ModelEvaluation:
    """A table with a row for each model and size, and what bounds it."""

    rows: tuple[EvaluationRow, ...]
    oracle_accuracy: float
    oracle_perplexity: float
    how: str

    def records(self) -> list[dict[str, object]]:
        """The rows for JSON and tables; what is not finite is None."""
        return [
            {
                name: None if isinstance(value, float) and not isfinite(value) else value
                for name, value in asdict(row).items()
            }
            for row in self.rows
        ]


def split_by_segment(
    comparisons: Comparisons, least: int = LEAST, *, development: bool = True
) -> ComparisonSplit:
    """The test set of Hopkins and May: the comparisons of all segments that appear in at most k of them.

    k is the smallest number that gives ``least`` comparisons or more: a test set in which few share a segment. The
    development set is made in the same way from what remains, and the rest is for training. Hopkins and May have none:
    without ``development`` all that remains is for training.
    """
    _, place, sizes = np.unique(comparisons.segments_or_rows(), return_inverse=True, return_counts=True)
    often = sizes[place]  # in how many comparisons the segment of each comparison is
    bounds, how = [0], f"segments:{least}"
    for name in ("k", "development")[: 1 + development]:
        rest = np.sort(often[often > bounds[-1]])
        if len(rest) < least or not (often > rest[least - 1]).any():
            raise RyptError(
                f"expected enough segments to test {'and choose radii ' if development else ''}on {least} comparisons "
                f"and to train on more, found {len(comparisons)} comparisons of {len(sizes)} segments: lower --least, "
                "or --split rows"
            )
        bounds.append(int(rest[least - 1]))
        how += f"|{name}:{bounds[-1]}"
    train, test = (
        comparisons.take(np.flatnonzero(chosen)) for chosen in (often > bounds[-1], often <= bounds[1])
    )
    between = np.flatnonzero((often > bounds[1]) & (often <= bounds[-1]))
    return ComparisonSplit(train, comparisons.take(between) if development else None, test, how)


def split_by_rows(
    comparisons: Comparisons, rng: np.random.Generator, least: int = LEAST, workers: str = "*"
) -> ComparisonSplit:
    """Development and test sets of whole rows, drawn from workers whose names match a pattern (Sakaguchi et al.).

    Each has ``least`` comparisons or a few more. The rest is for training, with other rows of the same workers and
    segments.
    """
    matching = np.array([fnmatch.fnmatchcase(name, workers) for name in comparisons.workers])
    rows = np.unique(comparisons.row[matching[comparisons.worker]])
    sizes = np.bincount(comparisons.row)
    drawn = rng.permutation(rows)
    ends = np.append(0, np.cumsum(sizes[drawn]))
    first = int(np.searchsorted(ends, least))
    second = int(np.searchsorted(ends, ends[min(first, len(drawn))] + least))
    part = np.zeros(len(sizes), np.int8)
    part[drawn[:first]], part[drawn[first:second]] = 1, 2
    part_of = part[comparisons.row]
    if second > len(drawn) or not (part_of == 0).any():
        raise RyptError(
            f"expected more than {2 * least} comparisons by workers {workers!r}, for a test and a development set, "
            f"found {ends[-1]} of {len(comparisons)}: lower --least"
        )
    train, test, development = (comparisons.take(np.flatnonzero(part_of == k)) for k in range(3))
    return ComparisonSplit(train, development, test, f"rows:{least}|workers:{workers}")


def evaluate(
    split: ComparisonSplit,
    models: Mapping[str, RankingModel],
    rng: np.random.Generator,
    *,
    sizes: Sequence[int] = SIZES,
    trials: int = 5,
    radii: Sequence[float] = RADII,
    threads: int = 1,
    after_trial: Callable[[], None] | None = None,
) -> ModelEvaluation:
    """Perplexity and accuracy of every model at every training size, the same for any number of threads.

    What a model gives depends on the generator, the size, the trial and its label, not on the other models. Without a
    development set there is one radius.
    """
    if not models or not sizes or not radii or trials < 1:
        raise RyptError("expected models, training sizes, radii and trials")
    if min(radii) <= 0 or (split.development is None and len(radii) > 1):
        raise RyptError(
            "expected radii above 0, and one only where there is no development set to choose it by"
        )
    if not 1 <= min(sizes) <= max(sizes) <= len(split.train):
        raise RyptError(
            f"expected training sizes from 1 to {len(split.train)}, the training data, found {', '.join(map(str, sizes))}"
        )
    seed = int(rng.integers(2**63))
    test = _counts(split.test)
    sets = [test if split.development is None else _counts(split.development), test]

    def run(task: tuple[int, int]) -> list[Floats]:
        chosen = np.random.default_rng([seed, *task]).choice(len(split.train), task[0], replace=False)
        scores = []
        for label, model in models.items():
            own = np.random.default_rng([seed, *task, crc32(label.encode())])
            try:
                tables = _outcomes(model, split.train, chosen, own, radii)
            except RyptError as error:
                size, trial = task
                raise RyptError(f"{label}, {size} comparisons, trial {trial + 1}: {error}") from None
            scores.append(
                np.array([[[perplexity_of(part, t), accuracy_of(part, t)] for part in sets] for t in tables])
            )
        if after_trial is not None:
            after_trial()
        return scores

    tasks = [(size, trial) for size in sizes for trial in range(trials)]
    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(run, tasks))
    rows = [
        _row(
            label,
            models[label].name,
            size,
            np.stack([trial[k] for trial in results[at : at + trials]]),
            radii,
        )
        for k, label in enumerate(models)
        for at, size in zip(range(0, len(tasks), trials), sizes, strict=True)
    ]
    how = f"{split.how}|train:{len(split.train)}|test:{len(split.test)}|trials:{trials}"
    return ModelEvaluation(tuple(rows), *oracle(split.test), how)


def oracle(test: Comparisons) -> tuple[float, float]:
    """The accuracy and the perplexity of a model that knows the share of each outcome in the test set.

    >>> from hits.ranking.data import comparisons_of
    >>> oracle(comparisons_of([("s", "a", "b", outcome, "") for outcome in (1, 1, 0, -1)]))
    (0.5, 2.8284271247461903)
    """
    counts = _counts(test)
    both = counts + np.swapaxes(counts, 0, 1)[:, :, ::-1]
    totals = both.sum(axis=2, keepdims=True)
    shares = np.divide(both, totals, out=np.full(both.shape, 1 / 3), where=totals > 0)
    accuracy = float(both.max(axis=2).sum() / both.sum())
    return accuracy, perplexity_of(counts, shares)


def perplexity_of(counts: Floats, outcomes: Floats) -> float:
    """The perplexity of a table of outcomes (systems, systems, 3) on counts of the same shape."""
    asked = counts > 0
    chances = outcomes[asked]
    if (chances <= 0).any():
        return inf
    return float(2 ** (-(counts[asked] * np.log2(chances)).sum() / counts.sum()))


def accuracy_of(counts: Floats, outcomes: Floats) -> float:
    """How often the most probable outcome is the right one; as probable ones share."""
    best = outcomes == outcomes.max(axis=2, keepdims=True)
    return float((counts * best / best.sum(axis=2, keepdims=True)).sum() / counts.sum())


def _counts(comparisons: Comparisons) -> Floats:
    """How often a was worse, equal, better, seen from a: (systems, systems, 3)."""
    n = len(comparisons.systems)
    cells = (comparisons.a.astype(np.int64) * n + comparisons.b) * 3 + comparisons.outcome + 1
    return np.bincount(cells, minlength=n * n * 3).reshape(n, n, 3).astype(np.float64)


def _outcomes(
    model: RankingModel,
    train: Comparisons,
    chosen: NDArray[np.intp],
    rng: np.random.Generator,
    radii: Sequence[float],
) -> list[Floats]:
    """Outcomes for each radius, or the model's own, learnt from the chosen comparisons or from as many of its choice."""
    if isinstance(model, TrueSkill) and model.order == "select":
        fitted = replace(model, games=len(chosen)).fit(train, rng)
    else:
        fitted = model.fit(train.take(chosen), rng)
    if model.name in CARVED:
        variances = fitted.variances
        if variances is None:
            variances = np.full(len(fitted.scores), RATIO_VARIANCE)
        return [carve(fitted.scores, variances, radius) for radius in radii]
    if fitted.outcomes is None:
        raise RyptError(f"{model.name} has no probabilities of outcomes")
    return [fitted.outcomes]


def _row(label: str, model: str, size: int, scores: Floats, radii: Sequence[float]) -> EvaluationRow:
    """Choose the radius on the development set; ``scores`` are (trials, radii, 2 sets, 2 measures)."""
    development = scores[:, :, 0].mean(axis=0)
    by_perplexity, by_accuracy = int(development[:, 0].argmin()), int(development[:, 1].argmax())
    perplexities = () if model in RATIOS else tuple(scores[:, by_perplexity, 1, 0].tolist())
    accuracies = tuple(scores[:, by_accuracy, 1, 1].tolist())
    return EvaluationRow(
        label,
        size,
        float(np.mean(perplexities)) if perplexities else None,
        float(np.mean(accuracies)),
        radii[by_perplexity] if model in CARVED and perplexities else None,
        radii[by_accuracy] if model in CARVED else None,
        perplexities,
        accuracies,
    )
