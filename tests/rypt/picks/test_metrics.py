"""Metrics as people write them."""

import numpy as np
import pytest

from rypt.picks.metrics import PickMetric, Term, parse_pick_metric
from rypt.text import RyptError


@pytest.mark.parametrize(
    ("text", "terms", "system"),
    [
        ("rypt", (Term(1, "rypt"),), 0),
        ("chrf++", (Term(1, "chrf++"),), 0),
        ("chrf++ + 2*bleu", (Term(1, "chrf++"), Term(2, "bleu")), 0),
        ("rypt:smoothed+0.5*chrf++", (Term(1, "rypt", "smoothed"), Term(0.5, "chrf++")), 0),
        ("1e-2*model+rypt:tree+system+2*system", (Term(0.01, "model"), Term(1, "rypt", "tree")), 3),
    ],
)
def test_sums(text, terms, system):
    assert parse_pick_metric(text) == PickMetric(text.replace(" ", ""), terms, system)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found ''"), ("meteor", "found 'meteor'"), ("rypt+", "expected a sum"), ("+rypt", "expected a sum"),
        ("rypt++bleu", "expected a sum"), ("-1*rypt", "expected a sum"), ("rypt:coin", "expected rypt:percolation"),
        ("bleu:half", "expected rypt:percolation"), ("1.2.3*rypt", "expected a weight"), ("1e999*rypt", "a weight"),
        ("2*system", "expected a metric such as"), ("RYPT", "expected a sum"), ("rypt bleu", "expected a sum"),
    ],
)  # fmt: skip
def test_what_is_no_metric(text, message):
    with pytest.raises(RyptError, match=message):
        parse_pick_metric(text)


def test_the_system_term_adds_the_mean_of_a_systems_candidates():
    metric = parse_pick_metric("rypt+0.5*bleu+2*system")
    own = {"rypt": np.array([0.1, 0.3, 0.8]), "bleu": np.array([0.2, 0.0, 0.4])}
    sums = own["rypt"] + 0.5 * own["bleu"]
    found = metric.scores(lambda term: own[term.name], [0, 0, 2])
    assert found == pytest.approx(sums + 2 * np.array([sums[:2].mean(), sums[:2].mean(), sums[2]]))
    with pytest.raises(RyptError, match="candidates here have no systems"):
        metric.scores(lambda term: own[term.name])
