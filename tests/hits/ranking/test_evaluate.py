"""Splits, measures, the choice of the radius, and that nothing depends on threads or on other models."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from math import inf, log2

import numpy as np
import pytest

from hits.ranking.data import Comparisons, comparisons_of
from hits.ranking.evaluate import (
    ENTRANTS,
    ComparisonSplit,
    EvaluationRow,
    ModelEvaluation,
    accuracy_of,
    evaluate,
    oracle,
    perplexity_of,
    split_by_rows,
    split_by_segment,
)
from hits.ranking.model import Fitted, carve, read_model, sign
from rypt.text import RyptError

TRUTH = (0.9, 0.5, 0.0, -0.4, -1.0)


def rankings(rows: int, seed: int) -> Comparisons:
    """Rows of three systems: three comparisons each, segments with one to four rows, two kinds of workers."""
    rng = np.random.default_rng(seed)
    records, row = [], []
    segment, left = 0, 0
    for number in range(rows):
        if not left:
            segment, left = segment + 1, int(rng.integers(1, 5))
        left -= 1
        systems = rng.choice(5, 3, replace=False)
        seen = [TRUTH[s] + rng.standard_normal() for s in systems]
        worker = f"{'expert' if number % 2 else 'crowd'}_{number % 7}"
        for i, j in ((0, 1), (0, 2), (1, 2)):
            outcome = int(seen[i] > seen[j] + 0.4) - int(seen[j] > seen[i] + 0.4)
            records.append((f"n{segment}", f"s{systems[i]}", f"s{systems[j]}", outcome, worker))
            row.append(number)
    return replace(comparisons_of(records), row=np.array(row, np.int32))


DATA = rankings(900, 1)


def test_the_test_set_of_hopkins_and_may() -> None:
    split = split_by_segment(DATA, least=300)
    often = Counter(DATA.segments[s] for s in DATA.segment)
    k = next(k for k in (3, 6, 9, 12) if sum(size for size in often.values() if size <= k) >= 300)
    assert f"|k:{k}|" in split.how
    parts = [{p.segments[s] for s in p.segment} for p in (split.test, split.development, split.train)]
    assert parts[0] == {segment for segment, size in often.items() if size <= k}
    assert sum(map(len, parts)) == len(parts[0] | parts[1] | parts[2])
    assert len(split.development) >= 300
    assert len(split.train) + len(split.development) + len(split.test) == len(DATA)


def test_rows_of_some_workers() -> None:
    split, again = (split_by_rows(DATA, np.random.default_rng(0), 200, workers="expert_*") for _ in range(2))
    for part in (split.test, split.development):
        assert 200 <= len(part) <= 202
        assert all(part.workers[w].startswith("expert") for w in part.worker)
    sets = [set(part.row.tolist()) for part in (split.train, split.development, split.test)]
    assert sum(map(len, sets)) == len(set().union(*sets)) == 900
    assert (again.test.row == split.test.row).all()


def test_measures_one_comparison_after_the_other() -> None:
    rng = np.random.default_rng(2)
    table, counts = rng.dirichlet(np.ones(3), (3, 3)), np.zeros((3, 3, 3))
    triples = [(*map(int, rng.choice(3, 2, replace=False)), int(rng.integers(3))) for _ in range(50)]
    for triple in triples:
        counts[triple] += 1
    assert perplexity_of(counts, table) == pytest.approx(2 ** -np.mean([log2(table[t]) for t in triples]))
    right = np.mean([table[a, b].argmax() == k for a, b, k in triples])
    assert accuracy_of(counts, table) == pytest.approx(right)
    even = np.full((3, 3, 3), 1 / 3)
    assert (accuracy_of(counts, even), perplexity_of(counts, even)) == pytest.approx((1 / 3, 3.0))
    table[triples[0]] = 0.0
    assert perplexity_of(counts, table) == inf


def test_the_oracle_takes_the_most_frequent_outcome_of_a_pair() -> None:
    results = [("a", "b", 1), ("b", "a", -1), ("a", "b", 0), ("b", "c", 0), ("c", "b", 0), ("b", "c", 1)]
    comparisons = comparisons_of([("s", a, b, outcome, "") for a, b, outcome in results])
    accuracy, perplexity = oracle(comparisons)
    assert accuracy == pytest.approx(4 / 6)
    assert perplexity == pytest.approx(2 ** -((2 * log2(2 / 3) + log2(1 / 3)) / 3))


def small(labels: list[str], threads: int = 1, seed: int = 5) -> ModelEvaluation:
    split = split_by_segment(DATA, least=300)
    models = {label: read_model(label) for label in labels}
    rng = np.random.default_rng(seed)
    return evaluate(split, models, rng, sizes=(50, 400), trials=3, threads=threads)


def row(evaluation: ModelEvaluation, model: str, size: int) -> EvaluationRow:
    return next(row for row in evaluation.rows if (row.model, row.size) == (model, size))


@pytest.mark.slow
def test_all_models_learn_and_none_beats_the_oracle() -> None:
    found = small(list(ENTRANTS))
    assert len(found.rows) == len(ENTRANTS) * 2
    assert row(found, "uniform", 50).perplexity == pytest.approx(3.0)
    assert row(found, "expected-wins", 400).perplexity is None
    for each in found.rows:
        assert len(each.accuracies) == 3
        assert each.accuracy == pytest.approx(np.mean(each.accuracies))
        assert each.accuracy <= found.oracle_accuracy + 1e-12
        assert each.perplexity is None or each.perplexity >= found.oracle_perplexity
        carved = each.model.split(":")[0] in ("expected-wins", "trueskill", "hopkins-may")
        assert (each.accuracy_radius is not None) == carved
    for name in ("irt-gaussian:iterations=200", "thurstone:prior=1", "bradley-terry:prior=1"):
        assert row(found, name, 400).perplexity < row(found, "adjusted-uniform", 400).perplexity < 3.0
        assert row(found, name, 400).perplexity < row(found, name, 50).perplexity


@pytest.mark.slow
def test_neither_threads_nor_other_models_change_a_row() -> None:
    one = small(["trueskill:order=select,runs=1", "hopkins-may", "irt-categorical"])
    two = small(["irt-categorical", "trueskill:order=select,runs=1"], threads=3)
    for each in two.rows:
        assert each == row(one, each.model, each.size)
    assert small(["hopkins-may"], seed=6).rows != small(["hopkins-may"]).rows


class Fixed:
    """Scores that need radius 0.3 on one set of data and 0.001 on another."""

    name = "trueskill"

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        return Fitted(
            comparisons.systems, np.array([0.1, 0.0]), sign("fixed", comparisons), None, np.full(2, 0.001)
        )


def pairs(better: int, equal: int, worse: int) -> Comparisons:
    outcomes = [1] * better + [0] * equal + [-1] * worse
    return comparisons_of([("s", "a", "b", outcome, "") for outcome in outcomes])


def test_the_radius_is_chosen_on_the_development_set() -> None:
    train = pairs(5, 1, 1)
    for development, radius in ((pairs(1, 8, 1), 0.3), (pairs(8, 1, 1), 0.001)):
        test = pairs(6, 3, 1)
        split = ComparisonSplit(train, development, test, "fixed")
        found = evaluate(
            split, {"fixed": Fixed()}, np.random.default_rng(0), sizes=(3,), trials=2, radii=(0.001, 0.3)
        )
        (only,) = found.rows
        assert only.accuracy_radius == radius
        assert only.accuracy == pytest.approx(0.3 if radius == 0.3 else 0.6)
        chances = carve(np.array([0.1, 0.0]), np.full(2, 0.001), only.perplexity_radius)[0, 1]
        assert only.perplexity == pytest.approx(
            2 ** -((log2(chances[0]) + 3 * log2(chances[1]) + 6 * log2(chances[2])) / 10)
        )


def by_segment(**settings: object) -> ModelEvaluation:
    models, rng = {"uniform": read_model("uniform")}, np.random.default_rng(0)
    return evaluate(split_by_segment(DATA, 300), models, rng, **{"sizes": (10,), **settings})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: by_segment(sizes=(10_000,)), "training sizes from 1 to"),
        (lambda: by_segment(sizes=()), "expected models, training sizes"),
        (lambda: by_segment(trials=0), "radii and trials"),
        (lambda: by_segment(radii=(0.0,)), "radii above 0"),
        (lambda: split_by_segment(DATA, 1300), "lower --least, or --split rows"),
        (lambda: split_by_rows(DATA, np.random.default_rng(0), 200, workers="nobody*"), "'nobody"),
        (lambda: split_by_rows(DATA, np.random.default_rng(0), 1350), "lower --least"),
    ],
)
def test_bad_settings(make: Callable[[], object], message: str) -> None:
    with pytest.raises(RyptError, match=message):
        make()


def test_what_fails_says_where() -> None:
    models, rng = {"bradley-terry": read_model("bradley-terry")}, np.random.default_rng(0)
    with pytest.raises(RyptError, match="bradley-terry, 3 comparisons, trial 1: bradley-terry: "):
        evaluate(split_by_segment(DATA, 300), models, rng, sizes=(3,), trials=1)


def test_without_a_development_set_all_but_the_test_set_is_to_learn_from() -> None:
    rows = [(f"s{i // 3}", "a", "b", 1 if i % 3 else -1, "") for i in range(300)]
    rows += [(f"t{i}", "a", "b", 1, "") for i in range(50)]
    split = split_by_segment(comparisons_of(rows), 50, development=False)
    assert (len(split.train), split.development, len(split.test)) == (300, None, 50)
    models, rng = {"bojar": read_model("bojar")}, np.random.default_rng(1)
    assert evaluate(split, models, rng, sizes=[40], trials=2, radii=[0.1]).rows[0].accuracy > 0.5
    with pytest.raises(RyptError, match="one only where there is no development set"):
        evaluate(split, models, rng, sizes=[40])
