"""One search for all algorithms: replicates, averages, constraints, and what is told of the result."""

import numpy as np
import pytest

from mert.bootstrap import bootstrap_gain
from mert.constraints import Constraints, Normalization
from mert.lists.arrays import arrange, read_lists
from mert.optimize import make_problem, optimize
from mert.solve import ALGORITHMS, SearchSettings, solve
from mert.unseen import mean_weights
from rypt.records import Candidate

NAMES = ("f0", "f1", "f2", "f3")


class Share:
    """The share of right answers."""

    signature = "share"
    maximize = True
    scale = 1.0

    def stats(self, candidates):
        return np.array([[int(raw.text == "right"), 1] for raw in candidates], np.int64)

    def score(self, sums):
        return sums[:, 0] / np.maximum(sums[:, 1], 1)


class Errors(Share):
    """The share of wrong answers."""

    maximize = False

    def score(self, sums):
        return 1 - super().score(sums)


def made_lists(seed=0, segments=40, candidates=8):
    rng = np.random.default_rng(seed)
    rows = []
    for segment in range(segments):
        features = rng.normal(size=(candidates, 4))
        right = int(np.argmax(features @ [1.0, -0.5, 0.25, 0.0] + rng.normal(scale=0.2, size=candidates)))
        for i, row in enumerate(features):
            named = dict(zip(NAMES, row.tolist(), strict=True))
            rows.append(Candidate(str(segment), "right" if i == right else f"wrong {i}", None, named, None))
    return arrange(rows)


START = np.array([0.5, 0.5, 0.5, 0.5])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_gains_and_is_reproducible(algorithm):
    problem = make_problem(made_lists(), Share(), START)
    search = SearchSettings(algorithm, restarts=3)
    found, again = solve(problem, START, search), solve(problem, START, search)
    assert found.weights.tolist() == again.weights.tolist()
    assert found.score > found.start_score + 0.2
    assert found.score == problem.score(found.weights)
    assert found.start_score == problem.score(START)
    assert found.scores == (found.score,)
    assert found.gain == bootstrap_gain(problem, START, found.weights, np.random.default_rng(1))
    assert found.gain.p < 0.05
    assert np.abs(found.weights).sum() == pytest.approx(1)
    assert found.weights[0] > 0 > found.weights[1]
    assert (found.searches > 0) == (algorithm == "mert")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_scores_are_the_metrics_own_where_lower_is_better(algorithm):
    up = solve(make_problem(made_lists(), Share(), START), START, SearchSettings(algorithm, restarts=2))
    down = solve(make_problem(made_lists(), Errors(), START), START, SearchSettings(algorithm, restarts=2))
    assert (down.score, down.start_score) == pytest.approx((1 - up.score, 1 - up.start_score))
    assert down.ends[0] == min(down.ends)
    assert down.gain.gain == pytest.approx(up.gain.gain)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_keeps_the_constraints(algorithm):
    start = np.array([1.0, 0.25, 0.5, 0.125])
    constraints = Constraints(
        fixed=frozenset({"f1"}), tied=(("f0", "f3"),), bounds={"f2": (0.0, 0.75), "f0": (0.0, 2.0)}
    )
    problem = make_problem(made_lists(3), Share(), start, constraints)
    found = solve(problem, start, SearchSettings(algorithm, restarts=3))
    assert found.weights[1] == 0.25
    assert found.weights[3] == pytest.approx(found.weights[0] / 8)
    assert 0 <= found.weights[2] <= 0.75
    assert 0 <= found.weights[0] <= 2
    assert found.weights.tolist() != start.tolist()
    reverse = Constraints(bounds={"f0": (-1.0, 0.0)})
    problem = make_problem(made_lists(3), Share(), -START, reverse)
    assert -1 <= solve(problem, -START, SearchSettings(algorithm, restarts=3)).weights[0] <= 0


@pytest.mark.parametrize("algorithm", ["pro", "mira"])
def test_tied_weights_are_learned_as_one_feature(algorithm):
    """The same as tuning lists in which the tied features are one."""
    start = np.array([1.0, 0.25, 0.5, 0.5])
    lists = made_lists(4)
    tied = Constraints(tied=(("f0", "f3"),), normalization=Normalization("none"))
    found = solve(make_problem(lists, Share(), start, tied), start, SearchSettings(algorithm)).weights
    merged = arrange(
        Candidate(
            raw.segment,
            raw.text,
            None,
            {
                "sum": raw.features["f0"] + 0.5 * raw.features["f3"],
                "f1": raw.features["f1"],
                "f2": raw.features["f2"],
            },
            None,
        )
        for raw in lists.candidates
    )
    free = Constraints(normalization=Normalization("none"))
    alone = solve(
        make_problem(merged, Share(), start[:3], free), start[:3], SearchSettings(algorithm)
    ).weights
    assert found.tolist() == pytest.approx([alone[0], alone[1], alone[2], alone[0] / 2], rel=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_sees_what_sparse_features_add(algorithm, tmp_path):
    rng = np.random.default_rng(1)
    lines = []
    for segment in range(30):
        for i in range(6):
            x, y, z = rng.normal(size=3)
            right = "right" if i == 0 else f"wrong {i}"
            lines.append(f"{segment} ||| {right} ||| x= {x + (i == 0)} y= {y} s_z= {z}\n")
    (tmp_path / "list").write_text("".join(lines))
    lists = read_lists([tmp_path / "list"])
    start = np.array([1.0, 1.0])
    problem = make_problem(lists, Share(), start, sparse_weights=np.array([2.0]))
    found = solve(problem, start, SearchSettings(algorithm, restarts=3))
    assert found.score > found.start_score
    values = lists.features @ found.weights + 2.0 * lists.sparse.values
    chosen = [a + int(np.argmax(values[a:b])) for a, b in zip(lists.offsets, lists.offsets[1:], strict=False)]
    assert found.score == np.mean([lists.candidates.text(i) == "right" for i in chosen])


def test_replicates_have_seeds_that_follow_one_another():
    problem = make_problem(made_lists(5), Share(), START)
    found = solve(problem, START, SearchSettings(restarts=1, seed=7, replicates=3, aim="list"))
    runs = [optimize(problem, START, restarts=1, seed=seed) for seed in (7, 8, 9)]
    assert found.scores == tuple(run[0].score for run in runs)
    best = max(runs, key=lambda run: run[0].score)[0]
    assert found.weights.tolist() == best.weights.tolist()
    assert found.score == max(found.scores)
    assert len(found.ends) == 6
    assert found.searches == sum(tuned.searches for run in runs for tuned in run)
    assert found.mean == pytest.approx(np.mean(found.scores))
    assert found.deviation == pytest.approx(np.std(found.scores, ddof=1))
    assert solve(problem, START, SearchSettings(restarts=1)).deviation == 0.0


def test_replicates_can_be_averaged():
    problem = make_problem(made_lists(5), Share(), START)
    tops = [optimize(problem, START, restarts=1, seed=seed)[0].weights for seed in (7, 8, 9)]
    found = solve(problem, START, SearchSettings(restarts=1, seed=7, replicates=3, average=True, aim="list"))
    assert found.weights.tolist() == mean_weights(problem, tops).tolist()
    assert found.score == problem.score(found.weights)


def test_the_mean_of_weights_is_that_of_their_proportions():
    problem = make_problem(made_lists(5), Share(), START)
    one, two = np.array([1.0, 0.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0, 0.0])
    assert mean_weights(problem, [one, 1000 * two]) == pytest.approx(mean_weights(problem, [one, two]))
    assert np.abs(mean_weights(problem, [one, two])).sum() == pytest.approx(1)
    assert mean_weights(problem, [one, np.zeros(4)]) == pytest.approx([0.5, 0, 0.5, 0])
    kept = make_problem(made_lists(5), Share(), START, Constraints(fixed=frozenset({"f0"})))
    assert mean_weights(kept, [one, 3 * two]).tolist() == [0.5, 1.5, 2.0, 0.0]


def test_earlier_weights_are_climbed_from_as_well():
    problem = make_problem(made_lists(6), Share(), START)
    good = optimize(problem, START, restarts=20, seed=3)[0]
    bad = -good.weights
    found = solve(problem, bad, SearchSettings(restarts=0, aim="list"), earlier=[good.weights])
    assert found.score >= good.score - 1e-12
    assert len(found.ends) == 2


def test_notes_come_with_the_result():
    problem = make_problem(made_lists(6), Share(), START, Constraints(fixed=frozenset(NAMES)))
    assert solve(problem, START, SearchSettings(restarts=0)).notes == ("no weight may move",)


def test_settings_are_part_of_signatures():
    assert str(SearchSettings()) == "mert|aim:unseen|restarts:20|seed:1"
    assert str(SearchSettings(aim="list")) == "mert|aim:list|restarts:80|seed:1"
    assert str(SearchSettings(aim="list").settled(16)) == "mert|aim:list|restarts:80|seed:1"
    assert str(SearchSettings(aim="list").settled(17)) == "mert|aim:list|restarts:85|seed:1"
    assert str(SearchSettings(aim="list", restarts=3).settled(50)) == "mert|aim:list|restarts:3|seed:1"
    assert str(SearchSettings().settled(50)) == "mert|aim:unseen|restarts:20|seed:1"
    assert str(SearchSettings("pro", seed=3, replicates=2)) == "pro|seed:3|replicates:2"
    assert str(SearchSettings(restarts=0, replicates=4, average=True)) == (
        "mert|aim:unseen|restarts:0|seed:1|replicates:4|averaged"
    )
