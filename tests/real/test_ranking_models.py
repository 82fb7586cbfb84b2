"""The models on the judgments of WMT13 French-English, against figures that other programs gave."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hits.ranking.data import Comparisons
from hits.ranking.evaluate import evaluate, split_by_rows, split_by_segment
from hits.ranking.model import read_model
from hits.ranking.models.bradley_terry import BradleyTerry
from hits.ranking.models.hopkins_may import HopkinsMay
from hits.ranking.models.irt import IRTCategorical, IRTGaussian
from hits.ranking.readers.files import ComparisonFiles

pytestmark = pytest.mark.real

CHOIX = {  # choix 0.4.1, Bradley-Terry without ties
    "uedin-heafield": 0.537,
    "uedin-wmt13": 0.405,
    "online-B": 0.346,
    "LIMSI": 0.278,
    "KIT": 0.233,
    "online-A": 0.154,
    "MES": 0.050,
    "DCU": -0.055,
    "RWTH": -0.231,
    "CMU": -0.276,
    "cu-zeman": -0.306,
    "JHU": -0.424,
    "Shef": -0.712,
}


@pytest.fixture(scope="module")
def french(real_data: Callable[[str], Path]) -> Comparisons:
    return ComparisonFiles((real_data("ranking") / "wmt13.French-English.train.csv.gz",)).read()


def by_system(comparisons: Comparisons, figures: dict[str, float]) -> np.ndarray:
    return np.array([next(v for key, v in figures.items() if key in name) for name in comparisons.systems])


def test_bradley_terry_is_that_of_choix(french: Comparisons) -> None:
    found = BradleyTerry("ignore").fit(french, np.random.default_rng(0))
    assert found.scores == pytest.approx(by_system(french, CHOIX), abs=6e-4)
    assert found.order() == BradleyTerry("davidson").fit(french, np.random.default_rng(0)).order()


def test_the_samplers_agree_on_the_order_of_most_pairs(french: Comparisons) -> None:
    reference = by_system(french, CHOIX)
    for model in (HopkinsMay(), IRTGaussian(), IRTCategorical(chains=2)):
        scores = model.fit(french, np.random.default_rng(1)).scores
        agree = [
            (scores[i] > scores[j]) == (reference[i] > reference[j]) for i in range(13) for j in range(i)
        ]
        assert np.mean(agree) > 0.96


def test_the_test_set_of_hopkins_and_may(french: Comparisons) -> None:
    split = split_by_segment(french)
    assert split.how == "segments:2000|k:10|development:20"
    assert (len(split.train), len(split.development), len(split.test)) == (87140, 9200, 3620)


def test_four_hundred_comparisons(french: Comparisons) -> None:
    """All models come near each other: none is 0.02 more accurate than Expected Wins, and all beat the baseline."""
    split = split_by_rows(french, np.random.default_rng(0), workers="researcher_*")
    labels = [
        "adjusted-uniform",
        "expected-wins",
        "trueskill:order=select,runs=1",
        "hopkins-may",
        "irt-gaussian",
    ]
    models = {label: read_model(label) for label in labels}
    found = evaluate(split, models, np.random.default_rng(1), sizes=(400,), trials=20, threads=2)
    accuracy = {row.model: row.accuracy for row in found.rows}
    perplexity = {row.model: row.perplexity or 0.0 for row in found.rows}
    for label in labels[1:]:
        assert abs(accuracy[label] - accuracy["expected-wins"]) < 0.02
        assert accuracy[label] > accuracy["adjusted-uniform"] + 0.04
    assert perplexity["irt-gaussian"] < perplexity["adjusted-uniform"]
