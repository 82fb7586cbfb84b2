"""Wins and losses by brute force, and the tests of significance against scipy's."""

from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from systems_world import make

from rypt.picks.evidence import read_evidence
from rypt.picks.metrics import parse_pick_metric
from rypt.picks.outcome import against, bootstrap_interval, compare_picks, permutation_test
from rypt.text import RyptError


def parsed(*names):
    return [parse_pick_metric(name) for name in names]


@given(st.data())
def test_wins_and_losses_are_those_of_all_tied_picks(data):
    systems, segments = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))

    def table(values):
        return np.array([[data.draw(values) for _ in range(segments)] for _ in range(systems)], float)

    quality = table(st.sampled_from([0, 1, 2, np.nan]))
    picked = [table(st.sampled_from([0, 1])) * ~np.isnan(quality) for _ in range(2)]
    wins, losses = against(*(each / np.maximum(1, each.sum(axis=0)) for each in picked), quality)
    for i in range(segments):
        pairs = list(product(*(np.flatnonzero(each[:, i]).tolist() for each in picked)))
        better = sum(quality[x, i] > quality[y, i] for x, y in pairs)
        worse = sum(quality[x, i] < quality[y, i] for x, y in pairs)
        assert wins[i] == pytest.approx(better / len(pairs) if pairs else 0)
        assert losses[i] == pytest.approx(worse / len(pairs) if pairs else 0)


@settings(max_examples=30)
@given(st.lists(st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.2, 0.6, 1.0]), min_size=1, max_size=9))
def test_the_permutation_test_is_the_exact_one_but_for_sampling(values):
    exact = np.mean(
        [
            abs(np.dot(signs, values)) >= abs(sum(values)) - 1e-9
            for signs in product([-1, 1], repeat=len(values))
        ]
    )
    found = permutation_test(np.array(values), np.random.default_rng(1), 4000)
    assert found == pytest.approx(exact, abs=0.04)


def test_the_interval_is_the_percentile_bootstrap():
    values = np.random.default_rng(3).normal(0.1, 1, 200)
    expected = scipy.stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=9999, rng=np.random.default_rng(2)
    ).confidence_interval
    assert bootstrap_interval(values, np.random.default_rng(1)) == pytest.approx(tuple(expected), abs=0.01)
    assert bootstrap_interval(np.array([0.5]), np.random.default_rng(1)) == (0.5, 0.5)


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    campaign = make(tmp_path_factory.mktemp("world") / "campaign", systems=6, segments=30)
    return read_evidence(campaign, campaign.folder / "scores.jsonl", parsed("rypt", "bleu", "chrf"))


def outcomes(evidence, *names, splits=6, **options):
    return compare_picks(evidence.data, parsed(*names), evidence.splits(splits, 1)[0], **options)


def test_labels_that_say_it_all_pick_better_than_chance_and_controls_do_not(evidence):
    """Bad words are shared, so the judgments of other systems tell who has them."""
    found = outcomes(evidence, "rypt", "bleu", controls=True)
    ours = found.outcomes[0]
    assert (ours.metric, ours.baseline, ours.segments) == ("rypt", "bleu", 30)
    assert ours.wins + ours.equal + ours.losses == pytest.approx(1)
    assert ours.net == pytest.approx(ours.wins - ours.losses)
    assert ours.low <= ours.net <= ours.high
    with pytest.raises(RyptError, match="bleu uses none: put rypt first"):
        outcomes(evidence, "bleu", "rypt", controls=True)
    assert [(o.metric, o.baseline) for o in found.outcomes[1:]] == [
        ("rypt, coverage", "bleu"),
        ("rypt, permuted", "bleu"),
    ]
    quality = found.quality
    assert quality["random"] < quality["rypt"] <= quality["best"] <= 0
    assert quality["rypt, permuted"] < quality["rypt"]
