"""The sampler of Sakaguchi et al. against a plain loop that draws both qualities, and against its fixed point."""

import random
from statistics import fmean

import numpy as np
import pytest

from hits.ranking.data import Comparisons, comparisons_of
from hits.ranking.model import read_model
from hits.ranking.models.hopkins_may import HopkinsMay, threshold_outcomes
from rypt.text import RyptError

pytestmark = pytest.mark.slow


def simulated(truth: list[float], size: int, seed: int, radius: float = 0.5) -> Comparisons:
    rng = np.random.default_rng(seed)
    records = []
    for _ in range(size):
        a, b = rng.choice(len(truth), 2, replace=False)
        gap = truth[a] - truth[b] + np.sqrt(0.5) * rng.standard_normal()
        records.append(("", f"s{a}", f"s{b}", int(gap > radius) - int(gap < -radius), ""))
    return comparisons_of(records, [f"s{i}" for i in range(len(truth))])


def plain_sampler(n: int, triples: list[tuple[int, int, int]], iterations: int, burn_in: int) -> np.ndarray:
    """The paper's section 2.2 word by word, σ_a = d = 0.5: the plain Python loop that ours is measured against."""
    rng = random.Random(3)
    means, samples = [0.0] * n, []
    for iteration in range(iterations):
        drawn: list[list[float]] = [[] for _ in range(n)]
        for a, b, outcome in triples:
            first, second = rng.gauss(means[a], 0.5), rng.gauss(means[b], 0.5)
            t = first - second
            if outcome > 0:
                wanted = max(t, 0.5)
            elif outcome < 0:
                wanted = min(t, -0.5)
            else:
                wanted = min(max(t, -0.5), 0.5)
            drawn[a].append(first + (wanted - t) / 2)
            drawn[b].append(second - (wanted - t) / 2)
        means = [fmean(values) for values in drawn]
        if iteration >= burn_in:
            samples.append(means)
    return np.array(samples)


def test_it_is_the_plain_loop_in_distribution() -> None:
    data = simulated([0.4, 0.1, 0.0, -0.5], 60, 1)
    triples = list(zip(data.a.tolist(), data.b.tolist(), data.outcome.tolist(), strict=True))
    ours = HopkinsMay(iterations=12_000, burn_in=1000).samples(data, np.random.default_rng(3))
    plain = plain_sampler(4, triples, 4000, 300)
    ours, plain = (samples - samples.mean(axis=1, keepdims=True) for samples in (ours, plain))
    assert ours.mean(axis=0) == pytest.approx(plain.mean(axis=0), abs=0.013)
    assert ours.std(axis=0) == pytest.approx(plain.std(axis=0), rel=0.08)
    moves, plain_moves = np.diff(ours, axis=0).std(axis=0), np.diff(plain, axis=0).std(axis=0)
    assert moves == pytest.approx(plain_moves, rel=0.08)


def test_the_same_generator_gives_the_same_scores_in_any_order_of_comparisons() -> None:
    comparisons = simulated([0.4, 0.0, -0.4], 200, 5)
    first = HopkinsMay().fit(comparisons, np.random.default_rng(4)).scores
    turned = comparisons.shuffled(np.random.default_rng(9))
    assert (HopkinsMay().fit(turned, np.random.default_rng(4)).scores == first).all()
    assert (HopkinsMay().fit(comparisons, np.random.default_rng(5)).scores != first).any()


def test_outcomes_are_those_of_the_process() -> None:
    outcomes = threshold_outcomes(np.array([0.7, -0.1, 0.0]), 1.2, 0.4)
    gap = 0.8 + 1.2 * np.random.default_rng(0).standard_normal(200_000)
    drawn = [(gap < -0.4).mean(), (np.abs(gap) <= 0.4).mean(), (gap > 0.4).mean()]
    assert outcomes[0, 1] == pytest.approx(drawn, abs=0.004)
    far = threshold_outcomes(np.array([0.0, 60.0]), 1.0, 0.4)[0, 1]
    assert far[0] == pytest.approx(1.0)
    assert (far >= 0).all()


def test_options_and_small_data() -> None:
    for wrong in ("burn_in=200", "sigma_a=0", "radius=-1", "iterations=0"):
        with pytest.raises(RyptError, match=wrong.partition("=")[0]):
            read_model(f"hopkins-may:{wrong}")
    alone = comparisons_of([("s", "a", "b", 1, "")] * 5 + [("s", "b", "a", 1, "")], ["a", "b", "c"])
    scores = read_model("hopkins-may:radius=0.4").fit(alone, np.random.default_rng(0)).scores
    assert scores[0] > scores[1]
    assert np.isfinite(scores).all()
