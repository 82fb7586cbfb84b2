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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons
from hits.ranking.model import Fitted, RankingModel, carve, read_model
from hits.ranking.models.hopkins_may import segments_or_rows
from rypt.arrays import Floats
from rypt.options import check_option
from rypt.text import RyptError

SIZES = (100, 200, 400, 800, 1600, 3200, 6400)
RADII = (0.001, 0.01, 0.1, 0.3, 0.5)
LEAST = 2000
SHARES = (4, 5, 6, 8, 12, 20)  # of few comparisons, to test on and to learn from
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
    """Comparisons to learn from, to choose the radius by, and to test on; ``how`` says how they were parted."""

    train: Comparisons
    development: Comparisons
    test: Comparisons
    how: str


@dataclass(frozen=True, slots=True)
class Entrant:
    """A model and what the table calls it."""

    label: str
    model: RankingModel

    def fit(self, train: Comparisons, chosen: NDArray[np.intp], rng: np.random.Generator) -> Fitted:
        """Learn from the chosen comparisons, or from as many that the model selects itself."""
        from hits.ranking.models.trueskill import TrueSkill

        if isinstance(self.model, TrueSkill) and self.model.order == "select":
            return replace(self.model, games=len(chosen)).fit(train, rng)
        return self.model.fit(train.take(chosen), rng)


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

    def row(self, model: str, size: int) -> EvaluationRow:
        """The row of a model at a size."""
        for row in self.rows:
            if (row.model, row.size) == (model, size):
                return row
        raise KeyError((model, size))

    def difference(self, first: str, second: str, size: int) -> tuple[float, float]:
        """How much more accurate the first model is, and the standard error of that over trials.

        The error is that of drawing training sets; another test set would give another difference.
        """
        gaps = np.subtract(self.row(first, size).accuracies, self.row(second, size).accuracies)
        error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else inf
        return float(gaps.mean()), error

    def records(self) -> list[dict[str, object]]:
        """The rows for JSON and tables; what is not finite is None."""
        return [
            {
                name: None if isinstance(value, float) and not isfinite(value) else value
                for name, value in asdict(row).items()
            }
            for row in self.rows
        ]


def read_entrant(text: str) -> Entrant:
    """A model by its name, with options after a colon.

    >>> read_entrant("bradley-terry:ties=rao-kupper,prior=1").model
    BradleyTerry(ties='rao-kupper', prior=1.0, name='bradley-terry')
    """
    name, options = model_and_options(text)
    return Entrant(text, read_model(name, options))


def model_and_options(text: str) -> tuple[str, dict[str, str]]:
    """What ``MODEL:NAME=VALUE,…`` says.

    >>> model_and_options("trueskill:order=select,runs=1")
    ('trueskill', {'order': 'select', 'runs': '1'})
    """
    name, _, rest = text.partition(":")
    options = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise RyptError(f"expected MODEL:NAME=VALUE,…, found {text!r}")
        options[key] = value
    return name, options


def split_by_segment(
    comparisons: Comparisons, least: int = LEAST, *, development: bool = True
) -> ComparisonSplit:
    """The test set of Hopkins and May: the comparisons of all segments that appear in at most k of them.

    k is the smallest number that gives ``least`` comparisons or more: a test set in which few share a segment. The
    development set is made in the same way from what remains, and the rest is for training. Hopkins and May have none:
    without ``development`` all that remains is for training.
    """
    place = segments_or_rows(comparisons)
    appear = np.unique(place, return_inverse=True, return_counts=True)
    often = appear[2][appear[1]]
    test_bound, development_bound = _smallest_bound(often, least), 0
    if test_bound and not development:
        train = np.flatnonzero(often > test_bound)
        if len(train):
            rare, nothing = np.flatnonzero(often <= test_bound), np.zeros(0, np.intp)
            learnt, none, tested = (comparisons.take(chosen) for chosen in (train, nothing, rare))
            return ComparisonSplit(learnt, none, tested, f"segments:{least}|k:{test_bound}")
        test_bound = 0
    if test_bound:
        development_bound = _smallest_bound(often[often > test_bound], least)
    train = np.flatnonzero(often > development_bound)
    if not test_bound or not development_bound or not len(train):
        raise RyptError(
            f"expected segments enough for a test set and a development set of {least} comparisons each and more to "
            f"train on, found {len(comparisons)} comparisons of {len(appear[0])} segments: lower the least size, or "
            "split by rows"
        )
    test = np.flatnonzero(often <= test_bound)
    tuned = np.flatnonzero((often > test_bound) & (often <= development_bound))
    how = f"segments:{least}|k:{test_bound}|development:{development_bound}"
    return ComparisonSplit(comparisons.take(train), comparisons.take(tuned), comparisons.take(test), how)


def _smallest_bound(often: NDArray[np.int64], least: int) -> int:
    """The smallest k for which so many numbers are at most k; 0 where there is none."""
    if len(often) < least:
        return 0
    return int(np.sort(often)[least - 1])


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
    ends = np.cumsum(sizes[drawn])
    first = int(np.searchsorted(ends, least)) + 1
    second = (
        int(np.searchsorted(ends, ends[first - 1] + least)) + 1 if first <= len(drawn) else len(drawn) + 1
    )
    part = np.zeros(len(sizes), np.int8)
    part[drawn[:first]], part[drawn[first:second]] = 1, 2
    of = part[comparisons.row]
    if second > len(drawn) or not (of == 0).any():
        raise RyptError(
            f"expected more than {2 * least} comparisons by workers {workers!r}, for a test and a development set, "
            f"found {int(ends[-1]) if len(ends) else 0} of {len(comparisons)}: lower the least size"
        )
    train, test, development = (comparisons.take(np.flatnonzero(of == k)) for k in range(3))
    return ComparisonSplit(train, development, test, f"rows:{least}|workers:{workers}")


def evaluate(
    split: ComparisonSplit,
    entrants: Sequence[Entrant],
    rng: np.random.Generator,
    *,
    sizes: Sequence[int] = SIZES,
    trials: int = 5,
    radii: Sequence[float] = RADII,
    threads: int = 1,
    after_trial: Callable[[], None] | None = None,
) -> ModelEvaluation:
    """Perplexity and accuracy of every model at every training size, the same for any number of threads.

    What a model gives depends on the generator, the size, the trial and its label, not on the other models.
    """
    _check(split, entrants, sizes, trials, radii)
    seed = int(rng.integers(2**63))
    test = _counts(split.test)
    sets = [_counts(split.development) if len(split.development) else test, test]

    def run(task: tuple[int, int]) -> list[Floats]:
        scores = [_scores(entrant, split.train, task, seed, radii, sets) for entrant in entrants]
        if after_trial is not None:
            after_trial()
        return scores

    tasks = [(size, trial) for size in sizes for trial in range(trials)]
    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(run, tasks))
    rows = [
        _row(entrant, size, np.stack([results[s * trials + t][e] for t in range(trials)]), radii)
        for e, entrant in enumerate(entrants)
        for s, size in enumerate(sizes)
    ]
    how = f"{split.how}|train:{len(split.train)}|test:{len(split.test)}|trials:{trials}"
    return ModelEvaluation(tuple(rows), *oracle(split.test), how)


def evaluate_models(
    comparisons: Comparisons,
    models: Sequence[str],
    rng: np.random.Generator,
    *,
    split: str = "segments",
    least: int = LEAST,
    development: bool = True,
    test_judges: str = "*",
    sizes: Sequence[int] = SIZES,
    trials: int = 5,
    radii: Sequence[float] = RADII,
    threads: int = 1,
    after_trial: Callable[[], None] | None = None,
) -> ModelEvaluation:
    """Split comparisons by ``segments`` or ``rows`` and evaluate models, each ``NAME`` or ``NAME:OPTION=VALUE,…``.

    Without ``development``, as in Hopkins and May, the only one of ``radii`` is taken.
    """
    check_option("split", split, ("segments", "rows"))
    entrants = [read_entrant(text) for text in models]
    if not development and (split != "segments" or len(radii) != 1):
        raise RyptError(
            "expected a split by segments and one radius where there is no development set to choose it by"
        )
    needed = (2 if development else 1) * least + max(sizes, default=0)
    if len(comparisons) < needed:
        raise RyptError(
            f"expected {needed:,} comparisons or more: {least:,} to test on"
            f"{f' and {least:,} to choose radii by' if development else ''} (--least), and up to {max(sizes):,} to "
            f"learn from (--sizes), found {len(comparisons):,}; {_advice(comparisons, split, test_judges, development)}"
        )
    divided = _divided(comparisons, rng, split, least, test_judges, development=development)
    return evaluate(
        divided,
        entrants,
        rng,
        sizes=sizes,
        trials=trials,
        radii=radii,
        threads=threads,
        after_trial=after_trial,
    )


def _divided(
    comparisons: Comparisons,
    rng: np.random.Generator,
    split: str,
    least: int,
    test_judges: str,
    *,
    development: bool,
) -> ComparisonSplit:
    if split == "segments":
        return split_by_segment(comparisons, least, development=development)
    return split_by_rows(comparisons, rng, least, test_judges)


def _advice(comparisons: Comparisons, split: str, test_judges: str, development: bool) -> str:
    """Options by which these comparisons can be evaluated, tried out before they are suggested."""
    ways = [split, *(["rows"] if split == "segments" and development else [])]
    for way in ways:
        for share in SHARES:
            least = len(comparisons) // share
            try:
                rng = np.random.default_rng(0)
                train = _divided(
                    comparisons, rng, way, max(1, least), test_judges, development=development
                ).train
            except RyptError:
                continue
            if least and len(train) >= least:
                sizes = ",".join(str(size) for size in SIZES if size <= least) or str(least)
                return f"try {'--split rows ' if way != split else ''}--least {least} --sizes {sizes}"
    return "they are too few, or of too few segments, to be split"


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


def _scores(
    entrant: Entrant,
    train: Comparisons,
    task: tuple[int, int],
    seed: int,
    radii: Sequence[float],
    sets: Sequence[Floats],
) -> Floats:
    """Perplexity and accuracy for each radius on the development and the test set: (radii, 2 sets, 2 measures)."""
    size, trial = task
    chosen = np.random.default_rng([seed, size, trial]).choice(len(train), size, replace=False)
    rng = np.random.default_rng([seed, size, trial, crc32(entrant.label.encode())])
    try:
        fitted = entrant.fit(train, chosen, rng)
    except RyptError as error:
        raise RyptError(f"{entrant.label}, {size} comparisons, trial {trial + 1}: {error}") from None
    tables = list(_tables(entrant, fitted, radii))
    return np.array([[[perplexity_of(part, t), accuracy_of(part, t)] for part in sets] for t in tables])


def _tables(entrant: Entrant, fitted: Fitted, radii: Sequence[float]) -> Iterator[Floats]:
    """Outcomes for each radius, or the model's own."""
    if entrant.model.name not in CARVED:
        if fitted.outcomes is None:
            raise RyptError(f"{entrant.label} has no probabilities of outcomes")
        yield fitted.outcomes
        return
    variances = fitted.variances
    if variances is None:
        variances = np.full(len(fitted.scores), RATIO_VARIANCE)
    for radius in radii:
        yield carve(fitted.scores, variances, radius)


def _row(entrant: Entrant, size: int, scores: Floats, radii: Sequence[float]) -> EvaluationRow:
    """Choose the radius on the development set; ``scores`` are (trials, radii, 2 sets, 2 measures)."""
    development = scores[:, :, 0].mean(axis=0)
    by_perplexity, by_accuracy = int(development[:, 0].argmin()), int(development[:, 1].argmax())
    perplexities = () if entrant.model.name in RATIOS else tuple(scores[:, by_perplexity, 1, 0].tolist())
    accuracies = tuple(scores[:, by_accuracy, 1, 1].tolist())
    carved = entrant.model.name in CARVED
    return EvaluationRow(
        entrant.label,
        size,
        float(np.mean(perplexities)) if perplexities else None,
        float(np.mean(accuracies)),
        radii[by_perplexity] if carved and perplexities else None,
        radii[by_accuracy] if carved else None,
        perplexities,
        accuracies,
    )


def _check(
    split: ComparisonSplit,
    entrants: Sequence[Entrant],
    sizes: Sequence[int],
    trials: int,
    radii: Sequence[float],
) -> None:
    if not entrants or not sizes or not radii:
        raise RyptError("expected models, training sizes and radii to evaluate")
    if len({entrant.label for entrant in entrants}) != len(entrants):
        raise RyptError("expected every model once")
    if trials < 1:
        raise RyptError(f"expected one trial or more, found {trials}")
    if min(radii) <= 0:
        raise RyptError(f"expected radii above 0, found {min(radii):g}")
    for size in sizes:
        if not 1 <= size <= len(split.train):
            raise RyptError(
                f"expected training sizes from 1 to {len(split.train)}, the training data, found {size}"
            )
    if not len(split.test) or (not len(split.development) and len(radii) > 1):
        raise RyptError("expected comparisons to test on, and to choose a radius by, found none")
